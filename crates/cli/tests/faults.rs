//! Faults, met by real processes: checkpoints and configurations of other runs, altered and missing files, outputs that cannot
//! be written, folders that cannot, runs that diverge, and what stands in the place of records. Nothing is lost, nothing is
//! taken for something else, and whatever is wrong is named.

mod process;

use process::{TempFolder, check, digest, fail, sane, small_run, stderr, stdout, succeed, wait_until};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SHORT: [&str; 2] = ["--set", "training.total_interactions=600"];

fn short_run(folder: &Path, more: &[&str]) -> Command {
    let mut command = small_run("eps-greedy", folder, &SHORT);
    command.args(more);
    command
}

/// Files below `checkpoints` whose names begin so, oldest first.
fn checkpoint_files(run: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(run.join("checkpoints")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(beginning)).collect();
    files.sort();
    files
}

fn flip_a_byte(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn the_checkpoints_of_another_run_are_refused_by_what_differs() {
    let temp = TempFolder::new();
    let (own, other) = (temp.path("own"), temp.path("other"));
    succeed(&mut short_run(&own, &[]));
    succeed(&mut short_run(&other, &["--seed", "2"]));
    let events = fs::read(own.join("events.jsonl")).unwrap();
    fs::remove_dir_all(own.join("checkpoints")).unwrap();
    fs::rename(other.join("checkpoints"), own.join("checkpoints")).unwrap();
    let said = "belongs to another run: seed is 2 in it, 1 here";
    check(&mut small_run("eps-greedy", &own, &[]), 2, said);
    check(sane(&["eval", "--interactions", "50"]).arg(&own), 1, said);
    check(sane(&["runs", "hash"]).arg(&own), 1, said);
    check(sane(&["export", "-o"]).arg(temp.path("policy")).arg(&own), 1, said);
    assert!(!temp.path("policy").exists() && fs::read(own.join("events.jsonl")).unwrap() == events);
}

#[test]
fn a_changed_configuration_is_refused_by_the_changed_key() {
    let temp = TempFolder::new();
    let run = temp.path("run");
    succeed(&mut short_run(&run, &[]));
    let config = fs::read_to_string(run.join("config.toml")).unwrap();
    let change = |from: &str, to: &str| {
        assert!(config.contains(from), "{config}");
        fs::write(run.join("config.toml"), config.replace(from, to)).unwrap();
    };
    change("gamma = 0.99", "gamma = 0.5");
    let said = "learner.gamma is 0.99 in it, 0.5 here";
    check(sane(&["eval", "--interactions", "50"]).arg(&run), 1, said);
    check(sane(&["runs", "hash"]).arg(&run), 1, said);
    // The command that the changed configuration would come from does not help either.
    check(&mut small_run("eps-greedy", &run, &["--set", "learner.gamma=0.5"]), 2, said);
    // A longer budget and other intervals of saving are the same run.
    change("checkpoint_interval = 300", "checkpoint_interval = 250");
    succeed(sane(&["eval", "--interactions", "50"]).arg(&run));
    change("gamma = 0.99", "gamma = 0.99");
    let before = digest(&run);
    // Without the file, the checkpoints say what it was.
    fs::remove_file(run.join("config.toml")).unwrap();
    check(&mut short_run(&run, &["--set", "learner.gamma=0.5"]), 2, said);
    succeed(&mut short_run(&run, &[]));
    assert!(fs::read_to_string(run.join("config.toml")).unwrap() == config && digest(&run) == before);
}

#[test]
fn records_without_a_checkpoint_are_not_written_over() {
    let temp = TempFolder::new();
    let run = temp.path("run");
    succeed(&mut short_run(&run, &[]));
    fs::remove_dir_all(run.join("checkpoints")).unwrap();
    let events = fs::read(run.join("events.jsonl")).unwrap();
    check(&mut short_run(&run, &[]), 2, "but no checkpoint to continue them from");
    assert!(fs::read(run.join("events.jsonl")).unwrap() == events);
    succeed(&mut short_run(&run, &["--fresh"]));
    assert!(fs::read(temp.path("run.old-1").join("events.jsonl")).unwrap() == events, "the old run is kept");
    assert!(fs::read(run.join("events.jsonl")).unwrap() == events, "the new run is the same");
}

#[test]
fn altered_events_are_noticed_by_every_command_that_trusts_them() {
    let temp = TempFolder::new();
    let run = temp.path("run");
    succeed(&mut short_run(&run, &[]));
    succeed(sane(&["runs", "check"]).arg(&run));
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    // Still a record: only its number is another.
    let at = events.find("\"return_raw\":").unwrap() + "\"return_raw\":".len();
    flip_a_byte(&run.join("events.jsonl"), at);
    let files = || ["events.jsonl", "config.toml"].map(|name| fs::read(run.join(name)).unwrap());
    let altered = files();
    check(&mut small_run("eps-greedy", &run, &[]), 1, "events.jsonl was altered");
    assert!(files() == altered, "a refused run is left as it is");
    check(sane(&["--quiet", "eval", "--interactions", "50"]).arg(&run), 0, "warning: ");
    check(sane(&["--quiet", "runs", "hash"]).arg(&run), 0, "events.jsonl was altered");
    let problems = stdout(&check(sane(&["runs", "check"]).arg(&run), 1, "is damaged in 2 places"));
    assert!(problems.contains("damaged  checkpoint-000000000600.toml") && problems.contains("altered"), "{problems}");
    let report = fail(sane(&["--quiet", "report", "-o"]).arg(temp.path("report")).arg(&run), 1);
    assert!(report.contains("events.jsonl was altered"), "{report}");
}

#[test]
fn a_damaged_checkpoint_is_named_also_with_quiet() {
    let temp = TempFolder::new();
    let run = temp.path("run");
    succeed(&mut short_run(&run, &[]));
    let body = checkpoint_files(&run, "body-").pop().unwrap();
    flip_a_byte(&body, 100);
    check(sane(&["--quiet", "eval", "--interactions", "50"]).arg(&run), 0, "warning: ");
    check(sane(&["--quiet", "runs", "hash"]).arg(&run), 0, "warning: ");
    check(sane(&["runs", "check"]).arg(&run), 1, "is damaged in 1 places");
    // `small_run` is quiet.
    let said = stderr(&check(&mut small_run("eps-greedy", &run, &[]), 0, "warning: "));
    assert!(said.contains("checkpoint-000000000600.toml cannot be used"), "{said}");
    succeed(sane(&["runs", "check"]).arg(&run));
}

#[test]
fn a_standard_output_that_cannot_be_written_does_not_stop_a_run_and_shows_in_the_exit_code() {
    let temp = TempFolder::new();
    let straight = temp.path("straight");
    succeed(&mut short_run(&straight, &["--json"]));
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for output in ["full", "closed"] {
        let run = temp.path(output);
        let mut command = short_run(&run, &["--json"]);
        let out = match output {
            "full" => Stdio::from(full()),
            // The reading end is closed before the first event.
            _ => Stdio::from(std::io::pipe().unwrap().1),
        };
        let child = command.stdout(out).stderr(Stdio::piped()).spawn().unwrap();
        let ended = child.wait_with_output().unwrap();
        let said = stderr(&ended);
        assert_eq!(ended.status.code(), Some(1), "{output}: {said}");
        assert!(said.contains("training continues without") && said.contains("events.jsonl"), "{output}: {said}");
        assert_eq!(digest(&run), digest(&straight), "{output}");
    }
    // Results of other commands: a full disk is an error, a closed pipe the reader's choice.
    let listed =
        |out: Stdio| sane(&["runs", "list"]).arg(temp.root()).stdout(out).stderr(Stdio::null()).status().unwrap();
    assert_eq!(listed(full().into()).code(), Some(1));
    assert_eq!(listed(std::io::pipe().unwrap().1.into()).code(), Some(0));
    assert_eq!(sane(&["--help"]).stdout(full()).stderr(Stdio::null()).status().unwrap().code(), Some(1));
}

#[test]
fn a_standard_error_that_cannot_be_written_is_no_panic() {
    let temp = TempFolder::new();
    for (name, noisy) in [("full", true), ("closed", true), ("quiet", false)] {
        let run = temp.path(name);
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let err = if name == "closed" { Stdio::from(std::io::pipe().unwrap().1) } else { full.into() };
        let mut command = match noisy {
            true => sane(&["train", "deep-sea/4", "--agent", "eps-greedy", "--steps", "500"]),
            false => sane(&["--quiet", "train", "deep-sea/4", "--agent", "eps-greedy", "--steps", "500"]),
        };
        let status = command.arg("--out").arg(&run).stderr(err).stdout(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(0), "{name}");
        assert!(succeed(sane(&["runs", "show"]).arg(&run)).contains("finished"), "{name}");
    }
    // An error that cannot be said is an exit code still.
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(sane(&["runs", "show", "nowhere"]).stderr(full).status().unwrap().code(), Some(1));
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let temp = TempFolder::new();
    let run = temp.path("run");
    let long = small_run("eps-greedy", &run, &["--set", "training.total_interactions=100000000"]);
    let mut command = Command::new("nohup");
    command.arg(long.get_program()).args(long.get_args()).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let newest = || {
        fs::read_dir(run.join("checkpoints")).map_or(0, |files| {
            let names = files.flatten().map(|file| file.file_name().to_string_lossy().into_owned());
            names
                .filter_map(|name| name.strip_prefix("checkpoint-")?.strip_suffix(".toml")?.parse::<u64>().ok())
                .max()
                .unwrap_or(0)
        })
    };
    wait_until("a checkpoint", || 0 < newest());
    let signal = |name: &str| Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(signal("-HUP").success());
    let then = newest();
    wait_until("a later checkpoint", || then + 600 < newest());
    assert!(signal("-TERM").success());
    assert!(child.wait().unwrap().success());
}

#[test]
fn evaluations_at_the_same_time_are_all_recorded() {
    let temp = TempFolder::new();
    let run = temp.path("run");
    succeed(&mut short_run(&run, &[]));
    let evaluate = |seed: u32| {
        let seed = seed.to_string();
        let mut command = sane(&["--quiet", "eval", "--interactions", "300", "--start-seed", &seed]);
        command.arg(&run).stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..6).map(evaluate).collect();
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let results = fs::read_to_string(run.join("evaluations.jsonl")).unwrap();
    let mut seeds: Vec<u64> = results
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["start_seed"].as_u64().unwrap())
        .collect();
    seeds.sort_unstable();
    assert_eq!(seeds, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn an_evaluation_in_a_read_only_folder_prints_its_result() {
    let temp = TempFolder::new();
    let run = temp.path("run");
    succeed(&mut short_run(&run, &[]));
    let permit = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    // Permissions do not hold root back: then another user evaluates, with a copy of the program that it can reach.
    let program = temp.path("sane");
    fs::copy(env!("CARGO_BIN_EXE_sane"), &program).unwrap();
    permit(temp.root(), 0o755);
    for folder in [&run, &run.join("checkpoints")] {
        permit(folder, 0o555);
    }
    let mut command = Command::new(&program);
    command.args(["--quiet", "eval", "--interactions", "50", "--json"]).arg(&run);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(65_534).gid(65_534);
    }
    let printed = stdout(&check(&mut command, 0, "the result is printed only"));
    permit(&run, 0o755);
    permit(&run.join("checkpoints"), 0o755);
    let value: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert!(50 <= value[0]["interactions"].as_u64().unwrap(), "{printed}");
    assert!(!run.join("evaluations.jsonl").exists());
    // What is in the way of the file is an error, after the result.
    fs::create_dir(run.join("evaluations.jsonl")).unwrap();
    let output = check(sane(&["eval", "--interactions", "50", "--json"]).arg(&run), 1, "was not recorded");
    assert!(stdout(&output).contains("return_mean"));
}

#[test]
fn a_run_that_diverges_stops_with_its_last_good_checkpoint_and_an_exit_code_of_its_own() {
    let temp = TempFolder::new();
    let run = temp.path("run");
    let wild = ["--set", "learner.optimiser.learning_rate=1e30"];
    let said = stderr(&check(&mut short_run(&run, &wild), 3, "the run diverged at interaction"));
    assert!(said.contains("is intact") && said.contains("--fresh"), "{said}");
    let timings = fs::read_to_string(run.join("timings.jsonl")).unwrap();
    assert!(timings.contains("\"reason\":\"diverged\""), "{timings}");
    let before = digest(&run);
    succeed(sane(&["runs", "check"]).arg(&run));
    check(&mut short_run(&run, &wild), 3, "the run diverged at interaction");
    assert_eq!(digest(&run), before);
}

#[test]
fn only_runs_that_were_set_aside_are_deleted_and_they_are_listed_before() {
    let temp = TempFolder::new();
    let (root, elsewhere) = (temp.path("runs"), temp.path("elsewhere"));
    let run = root.join("seed-1");
    succeed(&mut short_run(&run, &[]));
    succeed(&mut short_run(&run, &["--fresh"]));
    let aside = root.join("seed-1.old-1");
    // Things that look like it: another program's folder, a run that was copied by hand, links out of the root.
    fs::create_dir_all(root.join("site.old-1")).unwrap();
    fs::write(root.join("site.old-1/config.toml"), "baseURL = 'https://example.org'").unwrap();
    succeed(Command::new("cp").arg("-r").args([&run, &root.join("copy.old-2")]));
    succeed(&mut short_run(&elsewhere.join("a"), &[]));
    succeed(&mut short_run(&elsewhere.join("a"), &["--fresh"]));
    symlink(&elsewhere, root.join("link")).unwrap();
    symlink(elsewhere.join("a.old-1"), root.join("a.old-1")).unwrap();
    let prune = |more: &[&str]| check(sane(&["runs", "prune"]).args(more).arg(&root), 0, "is kept");
    let listed = prune(&[]);
    let lines = stdout(&listed);
    assert!(lines.lines().count() == 1 && lines.starts_with(aside.to_str().unwrap()), "{lines}");
    let kept = stderr(&listed);
    assert!(kept.contains("site.old-1 is kept") && kept.contains("copy.old-2 is kept"), "{kept}");
    assert!(aside.exists(), "nothing is deleted without --yes");
    assert_eq!(stdout(&prune(&["--yes"])), lines);
    assert!(!aside.exists() && run.exists());
    for kept in [root.join("site.old-1"), root.join("copy.old-2"), elsewhere.join("a.old-1"), root.join("a.old-1")] {
        assert!(kept.join("config.toml").exists(), "{}", kept.display());
    }
}

/// Runs a command that would otherwise wait for ever if it opened a pipe.
fn within_a_minute(arguments: &[&str], folder: &Path) -> Command {
    let inner = sane(arguments);
    let mut command = Command::new("timeout");
    command.arg("60").arg(inner.get_program()).args(inner.get_args()).arg(folder);
    command
}

#[test]
fn what_stands_in_the_place_of_records_is_passed_over() {
    let temp = TempFolder::new();
    let root = temp.path("runs");
    succeed(&mut short_run(&root.join("whole"), &[]));
    let odd = |name: &str, file: &str, make: &dyn Fn(&Path)| {
        let folder = root.join(name);
        fs::create_dir_all(&folder).unwrap();
        for copied in ["config.toml", "events.jsonl", "timings.jsonl"] {
            fs::copy(root.join("whole").join(copied), folder.join(copied)).unwrap();
        }
        let _ = fs::remove_file(folder.join(file));
        make(&folder.join(file));
    };
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    let socket = |path: &Path| drop(UnixListener::bind(path).unwrap());
    let huge = |path: &Path| File::create(path).unwrap().set_len(1 << 40).unwrap();
    odd("pipe-config", "config.toml", &pipe);
    odd("pipe-events", "events.jsonl", &pipe);
    odd("pipe-evaluations", "evaluations.jsonl", &pipe);
    odd("pipe-lock", "lock", &pipe);
    odd("socket-events", "events.jsonl", &socket);
    odd("socket-timings", "timings.jsonl", &socket);
    odd("huge-config", "config.toml", &huge);
    odd("huge-events", "events.jsonl", &huge);
    odd("huge-evaluations", "evaluations.jsonl", &huge);
    odd("loop-events", "events.jsonl", &|path| symlink(path, path).unwrap());
    symlink(&root, root.join("round")).unwrap();
    symlink(root.join("loop"), root.join("loop")).unwrap();
    let listed = succeed(&mut within_a_minute(&["runs", "list", "--json"], &root));
    let runs: Vec<serde_json::Value> = serde_json::from_str(&listed).unwrap();
    let damaged = runs.iter().filter(|run| !run["problem"].is_null()).count();
    assert_eq!((runs.len(), damaged), (11, 6), "{listed}");
    let table = succeed(&mut within_a_minute(&["runs", "list"], &root));
    assert_eq!(table.matches("damaged: ").count(), 6, "{table}");
    let report = temp.path("report");
    let mut command = within_a_minute(&["report", "-o", report.to_str().unwrap()], &root);
    let said = stderr(&check(&mut command, 0, "set aside: "));
    assert!(["pipe-events", "socket-events", "huge-events"].iter().all(|name| said.contains(name)), "{said}");
    // Reading them one by one ends, too, and so does training there.
    for name in ["pipe-config", "huge-config", "pipe-events"] {
        check(&mut within_a_minute(&["runs", "show"], &root.join(name)), 1, "it ");
    }
    let mut command = within_a_minute(&["train", "minatar/breakout", "--out"], &root.join("pipe-events"));
    check(command.args(["--agent", "eps-greedy"]), 2, "");
}
