//! Rounds in which everything that is compared runs once, so that a machine that becomes slow is slow for all of it.
//! What is reported of ratios is the median over the rounds.
use std::time::Duration;

use crate::Done;

/// The seconds of each thing in each round.
#[derive(Debug)]
pub struct Rounds(Vec<Vec<f64>>);

impl Rounds {
    /// `run` carries out the thing of this number once and says how long that took. Each round begins with another one.
    pub fn of(rounds: usize, things: usize, mut run: impl FnMut(usize) -> Done<Duration>) -> Done<Self> {
        let mut seconds = vec![Vec::with_capacity(rounds); things];
        for round in 0..rounds {
            for turn in 0..things {
                let thing = (round + turn) % things;
                seconds[thing].push(run(thing)?.as_secs_f64());
            }
        }
        Ok(Self(seconds))
    }

    /// What a thing took.
    pub fn seconds(&self, thing: usize) -> f64 {
        median(self.0[thing].clone())
    }

    /// How many times as long a thing took as another in the same round.
    pub fn ratio(&self, thing: usize, to: usize) -> f64 {
        let pairs = self.0[thing].iter().zip(&self.0[to]);
        median(pairs.map(|(thing, to)| thing / to).collect())
    }

    /// How many seconds longer a thing took than another in the same round.
    pub fn longer(&self, thing: usize, than: usize) -> f64 {
        let pairs = self.0[thing].iter().zip(&self.0[than]);
        median(pairs.map(|(thing, than)| thing - than).collect())
    }
}

/// The one in the middle; 0 of nothing.
pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(0.0)
}
