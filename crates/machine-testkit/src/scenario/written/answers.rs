//! What was asked and how it was answered, as the script of model, calls and hooks.
use std::collections::BTreeMap;

use machine_core::ask::{
    Answer, Approval, Ask, Executed, Gated, Piece, Plan, Prepared, Question, Recovery, Screened, StopVerdict,
};
use machine_core::ids::CallId;
use machine_core::input::Input;
use machine_core::outcome::ToolResult;
use machine_core::response::ModelError;
use serde_json::{Map, Value, json};

use crate::scenario::written::{Run, Unwritable, bare, differs, text};

/// One ask, and what became of it. What is asked again by another process counts anew.
pub(crate) struct Asked {
    pub(crate) ask: Ask,
    /// The move that led to it.
    pub(crate) at: usize,
    /// What came for it, each with its move.
    pub(crate) came: Vec<(usize, Input)>,
    /// The move that took it back.
    pub(crate) withdrawn: Option<usize>,
    /// The move after which it was not open any more.
    pub(crate) closed: Option<usize>,
}

/// What stands in the file.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) model: Vec<Value>,
    pub(crate) calls: BTreeMap<String, Value>,
    pub(crate) hooks: Map<String, Value>,
    pub(crate) timeline: Vec<(u64, Value)>,
}

impl Asked {
    fn answer(&self) -> Option<(usize, &Answer)> {
        self.came.iter().find_map(|(at, input)| match input {
            Input::Answer { answer, .. } => Some((*at, answer)),
            _ => None,
        })
    }

    /// Whether it was answered that there is no such tool.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self.answer(), Some((_, Answer::Prepare(Prepared::UnknownTool(_)))))
    }

    /// Milliseconds from the ask to its answer. What is open at the end is answered just after it; what nobody waits for
    /// any more is not answered.
    fn takes(&self, times: &[u64]) -> Option<u64> {
        let asked = times.get(self.at)?;
        match self.answer() {
            Some((at, _)) => Some(times.get(at)? - asked),
            None if self.closed.is_some() || self.withdrawn.is_some() => None,
            None => Some(times.last()? - asked + 1),
        }
    }

    /// The pieces that came, each with its milliseconds from the ask.
    fn pieces<'a>(&'a self, times: &'a [u64]) -> impl Iterator<Item = (u64, &'a Piece)> {
        self.came.iter().filter_map(|(at, input)| match input {
            Input::Piece { piece, .. } => Some((times.get(*at)? - times.get(self.at)?, piece)),
            _ => None,
        })
    }
}

impl Script {
    /// Writes down what became of an ask.
    pub(crate) fn add(&mut self, asked: &Asked, run: &Run, times: &[u64]) -> Result<(), Unwritable> {
        let takes = asked.takes(times);
        let answer = asked.answer().map(|(_, answer)| answer);
        match &asked.ask.question {
            Question::Attempt { .. } => {
                let reply = self.reply(asked, run, times)?;
                self.model.push(reply);
            }
            Question::Screen { .. } => self.hook("screen", takes, said(answer, screened)?),
            Question::Gate { .. } => self.hook("gate", takes, said(answer, gated)?),
            Question::Recover { .. } => self.hook("recover", takes, said(answer, recovered)?),
            Question::Stop { .. } => self.hook("stop", takes, said(answer, stopped)?),
            Question::Maintain { .. } => self.hook("maintain", takes, said(answer, |_| Ok(json!("done")))?),
            Question::Prepare { call, tool, .. } => {
                if matches!(answer, Some(Answer::Prepare(Prepared::UnknownTool(_)))) && !run.is_unknown(asked)
                {
                    return no_words("a tool that is unknown to one call, or after a while");
                }
                let prepared = prepared(answer, takes)?;
                self.call(run, *call, json!({"tool": tool}))?;
                self.call(run, *call, prepared)?;
            }
            Question::Approve { call, .. } => {
                let (at, approved) = match asked.answer() {
                    None => return Ok(()),
                    Some((at, Answer::Approve(approved))) => (at, approved),
                    Some((_, other)) => return no_words(&format!("{other:?} to an approval")),
                };
                let call = run.name(*call)?;
                let verb = match &approved.approval {
                    Approval::Granted => json!({"approve": call}),
                    Approval::Denied(reason) => json!({"deny": {"call": call, "reason": reason}}),
                    Approval::Expired => json!({"expire": call}),
                };
                self.timeline.push((times[at], json!({"at": times[at], "do": verb})));
            }
            Question::Execute { call, .. } => {
                let behaviour = executed(asked, takes, times)?;
                self.call(run, *call, behaviour)?;
            }
            Question::Finalize { call, .. } => {
                let says = said(answer, |answer| match answer {
                    Answer::Finalize(result) => Ok(json!({"text": output(result)})),
                    other => no_words(&format!("{other:?}")),
                })?;
                self.call(run, *call, json!({"finalize": hook(takes, says)}))?;
            }
            // Times are chosen so that they fire by themselves.
            Question::Timer { .. } => {}
        }
        Ok(())
    }

    fn hook(&mut self, key: &str, takes: Option<u64>, says: Said) {
        let entry = self.hooks.entry(key).or_insert_with(|| json!([]));
        if let Value::Array(list) = entry {
            list.push(hook(takes, says));
        }
    }

    fn call(&mut self, run: &Run, call: CallId, keys: Value) -> Result<(), Unwritable> {
        let entry = self.calls.entry(run.name(call)?.to_owned()).or_insert_with(|| json!({}));
        if let (Value::Object(entry), Value::Object(keys)) = (entry, keys) {
            entry.extend(keys);
        }
        Ok(())
    }

    /// A response, piece by piece.
    fn reply(&mut self, asked: &Asked, run: &Run, times: &[u64]) -> Result<Value, Unwritable> {
        let Question::Attempt { attempt } = asked.ask.question else { return Ok(Value::Null) };
        let mut pieces = Vec::new();
        for (at, piece) in asked.pieces(times) {
            let Piece::Model(event) = piece else { return no_words(&format!("{piece:?}")) };
            pieces.push(json!({"at": at, "event": event}));
        }
        let end = match asked.answer().map(|(_, answer)| answer) {
            Some(Answer::Finished(finished)) => {
                json!({"finish": finished.finish, "raw": finished.raw, "usage": finished.usage})
            }
            Some(Answer::AttemptFailed(error)) => json!({"fail": failed(error)}),
            Some(other) => return no_words(&format!("{other:?}")),
            None if asked.takes(times).is_some() => json!({"text": "done"}),
            None => json!({"silent": true}),
        };
        // Only a response that came whole has calls; one that said nothing is asked for again.
        let whole = matches!(asked.answer(), Some((_, Answer::Finished(_))));
        let mine = |call: &&CallId| whole && run.is_last(attempt) && call.step() == attempt.step();
        let calls: Vec<_> =
            run.labels.iter().filter(|(call, _)| mine(call)).map(|(_, label)| label).collect();
        // Results are finalized where a call says how.
        let plain = if run.config.ask.finalize { json!({"finalize": {}}) } else { json!({}) };
        for label in &calls {
            self.calls.entry((*label).clone()).or_insert_with(|| plain.clone());
        }
        let mut reply = bare(json!({"takes": asked.takes(times)}));
        if let (Value::Object(reply), Value::Object(end)) = (&mut reply, bare(end)) {
            reply.extend(end);
            if !pieces.is_empty() {
                reply.insert("pieces".into(), pieces.into());
            }
            if !calls.is_empty() {
                reply.insert("calls".into(), json!(calls));
            }
        }
        Ok(reply)
    }
}

/// What a hook answered: something, that it failed, or nothing.
enum Said {
    Says(Value),
    Fails(Value),
    Nothing,
}

fn said(
    answer: Option<&Answer>,
    says: impl Fn(&Answer) -> Result<Value, Unwritable>,
) -> Result<Said, Unwritable> {
    Ok(match answer {
        None => Said::Nothing,
        Some(Answer::Failed(error)) => Said::Fails(json!(error.message)),
        Some(answer) => Said::Says(says(answer)?),
    })
}

fn hook(takes: Option<u64>, says: Said) -> Value {
    match (takes, says) {
        (None, _) => json!({"hangs": true}),
        (Some(takes), Said::Nothing) => json!({"takes": takes}),
        (Some(takes), Said::Says(says)) => json!({"takes": takes, "says": says}),
        (Some(takes), Said::Fails(why)) => json!({"takes": takes, "fails": why}),
    }
}

fn screened(answer: &Answer) -> Result<Value, Unwritable> {
    match answer {
        Answer::Screen(Screened::Admit) => Ok(json!("admit")),
        Answer::Screen(Screened::Rewrite(message)) => Ok(json!({"rewrite": text(message)})),
        Answer::Screen(Screened::Block(why)) => Ok(json!({"block": why})),
        other => no_words(&format!("{other:?}")),
    }
}

fn gated(answer: &Answer) -> Result<Value, Unwritable> {
    match answer {
        Answer::Gate(Gated::Block(why)) => Ok(json!({"block": why})),
        Answer::Gate(Gated::Proceed(proceed)) => begins(proceed),
        other => no_words(&format!("{other:?}")),
    }
}

fn begins(proceed: &machine_core::ask::Proceed) -> Result<Value, Unwritable> {
    let tools: Option<Vec<_>> =
        proceed.tools.as_ref().map(|tools| tools.iter().map(|tool| &tool.name).collect());
    let messages: Vec<_> = proceed.messages.iter().map(|said| text(&said.content)).collect();
    let (system, settings) = (&proceed.system, &proceed.settings);
    let begins = json!({"tools": tools, "system": system, "settings": settings, "messages": messages});
    Ok(json!({"proceed": bare(begins)}))
}

fn recovered(answer: &Answer) -> Result<Value, Unwritable> {
    match answer {
        Answer::Recover(Recovery::Decline) => Ok(json!("decline")),
        Answer::Recover(Recovery::End(error)) => Ok(json!({"end": failed(error)})),
        Answer::Recover(Recovery::Retry(remedy)) if remedy.instead.is_none() => {
            Ok(json!({"retry": bare(json!({
                "strategy": remedy.strategy,
                "progress": remedy.progress,
                "for_turn": remedy.for_turn,
                "usage": remedy.usage,
            }))}))
        }
        other => no_words(&format!("{other:?}")),
    }
}

fn stopped(answer: &Answer) -> Result<Value, Unwritable> {
    match answer {
        Answer::Stop(StopVerdict::End) => Ok(json!("end")),
        Answer::Stop(StopVerdict::Continue(messages)) => {
            let messages: Vec<_> = messages.iter().map(|said| text(&said.content)).collect();
            Ok(json!({"continue": messages}))
        }
        other => no_words(&format!("{other:?}")),
    }
}

fn prepared(answer: Option<&Answer>, takes: Option<u64>) -> Result<Value, Unwritable> {
    let Some(takes) = takes else { return Ok(json!({"prepare": "hangs"})) };
    let verdict = match answer {
        None => return Ok(json!({"prepare_takes": takes})),
        Some(Answer::Prepare(Prepared::Ready(plan))) => {
            let Value::Object(mut keys) = planned(plan)? else { return Ok(Value::Null) };
            keys.insert("prepare_takes".into(), json!(takes));
            return Ok(Value::Object(keys));
        }
        Some(Answer::Prepare(Prepared::UnknownTool(_))) => json!("unknown"),
        Some(Answer::Prepare(Prepared::InvalidArguments(why))) => json!({"invalid": why}),
        Some(Answer::Prepare(Prepared::Denied(why))) => json!({"deny": why}),
        Some(Answer::Prepare(Prepared::Skipped(why))) => json!({"skip": why}),
        Some(Answer::Prepare(Prepared::Answered(result))) => json!({"answer": output(result)}),
        Some(Answer::Failed(error)) => json!({"fails": error.message}),
        Some(other) => return no_words(&format!("{other:?}")),
    };
    Ok(json!({"prepare": verdict, "prepare_takes": takes}))
}

/// The plan of a call; accesses and rewritten arguments have keys of their own.
fn planned(plan: &Plan) -> Result<Value, Unwritable> {
    let mut keys = json!({"access": plan.access});
    let plain = Plan { access: Plan::default().access, args: None, ..plan.clone() };
    let plan_keys = differs(&serde_json::to_value(&plain)?, &serde_json::to_value(Plan::default())?);
    if let Value::Object(keys) = &mut keys {
        if !plan_keys.is_null() {
            keys.insert("plan".into(), plan_keys);
        }
        if let Some(args) = &plan.args {
            keys.insert("prepare".into(), json!({"rewrite": args}));
        }
    }
    Ok(keys)
}

/// How an execution went. One that was taken back and goes on is deaf.
fn executed(asked: &Asked, takes: Option<u64>, times: &[u64]) -> Result<Value, Unwritable> {
    let mut keys = Map::new();
    for (at, piece) in asked.pieces(times) {
        let (key, said) = match piece {
            Piece::Detached(ack) => {
                keys.insert("detach".into(), json!({"at": at, "text": text(ack)}));
                continue;
            }
            Piece::Progress(said) => ("progress", said.to_string()),
            Piece::Output(said) => ("output", text(said)),
            other => return no_words(&format!("{other:?}")),
        };
        let list = keys.entry(key).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(json!({"at": at, "text": said}));
        }
    }
    match takes {
        Some(takes) => keys.insert("takes".into(), json!(takes)),
        None => keys.insert("ends".into(), json!("hang")),
    };
    if asked.withdrawn.is_some() {
        keys.insert("on_cancel".into(), json!("ignores"));
    }
    match asked.answer().map(|(_, answer)| answer) {
        None => {}
        Some(Answer::Execute(Executed::Done(result))) => {
            let how = if result.is_error { "error" } else { "ok" };
            keys.insert("ends".into(), json!({how: output(result)}));
            let plain = ToolResult { output: Vec::new(), is_error: false, ..(**result).clone() };
            let others =
                differs(&serde_json::to_value(&plain)?, &serde_json::to_value(ToolResult::default())?);
            if !others.is_null() {
                keys.insert("result".into(), others);
            }
        }
        Some(Answer::Execute(Executed::Panicked(why))) => {
            drop(keys.insert("ends".into(), json!({"panic": why})))
        }
        Some(Answer::Execute(Executed::Malformed(why))) => {
            keys.insert("ends".into(), json!({"malformed": why}));
        }
        Some(Answer::Execute(Executed::Nothing)) => return no_words("a call that ends without a word"),
        Some(other) => return no_words(&format!("{other:?}")),
    }
    Ok(Value::Object(keys))
}

fn output(result: &ToolResult) -> String {
    result.output.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join(" ")
}

fn failed(error: &ModelError) -> Value {
    bare(json!({
        "kind": error.kind,
        "message": error.message,
        "status": error.status,
        "retry_after_ms": error.retry_after_ms,
        "request_id": error.request_id,
        "usage": error.usage,
    }))
}

fn no_words<T>(what: &str) -> Result<T, Unwritable> {
    Err(Unwritable::NoWords(what.chars().take(200).collect()))
}
