//! The next step: what to say, and which calls to make.
use machine_core::config::ToolSpec;

use super::calls::Planned;
use super::conversation::{Conversation, Topic, Work};
use super::parse::{EXAMPLES, Request, Unclear};
use super::{look, replace, run, say};

/// A response before it is cut into pieces. Without calls it is the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// The text.
    pub(super) text: String,
    /// The calls, which run in parallel.
    pub(super) calls: Vec<Planned>,
}

impl Step {
    /// An answer.
    pub(super) fn answer(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: Vec::new() }
    }

    /// Calls, with what is said before them.
    pub(super) fn calls(text: impl Into<String>, calls: Vec<Planned>) -> Self {
        Self { text: text.into(), calls }
    }
}

/// The next step of a conversation.
pub(super) fn next(conversation: &Conversation, tools: &[ToolSpec]) -> Step {
    let mut step = match &conversation.topic {
        Topic::Nothing => nothing(&conversation.news),
        Topic::Unclear(unclear) => help(unclear),
        Topic::Work(work) => match missing(&work.request, tools) {
            Some(tool) => Step::answer(format!("That needs the tool `{tool}`, which I do not have here.")),
            None => work_on(work, tools),
        },
    };
    // An answer also says what became of the prompts around it.
    if step.calls.is_empty() {
        for work in conversation.left.iter().rev() {
            step.text = format!("{}\n\n{}", left(work), step.text);
        }
        for remark in &conversation.remarks {
            step.text.push_str(&format!("\n\nI did not understand {}.", say::quote(remark)));
        }
    }
    step
}

/// The one place where kinds of requests are told apart.
fn work_on(work: &Work, tools: &[ToolSpec]) -> Step {
    match &work.request {
        Request::Replace { old, new, scope } => {
            replace::plan(work, &replace::Swap { old, new, scope }, tools)
        }
        Request::Find { text, scope } => look::find(work, text, scope),
        Request::Count { scope } => look::count(work, scope),
        Request::List { scope } => look::list(work, scope),
        Request::Read { path } => look::read(work, path),
        Request::Show { path } => look::show(work, path),
        Request::Run { command } => run::plan(work, command),
    }
}

/// The first tool that a request cannot do without and that is not on offer.
fn missing(request: &Request, tools: &[ToolSpec]) -> Option<&'static str> {
    let needs: &'static [&'static str] = match request {
        Request::Replace { .. } => &["search", "edit"],
        Request::Find { .. } => &["search"],
        Request::Count { .. } => &["count"],
        Request::List { .. } => &["list"],
        Request::Read { .. } => &["read"],
        Request::Show { .. } => &["list", "read"],
        Request::Run { .. } => &["shell"],
    };
    needs.iter().copied().find(|tool| !has(tools, tool))
}

/// Whether a tool is on offer.
pub(super) fn has(tools: &[ToolSpec], name: &str) -> bool {
    tools.iter().any(|tool| &*tool.name == name)
}

/// What became of a request that a newer one overtook.
fn left(work: &Work) -> String {
    let prompt = say::quote(&work.prompt);
    let changed = match &work.request {
        Request::Replace { old, new, scope } => {
            Some(replace::changed_so_far(work, &replace::Swap { old, new, scope }))
        }
        Request::Find { .. }
        | Request::Count { .. }
        | Request::List { .. }
        | Request::Read { .. }
        | Request::Show { .. }
        | Request::Run { .. } => None,
    };
    match changed {
        _ if work.done.is_empty() => format!("I did not begin with {prompt}: your next message came first."),
        Some(changed) => format!("I left {prompt} when your next message came. {changed}"),
        None => format!("I left {prompt} when your next message came, with its result unsaid."),
    }
}

fn nothing(news: &[String]) -> Step {
    let mut lines: Vec<String> = news.iter().map(|text| format!("Noted: {}", say::inline(text))).collect();
    lines.push("There is nothing more that I was asked to do.".to_owned());
    Step::answer(lines.join("\n"))
}

fn help(unclear: &Unclear) -> Step {
    let examples: Vec<String> = EXAMPLES.iter().map(|example| format!("- {example}")).collect();
    Step::answer(format!("{unclear}\nI can do things like these:\n{}", examples.join("\n")))
}
