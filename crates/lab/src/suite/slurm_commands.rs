//! What is asked of Slurm: whether a job can run at all, to take it, how it stands, to end it.

use super::SuiteError;
use super::folder::SuiteFolder;
use super::slurm::{JobNeeds, SlurmJob, Submitted};
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

/// Whether some node of the partition can take such a job; Slurm would leave it in the queue for ever.
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
    let is_meant = |name: &str| match partition {
        Some(partition) => name.trim_end_matches('*') == partition,
        None => name.ends_with('*'),
    };
    let meant: Vec<_> = nodes.iter().filter(|(name, ..)| is_meant(name)).collect();
    let mut names: Vec<&str> = nodes.iter().map(|(name, ..)| name.trim_end_matches('*')).collect();
    names.sort_unstable();
    names.dedup();
    if meant.is_empty() {
        let asked = partition.map_or("no default partition".to_owned(), |name| format!("no partition {name}"));
        let reason = format!("this cluster has {asked}; it has {}: say one in [slurm] partition", names.join(", "));
        return Err(SuiteError::Cluster { engine: "Slurm", reason });
    }
    let fits = meant.iter().any(|(_, memory, cores)| needs.memory_bytes <= *memory && needs.threads <= *cores);
    if fits {
        return Ok(());
    }
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let plural = |count: usize| if count == 1 { "1 core".to_owned() } else { format!("{count} cores") };
    let (memory, cores) = (meant.iter().map(|node| node.1).max(), meant.iter().map(|node| node.2).max());
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

/// Submits an array and remembers it in the suite's folder.
pub fn submit(folder: &SuiteFolder, job: &SlurmJob) -> Result<Submitted, SuiteError> {
    let logs = folder.path.join("slurm");
    fs::create_dir_all(&logs).map_err(SuiteError::io("create", &logs))?;
    let answer = slurm("sbatch", &["--parsable"], Some(&job.script))?;
    // With several clusters, `--parsable` appends the cluster's name.
    let number = answer.trim().split(';').next().unwrap_or_default().to_owned();
    let submitted = Submitted { job: number, runs: job.runs.clone() };
    let mut all = folder.submitted()?;
    all.push(submitted.clone());
    folder.write_submitted(&all)?;
    Ok(submitted)
}

/// The runs that Slurm still has, with their state there and why they wait.
pub fn queue(submitted: &[Submitted]) -> Result<BTreeMap<String, (String, String)>, SuiteError> {
    let mut found = BTreeMap::new();
    // All jobs of the user: asked for one that it has forgotten, squeue would fail.
    let answer = slurm("squeue", &["--me", "--noheader", "--array", "--format=%F|%K|%T|%r"], None)?;
    for line in answer.lines() {
        let mut words = line.split('|');
        let (Some(job), Some(task), Some(state), Some(why)) = (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let array = submitted.iter().find(|array| array.job == job.trim());
        let run = array.zip(task.trim().parse::<usize>().ok()).and_then(|(array, place)| array.runs.get(place));
        if let Some(run) = run {
            found.insert(run.clone(), (state.trim().to_owned(), why.trim().to_owned()));
        }
    }
    Ok(found)
}

/// Ends the jobs: those that run save a checkpoint, none is queued again.
pub fn cancel(submitted: &[Submitted]) -> Result<(), SuiteError> {
    let jobs: Vec<&str> = submitted.iter().map(|array| array.job.as_str()).collect();
    if jobs.is_empty() {
        return Ok(());
    }
    // Full: the script's shell and the program alike get the signal.
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
        // A command that does not read what it is given says why below.
        let _ = pipe.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(format!("{command} was lost: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(failed(format!("{command} refuses: {said}")))
}
