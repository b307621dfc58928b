//! A server as a host holds it, and its tools as they are now.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machine_core::Text;
use machine_host::{BoxFuture, Tool, ToolSource};
use tokio::time::timeout;

use crate::builder::Options;
use crate::connection::Connection;
use crate::error::OpenError;
use crate::names::{Names, NoName};
use crate::plain;
use crate::tool::Remote;

/// How long a list of tools is waited for before a step. If a changed one does not come the step has the old one; the next step
/// asks again.
const LIST_WITHIN: Duration = Duration::from_secs(5);

/// An open server: a handle to it, and a source of tools. Clones are the same server. Its tools hold it too: it is there as
/// long as an agent that has them.
#[derive(Clone)]
pub struct Server {
    connection: Arc<Connection>,
    listed: Arc<Mutex<Listed>>,
    options: Options,
}

type Tools = Vec<Arc<dyn Tool>>;

/// The tools, and how many changes they have seen.
struct Listed {
    tools: Tools,
    changes: u64,
}

impl Server {
    pub(crate) fn of(
        connection: Arc<Connection>,
        listed: Vec<rmcp::model::Tool>,
        options: Options,
    ) -> Result<Self, OpenError> {
        let (tools, left_out) = named(&connection, listed, &options);
        if let Some((tool, why)) = left_out.into_iter().next() {
            let name = connection.name.clone();
            return Err(match why {
                NoName::Empty => OpenError::NoName { name },
                NoName::Taken { name: own, by } => {
                    OpenError::SameName { name, tool: own, first: by, second: tool }
                }
            });
        }
        let listed = Listed { tools, changes: 0 };
        Ok(Self { connection, listed: Arc::new(Mutex::new(listed)), options })
    }

    /// What it is called in messages.
    pub fn name(&self) -> &Text {
        &self.connection.name
    }

    /// The number of its process, if it is one of ours.
    pub fn pid(&self) -> Option<u32> {
        self.connection.pid()
    }

    /// Whether it is over for good: its calls fail, and it has no tools any more. A server behind an address may only be away;
    /// then its tools are missing until it answers again.
    pub fn is_gone(&self) -> bool {
        self.connection.is_gone()
    }

    /// The end of what its process wrote to its standard error.
    pub fn stderr(&self) -> String {
        self.connection.stderr()
    }

    /// Ends the session in order: the server's input is closed, and it has two seconds to end by itself. Calls that run fail.
    /// Without it a process is killed when the last handle is dropped.
    pub async fn close(&self) {
        self.connection.close().await;
    }

    /// The list as the server has it now, and had it after so many changes. A tool without a name of its own is left out.
    fn replace(&self, listed: Vec<rmcp::model::Tool>, changes: u64) {
        let (tools, left_out) = named(&self.connection, listed, &self.options);
        for (tool, why) in left_out {
            let server = self.name();
            tracing::warn!(%server, %tool, ?why, "a new tool is left out");
        }
        let mut listed = self.listed();
        // Somebody else's may be newer.
        if listed.changes <= changes {
            *listed = Listed { tools, changes };
        }
    }

    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the list, if it changed since the one that is here. Nothing is noted before it came: dropped or failed, it is
    /// asked for again.
    async fn refresh(&self) {
        let changes = self.connection.changes();
        if self.listed().changes == changes {
            return;
        }
        let (server, why) = match timeout(LIST_WITHIN, self.connection.list()).await {
            Ok(Ok(listed)) => return self.replace(listed, changes),
            Ok(Err(error)) => (self.name(), plain::request(&error)),
            Err(_) => (self.name(), "it does not answer".to_owned()),
        };
        tracing::warn!(%server, why, "its new tools cannot be listed; the next step asks again");
    }

    /// Looks for a server that may be away. Whether it is there.
    async fn find(&self) -> bool {
        let changes = self.connection.changes();
        match self.connection.find(LIST_WITHIN).await {
            Ok(listed) => {
                self.replace(listed, changes);
                true
            }
            Err(why) => {
                let server = self.name();
                tracing::warn!(%server, %why, "it is away, and so are its tools; the next step looks again");
                false
            }
        }
    }
}

/// The tools with names of their own; and those that have none, as the server names them, with why.
fn named(
    connection: &Arc<Connection>,
    listed: Vec<rmcp::model::Tool>,
    options: &Options,
) -> (Tools, Vec<(Text, NoName)>) {
    let mut names = Names::with(&options.prefix);
    let (mut tools, mut left_out): (Tools, _) = (Vec::with_capacity(listed.len()), Vec::new());
    for tool in listed {
        match names.take(&tool.name) {
            Ok(own) => tools.push(Arc::new(Remote::new(connection.clone(), own, tool, options))),
            Err(why) => left_out.push(((&*tool.name).into(), why)),
        }
    }
    (tools, left_out)
}

impl ToolSource for Server {
    fn tools(&self) -> BoxFuture<'_, Tools> {
        Box::pin(async move {
            if !self.is_gone() && !self.connection.is_in_doubt() {
                self.refresh().await;
            }
            // Asking for the list may have found out.
            let is_away = self.connection.is_in_doubt() && !self.find().await;
            if is_away || self.is_gone() { Vec::new() } else { self.listed().tools.clone() }
        })
    }

    fn name(&self) -> Text {
        format!("the server `{}`", self.connection.name).into()
    }
}
