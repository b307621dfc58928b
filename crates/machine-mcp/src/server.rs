//! A server as a host holds it, and its tools as they are now.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machine_core::Text;
use machine_host::{BoxFuture, Tool, ToolSource};
use tokio::time::timeout;

use crate::builder::Options;
use crate::connection::Connection;
use crate::error::OpenError;
use crate::list::{LeftOut, List};
use crate::names::{Names, NoName};
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
    left_out: Vec<LeftOut>,
    changes: u64,
}

impl Server {
    pub(crate) fn of(connection: Arc<Connection>, list: List, options: Options) -> Result<Self, OpenError> {
        let is_there = |wanted: &Text| list.tools.iter().any(|tool| tool.name == **wanted);
        let missing: Vec<_> =
            options.only.iter().flat_map(|only| &**only).filter(|tool| !is_there(tool)).cloned().collect();
        if !missing.is_empty() {
            let there = list.tools.iter().map(|tool| (&*tool.name).into()).collect();
            return Err(OpenError::Missing { name: connection.name.clone(), tools: missing, there });
        }
        let (listed, clash) = named(&connection, list, &options, 0);
        if let Some(SameName { tool, first, second }) = clash {
            return Err(OpenError::SameName { name: connection.name.clone(), tool, first, second });
        }
        listed.tell(&connection.name);
        Ok(Self { connection, listed: Arc::new(Mutex::new(listed)), options })
    }

    /// Tools of its list that cannot be used, as it is now. The log has them too.
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.listed().left_out.clone()
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

    /// The list as the server has it now, and had it after so many changes. A tool whose name is taken is left out.
    fn replace(&self, list: List, changes: u64) {
        let (newer, _) = named(&self.connection, list, &self.options, changes);
        newer.tell(self.name());
        let mut listed = self.listed();
        // Somebody else's may be newer.
        if listed.changes <= changes {
            *listed = newer;
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
            Ok(Err(error)) => (self.name(), error.to_string()),
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

impl Listed {
    fn tell(&self, server: &Text) {
        for left_out in &self.left_out {
            tracing::warn!(%server, "{left_out}");
        }
    }
}

/// The tools that are wanted, with names of their own; and the first two that would have one name.
fn named(
    connection: &Arc<Connection>,
    list: List,
    options: &Options,
    changes: u64,
) -> (Listed, Option<SameName>) {
    let is_wanted =
        |name: &str| options.only.as_ref().is_none_or(|only| only.iter().any(|wanted| **wanted == *name));
    let mut names = Names::with(&options.prefix);
    let mut left_out = list.left_out;
    left_out.retain(|left_out| left_out.tool.as_ref().map_or(options.only.is_none(), |name| is_wanted(name)));
    let (mut tools, mut clash): (Tools, _) = (Vec::with_capacity(list.tools.len()), None);
    for tool in list.tools.into_iter().filter(|tool| is_wanted(&tool.name)) {
        match names.take(&tool.name) {
            Ok(own) => tools.push(Arc::new(Remote::new(connection.clone(), own, tool, options))),
            Err(why) => {
                let tool: Text = (&*tool.name).into();
                left_out.push(LeftOut { tool: Ok(tool.clone()), why: why.to_string().into() });
                if let NoName::Taken { name, by } = why {
                    clash.get_or_insert(SameName { tool: name, first: by, second: tool });
                }
            }
        }
    }
    (Listed { tools, left_out, changes }, clash)
}

/// Two tools would have one name.
struct SameName {
    tool: Text,
    first: Text,
    second: Text,
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
