//! Events in; tables, figures and pages out.
#![forbid(unsafe_code)]
