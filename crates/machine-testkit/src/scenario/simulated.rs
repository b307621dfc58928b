//! A scenario on the simulator: every agent an engine in virtual time, no runtime.
mod openings;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use machine_adapter::Request;
use machine_core::Text;
use machine_core::ask::{Answer, Approval, Approved, By, Cause, Executed, Question, Subject, Timer};
use machine_core::event::{Event, Receipt, TurnEnd};
use machine_core::ids::{AskId, CallId, InputId};
use machine_core::input::{Abort, Command, Input, Submit};
use machine_core::machine::Path;
use machine_core::nested;
use machine_core::outcome::ToolResult;

use crate::scenario::actor::{Actor, Want, answer};
use crate::scenario::call::Delegate;
use crate::scenario::cast::Cast;
use crate::scenario::phases;
use crate::scenario::played::{Cue, Look, Played, Told};
use crate::scenario::says::{self, Deed};
use crate::scenario::trace;
use crate::scenario::verb::{Allows, Place, Verb};
use crate::scenario::{Fault, MOST_AGENTS, Scenario};
use crate::sim::{Phase, Sim};

/// Inputs after which a scenario that does not come to rest is given up.
pub(crate) const PATIENCE: usize = 100_000;

/// Plays a scenario on the simulator.
///
/// # Errors
/// A configuration is nonsense, or it does not come to rest.
pub(crate) fn play(scenario: &Scenario, patience: usize) -> Result<Played, Fault> {
    let mut world = World::new(scenario, patience);
    world.open("", "", None)?;
    for role in scenario.standalone() {
        world.open(role, role, None)?;
    }
    world.run()?;
    Ok(world.played())
}

struct World<'s> {
    scenario: &'s Scenario,
    /// Inputs after which it is given up.
    patience: usize,
    players: Vec<Player>,
    cues: BTreeMap<(u64, Phase, u64), Due>,
    serial: u64,
    places: Option<Places>,
    trace: Vec<String>,
    gaps: Vec<String>,
    now: u64,
    /// How many were handled.
    inputs: usize,
}

struct Player {
    name: String,
    sim: Sim<Actor>,
    child: Option<Child>,
    refused: Vec<String>,
    looks: Vec<(Look, machine_adapter::view::View)>,
    /// Reported events that were looked at.
    seen: usize,
    /// Nobody drives it: it is closed, its call is over, or its process died.
    gone: bool,
    /// Its process died, and nobody opened it since.
    died: bool,
}

/// An agent in a call of another one.
struct Child {
    parent: usize,
    ask: AskId,
    prompt: InputId,
}

enum Due {
    Cue(Cue),
    Open { parent: usize, ask: AskId, name: String, delegate: Delegate },
}

/// Places for model requests (H05).
struct Places {
    free: u32,
    taken: Vec<(usize, AskId)>,
    waiting: VecDeque<(usize, AskId, Request)>,
}

impl<'s> World<'s> {
    fn new(scenario: &'s Scenario, patience: usize) -> Self {
        let place = |free| Places { free, taken: Vec::new(), waiting: VecDeque::new() };
        let mut world = Self {
            scenario,
            patience,
            players: Vec::new(),
            cues: BTreeMap::new(),
            serial: 0,
            places: scenario.model_limit().map(place),
            trace: Vec::new(),
            gaps: Vec::new(),
            now: 0,
            inputs: 0,
        };
        for (at, phase, cue) in scenario.cues() {
            world.arrange(at, phase, Due::Cue(cue));
        }
        world
    }

    fn arrange(&mut self, at: u64, phase: Phase, due: Due) {
        self.serial += 1;
        self.cues.insert((at, phase, self.serial), due);
    }

    fn open(&mut self, role: &str, name: &str, child: Option<Child>) -> Result<(), Fault> {
        if self.players.len() >= MOST_AGENTS {
            return Err(Fault::TooMany(MOST_AGENTS));
        }
        let (role, mut config) = self.scenario.role(role);
        if let Some(parent) = child.as_ref().map(|child| &self.players[child.parent]) {
            let most = parent.sim.engine.config().calls.grace_ms / 2;
            config.calls.grace_ms = config.calls.grace_ms.min(most);
        }
        let actor = Actor::new(Cast::new(role), self.places.is_some());
        let mut sim = Sim::new(config, actor).map_err(|error| Fault::config(name, &error))?;
        sim.trace = Some(Vec::new());
        sim.wait_until(self.now);
        let (refused, looks) = (Vec::new(), Vec::new());
        let name = name.to_owned();
        self.players.push(Player { name, sim, child, refused, looks, seen: 0, gone: false, died: false });
        Ok(())
    }

    fn run(&mut self) -> Result<(), Fault> {
        loop {
            let live = self.players.iter().enumerate().filter(|(_, player)| !player.gone);
            let sims = live.filter_map(|(i, player)| player.sim.due().map(|(at, phase)| (at, phase, i)));
            let sim = sims.min();
            let cue = self.cues.keys().next().copied();
            match (sim, cue) {
                (None, None) => return Ok(()),
                (Some((at, phase, i)), cue) if cue.is_none_or(|(t, p, _)| (at, phase) < (t, p)) => {
                    self.now = at;
                    self.players[i].sim.step();
                }
                (_, Some((at, ..))) => {
                    self.now = at;
                    if let Some((_, due)) = self.cues.pop_first() {
                        self.due(due)?;
                    }
                }
                (Some(_), None) => unreachable!("without a cue the simulator's turn has come"),
            }
            self.settle()?;
        }
    }

    fn due(&mut self, due: Due) -> Result<(), Fault> {
        match due {
            Due::Cue(Cue::Do { agent, moment }) => {
                // What comes before timers comes in one go.
                let in_one_go = moment.order == Place::First;
                for verb in moment.verbs.0 {
                    self.act(&agent, verb)?;
                    self.settle()?;
                    if !in_one_go {
                        self.answer_at_once()?;
                    }
                }
                let first = (self.now, phases::verbs(Place::First));
                let more = self.cues.keys().next().is_some_and(|(at, phase, _)| (*at, *phase) == first);
                if in_one_go && !more {
                    self.answer_at_once()?;
                }
            }
            Due::Cue(Cue::Look { agent, look }) => match self.find(&agent) {
                Some(i) if self.players[i].died => {}
                Some(i) => {
                    let player = &mut self.players[i];
                    player.looks.push((look, player.sim.engine.state()));
                }
                None => self.gaps.push(format!("tick {}: there is no agent `{agent}`", self.now)),
            },
            Due::Open { parent, ask, name, delegate } => self.delegate(parent, ask, &name, &delegate)?,
        }
        Ok(())
    }

    /// What is said at once in answer to a verb, before timers that are due as well.
    fn answer_at_once(&mut self) -> Result<(), Fault> {
        let now = self.now;
        let speaks = |player: &mut Player| !player.gone && player.sim.step_at(now, phases::AT_ONCE);
        while self.players.iter_mut().any(speaks) {
            self.settle()?;
        }
        Ok(())
    }

    fn find(&self, agent: &str) -> Option<usize> {
        self.players.iter().rposition(|player| player.name == agent)
    }

    fn act(&mut self, agent: &str, verb: Verb) -> Result<(), Fault> {
        let (word, closes) = (trace::verb(&verb), matches!(verb, Verb::Close));
        let Some(i) = self.find(agent).filter(|i| !self.players[*i].gone || self.players[*i].is_away())
        else {
            self.gaps.push(format!("tick {}: there is no agent `{agent}` for `{word}`", self.now));
            return Ok(());
        };
        let deed = says::deed(verb, &self.players[i].sim.host.cast);
        let player = &mut self.players[i];
        player.sim.wait_until(self.now);
        let refused = match deed {
            Ok(Deed::Opening(how)) => return self.open_again(i, how, word),
            // Closing again is fine (A19).
            Ok(_) if player.is_away() => (!closes).then(|| GONE.to_owned()),
            Ok(Deed::Command(command)) => player.command(command),
            Ok(Deed::Decide(call, approval)) => player.decide(call, approval, None),
            Ok(Deed::Rule(call, allows)) => player.allow(call, allows),
            Err(why) => {
                self.gaps.push(format!("tick {}: `{word}`: {why}", self.now));
                None
            }
        };
        player.refused.extend(refused.map(|why| format!("{word}: {why}")));
        Ok(())
    }

    /// What agents want of each other and of the places for requests, until nothing is left.
    fn settle(&mut self) -> Result<(), Fault> {
        self.inputs += 1;
        if self.inputs > self.patience {
            return Err(Fault::Restless(self.patience));
        }
        self.bury()?;
        loop {
            for i in 0..self.players.len() {
                self.players[i].follow_parent(self.now);
                self.hear(i);
            }
            let wants = self.players.iter_mut().enumerate();
            let wants: Vec<_> =
                wants.flat_map(|(i, p)| p.sim.host.wants.drain(..).map(move |w| (i, w))).collect();
            let granted = self.grant();
            if wants.is_empty() && !granted {
                return Ok(());
            }
            for (i, want) in wants {
                self.want(i, want)?;
            }
        }
    }

    fn want(&mut self, i: usize, want: Want) -> Result<(), Fault> {
        match want {
            Want::Open { ask, call, delegate } => {
                let outer = &self.players[i].name;
                let name = if outer.is_empty() { call } else { format!("{outer}/{call}") };
                match delegate.opens_after {
                    0 => self.delegate(i, ask, &name, &delegate)?,
                    after => {
                        let due = Due::Open { parent: i, ask, name, delegate };
                        self.arrange(self.now.saturating_add(after), phases::ANSWERS, due);
                    }
                }
            }
            Want::Stop { ask, given_up } => {
                let child = self.players.iter().position(|player| {
                    !player.gone
                        && player.child.as_ref().is_some_and(|child| (child.parent, child.ask) == (i, ask))
                });
                if let Some(child) = child {
                    let host = &mut self.players[child].sim.host;
                    (host.orphaned, host.given_up) = (true, given_up);
                }
            }
            Want::Place { ask, request } => {
                if let Some(places) = &mut self.places {
                    places.waiting.push_back((i, ask, request));
                }
            }
        }
        Ok(())
    }

    /// Gives back places of requests that are over, and gives them to those that wait, first come, first served.
    fn grant(&mut self) -> bool {
        let Some(places) = &mut self.places else { return false };
        let players = &mut self.players;
        let open =
            |players: &[Player], i: usize, ask| !players[i].gone && players[i].sim.engine.ask(ask).is_some();
        let before = places.taken.len();
        places.taken.retain(|(i, ask)| open(players, *i, *ask));
        places.free += u32::try_from(before - places.taken.len()).unwrap_or(0);
        places.waiting.retain(|(i, ask, _)| open(players, *i, *ask));
        let mut granted = false;
        while places.free > 0
            && let Some((i, ask, request)) = places.waiting.pop_front()
        {
            places.free -= 1;
            places.taken.push((i, ask));
            let sim = &mut players[i].sim;
            sim.wait_until(self.now);
            let idle = Subject::Timer(Timer::StreamIdle(request.attempt));
            let later = sim.host.respond(ask, request);
            sim.arrange_all(later);
            sim.arm(&idle);
            granted = true;
        }
        granted
    }

    /// A call opens its agent, unless it was stopped meanwhile.
    fn delegate(&mut self, parent: usize, ask: AskId, name: &str, delegate: &Delegate) -> Result<(), Fault> {
        let player = &self.players[parent];
        if player.gone || player.sim.engine.ask(ask).is_none() {
            return Ok(());
        }
        let stopped = player.sim.host.is_stopped(ask);
        let prompt: InputId = "prompt".into();
        let child = Child { parent, ask, prompt: prompt.clone() };
        self.open(&delegate.role, name, Some(child))?;
        if let Some(player) = self.players.last_mut() {
            player.sim.host.orphaned = stopped;
            let refused = player.command(Command::Submit(Submit::text(prompt, delegate.prompt.as_str())));
            player.refused.extend(refused);
        }
        Ok(())
    }

    /// An agent's events since the last time: the end of its turn may be the end of its call.
    fn hear(&mut self, i: usize) {
        let player = &mut self.players[i];
        if let Some(lines) = player.sim.trace.as_mut().map(std::mem::take) {
            let names = &player.sim.host.cast.names;
            self.trace.extend(trace::lines(&player.name, names, &lines));
        }
        let news: Vec<Event> = player.sim.events[player.seen..].iter().map(|e| e.event.clone()).collect();
        player.seen = player.sim.events.len();
        // Nobody drives an agent that is closed.
        player.gone |= player.is_closed();
        let Some(child) = &player.child else { return };
        if player.gone {
            return;
        }
        let mut ended: Option<&TurnEnd> = None;
        let mut result = None;
        for event in &news {
            match event {
                Event::TurnEnded(end) => ended = Some(end),
                Event::Receipt { input, receipt } if *input == child.prompt => match (receipt, ended) {
                    (Receipt::TurnEnded(..), Some(end)) => {
                        result = Some(nested::report(end, player.sim.engine.history()));
                    }
                    (Receipt::Dropped(why), _) => {
                        result = Some(ToolResult::error(format!("the prompt was dropped: {why}")));
                    }
                    (Receipt::Returned, _) => result = Some(ToolResult::error("the prompt was withdrawn")),
                    _ => {}
                },
                _ => {}
            }
        }
        let Some(result) = result else { return };
        let (parent, ask) = (child.parent, child.ask);
        player.gone = true;
        let sim = &mut self.players[parent].sim;
        sim.wait_until(self.now);
        sim.arrange_all(vec![answer(0, ask, Answer::Execute(Executed::Done(Arc::new(result))))]);
    }

    fn played(self) -> Played {
        let mut played = Played { agents: Vec::new(), trace: self.trace, gaps: self.gaps };
        for player in self.players {
            let cast = &player.sim.host.cast;
            let open = player.open();
            let gaps = cast.gaps.iter().map(|gap| in_agent(&player.name, gap));
            played.gaps.extend(gaps);
            played.agents.push(Told {
                events: player.sim.events.iter().map(|e| (e.at, e.event.clone())).collect(),
                history: player.sim.engine.history().clone(),
                journal: player.sim.journal.records().to_vec(),
                engine: (!player.died).then(|| player.sim.engine.clone()),
                refused: player.refused,
                looks: player.looks,
                open,
                ..Told::of_cast(&player.name, cast)
            });
        }
        played
    }
}

impl Player {
    /// Its call was stopped, so whatever runs here is, too (H04).
    fn follow_parent(&mut self, now: u64) {
        let host = &self.sim.host;
        let due = match self.sim.engine.agent().state().leaf() {
            "Active" | "Screening" | "Maintaining" => host.orphaned,
            "Aborting" => host.given_up,
            _ => false,
        };
        if due && !self.gone {
            self.sim.wait_until(now);
            let abort = Abort { cause: Cause::by(By::Parent), target: None };
            let refused = self.command(Command::Abort(Arc::new(abort)));
            self.refused.extend(refused);
        }
    }

    /// Sends a command; gives the reason if it is refused.
    fn command(&mut self, command: Command) -> Option<String> {
        self.sim.send(command).err().map(|why| why.to_string())
    }

    fn is_closed(&self) -> bool {
        self.sim.engine.agent().state().leaf() == "Closed"
    }

    /// Whether it is closed or dead: somebody may open it again.
    fn is_away(&self) -> bool {
        self.died || self.is_closed()
    }

    /// What is open, by kind; of an agent that is closed or dead nothing is.
    fn open(&self) -> Vec<&'static str> {
        let open = self.sim.engine.outstanding().map(|open| open.ask.question.kind());
        if self.is_away() { Vec::new() } else { open.collect() }
    }

    /// A rule grants a call, then what else it covers of what waits; the rest it grants as it comes (C16).
    fn allow(&mut self, call: CallId, allows: Allows) -> Option<String> {
        let covered: Vec<CallId> = self
            .sim
            .engine
            .outstanding()
            .filter_map(|open| match &open.ask.question {
                Question::Approve { call, tool, .. } if allows.tools.contains(tool) => Some(*call),
                _ => None,
            })
            .collect();
        let name = allows.name.clone();
        if let Some(refused) = self.decide(call, Approval::Granted, Some(name.clone())) {
            return Some(refused);
        }
        self.sim.host.rules.push(allows);
        for other in covered.into_iter().filter(|other| *other != call) {
            self.decide(other, Approval::Granted, Some(name.clone()));
        }
        None
    }

    /// Answers the open approval of a call.
    fn decide(&mut self, call: CallId, approval: Approval, rule: Option<Text>) -> Option<String> {
        let open = self.sim.engine.outstanding().find_map(|open| match &open.ask.question {
            Question::Approve { call: of, digest, .. } if *of == call => Some((open.ask.id, *digest)),
            _ => None,
        });
        let Some((ask, digest)) = open else { return Some(NOT_ASKED.to_owned()) };
        let answer = Answer::Approve(Arc::new(Approved { digest, approval, rule }));
        self.sim.arrange_now(Input::Answer { ask, answer });
        None
    }
}

/// Why a closed agent refuses everything, in both drivers.
pub(crate) const GONE: &str = "the agent is gone: open it again";

/// Why an approval is refused, in both drivers.
pub(crate) const NOT_ASKED: &str = "no such approval is waited for";

/// What happened, and in which agent.
pub(crate) fn in_agent(agent: &str, what: &str) -> String {
    if agent.is_empty() { what.to_owned() } else { format!("agent `{agent}`: {what}") }
}
