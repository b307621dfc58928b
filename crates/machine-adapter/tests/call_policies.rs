//! What a call may say about prompts that join and about the end of its turn, and what its failures and late outcomes
//! mean by policy (A25, C07, C08, C09, C14, C15, C16, V15, X06).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::access::Access;
use machine_core::ask::{
    Answer, Approval, Approved, AtTurnEnd, By, Executed, Piece, Plan, Question, Screened, StopVerdict,
};
use machine_core::config::{Config, Fatal, LateResults};
use machine_core::event::{EndReason, Event, TurnError};
use machine_core::input::{Command, Input};
use machine_core::message::{Message, Origin};
use machine_core::outcome::ToolResult;
use machine_testkit::script::{Behaviour, Reply, Response, Script};
use story::*;

fn cuttable() -> Plan {
    Plan { cut_by_steer: true, access: Access::None, ..Plan::default() }
}

fn at_turn_end(at_turn_end: AtTurnEnd) -> Plan {
    Plan { at_turn_end, access: Access::None, ..Plan::default() }
}

fn settled(world: &World) -> Vec<(u64, u32, bool)> {
    let settled = world.events.iter().filter_map(|stamped| match &stamped.event {
        Event::CallSettled { call, background, .. } => Some((stamped.at, call.index, *background)),
        _ => None,
    });
    settled.collect()
}

fn said(world: &World, like: impl Fn(&Origin) -> bool) -> String {
    world.engine.history().iter().rfind(|entry| like(&entry.origin)).unwrap().message.text()
}

fn ended(world: &World) -> Vec<(u64, String)> {
    let ends = world.events.iter().filter_map(|stamped| match &stamped.event {
        Event::BackgroundEnded { outcome, .. } => Some((stamped.at, short(outcome))),
        _ => None,
    });
    ends.collect()
}

/// The calls run from 3 on: `a` can be cut, `b` cannot.
fn two() -> Script {
    let a = Behaviour::hang().plan(cuttable());
    model([calls(&["a", "b"]), text("1"), text("2")]).tool("a", a).tool("b", Behaviour::ok("B", 20))
}

#[test]
fn c_c14_a_prompt_that_joins_cuts_what_runs() {
    for joins in [join("x"), Command::Steer(Arc::from(["q".into()]))] {
        let mut world = go(with(|_| {}), two());
        world.arrange(4, submit("q"));
        world.arrange(5, notify("n"));
        world.arrange(6, joins.clone());
        rest(&mut world);
        let right = "go | [a b] | a cancelled(may have run) | b ok | note n | ";
        assert!(told(&world).starts_with(right), "{}", told(&world));
        assert!(settled(&world).contains(&(6, 0, false)), "not by the notification, and at once: it obeys");
        assert!(result(&world, 0).contains("sent a new message"), "{}", result(&world, 0));
        let asked = asked(&world, "Execute")[0].1.id;
        assert_eq!(taken_back(&world, asked), [6]);
    }
    // By default nothing is cut.
    let mut world = go(with(|_| {}), two().tool("a", Behaviour::ok("A", 30)));
    world.arrange(6, join("x"));
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b ok | x | 1");
}

#[test]
fn c_c14_it_has_its_grace_and_a_real_outcome_counts() {
    let config = || with(|config| config.calls.grace_ms = 10);
    let mut world = go(config(), two().tool("a", Behaviour::hang().deaf().plan(cuttable())));
    world.arrange(6, join("x"));
    rest(&mut world);
    assert!(settled(&world).contains(&(16, 0, false)), "{:?}", settled(&world));
    let done = Executed::Done(Arc::new(ToolResult::text("in time")));
    let mut world = go(config(), two().tool("a", Behaviour::hang().when_cancelled(done).plan(cuttable())));
    world.arrange(6, join("x"));
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b ok | x | 1");
}

#[test]
fn c_c14_what_has_not_started_does_not_start() {
    // It waits for a person, for a slot, or is prepared.
    let approved = Plan { approval: true, ..cuttable() };
    let slot = || with(|config| config.calls.max_parallel = 1);
    for (config, a) in [
        (with(|_| {}), Behaviour::ok("A", 1).plan(approved)),
        (slot(), Behaviour::ok("A", 1).plan(cuttable())),
    ] {
        let script = model([calls(&["b", "a"]), text("1")]).tool("a", a).tool("b", Behaviour::ok("B", 20));
        let mut world = go(config, script);
        world.arrange(6, join("x"));
        assert_eq!(rest(&mut world), "go | [b a] | b ok | a not started(steer) | x | 1");
        assert!(settled(&world).contains(&(6, 1, false)));
        assert_eq!(ran(&world), "b");
    }
    let mut world = go(with(|_| {}), two());
    world.host.hooks_take = 10;
    world.arrange(6, join("x"));
    assert_eq!(rest(&mut world), "go | [a b] | a not started(steer) | b ok | x | 1");
    // The prompt came before the response.
    let mut world = go(with(|_| {}), two());
    world.arrange(1, join("x"));
    assert_eq!(rest(&mut world), "go | [a b] | a not started(steer) | b ok | x | 1");
}

#[test]
fn c_c14_a_prompt_cuts_when_it_is_admitted() {
    let screening = || with(|config| config.ask.screen = true);
    let yes = Reply::now(Answer::Screen(Screened::Admit));
    let script = two().hook("Screen", yes.clone()).hook("Screen", Reply::after(5, yes.answer.unwrap()));
    let mut world = go(screening(), script);
    world.arrange(6, join("x"));
    rest(&mut world);
    assert!(settled(&world).contains(&(11, 0, false)), "{:?}", settled(&world));
    let no = Reply::now(Answer::Screen(Screened::Block("no".into())));
    let script = two().tool("a", Behaviour::ok("A", 9).plan(cuttable()));
    let script = script.hook("Screen", Reply::now(Answer::Screen(Screened::Admit))).hook("Screen", no);
    let mut world = go(screening(), script);
    world.arrange(6, join("x"));
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b ok | 1");
}

/// The call at 2, detached at 3; the final answer `1` ends at 5.
fn job(job: Behaviour, choice: AtTurnEnd) -> Script {
    let job = job.detaches(1).plan(at_turn_end(choice));
    model([calls(&["job"]), text("1"), text("2"), text("3")]).tool("job", job)
}

const WAIT: AtTurnEnd = AtTurnEnd::Wait { ms: 50 };

fn waits(world: &World) -> Vec<(u64, u64)> {
    let waits = world.events.iter().filter_map(|stamped| match &stamped.event {
        Event::TurnWaits { calls, ms, .. } if **calls == [call(1, 1, 0)] => Some((stamped.at, *ms)),
        _ => None,
    });
    waits.collect()
}

#[test]
fn c_c15_the_turn_waits_for_it() {
    let mut world = go(with(|_| {}), job(Behaviour::ok("done", 30), WAIT));
    world.run_until(20).unwrap();
    assert_eq!(world.engine.state().turn.unwrap().state, ["Active", "Waiting"]);
    assert_eq!(result(&world, 0), "works in the backgroundThis turn waits up to 50 ms for it.");
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1 | end of 1.1.1.0 | 2");
    assert_eq!((ends(&world).as_str(), waits(&world)), ("completed", vec![(5, 50)]));
    assert_eq!(world.now(), 34, "no timer is left");
    // For those alone that ask for it: others are in the background too.
    let other = Behaviour::hang().detaches(1).plan(at_turn_end(AtTurnEnd::GoOn));
    let mut world = go(with(|_| {}), job(Behaviour::ok("done", 30), WAIT).tool("b", other));
    world.host.responses[0] = calls(&["job", "b"]);
    world.run_until(20).unwrap();
    assert_eq!(waits(&world), [(6, 50)]);
    // Not for ever: it goes on in the background.
    let mut world = go(with(|_| {}), job(Behaviour::ok("done", 100), WAIT));
    world.run_until(60).unwrap();
    assert_eq!(last_end(&world), (55, EndReason::DONE));
    assert_eq!(world.engine.state().agent, ["Open", "Idle", "Waiting"]);
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1 | end of 1.1.1.0 | 2");
    assert_eq!(ends(&world), "completed, completed");
}

#[test]
fn c_c15_what_ends_the_wait() {
    let hang = || job(Behaviour::hang(), WAIT);
    // Input for the next step; what is left of the time is waited for then.
    for (command, says) in [(join("x"), "x"), (notify("x"), "note x"), (inject("x"), "note x")] {
        let mut world = go(with(|_| {}), hang());
        world.arrange(20, command);
        assert_eq!(rest(&mut world), format!("go | [job] | job ok | 1 | {says} | 2"));
        assert_eq!(waits(&world), [(5, 50), (22, 33)]);
        assert_eq!(last_end(&world), (55, EndReason::DONE));
    }
    // A prompt for the next turn does not.
    let mut world = go(with(|_| {}), hang());
    world.arrange(20, submit("x"));
    world.run_until(60).unwrap();
    assert_eq!(world.ends().len(), 2);
    assert_eq!(when(&world, |event| matches!(event, Event::TurnEnded(_))), [55, 57]);
    // An abort, at once; a pause; the death of the process; a consumed end.
    let mut world = go(with(|_| {}), hang());
    world.arrange(20, abort());
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1 | marker");
    assert_eq!((last_end(&world).0, ends(&world).as_str()), (20, "aborted"));
    let mut world = go(with(|_| {}), hang());
    world.arrange(20, Command::Pause);
    rest(&mut world);
    assert_eq!(last_end(&world), (20, EndReason::DONE));
    let mut world = go(with(|_| {}), hang());
    world.run_until(20).unwrap();
    world.crash().unwrap();
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), ended(&world)[0].1.as_str()), ("interrupted", "unknown"));
    let mut world = go(with(|_| {}), job(Behaviour::ok("done", 28), WAIT));
    world.arrange(10, Command::Consume(call(1, 1, 0)));
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1");
    assert_eq!(last_end(&world), (30, EndReason::DONE));
}

#[test]
fn c_c15_only_where_the_model_is_done() {
    // Not after a result that ends the turn, nor at the step limit, nor in a pause.
    let stop = ToolResult { stop_turn: Some("enough".into()), ..ToolResult::text("ok") };
    let script =
        job(Behaviour::hang(), WAIT).tool("b", Behaviour::ok("", 1).ends(Executed::Done(Arc::new(stop))));
    let mut world = go(with(|_| {}), script);
    world.host.responses = [calls(&["job", "b"])].into();
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), waits(&world)), ("completed", vec![]));
    let mut world = go(with(|config| config.turn.max_steps = Some(2)), job(Behaviour::hang(), WAIT));
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), waits(&world)), ("completed", vec![]));
    // The stop hook is asked when the wait is over, and there is no second wait in that step.
    let end = Reply::after(3, Answer::Stop(StopVerdict::End));
    let script = job(Behaviour::hang(), WAIT).hook("Stop", end);
    let mut world = go(with(|config| config.ask.stop = true), script);
    rest(&mut world);
    assert_eq!((asked(&world, "Stop")[0].0, last_end(&world)), (55, (58, EndReason::DONE)));
}

#[test]
fn c_c15_the_end_of_the_turn_cancels_it() {
    let config = || with(|config| config.calls.grace_ms = 10);
    let deaf = || job(Behaviour::hang().deaf(), AtTurnEnd::Cancel);
    let mut world = go(config(), deaf());
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1", "it was told before: it wakes nobody");
    assert_eq!(result(&world, 0), "works in the backgroundIt is cancelled when this turn ends.");
    assert_eq!(ended(&world), [(15, "cancelled(may have run)".into())]);
    world.arrange(20, submit("x"));
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1 | end of 1.1.1.0 | x | 2", "once");
    assert!(said(&world, |o| matches!(o, Origin::BackgroundEnd { .. })).contains("because its turn ended"));
    // At every end.
    for (at, end, right) in [
        (4, abort(), "aborted"),
        (4, abort_by(By::Program), "aborted"),
        (4, Command::Close, "aborted"),
        (3, Command::Pause, "paused"),
    ] {
        let mut world = go(config(), deaf());
        world.arrange(at, end);
        rest(&mut world);
        assert_eq!(ends(&world), right);
        assert_eq!(ended(&world).len(), 1);
        assert!(world.engine.calls().all(|call| !call.state().is_detached()));
    }
    // One that goes on does, and so does one whose turn is not over.
    let mut world = go(config(), job(Behaviour::hang(), AtTurnEnd::GoOn));
    rest(&mut world);
    assert_eq!(ended(&world), []);
    assert_eq!(result(&world, 0), "works in the background");
    // A real outcome in the grace is the one that is told; that wakes nobody either.
    let done = Executed::Done(Arc::new(ToolResult::text("in time")));
    let mut world = go(config(), job(Behaviour::hang().when_cancelled(done), AtTurnEnd::Cancel));
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1");
    assert_eq!(ended(&world), [(5, "ok".into())]);
    // A dead process and a fault ask for no grace.
    let mut world = go(config(), job(Behaviour::hang(), AtTurnEnd::Cancel));
    world.run_until(4).unwrap();
    world.crash().unwrap();
    rest(&mut world);
    assert_eq!(ended(&world)[0].1, "unknown");
    let mut world = go(config(), job(Behaviour::hang(), AtTurnEnd::Cancel));
    world.arrange(4, Input::Fault { cause: "disk".into() });
    world.run().unwrap();
    assert!(asked(&world, "Timer").iter().all(|(at, _)| *at < 4));
}

fn fatal(text: &str) -> ToolResult {
    ToolResult { fatal: true, ..ToolResult::error(text) }
}

#[test]
fn c_c09_a_fatal_failure_stops_what_has_not_started() {
    let script = || {
        model([calls(&["bad", "runs", "waits"]), text("1")])
            .tool("bad", Behaviour::ok("", 5).ends(Executed::Done(Arc::new(fatal("no disk")))))
            .tool("runs", Behaviour::ok("R", 20))
            .tool("waits", Behaviour::ok("W", 1))
    };
    let config = |fatal| {
        with(|config| {
            config.calls.max_parallel = 2;
            config.calls.fatal = fatal;
        })
    };
    let mut world = go(config(Fatal::Stop), script());
    world.arrange(6, submit("next"));
    let right = "go | [bad runs waits] | bad error(failed) | runs ok | waits not started(siblingfatal)";
    assert_eq!(rest(&mut world), right);
    let failed =
        EndReason::Failed(Arc::new(TurnError::FatalCall { call: call(1, 1, 0), text: "no disk".into() }));
    assert_eq!(last_end(&world), (24, failed));
    assert_eq!(world.engine.state().agent, ["Open", "Idle", "Held"]);
    // By default it is a failure like any other.
    let mut world = go(config(Fatal::Ignore), script());
    assert_eq!(rest(&mut world), "go | [bad runs waits] | bad error(failed) | runs ok | waits ok | 1");
    // The first in call order gives the reason; an abort meanwhile is an abort; success is not fatal.
    let both =
        script().tool("runs", Behaviour::ok("", 1).ends(Executed::Done(Arc::new(fatal("first to end")))));
    let mut world = go(config(Fatal::Stop), both);
    rest(&mut world);
    assert!(matches!(last_end(&world).1, EndReason::Failed(e) if e.to_string().ends_with("no disk")));
    let mut world = go(config(Fatal::Stop), script());
    world.arrange(10, abort());
    rest(&mut world);
    assert_eq!(ends(&world), "aborted");
    let fine = ToolResult { fatal: true, ..ToolResult::text("fine") };
    let fine = script().tool("bad", Behaviour::ok("", 5).ends(Executed::Done(Arc::new(fine))));
    let mut world = go(config(Fatal::Stop), fine);
    assert!(rest(&mut world).ends_with("waits ok | 1"));
}

#[test]
fn c_c09_with_a_finalizer_it_stops_them_before_it_is_finalized() {
    let script = model([calls(&["bad", "waits"]), text("1")])
        .tool("bad", Behaviour::ok("", 5).ends(Executed::Done(Arc::new(fatal("")))))
        .tool("waits", Behaviour::ok("W", 1).plan(Plan { approval: true, ..Plan::default() }))
        .approve("waits", 6, Approval::Granted)
        .hook("Finalize", Reply::after(9, Answer::Finalize(Arc::new(ToolResult::error("rewritten")))));
    let config = with(|config| {
        config.ask.finalize = true;
        config.calls.fatal = Fatal::Stop;
    });
    let mut world = go(config, script);
    assert_eq!(rest(&mut world), "go | [bad waits] | bad error(failed) | waits not started(siblingfatal)");
    assert_eq!((ran(&world).as_str(), ends(&world).as_str()), ("bad", "failed"), "it cannot be taken back");
}

#[test]
fn c_c08_the_answer_is_marked_background() {
    let mut world = go(with(|_| {}), job(Behaviour::ok("done", 30), AtTurnEnd::GoOn));
    rest(&mut world);
    assert_eq!(settled(&world), [(3, 0, true)]);
    let marked = |message: &Message| matches!(message, Message::Tool(tool) if tool.background);
    assert_eq!(world.engine.history().iter().filter(|entry| marked(&entry.message)).count(), 1);
}

#[test]
fn c_c07_a_progress_text_is_bounded() {
    let tool = Behaviour::ok("A", 9)
        .brings(1, Piece::Progress("äbcdef".into()))
        .brings(2, Piece::Progress("äbc".into()));
    let mut world =
        go(with(|config| config.calls.progress_chars = 3), model([calls(&["a"]), text("1")]).tool("a", tool));
    rest(&mut world);
    let shown = world.events.iter().filter_map(|stamped| match &stamped.event {
        Event::Progress { text, .. } => Some(text.to_string()),
        _ => None,
    });
    assert_eq!(shown.collect::<Vec<_>>(), ["äb…", "äbc"]);
    let nothing = with(|config| config.calls.progress_chars = 0).check().unwrap_err();
    assert_eq!(nothing.field, "calls.progress_chars");
}

#[test]
fn c_c16_each_answer_names_its_rule() {
    let plan = Plan { approval: true, access: Access::None, ..Plan::default() };
    let tool = || Behaviour::ok("A", 1).plan(plan.clone());
    let script = model([calls(&["a", "b"]), text("1")]).tool("a", tool()).tool("b", tool());
    let mut world = go(with(|_| {}), script);
    world.run_until(5).unwrap();
    for (n, (_, ask)) in asked(&world, "Approve").into_iter().enumerate() {
        let Question::Approve { digest, .. } = ask.question else { panic!() };
        let rule = (n == 1).then(|| "tests may run".into());
        let approved = Approved { digest, approval: Approval::Granted, rule };
        world.arrange(6, Input::Answer { ask: ask.id, answer: Answer::Approve(Arc::new(approved)) });
    }
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b ok | 1");
    let rules = world.events.iter().filter_map(|stamped| match &stamped.event {
        Event::ApprovalAnswered { call, rule, .. } => Some((call.index, rule.as_deref())),
        _ => None,
    });
    assert_eq!(rules.collect::<Vec<_>>(), [(0, None), (1, Some("tests may run"))]);
}

fn late_results(late_results: LateResults) -> Config {
    with(|config| {
        config.calls.grace_ms = 10;
        config.calls.late_results = late_results;
    })
}

#[test]
fn c_x06_a_late_result_is_told_once_by_policy() {
    let script = || model([calls(&["a"]), text("1")]).tool("a", Behaviour::ok("did it", 50).deaf());
    let mut world = go(late_results(LateResults::Notify), script());
    world.arrange(5, abort_by(By::Program));
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run)", "it does not wake");
    world.arrange(80, submit("x"));
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | late 1.1.1.0 | x | 1");
    let said = said(&world, |origin| matches!(origin, Origin::LateResult { .. }));
    assert!(said.contains("It ended after all: ok.") && said.ends_with("did it"), "{said}");
    let mut world = go(late_results(LateResults::Drop), script());
    world.arrange(5, abort_by(By::Program));
    world.arrange(80, submit("x"));
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | x | 1");
    // In a running turn, at its next drain; and not what was not finalized.
    let timed = Plan { timeout_ms: Some(5), access: Access::None, ..Plan::default() };
    let slow = Response { pause: 30, ..text("1") };
    let script =
        model([calls(&["a"]), slow, text("2")]).tool("a", Behaviour::ok("did it", 40).deaf().plan(timed));
    let mut config = late_results(LateResults::Notify);
    config.ask.finalize = true;
    let mut world = go(config, script);
    assert_eq!(rest(&mut world), "go | [a] | a timed out(may have run) | 1 | late 1.1.1.0 | 2");
    assert!(said_late(&world).ends_with("ok. Its output is withheld.]"), "{}", said_late(&world));
}

fn said_late(world: &World) -> String {
    said(world, |origin| matches!(origin, Origin::LateResult { .. }))
}

#[test]
fn c_a25_the_roster_knows_what_was_told() {
    let told = |world: &World| -> Vec<String> {
        let calls = world.engine.agent().data().roster.iter();
        calls.map(|(_, call)| call.told.iter().filter_map(|part| part.as_text()).collect()).collect()
    };
    let mut world = go(with(|_| {}), job(Behaviour::hang(), AtTurnEnd::Wait { ms: 1 }));
    rest(&mut world);
    assert_eq!(told(&world), ["works in the backgroundThis turn waits up to 1 ms for it."]);
    let saved = serde_json::to_string(&world.engine.snapshot()).unwrap();
    world.engine = machine_adapter::Engine::restore(serde_json::from_str(&saved).unwrap()).unwrap();
    assert_eq!(told(&world).len(), 1);
    // A deaf one too.
    let script = model([calls(&["a"])]).tool("a", Behaviour::hang().deaf());
    let mut world = go(late_results(LateResults::Drop), script);
    world.arrange(5, abort());
    rest(&mut world);
    assert!(told(&world)[0].starts_with("The user cancelled this call on purpose."), "{:?}", told(&world));
}

#[test]
fn c_v15_what_was_cut_says_so() {
    let cases: [(ToolResult, usize, &str); 5] = [
        (
            ToolResult {
                spill: Some("/tmp/1".into()),
                note: Some("NOTE".into()),
                ..ToolResult::text("abcdefghij")
            },
            4,
            "abc\n[6 characters left out. The full output is at /tmp/1.]\njNOTE",
        ),
        (
            ToolResult { truncated: true, ..ToolResult::text("ab") },
            4,
            "ab\n[Part of the output was left out.]",
        ),
        (
            ToolResult { truncated: true, spill: Some("/x".into()), ..ToolResult::text("ab") },
            4,
            "ab\n[Part of the output was left out. The full output is at /x.]",
        ),
        (
            ToolResult { truncated: true, spill: Some("/x".into()), ..ToolResult::text("abcdef") },
            4,
            "abc\n[2 characters left out. The full output is at /x.]\nf\n[Part of the output was left out.]",
        ),
        (ToolResult { note: Some("long note".into()), ..ToolResult::text("abcd") }, 4, "abcdlong note"),
    ];
    for (brings, limit, right) in cases {
        let tool = Behaviour::ok("", 1).ends(Executed::Done(Arc::new(brings)));
        let config = with(|config| config.calls.output_chars = limit);
        let mut world = go(config, model([calls(&["a"]), text("1")]).tool("a", tool));
        rest(&mut world);
        assert_eq!(result(&world, 0), right);
    }
    // What came on the way is bounded, and says that it was cut.
    let tool = Behaviour::hang().brings(1, Piece::Output(machine_core::message::text_content("abcdef")));
    let config = with(|config| config.calls.output_chars = 4);
    let mut world = go(config, model([calls(&["a"])]).tool("a", tool));
    world.arrange(9, abort());
    rest(&mut world);
    assert!(result(&world, 0).ends_with("abcd\n[Part of the output was left out.]"), "{}", result(&world, 0));
}
