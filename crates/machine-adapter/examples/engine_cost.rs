//! What the hot paths cost, in nanoseconds, and how that grows. Numbers are for reading, not for asserting:
//! `cargo run --release -p machine-adapter --example engine_cost`.
use std::sync::Arc;
use std::time::Instant;

use machine_adapter::{Engine, Order, Out};
use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::{Answer, Executed, Piece, Plan, Prepared, Question};
use machine_core::config::{CallLimits, Config, TurnLimits};
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Submit};
use machine_core::outcome::ToolResult;
use machine_core::response::{Finish, Finished, ModelEvent};

struct Bench {
    engine: Engine,
    out: Out,
    now: u64,
}

impl Bench {
    fn new() -> Self {
        let turn = TurnLimits { calls: 100_000, response_bytes: 1 << 30, ..TurnLimits::default() };
        let calls = CallLimits { max_parallel: 10, ..CallLimits::default() };
        let config = Config { turn, calls, ..Config::default() };
        Self {
            engine: Engine::new(1, Arc::new(config)).expect("a sound configuration"),
            out: Out::default(),
            now: 0,
        }
    }

    fn feed(&mut self, input: &Input) {
        self.now += 1;
        self.out.clear();
        self.engine.feed(self.now, input, &mut self.out).expect("an input that fits");
    }

    fn attempt(&self) -> AskId {
        self.out
            .acts
            .iter()
            .find(|act| !matches!(act.question, Question::Execute { .. }))
            .expect("a request")
            .id
    }

    fn submit(&mut self, n: u32) -> AskId {
        self.feed(
            &Command::Submit(Submit::text(format!("p{n}"), "a prompt of usual length, more or less")).into(),
        );
        self.attempt()
    }

    fn finish(&mut self, ask: AskId) {
        self.feed(&Input::Answer { ask, answer: Answer::Finished(Arc::new(Finished::new(Finish::EndTurn))) });
    }

    /// A turn with one batch of `calls`, each touching what `access` says.
    fn batch(&mut self, n: u32, calls: u32, access: impl Fn(u32) -> Access) {
        let ask = self.submit(n);
        for index in 0..calls {
            let event =
                ModelEvent::CallStart { index, id: format!("c{n}_{index}").into(), tool: "tool".into() };
            self.feed(&Input::Piece { ask, piece: Piece::Model(event) });
        }
        self.finish(ask);
        let prepare: Vec<(AskId, u32)> = self
            .out
            .now
            .iter()
            .filter_map(|order| match order {
                Order::Ask(ask) => match &ask.question {
                    Question::Prepare { call, .. } => Some((ask.id, call.index)),
                    _ => None,
                },
                Order::Withdraw(_) => None,
            })
            .collect();
        let mut running = Vec::new();
        for (ask, index) in prepare {
            let plan = Plan { access: access(index), ..Plan::default() };
            self.feed(&Input::Answer { ask, answer: Answer::Prepare(Prepared::Ready(Arc::new(plan))) });
            running.extend(self.out.acts.iter().map(|act| act.id));
        }
        let done = Arc::new(ToolResult::text("ok"));
        while let Some(ask) = running.pop() {
            self.feed(&Input::Answer { ask, answer: Answer::Execute(Executed::Done(done.clone())) });
            if self.engine.calls().next().is_none() {
                break;
            }
            running.extend(self.out.acts.iter().map(|act| act.id));
        }
        let ask = self.attempt();
        self.feed(&Input::Piece { ask, piece: Piece::Model(ModelEvent::Text("done".into())) });
        self.finish(ask);
    }
}

fn main() {
    deltas();
    strays();
    turns();
    for (name, access) in [
        ("distinct paths", (|i| Touch::path(Mode::Write, format!("/a/b/c/{i}")).into()) as fn(u32) -> Access),
        ("one path", |_| Touch::path(Mode::Write, "/a/b/c").into()),
        ("all exclusive", |_| Access::All),
    ] {
        let per_call = |calls: u32| {
            let mut bench = Bench::new();
            let begin = Instant::now();
            bench.batch(0, calls, access);
            begin.elapsed().as_nanos() as f64 / f64::from(calls)
        };
        let (small, large) = (per_call(1_000), per_call(10_000));
        println!(
            "a call in a batch, {name}: {small:.0} ns of 1,000, {large:.0} ns of 10,000 ({:.1} times in all)",
            10.0 * large / small
        );
    }
}

fn deltas() {
    let mut bench = Bench::new();
    let ask = bench.submit(0);
    let input = Input::Piece { ask, piece: Piece::Model(ModelEvent::Text("four".into())) };
    bench.feed(&input);
    let count = 1_000_000;
    let begin = Instant::now();
    for _ in 0..count {
        bench.feed(&input);
    }
    println!("a text delta: {:.0} ns", begin.elapsed().as_nanos() as f64 / f64::from(count));
}

fn strays() {
    let mut bench = Bench::new();
    bench.submit(0);
    let input = Input::Answer { ask: AskId { branch: 1, serial: 9_999 }, answer: Answer::Fired };
    let count = 1_000_000;
    let begin = Instant::now();
    for _ in 0..count {
        bench.feed(&input);
    }
    println!("a stray answer: {:.0} ns", begin.elapsed().as_nanos() as f64 / f64::from(count));
}

fn turns() {
    let mut bench = Bench::new();
    let mut n = 0;
    let mut per_turn = |bench: &mut Bench, count: u32| {
        let begin = Instant::now();
        for _ in 0..count {
            n += 1;
            bench.batch(n, 2, |i| Touch::path(Mode::Write, format!("/{i}")).into());
        }
        begin.elapsed().as_nanos() as f64 / f64::from(count)
    };
    let short = per_turn(&mut bench, 1_000);
    per_turn(&mut bench, 50_000);
    let long = per_turn(&mut bench, 1_000);
    println!(
        "a turn with two calls: {short:.0} ns with a short history, {long:.0} ns with {} entries",
        bench.engine.history().len()
    );
}
