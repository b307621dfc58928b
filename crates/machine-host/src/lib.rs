//! The tokio host of agent-machine
