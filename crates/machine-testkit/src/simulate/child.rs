//! A tool that runs an agent: under the same limit, with the same faulty model, and with a child of its own (H04, H05).
use std::sync::Arc;

use machine_core::ask::Approval;
use machine_core::outcome::ToolResult;
use machine_host::{Agent, Say, ToolCx, ToolError};

use super::fault::Fault;
use super::model::Speaker;
use super::policies;
use super::tool::Worker;
use super::world::World;

/// Agents below each other, at most.
pub(super) const DEEPEST: u32 = 2;

/// Runs a child as this call. `below`: how many may stand below it.
pub(super) async fn run(world: &Arc<World>, cx: &ToolCx, below: u32) -> Result<ToolResult, ToolError> {
    // Counted only when it really runs.
    world.book().tally.count(Fault::ToolRunsAgent.name());
    let branch = world.child_branch(cx.call());
    let policies = policies::of_child(world);
    let mut builder = Agent::builder()
        .branch(branch)
        .clock(world.clock)
        .model(Speaker { world: world.clone() })
        .tool(Worker { world: world.clone(), name: "work", droppable: false, agents_below: None })
        .tool(Worker { world: world.clone(), name: "drop", droppable: true, agents_below: None })
        .config(|config| *config = policies)
        // Nobody outside answers for a child.
        .approve(|_| async { Approval::Granted })
        .child_of(cx);
    if let Some(further) = below.checked_sub(1) {
        let agents_below = Some(further);
        builder =
            builder.tool(Worker { world: world.clone(), name: "agent", droppable: false, agents_below });
    }
    let child = match builder.open().await {
        Ok(child) => child,
        Err(error) => {
            world.violated(format!("H04: a child cannot be opened: {error}"));
            return cx.fail("no child");
        }
    };
    let end = cx.delegate(&child, Say::text("do a part of it").id(format!("part {branch}"))).await;
    world.check(!child.is_gone(), || format!("H03: child {branch} is gone, and nobody closed it"));
    match child.history().await.map(|history| history.audit()) {
        Ok(Ok(())) => {}
        wrong => world.violated(format!("P1: the history of child {branch}: {wrong:?}")),
    }
    let closed = child.close().await;
    world.check(closed.is_ok(), || format!("A19: child {branch} does not close: {closed:?}"));
    end
}
