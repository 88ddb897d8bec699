//! Suites on Ray: an embedded launcher in Python makes each run a task of the cluster. A task whose node is lost is
//! restarted on another node and resumes from the run's checkpoint.

use crate::SuiteError;
use crate::cluster::{JobNeeds, shell_quoted};
use crate::expand::Suite;
use crate::folder::SuiteFolder;
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

/// The running launcher; dropping it cancels its tasks.
#[derive(Debug)]
pub struct RayLauncher {
    child: Child,
    messages: Receiver<LauncherMessage>,
}

/// A line of the launcher's output.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum LauncherMessage {
    /// A job has exited.
    Ended { run: String, code: i32 },
    /// Ray has abandoned a job.
    GivenUp { run: String, error: String },
    /// No job can be run.
    Refused { refused: String },
}

/// The input of the launcher: the jobs for these runs of the suite.
pub fn ray_jobs(folder: &Path, suite: &Suite, runs: &[String], needs: &JobNeeds) -> serde_json::Value {
    let jobs = runs.iter().map(|run| json!({ "run": run, "shell": needs.shell(suite, folder, &shell_quoted(run)) }));
    let jobs: Vec<_> = jobs.collect();
    json!({
        "address": suite.ray.address,
        "cpus": needs.threads,
        "memory_bytes": needs.memory_bytes,
        "jobs": jobs,
    })
}

impl RayLauncher {
    /// Starts it; its input and Python's log are in `ray/` of the suite's folder.
    pub fn start(folder: &SuiteFolder, suite: &Suite, jobs: &serde_json::Value) -> Result<Self, SuiteError> {
        let directory = folder.path.join("ray");
        fs::create_dir_all(&directory).map_err(SuiteError::io("create", &directory))?;
        let [script, spec, log] = ["launcher.py", "jobs.json", "log.txt"].map(|name| directory.join(name));
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
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            // Lines of Ray itself are skipped.
            let read = |line: std::io::Result<String>| serde_json::from_str::<LauncherMessage>(&line.ok()?).ok();
            lines.filter_map(read).try_for_each(|message| sender.send(message))
        });
        Ok(Self { child, messages })
    }

    /// Messages since the last call.
    pub fn messages(&self) -> Vec<LauncherMessage> {
        self.messages.try_iter().collect()
    }

    /// `None` while it runs, then whether it succeeded.
    pub fn ended(&mut self) -> Option<bool> {
        self.child.try_wait().ok().flatten().map(|status| status.success())
    }
}

impl Drop for RayLauncher {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // Ray cancels the tasks of a driver that exits; their processes save a checkpoint and stop.
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}
