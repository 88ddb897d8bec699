//! Environments through the bridge: the same as in Python where they behave, and named where they do not. Needs Python;
//! fetches Gymnasium and ale-py by pip where they are missing.

mod ale;
mod behaviour;
mod ends;
mod equality;
mod faults;
mod fixture;
mod hostile_worker;
mod packages;
mod refusals;
