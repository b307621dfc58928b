//! `run COMMAND`.
use machine_core::outcome::Outcome;

use super::calls;
use super::conversation::Work;
use super::output;
use super::plan::Step;
use super::say;

/// The most characters of output that an answer repeats; of more, the end.
const MAX_OUTPUT: usize = 4_000;

pub(super) fn plan(work: &Work, command: &str) -> Step {
    let name = say::inline(command);
    let Some(done) = work.last("shell") else {
        return Step::calls(format!("I run `{name}`."), vec![calls::shell(command)]);
    };
    if let Some(printed) = done.printed() {
        return Step::answer(format!("`{name}` ended with exit code 0{}", with_output(printed)));
    }
    Step::answer(match &done.outcome {
        Outcome::Denied { .. } => {
            format!("`{name}` was not permitted, so it did not run ({}).", say::reason(done))
        }
        _ => match output::shell_end(&done.output) {
            Some((printed, end)) => format!("`{name}` failed with {end}{}", with_output(printed)),
            None => format!("`{name}` failed: {}", say::reason(done)),
        },
    })
}

fn with_output(printed: &str) -> String {
    let printed = printed.trim_end();
    if printed.is_empty() {
        return " and printed nothing.".to_owned();
    }
    match printed.char_indices().rev().nth(MAX_OUTPUT) {
        Some((at, c)) => format!(". The end of its output:\n\n{}", &printed[at + c.len_utf8()..]),
        None => format!(". Its output:\n\n{printed}"),
    }
}
