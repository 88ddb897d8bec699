//! What a run writes down: plain structs with units in their names.
