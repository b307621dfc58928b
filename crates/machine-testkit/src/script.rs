//! A scripted host for the simulator: what the model answers, one response after the other, and how each tool
//! behaves, by name.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use machine_adapter::{Engine, Request};
use machine_core::ask::{
    Answer, Approval, Approved, Ask, Executed, Gated, Piece, Plan, Prepared, Proceed, Question, Recovery,
    Screened, StopVerdict, Withdrawal,
};
use machine_core::history::Edit;
use machine_core::ids::{AskId, CallId};
use machine_core::input::Input;
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};

use crate::sim::{Cancelled, Host, Later};

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
    /// How it ends at once when it is cancelled; none: it ignores that.
    pub when_cancelled: Option<Executed>,
    /// What comes on the way, each with its milliseconds.
    pub pieces: Vec<(u64, Piece)>,
}

/// What a hook does when it is asked.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Milliseconds until it answers.
    pub after: u64,
    /// Edits before that.
    pub edits: Vec<Edit>,
    /// The answer; none: it hangs.
    pub answer: Option<Answer>,
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
    /// What hooks do, in order, by the name of their question; then they agree.
    pub hooks: BTreeMap<&'static str, VecDeque<Reply>>,
    /// Milliseconds that other hooks take.
    pub hooks_take: u64,
    /// What ran, in order.
    pub ran: Vec<(CallId, String)>,
    /// The requests that were made, in order.
    pub requests: Vec<Request>,
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
            when_cancelled: Some(Executed::Nothing),
            pieces: Vec::new(),
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
        Self { when_cancelled: None, ..self }
    }

    /// With another plan.
    pub fn plan(self, plan: Plan) -> Self {
        Self { prepared: ready(plan), ..self }
    }

    /// Detaches after a while.
    pub fn detaches(self, after: u64) -> Self {
        self.brings(after, Piece::Detached(text_content("works in the background")))
    }

    /// Brings this on the way, after a while.
    pub fn brings(mut self, after: u64, piece: Piece) -> Self {
        self.pieces.push((after, piece));
        self
    }

    /// With this preparation.
    pub fn prepared(self, prepared: Prepared) -> Self {
        Self { prepared, ..self }
    }

    /// Ends like this when it is cancelled.
    pub fn when_cancelled(self, end: Executed) -> Self {
        Self { when_cancelled: Some(end), ..self }
    }

    /// With another end.
    pub fn ends(self, end: Executed) -> Self {
        Self { end, ..self }
    }
}

impl Reply {
    /// At once.
    pub fn now(answer: Answer) -> Self {
        Self::after(0, answer)
    }

    /// After a while.
    pub fn after(after: u64, answer: Answer) -> Self {
        Self { after, edits: Vec::new(), answer: Some(answer) }
    }

    /// Never.
    pub fn never() -> Self {
        Self { after: 0, edits: Vec::new(), answer: None }
    }

    /// With this edit before it.
    pub fn edit(mut self, edit: Edit) -> Self {
        self.edits.push(edit);
        self
    }

    fn later(self, ask: AskId) -> Vec<Later> {
        let Self { after, edits, answer: end } = self;
        let edit = |edit| Later { after, input: Input::Piece { ask, piece: Piece::Edit(Arc::new(edit)) } };
        edits.into_iter().map(edit).chain(end.map(|end| answer(after, ask, end))).collect()
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

    /// The next time that this is asked, the hook does this.
    pub fn hook(mut self, question: &'static str, reply: Reply) -> Self {
        self.hooks.entry(question).or_default().push_back(reply);
        self
    }

    fn attempt(&mut self, ask: AskId) -> Vec<Later> {
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
        let pieces = behaviour.pieces.iter().cloned();
        let pieces = pieces.map(|(after, piece)| Later { after, input: Input::Piece { ask, piece } });
        let end = behaviour.takes.map(|after| answer(after, ask, Answer::Execute(behaviour.end.clone())));
        pieces.chain(end).collect()
    }

    /// What a hook says that was not scripted: yes.
    fn agree(&self, question: &Question) -> Option<Answer> {
        Some(match question {
            Question::Screen { .. } => Answer::Screen(Screened::Admit),
            Question::Gate { .. } => Answer::Gate(Gated::Proceed(Arc::new(Proceed::default()))),
            Question::Recover { .. } => Answer::Recover(Recovery::Decline),
            Question::Stop { .. } => Answer::Stop(StopVerdict::End),
            Question::Finalize { .. } => Answer::Finalize(Arc::new(ToolResult::text("finalized"))),
            Question::Maintain { .. } => Answer::Maintained,
            Question::Prepare { tool, .. } => Answer::Prepare(match self.tools.get(&**tool) {
                Some(behaviour) => behaviour.prepared.clone(),
                None => Prepared::UnknownTool(format!("there is no tool `{tool}`").into()),
            }),
            Question::Approve { .. } | Question::Attempt { .. } => return None,
            Question::Execute { .. } | Question::Timer { .. } => return None,
        })
    }
}

fn answer(after: u64, ask: AskId, answer: Answer) -> Later {
    Later { after, input: Input::Answer { ask, answer } }
}

impl Host for Script {
    fn asked(&mut self, ask: &Ask, engine: &Engine) -> Vec<Later> {
        let id = ask.id;
        if let Some(reply) = self.hooks.get_mut(ask.question.kind()).and_then(VecDeque::pop_front) {
            return reply.later(id);
        }
        match &ask.question {
            Question::Approve { tool, digest, .. } => match self.approvals.get(&**tool) {
                Some((after, approval)) => {
                    let approved = Approved { digest: *digest, approval: approval.clone(), rule: None };
                    vec![answer(*after, id, Answer::Approve(Arc::new(approved)))]
                }
                None => Vec::new(),
            },
            Question::Attempt { attempt } => {
                self.requests.extend(engine.request(*attempt));
                self.attempt(id)
            }
            Question::Execute { call, tool, .. } => self.execute(id, *call, tool),
            question => {
                let agreed = self.agree(question).map(|reply| answer(self.hooks_take, id, reply));
                agreed.into_iter().collect()
            }
        }
    }

    fn cancelled(&mut self, withdrawal: &Withdrawal) -> Cancelled {
        let tool = self.asked.get(&withdrawal.ask).and_then(|tool| self.tools.get(tool));
        match tool.map(|behaviour| &behaviour.when_cancelled) {
            Some(None) => Cancelled::Ignores,
            Some(Some(end)) => {
                Cancelled::Obeys(vec![answer(0, withdrawal.ask, Answer::Execute(end.clone()))])
            }
            None => Cancelled::Obeys(Vec::new()),
        }
    }
}
