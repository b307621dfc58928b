//! A scripted host for the simulator: what the model answers, one response after the other, and how each tool
//! behaves, by name.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use machine_adapter::Engine;
use machine_core::ask::{
    Answer, Approval, Approved, Ask, Executed, Gated, Piece, Plan, Prepared, Proceed, Question, Recovery,
    Screened, StopVerdict, Withdrawal,
};
use machine_core::ids::{AskId, CallId};
use machine_core::input::Input;
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};

use crate::sim::{Host, Later};

/// What the model answers to one attempt.
#[derive(Clone, Debug)]
pub struct Response {
    /// Streamed, one after each pause.
    pub pieces: Vec<ModelEvent>,
    /// Milliseconds before each piece and before the end.
    pub pause: u64,
    /// How it ends; none: it goes silent.
    pub end: Option<Result<Finished, ModelError>>,
}

/// How a tool behaves.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// What is prepared.
    pub prepared: Prepared,
    /// Milliseconds until it ends; none: it hangs.
    pub takes: Option<u64>,
    /// How it ends.
    pub end: Executed,
    /// Whether it ignores a cancel; else it ends at once, without a result.
    pub deaf: bool,
    /// Milliseconds until it detaches.
    pub detaches: Option<u64>,
}

/// A scripted host.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// For the attempts to come.
    pub responses: VecDeque<Response>,
    /// By tool; a tool that is not here is unknown.
    pub tools: BTreeMap<String, Behaviour>,
    /// Milliseconds and answers to approvals, by tool; one that is not here is never answered.
    pub approvals: BTreeMap<String, (u64, Approval)>,
    /// Answers to gates, in order; then all may proceed.
    pub gates: VecDeque<Gated>,
    /// Answers to recoveries, in order; then all decline.
    pub recoveries: VecDeque<Recovery>,
    /// Answers to stop hooks, in order; then all may end.
    pub stops: VecDeque<StopVerdict>,
    /// Answers to screens, in order; then all are admitted.
    pub screens: VecDeque<Screened>,
    /// Milliseconds that hooks take.
    pub hooks_take: u64,
    /// What ran, in order.
    pub ran: Vec<(CallId, String)>,
    /// How many requests were made.
    pub requests: usize,
    asked: BTreeMap<AskId, String>,
}

impl Response {
    /// A final text.
    pub fn text(text: &str) -> Self {
        Self {
            pieces: vec![ModelEvent::Text(text.into())],
            pause: 1,
            end: Some(Ok(Finished::new(Finish::EndTurn))),
        }
    }

    /// Calls of these tools, without arguments.
    pub fn calls(tools: &[&str]) -> Self {
        let start = |(index, tool): (u32, &&str)| ModelEvent::CallStart {
            index,
            id: "".into(),
            tool: (*tool).into(),
        };
        let pieces = (0..).zip(tools).map(start).collect();
        Self { pieces, pause: 1, end: Some(Ok(Finished::new(Finish::ToolUse))) }
    }

    /// Nothing, and then the end.
    pub fn nothing() -> Self {
        Self { pieces: Vec::new(), pause: 1, end: Some(Ok(Finished::new(Finish::EndTurn))) }
    }

    /// A failure.
    pub fn failure(kind: Failure) -> Self {
        Self { pieces: Vec::new(), pause: 1, end: Some(Err(ModelError::new(kind, "scripted"))) }
    }

    /// The same with another end.
    pub fn finish(self, finish: Finish) -> Self {
        Self { end: Some(Ok(Finished::new(finish))), ..self }
    }

    /// The same, cut off by a failure.
    pub fn cut(self, kind: Failure) -> Self {
        Self { end: Some(Err(ModelError::new(kind, "scripted"))), ..self }
    }

    /// The same, silent after its pieces.
    pub fn silent(self) -> Self {
        Self { end: None, ..self }
    }
}

impl Behaviour {
    /// Says `text` after a while.
    pub fn ok(text: &str, takes: u64) -> Self {
        let end = Executed::Done(Arc::new(ToolResult::text(text)));
        Self {
            prepared: ready(Plan { access: machine_core::access::Access::None, ..Plan::default() }),
            takes: Some(takes),
            end,
            deaf: false,
            detaches: None,
        }
    }

    /// Fails with `text` after a while.
    pub fn error(text: &str, takes: u64) -> Self {
        Self { end: Executed::Done(Arc::new(ToolResult::error(text))), ..Self::ok("", takes) }
    }

    /// Never ends, but obeys a cancel.
    pub fn hang() -> Self {
        Self { takes: None, ..Self::ok("", 0) }
    }

    /// Ignores a cancel.
    pub fn deaf(self) -> Self {
        Self { deaf: true, ..self }
    }

    /// With another plan.
    pub fn plan(self, plan: Plan) -> Self {
        Self { prepared: ready(plan), ..self }
    }

    /// Detaches after a while.
    pub fn detaches(self, after: u64) -> Self {
        Self { detaches: Some(after), ..self }
    }

    /// With another end.
    pub fn ends(self, end: Executed) -> Self {
        Self { end, ..self }
    }
}

fn ready(plan: Plan) -> Prepared {
    Prepared::Ready(Arc::new(plan))
}

impl Script {
    /// A model that gives these responses.
    pub fn new(responses: impl IntoIterator<Item = Response>) -> Self {
        Self { responses: responses.into_iter().collect(), ..Self::default() }
    }

    /// With this tool.
    pub fn tool(mut self, name: &str, behaviour: Behaviour) -> Self {
        self.tools.insert(name.into(), behaviour);
        self
    }

    /// With this answer to approvals of a tool, after a while.
    pub fn approve(mut self, tool: &str, after: u64, approval: Approval) -> Self {
        self.approvals.insert(tool.into(), (after, approval));
        self
    }

    fn attempt(&mut self, ask: AskId) -> Vec<Later> {
        self.requests += 1;
        let over = Response::failure(Failure::InvalidRequest);
        let Response { pieces, pause, end } = self.responses.pop_front().unwrap_or(over);
        let mut after = 0;
        let mut later = Vec::new();
        for event in pieces {
            after += pause;
            later.push(Later { after, input: Input::Piece { ask, piece: Piece::Model(event) } });
        }
        let answer = match end {
            Some(Ok(finished)) => Answer::Finished(Arc::new(finished)),
            Some(Err(error)) => Answer::AttemptFailed(Arc::new(error)),
            None => return later,
        };
        later.push(Later { after: after + pause, input: Input::Answer { ask, answer } });
        later
    }

    fn execute(&mut self, ask: AskId, call: CallId, tool: &str) -> Vec<Later> {
        self.ran.push((call, tool.to_owned()));
        self.asked.insert(ask, tool.to_owned());
        let Some(behaviour) = self.tools.get(tool) else { return Vec::new() };
        let ack = text_content("works in the background");
        let detach = behaviour
            .detaches
            .map(|after| Later { after, input: Input::Piece { ask, piece: Piece::Detached(ack) } });
        let end = behaviour.takes.map(|after| answer(after, ask, Answer::Execute(behaviour.end.clone())));
        detach.into_iter().chain(end).collect()
    }
}

fn answer(after: u64, ask: AskId, answer: Answer) -> Later {
    Later { after, input: Input::Answer { ask, answer } }
}

impl Host for Script {
    fn asked(&mut self, ask: &Ask, _: &Engine) -> Vec<Later> {
        let id = ask.id;
        let hook = |reply| vec![answer(self.hooks_take, id, reply)];
        match &ask.question {
            Question::Screen { .. } => {
                hook(Answer::Screen(self.screens.pop_front().unwrap_or(Screened::Admit)))
            }
            Question::Gate { .. } => {
                let proceed = Gated::Proceed(Arc::new(Proceed::default()));
                hook(Answer::Gate(self.gates.pop_front().unwrap_or(proceed)))
            }
            Question::Recover { .. } => {
                hook(Answer::Recover(self.recoveries.pop_front().unwrap_or(Recovery::Decline)))
            }
            Question::Stop { .. } => hook(Answer::Stop(self.stops.pop_front().unwrap_or(StopVerdict::End))),
            Question::Finalize { .. } => hook(Answer::Finalize(Arc::new(ToolResult::text("finalized")))),
            Question::Maintain { .. } => hook(Answer::Maintained),
            Question::Prepare { tool, .. } => {
                let unknown = Prepared::UnknownTool(format!("there is no tool `{tool}`").into());
                hook(Answer::Prepare(
                    self.tools.get(&**tool).map_or(unknown, |behaviour| behaviour.prepared.clone()),
                ))
            }
            Question::Approve { tool, digest, .. } => match self.approvals.get(&**tool) {
                Some((after, approval)) => {
                    let approved = Approved { digest: *digest, approval: approval.clone() };
                    vec![answer(*after, id, Answer::Approve(Arc::new(approved)))]
                }
                None => Vec::new(),
            },
            Question::Attempt { .. } => self.attempt(id),
            Question::Execute { call, tool, .. } => self.execute(id, *call, tool),
            Question::Timer { .. } => Vec::new(),
        }
    }

    fn cancelled(&mut self, withdrawal: &Withdrawal, arranged: Vec<Later>) -> Vec<Later> {
        let tool = self.asked.get(&withdrawal.ask).and_then(|tool| self.tools.get(tool));
        if tool.is_some_and(|behaviour| behaviour.deaf) {
            return arranged;
        }
        vec![answer(0, withdrawal.ask, Answer::Execute(Executed::Nothing))]
    }
}
