//! The actions of evaluations: no bytes make the program panic, hang or allocate without bound.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    (sane_fuzzing::format("actions").body)(bytes);
});
