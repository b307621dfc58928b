//! Calls that outlive their turn, as a monitor knows them, and what the running turn left for its next step.
use std::collections::{BTreeMap, BTreeSet};

use machine_agent::inbox::Waiting;
use machine_agent::{Agent, Event};
use machine_core::ids::CallId;
use machine_core::message::Origin;

use crate::explore::{Checked, broken};

/// What is to be told of calls, and what was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Background {
    ends: BTreeMap<CallId, End>,
    late: BTreeSet<CallId>,
    own: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct End {
    ended: bool,
    told: bool,
    consumed: bool,
}

impl Background {
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Lingers { call, detached: true, .. } => drop(self.ends.insert(*call, End::default())),
            Event::BackgroundEnded { call, .. } => {
                if let Some(end) = self.ends.get_mut(call) {
                    end.ended = true;
                }
            }
            Event::Consume(call) => {
                if let Some(end) = self.ends.get_mut(call) {
                    end.consumed = true;
                }
            }
            Event::LateResult { call, .. } => drop(self.late.insert(*call)),
            Event::Own(messages) => self.own += messages.len(),
            _ => {}
        }
    }

    /// Something of these goes into history.
    pub fn committed(&mut self, origin: &Origin) -> Checked {
        match origin {
            Origin::BackgroundEnd { call } => match self.ends.get_mut(call) {
                Some(end) if end.waits() => {
                    end.told = true;
                    Ok(())
                }
                _ => broken("A20", "the end of a background call is told twice, or was told otherwise"),
            },
            Origin::LateResult { call } if self.late.remove(call) => Ok(()),
            Origin::Deliver { .. } | Origin::StopHook { .. } if self.own > 0 => {
                self.own -= 1;
                Ok(())
            }
            other => Err(format!("T14: {other:?} goes in, and nobody said it")),
        }
    }

    /// What waits is what is still to be told.
    pub fn holds(&self, agent: &Agent) -> Checked {
        let lane = &agent.inbox.lane;
        let ends = |of: &CallId| {
            lane.iter()
                .filter(|waiting| matches!(waiting, Waiting::BackgroundEnd { call, .. } if call == of))
                .count()
        };
        let late = lane.iter().filter(|waiting| matches!(waiting, Waiting::LateResult { .. })).count();
        let own =
            lane.iter().filter(|waiting| matches!(waiting, Waiting::Deliver { .. } | Waiting::StopHook(_)));
        match () {
            () if self.ends.iter().any(|(call, end)| ends(call) != usize::from(end.waits())) => {
                broken("A20", "the end of a background call is lost, or told twice")
            }
            () if late != self.late.len() => broken("X06", "a late result is lost, or told twice"),
            () if own.count() != self.own => {
                broken("T14", "a message of the turn's own is lost, or told twice")
            }
            () => Ok(()),
        }
    }
}

impl End {
    fn waits(self) -> bool {
        self.ended && !self.told && !self.consumed
    }
}
