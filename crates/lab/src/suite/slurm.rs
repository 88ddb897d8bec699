//! Suites on Slurm, by its own commands: an array of jobs, each of which works on one run; a job that is warned of its time
//! limit saves a checkpoint and is queued again, one whose node is lost is queued again by Slurm.

use super::cluster_file::quoted;
use super::expand::Suite;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Jobs of one array; more than any cluster's own limit would be refused by it.
const ARRAY: usize = 1000;

/// What is submitted: one array of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmJob {
    /// The runs, in the order of the array.
    pub runs: Vec<String>,
    /// The script for `sbatch`.
    pub script: String,
}

/// An array that was submitted, as the suite's folder remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Slurm's number of it.
    pub job: String,
    /// The runs, in the order of the array.
    pub runs: Vec<String>,
}

/// What a job needs and how it is started.
#[derive(Debug, Clone)]
pub struct JobNeeds {
    /// The program, as the nodes see it unless the suite names another.
    pub program: PathBuf,
    /// Worker threads, each on a core of its own.
    pub threads: usize,
    /// Memory of the largest run.
    pub memory_bytes: u64,
    /// How often a failed run is tried again.
    pub retries: u32,
    /// Folder with Atari ROMs, looked at before all others.
    pub roms: Option<PathBuf>,
}

impl JobNeeds {
    /// The shell lines of a job: what is set up first, then the work on one run.
    pub fn shell(&self, suite: &Suite, folder: &Path, run: &str) -> String {
        let mut arguments: Vec<String> =
            ["suite", "task", &folder.display().to_string(), run].map(str::to_owned).to_vec();
        arguments.extend(["--threads".to_owned(), self.threads.to_string()]);
        arguments.extend(["--retries".to_owned(), self.retries.to_string()]);
        if let Some(roms) = &self.roms {
            arguments.extend(["--roms".to_owned(), roms.display().to_string()]);
        }
        suite.cluster.shell(&self.program.display().to_string(), &arguments)
    }
}

/// The arrays that would be submitted for these runs of the suite.
pub fn slurm_jobs(folder: &Path, suite: &Suite, runs: &[String], needs: &JobNeeds) -> Vec<SlurmJob> {
    let script = |(part, runs): (usize, &[String])| {
        let list = runs.iter().map(|run| quoted(run)).collect::<Vec<_>>().join("\n  ");
        SlurmJob { runs: runs.to_vec(), script: script(folder, suite, part, runs.len(), &list, needs) }
    };
    runs.chunks(ARRAY).enumerate().map(script).collect()
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
        format!("--output={}", folder.join("slurm").join("%A_%a.log").display()),
    ];
    let named = [("partition", &slurm.partition), ("account", &slurm.account), ("time", &slurm.time)];
    options.extend(named.into_iter().filter_map(|(key, value)| Some(format!("--{key}={}", value.as_ref()?))));
    options.extend(slurm.options.iter().cloned());
    let options = options.iter().map(|option| format!("#SBATCH {option}")).collect::<Vec<_>>().join("\n");
    let shell = needs.shell(suite, folder, RUN).replace(&quoted(RUN), "\"$run\"");
    let about = format!("# Part {part} of the suite {}: each job of the array works on one run.", suite.name);
    format!(
        "#!/bin/bash\n{options}\n{about}\nruns=(\n  {list}\n)\nrun=${{runs[$SLURM_ARRAY_TASK_ID]}}\n{}",
        TAIL.replace("@SHELL@", &shell)
    )
}

/// Stands for the run in the one script of all jobs.
const RUN: &str = "@RUN@";

/// Warned of its time limit (USR1), the job has its run saved and queues itself again. Cancelling sends TERM, which does
/// the first and not the second; the shell passes over it, so that it ends after the program and not before.
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

#[cfg(test)]
mod tests {
    use super::super::expand::tests::suite;
    use super::*;

    #[test]
    fn a_job_asks_for_what_its_run_needs_and_does_what_the_suite_says() {
        let text = "name = 's'\nbudget = 500\ngames = ['risky-road']\nagents = ['sane']\nseeds = [1, 2]\n\
            [cluster]\nsetup = ['module load x']\nprogram = '/opt/sane'\n\
            [slurm]\npartition = 'long'\naccount = 'me'\ntime = '1-0'\nat_once = 4\noptions = ['--qos=low']\n";
        let suite = suite(text).unwrap();
        let runs: Vec<String> = suite.runs.iter().map(|run| run.id.clone()).collect();
        let (threads, memory_bytes) = (3, (5 << 20) + 1);
        let needs = JobNeeds { program: "sane".into(), threads, memory_bytes, retries: 1, roms: None };
        let jobs = slurm_jobs(Path::new("/shared/my suite"), &suite, &runs, &needs);
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
        let runs: Vec<String> = (0..2 * ARRAY + 1).map(|i| i.to_string()).collect();
        let needs = JobNeeds { program: "sane".into(), threads: 1, memory_bytes: 1, retries: 0, roms: None };
        let jobs = slurm_jobs(Path::new("/s"), &suite, &runs, &needs);
        assert_eq!(jobs.iter().map(|job| job.runs.len()).collect::<Vec<_>>(), [ARRAY, ARRAY, 1]);
        assert!(jobs[2].script.contains("--array=0-0"));
    }
}
