//! Worlds that need no ROM.
