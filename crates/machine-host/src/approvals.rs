//! How an approval is answered: once, or by a rule that answers for whatever it covers (C16).
use std::fmt::{Debug, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Answer, Approval, Approved, Question};
use machine_core::digest::Digest;
use machine_core::ids::{AskId, CallId};
use machine_core::input::Input;

use crate::hooks::ApproveQuestion;
use crate::spine::Spine;

/// The answer to an approval. Both an [`Approval`] and a [`Rule`] become one.
#[derive(Clone, Debug)]
pub enum Decision {
    /// For this call alone.
    Once(Approval),
    /// It may run, and so may whatever the rule covers.
    Rule(Rule),
}

/// "Always allow": grants what it covers, for the life of the agent (C16).
///
/// The moment it is given, it answers the open questions that it covers, each for itself; later ones it answers as they
/// come. It goes with the handle: an agent that is parked or opened again has no rules.
#[derive(Clone)]
pub struct Rule {
    name: Text,
    covers: Arc<dyn Fn(&ApproveQuestion) -> bool + Send + Sync>,
}

impl Rule {
    /// A rule; one of the same name takes its place. `covers` must be quick. If it panics, it covers nothing.
    pub fn new(
        name: impl Into<Text>,
        covers: impl Fn(&ApproveQuestion) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), covers: Arc::new(covers) }
    }

    /// Every call of this tool.
    pub fn for_tool(tool: impl Into<Text>) -> Self {
        let tool = tool.into();
        Self::new(format!("every `{tool}`"), move |question| question.tool == tool)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn covers(&self, question: &ApproveQuestion) -> bool {
        catch_unwind(AssertUnwindSafe(|| (self.covers)(question))).unwrap_or_else(|_| {
            tracing::warn!(rule = &*self.name, call = %question.call, "a rule panicked");
            false
        })
    }
}

impl Debug for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("name", &self.name).finish_non_exhaustive()
    }
}

impl From<Approval> for Decision {
    fn from(approval: Approval) -> Self {
        Self::Once(approval)
    }
}

impl From<Rule> for Decision {
    fn from(rule: Rule) -> Self {
        Self::Rule(rule)
    }
}

impl Decision {
    /// The answer to one question, and the rule that it gives.
    pub(crate) fn of(self, call: CallId, digest: Digest) -> (Arc<Approved>, Option<Rule>) {
        match self {
            Self::Once(approval) => (Arc::new(Approved { digest, approval, rule: None }), None),
            Self::Rule(rule) => (granted_by(&rule, call, digest), Some(rule)),
        }
    }
}

/// The one place that knows by which rule a call was granted.
fn granted_by(rule: &Rule, call: CallId, digest: Digest) -> Arc<Approved> {
    tracing::debug!(rule = &*rule.name, %call, "granted by a rule");
    Arc::new(Approved { digest, approval: Approval::Granted, rule: Some(rule.name.clone()) })
}

/// The rules that were given.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<Rule>);

impl Rules {
    fn add(&mut self, rule: Rule) {
        self.0.retain(|old| old.name != rule.name);
        self.0.push(rule);
    }

    /// The answer of the first rule that covers this.
    pub(crate) fn answer(&self, question: &ApproveQuestion) -> Option<Arc<Approved>> {
        let rule = self.0.iter().find(|rule| rule.covers(question))?;
        Some(granted_by(rule, question.call, question.digest))
    }
}

impl Spine {
    /// A rule was given: it answers what waits.
    pub(crate) async fn grant(&mut self, rule: Rule) {
        self.session.rules.add(rule.clone());
        let waiting: Vec<(AskId, ApproveQuestion)> = self
            .session
            .engine
            .outstanding()
            .filter_map(|open| asked(open.ask.id, &open.ask.question))
            .collect();
        for (ask, question) in waiting {
            // The answer to another may have ended this one.
            if self.session.engine.ask(ask).is_none() || !rule.covers(&question) {
                continue;
            }
            self.carrier.drop_work(ask);
            let answer = Answer::Approve(granted_by(&rule, question.call, question.digest));
            self.feed(Input::Answer { ask, answer }, None).await;
        }
    }
}

fn asked(ask: AskId, question: &Question) -> Option<(AskId, ApproveQuestion)> {
    let Question::Approve { call, tool, args, digest } = question else { return None };
    let question = ApproveQuestion { call: *call, tool: tool.clone(), args: args.clone(), digest: *digest };
    Some((ask, question))
}
