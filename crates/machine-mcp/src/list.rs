//! The list of a server's tools, page after page, each tool read by itself: one that is none takes no others along.
use std::fmt;

use machine_core::Text;
use rmcp::model::{self, ServerResult};
use rmcp::service::ServiceError;
use serde::Deserialize;
use serde_json::Value;

use crate::{plain, result};

/// The most pages of a list.
const PAGES: usize = 1_000;

/// The most tools of a server.
const TOOLS: usize = 10_000;

/// The fields of a tool that are read. What else is odd does not matter.
const FIELDS: [&str; 5] = ["name", "title", "description", "inputSchema", "annotations"];

/// The tools of a server.
#[derive(Default)]
pub(crate) struct List {
    pub(crate) tools: Vec<model::Tool>,
    pub(crate) left_out: Vec<LeftOut>,
    /// The page that comes next; none: the first one.
    cursor: Option<String>,
    pages: usize,
}

/// A tool of a server that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// As the server names it; none: which one it is, from 1.
    pub tool: Result<Text, usize>,
    /// What is wrong with it.
    pub why: Text,
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error("{}", plain::request(.0))]
    Request(#[from] ServiceError),
    #[error("it answered with {0}")]
    NoList(String),
    #[error("its page `{0}` names itself as the next one")]
    Circle(String),
    #[error("there are more than {TOOLS} tools or {PAGES} pages of them")]
    Endless,
}

impl List {
    /// What to ask for.
    pub(crate) fn cursor(&self) -> Option<String> {
        self.cursor.clone()
    }

    /// Takes a page. Whether it was the last one.
    pub(crate) fn add(&mut self, page: ServerResult) -> Result<bool, ListError> {
        let next = self.take(page)?.filter(|next| !next.is_empty());
        self.pages += 1;
        if self.tools.len() + self.left_out.len() > TOOLS || (next.is_some() && self.pages == PAGES) {
            return Err(ListError::Endless);
        }
        if let Some(next) = next.as_ref().filter(|next| self.cursor.as_ref() == Some(next)) {
            return Err(ListError::Circle(result::cut(next)));
        }
        self.cursor = next;
        Ok(self.cursor.is_none())
    }

    /// Gives the page that comes next.
    fn take(&mut self, page: ServerResult) -> Result<Option<String>, ListError> {
        let page = match page {
            ServerResult::ListToolsResult(page) => {
                self.tools.extend(page.tools);
                return Ok(page.next_cursor);
            }
            page => page,
        };
        let no_list = || ListError::NoList(result::quoted(&page));
        let fields = serde_json::to_value(&page).map_err(|_| no_list())?;
        let Some(Value::Array(tools)) = fields.get("tools") else { return Err(no_list()) };
        let next = match fields.get("nextCursor") {
            None | Some(Value::Null) => None,
            Some(Value::String(next)) => Some(next.clone()),
            Some(_) => return Err(no_list()),
        };
        for tool in tools {
            let number = self.tools.len() + self.left_out.len() + 1;
            match tool_of(tool) {
                Ok(tool) => self.tools.push(tool),
                Err(why) => {
                    let name = tool.get("name").and_then(Value::as_str).map(|name| result::cut(name).into());
                    self.left_out.push(LeftOut { tool: name.ok_or(number), why });
                }
            }
        }
        Ok(next)
    }
}

fn tool_of(said: &Value) -> Result<model::Tool, Text> {
    let Value::Object(fields) = said else { return Err("it is no object".into()) };
    let read = fields.iter().filter(|(name, _)| FIELDS.contains(&&***name));
    let read: Value = read.map(|(name, value)| (name.clone(), value.clone())).collect();
    model::Tool::deserialize(read).map_err(|error| result::cut(&error.to_string()).into())
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Ok(name) => write!(f, "the tool `{name}` is left out: {}", self.why),
            Err(number) => write!(f, "the tool number {number} is left out: {}", self.why),
        }
    }
}
