//! How long to wait before the next attempt (M05): doubling, capped, with jitter that is drawn from the
//! session's seed and the attempt's id. Whole milliseconds, no floats: the same on every platform.
use machine_core::config::Retry;
use machine_core::ids::AttemptId;

/// Milliseconds to wait after the `failures`-th failure in a row, which was this attempt's.
pub(crate) fn delay(retry: &Retry, failures: u32, attempt: AttemptId) -> u64 {
    let doublings = failures.saturating_sub(1).min(63);
    let delay = retry.base_ms.saturating_mul(1 << doublings).min(retry.cap_ms);
    let spread = delay / 4;
    let draw = [attempt.branch, attempt.turn, attempt.step, attempt.serial]
        .iter()
        .fold(retry.seed, |state, number| mix(state ^ u64::from(*number)));
    delay.saturating_add(draw % (spread + 1))
}

/// One step of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use machine_core::ids::TurnId;

    use super::*;

    #[test]
    fn c_m05_doubles_up_to_the_cap_with_a_quarter_of_jitter() {
        let retry = Retry::default();
        let step = TurnId { branch: 1, turn: 2 }.step(3);
        for failures in 1..200 {
            let plain = (500u64 << (failures - 1).min(20)).min(32_000);
            let got = delay(&retry, failures, step.attempt(failures));
            assert!((plain..=plain + plain / 4).contains(&got), "{failures}: {got}");
            assert_eq!(got, delay(&retry, failures, step.attempt(failures)), "the same draw each time");
        }
        let draws: alloc::collections::BTreeSet<_> =
            (0..50).map(|s| delay(&retry, 1, step.attempt(s))).collect();
        assert!(draws.len() > 20, "the jitter differs between attempts");
    }
}
