//! Every format: the kept cases and a bounded number of mutations of real files. No panic, no hang, no memory beyond a
//! bound, whatever the bytes are. The same cases in every run; `SANE_FUZZ_SEED=7` draws others, `SANE_FUZZ_CASES=10` ten
//! times as many, and `SANE_FUZZ_KEEP=1` adds what fails to the corpus.

use sane_env::Stream;
use sane_fuzzing::mutation::mutate;
use sane_fuzzing::{FORMATS, Format, archive, format};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes that one case may allocate in sum: far above what any real file takes, far below what a machine has.
const MOST_ALLOCATED: usize = 512 << 20;

/// A case that takes this long hangs: the slowest takes a fraction of a second, and a machine may be a hundred times slower.
const MOST_SECONDS: u64 = 100;

fn corpus(format: &Format) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format.name)
}

fn number_from(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Allocations are counted for the whole process: one format at a time.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process with the name of the case if no further case begins for long.
struct HangWatch {
    cases: AtomicU64,
    current: Mutex<PathBuf>,
}

static WATCH: HangWatch = HangWatch { cases: AtomicU64::new(0), current: Mutex::new(PathBuf::new()) };

impl HangWatch {
    fn start(&'static self) {
        static STARTED: std::sync::Once = std::sync::Once::new();
        STARTED.call_once(|| {
            std::thread::spawn(|| {
                let mut before = u64::MAX;
                loop {
                    std::thread::sleep(Duration::from_secs(MOST_SECONDS));
                    let now = self.cases.load(Ordering::Relaxed);
                    if now == before && now % 2 == 1 {
                        let case = self.current.lock().unwrap_or_else(PoisonError::into_inner);
                        panic_without_unwinding(&format!("a case hangs; it is kept in {}", case.display()));
                    }
                    before = now;
                }
            });
        });
    }
}

fn panic_without_unwinding(message: &str) -> ! {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{message}");
    std::process::abort()
}

/// Whether the input was accepted, or what is wrong with the format's treatment of it.
fn fault_of(format: &Format, input: &[u8]) -> Result<bool, String> {
    WATCH.cases.fetch_add(1, Ordering::Relaxed);
    let region = Region::new(ALLOCATOR);
    let result = catch_unwind(|| (format.body)(input));
    let allocated = region.change().bytes_allocated;
    WATCH.cases.fetch_add(1, Ordering::Relaxed);
    match result {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(format!("panics: {}", text.unwrap_or_default()))
        }
        Ok(_) if MOST_ALLOCATED < allocated => Err(format!("allocates {allocated} bytes")),
        Ok(accepted) => Ok(accepted),
    }
}

fn check(name: &str, cases: u64) {
    let _turn = one_at_a_time();
    let format = format(name);
    let seeds = (format.seeds)();
    assert!(!seeds.is_empty(), "{name} has no seeds");
    WATCH.start();
    let unsaved = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-case"));
    *WATCH.current.lock().unwrap_or_else(PoisonError::into_inner) = unsaved.clone();

    let mut faults = Vec::new();
    for entry in fs::read_dir(corpus(format)).into_iter().flatten().flatten() {
        let input = fs::read(entry.path()).expect("a kept case");
        faults.extend(fault_of(format, &input).err().map(|fault| format!("{}: {fault}", entry.path().display())));
    }
    let mut accepted = 0;
    for (i, seed) in seeds.iter().enumerate() {
        match fault_of(format, seed) {
            Ok(is_accepted) => accepted += usize::from(is_accepted),
            Err(fault) => faults.push(format!("seed {i}: {fault}")),
        }
    }
    // Otherwise the mutations would only reach the first check.
    let needed = if name == "wheel" { 0 } else { seeds.len().div_ceil(3) };
    assert!(needed <= accepted, "{name}: only {accepted} of {} real files are accepted", seeds.len());
    let mut stream = Stream::named(number_from("SANE_FUZZ_SEED", 1), name);
    for _ in 0..cases * number_from("SANE_FUZZ_CASES", 1) {
        let [seed, other] = [0, 1].map(|_| &seeds[stream.below(seeds.len() as u64) as usize]);
        let input = mutate(&mut stream, seed, other);
        fs::write(&unsaved, &input).expect("space for a small file");
        if let Err(fault) = fault_of(format, &input) {
            faults.push(format!("{}: {fault}", keep(format, &input).display()));
        }
    }
    let _ = fs::remove_file(&unsaved);
    faults.truncate(40);
    assert!(faults.is_empty(), "{name}:\n{}", faults.join("\n"));
}

/// Keeps a case that did harm: in the corpus, or among the files of the test.
fn keep(format: &Format, input: &[u8]) -> PathBuf {
    let in_corpus = std::env::var_os("SANE_FUZZ_KEEP").is_some();
    let tests = || Path::new(env!("CARGO_TARGET_TMPDIR")).join("cases").join(format.name);
    let folder = if in_corpus { corpus(format) } else { tests() };
    fs::create_dir_all(&folder).expect("a writable folder");
    let path = folder.join(format!("{:08x}", crc32fast::hash(input)));
    fs::write(&path, input).expect("space for a small file");
    path
}

/// Files that unpack to 600 MB are refused before that much is held.
#[test]
fn small_files_that_unpack_to_large_ones_are_refused_in_time() {
    let _turn = one_at_a_time();
    let bombs = [
        ("minatar_trace", [&[0], &archive::bomb(b"MNATRC1\0")[..]].concat()),
        ("atari_trace", [&[0], &archive::bomb(b"ALETRC02")[..]].concat()),
        ("wheel", archive::large_wheel()),
    ];
    for (name, bomb) in bombs {
        let format = format(name);
        assert_eq!(fault_of(format, &bomb), Ok(false), "{name}");
    }
}

macro_rules! bounded {
    ($($test:ident: $name:literal, $cases:literal;)*) => {
        $(#[test] fn $test() { check($name, $cases) })*

        #[test]
        fn every_format_is_tested() {
            assert_eq!(FORMATS.map(|format| format.name), [$($name),*]);
        }
    };
}

bounded! {
    a_resigned_checkpoint_is_refused_or_trains_on: "checkpoint", 1500;
    a_resigned_snapshot_is_refused_or_can_be_played: "snapshot", 4000;
    a_console_goes_on_from_any_snapshot_it_accepts: "console_snapshot", 400;
    an_atari_game_goes_on_from_any_snapshot_it_accepts: "atari_snapshot", 200;
    a_report_is_made_of_any_records: "records", 60;
    a_film_is_refused_or_has_all_its_pixels: "film", 2000;
    a_configuration_is_refused_or_can_be_used: "config", 800;
    a_suite_is_refused_or_expanded: "suite", 600;
    the_status_of_a_suite_is_read_or_refused: "suite_status", 600;
    a_minatar_trace_is_refused_or_compared: "minatar_trace", 400;
    an_atari_trace_is_refused_or_read: "atari_trace", 600;
    a_wheel_is_refused_or_read: "wheel", 400;
    an_exported_policy_is_refused_or_acts: "policy", 3000;
    the_replies_of_a_worker_are_refused_or_played: "worker", 3000;
    the_actions_of_an_evaluation_are_refused_or_played_again: "actions", 2000;
}
