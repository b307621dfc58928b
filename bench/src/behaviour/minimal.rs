//! The hand-written loop, with the host that one writes with it: all calls of a batch at once.
use tokio::task::JoinSet;

use crate::Done;
use crate::behaviour::Probes;
use crate::behaviour::judge::{self, Finding, Lacking, Stopped};
use crate::behaviour::transcript::{Item, Transcript};
use crate::behaviour::world::{self, ANSWER, PROMPTS, Script, World, give_up};
use crate::loops::minimal::{Call, Event, Message, Minimal, Want};

/// The hand-written loop.
pub struct Handwritten;

struct Host {
    minimal: Minimal,
    script: Script,
    world: World,
}

impl Host {
    fn new(calls: Vec<world::Call>, world: World) -> Self {
        Self { minimal: Minimal::default(), script: Script::calling(calls), world }
    }

    /// Plays a turn; gives whether the prompt was taken.
    async fn turn(&mut self, prompt: &str) -> Done<bool> {
        let mut want = self.minimal.on(Event::Prompt(prompt.into()));
        let taken = !matches!(want, Want::Nothing);
        loop {
            want = match want {
                Want::Nothing => return Ok(taken),
                Want::Response => {
                    let calls = self.script.respond(transcript(&self.minimal));
                    let text = if calls.is_empty() { ANSWER } else { "" };
                    self.minimal.on(Event::Response(text.into(), calls.into_iter().map(call).collect()))
                }
                Want::Results(calls) => self.run(calls).await?,
            };
        }
    }

    async fn run(&mut self, calls: Vec<Call>) -> Done<Want> {
        let mut running = JoinSet::new();
        for Call { id, tool, arguments } in calls {
            let (world, args) = (self.world.clone(), serde_json::from_str(&arguments)?);
            running.spawn(async move { (id, world.run(&tool, args).await) });
        }
        let mut want = Want::Nothing;
        while let Some(done) = running.join_next().await {
            let (id, text) = done?;
            want = self.minimal.on(Event::Result(id, text));
        }
        Ok(want)
    }
}

fn call(of: world::Call) -> Call {
    Call { id: of.id.into(), tool: of.tool.into(), arguments: of.json().to_string() }
}

fn transcript(minimal: &Minimal) -> Transcript {
    let mut items = Vec::new();
    for message in minimal.history() {
        match message {
            Message::User(text) => items.push(Item::User(text.clone())),
            Message::Assistant(text, calls) => {
                if !text.is_empty() {
                    items.push(Item::Model(text.clone()));
                }
                items.extend(calls.iter().map(|call| Item::Called(call.id.clone())));
            }
            Message::Tool(id, text) => items.push(Item::Answered(id.clone(), text.clone())),
        }
    }
    Transcript(items)
}

impl Probes for Handwritten {
    const NAME: &'static str = "minimal";

    async fn order() -> Done<Finding> {
        let mut host = Host::new(world::read_after_write(), World::new());
        host.turn(PROMPTS[0]).await?;
        Ok(judge::order(&host.world, host.script.sent().get(1)))
    }

    async fn appends() -> Done<Finding> {
        let mut host = Host::new(world::appends(), World::new());
        host.turn(PROMPTS[0]).await?;
        Ok(judge::appends(&host.world))
    }

    async fn missing() -> Done<Finding> {
        let calls: Vec<Call> = world::two().into_iter().map(call).collect();
        let mut minimal = Minimal::default();
        minimal.on(Event::Prompt(PROMPTS[0].into()));
        minimal.on(Event::Response(String::new(), calls.clone()));
        let step = match minimal.on(Event::Result("c1".into(), "first done".into())) {
            Want::Response => Lacking::sent(&transcript(&minimal)),
            Want::Nothing | Want::Results(_) => Lacking::Waits,
        };

        let mut minimal = Minimal::with_history(vec![
            Message::User(PROMPTS[0].into()),
            Message::Assistant(String::new(), calls),
            Message::Tool("c1".into(), "first done".into()),
        ]);
        let history = match minimal.on(Event::Prompt(PROMPTS[1].into())) {
            Want::Response => Lacking::sent(&transcript(&minimal)),
            Want::Nothing | Want::Results(_) => Lacking::Waits,
        };
        Ok(judge::missing(step, history))
    }

    async fn timeout() -> Done<Finding> {
        let mut host = Host::new(world::work(), World::stuck());
        give_up(host.turn(PROMPTS[0])).await?;
        let taken = host.turn(PROMPTS[1]).await?;
        let next = if taken { host.script.sent().get(1).cloned() } else { None };
        // It has no place for tokens.
        Ok(Stopped { usage: None, next }.judged())
    }

    /// The loop can neither be copied nor written: no `Clone`, no serde.
    async fn snapshot() -> Done<Finding> {
        Ok(Finding::of("no snapshot"))
    }

    async fn doubt() -> Done<Finding> {
        let mut host = Host::new(world::work(), World::stuck());
        give_up(host.turn(PROMPTS[0])).await?;
        let left = transcript(&host.minimal);
        let mark = |call: world::Call| left.result_of(call.id).unwrap_or("no result").to_owned();
        let marks: Vec<String> = world::work().into_iter().map(mark).collect();
        Ok(judge::doubt(&marks))
    }

    async fn equal_ids() -> Done<Finding> {
        let mut host = Host::new(world::equal_ids(), World::new());
        host.turn(PROMPTS[0]).await?;
        Ok(judge::equal_ids(&host.world, host.script.sent().get(1)))
    }
}
