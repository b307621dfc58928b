//! One tool of a server.
use std::sync::Arc;

use machine_core::Text;
use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::Plan;
use machine_core::config::ToolSpec;
use machine_core::outcome::ToolResult;
use machine_host::{BoxFuture, Reject, Schema, Tool, ToolCx, ToolError};
use rmcp::model::ToolAnnotations;

use crate::builder::Options;
use crate::connection::Connection;

/// A call that is planned.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool, as the server names it.
    pub tool: &'a str,
    /// Its arguments, the text of a JSON object.
    pub args: &'a str,
    /// What the server says of the tool.
    pub hints: Hints,
}

/// What a server says of a tool of its own; nobody vouches for it. None: it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something; means something only for one that does not just read.
    pub destructive: Option<bool>,
    /// Again with the same arguments it does nothing more.
    pub idempotent: Option<bool>,
    /// It reaches things outside of the server's own.
    pub open_world: Option<bool>,
}

impl Call<'_> {
    /// How the call runs where the host says nothing else. One that only reads may run beside its like, and comes after what
    /// may write before it; any other is a barrier (B01, B05). A hint may narrow what a tool is taken to touch, and not further
    /// than to reading everything. Nobody is asked.
    pub fn plan(&self) -> Plan {
        let access = match self.hints.read_only {
            Some(true) => Touch::tree(Mode::Read, "/").into(),
            Some(false) | None => Access::All,
        };
        Plan { access, ..Plan::default() }
    }
}

pub(crate) type Planner = Arc<dyn Fn(&Call<'_>) -> Option<Plan> + Send + Sync>;

/// One tool of a server, and how to reach it.
pub(crate) struct Remote {
    connection: Arc<Connection>,
    /// As the server names it.
    name: Text,
    spec: ToolSpec,
    /// None: what the server gave is no schema; it has to check its arguments itself.
    schema: Option<Schema>,
    hints: Hints,
    options: Options,
}

impl Remote {
    pub(crate) fn new(
        connection: Arc<Connection>,
        own: Text,
        tool: rmcp::model::Tool,
        options: &Options,
    ) -> Self {
        let parameters = serde_json::Value::Object((*tool.input_schema).clone()).to_string();
        let schema = Schema::from_json(&parameters)
            .inspect_err(|error| tracing::warn!(tool = %tool.name, %error, "arguments are not checked here"))
            .ok();
        let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or("");
        Self {
            connection,
            name: (&*tool.name).into(),
            spec: ToolSpec { name: own, description: description.into(), parameters: parameters.into() },
            schema,
            hints: tool.annotations.as_ref().map(Hints::from).unwrap_or_default(),
            options: options.clone(),
        }
    }
}

impl Tool for Remote {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn plan(&self, args: &str) -> Result<Plan, Reject> {
        if let Some(schema) = &self.schema {
            schema.check(args)?;
        }
        let call = Call { tool: &self.name, args, hints: self.hints };
        let planned = self.options.planner.as_ref().and_then(|planner| planner(&call));
        Ok(planned.unwrap_or_else(|| call.plan()))
    }

    fn call(&self, args: Text, cx: ToolCx) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(self.connection.call(&self.name, args, cx, &self.options))
    }
}

impl From<&ToolAnnotations> for Hints {
    fn from(said: &ToolAnnotations) -> Self {
        Self {
            read_only: said.read_only_hint,
            destructive: said.destructive_hint,
            idempotent: said.idempotent_hint,
            open_world: said.open_world_hint,
        }
    }
}
