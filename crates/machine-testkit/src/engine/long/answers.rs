//! What the host of a long run says to each question: an answer, or something on the way to it. The first choice is the
//! one that a host without hooks would make.
use std::sync::Arc;

use machine_adapter::Engine;
use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::{
    Answer, Approval, Approved, AtTurnEnd, Executed, Gated, HookError, HookFailure, Piece, Plan, Prepared,
    Proceed, Question, Recovery, Remedy, Screened, StopVerdict,
};
use machine_core::config::{Settings as Model, ToolChoice, ToolSpec};
use machine_core::history::Edit;
use machine_core::message::{Content, Entry, Message, Origin, Part, Said, text_content};
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, ModelError};

use super::settings::Habits;
use super::streams::usage;
use crate::draw::Draw;

/// An answer, or a piece.
pub(super) enum Says {
    Answer(Answer),
    Piece(Piece),
}

/// What is said to any question but an attempt, whose stream goes on for longer.
pub(super) fn says(engine: &Engine, question: &Question, habits: &Habits, draw: &mut impl Draw) -> Says {
    let edits =
        matches!(question, Question::Gate { .. } | Question::Recover { .. } | Question::Maintain { .. });
    if edits && habits.edits && draw.below(4) == 3 {
        return Says::Piece(Piece::Edit(Arc::new(edit(engine, draw))));
    }
    let fails = !matches!(question, Question::Execute { .. } | Question::Timer { .. });
    if fails && habits.refusals && draw.below(16) == 15 {
        let kind = draw.one_of(&[HookFailure::Failed, HookFailure::Panicked, HookFailure::TimedOut]);
        return Says::Answer(Answer::Failed(HookError::new(kind, "no")));
    }
    Says::Answer(match question {
        Question::Screen { .. } => Answer::Screen(screened(habits, draw)),
        Question::Gate { .. } => Answer::Gate(gated(habits, draw)),
        Question::Recover { .. } => Answer::Recover(recovery(habits, draw)),
        Question::Prepare { call, .. } => Answer::Prepare(prepared(habits, call.index, draw)),
        Question::Approve { digest, .. } => {
            let approval =
                draw.one_of(&[Approval::Granted, Approval::Denied("no".into()), Approval::Expired]);
            let rule = draw.flag().then(|| "rule".into());
            Answer::Approve(Arc::new(Approved { digest: *digest, approval, rule }))
        }
        Question::Execute { .. } => return executed(engine, question, habits, draw),
        Question::Finalize { .. } => Answer::Finalize(Arc::new(result(habits, draw))),
        Question::Stop { .. } => Answer::Stop(stopped(habits, draw)),
        Question::Maintain { .. } => Answer::Maintained,
        Question::Timer { .. } | Question::Attempt { .. } => Answer::Fired,
    })
}

fn screened(habits: &Habits, draw: &mut impl Draw) -> Screened {
    match draw.below(6) {
        4 if habits.refusals => Screened::Rewrite(text_content("rewritten")),
        5 if habits.refusals => Screened::Block("no".into()),
        _ => Screened::Admit,
    }
}

fn gated(habits: &Habits, draw: &mut impl Draw) -> Gated {
    match draw.below(24) {
        0..=11 => Gated::Proceed(Arc::default()),
        23 if habits.refusals => Gated::Block("no".into()),
        _ => Gated::Proceed(Arc::new(proceed(draw))),
    }
}

fn proceed(draw: &mut impl Draw) -> Proceed {
    let spec = |name: &str| ToolSpec { name: name.into(), description: "".into(), parameters: "{}".into() };
    let tool_choice = draw.one_of(&[ToolChoice::Auto, ToolChoice::None, ToolChoice::Required]);
    Proceed {
        tools: draw.flag().then(|| Arc::from([spec("read")])),
        system: draw.flag().then(|| "careful".into()),
        settings: draw.flag().then(|| Arc::new(Model { tool_choice, ..Model::default() })),
        messages: said(draw),
    }
}

/// Up to three messages of hooks, some of them long, some blank.
fn said(draw: &mut impl Draw) -> Vec<Said> {
    let said = |content: Content| Said { hook: "hook".into(), content };
    let texts = ["note", "a longer note that fills the room that hooks have", " "];
    (0..draw.below(4)).map(|_| said(text_content(draw.one_of(&texts)))).collect()
}

fn recovery(habits: &Habits, draw: &mut impl Draw) -> Recovery {
    match draw.below(6) {
        0 | 1 => Recovery::Decline,
        5 if habits.refusals => Recovery::End(Arc::new(ModelError::new(Failure::Unknown, "over"))),
        _ => Recovery::Retry(Arc::new(Remedy {
            strategy: draw.one_of(&["shorter", "other", "third"]).into(),
            progress: draw.flag(),
            instead: draw.flag().then(|| Proceed { messages: Vec::new(), ..proceed(draw) }),
            for_turn: draw.flag(),
            usage: draw.flag().then(|| usage(draw)),
        })),
    }
}

fn prepared(habits: &Habits, index: u32, draw: &mut impl Draw) -> Prepared {
    match draw.below(16) {
        11 if habits.refusals => Prepared::UnknownTool("no such tool".into()),
        12 if habits.refusals => Prepared::InvalidArguments("no".into()),
        13 if habits.refusals => Prepared::Denied("no".into()),
        14 if habits.refusals => Prepared::Skipped("no".into()),
        15 if habits.refusals => Prepared::Answered(Arc::new(result(habits, draw))),
        _ => Prepared::Ready(Arc::new(plan(habits, index, draw))),
    }
}

fn plan(habits: &Habits, index: u32, draw: &mut impl Draw) -> Plan {
    let mut plan = Plan { access: access(habits, index, draw), ..Plan::default() };
    plan.approval = habits.approvals && draw.below(4) == 3;
    plan.timeout_ms = (habits.timeouts && draw.flag()).then_some(1_000);
    if habits.choices {
        plan.args = (draw.below(8) == 7).then(|| r#"{"rewritten":true}"#.into());
        plan.stop_batch = draw.below(8) == 7;
        plan.cut_by_steer = draw.below(4) == 3;
        plan.keep_access = draw.flag();
        let wait = AtTurnEnd::Wait { ms: draw.one_of(&[100_000, 1]) };
        plan.at_turn_end = draw.one_of(&[AtTurnEnd::GoOn, AtTurnEnd::Cancel, wait]);
    }
    plan
}

pub(super) fn access(habits: &Habits, index: u32, draw: &mut impl Draw) -> Access {
    if !habits.conflicts {
        return Access::from(Touch::path(Mode::Write, format!("/{index}")));
    }
    let paths = ["/a", "/a/b", "/A", "/b", "/a/../b/"];
    match draw.below(12) {
        0 => Access::None,
        1 => Access::All,
        2 => Access::from(Touch::tree(Mode::Search, draw.one_of(&paths))),
        3 => Access::from(Touch::tree(Mode::Write, draw.one_of(&paths))),
        4 | 5 => Access::from(Touch::path(Mode::Write, draw.one_of(&paths))),
        6 => Access::from(Touch::path(Mode::ReadWrite, draw.one_of(&paths))),
        _ => Access::from(Touch::path(Mode::Read, draw.one_of(&paths))),
    }
}

fn executed(engine: &Engine, question: &Question, habits: &Habits, draw: &mut impl Draw) -> Says {
    let answer = match draw.below(16) {
        10 => return Says::Piece(Piece::Progress("half of it".into())),
        11 => return Says::Piece(Piece::Output(text_content("so far "))),
        12 | 13 if habits.detach && is_attached(engine, question) => {
            return Says::Piece(Piece::Detached(text_content("in the background")));
        }
        14 => draw.one_of(&[Executed::Panicked("oh".into()), Executed::Malformed("what".into())]),
        15 => Executed::Nothing,
        _ => Executed::Done(Arc::new(result(habits, draw))),
    };
    Says::Answer(Answer::Execute(answer))
}

fn is_attached(engine: &Engine, question: &Question) -> bool {
    let Question::Execute { call, .. } = question else { return false };
    let found = engine.calls().find(|machine| machine.data().id == *call);
    found.is_some_and(|machine| matches!(machine.state(), machine_tool::State::Attached(_)))
}

fn result(habits: &Habits, draw: &mut impl Draw) -> ToolResult {
    let mut result = ToolResult::text("ok");
    if !habits.choices {
        return result;
    }
    match draw.below(16) {
        5 => result = ToolResult::error("no"),
        6 => result = ToolResult { fatal: true, ..ToolResult::error("no, and nothing will help") },
        7 => result.stop_turn = Some("enough".into()),
        8 => result.deliver = Some(text_content("by the way")),
        9 => (result.note, result.hook) = (Some("a note to the model".into()), Some("hook".into())),
        10 => result = ToolResult::default(),
        11 => result = ToolResult::text("long ".repeat(20)),
        12 => result = ToolResult { keep_whole: true, ..ToolResult::text("long ".repeat(20)) },
        13 => (result.truncated, result.spill) = (true, Some("/spilled".into())),
        14 => result.output.push(Part::text(" more")),
        _ => {}
    }
    result
}

fn stopped(habits: &Habits, draw: &mut impl Draw) -> StopVerdict {
    match draw.below(4) {
        0 | 1 => StopVerdict::End,
        2 if habits.refusals => StopVerdict::Continue(said(draw).into()),
        _ => StopVerdict::Continue(Arc::from([text_content("go on").into()])),
    }
}

/// A compaction that is sound, or one that cuts a batch or reaches too far.
fn edit(engine: &Engine, draw: &mut impl Draw) -> Edit {
    let message = Message::user("what was said before");
    let summary = Arc::new(Entry { origin: Origin::Summary, turn: None, message, meta: None });
    match draw.below(4) {
        3 => Edit::Replace { with: vec![summary] },
        _ => Edit::Fold { up_to: draw.below(engine.history().len() + 2), into: vec![summary] },
    }
}
