//! The file tools and the shell as tools of an agent.
use std::sync::Arc;

use machine_core::Text;
use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::Plan;
use machine_core::config::ToolSpec;
use machine_core::outcome::ToolResult;
use machine_host::{BoxFuture, Reject, Tool, ToolCx, ToolError};

use crate::tools::{self, Accesses, Runner, ToolDef, Workspace, shell};

/// One tool over one workspace.
pub struct Bench {
    workspace: Arc<Workspace>,
    def: &'static ToolDef,
    ask: bool,
}

/// All tools over a workspace. `ask`: those that change something need an approval.
pub fn bench(workspace: &Arc<Workspace>, ask: bool) -> impl Iterator<Item = Bench> {
    let workspace = workspace.clone();
    tools::all().iter().map(move |def| Bench {
        workspace: workspace.clone(),
        def,
        ask: ask && def.needs_approval,
    })
}

impl Tool for Bench {
    fn spec(&self) -> ToolSpec {
        let ToolDef { name, description, schema, .. } = *self.def;
        ToolSpec { name: name.into(), description: description.into(), parameters: schema.into() }
    }

    fn plan(&self, args: &str) -> Result<Plan, Reject> {
        let accesses = (self.def.accesses)(&self.workspace, args);
        let accesses = accesses.map_err(|error| Reject::Invalid(error.to_string().into()))?;
        Ok(Plan { access: access(accesses), approval: self.ask, ..Plan::default() })
    }

    fn call(&self, args: Text, cx: ToolCx) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        match self.def.runner {
            Runner::Blocking(work) => Box::pin(blocking(self.workspace.clone(), work, args)),
            Runner::Shell => Box::pin(shell(self.workspace.clone(), args, cx)),
        }
    }
}

type Work = fn(&Workspace, &str) -> Result<String, tools::ToolError>;

/// Files are read and written on a thread of their own: the loop never waits for a disk.
async fn blocking(workspace: Arc<Workspace>, work: Work, args: Text) -> Result<ToolResult, ToolError> {
    let done = tokio::task::spawn_blocking(move || work(&workspace, &args)).await;
    match done {
        Ok(Ok(text)) => Ok(ToolResult::text(text)),
        Ok(Err(error)) => Ok(ToolResult::error(error.to_string())),
        // The panic of a tool is that tool's: it goes on where it is turned into the call's outcome.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(ToolError::failed(error.to_string())),
        },
    }
}

async fn shell(workspace: Arc<Workspace>, args: Text, cx: ToolCx) -> Result<ToolResult, ToolError> {
    let args = match shell::ShellArgs::parse(&args) {
        Ok(args) => args,
        Err(error) => return Ok(ToolResult::error(error.to_string())),
    };
    // Its own grace is shorter, so that what a stopped command said still counts.
    let grace = cx.grace() / 2;
    let end = shell::run(workspace.root(), &args, cx.token().clone(), grace).await;
    Ok(match end.and_then(shell::ShellEnd::into_result) {
        Ok(text) => ToolResult::text(text),
        Err(error) => ToolResult::error(error.to_string()),
    })
}

fn access(accesses: Accesses) -> Access {
    let mode = |mode| match mode {
        tools::Mode::Read => Mode::Read,
        tools::Mode::Write => Mode::Write,
        tools::Mode::ReadWrite => Mode::ReadWrite,
        tools::Mode::Search => Mode::Search,
    };
    let touch = |access: tools::Access| Touch {
        mode: mode(access.mode),
        path: access.path.into(),
        recursive: access.recursive,
    };
    match accesses {
        Accesses::All => Access::All,
        Accesses::Paths(paths) => Access::Paths(paths.into_iter().map(touch).collect()),
    }
}
