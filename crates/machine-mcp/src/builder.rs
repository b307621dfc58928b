//! How a server is described and opened.
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use machine_core::Text;
use machine_core::ask::Plan;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connection::{Connection, Via};
use crate::error::OpenError;
use crate::server::Server;
use crate::tool::{Call, Planner};

/// A server that is not open yet. [`Server::child`] begins one.
pub struct Builder {
    via: Via,
    name: Text,
    options: Options,
    start_within: Duration,
}

/// How the tools of a server are named and called.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) prefix: Text,
    /// None: all.
    pub(crate) only: Option<Arc<[Text]>>,
    pub(crate) planner: Option<Planner>,
    pub(crate) call_within: Duration,
    pub(crate) late_within: Duration,
}

impl Server {
    /// A server that is a process of ours and speaks on its standard input and output. What it writes to its standard error is
    /// kept for messages, to the last 4 KiB. It gets a process group of its own, and all of it is killed when the last
    /// handle and the last tool are gone.
    pub fn child(command: Command) -> Builder {
        let program = command.get_program().to_string_lossy();
        let name = program.rsplit(['/', '\\']).next().unwrap_or(&program).into();
        Builder::of(Via::Child(command), name)
    }

    /// A server at the other end of two streams, a message a line: in this process, or however it was reached.
    pub fn over(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Builder {
        Builder::of(Via::Streams(Box::new(read), Box::new(write)), "mcp".into())
    }

    /// A server behind an address such as `http://127.0.0.1:3001/mcp`, over streamable HTTP; `https` needs the feature
    /// `rustls`. An address may hold a secret: no name, error or log line has more of it than the host.
    #[cfg(feature = "http")]
    pub fn http(address: &str) -> Builder {
        Builder::at(address, None)
    }

    /// The same for a server that asks for a token before it answers. It goes along as `Authorization: Bearer …`, to no other
    /// host.
    #[cfg(feature = "http")]
    pub fn http_with_token(address: &str, token: impl Into<Text>) -> Builder {
        Builder::at(address, Some(token.into()))
    }
}

impl Builder {
    fn of(via: Via, name: Text) -> Self {
        let options = Options {
            prefix: "".into(),
            only: None,
            planner: None,
            call_within: Duration::from_secs(600),
            late_within: Duration::from_secs(10),
        };
        Self { via, name, options, start_within: Duration::from_secs(30) }
    }

    #[cfg(feature = "http")]
    fn at(address: &str, bearer_token: Option<Text>) -> Self {
        let name = crate::http::name(address);
        Self::of(Via::Http(crate::http::Address { url: address.into(), bearer_token }), name)
    }

    /// What it is called in messages. Default: its program, or the host of its address.
    pub fn name(self, name: impl Into<Text>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Stands before the names of its tools, so that those of several servers differ. Default: nothing. What a provider would
    /// not take becomes `_`, and more than 64 characters are cut (V10).
    pub fn prefix(mut self, prefix: impl Into<Text>) -> Self {
        self.options.prefix = prefix.into();
        self
    }

    /// Takes these of its tools, as the server names them, and no others, also of later lists. One that is missing when it is
    /// opened is an error that says what is there. Default: all.
    pub fn only(mut self, tools: impl IntoIterator<Item = impl Into<Text>>) -> Self {
        self.options.only = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// How calls run, for a host that knows the tools: what they touch, who approves them, how long they may take. None:
    /// [`Call::plan`], from the server's hints.
    pub fn plan(mut self, plan: impl Fn(&Call<'_>) -> Option<Plan> + Send + Sync + 'static) -> Self {
        self.options.planner = Some(Arc::new(plan));
        self
    }

    /// How long the server may take until it told its tools. Default: 30 s.
    pub fn start_within(self, within: Duration) -> Self {
        Self { start_within: within, ..self }
    }

    /// How long a call may go without a sign of life from the server: its answer, or progress of the call, which begins the
    /// wait anew. Then it fails, and the server is told to stop it; whether it had an effect is not known. Default: 10
    /// minutes. An answer can be lost: one that cannot be read and does not say which request it is for. The error quotes the last
    /// such line. A [`plan`](Self::plan) may give a call a time of its own.
    pub fn call_within(mut self, within: Duration) -> Self {
        self.options.call_within = within;
        self
    }

    /// How long the outcome of a stopped call is waited for, from the moment of stopping. Default: 10 s; never less than
    /// the grace of the agent. What comes within the grace counts (X03), what comes later is told (X06). Until then the
    /// call holds what it accesses, since the server may still be at it (B07).
    pub fn late_within(mut self, within: Duration) -> Self {
        self.options.late_within = within;
        self
    }

    /// Starts or reaches it, and asks for its tools.
    pub async fn open(self) -> Result<Server, OpenError> {
        let Self { via, name, options, start_within } = self;
        let (connection, list) = Connection::open(via, name, start_within).await?;
        Server::of(Arc::new(connection), list, options)
    }
}
