//! The host of a simulated agent: it carries out the script without a runtime, and does with output what a real host
//! does.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine_adapter::kept::Kept;
use machine_adapter::{Engine, Request};
use machine_core::ask::{
    Answer, Approval, Approved, Ask, Executed, Gated, HookError, HookFailure, Piece, Plan, Prepared,
    Question, Recovery, Screened, StopVerdict, Timer, Withdrawal,
};
use machine_core::ids::{AskId, CallId};
use machine_core::input::Input;
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, ModelError};

use crate::scenario::call::{Delegate, Ends, OnCancel, Prepare};
use crate::scenario::cast::{Cast, Take, TakeEnd};
use crate::scenario::hook::Hook;
use crate::scenario::phases;
use crate::scenario::says;
use crate::scenario::verb::Allows;
use crate::sim::{Cancelled, Due, Host, Later, Phase};

/// The host of a simulated agent.
#[derive(Debug)]
pub(crate) struct Actor {
    pub(crate) cast: Cast,
    /// What the world must do for it.
    pub(crate) wants: Vec<Want>,
    /// Rules that grant approvals.
    pub(crate) rules: Vec<Allows>,
    /// The call that it runs in was stopped: it makes no request any more (H04).
    pub(crate) orphaned: bool,
    /// That call was given up: no grace is left (X04).
    pub(crate) given_up: bool,
    /// Requests wait for a place (H05).
    limited: bool,
    finalizes: bool,
    kept: Kept,
    executions: BTreeMap<AskId, CallId>,
    stopped: BTreeSet<AskId>,
}

/// What the world must do for an agent.
#[derive(Debug)]
pub(crate) enum Want {
    /// Open an agent for a call.
    Open { ask: AskId, call: String, delegate: Delegate },
    /// The call of this ask is cancelled, and so is its agent.
    Stop { ask: AskId, given_up: bool },
    /// A place for a request.
    Place { ask: AskId, request: Request },
}

impl Actor {
    pub(crate) fn new(cast: Cast, limited: bool) -> Self {
        let finalizes = cast.role.finalizes();
        let (executions, stopped) = (BTreeMap::new(), BTreeSet::new());
        Self {
            cast,
            wants: Vec::new(),
            rules: Vec::new(),
            orphaned: false,
            given_up: false,
            limited,
            finalizes,
            kept: Kept::default(),
            executions,
            stopped,
        }
    }

    /// The response to a request that may leave now.
    pub(crate) fn respond(&mut self, ask: AskId, request: Request) -> Vec<Later> {
        let Take { pieces, ends_at, end } = self.cast.take(request);
        let piece =
            |(at, event)| Later { after: at, input: Input::Piece { ask, piece: Piece::Model(event) } };
        let end = match end {
            TakeEnd::Finished(finished) => Some(Answer::Finished(Arc::new(finished))),
            TakeEnd::Failed(error) => Some(Answer::AttemptFailed(Arc::new(error))),
            TakeEnd::Panics(why) => {
                Some(Answer::AttemptFailed(Arc::new(ModelError::new(Failure::Panicked, why))))
            }
            TakeEnd::Silent => None,
        };
        let end = end.map(|end| answer(ends_at, ask, end));
        pieces.into_iter().map(piece).chain(end).collect()
    }

    /// Whether the call of this ask was cancelled.
    pub(crate) fn is_stopped(&self, ask: AskId) -> bool {
        self.stopped.contains(&ask)
    }

    fn prepare(&self, ask: AskId, call: CallId, tool: &str) -> Vec<Later> {
        let Some(named) = self.cast.named(call) else {
            return vec![answer(0, ask, Answer::Prepare(Prepared::Ready(Arc::new(Plan::default()))))];
        };
        let behaviour = &named.call;
        let ready = |plan: Plan| Answer::Prepare(Prepared::Ready(Arc::new(plan)));
        let said = match &behaviour.prepare {
            _ if !self.cast.knows(tool) => {
                return vec![answer(0, ask, Answer::Prepare(self.cast.unknown_tool()))];
            }
            None | Some(Prepare::Unknown) => ready(behaviour.planned()),
            Some(Prepare::Rewrite(args)) if !machine_core::history::is_object(&args.0.text()) => {
                failed("the rewritten arguments are no JSON object")
            }
            Some(Prepare::Rewrite(args)) => ready(Plan { args: Some(args.0.text()), ..behaviour.planned() }),
            Some(Prepare::Invalid(why)) => Answer::Prepare(Prepared::InvalidArguments(why.clone())),
            Some(Prepare::Deny(why)) => Answer::Prepare(Prepared::Denied(why.clone())),
            Some(Prepare::Skip(why)) => Answer::Prepare(Prepared::Skipped(why.clone())),
            Some(Prepare::Answer(text)) => {
                Answer::Prepare(Prepared::Answered(Arc::new(ToolResult::text(text.clone()))))
            }
            Some(Prepare::Fails(why)) => failed(why),
            Some(Prepare::Panics(why)) => panicked(why),
            Some(Prepare::Hangs) => return Vec::new(),
        };
        vec![answer(behaviour.prepare_takes, ask, said)]
    }

    fn execute(&mut self, ask: AskId, call: CallId) -> Vec<Later> {
        self.executions.insert(ask, call);
        let name = self.cast.names.call(call);
        self.cast.starts.push(name.clone());
        let Some(named) = self.cast.named(call).cloned() else { return Vec::new() };
        let behaviour = &named.call;
        if let Some(Ends::Agent(delegate)) = &behaviour.ends {
            let delegate = delegate.clone();
            self.wants.push(Want::Open { ask, call: name.clone(), delegate });
        }
        let piece = |at, piece| Later { after: at, input: Input::Piece { ask, piece } };
        let mut later: Vec<Later> = Vec::new();
        later.extend(behaviour.progress.iter().map(|p| piece(p.at, Piece::Progress(p.text.clone()))));
        later.extend(
            behaviour.output.iter().map(|o| piece(o.at, Piece::Output(text_content(o.text.clone())))),
        );
        later.extend(
            behaviour.detach.iter().map(|d| piece(d.at, Piece::Detached(text_content(d.text.clone())))),
        );
        let ends = behaviour.end(&name).map(|(at, end)| answer(at, ask, Answer::Execute(end)));
        later.extend(ends);
        let again = behaviour.reports_again.as_ref();
        let again = again.and_then(|again| Some((again.at, behaviour.done(&again.ends)?)));
        later.extend(again.map(|(at, end)| answer(at, ask, Answer::Execute(end))));
        later
    }

    fn finalize(&mut self, ask: AskId, question: &Question) -> Vec<Later> {
        let Question::Finalize { call, outcome, result } = question else { return Vec::new() };
        let Some(kept) = self.kept.take(*call, outcome, result.as_ref()) else {
            let lost = HookError::new(HookFailure::Lost, "the output went with another process");
            return vec![answer(0, ask, Answer::Failed(lost))];
        };
        let hook = self.cast.named(*call).and_then(|named| named.call.finalize.clone());
        hooked(ask, hook, |says| Answer::Finalize(Arc::new(says::finalized(says, kept))))
    }
}

impl Host for Actor {
    fn asked(&mut self, ask: &Ask, engine: &Engine) -> Vec<Later> {
        let id = ask.id;
        match &ask.question {
            Question::Screen { .. } => {
                let hook = self.cast.hook("screen", |role| &role.hooks.screen);
                hooked(id, hook, |says| Answer::Screen(says.map_or(Screened::Admit, says::screened)))
            }
            Question::Gate { .. } => {
                let hook = self.cast.hook("gate", |role| &role.hooks.gate);
                hooked(id, hook, |says| {
                    Answer::Gate(says.map_or_else(|| Gated::Proceed(Arc::default()), says::gated))
                })
            }
            Question::Recover { .. } => {
                let hook = self.cast.hook("recover", |role| &role.hooks.recover);
                hooked(id, hook, |says| Answer::Recover(says.map_or(Recovery::Decline, says::recovery)))
            }
            Question::Stop { .. } => {
                let hook = self.cast.hook("stop", |role| &role.hooks.stop);
                hooked(id, hook, |says| Answer::Stop(says.map_or(StopVerdict::End, says::stop)))
            }
            Question::Maintain { .. } if self.cast.role.hooks.maintain.is_none() => {
                let error = HookError::new(HookFailure::Failed, "no hook does maintenance");
                vec![answer(0, id, Answer::Failed(error))]
            }
            Question::Maintain { .. } => {
                let hook = self.cast.hook("maintain", |role| &role.hooks.maintain);
                hooked(id, hook, |_| Answer::Maintained)
            }
            Question::Finalize { .. } => self.finalize(id, &ask.question),
            Question::Prepare { call, tool, .. } => self.prepare(id, *call, tool),
            Question::Execute { call, .. } => self.execute(id, *call),
            Question::Attempt { attempt } => {
                let Some(request) = engine.request(*attempt).filter(|_| !self.orphaned) else {
                    return Vec::new();
                };
                if self.limited {
                    self.wants.push(Want::Place { ask: id, request });
                    return Vec::new();
                }
                self.respond(id, request)
            }
            Question::Approve { tool, digest, .. } => {
                let rule = self.rules.iter().find(|rule| rule.tools.contains(tool));
                let granted = |rule: &Allows| {
                    let rule = Some(rule.name.clone());
                    let approved = Approved { digest: *digest, approval: Approval::Granted, rule };
                    answer(0, id, Answer::Approve(Arc::new(approved)))
                };
                rule.map(granted).into_iter().collect()
            }
            Question::Timer { .. } => Vec::new(),
        }
    }

    fn cancelled(&mut self, withdrawal: &Withdrawal) -> Cancelled {
        let ask = withdrawal.ask;
        let Some(call) = self.executions.get(&ask) else { return Cancelled::Obeys(Vec::new()) };
        let Some(named) = self.cast.named(*call) else { return Cancelled::Obeys(Vec::new()) };
        let first = self.stopped.insert(ask);
        if let Some(Ends::Agent(_)) = named.call.ends {
            self.wants.push(Want::Stop { ask, given_up: !first });
            return Cancelled::Ignores;
        }
        if !first {
            return Cancelled::Ignores;
        }
        match &named.call.on_cancel {
            OnCancel::Obeys => Cancelled::Obeys(vec![answer(0, ask, Answer::Execute(Executed::Nothing))]),
            OnCancel::Ignores => Cancelled::Ignores,
            OnCancel::Ends(report) => {
                let end =
                    named.call.done(&report.ends).map(|end| answer(report.at, ask, Answer::Execute(end)));
                Cancelled::Obeys(end.into_iter().collect())
            }
        }
    }

    /// A request that waits for its place has not left (M13, H05).
    fn holds_back(&self, timer: &Timer) -> bool {
        self.limited && matches!(timer, Timer::StreamIdle(_))
    }

    fn too_late(&self) -> String {
        named("it took too long")
    }

    fn brings(&mut self, input: Input, engine: &Engine) -> Option<Input> {
        let of = |ask: &AskId| self.executions.get(ask).copied().filter(|_| engine.ask(*ask).is_some());
        match input {
            Input::Piece { ask, piece: Piece::Output(output) } if self.finalizes => {
                self.kept.output(of(&ask)?, &output, engine.config().calls.output_chars);
                None
            }
            Input::Answer { ask, answer: Answer::Execute(end) } if self.finalizes => {
                let end = match of(&ask) {
                    Some(call) => self.kept.executed(call, end, self.stopped.contains(&ask)),
                    None => end,
                };
                Some(Input::Answer { ask, answer: Answer::Execute(end) })
            }
            input => Some(input),
        }
    }

    /// The story goes on where it was; what ran, was kept or was ruled went with its process.
    fn died(&mut self) {
        let Self {
            cast: _,
            wants,
            rules,
            orphaned: _,
            given_up: _,
            limited: _,
            finalizes: _,
            kept,
            executions,
            stopped,
        } = self;
        (*wants, *rules, *kept) = (Vec::new(), Vec::new(), Kept::default());
        (*executions, *stopped) = (BTreeMap::new(), BTreeSet::new());
    }

    fn phase(&self, due: Due) -> Phase {
        match due {
            Due::AtOnce => phases::AT_ONCE,
            Due::Timer => phases::TIMERS,
            Due::Later => phases::ANSWERS,
        }
    }
}

/// What a hook does; without a script it agrees.
fn hooked<T>(ask: AskId, hook: Option<Hook<T>>, say: impl FnOnce(Option<T>) -> Answer) -> Vec<Later> {
    let Some(Hook { takes, edits, says, fails, panics, hangs }) = hook else {
        return vec![answer(0, ask, say(None))];
    };
    let edit = |edit| Later { after: takes, input: Input::Piece { ask, piece: Piece::Edit(Arc::new(edit)) } };
    let edits = edits.into_iter().map(says::edit).map(edit);
    let end = match (fails, panics) {
        _ if hangs => None,
        (Some(why), _) => Some(failed(&why)),
        (None, Some(why)) => Some(panicked(&why)),
        (None, None) => Some(say(says)),
    };
    edits.chain(end.map(|end| answer(takes, ask, end))).collect()
}

/// A hook's failure, as a real host reports it: with the hook's name.
fn failed(why: &str) -> Answer {
    Answer::Failed(HookError::new(HookFailure::Failed, named(why)))
}

fn panicked(why: &str) -> Answer {
    Answer::Failed(HookError::new(HookFailure::Panicked, named(why)))
}

fn named(why: &str) -> String {
    format!("{}: {why}", says::HOOK)
}

pub(crate) fn answer(after: u64, ask: AskId, answer: Answer) -> Later {
    Later { after, input: Input::Answer { ask, answer } }
}
