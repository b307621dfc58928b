//! What an agent is made of besides its engine: it does not change while the agent is open.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machine_core::Text;
use tokio_util::sync::CancellationToken;

use crate::chain::Chain;
use crate::inside::Inside;
use crate::model::Model;
use crate::tool::Tool;

/// Shared by the driver and everything that it starts.
pub(crate) struct Parts {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tools: BTreeMap<Text, Arc<dyn Tool>>,
    pub(crate) chain: Chain,
    /// How long nothing must happen before the driver ends and the agent is a value again (H06).
    pub(crate) rest_after: Duration,
    /// The call of another agent in which this one works (H04).
    pub(crate) parent: Option<CancellationToken>,
    pub(crate) inside: Inside,
}
