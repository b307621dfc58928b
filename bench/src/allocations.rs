//! `allocations`: what is allocated for a turn, a call, and what should allocate nothing. Counted, so it is the same on every
//! machine. What an engine allocates is told apart from what its driver does: names, arguments, results.
use allocation_counter::{AllocationInfo, measure};
use machine_adapter::{Engine, Out};
use machine_core::ask::{Answer, Piece, Question, Timer};
use machine_core::ids::AskId;
use machine_core::input::Input;
use machine_core::response::ModelEvent;

use crate::Done;
use crate::loops::minimal::Minimal;
use crate::loops::ours::{Answered, Ours, Touches};
use crate::loops::{Loop, Shape, grow};
use crate::table::{Table, short, thousands};

/// Calls of the turn with calls.
const CALLS: u32 = 64;
const BATCH: Shape = Shape { steps: 1, calls: CALLS };
const TURNS: u32 = 20;
const PIECES: u32 = 10_000;

/// Counts and prints.
pub fn run() -> Done<()> {
    turns()?;
    small()
}

/// Allocations and their bytes.
#[derive(Clone, Copy, Debug)]
struct Spent {
    count: f64,
    bytes: f64,
}

impl Spent {
    fn of(spent: AllocationInfo, each: u32) -> Self {
        let share = |of: u64| of as f64 / f64::from(each);
        Self { count: share(spent.count_total), bytes: share(spent.bytes_total) }
    }

    /// What a call has of a turn with calls, when this is a turn of text.
    fn call_of(self, batch: Self) -> Self {
        let share = |of: f64, text: f64| (of - text) / f64::from(CALLS);
        Self { count: share(batch.count, self.count), bytes: share(batch.bytes, self.bytes) }
    }

    fn cells(self) -> [String; 2] {
        [short(self.count), thousands(self.bytes)]
    }
}

fn turns() -> Done<()> {
    let makers: [fn(Shape) -> Done<Spent>; 3] = [engine, driven, minimal];
    let columns = ["", "engine", "bytes", "engine and driver", "bytes", "minimal loop and driver", "bytes"];
    let mut table = Table::of(&columns);
    let (mut text, mut call) = (Vec::new(), Vec::new());
    for spent in makers {
        let (of_text, of_batch) = (spent(Shape::TEXT)?, spent(BATCH)?);
        text.extend(of_text.cells());
        call.extend(of_text.call_of(of_batch).cells());
    }
    for (name, cells) in [("a turn of text", text), ("a call, in a turn of 64", call)] {
        table.row(std::iter::once(name.to_owned()).chain(cells));
    }
    table.print("Allocations, after 100 entries");
    Ok(())
}

fn minimal(shape: Shape) -> Done<Spent> {
    played(&mut Minimal::default(), shape)
}

fn driven(shape: Shape) -> Done<Spent> {
    played(&mut Ours::new(Touches::Distinct, Answered::InOrder)?, shape)
}

/// A turn, by whoever plays it.
fn played(of: &mut dyn Loop, shape: Shape) -> Done<Spent> {
    grow(of, 100)?;
    of.turn(shape)?;
    let mut done = Ok(());
    let spent = measure(|| done = (0..TURNS).try_for_each(|_| of.turn(shape)));
    done.map(|()| Spent::of(spent, TURNS))
}

/// The engine alone: it is fed once more with what it was fed with before.
fn engine(shape: Shape) -> Done<Spent> {
    let mut ours = Ours::new(Touches::Distinct, Answered::InOrder)?;
    grow(&mut ours, 100)?;
    let mut engine = ours.engine.clone();
    ours.fed = Some(Vec::new());
    ours.turn(shape)?;
    let first = ours.fed.as_ref().map_or(0, Vec::len);
    (0..TURNS).try_for_each(|_| ours.turn(shape))?;
    let inputs = ours.fed.take().unwrap_or_default();
    // What the two engines shared is only the other one's now.
    drop(ours);
    let mut out = Out::default();
    feed(&mut engine, &inputs[..first], &mut out)?;
    let mut done = Ok(());
    let spent = measure(|| done = feed(&mut engine, &inputs[first..], &mut out));
    done.map(|()| Spent::of(spent, TURNS))
}

fn feed(engine: &mut Engine, inputs: &[(u64, Input)], out: &mut Out) -> Done<()> {
    inputs.iter().try_for_each(|(at, input)| {
        out.clear();
        Ok(engine.feed(*at, input, out)?)
    })
}

/// What should allocate nothing, or nothing but for what it has to keep.
fn small() -> Done<()> {
    let mut ours = Ours::new(Touches::Distinct, Answered::InOrder)?;
    ours.turn(Shape { steps: 1, calls: 1 })?;
    ours.prompt()?;
    let engine = ours.engine;
    let asked = |wanted: fn(&Question) -> bool| {
        let asks = || engine.outstanding().map(|open| &open.ask);
        asks().find(|ask| wanted(&ask.question)).map(|ask| ask.id).ok_or("it is not asked")
    };
    let request = asked(|question| matches!(question, Question::Attempt { .. }))?;
    let silence = asked(|question| matches!(question, Question::Timer { timer: Timer::StreamIdle(_), .. }))?;
    let past = AskId { serial: 1, ..request };
    let text = Input::Piece { ask: request, piece: Piece::Model(ModelEvent::Text("a word ".into())) };
    let fired = |ask| Input::Answer { ask, answer: Answer::Fired };
    let mut table = Table::of(&["each of 10,000", "allocations in all", "bytes in all", "allocations each"]);
    for (name, input) in [
        ("a piece of text", text),
        ("an answer to an ask that is over", Input::Answer { ask: past, answer: Answer::Maintained }),
        ("an answer of another kind", Input::Answer { ask: request, answer: Answer::Maintained }),
        ("a timer whose ask is over", fired(past)),
        ("a timer of a stream that is not silent, which is set again", fired(silence)),
    ] {
        let spent = repeated(engine.clone(), input)?;
        let each = spent.count_total as f64 / f64::from(PIECES);
        let [count, bytes] = [spent.count_total, spent.bytes_total].map(|number| thousands(number as f64));
        table.row([name.into(), count, bytes, short(each)]);
    }
    table.print("What an engine allocates for");
    Ok(())
}

/// The same input again and again.
fn repeated(mut engine: Engine, mut input: Input) -> Done<AllocationInfo> {
    let (mut out, mut done) = (Out::default(), Ok(()));
    let at = 1_764_500_000_100;
    let mut feed = || {
        out.clear();
        engine.feed(at, &input, &mut out)?;
        // A timer that was set again has another id.
        if let (Input::Answer { ask, answer: Answer::Fired }, Some(machine_adapter::Order::Ask(again))) =
            (&mut input, out.now.first())
        {
            *ask = again.id;
        }
        Done::Ok(())
    };
    feed()?;
    let spent = measure(|| done = (0..PIECES).try_for_each(|_| feed()));
    done.map(|()| spent)
}
