//! Configurations: every policy and every limit that a host can choose is drawn.
use std::sync::Arc;

use machine_core::config::{
    AfterAbort, AfterFailure, AtStepLimit, BudgetReset, CallLimits, Config, Fatal, LateResults, OnCut,
    Salvage, ToolChoice, TurnLimits,
};

use super::fault::Fault;
use super::random::Random;
use super::world::World;

/// Any configuration: of each setting the default, or now and then another. `screens`: whether prompts are screened.
pub(super) fn drawn(world: &World, screens: bool) -> Config {
    let mut config = Config::default();
    let draw = Draw { random: &world.random, odds: world.random.of(&[5, 20, 20, 60]) };
    request(&draw, &mut config);
    turn(&draw, &mut config.turn);
    calls(&draw, &mut config.calls);
    if world.knows(Fault::ModelRepeats) && world.random.percent(60) {
        config.turn.repeat = Some(2);
    }
    let retry = &mut config.retry;
    draw.set(&mut retry.attempts, &[1, 2, 3]);
    draw.set(&mut retry.base_ms, &[0, 10]);
    draw.set(&mut retry.cap_ms, &[500]);
    draw.set(&mut retry.retry_after_cap_ms, &[0, 1_000]);
    retry.seed = world.random.below(1 << 20);
    let inbox = &mut config.inbox;
    draw.set(&mut inbox.prompts, &[2]);
    draw.set(&mut inbox.next_step, &[2]);
    draw.set(&mut inbox.remembered_ids, &[3, 0]);
    draw.set(&mut inbox.after_failure, &[AfterFailure::GoOn]);
    draw.set(&mut inbox.after_abort, &[AfterAbort::Hold, AfterAbort::GiveBack]);
    inbox.screen_notifications = screens && world.random.percent(draw.odds);
    bound(world, &config);
    config
}

/// Draws settings.
struct Draw<'a> {
    random: &'a Random,
    /// How often a setting differs from its default, in percent.
    odds: u64,
}

impl Draw<'_> {
    fn set<T: Copy>(&self, setting: &mut T, others: &[T]) {
        if self.random.percent(self.odds) {
            *setting = self.random.of(others);
        }
    }
}

fn request(draw: &Draw<'_>, config: &mut Config) {
    config.request.system = draw.random.of(&["", "You work."]).into();
    let mut choice = 0;
    draw.set(&mut choice, &[1, 2, 3]);
    Arc::make_mut(&mut config.request.settings).tool_choice = match choice {
        0 => ToolChoice::Auto,
        1 => ToolChoice::Required,
        2 => ToolChoice::Tool("work".into()),
        _ => ToolChoice::None,
    };
    // A hook without a bound hangs until the world heals.
    draw.set(&mut config.ask.timeout_ms, &[0, 1_000, 20_000]);
}

fn turn(draw: &Draw<'_>, turn: &mut TurnLimits) {
    draw.set(&mut turn.max_steps, &[Some(8), Some(3), Some(1), Some(0)]);
    draw.set(&mut turn.at_step_limit, &[AtStepLimit::ClosingStep]);
    draw.set(&mut turn.budget_reset, &[BudgetReset::Nothing, BudgetReset::Notifications]);
    draw.set(&mut turn.max_tokens, &[Some(1), Some(60)]);
    draw.set(&mut turn.truncated, &[1, 2]);
    draw.set(&mut turn.on_cut, &[OnCut::End]);
    draw.set(&mut turn.run_calls_of_other, &[true]);
    draw.set(&mut turn.stop_first, &[true]);
    draw.set(&mut turn.repeat, &[Some(2), Some(3)]);
    draw.set(&mut turn.empty, &[0, 1]);
    draw.set(&mut turn.stop_hook, &[0, 1]);
    draw.set(&mut turn.recoveries, &[0, 1]);
    draw.set(&mut turn.compactions, &[0, 1]);
    draw.set(&mut turn.stream_idle_ms, &[0, 10, 10_000]);
    draw.set(&mut turn.response_bytes, &[200]);
    draw.set(&mut turn.calls, &[2]);
    draw.set(&mut turn.argument_bytes, &[16]);
    draw.set(&mut turn.salvage, &[Salvage::Drop]);
    draw.set(&mut turn.hook_chars, &[30]);
}

fn calls(draw: &Draw<'_>, calls: &mut CallLimits) {
    draw.set(&mut calls.max_parallel, &[1, 2, 3]);
    draw.set(&mut calls.grace_ms, &[0, 1, 100]);
    draw.set(&mut calls.busy_after_ms, &[0, 100]);
    draw.set(&mut calls.output_chars, &[50, 1]);
    draw.set(&mut calls.progress_chars, &[3]);
    draw.set(&mut calls.fatal, &[Fatal::Stop]);
    draw.set(&mut calls.late_results, &[LateResults::Notify]);
    draw.set(&mut calls.paths.ignore_case, &[true]);
    if draw.random.percent(draw.odds) {
        calls.paths.root = "/c".into();
    }
}

/// Of a child: it must come to an end of its own.
pub(super) fn of_child(world: &World) -> Config {
    let mut config = Config::default();
    config.turn.max_steps = Some(world.random.of(&[1, 3]));
    config.turn.stream_idle_ms = 10_000;
    config.retry.attempts = 2;
    config.calls.max_parallel = world.random.of(&[1, 2]);
    config.calls.busy_after_ms = 100;
    bound(world, &config);
    config
}

/// Under which everything ends well.
pub(super) fn healthy(world: &World) -> Config {
    let config = Config::default();
    bound(world, &config);
    config
}

/// Writes down what the checks hold a run to, under any configuration that it ever had.
fn bound(world: &World, config: &Config) {
    let mut book = world.book();
    book.most_parallel = book.most_parallel.max(config.calls.max_parallel);
    book.longest_grace = book.longest_grace.max(config.calls.grace_ms);
    let tries = config.retry.attempts + config.turn.empty + 1;
    let of_step = tries * (config.turn.recoveries + config.turn.compactions + 1);
    book.requests_of_step = book.requests_of_step.max(of_step);
}
