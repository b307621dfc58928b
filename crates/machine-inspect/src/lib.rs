//! Charts of agent-machine
