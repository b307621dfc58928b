//! `loopctl`: its loop (`BareLoop`) as its documentation has it, without features; its bare machine where that says more.
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures::Stream;
use loopctl::api::error::ApiError;
use loopctl::api::{ApiClient, NonStreamingResponse, StreamRequest};
use loopctl::config::{ParallelDispatchConfig, ParallelMode, SessionConfig};
use loopctl::engine::core::{Loop, LoopMachine, MachinePolicy, MachineStep, ModelResponse};
use loopctl::engine::{BareLoop, RunConfig};
use loopctl::message::{Message, MessagePart, Role};
use loopctl::observer::{LoopObserver, ToolPreContext};
use loopctl::stream::{StreamEvent, StreamStopReason, Usage};
use loopctl::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolRegistry, ToolSchema};
use serde_json::{Value, json};

use crate::Done;
use crate::behaviour::Probes;
use crate::behaviour::judge::{self, Finding, Lacking, Stopped};
use crate::behaviour::transcript::{Item, Transcript};
use crate::behaviour::world::{
    self, ANSWER, Args, Call, PATIENCE, PROMPTS, Script, TOKENS, TOOLS, World, give_up, parameters,
};

/// `loopctl`.
pub struct Bare;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl ApiClient for Script {
    fn model(&self) -> String {
        "a script".into()
    }

    /// Not used: without its feature `streaming` the loop asks for whole messages.
    fn stream_messages(
        &self,
        _: &StreamRequest,
    ) -> Pin<Box<dyn Stream<Item = Result<StreamEvent, ApiError>> + Send + 'static>> {
        Box::pin(futures::stream::empty())
    }

    fn create_message(&self, request: &StreamRequest) -> Boxed<'_, Result<NonStreamingResponse, ApiError>> {
        let calls = self.respond(transcript(&request.messages));
        let stop_reason =
            if calls.is_empty() { StreamStopReason::EndTurn } else { StreamStopReason::ToolCall };
        let (input, output) = TOKENS;
        let usage = Usage {
            input_tokens: u32::try_from(input).unwrap_or(u32::MAX),
            output_tokens: u32::try_from(output).unwrap_or(u32::MAX),
        };
        let message = response(calls);
        Box::pin(async move { Ok(NonStreamingResponse { message, stop_reason, usage: Some(usage) }) })
    }
}

fn response(calls: Vec<Call>) -> Message {
    if calls.is_empty() {
        return Message::assistant(ANSWER);
    }
    let parts = calls.iter().map(|call| MessagePart::tool_call(call.id, call.tool, call.json()));
    Message::new(Role::Assistant, parts.collect())
}

fn result(call: &str, text: &str) -> Message {
    Message::new(Role::User, vec![MessagePart::tool_result(call, "work", text.to_owned(), false)])
}

fn transcript(messages: &[Message]) -> Transcript {
    let mut items = Vec::new();
    for message in messages {
        items.extend(message.parts.iter().filter_map(|part| match part {
            MessagePart::Text { text } if message.role == Role::User => Some(Item::User(text.clone())),
            MessagePart::Text { text } => Some(Item::Model(text.clone())),
            MessagePart::ToolCall { id, .. } => Some(Item::Called(id.clone())),
            MessagePart::ToolResult { call_id, output, .. } => {
                Some(Item::Answered(call_id.clone(), output.to_string()))
            }
            _ => None,
        }));
    }
    Transcript(items)
}

/// What tools say of running beside others; matters in `ParallelMode::Parallel` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// Nothing: the default.
    Unsaid,
    /// That those which only read may.
    Readers,
    /// That all may, and that the path is their resource.
    Keyed,
}

struct Declared {
    name: &'static str,
    reads: bool,
    beside: Beside,
    world: World,
}

impl Tool for Declared {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "A tool for a probe"
    }

    fn schema(&self) -> ToolSchema {
        ToolSchema {
            tool: self.name.into(),
            description: self.description().into(),
            input_schema: parameters(),
        }
    }

    fn call(&self, input: Value, _: &ToolContext) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        let args = serde_json::from_value::<Args>(input);
        Box::pin(async move {
            let args = args.map_err(|error| ToolError::Execution(error.to_string()))?;
            Ok(ToolOutput::text(self.world.run(self.name, args).await))
        })
    }

    fn is_concurrency_safe(&self) -> bool {
        match self.beside {
            Beside::Unsaid => false,
            Beside::Readers => self.reads,
            Beside::Keyed => true,
        }
    }

    fn resource_key(&self, input: &Value) -> Option<String> {
        let path = input.get("path").and_then(Value::as_str).map(ToOwned::to_owned);
        path.filter(|_| self.beside == Beside::Keyed)
    }

    fn is_read_only(&self) -> bool {
        self.reads
    }
}

fn tools(world: &World, beside: Beside) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    for (name, reads) in TOOLS {
        registry.register(Declared { name, reads, beside, world: world.clone() });
    }
    registry
}

fn agent(script: &Script, world: &World, beside: Beside) -> BareLoop<Script> {
    BareLoop::new(Arc::new(script.clone()), tools(world, beside), SessionConfig::default())
}

/// A batch, by default or in parallel; what it left.
async fn played(calls: Vec<Call>, parallel: Option<Beside>) -> Done<(World, Script)> {
    let (script, world) = (Script::calling(calls), World::new());
    let mut config = RunConfig::default();
    if parallel.is_some() {
        let limit = ParallelDispatchConfig::default();
        config.parallel_tool_dispatch = ParallelDispatchConfig { mode: ParallelMode::Parallel, ..limit };
    }
    agent(&script, &world, parallel.unwrap_or(Beside::Unsaid)).run(PROMPTS[0], &config).await?;
    Ok((world, script))
}

/// The loop after a batch was stopped in the middle by dropping its future.
async fn dropped(script: &Script, world: &World) -> Done<BareLoop<Script>> {
    let mut agent = agent(script, world, Beside::Unsaid);
    give_up(agent.run(PROMPTS[0], &RunConfig::default())).await?;
    Ok(agent)
}

fn usage(agent: &BareLoop<Script>) -> (u64, u64) {
    (agent.session().total_input_tokens(), agent.session().total_output_tokens())
}

/// Another prompt after a stop.
async fn after_stop(mut agent: BareLoop<Script>, script: &Script) -> Done<Finding> {
    let (usage, before) = (usage(&agent), script.sent().len());
    agent.run(PROMPTS[1], &RunConfig::default()).await?;
    Ok(Stopped { usage: Some(usage), next: script.sent().get(before).cloned() }.judged())
}

/// A loop that begins with this history.
fn begun_with(machine: LoopMachine, script: &Script, world: &World) -> BareLoop<Script> {
    let (client, tools) = (Arc::new(script.clone()), tools(world, Beside::Unsaid));
    BareLoop::from_machine(machine, SessionConfig::default(), client, tools)
}

/// The same, where the host makes up a result for each call, and begins anew with them.
async fn made_up() -> Done<Finding> {
    let (script, world) = (Script::calling(world::work()), World::stuck());
    let stopped = dropped(&script, &world).await?;
    let (usage, mut history) = (Some(usage(&stopped)), stopped.conversation());
    history.push(result("c1", "first done"));
    history.extend(["c2", "c3"].map(|id| result(id, "stopped")));
    let script = Script::silent();
    begun_with(LoopMachine::from_history(history), &script, &world)
        .run(PROMPTS[1], &RunConfig::default())
        .await?;
    Ok(Stopped { usage, next: script.sent().into_iter().next() }.judged())
}

/// The same, where it is cancelled as its documentation says.
async fn cancelled() -> Done<Finding> {
    let (script, world) = (Script::calling(world::work()), World::stuck());
    let mut agent = agent(&script, &world, Beside::Unsaid);
    let signal = agent.cancel_signal();
    let cancel = async {
        tokio::time::sleep(PATIENCE).await;
        signal.cancel();
    };
    let config = RunConfig::default();
    let (ended, ()) = futures::future::join(agent.run(PROMPTS[0], &config), cancel).await;
    if ended.is_ok() {
        return Err("the batch did not hang".into());
    }
    after_stop(agent, &script).await
}

/// A machine through its text form.
fn saved(machine: &LoopMachine) -> Done<LoopMachine> {
    Ok(serde_json::from_str(&serde_json::to_string(machine)?)?)
}

const POLICY: MachinePolicy =
    MachinePolicy { max_turns: 8, context_window: 0, compact_threshold: 0, auto_compact: false };

/// The bare machine, which waits for the results of two calls.
fn two_calls() -> Done<LoopMachine> {
    let mut machine = LoopMachine::from_history(Vec::new());
    machine.accept_input(PROMPTS[0]);
    machine.next_step(POLICY);
    // Outside of the crate a response can be made only from JSON.
    let response: ModelResponse = serde_json::from_value(json!({
        "message": response(world::two()),
        "input_tokens": TOKENS.0,
        "output_tokens": TOKENS.1,
        "stop_reason": "ToolCall",
        "available_tools": ["work"],
    }))?;
    machine.model_response(response, 0);
    match machine.next_step(POLICY) {
        MachineStep::CallTools { calls } if calls.len() == 2 => Ok(machine),
        other => Err(format!("not expected: {other:?}").into()),
    }
}

/// Keeps which calls were about to run.
#[derive(Default)]
struct Watcher(Mutex<Vec<String>>);

impl LoopObserver for Watcher {
    fn name(&self) -> &str {
        "a watcher"
    }

    fn on_tool_pre(&self, ctx: &ToolPreContext) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ctx.tool_call_id.clone());
    }
}

/// What a watcher of the host's own could say of each call.
async fn watched() -> Done<Finding> {
    let (script, world) = (Script::calling(world::work()), World::stuck());
    let watcher = Arc::new(Watcher::default());
    let mut agent = agent(&script, &world, Beside::Unsaid);
    agent.register_observer(watcher.clone());
    give_up(agent.run(PROMPTS[0], &RunConfig::default())).await?;
    let told = watcher.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mark = |call: Call| if told.iter().any(|id| id == call.id) { "told" } else { "not told" };
    let marks: Vec<String> = world::work().into_iter().map(|call| mark(call).to_owned()).collect();
    Ok(judge::doubt(&marks))
}

impl Probes for Bare {
    const NAME: &'static str = "loopctl 0.2.1";

    async fn order() -> Done<Finding> {
        let order = async |calls, parallel| {
            let (world, script) = played(calls, parallel).await?;
            Done::Ok(judge::order(&world, script.sent().get(1)))
        };
        let (batch, tail) = (world::read_after_write(), world::read_after_write().split_off(1));
        let readers = order(batch.clone(), Some(Beside::Readers)).await?.cell;
        let tail = order(tail, Some(Beside::Readers)).await?.cell;
        let keyed = order(batch.clone(), Some(Beside::Keyed)).await?.cell;
        Ok(order(batch, None).await?.note(format!(
            "with `ParallelMode::Parallel`, where only reads are declared safe: {readers} (another read stands before the \
             write; without that: {tail}); where all are, with resource keys: {keyed}"
        )))
    }

    async fn appends() -> Done<Finding> {
        let appends = async |parallel| Done::Ok(judge::appends(&played(world::appends(), parallel).await?.0));
        let readers = appends(Some(Beside::Readers)).await?.cell;
        let keyed = appends(Some(Beside::Keyed)).await?.cell;
        Ok(appends(None).await?.note(format!(
            "with `ParallelMode::Parallel`, where only reads are declared safe: {readers}; where all are, with resource \
             keys: {keyed}"
        )))
    }

    async fn missing() -> Done<Finding> {
        let mut machine = two_calls()?;
        machine.tool_results(vec![result("c1", "first done")]);
        let step = match machine.next_step(POLICY) {
            MachineStep::CallLLM { .. } => Lacking::sent(&transcript(&machine.full_history())),
            MachineStep::CallTools { .. } => Lacking::Waits,
            _ => Lacking::Refused,
        };

        let calls = response(world::two());
        let history = vec![Message::user(PROMPTS[0]), calls, result("c1", "first done")];
        let (script, world) = (Script::silent(), World::new());
        let mut agent = begun_with(LoopMachine::from_history(history), &script, &world);
        let history = match (agent.run(PROMPTS[1], &RunConfig::default()).await, script.sent().first()) {
            (_, Some(request)) => Lacking::sent(request),
            (Err(_), None) => Lacking::Refused,
            (Ok(_), None) => Lacking::Waits,
        };
        // In `dispatch_tools_parallel` a call without a result is given one; in sequence there is none without.
        Ok(judge::missing(step, history)
            .note("the step is that of its bare machine; `BareLoop` answers every call itself"))
    }

    async fn timeout() -> Done<Finding> {
        let (script, world) = (Script::calling(world::work()), World::stuck());
        let agent = dropped(&script, &world).await?;
        let left = transcript(&agent.conversation()).is_sendable();
        let finding = after_stop(agent, &script).await?;
        let left = if left { "complete" } else { "without results" };
        let (cancelled, made_up) = (cancelled().await?.cell, made_up().await?.cell);
        Ok(finding.note(format!(
            "the next `run` drops what was not committed; after `cancel()` instead of a drop: {cancelled}. Until then \
             `conversation()` has the calls, {left}; begun anew from it, with results that the host makes up: {made_up}"
        )))
    }

    /// As the documentation of `BareLoop::from_machine` has it: restored, it goes on with `run`.
    async fn snapshot() -> Done<Finding> {
        let (script, world) = (Script::calling(world::work()), World::stuck());
        let machine = saved(&dropped(&script, &world).await?.into_machine())?;
        let bare = match machine.clone().next_step(POLICY) {
            MachineStep::CallTools { calls } => format!("`CallTools` with {} calls", calls.len()),
            other => format!("{other:?}"),
        };
        let world = World::new();
        begun_with(machine, &Script::silent(), &world).run(PROMPTS[1], &RunConfig::default()).await?;
        Ok(judge::resumed(&world.begun()).note(format!("the bare machine, restored, asks for {bare}")))
    }

    async fn doubt() -> Done<Finding> {
        let (script, world) = (Script::calling(world::work()), World::stuck());
        let machine = saved(&dropped(&script, &world).await?.into_machine())?;
        let left = transcript(&machine.full_history());
        let mark = |call: Call| left.result_of(call.id).unwrap_or("no result").to_owned();
        let marks: Vec<String> = world::work().into_iter().map(mark).collect();
        let watched = watched().await?.cell;
        Ok(judge::doubt(&marks)
            .note(format!("by what a `LoopObserver` of the host's own is told before each call: {watched}")))
    }

    async fn equal_ids() -> Done<Finding> {
        let (world, script) = played(world::equal_ids(), None).await?;
        Ok(judge::equal_ids(&world, script.sent().get(1)))
    }
}
