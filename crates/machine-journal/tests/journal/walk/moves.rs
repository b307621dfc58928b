//! What may happen next to a session: every command, every answer and piece, other configurations.
use std::sync::Arc;

use machine_core::access::Access;
use machine_core::ask::{
    Answer, Approval, Approved, Ask, AtTurnEnd, By, Cause, Executed, Gated, HookError, HookFailure, Piece,
    Plan, Prepared, Question, Recovery, Remedy, Screened, StopVerdict,
};
use machine_core::config::{AfterAbort, AfterFailure, Config};
use machine_core::history::Edit;
use machine_core::input::{Abort, Command, Input, Lane, Note, Reminder, Submit};
use machine_core::message::{Entry, Origin, text_content};
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use proptest::sample::Index;

use crate::session::Session;

/// Choices that were drawn, used one after the other.
pub struct Picks<'p>(pub std::iter::Cycle<std::slice::Iter<'p, Index>>);

impl Picks<'_> {
    pub fn below(&mut self, n: usize) -> usize {
        self.0.next().unwrap().index(n)
    }

    fn one<T: Clone, const N: usize>(&mut self, of: [T; N]) -> T {
        of[self.below(N)].clone()
    }

    fn maybe(&mut self) -> bool {
        self.below(2) == 0
    }
}

pub fn config(picks: &mut Picks<'_>) -> Config {
    let mut config = Config::default();
    config.inbox.remembered_ids = picks.below(4);
    config.ask.gate = picks.maybe();
    config.ask.screen = picks.maybe();
    config.ask.recover = picks.maybe();
    config.ask.finalize = picks.maybe();
    config.ask.stop = picks.maybe();
    config.inbox.screen_notifications = config.ask.screen && picks.maybe();
    config.inbox.after_abort = picks.one([AfterAbort::GoOn, AfterAbort::Hold, AfterAbort::GiveBack]);
    config.inbox.after_failure = picks.one([AfterFailure::Hold, AfterFailure::GoOn]);
    config.turn.response_bytes = picks.one([12, 40, 1_000]);
    config.request.system = picks.one(["", "Be brief."]).into();
    config.calls.max_parallel = picks.one([1, 2, 3]);
    config
}

/// Something from outside. Ids are few, so that they come again after they were forgotten.
pub fn command(session: &Session, picks: &mut Picks<'_>) -> Input {
    let id = picks.one(["i0", "i1", "i2", "i3", "i4", "i5"]);
    let cause = || Cause::by(By::User);
    let call = session.engine.calls().next().map(|call| call.data().id);
    let command = match (picks.below(15), call) {
        (0..=3, _) => {
            let (lane, wake) = (picks.one([Lane::NextTurn, Lane::NextStep]), picks.below(4) > 0);
            Command::Submit(Arc::new(Submit { lane, wake, ..(*Submit::text(id, "go")).clone() }))
        }
        (4, _) => Command::Notify(Note::text(id, "news")),
        (5, _) => Command::Inject(Note::text(id, "to know")),
        (6, _) => {
            let (message, only_if_changed) = (text_content(picks.one(["one", "two"])), picks.maybe());
            Command::Remind(Arc::new(Reminder { key: id.into(), message, only_if_changed }))
        }
        (7, _) => Command::Steer(Arc::from([id.into()])),
        (8, _) => Command::Withdraw(id.into()),
        (9, _) => Command::Replace(id.into(), text_content("other")),
        (10, _) => Command::Abort(Arc::new(Abort { cause: cause(), target: None })),
        (11, _) => picks.one([Command::Pause, Command::Resume, Command::Resume]),
        (12, _) => Command::Configure(Arc::new(config(picks))),
        (13, Some(call)) => Command::CancelCall(call, cause()),
        (14, Some(call)) => Command::Declare(call, Access::None),
        (_, None) => picks.one([Command::Maintain, Command::Maintain, Command::Maintain, Command::Close]),
        (_, Some(_)) => Command::Resume,
    };
    command.into()
}

/// Somebody answers, or says something on the way.
pub fn reply(session: &Session, ask: &Ask, picks: &mut Picks<'_>) -> Input {
    let of = ask.id;
    if picks.below(20) == 0 {
        return Input::Lost { ask: of };
    }
    match said(session, &ask.question, picks) {
        Ok(answer) => Input::Answer { ask: of, answer },
        Err(piece) => Input::Piece { ask: of, piece },
    }
}

fn said(session: &Session, question: &Question, picks: &mut Picks<'_>) -> Result<Answer, Piece> {
    let failed = Answer::Failed(HookError::new(HookFailure::Failed, "no"));
    let fold = |picks: &mut Picks<'_>| {
        let into = vec![Entry::user(Origin::Summary, None, text_content("what was said"))];
        let up_to = picks.below(session.engine.history().len() + 1);
        Err(Piece::Edit(Arc::new(Edit::Fold { up_to, into })))
    };
    Ok(match question {
        Question::Screen { .. } => Answer::Screen(picks.one([
            Screened::Admit,
            Screened::Rewrite(text_content("in other words")),
            Screened::Block("no".into()),
        ])),
        Question::Gate { .. } => match picks.below(5) {
            0 => return fold(picks),
            1 => Answer::Gate(Gated::Block("no".into())),
            _ => Answer::Gate(Gated::Proceed(Arc::default())),
        },
        Question::Attempt { .. } => match picks.below(8) {
            0 => {
                let finish = picks.one([Finish::EndTurn, Finish::ToolUse, Finish::MaxTokens]);
                Answer::Finished(Arc::new(Finished::new(finish)))
            }
            1 => {
                let failure = picks.one([Failure::Overloaded, Failure::ContextOverflow]);
                Answer::AttemptFailed(Arc::new(ModelError::new(failure, "busy")))
            }
            _ => return Err(Piece::Model(streamed(picks))),
        },
        Question::Recover { .. } => match picks.below(4) {
            0 => return fold(picks),
            1 => failed,
            2 => Answer::Recover(Recovery::Decline),
            _ => {
                let strategy = "compact".into();
                let remedy =
                    Remedy { strategy, progress: false, instead: None, for_turn: false, usage: None };
                Answer::Recover(Recovery::Retry(Arc::new(remedy)))
            }
        },
        Question::Prepare { .. } if picks.below(6) == 0 => {
            Answer::Prepare(Prepared::UnknownTool("run".into()))
        }
        Question::Prepare { .. } => {
            let plan = Plan {
                approval: picks.maybe(),
                access: Access::None,
                at_turn_end: picks.one([AtTurnEnd::GoOn, AtTurnEnd::Cancel, AtTurnEnd::Wait { ms: 10 }]),
                cut_by_steer: picks.maybe(),
                timeout_ms: picks.one([None, Some(50)]),
                ..Plan::default()
            };
            Answer::Prepare(Prepared::Ready(Arc::new(plan)))
        }
        Question::Approve { digest, .. } => {
            let approval = picks.one([Approval::Granted, Approval::Denied("no".into())]);
            Answer::Approve(Arc::new(Approved { digest: *digest, approval, rule: None }))
        }
        Question::Execute { .. } => match picks.below(5) {
            0 => return Err(Piece::Output(text_content("half"))),
            1 => return Err(Piece::Detached(text_content("in the background"))),
            2 => return Err(Piece::Progress("so far".into())),
            3 => Answer::Execute(Executed::Nothing),
            _ => Answer::Execute(Executed::Done(Arc::new(ToolResult::text("done")))),
        },
        Question::Finalize { .. } => {
            picks.one([Answer::Finalize(Arc::new(ToolResult::text("final"))), failed])
        }
        Question::Stop { .. } => picks.one([
            Answer::Stop(StopVerdict::End),
            Answer::Stop(StopVerdict::Continue(Arc::from([text_content("go on").into()]))),
            failed,
        ]),
        Question::Maintain { .. } => match picks.below(4) {
            0 | 1 => return fold(picks),
            2 => failed,
            _ => Answer::Maintained,
        },
        Question::Timer { .. } => Answer::Fired,
    })
}

fn streamed(picks: &mut Picks<'_>) -> ModelEvent {
    let text = picks.one(["", "a", "é", "many words", "{}"]);
    match picks.below(12) {
        0..=3 => ModelEvent::Text(text.into()),
        4 | 5 => ModelEvent::Thinking { text: text.into(), signature: None },
        6 => ModelEvent::Thinking { text: text.into(), signature: Some("s".into()) },
        7 => {
            let (index, id) = (picks.one([0, 1, 2]), picks.one(["x", "y", ""]).into());
            ModelEvent::CallStart { index, id, tool: "run".into() }
        }
        8 | 9 => {
            let index = picks.one([None, Some(0), Some(1), Some(9)]);
            ModelEvent::CallArgs { index, piece: text.into() }
        }
        10 => ModelEvent::Started { request_id: None },
        _ => ModelEvent::MessageId("m".into()),
    }
}
