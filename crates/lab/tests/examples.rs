//! The examples run.

#[path = "../examples/own_environment.rs"]
mod own_environment;
#[path = "../examples/own_exploration.rs"]
mod own_exploration;
#[path = "../examples/read_sigma.rs"]
mod read_sigma;
#[path = "../examples/train_in_30_lines.rs"]
mod train_in_30_lines;

#[test]
fn a_world_of_ones_own_is_trained_in_resumed_and_evaluated() {
    own_environment::main().unwrap();
}

#[test]
fn an_agent_is_trained_as_a_library() {
    train_in_30_lines::main().unwrap();
}

#[test]
fn a_way_of_exploring_of_ones_own_is_trained_with() {
    own_exploration::main().unwrap();
}

#[test]
fn a_trained_agent_is_played_state_by_state() {
    read_sigma::main().unwrap();
}
