//! Suites on Ray: a small launcher in Python, which is inside the program, makes each run a task of the cluster. A task
//! whose node is lost is tried again elsewhere and goes on from the run's checkpoint.

use super::SuiteError;
use super::expand::Suite;
use super::folder::SuiteFolder;
use super::slurm::JobNeeds;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

const LAUNCHER: &str = include_str!("ray_launcher.py");

/// The launcher at work; dropping it takes its tasks from the cluster.
#[derive(Debug)]
pub struct RayLauncher {
    child: Child,
    said: Receiver<Said>,
}

/// A line of the launcher.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Said {
    /// A job has ended.
    Ended {
        /// Its run.
        run: String,
        /// Its exit code.
        code: i32,
    },
    /// Ray has given a job up.
    GivenUp {
        /// Its run.
        run: String,
        /// What Ray said.
        error: String,
    },
    /// Nothing can be run.
    Refused {
        /// Why.
        refused: String,
    },
}

/// What the launcher is told: the jobs for these runs of the suite.
pub fn ray_jobs(folder: &Path, suite: &Suite, runs: &[String], needs: &JobNeeds) -> serde_json::Value {
    let jobs: Vec<_> = runs.iter().map(|run| json!({ "run": run, "shell": needs.shell(suite, folder, run) })).collect();
    json!({
        "address": suite.ray.address,
        "cpus": needs.threads,
        "memory_bytes": needs.memory_bytes,
        "jobs": jobs,
    })
}

impl RayLauncher {
    /// Starts it; what it is told and what Python says lie in the suite's folder.
    pub fn start(folder: &SuiteFolder, suite: &Suite, jobs: &serde_json::Value) -> Result<Self, SuiteError> {
        let place = folder.path.join("ray");
        fs::create_dir_all(&place).map_err(SuiteError::io("create", &place))?;
        let [script, spec, log] = ["launcher.py", "jobs.json", "log.txt"].map(|name| place.join(name));
        fs::write(&script, LAUNCHER).map_err(SuiteError::io("write", &script))?;
        fs::write(&spec, jobs.to_string()).map_err(SuiteError::io("write", &spec))?;
        let errors = fs::File::create(&log).map_err(SuiteError::io("write", &log))?;
        let python = suite.ray.python.as_deref().unwrap_or("python3");
        let started = Command::new(python)
            .args([&script, &spec])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn();
        let mut child = started.map_err(|error| {
            let reason = match error.kind() {
                ErrorKind::NotFound => format!("there is no {python} on this machine; name one in [ray] python"),
                _ => format!("{python} cannot be started: {error}"),
            };
            SuiteError::Cluster { engine: "Ray", reason }
        })?;
        let lines = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
        let (tell, said) = mpsc::channel();
        thread::spawn(move || {
            // What is not a line of ours (Ray greets, too) is passed over.
            let read = |line: std::io::Result<String>| serde_json::from_str::<Said>(&line.ok()?).ok();
            lines.filter_map(read).try_for_each(|said| tell.send(said))
        });
        Ok(Self { child, said })
    }

    /// What it has said since it was last asked.
    pub fn news(&self) -> Vec<Said> {
        self.said.try_iter().collect()
    }

    /// Whether it has ended, and if so, whether well.
    pub fn ended(&mut self) -> Option<bool> {
        self.child.try_wait().ok().flatten().map(|status| status.success())
    }
}

impl Drop for RayLauncher {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // A driver that ends takes its tasks with it; their processes are asked to save and stop.
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}
