//! `simulate`: the host in faulty worlds.
use crate::running::program;

#[test]
fn many_seeds_are_summed_up_alike_for_any_number_of_threads() {
    let one = program(&["simulate", "--seeds", "30", "--jobs", "1"]);
    one.ended(0).says("30 seeds in ").says("0 violations").says("turn completed");
    let three = program(&["simulate", "--seeds", "30", "--jobs", "3"]);
    let counts =
        |out: &str| out.lines().filter(|line| line.starts_with(' ')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(counts(&one.out), counts(&three.ended(0).out));
}

#[test]
fn one_seed_tells_everything_that_happened() {
    let ran = program(&["simulate", "--seed", "7"]);
    ran.ended(0).says("open, parked: false").says("the world heals").says("1 seeds in ");
    assert_eq!(ran.err, "");
}

#[test]
fn what_makes_no_sense_is_refused() {
    program(&["simulate", "--seed", "x"]).refuses("--seed");
    program(&["simulate", "--jobs", "0"]).refuses("--jobs");
    program(&["simulate", "--seeds", "0"]).refuses("--seeds");
    program(&["simulate", "--seed", "1", "--seeds", "2"]).refuses("--seeds");
}
