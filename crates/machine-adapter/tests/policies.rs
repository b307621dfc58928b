//! What a host may choose about the course of a turn: cut responses, the step limit, tokens, forced tools (T09, T12, T13,
//! T22, U04, M11).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::{Answer, Executed, Gated, Proceed, Recovery, Remedy};
use machine_core::config::{
    AtStepLimit, BudgetReset, Config, OnCut, Salvage, Settings, ToolChoice, ToolSpec, TurnLimits,
};
use machine_core::event::{EndReason, Event, HeadTold};
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, Finish, Finished};
use machine_core::usage::Usage;
use machine_testkit::script::{Behaviour, Reply, Response, Script};
use story::*;

fn turn(set: impl FnOnce(&mut TurnLimits)) -> Config {
    with(|config| set(&mut config.turn))
}

/// A model that always calls `a`.
fn always() -> Script {
    model((0..30).map(|_| calls(&["a"]))).tool("a", Behaviour::ok("A", 1))
}

fn stops() -> Behaviour {
    let result = ToolResult { stop_turn: Some("enough".into()), ..ToolResult::text("ok") };
    Behaviour::ok("", 5).ends(Executed::Done(Arc::new(result)))
}

/// The response costs so many tokens.
fn costs(response: Response, tokens: u64) -> Response {
    let usage = Some(Usage { input: tokens, ..Usage::default() });
    let end = response.end.map(|end| end.map(|finished| Finished { usage, ..finished }));
    Response { end, ..response }
}

#[test]
fn c_t09_a_cut_response_may_end_the_turn_at_once() {
    for (finish, end, code) in [
        (Finish::MaxTokens, "max_tokens", "truncated"),
        (Finish::Suspended, "suspended", "suspended"),
        (Finish::Other, "other", "other"),
    ] {
        let script = model([calls(&["a"]).finish(finish), text("2")]).tool("a", Behaviour::ok("A", 1));
        let mut world = go(turn(|turn| turn.on_cut = OnCut::End), script);
        assert_eq!(rest(&mut world), format!("go | [a] | a not started({code})"));
        assert_eq!((ends(&world).as_str(), ran(&world).as_str()), (end, ""));
    }
}

#[test]
fn c_t09_calls_of_an_unknown_end_may_run() {
    let script = || {
        let cut = |finish| calls(&["a"]).finish(finish);
        model([cut(Finish::Other), cut(Finish::Suspended), text("done").finish(Finish::Other), text("never")])
            .tool("a", Behaviour::ok("A", 1))
    };
    let mut world = go(turn(|turn| turn.run_calls_of_other = true), script());
    assert_eq!(rest(&mut world), "go | [a] | a ok | [a] | a not started(suspended) | done");
    assert_eq!(ends(&world), "other", "without calls it ends with its reason");
    let mut world = go(turn(|_| {}), script());
    assert!(rest(&mut world).starts_with("go | [a] | a not started(other)"));
}

fn closing(max: u32) -> Config {
    turn(|turn| {
        turn.max_steps = Some(max);
        turn.at_step_limit = AtStepLimit::ClosingStep;
    })
}

#[test]
fn c_t12_a_closing_step_has_no_tools_and_is_the_last() {
    let mut config = closing(1);
    config.request.tools = offered(&["a"]);
    let script = model([calls(&["a"]), text("so far"), text("never")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(config.clone(), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | so far");
    assert_eq!((ends(&world).as_str(), world.ends()[0].steps), ("step_limit", 2));
    assert_eq!(tables(&world), [1, 0]);
    assert_eq!(choices(&world), [ToolChoice::Auto, ToolChoice::None]);
    // Calls are answered all the same, and nothing follows.
    let mut world = go(config.clone(), always());
    world.arrange(3, notify("n"));
    let right = "go | [a] | a ok | note n | [a] | a not started(limit)";
    assert_eq!(rest(&mut world), right, "what waits goes in as before any step");
    assert_eq!((ends(&world).as_str(), ran(&world).as_str()), ("step_limit", "a"));
    // A gate or a recovery brings no tools back.
    config.ask.gate = true;
    config.ask.recover = true;
    let bring = || Proceed { tools: Some(offered(&["a", "b"])), ..Proceed::default() };
    let again = Remedy {
        strategy: "again".into(),
        progress: true,
        instead: Some(bring()),
        for_turn: false,
        usage: None,
    };
    let gate = || Reply::now(Answer::Gate(Gated::Proceed(Arc::new(bring()))));
    let script = model([calls(&["a"]), Response::failure(Failure::Overloaded), text("so far")])
        .tool("a", Behaviour::ok("A", 1))
        .hook("Gate", gate())
        .hook("Gate", gate())
        .hook("Recover", Reply::now(Answer::Recover(Recovery::Retry(Arc::new(again)))));
    let mut world = go(config, script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | so far");
    assert_eq!(tables(&world), [2, 0, 0]);
}

#[test]
fn c_t12_whatever_a_closing_step_says_it_is_the_step_limit() {
    let cut = |finish| [calls(&["a"]), calls(&["a"]).finish(finish), text("never")];
    for finish in [Finish::MaxTokens, Finish::Suspended, Finish::Other] {
        let mut world = go(closing(1), model(cut(finish)).tool("a", Behaviour::ok("A", 1)));
        assert_eq!(rest(&mut world), "go | [a] | a ok | [a] | a not started(limit)");
        let end = &world.ends()[0];
        assert_eq!((end.reason.name(), end.truncated), ("step_limit", finish == Finish::MaxTokens));
    }
    // One that says nothing is over if it was cut, and asked for again if it was not (T11).
    let silent = |finish| [calls(&["a"]), streams([], finish), text("so far")];
    for (finish, right) in
        [(Finish::MaxTokens, ("go | [a] | a ok", 2)), (Finish::EndTurn, ("go | [a] | a ok | so far", 3))]
    {
        let mut world = go(closing(1), model(silent(finish)).tool("a", Behaviour::ok("A", 1)));
        assert_eq!((rest(&mut world).as_str(), requests(&world)), right);
        assert_eq!(ends(&world), "step_limit");
    }
    let mut world = go(closing(1), model(cut(Finish::Filtered)).tool("a", Behaviour::ok("A", 1)));
    rest(&mut world);
    assert_eq!(ends(&world), "filtered", "but a filter comes first (T13)");
    // Where nothing would follow there is nothing to close, and no step means none.
    let mut world = go(closing(1), model([text("done")]));
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), requests(&world)), ("completed", 1));
    let mut world = go(closing(0), always());
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), requests(&world)), ("step_limit", 0));
}

fn resets(by: BudgetReset) -> Config {
    turn(|turn| {
        turn.max_steps = Some(2);
        turn.budget_reset = by;
    })
}

#[test]
fn c_t12_nothing_resets_the_budget_if_that_is_wanted() {
    let mut world = go(resets(BudgetReset::Nothing), always());
    world.arrange(1, join("early"));
    world.arrange(6, join("late"));
    let turn = "[a] | a ok | ";
    let right = format!("go | {turn}early | {turn}late | {turn}[a] | a ok");
    assert_eq!(rest(&mut world), right, "a prompt that comes too late opens the next turn");
    assert_eq!(ends(&world), "step_limit, step_limit");
    // After a final answer too.
    let mut world = go(resets(BudgetReset::Nothing), model([calls(&["a"]), text("1"), text("2")]));
    world.arrange(4, join("late"));
    assert_eq!(rest(&mut world), "go | [a] | a error(unknowntool) | 1 | late | 2");
    assert_eq!(ends(&world), "completed, completed");
}

#[test]
fn c_t12_notifications_reset_the_budget_if_that_is_wanted() {
    for note in [notify("n"), inject("n")] {
        let mut world = go(resets(BudgetReset::Notifications), always());
        world.arrange(5, note);
        assert_eq!(rest(&mut world), "go | [a] | a ok | [a] | a ok | note n | [a] | a ok | [a] | a ok");
        assert_eq!((ends(&world).as_str(), world.ends()[0].steps), ("step_limit", 4));
    }
}

#[test]
fn c_t13_a_stop_may_come_before_a_steered_prompt() {
    let script = model([calls(&["s"]), text("2")]).tool("s", stops());
    let mut world = go(turn(|turn| turn.stop_first = true), script);
    world.arrange(4, join("x"));
    assert_eq!(rest(&mut world), "go | [s] | s ok | x | 2");
    assert_eq!(ends(&world), "completed, completed", "the prompt opens the next turn");
    let stopped_by = Some((call(1, 1, 0), "enough".into()));
    assert_eq!(world.ends()[0].reason, EndReason::Completed { stopped_by });
}

#[test]
fn c_u04_calls_do_not_run_once_the_tokens_are_spent() {
    let config = || turn(|turn| turn.max_tokens = Some(100));
    let script = |last: Response| {
        model([costs(calls(&["a"]), 60), costs(calls(&["a"]), 40), costs(last, 1), text("next")])
            .tool("a", Behaviour::ok("A", 1))
    };
    let mut world = go(config(), script(calls(&["a", "a"])));
    let so_far = "go | [a] | a ok | [a] | a ok | ";
    let right = format!("{so_far}[a a] | a not started(budget) | a not started(budget)");
    assert_eq!(rest(&mut world), right, "exactly the limit is not past it");
    assert_eq!((ends(&world).as_str(), world.ends()[0].usage.total()), ("budget_limit", 101));
    // A final answer is final; what waits has the next turn's tokens.
    let mut world = go(config(), script(text("done")));
    world.arrange(7, join("x"));
    assert_eq!(rest(&mut world), format!("{so_far}done | x | next"));
    assert_eq!(ends(&world), "completed, completed");
    // A response that was cut besides: nothing is asked for again.
    let mut world = go(config(), script(calls(&["a"]).finish(Finish::MaxTokens)));
    assert_eq!(rest(&mut world), format!("{so_far}[a] | a not started(budget)"));
    assert_eq!(ends(&world), "budget_limit");
}

#[test]
fn c_u04_the_stop_hook_is_not_asked_to_go_on_without_tokens() {
    let mut config = turn(|turn| turn.max_tokens = Some(100));
    config.ask.stop = true;
    let mut world = go(config, model([costs(text("done"), 101)]));
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), asked(&world, "Stop").len()), ("completed", 0));
}

fn offered(names: &[&str]) -> Arc<[ToolSpec]> {
    let spec =
        |name: &&str| ToolSpec { name: (*name).into(), description: "".into(), parameters: "{}".into() };
    names.iter().map(spec).collect()
}

fn choosing(tool_choice: ToolChoice) -> Config {
    with(|config| {
        config.request.tools = offered(&["a"]);
        config.request.settings = Arc::new(Settings { tool_choice, ..Settings::default() });
    })
}

fn choices(world: &World) -> Vec<ToolChoice> {
    world.host.requests.iter().map(|request| request.settings.tool_choice.clone()).collect()
}

fn tables(world: &World) -> Vec<usize> {
    world.host.requests.iter().map(|request| request.tools.len()).collect()
}

/// What forces nothing stays as it was said, also after calls (T22).
#[test]
fn c_t22_a_choice_that_forces_nothing_stays() {
    for choice in [ToolChoice::Auto, ToolChoice::None] {
        let script = model([calls(&["a"]), text("done")]).tool("a", Behaviour::ok("A", 1));
        let mut world = go(choosing(choice.clone()), script);
        rest(&mut world);
        assert_eq!(choices(&world), [choice.clone(), choice]);
    }
}

/// T22.
#[test]
fn s32_a_forced_tool_choice_lets_go() {
    for forced in [ToolChoice::Required, ToolChoice::Tool("a".into())] {
        let script =
            model([Response::failure(Failure::Overloaded), calls(&["a"]), calls(&["a"]), text("done")])
                .tool("a", Behaviour::ok("A", 1));
        let mut world = go(choosing(forced.clone()), script);
        assert_eq!(rest(&mut world), "go | [a] | a ok | [a] | a ok | done");
        let auto = ToolChoice::Auto;
        assert_eq!(
            choices(&world),
            [forced.clone(), forced.clone(), auto.clone(), auto],
            "an attempt is none"
        );
        let told: Vec<_> = world
            .events
            .iter()
            .filter_map(|stamped| match &stamped.event {
                Event::AttemptStarted { with, .. } => Some(with.as_ref().map(|head| head.why)),
                _ => None,
            })
            .collect();
        assert_eq!(told, [Some(HeadTold::First), None, Some(HeadTold::Changed), None], "T21");
    }
    // The next turn is forced again.
    let script = model([calls(&["a"]), text("1"), calls(&["a"]), text("2")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(choosing(ToolChoice::Required), script);
    world.arrange(0, submit("x"));
    rest(&mut world);
    let (required, auto) = (ToolChoice::Required, ToolChoice::Auto);
    assert_eq!(choices(&world), [required.clone(), auto.clone(), required, auto]);
}

#[test]
fn c_t22_a_choice_that_no_tool_can_meet_is_not_forced() {
    let refused = choosing(ToolChoice::Tool("b".into())).check().unwrap_err();
    assert_eq!(refused.field, "request.settings.tool_choice");
    choosing(ToolChoice::Tool("a".into())).check().unwrap();
    let mut config = choosing(ToolChoice::Tool("a".into()));
    config.ask.gate = true;
    let with = Proceed { tools: Some(offered(&["b"])), ..Proceed::default() };
    let script = model([text("done")]).hook("Gate", Reply::now(Answer::Gate(Gated::Proceed(Arc::new(with)))));
    let mut world = go(config, script);
    rest(&mut world);
    assert_eq!(choices(&world), [ToolChoice::Auto]);
}

#[test]
fn c_m11_visible_text_may_be_dropped() {
    for (salvage, right) in [(Salvage::Keep, "go | salvaged so | marker"), (Salvage::Drop, "go | marker")] {
        let script = model([text("so").silent()]);
        let mut world = go(turn(|turn| turn.salvage = salvage), script);
        world.arrange(5, abort());
        assert_eq!(rest(&mut world), right);
        let discarded = count(&world, |event| matches!(event, Event::AttemptDiscarded { .. }));
        assert_eq!(discarded, usize::from(salvage == Salvage::Drop), "M02");
    }
}

#[test]
fn c_t19_limits_that_mean_nothing_are_refused() {
    for (set, field) in [
        (turn(|turn| turn.repeat = Some(0)), "turn.repeat"),
        (turn(|turn| turn.repeat = Some(1)), "turn.repeat"),
        (turn(|turn| turn.max_tokens = Some(0)), "turn.max_tokens"),
    ] {
        assert_eq!(set.check().unwrap_err().field, field);
    }
    turn(|turn| turn.repeat = Some(2)).check().unwrap();
}
