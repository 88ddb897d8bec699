//! Tests only: the arrows between crates, the paper tags, the links in `docs/`.
