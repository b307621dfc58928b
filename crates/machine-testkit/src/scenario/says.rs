//! What the file says, as the engine is told.
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Approval, Cause, Gated, Proceed, Recovery, Remedy, Screened, StopVerdict};
use machine_core::history::Edit;
use machine_core::ids::{CallId, InputId, TurnId};
use machine_core::input::{Abort, Command, Lane, Note, Reminder, Submit, Target};
use machine_core::message::{Entry, Message, Origin, Part, Said, text_content};
use machine_core::outcome::ToolResult;

use crate::scenario::cast::{Cast, spec};
use crate::scenario::hook::{Begins, Edits, Finalized, Gates, Recovers, Retries, Screens, Stops};
use crate::scenario::loose::Short;
use crate::scenario::verb::{Aborts, Allows, Approves, Cancels, Opening, Says, Verb};

/// The name of the hook that plays the script.
pub(crate) const HOOK: &str = "script";

/// The branch of every session here: ids are the same in every run.
pub(crate) const BRANCH: u32 = 1;

/// What somebody does, as the engine is told.
pub(crate) enum Deed {
    Command(Command),
    /// An answer to an approval: of this call, like this.
    Decide(CallId, Approval),
    /// A rule grants this call, and whatever else it covers.
    Rule(CallId, Allows),
    /// The engine is told nothing: its process ends, or begins.
    Opening(Opening),
}

pub(crate) fn screened(says: Screens) -> Screened {
    match says {
        Screens::Admit => Screened::Admit,
        Screens::Rewrite(text) => Screened::Rewrite(text_content(text)),
        Screens::Block(why) => Screened::Block(why),
    }
}

pub(crate) fn gated(says: Gates) -> Gated {
    match says {
        Gates::Proceed(begins) => Gated::Proceed(Arc::new(proceed(begins))),
        Gates::Block(why) => Gated::Block(why),
    }
}

fn proceed(begins: Begins) -> Proceed {
    let Begins { tools, system, settings, messages } = begins;
    Proceed {
        tools: tools.map(|names| names.iter().map(|name| spec(name)).collect()),
        system,
        settings: settings.map(Arc::new),
        messages: messages.into_iter().map(said).collect(),
    }
}

fn said(text: Text) -> Said {
    Said { hook: HOOK.into(), content: text_content(text) }
}

pub(crate) fn recovery(says: Recovers) -> Recovery {
    match says {
        Recovers::Decline => Recovery::Decline,
        Recovers::End(fail) => Recovery::End(Arc::new(fail.error())),
        Recovers::Retry(Retries { strategy, progress, instead, for_turn, usage }) => {
            let instead = instead.map(proceed);
            Recovery::Retry(Arc::new(Remedy { strategy, progress, instead, for_turn, usage }))
        }
    }
}

pub(crate) fn stop(says: Stops) -> StopVerdict {
    match says {
        Stops::End => StopVerdict::End,
        Stops::Continue(messages) => StopVerdict::Continue(messages.into_iter().map(said).collect()),
    }
}

pub(crate) fn finalized(says: Option<Finalized>, kept: ToolResult) -> ToolResult {
    match says {
        None | Some(Finalized::Same) => kept,
        Some(Finalized::Text(text)) => ToolResult { output: vec![Part::text(text)], ..kept },
    }
}

pub(crate) fn edit(says: Edits) -> Edit {
    match says {
        Edits::Fold { up_to, into } => Edit::Fold { up_to, into: vec![summary(into)] },
        Edits::Replace(entries) => Edit::Replace { with: entries.into_iter().map(Arc::new).collect() },
    }
}

fn summary(text: Text) -> Arc<Entry> {
    Arc::new(Entry { origin: Origin::Summary, turn: None, message: Message::user(text), meta: None })
}

/// A verb of the timeline. A call that nobody made yet is a mistake of the script.
pub(crate) fn deed(verb: Verb, cast: &Cast) -> Result<Deed, String> {
    let call = |name: &str| cast.find(name).ok_or_else(|| format!("no call `{name}` was made by now"));
    Ok(Deed::Command(match verb {
        Verb::Submit(Short(says)) => Command::Submit(Arc::new(prompt(says, Lane::NextTurn))),
        Verb::Join(Short(says)) => Command::Submit(Arc::new(prompt(says, Lane::NextStep))),
        Verb::Steer(ids) => Command::Steer(ids.0.iter().map(|id| id.as_str().into()).collect()),
        Verb::Notify(Short(says)) => Command::Notify(Arc::new(note(says))),
        Verb::Inject(Short(says)) => Command::Inject(Arc::new(note(says))),
        Verb::Remind(reminds) => Command::Remind(Arc::new(Reminder {
            key: InputId(reminds.key),
            message: text_content(reminds.text),
            only_if_changed: reminds.only_if_changed,
        })),
        Verb::Withdraw(id) => Command::Withdraw(id.as_str().into()),
        Verb::Replace(replaces) => Command::Replace(InputId(replaces.id), text_content(replaces.text)),
        Verb::Declare(declares) => Command::Declare(call(&declares.call)?, declares.access),
        Verb::Cancel(Short(Cancels { call: name, by, reason })) => {
            Command::CancelCall(call(&name)?, Arc::new(Cause { by, reason }))
        }
        Verb::Consume(name) => Command::Consume(call(&name)?),
        Verb::Approve(Short(Approves { call: name, rule: None })) => {
            return Ok(Deed::Decide(call(&name)?, Approval::Granted));
        }
        Verb::Approve(Short(Approves { call: name, rule: Some(allows) })) => {
            return Ok(Deed::Rule(call(&name)?, allows));
        }
        Verb::Deny(denies) => return Ok(Deed::Decide(call(&denies.call)?, Approval::Denied(denies.reason))),
        Verb::Expire(name) => return Ok(Deed::Decide(call(&name)?, Approval::Expired)),
        Verb::Abort(Short(Aborts { by, reason, turn, prompt })) => {
            let turn = turn.map(|turn| Target::Turn(TurnId { branch: BRANCH, turn }));
            let target = turn.or(prompt.map(|prompt| Target::Prompt(InputId(prompt))));
            Command::Abort(Arc::new(Abort { cause: Arc::new(Cause { by, reason }), target }))
        }
        Verb::Pause => Command::Pause,
        Verb::Resume => Command::Resume,
        Verb::Maintain => Command::Maintain,
        Verb::Configure(config) => Command::Configure(Arc::new(cast.role.complete(*config))),
        Verb::Close => Command::Close,
        Verb::Crash => return Ok(Deed::Opening(Opening::Crash)),
        Verb::CrashUnsaved => return Ok(Deed::Opening(Opening::CrashUnsaved)),
        Verb::Die => return Ok(Deed::Opening(Opening::Die)),
        Verb::Reopen => return Ok(Deed::Opening(Opening::Reopen)),
        Verb::Park => return Ok(Deed::Opening(Opening::Park)),
    }))
}

fn prompt(says: Says, lane: Lane) -> Submit {
    let Says { id, text, wake, meta } = says;
    let message = text_content(text.unwrap_or_else(|| id.clone()));
    Submit { id: InputId(id), message, lane, wake, meta }
}

fn note(says: Says) -> Note {
    let Says { id, text, wake: _, meta } = says;
    Note { message: text_content(text.unwrap_or_else(|| id.clone())), id: InputId(id), meta }
}
