//! Worlds, explorer and virtual-time driver for agent-machine
