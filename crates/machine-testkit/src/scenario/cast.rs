//! One agent's script while it is played: what its model answers next, which call is which, and how each behaves. Both
//! drivers play from it, so that they cannot tell different stories.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine_adapter::Request;
use machine_core::Text;
use machine_core::ask::{Executed, Plan, Prepared};
use machine_core::config::{Config, Questions, ToolSpec};
use machine_core::ids::{CallId, StepId};
use machine_core::message::Part;
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use serde_saphyr::Spanned;

use crate::scenario::call::{Call, Ends, Prepare};
use crate::scenario::file::{Fail, Reply, Role};
use crate::scenario::hook::{Hook, Hooks};
use crate::scenario::words::Names;

/// What is known of one agent's play.
#[derive(Clone, Debug)]
pub(crate) struct Cast {
    pub(crate) role: Arc<Role>,
    /// Requests that were made.
    pub(crate) requests: Vec<Request>,
    /// Names of calls that ran, in order.
    pub(crate) starts: Vec<String>,
    /// What the script did not foresee.
    pub(crate) gaps: Vec<String>,
    /// The call that a real host judges just now.
    #[cfg(feature = "tokio")]
    pub(crate) planning: Arc<std::sync::Mutex<Option<CallId>>>,
    /// What its calls are called.
    pub(crate) names: Names,
    calls: BTreeMap<CallId, Named>,
    /// The tools that there are, sorted.
    tools: Vec<Text>,
    uses: BTreeMap<String, usize>,
    hooks: BTreeMap<&'static str, usize>,
}

/// A call that the model made.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    label: String,
    /// How it behaves.
    pub(crate) call: Call,
}

/// A response on its way.
#[derive(Clone, Debug)]
pub(crate) struct Take {
    /// What comes, with milliseconds from the request.
    pub(crate) pieces: Vec<(u64, ModelEvent)>,
    /// When it ends.
    pub(crate) ends_at: u64,
    /// How.
    pub(crate) end: TakeEnd,
}

/// How a response ends.
#[derive(Clone, Debug)]
pub(crate) enum TakeEnd {
    Finished(Finished),
    Failed(ModelError),
    Silent,
    Panics(Text),
}

impl Cast {
    pub(crate) fn new(role: Arc<Role>) -> Self {
        let mut tools: Vec<_> = role.tools().into_iter().map(|tool| tool.name).collect();
        tools.sort_unstable();
        Self {
            role,
            requests: Vec::new(),
            starts: Vec::new(),
            gaps: Vec::new(),
            #[cfg(feature = "tokio")]
            planning: Arc::default(),
            names: Names::default(),
            calls: BTreeMap::new(),
            tools,
            uses: BTreeMap::new(),
            hooks: BTreeMap::new(),
        }
    }

    /// The response to a request. Its calls get their names.
    pub(crate) fn take(&mut self, request: Request) -> Take {
        let step = request.attempt.step();
        self.requests.push(request);
        let n = self.requests.len();
        let role = self.role.clone();
        let reply = role.model.get(n - 1).or(role.model_then.as_ref());
        let Some(Spanned { value: reply, .. }) = reply else {
            self.gaps.push(format!("request {n}: the script has only {} replies", role.model.len()));
            let error = ModelError::new(Failure::InvalidRequest, "the script has no reply for this request");
            return Take { pieces: Vec::new(), ends_at: 1, end: TakeEnd::Failed(error) };
        };
        let calls = self.name(step, &reply.calls);
        take(reply, &calls)
    }

    /// Names the calls of a response. An earlier attempt of the same step gives its names back.
    fn name(&mut self, step: StepId, labels: &[String]) -> Vec<Call> {
        for index in 0.. {
            let Some(Named { label, .. }) = self.calls.remove(&step.call(index)) else { break };
            self.names.0.remove(&step.call(index));
            self.uses.entry(label).and_modify(|uses| *uses -= 1);
        }
        let mut calls = Vec::new();
        for (index, label) in (0..).zip(labels) {
            let uses = self.uses.entry(label.clone()).or_default();
            *uses += 1;
            let name = if *uses == 1 { label.clone() } else { format!("{label}#{uses}") };
            let behaviours = self.role.calls.get(label).map(|calls| &calls.value.0);
            let call =
                behaviours.and_then(|all| all.get(*uses - 1).or(all.last())).cloned().unwrap_or_default();
            let call = Call { tool: Some(call.tool.unwrap_or_else(|| label.clone())), ..call };
            calls.push(call.clone());
            self.names.0.insert(step.call(index), name);
            self.calls.insert(step.call(index), Named { label: label.clone(), call });
        }
        calls
    }

    /// A call by its id.
    pub(crate) fn named(&self, call: CallId) -> Option<&Named> {
        self.calls.get(&call)
    }

    /// A call by its name. A bare label is the last call of this label.
    pub(crate) fn find(&self, name: &str) -> Option<CallId> {
        if name.contains('#') {
            return self.names.0.iter().find(|(_, of)| *of == name).map(|(call, _)| *call);
        }
        self.calls.iter().rev().find(|(_, named)| named.label == name).map(|(call, _)| *call)
    }

    /// Whether there is such a tool.
    pub(crate) fn knows(&self, tool: &str) -> bool {
        self.tools.binary_search_by(|known| (**known).cmp(tool)).is_ok()
    }

    /// What the model reads when it calls a tool that there is not; as a real host says it.
    pub(crate) fn unknown_tool(&self) -> Prepared {
        Prepared::unknown_tool(self.tools.iter().map(|name| &**name))
    }

    /// What a hook does this time; none: it agrees.
    pub(crate) fn hook<T: Clone>(
        &mut self,
        kind: &'static str,
        of: impl Fn(&Role) -> &Option<Vec<Spanned<Hook<T>>>>,
    ) -> Option<Hook<T>> {
        let asked = self.hooks.entry(kind).or_default();
        *asked += 1;
        of(&self.role).as_ref()?.get(*asked - 1).map(|hook| hook.value.clone())
    }

    /// Labels that no response used.
    pub(crate) fn unused(&self) -> Vec<&str> {
        let used = |label: &&String| self.uses.get(*label).is_some_and(|uses| *uses > 0);
        self.role.calls.keys().filter(|label| !used(label)).map(|label| &**label).collect()
    }

    /// Replies that no request got.
    pub(crate) fn left(&self) -> usize {
        self.role.model.len().saturating_sub(self.requests.len())
    }
}

impl Role {
    /// The tools that there are, in order: of all calls but those that are to be unknown.
    pub(crate) fn tools(&self) -> Vec<ToolSpec> {
        let mut names: Vec<&str> = Vec::new();
        let mut seen = BTreeSet::new();
        for (label, calls) in &self.calls {
            for call in &calls.value.0 {
                let name = call.tool.as_deref().unwrap_or(label);
                let known = !matches!(call.prepare, Some(Prepare::Unknown));
                if known && machine_core::history::is_legal(name) && seen.insert(name) {
                    names.push(name);
                }
            }
        }
        for reply in self.model.iter().chain(&self.model_then) {
            for label in &reply.value.calls {
                if !self.calls.contains_key(label)
                    && machine_core::history::is_legal(label)
                    && seen.insert(&**label)
                {
                    names.push(label);
                }
            }
        }
        names.into_iter().map(spec).collect()
    }

    /// A configuration with what follows from the script: the tools, unless it names some, and the questions.
    pub(crate) fn complete(&self, mut config: Config) -> Config {
        if config.request.tools.is_empty() {
            config.request.tools = self.tools().into();
        }
        let Hooks { screen, gate, recover, stop, maintain: _ } = &self.hooks;
        config.ask = Questions {
            screen: screen.is_some(),
            gate: gate.is_some(),
            recover: recover.is_some(),
            stop: stop.is_some(),
            finalize: self.finalizes(),
            timeout_ms: config.ask.timeout_ms,
        };
        config
    }

    /// How calls of a tool behave.
    #[cfg(feature = "tokio")]
    pub(crate) fn calls_of<'r>(&'r self, tool: &'r str) -> impl Iterator<Item = &'r Call> {
        let all =
            self.calls.iter().flat_map(|(label, calls)| calls.value.0.iter().map(move |call| (label, call)));
        all.filter(move |(label, call)| call.tool.as_deref().unwrap_or(label) == tool).map(|(_, call)| call)
    }

    /// Whether results are finalized.
    pub(crate) fn finalizes(&self) -> bool {
        self.calls.values().flat_map(|calls| &calls.value.0).any(|call| call.finalize.is_some())
    }
}

/// A tool that takes any arguments.
pub(crate) fn spec(name: &str) -> ToolSpec {
    ToolSpec { name: name.into(), description: "".into(), parameters: r#"{"type":"object"}"#.into() }
}

impl Call {
    /// How it is planned.
    pub(crate) fn planned(&self) -> Plan {
        let access = self.access.clone().unwrap_or(machine_core::access::Access::None);
        Plan { access, ..self.plan.clone() }
    }

    /// When it ends by itself, and how; none: never, or as its agent ends.
    pub(crate) fn end(&self, name: &str) -> Option<(u64, Executed)> {
        let takes = self.takes.unwrap_or(1);
        match &self.ends {
            None => Some((takes, self.done(&Ends::Ok(name.into()))?)),
            Some(ends) => Some((takes, self.done(ends)?)),
        }
    }

    /// An end as the engine is told; none: there is none.
    pub(crate) fn done(&self, ends: &Ends) -> Option<Executed> {
        let result = |text: &Text, is_error| {
            let output = if text.is_empty() { Vec::new() } else { vec![Part::text(text.clone())] };
            Executed::Done(Arc::new(ToolResult { is_error, output, ..self.result.clone() }))
        };
        match ends {
            Ends::Ok(text) => Some(result(text, false)),
            Ends::Error(text) => Some(result(text, true)),
            Ends::Panic(why) => Some(Executed::Panicked(why.clone())),
            Ends::Malformed(why) => Some(Executed::Malformed(why.clone())),
            Ends::Hang | Ends::Agent(_) => None,
        }
    }
}

fn take(reply: &Reply, calls: &[Call]) -> Take {
    let last = reply.pieces.iter().map(|piece| piece.at).max();
    let ends_at = reply.takes.unwrap_or_else(|| last.unwrap_or(0).saturating_add(1));
    let mut pieces: Vec<_> = reply.pieces.iter().map(|piece| (piece.at, piece.event.clone())).collect();
    if pieces.is_empty() {
        let thinking = reply.thinking.clone().map(|text| ModelEvent::Thinking { text, signature: None });
        let text = reply.text.clone().map(ModelEvent::Text);
        let said = thinking.into_iter().chain(text).chain(opened(calls));
        pieces = said.map(|event| (ends_at, event)).collect();
    }
    pieces.extend(reply.usage.map(|usage| (ends_at, ModelEvent::Usage(usage))));
    Take { pieces, ends_at, end: end(reply, !calls.is_empty()) }
}

fn opened(calls: &[Call]) -> impl Iterator<Item = ModelEvent> {
    (0..).zip(calls).flat_map(|(index, call)| {
        let tool = call.tool.as_deref().unwrap_or_default().into();
        let start = ModelEvent::CallStart { index, id: call.id.clone(), tool };
        let args =
            call.args.as_ref().map(|args| ModelEvent::CallArgs { index: Some(index), piece: args.0.text() });
        [Some(start), args].into_iter().flatten()
    })
}

fn end(reply: &Reply, calls: bool) -> TakeEnd {
    match (&reply.panics, &reply.fail) {
        (Some(why), _) => TakeEnd::Panics(why.clone()),
        (None, Some(fail)) => TakeEnd::Failed(fail.error()),
        (None, None) if reply.silent => TakeEnd::Silent,
        (None, None) => {
            let natural = if calls { Finish::ToolUse } else { Finish::EndTurn };
            let finish = reply.finish.unwrap_or(natural);
            TakeEnd::Finished(Finished { raw: reply.raw.clone(), ..Finished::new(finish) })
        }
    }
}

impl Fail {
    /// As the engine is told.
    pub(crate) fn error(&self) -> ModelError {
        let Self { kind, message, status, retry_after_ms, request_id, usage } = self.clone();
        let message = message.unwrap_or_else(|| "scripted".into());
        ModelError { status, retry_after_ms, request_id, usage, ..ModelError::new(kind, message) }
    }
}
