//! A batch through the engine: who starts, what is told in which order, what is left (B01 to B10).
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
mod common;

use std::sync::Arc;

use allocation_counter::measure;
use common::{Host, saved_batch};
use machine_adapter::Engine;
use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::{Answer, Approval, Approved, By, Cause, Executed, Plan, Prepared, Question};
use machine_core::config::{CallLimits, Config, TurnLimits};
use machine_core::event::Event;
use machine_core::ids::CallId;
use machine_core::input::{Abort, Command, Input};
use machine_core::message::Message;
use machine_core::outcome::{Outcome, SkipCode, ToolResult};

fn write(path: &str) -> Plan {
    Plan { access: Touch::path(Mode::Write, path).into(), ..Plan::default() }
}

fn approved(path: &str) -> Plan {
    Plan { approval: true, ..write(path) }
}

/// A turn whose first response has this many calls.
fn batch_of(n: u32, config: Config) -> Host {
    let mut host = Host::new(config);
    host.submit();
    let ids: Vec<_> = (0..n).map(|i| format!("c{i}")).collect();
    let calls: Vec<_> = ids.iter().map(|id| (&**id, "t", "{}")).collect();
    host.respond(&calls);
    host
}

fn grant(host: &mut Host, call: CallId) {
    let ask = host.find(|question| matches!(question, Question::Approve { call: c, .. } if *c == call));
    let Question::Approve { digest, .. } = host.open[&ask].question else { panic!("just found") };
    host.answer(ask, Answer::Approve(Arc::new(Approved { digest, approval: Approval::Granted, rule: None })));
}

fn is_new(host: &Host) -> bool {
    host.batch() == saved_batch(&Engine::new(1, Arc::new(Config::default())).unwrap())
}

#[test]
fn c_b04_announcements_then_preparations_in_call_order() {
    let host = batch_of(4, Config::default());
    let told = host.events.iter().skip_while(
        |event| !matches!(event, Event::Committed { entry, .. } if entry.message.calls().count() == 4),
    );
    let announced: Vec<_> = told
        .skip(1)
        .map(|event| match event {
            Event::CallAnnounced { call, .. } => call.index,
            other => panic!("B04: {other:?} between"),
        })
        .collect();
    assert_eq!(announced, [0, 1, 2, 3]);
    let prepared: Vec<_> = host.prepared.iter().map(|call| call.index).collect();
    assert_eq!(prepared, [0, 1, 2, 3]);
    assert_eq!(host.executed, []);
}

#[test]
fn c_b04_every_earlier_call_is_prepared_first() {
    let mut host = batch_of(3, Config::default());
    let [a, b, c] = [0, 1, 2].map(|i| host.call(i));
    host.prepare(c, write("/c"));
    host.prepare(b, write("/b"));
    assert_eq!(host.executed, []);
    host.prepare(a, write("/a"));
    assert_eq!(host.executed, [a, b, c]);
}

#[test]
fn c_b08_results_in_call_order_outcomes_as_they_come() {
    let mut host = batch_of(3, Config::default());
    let calls = [0, 1, 2].map(|i| host.call(i));
    calls.iter().for_each(|call| host.prepare(*call, write(&format!("/{call}"))));
    let before = host.engine.history().len();
    let mut lengths = vec![];
    for i in [2, 0, 1] {
        host.done(calls[i]);
        lengths.push(host.engine.history().len() - before);
    }
    assert_eq!(lengths, [0, 1, 3]);
    let settled = host.events.iter().filter_map(|event| match event {
        Event::CallSettled { call, .. } => Some(call.index),
        _ => None,
    });
    assert_eq!(settled.collect::<Vec<_>>(), [2, 0, 1]);
    let results = host.engine.history().iter().filter_map(|entry| match &entry.message {
        Message::Tool(tool) => Some(tool.call.index),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [0, 1, 2]);
    assert!(is_new(&host), "nothing is left: {}", host.batch());
}

#[test]
fn c_b09_no_request_before_the_last_result() {
    let mut host = batch_of(2, Config::default());
    let [a, b] = [0, 1].map(|i| host.call(i));
    host.prepare(a, write("/a"));
    host.prepare(b, approved("/b"));
    host.done(a);
    let attempts =
        |host: &Host| host.events.iter().filter(|e| matches!(e, Event::AttemptStarted { .. })).count();
    assert_eq!(attempts(&host), 1, "b waits for a person");
    grant(&mut host, b);
    assert_eq!(attempts(&host), 1);
    host.done(b);
    assert_eq!(attempts(&host), 2);
    host.say("done");
    assert!(host.engine.is_idle() && host.open.is_empty(), "nothing is left: {:?}", host.open);
}

#[test]
fn c_b04_at_most_so_many_run() {
    let config =
        Config { calls: CallLimits { max_parallel: 2, ..CallLimits::default() }, ..Config::default() };
    let mut host = batch_of(5, config);
    let calls = [0, 1, 2, 3, 4].map(|i| host.call(i));
    calls.iter().for_each(|call| host.prepare(*call, write(&format!("/{call}"))));
    for (i, call) in calls.iter().enumerate() {
        assert_eq!(host.executed.len(), (i + 2).min(5));
        host.done(*call);
    }
}

#[test]
fn c_c04_approvals_come_together_and_hold_back_what_conflicts() {
    let mut host = batch_of(3, Config::default());
    let [a, b, c] = [0, 1, 2].map(|i| host.call(i));
    host.prepare(a, approved("/x"));
    host.prepare(b, approved("/y"));
    host.prepare(c, write("/x"));
    assert_eq!(host.executed, []);
    grant(&mut host, b);
    assert_eq!(host.executed, [b]);
    grant(&mut host, a);
    host.done(a);
    assert_eq!(host.executed, [b, a, c]);
}

#[test]
fn c_x03_an_abort_leaves_nothing_of_a_batch() {
    let mut host = batch_of(3, Config::default());
    let [a, b, _] = [0, 1, 2].map(|i| host.call(i));
    host.prepare(a, write("/x"));
    host.prepare(b, write("/x"));
    host.command(Command::Abort(Arc::new(Abort { cause: Cause::by(By::User), target: None })));
    host.answer(host.execution(a), Answer::Execute(Executed::Nothing));
    let outcomes = host.engine.history().iter().filter_map(|entry| match &entry.message {
        Message::Tool(tool) => Some(tool.outcome.clone()),
        _ => None,
    });
    let skipped = Outcome::skipped(SkipCode::Abort);
    let want = [Outcome::Cancelled { may_have_run: true }, skipped.clone(), skipped];
    assert_eq!(outcomes.collect::<Vec<_>>(), want);
    assert!(is_new(&host), "nothing is left: {}", host.batch());
}

#[test]
fn c_b06_a_call_that_waits_for_another_is_declared_again() {
    let mut host = batch_of(2, Config::default());
    let [a, b] = [0, 1].map(|i| host.call(i));
    host.prepare(a, approved("/x"));
    host.prepare(b, write("/x"));
    assert_eq!(host.executed, []);
    host.command(Command::Declare(a, Access::None));
    assert_eq!(host.executed, [b]);
}

#[test]
fn c_b06_declared_again_and_then_approved() {
    let mut host = batch_of(1, Config::default());
    let call = host.call(0);
    host.prepare(call, approved("/x"));
    host.command(Command::Declare(call, Access::None));
    grant(&mut host, call);
    assert_eq!(host.executed, [call], "nobody owes the engine an answer: it hangs");
}

#[test]
fn c_b04_a_refused_call_leaves_nothing() {
    let mut host = batch_of(2, Config::default());
    let [a, b] = [0, 1].map(|i| host.call(i));
    host.prepare_as(b, Prepared::UnknownTool("no `t`".into()));
    host.prepare(a, write("/x"));
    host.done(a);
    host.say("done");
    let late = host.engine.admit(&Command::Declare(b, Access::All).into()).is_err();
    assert!(late, "an answered call is declared again");
    assert!(is_new(&host), "nothing is left: {}", host.batch());
}

/// What a whole batch costs, from its response to its last result, in allocations.
fn cost(n: u32, plan: impl Fn(u32) -> Plan) -> u64 {
    let turn = TurnLimits { calls: n, ..TurnLimits::default() };
    let config = Config { turn, ..Config::default() };
    let mut host = Host::new(config);
    host.submit();
    let ids: Vec<_> = (0..n).map(|i| format!("c{i}")).collect();
    for (id, index) in ids.iter().zip(0..) {
        host.model(machine_core::response::ModelEvent::CallStart {
            index,
            id: (**id).into(),
            tool: "t".into(),
        });
    }
    let calls: Vec<_> = (0..n).map(|i| host.call(i)).collect();
    // By hand: the helpers look for their ask, and check all of history each time.
    let info = measure(|| {
        let ask = host.find(|question| matches!(question, Question::Attempt { .. }));
        let finished = machine_core::response::Finished::new(machine_core::response::Finish::ToolUse);
        host.feed(&Input::Answer { ask, answer: Answer::Finished(Arc::new(finished)) });
        let by_call = |host: &Host| -> std::collections::BTreeMap<_, _> {
            let asks = host.open.iter().filter_map(|(id, ask)| match ask.question {
                Question::Prepare { call, .. } => Some((call, *id)),
                _ => None,
            });
            asks.collect()
        };
        let asks = by_call(&host);
        for (call, i) in calls.iter().zip(0..) {
            let answer = Answer::Prepare(Prepared::Ready(Arc::new(plan(i))));
            host.feed(&Input::Answer { ask: asks[call], answer });
        }
        host.open.retain(|_, ask| matches!(ask.question, Question::Execute { .. }));
        for _ in 0..n {
            let (ask, _) = host.open.pop_first().unwrap_or_else(|| panic!("B04: nothing runs"));
            host.feed(&Input::Answer {
                ask,
                answer: Answer::Execute(Executed::Done(Arc::new(ToolResult::text("x")))),
            });
        }
    });
    assert_eq!(host.executed.len(), n as usize);
    assert_eq!(host.engine.history().ready(), Ok(()));
    info.count_total
}

#[test]
fn c_b10_a_batch_through_the_engine_is_near_linear() {
    let near_linear = |what: &str, plan: fn(u32) -> Plan| {
        let (once, ten_times) = (cost(1_000, plan), cost(10_000, plan));
        assert!(ten_times <= 16 * once, "B10: {what}: {once}, then {ten_times} allocations");
    };
    near_linear("distinct", |i| write(&format!("/d/{i}")));
    near_linear("one path", |_| write("/d/f"));
    near_linear("exclusive", |_| Plan::default());
}
