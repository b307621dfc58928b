//! What hooks may say, and what it means: the gate, the stop hook, the finalizer (T02 to T04, T14 to T16, T21, C11, C12).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::{Answer, Executed, Gated, Piece, Plan, Prepared, Proceed, StopVerdict};
use machine_core::config::{Config, Settings, ToolSpec};
use machine_core::event::{EndReason, Event, HeadTold, TurnError};
use machine_core::input::Command;
use machine_core::message::{Origin, text_content};
use machine_core::outcome::ToolResult;
use machine_core::response::Failure;
use machine_testkit::script::{Behaviour, Reply, Response, Script};
use story::*;

fn gating() -> Config {
    with(|config| config.ask.gate = true)
}

fn stopping() -> Config {
    with(|config| config.ask.stop = true)
}

fn finalizing() -> Config {
    with(|config| config.ask.finalize = true)
}

fn proceed(with: Proceed) -> Reply {
    Reply::now(Answer::Gate(Gated::Proceed(Arc::new(with))))
}

fn tools(names: &[&str]) -> Arc<[ToolSpec]> {
    let spec =
        |name: &&str| ToolSpec { name: (*name).into(), description: "".into(), parameters: "{}".into() };
    names.iter().map(spec).collect()
}

fn go_on(says: &str) -> Reply {
    Reply::now(Answer::Stop(StopVerdict::Continue(Arc::from([text_content(says).into()]))))
}

/// H02: a failing before-hook closes; the time of a hook is bounded.
#[test]
fn s40_a_hook_that_hangs() {
    let script = || {
        model([calls(&["a"]), text("ok")]).tool("a", Behaviour::ok("A", 1)).hook("Prepare", Reply::never())
    };
    let config = || with(|config| config.ask.timeout_ms = 5);
    let mut world = go(config(), script());
    assert_eq!(rest(&mut world), "go | [a] | a error(hookfailed) | ok");
    assert_eq!(when(&world, |event| matches!(event, Event::HookFailed { .. })), [7]);
    assert_eq!(ran(&world), "");
    let mut world = go(config(), script());
    world.arrange(4, abort());
    assert_eq!(rest(&mut world), "go | [a] | a not started(abort) | marker");
    assert_eq!(last_end(&world).0, 4);
}

/// T04.
#[test]
fn s77_the_tools_of_a_step_are_its_own() {
    let mut config = gating();
    config.request.tools = tools(&["start", "y"]);
    let script =
        model([calls(&["start"]), Response::failure(Failure::Overloaded), calls(&["x", "y"]), text("ok")])
            .tool("start", Behaviour::ok("started", 1))
            .tool("x", Behaviour::ok("X", 1))
            .hook("Gate", proceed(Proceed::default()))
            .hook("Gate", proceed(Proceed { tools: Some(tools(&["start", "x"])), ..Proceed::default() }));
    let mut world = go(config, script);
    assert_eq!(rest(&mut world), "go | [start] | start ok | [x y] | x ok | y error(unknowntool) | ok");
    let offered: Vec<Vec<_>> = world
        .host
        .requests
        .iter()
        .map(|request| request.tools.iter().map(|tool| tool.name.to_string()).collect())
        .collect();
    assert_eq!(offered, [["start", "y"], ["start", "x"], ["start", "x"], ["start", "y"]]);
}

/// T03, T14, T21.
#[test]
fn c_t02_the_gate_says_what_a_step_begins_with() {
    let with = Proceed {
        tools: None,
        system: Some("be brief".into()),
        settings: Some(Arc::new(Settings { model: "small".into(), ..Settings::default() })),
        messages: vec![text_content("it is Monday").into()],
    };
    let script = model([calls(&["a"]), text("ok")])
        .tool("a", Behaviour::ok("A", 1))
        .hook("Gate", proceed(Proceed::default()))
        .hook("Gate", proceed(with));
    let mut world = go(gating(), script);
    world.arrange(2, notify("n"));
    assert_eq!(rest(&mut world), "go | [a] | a ok | note n | gate it is Monday | ok", "last");
    let request = &world.host.requests[1];
    assert_eq!((&*request.system, &*request.settings.model), ("be brief", "small"));
    assert!(lines(&request.history).ends_with("gate it is Monday"), "the request is made after the gate");
    let heads: Vec<_> = world
        .events
        .iter()
        .filter_map(|stamped| match &stamped.event {
            Event::AttemptStarted { with, .. } => {
                Some(with.as_ref().map(|head| (head.why, head.system.to_string())))
            }
            _ => None,
        })
        .collect();
    assert_eq!(heads, [Some((HeadTold::First, "".into())), Some((HeadTold::Changed, "be brief".into()))]);
}

#[test]
fn c_t02_the_gate_blocks_or_fails() {
    let script = |reply| model([text("never"), text("never")]).hook("Gate", reply);
    let mut world = go(gating(), script(Reply::now(Answer::Gate(Gated::Block("over budget".into())))));
    assert_eq!(rest(&mut world), "go", "what the turn had taken stays");
    assert_eq!(last_end(&world).1, EndReason::Blocked("over budget".into()));
    for reply in [Reply::now(hook_failed()), Reply::never()] {
        let mut world = go(gating(), script(reply));
        assert_eq!(rest(&mut world), "go");
        let EndReason::Failed(error) = last_end(&world).1 else { panic!("{:?}", last_end(&world)) };
        assert!(matches!(*error, TurnError::Gate(_)));
        assert_eq!(count(&world, |event| matches!(event, Event::HookFailed { .. })), 1);
        assert_eq!(count(&world, |event| matches!(event, Event::StepStarted { .. })), 0, "T05");
    }
    // A turn that is blocked does not strand the queue; one that failed holds it, and says so (A14).
    let blocked = Reply::now(Answer::Gate(Gated::Block("no".into())));
    let mut world = go(gating(), model([text("1")]).hook("Gate", blocked));
    world.arrange(0, submit("x"));
    assert_eq!(rest(&mut world), "go | x | 1");
    let mut world = go(gating(), model([text("1"), text("2")]).hook("Gate", Reply::now(hook_failed())));
    world.arrange(0, submit("x"));
    assert_eq!(rest(&mut world), "go");
    assert_eq!(world.engine.state().agent, ["Open", "Idle", "Held"]);
    assert_eq!(count(&world, |event| matches!(event, Event::Held { .. })), 1);
    world.arrange(70_000, notify("n"));
    assert_eq!(rest(&mut world), "go | note n | x | 1", "the next `notify` releases both lanes");
    assert_eq!(count(&world, |event| matches!(event, Event::Released)), 1);
}

#[test]
fn c_a14_what_a_failure_holds_the_next_input_releases() {
    let failing = || Response::failure(Failure::Auth);
    for (release, right) in [
        (submit("y"), "go | x | 1 | y | 2"),
        (Command::Resume, "go | x | 1"),
        (notify("n"), "go | note n | x | 1"),
    ] {
        let mut world = go(with(|_| {}), model([failing(), text("1"), text("2")]));
        world.arrange(0, submit("x"));
        world.arrange(10, inject("never wakes"));
        world.arrange(11, Command::Withdraw("never wakes".into()));
        rest(&mut world);
        assert_eq!(told(&world), "go");
        world.send(release).unwrap();
        assert_eq!(rest(&mut world), right);
    }
    let mut world = go(
        with(|config| config.inbox.after_failure = machine_core::config::AfterFailure::GoOn),
        model([failing(), text("1")]),
    );
    world.arrange(0, submit("x"));
    assert_eq!(rest(&mut world), "go | x | 1");
}

/// T14.
#[test]
fn c_t15_the_stop_hook_is_asked_when_nothing_waits() {
    let script = model([text("1"), text("2"), text("3")]).hook("Stop", go_on("tests fail"));
    let mut world = go(stopping(), script);
    world.arrange(1, notify("n"));
    assert_eq!(rest(&mut world), "go | 1 | note n | 2 | hook tests fail | 3");
    assert_eq!((asked(&world, "Stop").len(), ends(&world).as_str()), (2, "completed"));
    // It is not consulted after a batch that ends the turn.
    let stop = ToolResult { stop_turn: Some("enough".into()), ..ToolResult::text("ok") };
    let script = model([calls(&["a"])]).tool("a", Behaviour::ok("", 1).ends(Executed::Done(Arc::new(stop))));
    let mut world = go(stopping(), script);
    rest(&mut world);
    assert_eq!(asked(&world, "Stop"), []);
}

#[test]
fn c_t16_a_stop_hook_is_overruled() {
    let mut script = model([text("1"), calls(&["a"]), text("2"), text("3"), text("4"), text("never")])
        .tool("a", Behaviour::ok("A", 1));
    for _ in 0..9 {
        script = script.hook("Stop", go_on("more"));
    }
    let mut world = go(stopping(), script.clone());
    let right = "go | 1 | hook more | [a] | a ok | 2 | hook more | 3 | hook more | 4";
    assert_eq!(rest(&mut world), right, "tool steps do not reset the count");
    assert_eq!(count(&world, |event| matches!(event, Event::HookOverruled { .. })), 1);
    assert_eq!(ends(&world), "completed");
    // Input from outside does.
    let mut world = go(
        with(|config| {
            config.ask.stop = true;
            config.turn.stop_hook = 1;
        }),
        script,
    );
    world.arrange(5, notify("n"));
    assert_eq!(rest(&mut world), "go | 1 | hook more | [a] | a ok | note n | 2 | hook more | 3");
    // A broken hook is no continuation, nor is one without a message.
    for reply in [Reply::now(hook_failed()), Reply::now(Answer::Stop(StopVerdict::Continue(Arc::from([]))))] {
        let mut world = go(stopping(), model([text("1"), text("never")]).hook("Stop", reply));
        assert_eq!(rest(&mut world), "go | 1");
        assert_eq!(count(&world, |event| matches!(event, Event::HookFailed { .. })), 1);
        assert_eq!(ends(&world), "completed");
    }
}

/// A hook that spoke while the agent paused opens a turn when somebody resumes: that turn has its own continuations.
#[test]
fn c_t16_a_resume_lets_a_stop_hook_go_on_again() {
    let mut script = model([text("1"), text("2"), text("3"), text("never")]);
    script = script.hook("Stop", Reply { after: 5, ..go_on("more") });
    for _ in 0..9 {
        script = script.hook("Stop", go_on("more"));
    }
    let once = with(|config| {
        config.ask.stop = true;
        config.turn.stop_hook = 1;
    });
    let mut world = go(once, script);
    world.arrange(3, Command::Pause);
    world.arrange(20, Command::Resume);
    assert_eq!(rest(&mut world), "go | 1 | hook more | 2 | hook more | 3");
    assert_eq!(count(&world, |event| matches!(event, Event::HookOverruled { .. })), 1);
    assert_eq!(world.ends().len(), 2);
}

fn finalized(result: ToolResult) -> Reply {
    Reply::now(Answer::Finalize(Arc::new(result)))
}

fn one_call(tool: Behaviour, reply: Reply) -> Script {
    model([calls(&["a"]), text("ok")]).tool("a", tool).hook("Finalize", reply)
}

#[test]
fn c_c11_a_result_is_rewritten_or_withheld() {
    let secret = || Behaviour::ok("secret", 1).brings(0, Piece::Output(text_content("secret")));
    let mut world = go(finalizing(), one_call(secret(), finalized(ToolResult::text("s*****"))));
    assert_eq!(rest(&mut world), "go | [a] | a ok | ok");
    assert_eq!(result(&world, 0), "s*****");
    for reply in [Reply::now(hook_failed()), Reply::never()] {
        let mut world = go(finalizing(), one_call(secret(), reply));
        assert_eq!(rest(&mut world), "go | [a] | a error(withheld) | ok");
        let said = |text: &str| text.contains("secret");
        assert!(!world.engine.history().iter().any(|entry| said(&entry.message.text())));
        assert!(!world.events.iter().any(|stamped| said(&format!("{:?}", stamped.event))));
        assert!(!said(&serde_json::to_string(&world.engine.snapshot()).unwrap()));
    }
    // It may set a stop, and not remove one; the outcome stays.
    let stop = |reason: &str| ToolResult { stop_turn: Some(reason.into()), ..ToolResult::text("A") };
    let stopping = Behaviour::ok("", 1).ends(Executed::Done(Arc::new(stop("tool"))));
    for (tool, rewritten, reason) in [
        (Behaviour::ok("A", 1), stop("hook"), "hook"),
        (stopping.clone(), ToolResult::text("A"), "tool"),
        (stopping, stop("hook"), "hook"),
    ] {
        let mut world = go(finalizing(), one_call(tool, finalized(rewritten)));
        assert_eq!(rest(&mut world), "go | [a] | a ok");
        let stopped_by = Some((call(1, 1, 0), reason.into()));
        assert_eq!(last_end(&world).1, EndReason::Completed { stopped_by });
    }
    let mut world =
        go(finalizing(), one_call(Behaviour::error("no", 1), finalized(ToolResult::text("fine"))));
    assert_eq!(rest(&mut world), "go | [a] | a error(failed) | ok");
}

#[test]
fn c_c12_what_never_ran_is_finalized_too() {
    let answered = Prepared::Answered(Arc::new(ToolResult::text("from a cache")));
    let script = model([calls(&["nosuch", "denied", "answered", "bad name"]), text("ok")])
        .tool("denied", Behaviour::ok("", 1).prepared(Prepared::Denied("no".into())))
        .tool("answered", Behaviour::ok("", 1).prepared(answered));
    let mut world = go(finalizing(), script);
    let right = "go | [nosuch denied answered bad_name] | nosuch error(unknowntool) | denied denied(no) | \
                 answered ok | bad_name error(illegalname) | ok";
    assert_eq!(rest(&mut world), right);
    assert_eq!(asked(&world, "Finalize").len(), 4);
    // What has no output has nothing to withhold: its outcome stays.
    let script = model([calls(&["nosuch"]), text("ok")]).hook("Finalize", Reply::now(hook_failed()));
    let mut world = go(finalizing(), script);
    assert_eq!(rest(&mut world), "go | [nosuch] | nosuch error(unknowntool) | ok");
}

#[test]
fn c_v07_every_entry_says_where_it_comes_from() {
    let deliver = ToolResult { deliver: Some(text_content("d")), ..ToolResult::text("A") };
    let script = model([calls(&["a"]), text("1"), text("so far").silent()])
        .tool("a", Behaviour::ok("", 1).ends(Executed::Done(Arc::new(deliver))))
        .hook("Gate", proceed(Proceed { messages: vec![text_content("g").into()], ..Proceed::default() }))
        .hook("Stop", go_on("s"));
    let mut world = go(
        with(|config| {
            config.ask.gate = true;
            config.ask.stop = true;
        }),
        script,
    );
    world.arrange(0, remind("r", "r", false));
    world.arrange(30, abort());
    let right = "go | gate g | [a] | a ok | deliver d | reminder r | 1 | hook s | salvaged so far | marker";
    assert_eq!(rest(&mut world), right);
    let of_turn = |entry: &Arc<machine_core::message::Entry>| entry.turn == Some(turn(1));
    assert!(world.engine.history().iter().all(of_turn));
    assert!(
        matches!(world.engine.history().get(0).unwrap().origin, Origin::Prompt { ref id } if &*id.0 == "go")
    );
}

#[test]
fn c_v09_what_a_hook_rewrites_must_be_an_object_too() {
    for args in ["[1]", "5", "{\"a\":", ""] {
        let plan = Plan { args: Some(args.into()), approval: true, ..Plan::default() };
        let script = model([calls(&["a", "b"]), text("ok")]);
        let script = script.tool("a", Behaviour::ok("no", 1).plan(plan)).tool("b", Behaviour::ok("yes", 1));
        let mut world = go(with(|_| {}), script);
        assert_eq!(rest(&mut world), "go | [a b] | a error(hookfailed) | b ok | ok", "{args}");
        assert_eq!(ran(&world), "b", "C03: it is not asked about, and does not run");
        assert_eq!(asked(&world, "Approve"), []);
    }
}
