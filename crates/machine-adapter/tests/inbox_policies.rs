//! What failed and aborted turns mean for what waits, and who asks before a notification goes in (A11, A14, A15, E08).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use machine_core::ask::{Answer, By, Screened};
use machine_core::config::{AfterAbort, AfterFailure, Config};
use machine_core::event::Event;
use machine_core::ids::InputId;
use machine_core::input::{Command, Refused};
use machine_core::message::text_content;
use machine_core::response::Failure;
use machine_testkit::script::{Behaviour, Reply, Response, Script};
use story::*;

fn after_abort(after_abort: AfterAbort) -> Config {
    with(|config| config.inbox.after_abort = after_abort)
}

/// A call that hangs, then answers.
fn hangs() -> Script {
    model([calls(&["a"]), text("1"), text("2")]).tool("a", Behaviour::hang())
}

/// Aborted at 9 with a prompt, a steered prompt, a notification, an injection and a reminder pending.
fn aborted(config: Config, by: By) -> World {
    let mut world = go(config, hangs());
    world.arrange(3, submit("p"));
    world.arrange(4, join("s"));
    world.arrange(5, notify("n"));
    world.arrange(6, inject("i"));
    world.arrange(7, remind("r", "r", false));
    world.arrange(9, abort_by(by));
    world
}

fn returned(world: &World) -> Vec<InputId> {
    world.ends()[0].returned.clone()
}

#[test]
fn c_a15_by_default_prompts_go_on() {
    for by in [By::User, By::Program] {
        let mut world = aborted(with(|_| {}), by);
        assert!(
            rest(&mut world).ends_with("note n | note i | reminder r | s | 1 | p | 2"),
            "{}",
            told(&world)
        );
        assert_eq!(returned(&world), []);
    }
}

#[test]
fn c_a15_hold_keeps_both_lanes() {
    for by in [By::User, By::Program, By::Parent] {
        let mut world = aborted(after_abort(AfterAbort::Hold), by);
        rest(&mut world);
        assert_eq!((world.engine.state().agent, requests(&world)), (&["Open", "Idle", "Held"][..], 1));
        for id in ["p", "s", "n", "i", "r"] {
            assert!(receipts(&world, id).contains(&"held"), "{id}");
        }
        world.send(Command::Resume).unwrap();
        assert!(rest(&mut world).ends_with("note n | note i | reminder r | s | 1 | p | 2"));
    }
    // In every state of the turn, and not after another end.
    for (at, agent) in [(1, "Held"), (40, "Ready")] {
        let mut world = go(after_abort(AfterAbort::Hold), model([text("1")]));
        world.arrange(at, abort());
        rest(&mut world);
        assert_eq!(world.engine.state().agent.last(), Some(&agent));
    }
}

#[test]
fn c_a15_give_back_returns_what_is_pending_at_the_abort() {
    for by in [By::User, By::Program] {
        let mut world = aborted(after_abort(AfterAbort::GiveBack), by);
        let deaf = Behaviour::hang().deaf();
        world.host.tools.insert("a".into(), deaf);
        // What comes after it belongs to the next turn.
        world.arrange(10, submit("later"));
        let history = rest(&mut world);
        assert!(history.ends_with(" | later | 1"), "{history}");
        let ids: Vec<InputId> = ["p", "s", "n", "i", "r"].map(InputId::from).to_vec();
        assert_eq!(returned(&world), ids);
        for id in ["p", "n", "i", "r"] {
            assert_eq!(receipts(&world, id), ["accepted", "returned"]);
        }
        assert_eq!(receipts(&world, "s"), ["accepted", "steered", "returned"]);
        assert_eq!(world.ends()[1].returned, []);
        assert!(matches!(world.send(submit("p")), Err(Refused::Duplicate { .. })));
    }
    // A question about it is taken back.
    let config = with(|config| {
        config.ask.screen = true;
        config.inbox.after_abort = AfterAbort::GiveBack;
    });
    let script =
        hangs().hook("Screen", Reply::now(Answer::Screen(Screened::Admit))).hook("Screen", Reply::never());
    let mut world = go(config, script);
    world.arrange(4, join("s"));
    world.arrange(9, abort());
    rest(&mut world);
    assert_eq!(taken_back(&world, asked(&world, "Screen")[1].1.id), [9]);
    assert_eq!(receipts(&world, "s"), ["accepted", "steered", "returned"]);
}

#[test]
fn c_a14_go_on_after_a_failure_and_never_after_a_crash() {
    let config = || with(|config| config.inbox.after_failure = AfterFailure::GoOn);
    let mut world = go(config(), model([Response::failure(Failure::Auth), text("1")]));
    world.arrange(0, submit("x"));
    assert_eq!(rest(&mut world), "go | x | 1");
    let mut world = go(config(), hangs());
    world.arrange(0, submit("x"));
    world.run_until(5).unwrap();
    world.crash().unwrap();
    rest(&mut world);
    assert_eq!(world.engine.state().agent, ["Open", "Idle", "Held"]);
}

#[test]
fn c_e08_held_is_told_once_per_holding() {
    let fail = || Response::failure(Failure::Auth);
    let mut world = go(with(|_| {}), model([fail(), fail(), text("1")]));
    for (at, command) in [(0, submit("p")), (0, submit("q")), (1, inject("i")), (1, remind("r", "r", false))]
    {
        world.arrange(at, command);
    }
    rest(&mut world);
    for id in ["p", "q", "i", "r"] {
        assert_eq!(receipts(&world, id), ["accepted", "held"], "{id}");
    }
    // Maintenance comes back to the same holding; what comes meanwhile is only accepted.
    world.arrange(10, Command::Maintain);
    world.arrange(11, park("late"));
    rest(&mut world);
    assert_eq!(
        (receipts(&world, "p"), receipts(&world, "late")),
        (vec!["accepted", "held"], vec!["accepted"])
    );
    world.arrange(20, Command::Resume);
    rest(&mut world);
    assert_eq!(receipts(&world, "q"), ["accepted", "held", "held"], "held again by the second failure");
    assert_eq!(receipts(&world, "i"), ["accepted", "held", "taken"]);
    world.arrange(30, Command::Resume);
    rest(&mut world);
    assert_eq!(receipts(&world, "q"), ["accepted", "held", "held", "taken", "turn ended"]);
    assert_eq!(receipts(&world, "late"), ["accepted", "held"], "it does not wake");
    let order: Vec<_> = kinds_of_holding(&world);
    assert_eq!(order[..5], ["held", "p", "q", "i", "r"], "first why, then who");
}

fn kinds_of_holding(world: &World) -> Vec<String> {
    use machine_core::event::Receipt;
    let told = world.events.iter().filter_map(|stamped| match &stamped.event {
        Event::Held { .. } => Some("held".to_owned()),
        Event::Receipt { input, receipt: Receipt::Held(_) } => Some(input.0.to_string()),
        _ => None,
    });
    told.collect()
}

fn screening() -> Config {
    with(|config| {
        config.ask.screen = true;
        config.inbox.screen_notifications = true;
    })
}

fn verdict(after: u64, verdict: Screened) -> Reply {
    Reply::after(after, Answer::Screen(verdict))
}

fn admits() -> Reply {
    verdict(0, Screened::Admit)
}

#[test]
fn c_a11_a_notification_is_screened_before_it_wakes() {
    let one = |reply| {
        let mut world = world(screening(), model([text("1"), text("2")]).hook("Screen", reply));
        world.arrange(0, notify("n"));
        world
    };
    let mut world = one(verdict(9, Screened::Admit));
    world.run_until(5).unwrap();
    assert_eq!(world.engine.state().agent, ["Open", "Screening"]);
    assert_eq!((rest(&mut world), asked(&world, "Screen").len()), ("note n | 1".into(), 1));
    let mut world = one(verdict(9, Screened::Rewrite(text_content("better"))));
    assert_eq!(rest(&mut world), "note better | 1");
    for no in [verdict(9, Screened::Block("no".into())), verdict(9, Screened::Rewrite(text_content(" ")))] {
        let mut world = one(no);
        world.arrange(1, notify("m"));
        assert_eq!(rest(&mut world), "note m | 1", "the next one is screened");
        assert_eq!(receipts(&world, "n"), ["accepted", "dropped"]);
        assert_eq!(asked(&world, "Screen").len(), 2);
    }
    let mut world = one(Reply::after(9, hook_failed()));
    assert_eq!(rest(&mut world), "");
    assert_eq!(receipts(&world, "n"), ["accepted", "dropped"]);
    // Taken back, or aborted, while it is screened.
    for (command, last) in [(Command::Withdraw("n".into()), "returned"), (abort(), "dropped")] {
        let mut world = one(Reply::never());
        world.arrange(5, command);
        assert_eq!(rest(&mut world), "");
        assert_eq!(receipts(&world, "n"), ["accepted", last]);
        assert_eq!(taken_back(&world, asked(&world, "Screen")[0].1.id), [5]);
    }
}

#[test]
fn c_a11_no_drain_waits_for_a_notification_that_is_not_screened() {
    let script = || {
        model([calls(&["a"]), text("1"), text("2")]).tool("a", Behaviour::ok("A", 5)).hook("Screen", admits())
    };
    // Admitted in time; too late for the first drain; after the turn.
    for (after, right) in [
        (2, "go | [a] | a ok | note n | 1"),
        (5, "go | [a] | a ok | 1 | note n | 2"),
        (50, "go | [a] | a ok | 1 | note n | 2"),
    ] {
        let mut world = go(screening(), script().hook("Screen", verdict(after, Screened::Admit)));
        world.arrange(3, notify("n"));
        assert_eq!(rest(&mut world), right, "{after}");
        assert_eq!(asked(&world, "Screen").len(), 2, "once");
    }
    // Injections are not screened; a prompt does not wait for a notification.
    let mut world = go(screening(), script());
    world.arrange(3, inject("i"));
    assert_eq!(rest(&mut world), "go | [a] | a ok | note i | 1");
    let mut both = world_paused(script().hook("Screen", verdict(30, Screened::Admit)));
    assert_eq!(rest(&mut both), "p | [a] | a ok | 1 | note n | 2");
    // By default none is.
    let mut plain = story::world(with(|config| config.ask.screen = true), model([text("1")]));
    plain.arrange(0, notify("n"));
    assert_eq!((rest(&mut plain), asked(&plain, "Screen").len()), ("note n | 1".into(), 0));
    assert_eq!(with(|config| config.inbox.screen_notifications = true).check().unwrap_err().value, 1);
}

/// A notification and a prompt wait; then they start.
fn world_paused(script: Script) -> World {
    let mut world = world(screening(), script);
    world.arrange(0, Command::Pause);
    world.arrange(1, notify("n"));
    world.arrange(2, submit("p"));
    world.arrange(3, Command::Resume);
    world
}

#[test]
fn c_a11_what_a_user_hushed_is_screened_when_it_is_resumed() {
    let script = model([calls(&["a"]), text("1")]).tool("a", Behaviour::hang());
    let script = script.hook("Screen", admits()).hook("Screen", Reply::never()).hook("Screen", admits());
    let mut world = go(screening(), script);
    world.arrange(4, notify("n"));
    world.arrange(9, abort());
    world.run_until(20).unwrap();
    assert_eq!(world.engine.state().agent, ["Open", "Idle", "Ready"]);
    // Its process dies: the question is due again.
    world.crash().unwrap();
    world.arrange(30, Command::Resume);
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | marker | note n | 1");
}
