//! Who is asked for approval: a person at the terminal, or nobody.
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use machine_core::ask::Approval;
use machine_host::ApproveQuestion;
use tokio::sync::{mpsc, oneshot};

use crate::program::args::Approve;

/// A question on its way to a person, and where the answer goes.
pub struct Asked {
    /// What wants to run.
    pub question: ApproveQuestion,
    answer: oneshot::Sender<Approval>,
}

/// Questions that a person must answer.
pub type Questions = mpsc::UnboundedReceiver<Asked>;

/// What a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// This one may run.
    Yes,
    /// This one may not.
    No,
    /// This tool may always run, for the rest of the session.
    Always,
}

impl Said {
    /// Reads an answer. None: it is not one.
    pub fn read(line: &str) -> Option<Self> {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Some(Self::Yes),
            "n" | "no" => Some(Self::No),
            "a" | "always" => Some(Self::Always),
            _ => None,
        }
    }
}

/// Answers the agent's requests for approval.
#[derive(Clone)]
pub struct Approver {
    people: Option<mpsc::UnboundedSender<Asked>>,
    always: Arc<Mutex<BTreeSet<String>>>,
    policy: Approve,
}

impl Approver {
    /// By policy; the receiver gets the questions that a person must answer.
    pub fn new(policy: Approve, terminal: bool) -> (Self, Questions) {
        let (to, questions) = mpsc::unbounded_channel();
        let people = (policy == Approve::Ask && terminal).then_some(to);
        (Self { people, always: Arc::default(), policy }, questions)
    }

    /// What is said where nobody says yes.
    fn otherwise(&self, tool: &str) -> Approval {
        let why = match self.policy {
            // Nothing asks but what waited for an answer when an earlier run of the session ended.
            Approve::All => return Approval::Granted,
            Approve::Ask if self.people.is_some() => return Approval::Denied("the user said no".into()),
            Approve::Ask => "nobody can be asked without a terminal",
            Approve::None => "`--approve none` gives none",
        };
        let denied = format!("`{tool}` needs an approval, and {why}; run with `--approve all` to allow it");
        Approval::Denied(denied.into())
    }

    /// The answer to one question; it takes as long as the person takes (C04).
    pub async fn decide(self, question: ApproveQuestion) -> Approval {
        let otherwise = self.otherwise(&question.tool);
        let Some(people) = &self.people else { return otherwise };
        let always = self.always.lock().unwrap_or_else(PoisonError::into_inner).contains(&*question.tool);
        if always {
            return Approval::Granted;
        }
        let (answer, decided) = oneshot::channel();
        if people.send(Asked { question, answer }).is_err() {
            return otherwise;
        }
        decided.await.unwrap_or(otherwise)
    }

    /// A person answered.
    pub fn answer(&self, asked: Asked, said: Said) {
        if said == Said::Always {
            let mut always = self.always.lock().unwrap_or_else(PoisonError::into_inner);
            always.insert(asked.question.tool.to_string());
        }
        let approval = match said {
            Said::Yes | Said::Always => Approval::Granted,
            Said::No => self.otherwise(&asked.question.tool),
        };
        // The question may have been withdrawn meanwhile: then nobody waits for the answer.
        let _ = asked.answer.send(approval);
    }

    /// Whether this tool was allowed for the rest of the session.
    pub fn is_always(&self, tool: &str) -> bool {
        self.always.lock().unwrap_or_else(PoisonError::into_inner).contains(tool)
    }
}

impl Asked {
    /// Whether the question was withdrawn.
    pub fn is_over(&self) -> bool {
        self.answer.is_closed()
    }
}
