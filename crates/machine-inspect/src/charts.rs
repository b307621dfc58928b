//! The machines that can be drawn. Each has a file that says which events it is offered.
use machine_testkit::chart::{Chart, NoChart};

mod agent;
mod call;
mod turn;

pub use agent::agent;
pub use call::call;
pub use turn::turn;

/// More configurations than any world has; beyond it its samples are too many.
const LIMIT: usize = 60_000;

/// A machine that can be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawable {
    /// Its name, as in `docs/charts/<name>.md`.
    pub name: &'static str,
    /// The title of its page.
    pub title: &'static str,
    /// What a reader should know before the chart.
    pub about: &'static str,
    /// Explores it.
    pub chart: fn() -> Result<Chart, NoChart>,
}

/// All of them.
pub const ALL: &[Drawable] = &[agent::DRAWABLE, turn::DRAWABLE, call::DRAWABLE];

/// The one of this name.
pub fn named(name: &str) -> Option<&'static Drawable> {
    ALL.iter().find(|drawable| drawable.name == name)
}
