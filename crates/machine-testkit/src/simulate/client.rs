//! What clients do at any time: every command, and many at once.
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use machine_core::ask::{Approval, By, Cause, Question};
use machine_core::ids::{CallId, InputId, TurnId};
use machine_core::input::{Refused, Target};
use machine_host::{Aborted, Agent, CommandError, Place, PromptError, Rule, Say};
use tokio::time::timeout;

use super::book::Told;
use super::fault::Fault;
use super::fork;
use super::job;
use super::life::{Life, PATIENCE};
use super::policies;
use super::watch::{Manner, Reader, watch};
use super::world::World;

impl Life {
    /// One thing that a client may do.
    pub(super) async fn client(&mut self) {
        let (world, agent) = (self.world.clone(), self.agent.clone());
        let random = &world.random;
        let what = random.below(29);
        world.say(|| format!("client {what}"));
        match what {
            0..=3 => self.says("submit").await,
            4 | 5 => self.prompts(),
            6 => self.says("steer").await,
            7 => self.says("notify").await,
            8 => self.says("inject").await,
            9 => self.says("parked").await,
            10 => {
                let key = random.of(&["time", "weather"]);
                let reminds = agent.remind(key, random.of(&["it is late", "it is early"]));
                self.may("remind", reminds).await;
            }
            11 => self.may("remind if changed", agent.remind_if_changed("time", "it is late")).await,
            12 => {
                let ids = [self.known(), self.known()];
                self.may("steer queued", agent.steer_queued(ids)).await;
            }
            13 => self.may("withdraw", agent.withdraw(self.known())).await,
            14 => self.may("replace", agent.replace(self.known(), "something else")).await,
            15 => self.may("pause", agent.pause()).await,
            16 => self.may("resume", agent.resume()).await,
            17 | 18 => self.aborts().await,
            19 => self.may("cancel call", agent.cancel_call(self.call().await, who(&world))).await,
            20 => self.may("consume", agent.consume(self.call().await)).await,
            21 => self.declares().await,
            22 => self.maintains(),
            23 => {
                let config = policies::drawn(&world, self.stage().has(|wants| wants.screen));
                self.may("configure", agent.configure(config)).await;
            }
            24 | 25 => self.decides(true).await,
            26 => self.reads().await,
            27 => self.watches().await,
            _ => fork::take(self).await,
        }
    }

    /// A command that is answered at once, with yes or no.
    async fn may(&self, what: &str, command: impl Future<Output = Result<(), CommandError>>) {
        self.answered(what, command).await;
    }

    /// An answer that nothing holds up; none: it was refused.
    async fn answered<T: Debug>(
        &self,
        what: &str,
        command: impl Future<Output = Result<T, CommandError>>,
    ) -> Option<T> {
        match timeout(PATIENCE, command).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(CommandError::Refused(why))) => self.world.say(|| format!("  {what} is refused: {why}")),
            Ok(Err(CommandError::NotAsked | CommandError::Fork(_))) => {}
            Ok(Err(wrong)) => self.world.violated(format!("H03: {what}: {wrong}")),
            Err(_) => self.world.violated(format!("J02: {what} is never answered")),
        }
        None
    }

    fn fresh(&mut self) -> (InputId, Say) {
        let random = &self.world.random;
        if random.percent(5) {
            // A repeat after a doubt (A10).
            let known = self.known();
            return (known.clone(), Say::text("again").id(known));
        }
        let id = InputId::from(format!("input {}", self.sent.len()));
        self.sent.push(id.clone());
        let text = random.of(&["do something", "look here", "the word is secret", ""]);
        (id.clone(), Say::text(text).id(id))
    }

    fn known(&self) -> InputId {
        let newest = self.sent.len().saturating_sub(4);
        let at = newest + self.world.random.index(4);
        self.sent.get(at).cloned().unwrap_or_else(|| "nobody".into())
    }

    async fn says(&mut self, how: &str) {
        let (agent, (_, say)) = (self.agent.clone(), self.fresh());
        let accepted = match how {
            "steer" => self.answered(how, agent.steer(say)).await,
            "notify" => self.answered(how, agent.notify(say)).await,
            "inject" => self.answered(how, agent.inject(say)).await,
            "parked" => self.answered(how, agent.submit(say.parked())).await,
            _ => self.answered(how, agent.submit(say)).await,
        };
        if let Some(id) = accepted {
            self.world.book().acknowledged.insert(id);
        }
    }

    /// A client that waits for the end of its turn, or goes away.
    fn prompts(&mut self) {
        let (world, agent, (id, say)) = (self.world.clone(), self.agent.clone(), self.fresh());
        let patience = patience(&world);
        self.clients.spawn(async move {
            match timeout(patience, agent.prompt(say)).await {
                Ok(Ok(end)) => {
                    let mut book = world.book();
                    book.acknowledged.insert(id);
                    book.ends.push(end);
                }
                Ok(Err(PromptError::Command(CommandError::Refused(_) | CommandError::Gone))) | Err(_) => {}
                Ok(Err(PromptError::Command(wrong))) => world.violated(format!("H03: prompt: {wrong}")),
                Ok(Err(why)) => world.say(|| format!("  a prompt has no end: {why}")),
            }
        });
    }

    /// One, or several at once; with or without a target.
    async fn aborts(&mut self) {
        for _ in 0..self.world.random.of(&[1, 1, 1, 2, 3]) {
            let target = self.target().await;
            let (world, agent) = (self.world.clone(), self.agent.clone());
            let patience = patience(&world);
            self.clients.spawn(abort(world, agent, target, patience));
        }
    }

    async fn target(&self) -> Option<Target> {
        let random = &self.world.random;
        match random.below(6) {
            0 => Some(Target::Prompt(self.known())),
            1 => {
                let state = self.answered("state", self.agent.state()).await?;
                Some(Target::Turn(state.turn.map_or(TurnId { branch: 1, turn: 99 }, |turn| turn.id)))
            }
            _ => None,
        }
    }

    /// A call that is not over, or one that there is not.
    async fn call(&self) -> CallId {
        let calls = self.answered("state", self.agent.state()).await.map(|state| state.calls);
        let calls = calls.unwrap_or_default();
        let nobody = CallId { branch: 1, turn: 1, step: 1, index: 0 };
        calls.get(self.world.random.index(calls.len())).map_or(nobody, |call| call.id)
    }

    async fn declares(&self) {
        let (call, access) = (self.call().await, job::access(&self.world));
        let declared = self.answered("declare", self.agent.declare(call, access.clone())).await;
        if declared.is_some() {
            self.world.book().declared.insert(call, access);
        }
    }

    fn maintains(&mut self) {
        let (world, agent) = (self.world.clone(), self.agent.clone());
        let patience = patience(&world);
        self.clients.spawn(async move {
            match timeout(patience, agent.maintain()).await {
                Ok(Ok(_) | Err(CommandError::Refused(_) | CommandError::Gone)) | Err(_) => {}
                Ok(Err(wrong)) => world.violated(format!("H03: maintain: {wrong}")),
            }
        });
    }

    /// Answers an approval that waits. `anyhow`: perhaps with another digest, perhaps with a no.
    pub(super) async fn decides(&self, anyhow: bool) {
        let Some(open) = self.answered("outstanding", self.agent.outstanding()).await else { return };
        let asked: Vec<_> = open
            .iter()
            .filter_map(|open| match &open.ask.question {
                Question::Approve { call, digest, .. } => Some((*call, *digest)),
                _ => None,
            })
            .collect();
        let random = &self.world.random;
        for (n, (call, digest)) in asked.iter().enumerate() {
            if !anyhow {
                self.may("decide", self.agent.decide(*call, *digest, Approval::Granted)).await;
                continue;
            }
            // The digest of another question fits none of this call (C04).
            let digest = if random.percent(20) { asked[random.index(n + 1)].1 } else { *digest };
            match random.below(5) {
                0 => {
                    let rule = Rule::for_tool("work");
                    self.may("decide by rule", self.agent.decide(*call, digest, rule)).await;
                }
                1 => self.may("deny", self.agent.decide(*call, digest, Approval::Denied("no".into()))).await,
                2 | 3 => self.may("grant", self.agent.decide(*call, digest, Approval::Granted)).await,
                _ => {}
            }
        }
    }

    async fn reads(&self) {
        let agent = &self.agent;
        if let Some(history) = self.answered("history", agent.history()).await {
            // V05: the calls of the running batch are open.
            let sound = history.audit();
            self.world.check(sound.is_ok(), || format!("V05: {sound:?}"));
        }
        self.answered("usage", agent.usage()).await;
        self.answered("config", agent.config()).await;
        self.answered("outstanding", agent.outstanding()).await;
    }

    async fn watches(&self) {
        let world = &self.world;
        let manner = match () {
            () if world.strikes(Fault::WatcherDeaf) => Manner::Deaf,
            () if world.strikes(Fault::WatcherPanics) => Manner::Panics,
            () => Manner::Reads,
        };
        tokio::spawn(watch(world.clone(), self.agent.events(), manner));
        if world.strikes(Fault::WatcherLate) {
            let from = world.random.below(20);
            if let Some(seen) = self.answered("recorded", self.agent.recorded(from)).await {
                let first = seen.first().map(|seen| seen.place);
                world.check(first.is_none_or(|first| first == Place::Durable(from)), || {
                    format!("E04: recorded from {from} begins with {first:?}")
                });
                let mut reader = Reader::default();
                seen.into_iter().for_each(|seen| reader.see(world, Ok(seen)));
            }
        }
    }

    /// A faulted agent says so, whatever it is told (A22); the way out is to open it again.
    pub(super) async fn leaves_a_fault(&mut self) {
        let state = self.answered("state", self.agent.state()).await;
        let state = state.map(|state| state.agent);
        if !state.is_some_and(|state| state.contains(&"Faulted")) {
            return;
        }
        let may = self.disk.has_failed() || self.world.knows(Fault::SealPanics);
        self.world.check(may, || "A22: it is faulted, and nothing had failed".into());
        let told = self.agent.submit(Say::text("are you there?").id("to the faulted")).await;
        let refused = matches!(told, Err(CommandError::Refused(Refused::Faulted(_))));
        self.world.check(refused, || format!("A22: a faulted agent answers {told:?}"));
        self.world.book().tally.count("faulted");
        self.crashes().await;
    }
}

fn who(world: &World) -> Arc<Cause> {
    Cause::by(world.random.of(&[By::User, By::Program]))
}

/// How long a client waits before it goes away.
fn patience(world: &World) -> Duration {
    match world.strikes(Fault::ClientGoesAway) {
        true => Duration::from_millis(world.random.of(&[0, 1, 2_000, 40_000])),
        false => Duration::from_secs(1 << 32),
    }
}

/// An abort is answered within the grace, whatever tools, hooks, watchers and children do (P15).
async fn abort(world: Arc<World>, agent: Agent, target: Option<Target>, patience: Duration) {
    let (began, grace) = (world.now(), world.book().longest_grace);
    let cause = who(&world);
    let aborts = async {
        match target.clone() {
            Some(target) => agent.abort_only(target, cause).await,
            None => agent.abort(cause).await,
        }
    };
    let bound = grace + if world.knows(Fault::DiskSlow) { 2_000 } else { 100 };
    let late = Duration::from_millis(bound).min(patience);
    match timeout(late, aborts).await {
        Ok(Ok(aborted)) => told(&world, &target, aborted),
        Ok(Err(CommandError::Refused(_) | CommandError::Gone)) => {}
        Ok(Err(wrong)) => world.violated(format!("H03: abort: {wrong}")),
        Err(_) if late == patience => {}
        Err(_) => world.violated(format!(
            "P15: an abort is not answered after {} ms, the grace is {grace} ms",
            world.now() - began
        )),
    }
}

fn told(world: &World, target: &Option<Target>, aborted: Aborted) {
    world.say(|| format!("  aborted {:?}", aborted.end.as_ref().map(|end| end.turn)));
    let Some(end) = aborted.end else {
        let targeted = matches!(target, Some(Target::Turn(_)));
        return world.check(!targeted, || "X12: an abort of a turn stopped none".into());
    };
    let now = world.now();
    let mut book = world.book();
    book.aborted.entry(end.turn).or_insert(now);
    let (turn, calls, opened_at) = (end.turn, aborted.calls, book.opened_at);
    book.outcomes.push(Told { turn, calls, opened_at });
    book.ends.push(end);
}
