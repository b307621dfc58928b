//! Reading a scenario file, and what is wrong with it: each mistake is named with its place.
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_saphyr::{Location, Spanned, UserMessageFormatter};

use crate::scenario::Scenario;
use crate::scenario::call::{Call, Ends, Prepare};
use crate::scenario::expect::Expect;
use crate::scenario::file::{File, Reply, Role};
use crate::scenario::hook::{Hook, Hooks};
use crate::scenario::loose::{Many, Short};
use crate::scenario::verb::{Moment, Verb};
use crate::scenario::words::unknown_event;

/// The largest file that is read, in bytes.
const MAX_FILE: usize = 16 << 20;

/// The last tick of a timeline: ten years, in milliseconds.
const LAST_TICK: u64 = 10 * 365 * 24 * 60 * 60 * 1_000;

/// Why a file is no scenario. One line that names the file.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something in it is wrong.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
        /// What is wrong there.
        problem: String,
    },
}

/// A mistake and its place.
type Mistake = (Location, String);

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// It is none.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let failed = |source| LoadError::Read { path: path.to_owned(), source };
        let file = std::fs::File::open(path).map_err(failed)?;
        let mut text = Vec::new();
        // What has no size, such as a device, may have no end.
        file.take(MAX_FILE as u64 + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() > MAX_FILE {
            return Err(failed(io::Error::other(format!("larger than {MAX_FILE} bytes"))));
        }
        let text = String::from_utf8(text)
            .map_err(|error| failed(io::Error::other(format!("not UTF-8: {}", error.utf8_error()))))?;
        Self::parse(path, &text)
    }

    /// Reads a scenario from a text; `path` is what errors call it.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(path: &Path, text: &str) -> Result<Self, LoadError> {
        let malformed = |(at, problem): Mistake| LoadError::Malformed {
            path: path.to_owned(),
            line: at.line(),
            column: at.column(),
            problem,
        };
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        let file: File = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| malformed((error.location().unwrap_or(Location::UNKNOWN), problem(&error))))?;
        check(&file).map_err(malformed)?;
        let scenario = Self::new(path.to_owned(), file);
        scenario.check_configs().map_err(malformed)?;
        Ok(scenario)
    }
}

impl Scenario {
    /// No configuration is nonsense, together with the tools and questions that follow from the script.
    fn check_configs(&self) -> Result<(), Mistake> {
        for name in std::iter::once("").chain(self.file.agents.keys().map(|name| &**name)) {
            let (role, config) = self.role(name);
            let at = role.config.as_ref().map_or(Location::UNKNOWN, |config| config.referenced);
            config.check().map_err(|error| (at, format!("config.{error}")))?;
        }
        Ok(())
    }
}

/// What the reader says, on one line and without the place, which the error names already.
fn problem(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().render_with_formatter(&UserMessageFormatter);
    let text = text.replace(['\r', '\n'], " ");
    let place = error.location().map(|at| format!(" at line {}, column {}", at.line(), at.column()));
    place.and_then(|place| text.strip_suffix(&place)).unwrap_or(&text).to_owned()
}

/// What a file may not say although it can be read.
fn check(file: &File) -> Result<(), Mistake> {
    let main = Part { model: &file.model, then: &file.model_then, calls: &file.calls, hooks: &file.hooks };
    let of_role = |role: &'_ Role| Part::of(role).check(file);
    main.check(file)?;
    file.agents.values().try_for_each(of_role)?;
    timeline(file)?;
    expectations(&file.expect.value, &labels(file, None))?;
    for (agent, expect) in &file.expect.value.agents {
        let at = expect.referenced;
        if !expect.value.agents.is_empty() {
            return Err((at, format!("write the expectations of agents below `{agent}` as `{agent}/NAME`")));
        }
        let role = role_of(agent, file).ok_or_else(|| (at, format!("there is no agent `{agent}`")))?;
        expectations(&expect.value, &labels(file, Some(role)))?;
    }
    Ok(())
}

/// What one agent plays.
struct Part<'f> {
    model: &'f [Spanned<Reply>],
    then: &'f Option<Spanned<Reply>>,
    calls: &'f BTreeMap<String, Spanned<Many<Call>>>,
    hooks: &'f Hooks,
}

impl<'f> Part<'f> {
    fn of(role: &'f Role) -> Self {
        let Role { standalone: _, config: _, model, model_then: then, calls, hooks } = role;
        Self { model, then, calls, hooks }
    }

    fn check(&self, file: &File) -> Result<(), Mistake> {
        let replies = || self.model.iter().chain(self.then);
        replies().try_for_each(reply_is_sound)?;
        for (label, behaviours) in self.calls {
            let at = behaviours.referenced;
            if !replies().any(|reply| reply.value.calls.contains(label)) {
                return Err((at, format!("the call `{label}` is never made: no reply of the model has it")));
            }
            call_is_sound(label, at, &behaviours.value, file)?;
        }
        let Hooks { screen, gate, recover, stop, maintain } = self.hooks;
        hooks_are_sound(screen)?;
        hooks_are_sound(gate)?;
        hooks_are_sound(recover)?;
        hooks_are_sound(stop)?;
        hooks_are_sound(maintain)
    }
}

fn reply_is_sound(Spanned { value: reply, referenced: at, .. }: &Spanned<Reply>) -> Result<(), Mistake> {
    let Reply { thinking, text, calls: _, pieces, takes, finish, raw: _, usage: _, fail, silent, panics } =
        reply;
    let ends = [
        ("finish", finish.is_some()),
        ("fail", fail.is_some()),
        ("silent", *silent),
        ("panics", panics.is_some()),
    ];
    only_one(*at, "a reply ends once", &ends)?;
    let whole = thinking.is_some() || text.is_some();
    only_one(
        *at,
        "a reply says its text once",
        &[("pieces", !pieces.is_empty()), ("text or thinking", whole)],
    )?;
    if pieces.windows(2).any(|two| two[1].at < two[0].at) {
        return Err((*at, "a piece comes before the one above it: `at` must not go back".into()));
    }
    pieces.iter().map(|piece| piece.at).chain(*takes).try_for_each(|ms| in_time(*at, ms))?;
    match (pieces.last(), takes) {
        (Some(last), Some(takes)) if last.at > *takes => {
            Err((*at, format!("a piece at {} comes after the end at {takes}", last.at)))
        }
        _ => Ok(()),
    }
}

fn call_is_sound(label: &str, at: Location, calls: &Many<Call>, file: &File) -> Result<(), Mistake> {
    if calls.0.is_empty() {
        return Err((at, format!("`{label}` says nothing: leave it out")));
    }
    if label.contains('#') {
        return Err((at, format!("`{label}`: `#` stands in the names of repeated calls")));
    }
    for call in &calls.0 {
        if call.plan.access != machine_core::access::Access::All {
            return Err((at, format!("`{label}`: write `access` beside `plan`, not in it")));
        }
        if !call.result.output.is_empty() || call.result.is_error {
            return Err((at, format!("`{label}`: write the output and whether it failed as `ends`")));
        }
        if let Some(Ends::Agent(delegate)) = &call.ends
            && !file.agents.contains_key(&delegate.role)
        {
            let known: Vec<_> = file.agents.keys().map(|role| &**role).collect();
            return Err((
                at,
                format!("there is no role `{}`; `agents` has: {}", delegate.role, known.join(", ")),
            ));
        }
        if let Some(Ends::Agent(_)) = &call.ends
            && (call.detach.is_some() || !call.output.is_empty() || !call.progress.is_empty())
        {
            return Err((
                at,
                format!("`{label}` runs an agent: `detach`, `output` and `progress` are for others"),
            ));
        }
        let opens = match &call.ends {
            Some(Ends::Agent(delegate)) => delegate.opens_after,
            _ => 0,
        };
        let times = [call.takes.unwrap_or(0), call.prepare_takes, opens].into_iter();
        let said = call.progress.iter().chain(&call.output).chain(&call.detach).map(|said| said.at);
        times.chain(said).try_for_each(|ms| in_time(at, ms))?;
        if let (Some(Prepare::Unknown), Some(_)) = (&call.prepare, &call.ends) {
            return Err((at, format!("`{label}` is unknown, so it cannot end")));
        }
        if let Some(hook) = &call.finalize {
            one_answer(at, hook)?;
        }
    }
    Ok(())
}

/// No wait is longer than time.
fn in_time(at: Location, ms: u64) -> Result<(), Mistake> {
    if ms > LAST_TICK {
        return Err((at, format!("tick {ms} is too late: time ends at {LAST_TICK}, ten years")));
    }
    Ok(())
}

fn hooks_are_sound<T>(hooks: &Option<Vec<Spanned<Hook<T>>>>) -> Result<(), Mistake> {
    hooks.iter().flatten().try_for_each(|hook| one_answer(hook.referenced, &hook.value))
}

fn one_answer<T>(at: Location, hook: &Hook<T>) -> Result<(), Mistake> {
    in_time(at, hook.takes)?;
    let Hook { takes: _, edits: _, says, fails, panics, hangs } = hook;
    let ways = [
        ("says", says.is_some()),
        ("fails", fails.is_some()),
        ("panics", panics.is_some()),
        ("hangs", *hangs),
    ];
    only_one(at, "a hook does one thing", &ways)
}

fn only_one(at: Location, rule: &str, keys: &[(&str, bool)]) -> Result<(), Mistake> {
    let there: Vec<_> = keys.iter().filter(|(_, there)| *there).map(|(key, _)| format!("`{key}`")).collect();
    if there.len() > 1 {
        return Err((at, format!("{rule}, but here are {}", there.join(" and "))));
    }
    Ok(())
}

fn timeline(file: &File) -> Result<(), Mistake> {
    let mut last = 0;
    for Spanned { value: moment, referenced: at, .. } in &file.timeline {
        let Moment { at: tick, order: _, agent, verbs } = moment;
        in_time(*at, *tick)?;
        if *tick < last {
            let past = format!(
                "tick {tick} is in the past: the moment above is at {last}; write the timeline in order"
            );
            return Err((*at, past));
        }
        last = *tick;
        if verbs.0.is_empty() {
            return Err((*at, "nothing is done".into()));
        }
        let role = match agent {
            Some(agent) => match role_of(agent, file) {
                Some(role) => Some(role),
                None => return Err((*at, format!("there is no agent `{agent}`"))),
            },
            None => None,
        };
        let labels = labels(file, role);
        for verb in &verbs.0 {
            if let (Verb::Crash | Verb::CrashUnsaved | Verb::Die | Verb::Reopen | Verb::Park, Some(agent)) =
                (verb, agent)
                && !file.agents.get(agent).is_some_and(|role| role.standalone)
            {
                return Err((
                    *at,
                    format!("`{agent}` works in a call: it lives and dies with who made the call"),
                ));
            }
            if let Some(call) = call_of(verb) {
                is_made(call, *at, &labels)?;
            }
        }
    }
    Ok(())
}

/// The call that a verb is about.
fn call_of(verb: &Verb) -> Option<&str> {
    match verb {
        Verb::Declare(declares) => Some(&declares.call),
        Verb::Cancel(Short(cancels)) => Some(&cancels.call),
        Verb::Deny(denies) => Some(&denies.call),
        Verb::Approve(Short(approves)) => Some(&approves.call),
        Verb::Consume(call) | Verb::Expire(call) => Some(call),
        Verb::Submit(_) | Verb::Join(_) | Verb::Steer(_) | Verb::Notify(_) | Verb::Inject(_) => None,
        Verb::Remind(_) | Verb::Withdraw(_) | Verb::Replace(_) | Verb::Abort(_) => None,
        Verb::Pause | Verb::Resume | Verb::Maintain | Verb::Configure(_) | Verb::Close => None,
        Verb::Crash | Verb::CrashUnsaved | Verb::Die | Verb::Reopen | Verb::Park => None,
    }
}

/// The labels of the calls that a model makes.
fn labels<'f>(file: &'f File, role: Option<&'f Role>) -> Vec<&'f str> {
    let (model, then) = role.map_or((&file.model, &file.model_then), |role| (&role.model, &role.model_then));
    model.iter().chain(then).flat_map(|reply| &reply.value.calls).map(|label| &**label).collect()
}

/// The role of an agent: its own name if it stands alone, else that of the call that opens it.
fn role_of<'f>(agent: &str, file: &'f File) -> Option<&'f Role> {
    if let Some(role) = file.agents.get(agent).filter(|role| role.standalone) {
        return Some(role);
    }
    let mut calls = &file.calls;
    let mut role = None;
    for name in agent.split('/') {
        let label = name.split('#').next().unwrap_or(name);
        let behaviours = &calls.get(label)?.value.0;
        let delegate = behaviours.iter().find_map(|call| match &call.ends {
            Some(Ends::Agent(delegate)) => Some(delegate),
            _ => None,
        })?;
        role = file.agents.get(&delegate.role);
        calls = &role?.calls;
    }
    role
}

/// Some reply of the model has this call.
fn is_made(call: &str, at: Location, labels: &[&str]) -> Result<(), Mistake> {
    if labels.contains(&call.split('#').next().unwrap_or(call)) {
        return Ok(());
    }
    Err((at, format!("the call `{call}` is never made; the calls are: {}", labels.join(", "))))
}

fn expectations(expect: &Expect, labels: &[&str]) -> Result<(), Mistake> {
    let patterns = expect.events.iter().chain(&expect.never);
    let patterns = patterns.map(|pattern| (&*pattern.value, pattern.referenced));
    let counted = expect.counts.iter().map(|(pattern, count)| (&**pattern, count.referenced));
    for (pattern, at) in patterns.chain(counted) {
        is_event(pattern, at)?;
    }
    expect.states.iter().try_for_each(|state| in_time(state.referenced, state.value.at))?;
    let of_calls = expect.results.iter().map(|(call, result)| (call, result.referenced));
    let read = expect.reads.iter().map(|(call, texts)| (call, texts.referenced));
    let at = |state: &Spanned<_>| state.referenced;
    let in_states =
        expect.states.iter().flat_map(|state| state.value.calls.keys().map(move |c| (c, at(state))));
    of_calls.chain(read).chain(in_states).try_for_each(|(call, at)| is_made(call, at, labels))
}

/// It begins with the name of an event, after a tick if it likes.
fn is_event(pattern: &str, at: Location) -> Result<(), Mistake> {
    let line = match pattern.strip_prefix('@') {
        None => pattern,
        Some(rest) => match rest.split_once(' ') {
            Some((time, line)) if time.parse::<u64>().is_ok() => line,
            _ => return Err((at, format!("`{pattern}`: after `@` comes a tick and a blank"))),
        },
    };
    match unknown_event(line.split(' ').next().unwrap_or_default()) {
        Some(problem) => Err((at, problem)),
        None => Ok(()),
    }
}
