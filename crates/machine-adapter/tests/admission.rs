//! What is taken in and what is refused, by the rules' own words (A03, A10, X12).
#![allow(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::{By, Cause};
use machine_core::config::Questions;
use machine_core::ids::InputId;
use machine_core::input::{Abort, Command, Note, Refused, Reminder, Submit, Target};
use machine_core::message::{Body, Content, Part, ToolCall};
use machine_testkit::script::Behaviour;
use proptest::prelude::*;
use story::*;

fn part() -> impl Strategy<Value = Part> {
    let call = ToolCall {
        id: turn(1).step(1).call(0),
        wire: "w".into(),
        tool: "t".into(),
        args: "{}".into(),
        raw: None,
    };
    prop_oneof![
        4 => "[ \n]{0,3}".prop_map(|text| Part::text(text.as_str())),
        4 => "[a-z]{1,3}".prop_map(|text| Part::text(text.as_str())),
        2 => Just(Body::Media { kind: "image/png".into(), at: "file:a.png".into() }.into()),
        1 => Just(Body::Thinking { text: "hm".into(), signature: None }.into()),
        1 => Just(Body::Call(call).into()),
    ]
}

/// What the model alone may say is refused, wherever it stands; then what says nothing at all.
fn by_the_rule(id: &InputId, message: &Content) -> Result<(), Refused> {
    let may_be_said = |part: &Part| matches!(part.body, Body::Text(_) | Body::Media { .. });
    let says = |part: &Part| match &part.body {
        Body::Text(text) => !text.trim().is_empty(),
        _ => true,
    };
    match () {
        () if !message.iter().all(may_be_said) => Err(Refused::NotSayable(id.clone())),
        () if !message.iter().any(says) => Err(Refused::Empty(id.clone())),
        () => Ok(()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c_a03_a_message_from_outside_says_something_and_says_it_itself(parts in prop::collection::vec(part(), 0..4)) {
        let (id, message): (InputId, Content) = ("x".into(), parts.into());
        let submit = Submit { message: message.clone(), ..(*Submit::text("x", "")).clone() };
        let note = Note { message: message.clone(), ..(*Note::text("x", "")).clone() };
        let reminder = Reminder { key: id.clone(), message: message.clone(), only_if_changed: false };
        let wanted = by_the_rule(&id, &message);
        for command in [
            Command::Submit(Arc::new(submit)),
            Command::Notify(Arc::new(note.clone())),
            Command::Inject(Arc::new(note)),
            Command::Remind(Arc::new(reminder)),
        ] {
            let mut world = world(with(|_| {}), model([text("ok")]));
            prop_assert_eq!(world.send(command), wanted.clone());
        }
        // Another text for a prompt that waits is held to the same.
        let mut world = world(with(|_| {}), model([text("ok")]));
        world.send(park("x")).unwrap();
        prop_assert_eq!(world.send(Command::Replace(id, message)), wanted);
    }
}

/// A reminder that says what it said is not told again, also where only the last one is remembered.
#[test]
fn c_a10_the_last_reminder_is_remembered() {
    for remembered in 0..3 {
        let mut world =
            world(with(|config| config.inbox.remembered_ids = remembered), model([text("1"), text("2")]));
        for (at, prompt) in [(0, "a"), (100, "b")] {
            world.arrange(at, remind("r", "said once", true));
            world.arrange(at + 1, submit(prompt));
        }
        assert_eq!(rest(&mut world), "reminder said once | a | 1 | b | 2", "{remembered} are remembered");
    }
}

/// A reminder that comes again takes the place of the old one: it needs no room (A07, A24).
#[test]
fn c_a24_a_reminder_that_comes_again_needs_no_room() {
    let mut world = world(with(|config| config.inbox.next_step = 1), model([text("ok")]));
    let full = Err(Refused::Full { what: "inbox.next_step", limit: 1 });
    assert_eq!(world.send(remind("r", "first", false)), Ok(()));
    assert_eq!(world.send(remind("q", "another", false)), full);
    assert_eq!(world.send(remind("r", "again", false)), Ok(()));
    assert_eq!(world.send(remind("q", "another", false)), full);
}

/// An abort may name the prompt that is being screened; it stops nothing else.
#[test]
fn c_x12_an_abort_of_a_screened_prompt() {
    let mut world =
        world(with(|config| config.ask = Questions { screen: true, ..Questions::default() }), model([]));
    world.host.hooks_take = 10;
    let abort = |id: &str| {
        let target = Some(Target::Prompt(id.into()));
        Command::Abort(Arc::new(Abort { cause: Cause::by(By::User), target }))
    };
    assert_eq!(world.send(abort("a")), Err(Refused::NotThatTurn), "it is not there yet");
    world.send(submit("a")).unwrap();
    world.send(submit("b")).unwrap();
    assert_eq!(world.send(abort("b")), Err(Refused::NotThatTurn), "its screening has not begun");
    assert_eq!(world.send(abort("a")), Ok(()));
    assert_eq!(world.send(abort("a")), Err(Refused::NotThatTurn), "it is dropped");
    assert_eq!(world.send(abort("b")), Ok(()), "the next one goes on");
}

/// A call is cancelled once: what is being stopped, or is over, has nothing to cancel (C13).
#[test]
fn c_c13_a_call_that_is_being_stopped_is_not_cancelled_again() {
    let script = model([calls(&["a"]), text("1")]).tool("a", Behaviour::hang().deaf());
    let mut world = go(with(|config| config.calls.grace_ms = 50), script);
    let cancel = |world: &mut World| world.send(Command::CancelCall(call(1, 1, 0), Cause::by(By::User)));
    let nothing = Err(Refused::UnknownCall(call(1, 1, 0)));
    assert_eq!(cancel(&mut world), nothing, "it is not there yet");
    world.run_until(10).unwrap();
    assert_eq!(cancel(&mut world), Ok(()));
    assert_eq!(cancel(&mut world), nothing, "it is being stopped");
    world.run_until(100).unwrap();
    assert_eq!(cancel(&mut world), nothing, "it was answered, and is deaf");
}
