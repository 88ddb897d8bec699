//! Atari games as environments: knows score and lives, not networks.
