//! `rig-agent`: its agent (`prompt`, `resume`) with its own scripted model, and its steppable run, which is what it has for
//! stopping and saving.
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rig_agent::core::completion::{ToolDefinition, Usage};
use rig_agent::core::effect::{EffectId, EffectKind, HandlerDescriptor, HandlerKey, Outcome};
use rig_agent::core::error::ErrorReport;
use rig_agent::core::message::{
    AssistantContent, AssistantMessage, Message, ToolName, ToolResultContent, UserContent,
};
use rig_agent::core::serve::{Origin, Recorder};
use rig_agent::core::test_utils::{MockCompletionModel, MockTurn};
use rig_agent::run::transcript::validate_canonical;
use rig_agent::run::{AgentRun, AgentRunStep, ModelTurn, PendingToolCall};
use rig_agent::tool::{DynamicTool, ToolExecutionError, ToolOutput};
use rig_agent::{Agent, AgentBuilder};
use serde_json::Value;

use crate::Done;
use crate::behaviour::Probes;
use crate::behaviour::judge::{self, Finding, Lacking, Stopped};
use crate::behaviour::transcript::{Item, Transcript};
use crate::behaviour::world::{
    self, ANSWER, Args, Call, PROMPTS, TOKENS, TOOLS, WORK, World, give_up, parameters,
};

/// `rig-agent`.
pub struct Rig;

/// Its default is one model call; a batch needs two.
const TURNS: usize = 8;

fn usage() -> Usage {
    let (input, output) = TOKENS;
    let mut usage = Usage::new();
    usage.input_tokens = Some(input);
    usage.output_tokens = Some(output);
    usage
}

fn choice(calls: Vec<Call>) -> Done<Vec<AssistantContent>> {
    let call = |call: Call| {
        let name = ToolName::new(call.tool)?;
        Ok(AssistantContent::tool_call(call.id, name, call.json()))
    };
    calls.into_iter().map(call).collect()
}

/// The model: one response with these calls, if there are any, then words.
fn model(calls: Vec<Call>) -> Done<MockCompletionModel> {
    let calling = match calls.is_empty() {
        true => None,
        false => Some(MockTurn::from_contents(choice(calls)?).with_usage(usage())),
    };
    let words = [ANSWER; TURNS].map(|text| MockTurn::text(text).with_usage(usage()));
    Ok(MockCompletionModel::from_turns(calling.into_iter().chain(words)))
}

fn tool(name: &'static str, world: &World) -> Done<DynamicTool> {
    let world = world.clone();
    Ok(DynamicTool::new(ToolName::new(name)?, "A tool for a probe", parameters(), move |args| {
        let world = world.clone();
        Box::pin(async move {
            let args = serde_json::from_value::<Args>(args);
            let args = args.map_err(|error| ToolExecutionError::invalid_args(error.to_string()))?;
            Ok(ToolOutput::text(world.run(name, args).await))
        })
    }))
}

fn builder(model: &MockCompletionModel) -> AgentBuilder {
    AgentBuilder::new(model.clone())
}

fn tools(world: &World) -> Done<Vec<DynamicTool>> {
    TOOLS.iter().map(|(name, _)| tool(name, world)).collect()
}

fn agent(model: &MockCompletionModel, world: &World) -> Done<Agent> {
    Ok(builder(model).dynamic_tools(tools(world)?).build())
}

/// The requests as they reach the provider: the library shapes history on the way.
fn sent(model: &MockCompletionModel) -> Vec<Transcript> {
    model.requests().iter().map(|request| transcript(&request.chat_history)).collect()
}

fn transcript(messages: &[Message]) -> Transcript {
    let mut items = Vec::new();
    for message in messages {
        match message {
            Message::System { .. } => {}
            Message::User { content } => items.extend(content.iter().filter_map(|part| match part {
                UserContent::Text(text) => Some(Item::User(text.text.clone())),
                UserContent::ToolResult(result) => {
                    Some(Item::Answered(result.call.wire().into_owned(), text_of(&result.content)))
                }
                _ => None,
            })),
            Message::Assistant(turn) => items.extend(turn.content.iter().filter_map(|part| match part {
                AssistantContent::Text(text) => Some(Item::Model(text.text.clone())),
                AssistantContent::ToolCall(call) => Some(Item::Called(call.id.wire().into_owned())),
                _ => None,
            })),
        }
    }
    Transcript(items)
}

fn text_of(content: &[ToolResultContent]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        ToolResultContent::Text(text) => Some(&*text.text),
        _ => None,
    });
    texts.collect()
}

/// A batch, with so many calls at once; by default one. What it left.
async fn played(calls: Vec<Call>, at_once: Option<usize>) -> Done<(World, Vec<Transcript>)> {
    let (model, world) = (model(calls)?, World::new());
    let mut runner = agent(&model, &world)?.prompt(PROMPTS[0]).max_turns(TURNS);
    if let Some(at_once) = at_once {
        runner = runner.tool_concurrency(at_once);
    }
    runner.await?;
    Ok((world, sent(&model)))
}

/// A steppable run that waits for the results of these calls.
fn waiting(calls: Vec<Call>) -> Done<(AgentRun, Vec<PendingToolCall>)> {
    let mut run = AgentRun::new(Message::user(PROMPTS[0])).max_turns(TURNS);
    run.next_step()?;
    // So that an agent can resume it.
    let offered = |name| {
        Ok(ToolDefinition {
            name: ToolName::new(name)?,
            description: String::new(),
            parameters: parameters(),
        })
    };
    run.advertise_tools(1, TOOLS.iter().map(|(name, _)| offered(*name)).collect::<Done<_>>()?);
    let (head, tools) = (AssistantMessage::default(), BTreeSet::from(["work".to_owned()]));
    run.model_response(ModelTurn::new(head, choice(calls)?, usage(), tools.clone(), tools, Value::Null))?;
    match run.next_step()? {
        AgentRunStep::CallTools { calls } => Ok((run, calls)),
        other => Err(format!("not expected: {other:?}").into()),
    }
}

fn result(call: &PendingToolCall, text: &str) -> UserContent {
    UserContent::ToolResult(call.tool_call.result(vec![ToolResultContent::text(text)]))
}

/// Runs these calls one after the other, as its own loop does by default, until patience ends; gives the results.
async fn stopped(calls: &[PendingToolCall], world: &World) -> Done<Vec<UserContent>> {
    let mut results = Vec::new();
    let all = async {
        for call in calls {
            let function = &call.tool_call.function;
            let args = serde_json::from_value(function.arguments_value())?;
            let text = world.run(function.name.as_str(), args).await;
            results.push(result(call, &text));
        }
        Done::Ok(())
    };
    give_up(all).await?;
    Ok(results)
}

/// Keeps which tools ran.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Noted>>>);

/// A tool that began, by the text of its arguments.
#[derive(Clone)]
struct Noted {
    id: EffectId,
    args: String,
    is_done: bool,
}

impl Recorder for Log {
    fn begin(&self, id: EffectId, _: HandlerKey, kind: EffectKind, _: Origin) {
        if let EffectKind::ToolCall { args, .. } = kind {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Noted { id, args, is_done: false });
        }
    }

    fn resolve(&self, id: EffectId, _: Result<Outcome, ErrorReport>) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter_mut().filter(|noted| noted.id == id).for_each(|noted| noted.is_done = true);
    }

    fn handlers(&self, _: Vec<HandlerDescriptor>) {}
    fn discard(&self, _: EffectId) {}
    fn patch(&self, _: EffectId, _: EffectKind) {}
    fn keep_events(&self) -> bool {
        false
    }
    fn event(
        &self,
        _: EffectId,
        _: &rig_agent::core::streaming::Item<rig_agent::core::streaming::StreamEvent>,
    ) {
    }
    fn origin(&self, _: EffectId, _: &rig_agent::core::message::Origin) {}
    fn tool_output(&self, _: EffectId, _: rig_agent::core::tool::ToolResultContext) {}
}

/// What a recorder of the host's own could say of each call.
async fn recorded() -> Done<Finding> {
    let (model, world, log) = (model(world::work())?, World::stuck(), Log::default());
    let agent = builder(&model).record_to(log.clone()).dynamic_tools(tools(&world)?).build();
    give_up(agent.prompt(PROMPTS[0]).max_turns(TURNS)).await?;
    let log = log.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mark = |name: &str| match log.iter().find(|noted| noted.args.contains(name)) {
        None => "not told".to_owned(),
        Some(noted) => format!("told, done: {}", noted.is_done),
    };
    Ok(judge::doubt(&WORK.map(mark)))
}

impl Probes for Rig {
    const NAME: &'static str = "rig-agent 0.44.0";

    async fn order() -> Done<Finding> {
        let (world, sent) = played(world::read_after_write(), None).await?;
        let (beside, sent_beside) = played(world::read_after_write(), Some(4)).await?;
        let beside = judge::order(&beside, sent_beside.get(1)).cell;
        Ok(judge::order(&world, sent.get(1)).note(format!("with `tool_concurrency(4)`: {beside}")))
    }

    async fn appends() -> Done<Finding> {
        let beside = judge::appends(&played(world::appends(), Some(4)).await?.0).cell;
        let (world, _) = played(world::appends(), None).await?;
        Ok(judge::appends(&world).note(format!("with `tool_concurrency(4)`: {beside}")))
    }

    async fn missing() -> Done<Finding> {
        let (mut run, calls) = waiting(world::two())?;
        let first = vec![result(&calls[0], "first done")];
        let step = match run.tool_results(first.clone()) {
            Err(_) => Lacking::Refused,
            Ok(()) => match run.next_step()? {
                AgentRunStep::CallModel { prompt, mut history, .. } => {
                    history.push(prompt);
                    Lacking::sent(&transcript(&history))
                }
                _ => Lacking::Waits,
            },
        };

        let (run, _) = waiting(world::two())?;
        let mut history = run.full_history();
        history.push(Message::User { content: first });
        let checked = AgentRun::new(PROMPTS[1]).with_validated_history(history.clone());
        let (model, world) = (model(Vec::new())?, World::new());
        let ended = agent(&model, &world)?.prompt(PROMPTS[1]).history(history).max_turns(TURNS).await;
        let request = sent(&model).into_iter().next();
        let history = match (&request, ended) {
            (Some(request), _) => Lacking::sent(request),
            (None, Err(_)) => Lacking::Refused,
            (None, Ok(_)) => Lacking::Waits,
        };
        let mended = request.as_ref().and_then(|request| request.result_of("c2")).unwrap_or("nothing");
        let checked = if checked.is_err() { "refused" } else { "taken" };
        Ok(judge::missing(step, history).note(format!(
            "on the way to the provider the call is answered `{mended}`; by `with_validated_history` it is {checked}"
        )))
    }

    async fn timeout() -> Done<Finding> {
        let (run, calls) = waiting(world::work())?;
        let results = stopped(&calls, &World::stuck()).await?;
        let usage = run.usage().input_tokens.zip(run.usage().output_tokens);
        let mut history = run.full_history();
        let alone = validate_canonical(&history).is_ok();
        history.push(Message::User { content: results });
        let (quiet, world) = (model(Vec::new())?, World::new());
        agent(&quiet, &world)?.prompt(PROMPTS[1]).history(history).max_turns(TURNS).await?;
        let next = sent(&quiet).into_iter().next();
        let others = next.as_ref().and_then(|next| next.result_of("c3")).unwrap_or("nothing").to_owned();
        let finding = Stopped { usage, next }.judged();

        // The agent's own loop: the run is in the future, and goes with it.
        let (model, world) = (model(world::work())?, World::stuck());
        let agent = agent(&model, &world)?;
        give_up(agent.prompt(PROMPTS[0]).max_turns(TURNS)).await?;
        agent.prompt(PROMPTS[1]).max_turns(TURNS).await?;
        let dropped = Stopped { usage: None, next: sent(&model).get(1).cloned() }.judged().cell;
        let alone = if alone { "passes" } else { "does not pass" };
        Ok(finding.note(format!(
            "its steppable run: the host adds the results that it has, the other calls are answered `{others}` on the way; \
             until then the history {alone} its own check. A dropped `agent.prompt(…)`: {dropped}"
        )))
    }

    async fn snapshot() -> Done<Finding> {
        let (run, calls) = waiting(world::work())?;
        stopped(&calls, &World::stuck()).await?;
        let run: AgentRun = serde_json::from_str(&serde_json::to_string(&run)?)?;
        let (model, world) = (model(Vec::new())?, World::new());
        agent(&model, &world)?.resume(run).await?;
        Ok(judge::resumed(&world.begun()).note(
            "`Agent::resume`, as its documentation says; a host that steps the run itself can leave out what it knows",
        ))
    }

    async fn doubt() -> Done<Finding> {
        let (run, calls) = waiting(world::work())?;
        stopped(&calls, &World::stuck()).await?;
        let mut run: AgentRun = serde_json::from_str(&serde_json::to_string(&run)?)?;
        let AgentRunStep::CallTools { calls } = run.next_step()? else {
            return Err("no calls are pending".into());
        };
        // All that a pending call says, besides the call itself.
        let marks: Vec<String> = calls.iter().map(|call| format!("{:?}", call.preresolved_result)).collect();
        let recorded = recorded().await?.cell;
        Ok(judge::doubt(&marks)
            .note(format!("by what a `Recorder` of the host's own is told of each call: {recorded}")))
    }

    async fn equal_ids() -> Done<Finding> {
        let (world, sent) = played(world::equal_ids(), None).await?;
        Ok(judge::equal_ids(&world, sent.get(1)))
    }
}
