//! An ask becomes a piece of work: one arm a question.
use std::sync::Arc;
use std::time::Duration;

use machine_adapter::Engine;
use machine_adapter::kept::Kept;
use machine_core::Text;
use machine_core::ask::{Answer, Approved, Ask, HookError, HookFailure, Plan, Prepared, Question};
use machine_core::canary::Canary;
use machine_core::ids::{AskId, AttemptId, CallId};
use machine_core::outcome::ToolResult;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::approvals::{Rule, Rules};
use crate::chain::Before;
use crate::cx::{Stop, ToolCx};
use crate::editor::Editor;
use crate::hooks::{
    ApproveQuestion, BeforeCall, CallQuestion, FinalizeQuestion, GateQuestion, RecoverQuestion,
    ScreenQuestion, StopQuestion,
};
use crate::limit::ModelLimit;
use crate::model::{BoxFuture, Inward, ModelOut};
use crate::order::Asked;
use crate::session::Parts;
use crate::spans::Spans;
use crate::spill::Spill;
use crate::tool::{Reject, Tool, ToolError};

/// Work that an ask leads to.
pub(crate) struct Errand {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    pub(crate) work: Work,
}

/// The work itself.
pub(crate) enum Work {
    /// A task of its own.
    Task(BoxFuture<'static, Done>),
    /// It waits for nothing: a task would cost more than it does.
    AtHand(AtHand),
}

/// Work that is done in one go.
pub(crate) type AtHand = Box<dyn FnOnce() -> Done + Send>;

/// What kind of work it is: how it is stopped, and what its panic means.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Dropped when it is withdrawn.
    Hook(Asked),
    /// Dropped when it is withdrawn.
    Attempt,
    /// Told to stop when it is withdrawn; its outcome still counts (X03).
    Execution { call: CallId, stop: Arc<Stop> },
}

/// What work brought.
#[derive(Debug)]
pub(crate) enum Done {
    /// An answer.
    Answer(Answer),
    /// The answer to an approval, and the rule that it gives.
    Decided(Arc<Approved>, Option<Rule>),
    /// The end of an execution; none: it was stopped and dropped.
    Ran(Option<Result<ToolResult, ToolError>>),
    /// Nothing: somebody else answers.
    Nothing,
}

/// What errands are made from.
pub(crate) struct Around<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) parts: &'a Arc<Parts>,
    pub(crate) rules: &'a Rules,
    pub(crate) kept: &'a mut Kept,
    pub(crate) spans: &'a mut Spans,
    pub(crate) to: &'a mpsc::Sender<Inward>,
    /// Where an attempt says that its request leaves.
    pub(crate) leaving: &'a mpsc::UnboundedSender<AttemptId>,
    /// Fires when the agent goes away.
    pub(crate) agent: &'a CancellationToken,
}

impl Around<'_> {
    /// The work for an ask; none where there is none, as for a timer or an approval that no hook gives.
    pub(crate) fn errand(&mut self, ask: Ask) -> Option<Errand> {
        let (id, parts) = (ask.id, self.parts.clone());
        Some(match ask.question {
            Question::Timer { .. } => return None,
            Question::Screen { prompt, message } => self.hook(async move {
                answer(parts.chain.screen(ScreenQuestion { prompt, message }).await, Answer::Screen)
            }),
            Question::Gate { step } => {
                let editor = self.editor(id);
                let offered = self.engine.turn_config().request.tools.clone();
                self.hook(async move {
                    let tools = parts.tools.begin_step(&offered).await;
                    answer(parts.chain.gate(GateQuestion { step }, &editor, tools).await, Answer::Gate)
                })
            }
            Question::Recover { attempt, error, tried } => {
                let (editor, question) = (self.editor(id), RecoverQuestion { attempt, error, tried });
                self.hook(
                    async move { answer(parts.chain.recover(question, &editor).await, Answer::Recover) },
                )
            }
            Question::Prepare { tool, args, .. } if !parts.chain.sees_calls() => self.at_hand(move || {
                let tool = parts.tools.find(&tool);
                let judged = tool.map(|tool| judge(&*tool, &args, Before::default()));
                Done::Answer(Answer::Prepare(judged.unwrap_or_else(|| parts.tools.unknown())))
            }),
            Question::Prepare { call, tool, args } => {
                let spill = self.spill(parts.chain.finalizes());
                self.hook(async move {
                    let prepared = prepare(&parts, CallQuestion { call, tool, args }).await;
                    answer(spilled(spill, call, prepared).await, Answer::Prepare)
                })
            }
            Question::Approve { call, tool, args, digest } => {
                self.approval(ApproveQuestion { call, tool, args, digest })?
            }
            Question::Finalize { call, outcome, result } => {
                let kept = self.kept.take(call, &outcome, result.as_ref());
                let (tool, spill) = (self.tool_of(call), self.spill(false));
                self.hook(async move {
                    let Some(result) = kept else {
                        let lost = HookError::new(HookFailure::Lost, "the output went with another process");
                        return Done::Answer(Answer::Failed(lost));
                    };
                    let question = FinalizeQuestion { call, tool, outcome, result };
                    let finalized = match (parts.chain.finalize(question).await, spill) {
                        (Ok(result), Some(spill)) => Ok(spill.result(call, result).await),
                        (finalized, _) => finalized,
                    };
                    answer(finalized, |result| Answer::Finalize(Arc::new(result)))
                })
            }
            Question::Stop { turn, continued } => {
                let history = self.engine.history().clone();
                let question = StopQuestion { turn, continued, history };
                self.hook(async move { answer(parts.chain.stop(question).await, Answer::Stop) })
            }
            Question::Maintain { n } => {
                let editor = self.editor(id);
                self.hook(
                    async move { answer(parts.chain.maintain(n, &editor).await, |()| Answer::Maintained) },
                )
            }
            Question::Attempt { attempt } => {
                let (request, out) = (self.engine.request(attempt)?, ModelOut::new(id, self.to.clone()));
                let leaving = self.leaving.clone();
                let span = self.spans.attempt(attempt, &request, &*parts.model);
                let work = async move {
                    // Held until the request is over, also when it is dropped or panics (H05).
                    let _place = match &parts.limit {
                        Some(limit) => leaves(limit, attempt, &leaving).await,
                        None => None,
                    };
                    Done::Answer(match parts.model.call(request, out).await {
                        Ok(finished) => Answer::Finished(Arc::new(finished)),
                        Err(error) => Answer::AttemptFailed(Arc::new(error)),
                    })
                };
                Errand { kind: Kind::Attempt, span, work: Work::Task(Box::pin(work)) }
            }
            Question::Execute { call, tool, args } => self.execution(id, call, tool, args),
        })
    }

    /// By a rule, else by the hooks; without any a person answers.
    fn approval(&self, question: ApproveQuestion) -> Option<Errand> {
        if let Some(approved) = self.rules.answer(&question) {
            return Some(self.at_hand(move || Done::Decided(approved, None)));
        }
        let (parts, call, digest) = (self.parts.clone(), question.call, question.digest);
        let work = async move {
            match parts.chain.approve(question).await {
                Ok(None) => Done::Nothing,
                Ok(Some(decision)) => {
                    let (approved, rule) = decision.of(call, digest);
                    Done::Decided(approved, rule)
                }
                Err(error) => Done::Answer(Answer::Failed(error)),
            }
        };
        self.parts.chain.approves().then(|| self.hook(work))
    }

    fn execution(&mut self, id: AskId, call: CallId, name: Text, args: Text) -> Errand {
        let (stop, span) = (Stop::under(self.agent), self.spans.call(call, &name, self.engine));
        let grace = Duration::from_millis(self.engine.config().calls.grace_ms);
        let shared = (self.parts.inside.clone(), self.parts.limit.clone());
        let cx = ToolCx::new((call, id), self.to.clone(), stop.clone(), grace, shared);
        let tool = self.parts.tools.find(&name);
        let token = stop.token().clone();
        let spill = self.spill(self.parts.chain.finalizes());
        let work = async move {
            let Some(tool) = tool else {
                // It was approved in another process, which had it.
                return Done::Ran(Some(Err(ToolError::failed(format!("there is no tool `{name}` here")))));
            };
            Done::Ran(match (run(&*tool, args, cx, &token).await, spill) {
                (Some(brought), Some(spill)) => Some(spill.brought(call, brought).await),
                (brought, _) => brought,
            })
        };
        Errand { kind: Kind::Execution { call, stop }, span, work: Work::Task(Box::pin(work)) }
    }

    fn hook(&self, work: impl Future<Output = Done> + Send + 'static) -> Errand {
        let asked = Asked::default();
        let work = Work::Task(Box::pin(asked.scope(work)));
        Errand { kind: Kind::Hook(asked), span: self.spans.turn().clone(), work }
    }

    fn at_hand(&self, work: impl FnOnce() -> Done + Send + 'static) -> Errand {
        let work = Work::AtHand(Box::new(work));
        Errand { kind: Kind::Hook(Asked::default()), span: self.spans.turn().clone(), work }
    }

    /// None where nothing is spilled, and before the finalizer: what it has not seen is not written (C11).
    fn spill(&self, is_finalized_later: bool) -> Option<Spill> {
        let dir = self.parts.spill.as_ref().filter(|_| !is_finalized_later)?;
        Some(Spill::above(self.engine.config().calls.output_chars, dir))
    }

    fn editor(&self, ask: AskId) -> Editor {
        Editor::new(ask, self.to.clone(), self.engine.history().clone())
    }

    fn tool_of(&self, call: CallId) -> Text {
        let machine = self.engine.calls().find(|machine| machine.data().id == call);
        machine.map_or_else(|| "".into(), |machine| machine.data().tool.clone())
    }
}

/// Waits until the request may leave, and tells.
async fn leaves(
    limit: &ModelLimit,
    attempt: AttemptId,
    told: &mpsc::UnboundedSender<AttemptId>,
) -> Option<OwnedSemaphorePermit> {
    let place = limit.place().await;
    tracing::debug!("the request leaves");
    // Nobody hears it only when the agent is gone, and then this future is about to be dropped.
    let _ = told.send(attempt);
    place
}

fn answer<T>(asked: Result<T, Arc<HookError>>, answer: impl FnOnce(T) -> Answer) -> Done {
    Done::Answer(asked.map_or_else(Answer::Failed, answer))
}

/// The answer of a hook in place of a call may be as long as any.
async fn spilled(
    spill: Option<Spill>,
    call: CallId,
    prepared: Result<Prepared, Arc<HookError>>,
) -> Result<Prepared, Arc<HookError>> {
    match (prepared, spill) {
        (Ok(Prepared::Answered(result)), Some(spill)) => {
            Ok(Prepared::Answered(Arc::new(spill.result(call, Arc::unwrap_or_clone(result)).await)))
        }
        (prepared, _) => prepared,
    }
}

/// Finds the tool, lets the hooks at the call, then judges its final arguments (C02, C03).
async fn prepare(parts: &Parts, question: CallQuestion) -> Result<Prepared, Arc<HookError>> {
    let Some(tool) = parts.tools.find(&question.tool) else { return Ok(parts.tools.unknown()) };
    let given = question.args.clone();
    let before = parts.chain.before_call(question).await?;
    Ok(judge(&*tool, &given, before))
}

/// The tool judges, unless a hook has said what becomes of the call.
fn judge(tool: &dyn Tool, given: &str, before: Before) -> Prepared {
    let Before { args, approval, instead } = before;
    match instead {
        Some(BeforeCall::Deny(why)) => Prepared::Denied(why),
        Some(BeforeCall::Skip(why)) => Prepared::Skipped(why),
        Some(BeforeCall::Answer(result)) => Prepared::Answered(Arc::new(result)),
        Some(BeforeCall::Proceed | BeforeCall::Rewrite(_) | BeforeCall::Approve) | None => {
            match tool.plan(args.as_deref().unwrap_or(given)) {
                Ok(plan) => {
                    let (args, approval) = (plan.args.clone().or(args), plan.approval || approval);
                    Prepared::Ready(Arc::new(Plan { args, approval, ..plan }))
                }
                Err(Reject::Invalid(why)) => Prepared::InvalidArguments(why),
                Err(Reject::Denied(why)) => Prepared::Denied(why),
            }
        }
    }
}

/// Runs a tool, and drops it when it is stopped if it wants that.
async fn run(
    tool: &dyn Tool,
    args: Text,
    cx: ToolCx,
    stopped: &CancellationToken,
) -> Option<Result<ToolResult, ToolError>> {
    if Canary::CallsRunTwice.is_planted() {
        let _ = tool.call(args.clone(), cx.clone()).await;
    }
    if !tool.drop_on_cancel() {
        return Some(tool.call(args, cx).await);
    }
    tokio::select! {
        biased;
        result = tool.call(args, cx) => Some(result),
        () = stopped.cancelled() => None,
    }
}
