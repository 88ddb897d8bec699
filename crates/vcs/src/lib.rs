//! An Atari 2600: knows chips, not games.
