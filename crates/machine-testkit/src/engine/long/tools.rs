//! A host's own tools in a long run.
use std::collections::VecDeque;

use machine_core::ask::Prepared;
use machine_core::response::ModelEvent;

use crate::draw::Draw;

/// What the model may call, and what the host says of a call before it runs: the policy that is tested.
#[derive(Clone, Copy, Debug)]
pub struct Tools {
    /// Tools and arguments, JSON objects; the model picks from these. Where there are none, it calls nothing.
    pub calls: &'static [(&'static str, &'static str)],
    /// What becomes of a call (C02). It gets the tool and the arguments that the model gave.
    pub prepare: fn(tool: &str, args: &str) -> Prepared,
}

impl Tools {
    /// So many calls of a response.
    pub(super) fn stream(&self, pieces: &mut VecDeque<ModelEvent>, count: u32, draw: &mut impl Draw) {
        for index in 0..count {
            let (tool, args) = draw.one_of(self.calls);
            let id = format!("own_{index}").into();
            pieces.push_back(ModelEvent::CallStart { index, id, tool: tool.into() });
            pieces.push_back(ModelEvent::CallArgs { index: Some(index), piece: args.into() });
        }
    }
}
