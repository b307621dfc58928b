//! A walk with a journal: after every input the records lead to the same engine and the same events, and may be cut.
use std::hash::{Hash, Hasher};

use machine_testkit::engine::{EngineWorld, Journaled};
use machine_testkit::explore::World;

/// A world whose inputs are journaled, and whose journal is looked at after every input (J01, J03, J05, J07).
#[derive(Clone)]
pub struct Writing {
    world: EngineWorld,
    journal: Journaled,
}

impl Writing {
    pub fn new(world: EngineWorld) -> Self {
        let journal = Journaled::of(world.engine()).expect("no maintenance yet");
        Self { world, journal }
    }
}

impl World for Writing {
    type Move = <EngineWorld as World>::Move;

    fn owed(&self) -> Vec<Self::Move> {
        self.world.owed()
    }

    fn volunteered(&self) -> Vec<Self::Move> {
        self.world.volunteered()
    }

    fn apply(&mut self, happens: &Self::Move) -> Result<(), String> {
        let mut engine = self.world.engine().clone();
        happens.inputs.iter().try_for_each(|input| self.journal.write(&mut engine, 0, input))?;
        self.world.apply(happens)?;
        self.journal.whole(self.world.engine())?;
        (1..=5).try_for_each(|back| self.journal.without_last(back))
    }

    fn at_rest(&self) -> Result<(), String> {
        self.world.at_rest()
    }
}

/// Worlds are told apart by what may still happen in them.
impl Hash for Writing {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.world.hash(state);
    }
}
