//! When things happened: a trace has an order and no times, a scenario has ticks. What must hold between the times are
//! differences, so the earliest times are longest ways through a graph.

/// What must hold between the times of two moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AtLeast {
    /// The earlier move, mostly.
    pub(crate) from: usize,
    /// The later one.
    pub(crate) to: usize,
    /// `to` comes at least so many milliseconds after `from`; negative: at most so many before.
    pub(crate) ms: i64,
}

/// The earliest times of so many moves, from 0; none: no times hold to all that is wanted.
pub(crate) fn earliest(moves: usize, wanted: &[AtLeast]) -> Option<Vec<u64>> {
    let mut times = vec![0_i64; moves];
    for _ in 0..=moves {
        let mut moved = false;
        for AtLeast { from, to, ms } in wanted {
            let least = times[*from] + ms;
            moved |= times[*to] < least;
            times[*to] = times[*to].max(least);
        }
        if !moved {
            return times.into_iter().map(|time| u64::try_from(time).ok()).collect();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_least(from: usize, to: usize, ms: i64) -> AtLeast {
        AtLeast { from, to, ms }
    }

    #[test]
    fn the_earliest_times_hold_to_all_differences() {
        // One after the other; a timer of 50 set at 1 fires at 3, and 2 comes less than 10 before it.
        let wanted = [
            at_least(0, 1, 1),
            at_least(1, 2, 1),
            at_least(2, 3, 1),
            at_least(1, 3, 50),
            at_least(3, 1, -50),
            at_least(3, 2, -9),
        ];
        assert_eq!(earliest(4, &wanted), Some(vec![0, 1, 42, 51]));
    }

    #[test]
    fn what_cannot_be_is_told() {
        // A timer of 5 that was set later than one of 50 cannot fire after it.
        let wanted = [at_least(0, 1, 50), at_least(1, 0, -50), at_least(1, 2, 1), at_least(2, 0, -5)];
        assert_eq!(earliest(3, &wanted), None);
    }
}
