//! Settings of a long run: the configuration, every policy and limit of it drawn, and what the host does.
use std::sync::Arc;

use machine_core::access::PathRules;
use machine_core::config::{
    AfterAbort, AfterFailure, AtStepLimit, BudgetReset, CallLimits, Config, Fatal, InboxLimits, LateResults,
    OnCut, Questions, RequestDefaults, Retry, Salvage, Settings as Model, ToolChoice, ToolSpec, TurnLimits,
};

use crate::draw::Draw;

/// What a long run is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// What the session begins with.
    pub config: Config,
    /// Responses with calls, in the whole run; the model then says its last word.
    pub responses: u32,
    /// Calls of one response at most.
    pub calls: u32,
    /// Calls in the whole run.
    pub all_calls: u32,
    /// Attempts that fail or bring nothing, in the whole run.
    pub failures: u32,
    /// Of so many things that happen, one is nobody's answer.
    pub one_in: usize,
    /// What is answered first.
    pub first: First,
    /// What the host and its tools do now and then.
    pub habits: Habits,
}

/// What is answered first, as a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum First {
    /// Anything.
    #[default]
    Any,
    /// What waits longest: all calls of a batch run before one ends.
    Oldest,
    /// What was asked last: a call ends before the next one runs, and old work is there for long.
    Newest,
}

/// What happens now and then, or never.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Habits {
    /// Calls ask for approval.
    pub approvals: bool,
    /// Calls detach.
    pub detach: bool,
    /// Hooks refuse, fail and rewrite.
    pub refusals: bool,
    /// Histories are edited.
    pub edits: bool,
    /// Processes die.
    pub crashes: bool,
    /// Calls have a timeout, which may be up.
    pub timeouts: bool,
    /// Calls touch the same paths.
    pub conflicts: bool,
    /// Plans and results with choices of their own: `stop_batch`, `cut_by_steer`, `fatal`, `stop_turn`, …
    pub choices: bool,
    /// Responses are malformed: names, arguments, ids.
    pub malformed: bool,
    /// The configuration changes under way.
    pub configures: bool,
}

impl Settings {
    /// Settings of any kind; the first choice of each is the default.
    pub fn drawn(draw: &mut impl Draw) -> Self {
        let mut flag = || draw.flag();
        let habits = Habits {
            approvals: flag(),
            detach: flag(),
            refusals: flag(),
            edits: flag(),
            crashes: flag(),
            timeouts: flag(),
            conflicts: flag(),
            choices: flag(),
            malformed: flag(),
            configures: flag(),
        };
        Self {
            config: config(draw),
            responses: draw.one_of(&[3, 1, 10, 60]),
            calls: draw.one_of(&[2, 1, 5, 14, 70]),
            all_calls: draw.one_of(&[40, 10, 150, 300]),
            one_in: draw.one_of(&[4, 16, 100]),
            first: draw.one_of(&[First::Any, First::Oldest, First::Newest]),
            failures: draw.one_of(&[1, 0, 4, 12]),
            habits,
        }
    }
}

/// A configuration that is sound.
pub(super) fn config(draw: &mut impl Draw) -> Config {
    let ask = questions(draw);
    Config {
        request: request(draw),
        ask,
        turn: turn(draw),
        retry: retry(draw),
        calls: calls(draw),
        inbox: inbox(draw, ask.screen),
    }
}

/// The tools on offer.
pub(super) const TOOLS: [&str; 3] = ["read", "write", "wait"];

fn request(draw: &mut impl Draw) -> RequestDefaults {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "".into(),
        parameters: r#"{"type":"object"}"#.into(),
    };
    let tool_choice = draw.one_of(&[ToolChoice::Auto, ToolChoice::Required, ToolChoice::Tool("read".into())]);
    RequestDefaults {
        system: "".into(),
        tools: TOOLS.map(tool).into(),
        settings: Arc::new(Model { tool_choice, ..Model::default() }),
    }
}

fn questions(draw: &mut impl Draw) -> Questions {
    Questions {
        screen: draw.flag(),
        gate: draw.flag(),
        recover: draw.flag(),
        finalize: draw.flag(),
        stop: draw.flag(),
        timeout_ms: 0,
    }
}

fn turn(draw: &mut impl Draw) -> TurnLimits {
    TurnLimits {
        max_steps: limit(draw, &[None, Some(0), Some(1), Some(2), Some(5), Some(17)]),
        at_step_limit: draw.one_of(&[AtStepLimit::End, AtStepLimit::ClosingStep]),
        budget_reset: draw.one_of(&[BudgetReset::Steered, BudgetReset::Nothing, BudgetReset::Notifications]),
        max_tokens: limit(draw, &[None, Some(1), Some(200), Some(2_000)]),
        truncated: limit(draw, &[3, 1, 2]),
        on_cut: draw.one_of(&[OnCut::AskAgain, OnCut::End]),
        run_calls_of_other: draw.flag(),
        stop_first: draw.flag(),
        repeat: limit(draw, &[None, Some(2), Some(3)]),
        empty: limit(draw, &[2, 0, 1]),
        stop_hook: limit(draw, &[3, 0, 1]),
        recoveries: limit(draw, &[8, 0, 1, 2]),
        compactions: limit(draw, &[2, 0, 1]),
        stream_idle_ms: draw.one_of(&[120_000, 0]),
        response_bytes: limit(draw, &[16 << 20, 200, 2_000]),
        calls: limit(draw, &[1_024, 1, 11, 64]),
        argument_bytes: limit(draw, &[1 << 20, 16]),
        salvage: draw.one_of(&[Salvage::Keep, Salvage::Drop]),
        hook_chars: limit(draw, &[100_000, 0, 10, 60]),
    }
}

fn retry(draw: &mut impl Draw) -> Retry {
    Retry {
        attempts: limit(draw, &[10, 1, 2, 3]),
        base_ms: limit(draw, &[500, 0, 1]),
        cap_ms: 32_000,
        retry_after_cap_ms: limit(draw, &[300_000, 0]),
        seed: draw.one_of(&[0, 7]),
    }
}

fn calls(draw: &mut impl Draw) -> CallLimits {
    CallLimits {
        max_parallel: draw.one_of(&[10, 1, 2, 3, 16, 33]),
        grace_ms: limit(draw, &[2_500, 0]),
        busy_after_ms: limit(draw, &[30_000, 0]),
        output_chars: limit(draw, &[50_000, 1, 30]),
        progress_chars: limit(draw, &[2_000, 1]),
        fatal: draw.one_of(&[Fatal::Ignore, Fatal::Stop]),
        late_results: draw.one_of(&[LateResults::Drop, LateResults::Notify]),
        paths: PathRules { root: "/".into(), ignore_case: draw.flag() },
    }
}

fn inbox(draw: &mut impl Draw, screen: bool) -> InboxLimits {
    InboxLimits {
        prompts: limit(draw, &[1_000, 1, 2]),
        next_step: limit(draw, &[1_000, 1, 3]),
        remembered_ids: limit(draw, &[4_096, 0, 1, 4]),
        after_failure: draw.one_of(&[AfterFailure::Hold, AfterFailure::GoOn]),
        after_abort: draw.one_of(&[AfterAbort::GoOn, AfterAbort::Hold, AfterAbort::GiveBack]),
        screen_notifications: screen && draw.flag(),
    }
}

/// The default three times of four, so that a run is seldom at all its limits at once.
fn limit<T: Clone>(draw: &mut impl Draw, choices: &[T]) -> T {
    let any = draw.below(4) == 3;
    if any { draw.one_of(choices) } else { choices[0].clone() }
}
