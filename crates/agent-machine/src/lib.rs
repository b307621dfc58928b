//! An engine for LLM agents built from explicit state machines
