//! A model that says anything: it fails, stalls, garbles, repeats itself, and calls tools that do anything.
use std::sync::Arc;
use std::time::Duration;

use machine_adapter::Request;
use machine_core::Text;
use machine_core::ids::AttemptId;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;
use machine_host::{BoxFuture, Model, ModelOut};

use super::fault::Fault;
use super::job::Job;
use super::world::{World, fall};

/// From this many jobs on the model has nothing more to ask for: a run has an end.
const ENOUGH: usize = 60;

/// The model of the faulty world, for an agent and its children.
pub(super) struct Speaker {
    pub(super) world: Arc<World>,
}

impl Model for Speaker {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        Box::pin(async move {
            let response = Response { _streaming: Streaming::begins(&self.world, &request), request, out };
            if self.world.is_healed() {
                response.out.text("fine").await;
                return self.ends(&response, Finish::EndTurn).await;
            }
            self.response(&response).await
        })
    }
}

/// One response under way.
struct Response {
    request: Request,
    out: ModelOut,
    _streaming: Streaming,
}

impl Speaker {
    async fn response(&self, of: &Response) -> Result<Finished, ModelError> {
        let (world, out) = (&self.world, &of.out);
        let random = &world.random;
        if world.strikes(Fault::ModelSlow) {
            world.pause().await;
        }
        if random.percent(20) {
            out.event(ModelEvent::Started { request_id: Some("request".into()) }).await;
        }
        if random.percent(60) {
            self.costs(of, 1).await;
        }
        if let Some(error) = self.failure(of) {
            return Err(error);
        }
        if world.strikes(Fault::ModelPanics) {
            fall("the model fell over");
        }
        if world.strikes(Fault::ModelHangs) {
            world.until_healed().await;
        }
        if world.strikes(Fault::ModelSilent) {
            return self.ends(of, Finish::EndTurn).await;
        }
        if random.percent(30) || world.strikes(Fault::ModelThinksOnly) {
            let signature = random.percent(50).then(|| "signed".into());
            out.event(ModelEvent::Thinking { text: "hm".into(), signature }).await;
            if random.percent(30) {
                return self.ends(of, Finish::EndTurn).await;
            }
        }
        if random.percent(60) {
            out.text("well ").await;
            out.text("then").await;
        }
        if random.percent(10) {
            out.event(ModelEvent::Media { kind: "image/png".into(), at: "digest".into() }).await;
        }
        if world.strikes(Fault::ModelGarbled) {
            self.garble(out).await;
        }
        let calls = random.percent(80) && world.book().jobs.len() < ENOUGH;
        if calls {
            self.calls(out).await;
        }
        if world.strikes(Fault::ModelStalls) {
            world.until_healed().await;
        }
        if world.strikes(Fault::ModelCut) {
            return Err(ModelError::new(Failure::StreamCut, "the stream ended without a finish"));
        }
        let finish = match world.strikes(Fault::ModelFinish) {
            true => random.of(&[Finish::MaxTokens, Finish::Filtered, Finish::Suspended, Finish::Other]),
            false if calls => random.of(&[Finish::ToolUse, Finish::ToolUse, Finish::EndTurn]),
            false => Finish::EndTurn,
        };
        self.ends(of, finish).await
    }

    /// A failure of the provider.
    fn failure(&self, of: &Response) -> Option<ModelError> {
        let (world, random) = (&self.world, &self.world.random);
        let mut error = None;
        let mut fails = |kind, retry_after_ms| {
            error = Some(ModelError { retry_after_ms, ..ModelError::new(kind, "the provider fails") });
        };
        match () {
            () if world.strikes(Fault::ModelRateLimited) => {
                fails(Failure::RateLimit, random.of(&[None, Some(0), Some(900), Some(6_000)]));
            }
            () if world.strikes(Fault::ModelLongRateLimit) => fails(Failure::RateLimit, Some(9_568_000)),
            () if world.strikes(Fault::ModelOverloaded) => {
                fails(
                    random.of(&[
                        Failure::Overloaded,
                        Failure::Connection,
                        Failure::ServerError,
                        Failure::Timeout,
                    ]),
                    None,
                );
            }
            () if world.strikes(Fault::ModelOverflow) => fails(Failure::ContextOverflow, None),
            () if world.strikes(Fault::ModelRefused) => {
                let kinds = [Failure::Auth, Failure::Quota, Failure::InvalidRequest, Failure::Unknown];
                fails(random.of(&kinds), None);
            }
            () => {}
        }
        let mut error = error?;
        if random.percent(30) {
            error.usage = Some(self.cost(of.request.attempt, 2));
        }
        Some(error)
    }

    /// Pieces that fit nothing, or not yet, or twice.
    async fn garble(&self, out: &ModelOut) {
        let random = &self.world.random;
        for _ in 0..=random.below(3) {
            let index = u32::try_from(random.below(3)).unwrap_or(0);
            match random.below(6) {
                0 => out.event(ModelEvent::CallArgs { index: None, piece: "}{".into() }).await,
                1 => out.call_args(7, "{\"n\":").await,
                2 => out.call_start(index, "", "work").await,
                3 => out.call_start(index, random.of(&["x", "y"]), random.of(&["", "no/such tool"])).await,
                4 => out.event(ModelEvent::MessageId("message".into())).await,
                _ => out.call_args(index, "[1, ").await,
            }
        }
    }

    async fn calls(&self, out: &ModelOut) {
        let (world, random) = (&self.world, &self.world.random);
        let same_ids = world.strikes(Fault::ModelSameIds);
        for index in 0..random.of(&[1, 1, 2, 3, 5]) {
            let id: Text = match same_ids {
                true => "same id".into(),
                false => format!("call-{index}").into(),
            };
            let job = self.job();
            let tool = match () {
                () if world.strikes(Fault::CallUnknownTool) => "nosuch",
                () if world.strikes(Fault::CallBadName) => random.of(&["", "no name at all!"]),
                () if world.strikes(Fault::CallInvalid) => {
                    out.call(index, id, "work", "{\"n\": \"many\"}").await;
                    continue;
                }
                () if world.strikes(Fault::CallBadJson) => {
                    out.call(index, id, "work", random.of(&["{\"n\":", "5", "[]"])).await;
                    continue;
                }
                () if world.knows(Fault::ToolRunsAgent) && random.percent(25) => "agent",
                () => random.of(&["work", "work", "drop", "hidden"]),
            };
            out.call_start(index, id, tool).await;
            for piece in job.args().split_inclusive(' ') {
                out.call_args(index, piece).await;
            }
        }
    }

    fn job(&self) -> Arc<Job> {
        let world = &self.world;
        let last = world.book().jobs.last().cloned();
        if let Some(last) = last
            && world.strikes(Fault::ModelRepeats)
        {
            return last;
        }
        let n = world.book().jobs.len();
        let job = Arc::new(Job::drawn(world, n));
        world.book().jobs.push(job.clone());
        job
    }

    async fn ends(&self, of: &Response, finish: Finish) -> Result<Finished, ModelError> {
        if self.world.random.percent(20) {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        let usage = self.world.random.percent(60).then(|| self.cost(of.request.attempt, 3));
        Ok(Finished { usage, raw: Some("raw".into()), ..Finished::new(finish) })
    }

    async fn costs(&self, of: &Response, times: u64) {
        let usage = self.cost(of.request.attempt, times);
        of.out.usage(usage).await;
    }

    /// What the attempt cost so far; the newest report counts (U02).
    fn cost(&self, attempt: AttemptId, times: u64) -> Usage {
        let usage = Usage { input: 10 * times, output: self.world.random.below(20), cached: times };
        self.world.book().usage.insert(attempt, usage);
        usage
    }
}

/// A request that is under way; what must hold when it leaves.
struct Streaming(Arc<World>);

impl Streaming {
    fn begins(world: &Arc<World>, request: &Request) -> Self {
        let attempt = request.attempt;
        world.say(|| format!("  request {attempt}"));
        for (sound, what) in [(request.history.ready(), "ready"), (request.history.audit(), "sound")] {
            world.check(sound.is_ok(), || format!("P1: request {attempt} is not {what}: {sound:?}"));
        }
        let now = world.now();
        let mut book = world.book();
        book.streaming += 1;
        let (step, streaming) = (attempt.step(), book.streaming);
        let first = book.requests.insert(attempt);
        let (times, most) = (book.requests_of(step), book.requests_of_step as usize);
        let aborted = book.aborted_at(step.turn()).is_some();
        let above = book.parent_aborted_at(step.branch).is_some_and(|at| at < now);
        drop(book);
        world.check(first, || format!("M02: request {attempt} left twice"));
        world.check(times <= most, || format!("P9: {times} requests of step {step}, at most {most} may be"));
        world.check(!aborted, || format!("P4: request {attempt} after the abort of its turn was answered"));
        world.check(!above, || format!("P4: request {attempt} after the abort above its agent was answered"));
        let limit = world.limit.as_ref().map(machine_host::ModelLimit::most);
        world.check(limit.is_none_or(|most| streaming <= most), || {
            format!("H05: {streaming} requests at once, the limit is {limit:?}")
        });
        Self(world.clone())
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.0.book().streaming -= 1;
    }
}
