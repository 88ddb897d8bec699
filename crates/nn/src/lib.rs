//! CPU engine: knows shapes, not rewards.
