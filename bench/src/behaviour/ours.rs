//! Our host, driven as an application does.
use std::sync::{Arc, Mutex, PoisonError};

use machine_adapter::Request;
use machine_core::access::{Mode, Touch};
use machine_core::ask::{By, Cause};
use machine_core::history::{Edit, History};
use machine_core::message::{Body, Entry, Message};
use machine_core::response::{Finish, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;
use machine_host::{Agent, AgentBuilder, BoxFuture, Editor, Model, ModelOut, Parked, Tool, ToolCx, tool};
use machine_journal::MemoryJournal;

use crate::Done;
use crate::behaviour::Probes;
use crate::behaviour::judge::{self, Finding, Lacking, Stopped};
use crate::behaviour::transcript::{Item, Transcript};
use crate::behaviour::world::{self, ANSWER, Args, PATIENCE, PROMPTS, Script, TOKENS, TOOLS, World, give_up};

/// Our host.
pub struct Ours;

impl Model for Script {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        Box::pin(async move {
            let calls = self.respond(transcript(&request.history));
            let (input, output) = TOKENS;
            out.event(ModelEvent::Usage(Usage { input, output, cached: 0 })).await;
            if calls.is_empty() {
                out.text(ANSWER).await;
                return Ok(Finished::new(Finish::EndTurn));
            }
            for (index, call) in (0..).zip(calls) {
                out.call(index, call.id, call.tool, call.json().to_string()).await;
            }
            Ok(Finished::new(Finish::ToolUse))
        })
    }
}

fn transcript(history: &History) -> Transcript {
    let mut items = Vec::new();
    for entry in history.iter() {
        let message = &entry.message;
        match message {
            Message::System { .. } => {}
            Message::User { .. } => items.push(Item::User(message.text())),
            Message::Tool(tool) => items.push(Item::Answered(tool.wire.to_string(), message.text())),
            Message::Assistant { content } => {
                items.extend(content.iter().filter_map(|part| match &part.body {
                    Body::Text(text) => Some(Item::Model(text.to_string())),
                    Body::Call(call) => Some(Item::Called(call.wire.to_string())),
                    Body::Thinking { .. } | Body::Media { .. } => None,
                }))
            }
        }
    }
    Transcript(items)
}

/// A tool that says which file it touches, as the documentation of [`tool`] asks for.
fn declared(name: &'static str, reads: bool, world: &World) -> impl Tool {
    let world = world.clone();
    let mode = if reads { Mode::Read } else { Mode::Write };
    tool(name, "A tool for a probe", move |args: Args, cx: ToolCx| {
        let world = world.clone();
        async move { cx.text(world.run(name, args).await) }
    })
    .access(move |args: &Args| Touch::path(mode, args.path.clone()).into())
}

fn builder(script: &Script, world: &World) -> AgentBuilder {
    let builder = Agent::builder().model(script.clone());
    TOOLS.iter().fold(builder, |builder, (name, reads)| builder.tool(declared(name, *reads, world)))
}

/// An agent in the middle of [`world::work`]: the first is done, the second runs.
async fn in_the_middle(builder: AgentBuilder, world: &World) -> Done<Agent> {
    let agent = builder.open().await?;
    agent.submit(PROMPTS[0]).await?;
    world.until_stuck().await;
    // What the first brought is handled when this is answered.
    agent.state().await?;
    Ok(agent)
}

/// The agent that a journal leads to when the process dies in the middle, and its files.
async fn after_crash() -> Done<(Agent, World)> {
    let journal = Arc::new(Mutex::new(MemoryJournal::new()));
    let (script, world) = (Script::calling(world::work()), World::stuck());
    let _dies = in_the_middle(builder(&script, &world).journal(journal.clone()), &world).await?;
    // What a disk has at this moment.
    let mut left = journal.lock().unwrap_or_else(PoisonError::into_inner).clone();
    left.crash();
    let world = World::new();
    Ok((builder(&Script::silent(), &world).journal(left).open().await?, world))
}

/// Whether a maintenance hook may make these entries the history.
async fn takes(entries: Vec<Arc<Entry>>) -> Done<bool> {
    let taken = Arc::new(Mutex::new(None));
    let tell = taken.clone();
    let hook = move |_, editor: Editor| {
        let (tell, with) = (tell.clone(), entries.clone());
        async move {
            let edited = editor.edit(Edit::Replace { with }).await;
            *tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(edited.is_ok());
            Ok(())
        }
    };
    let agent = builder(&Script::silent(), &World::new()).maintenance(hook).open().await?;
    agent.maintain().await?;
    let taken = *taken.lock().unwrap_or_else(PoisonError::into_inner);
    taken.ok_or_else(|| "the hook was not asked".into())
}

impl Probes for Ours {
    const NAME: &'static str = "ours";

    async fn order() -> Done<Finding> {
        let (script, world) = (Script::calling(world::read_after_write()), World::new());
        builder(&script, &world).open().await?.prompt(PROMPTS[0]).await?;
        Ok(judge::order(&world, script.sent().get(1)))
    }

    async fn appends() -> Done<Finding> {
        let (script, world) = (Script::calling(world::appends()), World::new());
        builder(&script, &world).open().await?.prompt(PROMPTS[0]).await?;
        Ok(judge::appends(&world))
    }

    async fn missing() -> Done<Finding> {
        // Results come one by one, each to its own question: a step cannot be answered without one of them.
        let (script, world) = (Script::calling(world::work()), World::stuck());
        let agent = in_the_middle(builder(&script, &world), &world).await?;
        agent.steer(PROMPTS[1]).await?;
        tokio::time::sleep(PATIENCE).await;
        let step = match script.sent().get(1) {
            None => Lacking::Waits,
            Some(request) => Lacking::sent(request),
        };

        let agent = builder(&Script::calling(world::two()), &World::new()).open().await?;
        agent.prompt(PROMPTS[0]).await?;
        let entries: Vec<Arc<Entry>> = agent.history().await?.into();
        let is_result = |entry: &Arc<Entry>| matches!(entry.message, Message::Tool(_));
        let last = entries.iter().rposition(is_result).ok_or("there are no results")?;
        let history = match (takes(entries.clone()).await?, takes(entries[..last].to_vec()).await?) {
            (true, false) => Lacking::Refused,
            (true, true) => Lacking::Sent,
            (false, _) => return Err("a whole history was refused".into()),
        };
        Ok(judge::missing(step, history))
    }

    async fn timeout() -> Done<Finding> {
        let (script, world) = (Script::calling(world::work()), World::stuck());
        let agent = builder(&script, &world).open().await?;
        give_up(agent.prompt(PROMPTS[0])).await?;
        let goes_on = agent.state().await?.turn.is_some();
        let aborted = agent.abort(Cause::by(By::Timeout)).await?;
        let usage = aborted.end.map(|end| (end.usage.known.input, end.usage.known.output));
        agent.prompt(PROMPTS[1]).await?;
        let stops = if goes_on { "stops nothing" } else { "stops the turn" };
        let finding = Stopped { usage, next: script.sent().get(1).cloned() }.judged();
        Ok(finding.note(format!("a dropped `prompt` alone {stops}; the host says `abort`")))
    }

    async fn snapshot() -> Done<Finding> {
        let (script, world) = (Script::calling(world::work()), World::stuck());
        let agent = in_the_middle(builder(&script, &world), &world).await?;
        let saved = serde_json::to_string(&agent.park().await?)?;

        let (world, parked) = (World::new(), serde_json::from_str::<Parked>(&saved)?);
        let agent = builder(&Script::silent(), &world).parked(parked).open().await?;
        agent.idle().await?;
        let handed_over = judge::resumed(&world.begun());

        let (agent, world) = after_crash().await?;
        agent.resume().await?;
        agent.idle().await?;
        let crashed = judge::resumed(&world.begun()).cell;
        Ok(handed_over.note(format!("handed over with `park`; from the journal after a crash: {crashed}")))
    }

    async fn doubt() -> Done<Finding> {
        let (agent, _) = after_crash().await?;
        let history = transcript(&agent.history().await?);
        let marks: Vec<String> = history.results().into_iter().map(ToOwned::to_owned).collect();
        Ok(judge::doubt(&marks))
    }

    async fn equal_ids() -> Done<Finding> {
        let (script, world) = (Script::calling(world::equal_ids()), World::new());
        builder(&script, &world).open().await?.prompt(PROMPTS[0]).await?;
        Ok(judge::equal_ids(&world, script.sent().get(1)))
    }
}
