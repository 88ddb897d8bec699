//! Suites on Slurm through its commands: job arrays in which each job works on one run. A job that is warned of its time
//! limit saves a checkpoint and requeues itself; a job whose node is lost is requeued by Slurm.

use crate::SuiteError;
use crate::cluster::{JobNeeds, shell_quoted};
use crate::expand::Suite;
use crate::folder::SuiteFolder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Jobs per array: below the default `MaxArraySize` of 1001.
const ARRAY_SIZE: usize = 1000;

/// One job array to submit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmArray {
    /// Runs by array index.
    pub runs: Vec<String>,
    /// The script for `sbatch`.
    pub script: String,
}

/// A submitted job array, as `slurm.json` in the suite's folder records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedArray {
    /// Slurm's job id.
    pub job: String,
    /// Runs by array index.
    pub runs: Vec<String>,
}

/// The job arrays for these runs of the suite.
pub fn slurm_arrays(folder: &Path, suite: &Suite, runs: &[String], needs: &JobNeeds) -> Vec<SlurmArray> {
    let script = |(part, runs): (usize, &[String])| {
        let list = runs.iter().map(|run| shell_quoted(run)).collect::<Vec<_>>().join("\n  ");
        SlurmArray { runs: runs.to_vec(), script: script(folder, suite, part, runs.len(), &list, needs) }
    };
    runs.chunks(ARRAY_SIZE).enumerate().map(script).collect()
}

fn script(folder: &Path, suite: &Suite, part: usize, count: usize, list: &str, needs: &JobNeeds) -> String {
    let slurm = &suite.slurm;
    let at_once = slurm.at_once.map(|most| format!("%{most}")).unwrap_or_default();
    let mut options = vec![
        format!("--job-name=sane-{}", suite.name),
        format!("--array=0-{}{at_once}", count - 1),
        "--ntasks=1".into(),
        format!("--cpus-per-task={}", needs.threads),
        format!("--mem={}M", needs.memory_bytes.div_ceil(1 << 20)),
        "--requeue".into(),
        "--open-mode=append".into(),
        format!("--signal=B:USR1@{}", slurm.warning_seconds()),
    ];
    // sbatch has rules of its own for spaces, quotes and percent signs: where they could matter, the shell opens the log.
    let logs = folder.join("slurm").display().to_string();
    let is_plain = shell_quoted(&logs) == logs && !logs.contains(['%', '\\']);
    let (log, redirection) = if is_plain {
        (format!("{logs}/%A_%a.log"), String::new())
    } else {
        let to = "_\"$SLURM_ARRAY_TASK_ID\".log";
        let file = format!("{}/\"$SLURM_ARRAY_JOB_ID\"{to}", shell_quoted(&logs));
        ("/dev/null".to_owned(), format!("exec >> {file} 2>&1\n"))
    };
    options.push(format!("--output={log}"));
    let named = [("partition", &slurm.partition), ("account", &slurm.account), ("time", &slurm.time)];
    options.extend(named.into_iter().filter_map(|(key, value)| Some(format!("--{key}={}", value.as_ref()?))));
    options.extend(slurm.options.iter().cloned());
    let options = options.iter().map(|option| format!("#SBATCH {option}")).collect::<Vec<_>>().join("\n");
    let shell = needs.shell(suite, folder, "\"$run\"");
    let about = format!("# Part {part} of the suite {}: each job of the array works on one run.", suite.name);
    format!(
        "#!/bin/bash\n{options}\n{about}\n{redirection}runs=(\n  {list}\n)\nrun=${{runs[$SLURM_ARRAY_TASK_ID]}}\n{}",
        TAIL.replacen("@SHELL@", &shell, 1)
    )
}

/// On USR1 (time limit near) the job lets its run save a checkpoint and requeues itself. On TERM (cancelled) it lets the
/// run save and does not requeue. The shell handles both, so that it ends after the program and not before.
const TAIL: &str = r#"warned=
warn() { warned=yes; kill -TERM "$child" 2>/dev/null; }
trap warn USR1
trap 'kill -TERM "$child" 2>/dev/null' TERM
(
@SHELL@
) &
child=$!
while :; do
  wait "$child"; code=$?
  kill -0 "$child" 2>/dev/null || break
done
if [ "$warned" ]; then exec scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
"#;

/// Fails if no node of the partition can take such a job, which Slurm would keep in its queue forever.
pub fn check_nodes(partition: Option<&str>, needs: &JobNeeds) -> Result<(), SuiteError> {
    // One line per node: partition (the default one has a star), memory in MiB, cores.
    let nodes = slurm("sinfo", &["--noheader", "--Node", "--format=%P %m %c"], None)?;
    let nodes: Vec<(&str, u64, usize)> = nodes
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, memory, cores) = (words.next()?, words.next()?, words.next()?);
            let number = |word: &str| word.trim_end_matches('+').parse::<u64>().ok();
            Some((name, number(memory)? << 20, number(cores)? as usize))
        })
        .collect();
    let is_selected = |name: &str| match partition {
        Some(partition) => name.trim_end_matches('*') == partition,
        None => name.ends_with('*'),
    };
    let selected: Vec<_> = nodes.iter().filter(|(name, ..)| is_selected(name)).collect();
    let mut names: Vec<&str> = nodes.iter().map(|(name, ..)| name.trim_end_matches('*')).collect();
    names.sort_unstable();
    names.dedup();
    if selected.is_empty() {
        let missing = partition.map_or("no default partition".to_owned(), |name| format!("no partition {name}"));
        let reason = format!("this cluster has {missing}; it has {}: name one in [slurm] partition", names.join(", "));
        return Err(SuiteError::Cluster { engine: "Slurm", reason });
    }
    let fits = selected.iter().any(|(_, memory, cores)| needs.memory_bytes <= *memory && needs.threads <= *cores);
    if fits {
        return Ok(());
    }
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let plural = |count: usize| if count == 1 { "1 core".to_owned() } else { format!("{count} cores") };
    let (memory, cores) = (selected.iter().map(|node| node.1).max(), selected.iter().map(|node| node.2).max());
    let reason = format!(
        "a run needs {:.1} GB and {}, its largest node has {:.1} GB and {}; take a smaller replay.capacity, \
         fewer threads, or another partition",
        gigabytes(needs.memory_bytes),
        plural(needs.threads),
        gigabytes(memory.unwrap_or(0)),
        plural(cores.unwrap_or(0))
    );
    Err(SuiteError::Cluster { engine: "Slurm", reason })
}

/// Submits an array and records it in the suite's folder.
pub fn submit(folder: &SuiteFolder, array: &SlurmArray) -> Result<SubmittedArray, SuiteError> {
    let logs = folder.path.join("slurm");
    fs::create_dir_all(&logs).map_err(SuiteError::io("create", &logs))?;
    let answer = slurm("sbatch", &["--parsable"], Some(&array.script))?;
    // With several clusters, `--parsable` appends the cluster's name.
    let number = answer.trim().split(';').next().unwrap_or_default().to_owned();
    let submitted = SubmittedArray { job: number, runs: array.runs.clone() };
    let mut all = folder.submitted()?;
    all.push(submitted.clone());
    folder.write_submitted(&all)?;
    Ok(submitted)
}

/// The runs in Slurm's queue, with their state and the reason they wait.
pub fn queue(submitted: &[SubmittedArray]) -> Result<BTreeMap<String, (String, String)>, SuiteError> {
    let mut found = BTreeMap::new();
    // All jobs of the user: squeue fails when asked for a job that has left its records.
    let answer = slurm("squeue", &["--me", "--noheader", "--array", "--format=%F|%K|%T|%r"], None)?;
    for line in answer.lines() {
        let mut words = line.split('|');
        let (Some(job), Some(task), Some(state), Some(why)) = (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let array = submitted.iter().find(|array| array.job == job.trim());
        let run = array.zip(task.trim().parse::<usize>().ok()).and_then(|(array, index)| array.runs.get(index));
        if let Some(run) = run {
            found.insert(run.clone(), (state.trim().to_owned(), why.trim().to_owned()));
        }
    }
    Ok(found)
}

/// Cancels the jobs: running ones save a checkpoint, none is requeued.
pub fn cancel(submitted: &[SubmittedArray]) -> Result<(), SuiteError> {
    let jobs: Vec<&str> = submitted.iter().map(|array| array.job.as_str()).collect();
    if jobs.is_empty() {
        return Ok(());
    }
    // `--full` signals the shell of the script and the program.
    slurm("scancel", &[&["--quiet", "--full"], &jobs[..]].concat(), None).map(drop)
}

fn slurm(command: &str, arguments: &[&str], input: Option<&str>) -> Result<String, SuiteError> {
    let failed = |reason: String| SuiteError::Cluster { engine: "Slurm", reason };
    let started = Command::new(command)
        .args(arguments)
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.map_err(|error| match error.kind() {
        ErrorKind::NotFound => failed(format!(
            "there is no `{command}` on this machine; log in to a machine of the cluster that has Slurm's commands, or run \
             the suite here without --on slurm"
        )),
        _ => failed(format!("{command} cannot be started: {error}")),
    })?;
    if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
        // A command that does not read its input reports the reason through its exit status, below.
        let _ = pipe.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(format!("{command} was lost: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(failed(format!("{command} failed: {message}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::tests::suite;

    #[test]
    fn a_job_asks_for_what_its_run_needs_and_does_what_the_suite_says() {
        let text = "name = 's'\nbudget = 500\ngames = ['risky-road']\nagents = ['sane']\nseeds = [1, 2]\n\
            [cluster]\nsetup = ['module load x']\nprogram = '/opt/sane'\n\
            [slurm]\npartition = 'long'\naccount = 'me'\ntime = '1-0'\nat_once = 4\noptions = ['--qos=low']\n";
        let suite = suite(text).unwrap();
        let runs: Vec<String> = suite.runs.iter().map(|run| run.id.clone()).collect();
        let (threads, memory_bytes) = (3, (5 << 20) + 1);
        let needs = JobNeeds { program: "sane".into(), threads, memory_bytes, retries: 1, roms: None };
        let jobs = slurm_arrays(Path::new("/shared/my suite"), &suite, &runs, &needs);
        let script = &jobs[0].script;
        for line in [
            "#SBATCH --array=0-1%4",
            "#SBATCH --cpus-per-task=3",
            "#SBATCH --mem=6M",
            "#SBATCH --partition=long",
            "#SBATCH --account=me",
            "#SBATCH --time=1-0",
            "#SBATCH --qos=low",
            "  risky-road/sane/seed-1",
            "module load x",
            "exec /opt/sane suite task '/shared/my suite' \"$run\" --threads 3 --retries 1",
        ] {
            assert!(script.lines().any(|there| there == line), "{line} is not in\n{script}");
        }
        assert_eq!((jobs.len(), &jobs[0].runs), (1, &runs));
    }

    #[test]
    fn more_runs_than_an_array_holds_become_several_arrays() {
        let suite = suite("name = 's'\ngames = ['risky-road']\nagents = ['sane']\nseeds = [1]\n").unwrap();
        let runs: Vec<String> = (0..2 * ARRAY_SIZE + 1).map(|i| i.to_string()).collect();
        let needs = JobNeeds { program: "sane".into(), threads: 1, memory_bytes: 1, retries: 0, roms: None };
        let jobs = slurm_arrays(Path::new("/s"), &suite, &runs, &needs);
        assert_eq!(jobs.iter().map(|job| job.runs.len()).collect::<Vec<_>>(), [ARRAY_SIZE, ARRAY_SIZE, 1]);
        assert!(jobs[2].script.contains("--array=0-0"));
    }
}
