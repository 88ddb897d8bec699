//! A worker that speaks the protocol wrongly: lengths that cannot be, noise before and instead of replies. Each is an
//! error, none a panic, a wait without end or an allocation of what was announced. Needs no Python: a shell script replies.

use crate::fixture::Fixture;
use crate::packages::is_left_out;
use sane_gym::{GymError, GymOptions, GymSource};
use std::time::Duration;

/// What opening the world gives if the worker is this line of shell. `$4` is the greeting, `reply` writes a header:
/// status, flags, length (all as escapes).
fn opened(line: &str) -> Result<GymSource, GymError> {
    let fixture = Fixture::new();
    let reply = r#"reply() { printf "\\$1\\$2\\0\\0$3\\0\\0\\0\\0\\0\\0\\0\\0"; }"#;
    let python = fixture.script("worker", &format!("{reply}; {line}; exec cat > /dev/null"));
    let options = GymOptions { python: Some(python), timeout: Duration::from_secs(20), ..GymOptions::new("gym:X-v0") };
    GymSource::open(&options)
}

fn check_refused(line: &str, said: &str) {
    let error = opened(line).map(|_| ()).expect_err(line).to_string();
    assert!(error.contains(said), "{line}: {error}");
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    let greet = r#"printf '%s' "$4""#;
    check_refused(&format!(r"{greet}; reply 000 000 '\377\377\377\377'"), "announced -1 bytes");
    check_refused(&format!(r"{greet}; reply 000 000 '\377\377\377\177'"), "announced 2147483647 bytes");
    check_refused(&format!(r"{greet}; reply 001 000 '\377\377\377\377'"), "announced -1 bytes");
    check_refused(&format!(r"{greet}; reply 001 000 '\004\000\000\000'; printf abcd"), "expected value");
    check_refused(&format!(r"{greet}; reply 000 000 '\002\000\000\000'; printf '{{}}'"), "cannot be parsed");
}

#[test]
fn spaces_that_no_memory_holds_are_refused() {
    let described = |shape: &str, actions: &str| {
        let text = format!(
            r#"{{"shape":{shape},"is_bytes":false,"full_scale":255,"actions":{actions},"names":[],"versions":""}}"#
        );
        let length = format!("\\{:03o}\\{:03o}\\000\\000", text.len() & 255, text.len() >> 8);
        format!(r#"printf '%s' "$4"; reply 000 000 '{length}'; printf '%s' '{text}'"#)
    };
    check_refused(&described("[4294967296,4294967296,4]", "2"), "more than");
    check_refused(&described("[100000000]", "2"), "more than");
    check_refused(&described("[0]", "2"), "empty");
    check_refused(&described("[4]", "0"), "of 0 actions");
    check_refused(&described("[4]", "18446744073709551615"), "of 18446744073709551615 actions");
    assert!(opened(&described("[4]", "3")).is_ok(), "a worker that replies well is accepted");
}

#[test]
fn a_worker_that_prints_without_end_or_leaves_is_refused() {
    check_refused("yes no protocol at all", "printed 65536 bytes before the worker began");
    check_refused("exit 7", "exit code 7");
    check_refused(r#"printf '%s' "$4"; exit 8"#, "exit code 8");
}

#[test]
fn what_an_interpreter_prints_before_the_worker_begins_is_no_reply() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let line = format!("printf 'welcome\\0\\0\\0\\0 to this interpreter\\n'; exec {} \"$@\"", fixture.python());
    let python = fixture.script("loud-python", &line);
    let options = GymOptions { python: Some(python), ..fixture.counter("") };
    assert_eq!(GymSource::open(&options).expect("it is the same environment").spec().actions.len(), 2);
}
