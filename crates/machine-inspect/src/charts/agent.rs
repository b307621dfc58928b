//! The agent machine.
use machine_agent::{Agent, Ctx, Event, Signal, State, admit};
use machine_core::config::{AfterAbort, AfterFailure, Config, InboxLimits, Questions};
use machine_core::machine::{Kind, Machine};
use machine_testkit::agent::command;
use machine_testkit::chart::{Chart, Domain, NoChart, recover};

use super::{Drawable, LIMIT};

mod samples;

pub(super) const DRAWABLE: Drawable = Drawable {
    name: "agent",
    title: "The agent machine",
    about: "\
A session, from its opening to its close: what waits for a turn, one turn at a time, and the calls that outlive theirs. Below
`Idle` no turn runs: nothing waits that wakes (`Ready`), or only background calls are alive (`Waiting`), or what waits is
kept until somebody says so (`Held`). `Screening` waits for a hook's verdict on the prompt that would open a turn,
`Running` for the turn to end, `Maintaining` for the host, `Closing` for the turn and the background calls. `Closed` is
where an opening ends; the next one goes on from there (`Crash`).

Whether something starts after an event depends on what waits and on whether the agent is paused: that decides most
cells with several entries. Commands reach the machine only where `admit` lets them through.

All at once is too much to explore. There are eleven worlds, each with some of: two prompts, screening, also of
notifications, a notification or injection, the turn's own messages, a reminder, two calls that detach, maintenance,
pauses. In each at most two inputs wait, an id is forgotten as soon as its input is taken, everybody says the same, and a
session has two turns and one maintenance: an event that would begin one more is not offered.",
    chart: agent,
};

/// The chart of the agent machine, in several worlds.
#[rustfmt::skip] // one row per world
pub fn agent() -> Result<Chart, NoChart> {
    let world = World { screen: true, notes: false, holds: true, prompts: 0, calls: 0, without: &[] };
    let worlds = [
        World { prompts: 2, without: &["Notify", "Inject", "Own", "Remind"], ..world },
        World { prompts: 2, without: &["Notify", "Inject", "Own", "Remind", "Maintain"], screen: false, holds: false, ..world },
        World { prompts: 1, without: &["Notify", "Inject", "Own", "Maintain"], ..world },
        World { prompts: 1, without: &["Remind", "Maintain"], ..world },
        World { prompts: 1, calls: 1, without: &["Notify", "Inject", "Own", "Remind", "Maintain"], ..world },
        World { prompts: 1, calls: 1, without: &["Inject", "Own", "Remind", "Maintain", "Pause", "Consume"], ..world },
        World { prompts: 1, calls: 1, without: &["Inject", "Own", "Remind", "Maintain", "Pause", "Consume"], screen: false, ..world },
        World { calls: 1, without: &["Remind"], ..world },
        World { notes: true, without: &["Inject", "Own", "Remind", "Maintain"], ..world },
        World { calls: 1, without: &["Notify", "Inject", "Own", "Pause", "Consume"], ..world },
        World { calls: 2, without: &["Notify", "Inject", "Own", "Remind", "Maintain", "Pause"], ..world },
    ];
    recover(&worlds.map(Setting::of), LIMIT)
}

/// So many inputs may wait, and so many turns and maintenances may there be.
const WAITING: usize = 2;
const TURNS: u32 = 2;
const MAINTENANCES: u32 = 1;

/// What happens around an agent, of everything that could.
#[derive(Clone, Copy)]
struct World {
    /// Whether prompts are screened.
    screen: bool,
    /// Whether notifications are screened.
    notes: bool,
    /// Whether a failed or aborted turn holds what waits.
    holds: bool,
    /// How many prompts there are.
    prompts: usize,
    /// How many calls detach.
    calls: usize,
    /// Kinds of events that do not come.
    without: &'static [&'static str],
}

/// A world with its configuration.
struct Setting {
    world: World,
    config: Config,
}

impl Setting {
    /// Ids are forgotten as soon as their input is taken, so that they can come again.
    fn of(world: World) -> Self {
        let ask = Questions { screen: world.screen, ..Questions::default() };
        let (after_failure, after_abort) = match world.holds {
            true => (AfterFailure::Hold, AfterAbort::Hold),
            false => (AfterFailure::GoOn, AfterAbort::GoOn),
        };
        let screen_notifications = world.notes;
        let inbox = InboxLimits {
            remembered_ids: 0,
            after_failure,
            after_abort,
            screen_notifications,
            ..InboxLimits::default()
        };
        Self { world, config: Config { ask, inbox, ..Config::default() } }
    }

    /// Whether an event stays within the bounds of the exploration.
    fn is_bounded(&self, machine: &Machine<Agent>, event: &Event) -> bool {
        let mut after = machine.clone();
        after.step(event, &mut self.context(&mut Vec::new()));
        let waiting = |of: &Machine<Agent>| of.data().inbox.queue.len() + of.data().inbox.lane.len();
        let grows = waiting(&after) > waiting(machine);
        let Agent { turns, maintenance, .. } = after.data();
        !(grows && waiting(&after) > WAITING) && *turns <= TURNS && *maintenance <= MAINTENANCES
    }
}

impl Domain for Setting {
    type Data = Agent;
    type Event = Event;
    type Signal = Signal;

    const NAME: &'static str = "agent";

    fn starts(&self) -> Vec<(&'static str, Machine<Agent>)> {
        vec![("open", Machine::resume(Agent::new(1), State::Ready))]
    }

    fn events(&self, machine: &Machine<Agent>) -> Vec<Event> {
        let World { prompts, calls, without, .. } = self.world;
        let mut events = samples::events(machine, prompts, calls);
        events.retain(|event| !without.contains(&event.kind()) && self.is_bounded(machine, event));
        events
    }

    /// Refused commands do not get to the machine (E07).
    fn admits(&self, machine: &Machine<Agent>, event: &Event) -> bool {
        command(event).is_none_or(|command| admit(machine, &command, &self.config).is_ok())
    }

    fn context<'c>(&'c self, signals: &'c mut Vec<Signal>) -> Ctx<'c> {
        Ctx { signals, config: &self.config }
    }
}
