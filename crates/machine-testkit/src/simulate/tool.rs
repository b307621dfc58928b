//! Tools that do whatever their job says, and write down what they see.
use std::sync::Arc;
use std::time::Duration;

use machine_core::Text;
use machine_core::ask::Plan;
use machine_core::config::ToolSpec;
use machine_core::ids::CallId;
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;
use machine_host::{BoxFuture, Reject, Tool, ToolCx, ToolError};

use super::book::Span;
use super::child;
use super::fault::Fault;
use super::job::{Does, Job, named};
use super::world::{World, fall};

/// What no finalizer has seen says so (C11).
pub(super) const RAW: &str = "RAW";

/// A tool of the faulty world.
pub(super) struct Worker {
    pub(super) world: Arc<World>,
    pub(super) name: &'static str,
    /// Whether its future is dropped when it is stopped.
    pub(super) droppable: bool,
    /// How many agents may stand below the one that has this tool: it runs one of them.
    pub(super) agents_below: Option<u32>,
}

impl Tool for Worker {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.name.into(), description: "does its job".into(), parameters: "{}".into() }
    }

    fn plan(&self, args: &str) -> Result<Plan, Reject> {
        if self.world.strikes(Fault::PlanPanics) {
            fall("the plan fell over");
        }
        if self.world.strikes(Fault::PlanRejects) {
            return Err(Reject::Denied("not today".into()));
        }
        match self.job(args) {
            Some(job) => Ok(job.plan.clone()),
            None => Err(Reject::Invalid("n: there is no such job".into())),
        }
    }

    fn call(&self, args: Text, cx: ToolCx) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let Some(job) = self.job(&args) else {
                self.world.violated(format!("C02: {} runs with arguments that were refused", cx.call()));
                return cx.fail("there is no such job");
            };
            let running = Running::begins(&self.world, cx.call(), job.clone());
            match self.agents_below {
                Some(below) => child::run(&self.world, &cx, below).await,
                None => self.work(&job, &cx, &running).await,
            }
        })
    }

    fn drop_on_cancel(&self) -> bool {
        self.droppable
    }
}

impl Worker {
    fn job(&self, args: &str) -> Option<Arc<Job>> {
        self.world.book().jobs.get(named(args)?).cloned()
    }

    async fn work(&self, job: &Job, cx: &ToolCx, running: &Running) -> Result<ToolResult, ToolError> {
        if job.talks {
            cx.progress("it begins");
            cx.output(format!("{RAW} so far")).await;
        }
        if job.talks_after_its_end {
            tokio::spawn(talk_later(self.world.clone(), running.at, cx.clone(), job.ms + 10));
        }
        if job.detaches {
            detaches(&self.world, running.at);
            cx.detach("it runs").await;
            if job.detaches_twice {
                cx.detach("it runs twice").await;
            }
        }
        tokio::time::sleep(Duration::from_millis(job.ms)).await;
        match job.does {
            Does::Ends => Ok(self.result(job)),
            Does::Fails => cx.fail("it failed"),
            Does::FailsFatally => Ok(ToolResult { fatal: true, ..ToolResult::error("it failed for good") }),
            Does::Malformed => Err(ToolError::malformed("what is this?")),
            Does::Panics => fall("the tool fell over"),
            Does::Deaf => {
                tokio::time::sleep(Duration::from_secs(500)).await;
                Ok(self.result(job))
            }
            Does::Obeys => {
                self.until_stopped(cx, running).await;
                cx.text("stopped")
            }
            Does::PanicsWhenCancelled => match self.until_stopped(cx, running).await {
                true => fall("the tool fell over when it was stopped"),
                false => cx.text("never stopped"),
            },
            Does::Late => {
                if self.until_stopped(cx, running).await {
                    tokio::time::sleep(cx.grace() + Duration::from_millis(1)).await;
                }
                Ok(self.result(job))
            }
        }
    }

    /// Whether it was stopped; else the world has healed.
    async fn until_stopped(&self, cx: &ToolCx, running: &Running) -> bool {
        tokio::select! {
            biased;
            _ = cx.cancelled() => {
                running.sees_its_stop();
                true
            }
            () = self.world.until_healed() => false,
        }
    }

    fn result(&self, job: &Job) -> ToolResult {
        let long = if job.talks_too_much { "more ".repeat(200) } else { String::new() };
        ToolResult {
            stop_turn: job.stops_turn.then(|| "enough".into()),
            deliver: job.delivers.then(|| text_content("a message")),
            note: job.delivers.then(|| "a note".into()),
            ..ToolResult::text(format!("{RAW} done {long}"))
        }
    }
}

/// Somebody who holds on to a call that is over.
async fn talk_later(world: Arc<World>, at: usize, cx: ToolCx, ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    cx.progress("still there");
    cx.output("too late").await;
    detaches(&world, at);
    cx.detach("too late").await;
}

/// The call may give back its place from now on (B07).
fn detaches(world: &World, at: usize) {
    let mut book = world.book();
    let place = book.next_place();
    let span = &mut book.spans[at];
    span.gives_back_slot.get_or_insert(place);
    if !span.job.plan.keep_access {
        span.gives_back_access.get_or_insert(place);
    }
}

/// An execution in the book, from its start until its future is gone.
struct Running {
    world: Arc<World>,
    at: usize,
}

impl Running {
    fn begins(world: &Arc<World>, call: CallId, job: Arc<Job>) -> Self {
        world.say(|| format!("  {call} runs: {job:?}"));
        let now = world.now();
        let mut book = world.book();
        let turn = call.step().turn();
        let (twice, aborted) = (book.ran(call), book.aborted_at(turn).is_some());
        let above = book.parent_aborted_at(call.branch).is_some_and(|at| at < now);
        let from = book.next_place();
        let (at, cap) = (book.spans.len(), book.most_parallel);
        book.spans.push(Span {
            call,
            job,
            cap,
            from,
            began_at: now,
            gives_back_slot: None,
            gives_back_access: None,
            ended_at: None,
            stopped_at: None,
        });
        drop(book);
        world.check(!twice, || format!("P8: {call} ran twice"));
        world.check(!aborted, || format!("P4: {call} started after the abort of its turn was answered"));
        world.check(!above, || format!("P4: {call} started after the abort above its agent was answered"));
        Self { world: world.clone(), at }
    }

    fn sees_its_stop(&self) {
        let now = self.world.now();
        self.world.book().spans[self.at].stopped_at.get_or_insert(now);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let now = self.world.now();
        let mut book = self.world.book();
        let place = book.next_place();
        let span = &mut book.spans[self.at];
        span.gives_back_slot.get_or_insert(place);
        span.gives_back_access.get_or_insert(place);
        span.ended_at = Some(now);
    }
}
