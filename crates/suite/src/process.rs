//! The process of a run: started with its share of threads, polled, sent the stop signal, its exit status interpreted.

use crate::SuiteError;
use crate::expand::{Suite, SuiteRun};
use crate::scheduler::SchedulerOptions;
use rustix::process::{Pid, Signal, kill_process};
use sane_lab::EvaluationLock;
use sane_record::require_plain;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// The subcommand a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// `sane train`.
    Train,
    /// `sane eval`.
    Evaluate,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// Exit code 0.
    Success,
    /// Exit code 2 or 3: the command line is wrong, or the run diverged; a restart would end in the same way.
    Final(String),
    /// Any other exit code, or a signal.
    Failed(String),
}

/// A running process. Dropping it sends the stop signal and waits until the checkpoint is saved.
#[derive(Debug)]
pub struct RunProcess {
    pub stage: Stage,
    child: Child,
    stop_sent: bool,
    log: PathBuf,
    log_start: u64,
}

impl RunProcess {
    /// Starts it; its output goes to `log.txt` in the run's folder.
    pub fn start(
        stage: Stage,
        run: &SuiteRun,
        folder: &Path,
        suite: &Suite,
        options: &SchedulerOptions,
    ) -> Result<Self, SuiteError> {
        fs::create_dir_all(folder).map_err(SuiteError::io("create", folder))?;
        let path = folder.join("log.txt");
        require_plain(&path).map_err(SuiteError::io("write", &path))?;
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        let log = opened.map_err(SuiteError::io("write", &path))?;
        let log_start = log.metadata().map_err(SuiteError::io("read", &path))?.len();
        let error_log = log.try_clone().map_err(SuiteError::io("write", &path))?;
        let threads = options.threads.to_string();
        let mut command = Command::new(&options.program);
        command.args(arguments(stage, run, folder, suite, options)).args(["--threads", &threads]);
        // Limits the worker threads of other libraries, those of a Python environment for example.
        command.env("RAYON_NUM_THREADS", &threads).env("OMP_NUM_THREADS", &threads);
        // Its own process group: Ctrl-C reaches the suite alone, which sends each run one signal; a second would kill it.
        command.process_group(0).stdin(input(stage, folder)).stdout(log).stderr(error_log);
        let child = command.spawn().map_err(SuiteError::io("start", &options.program))?;
        Ok(Self { stage, child, stop_sent: false, log: path, log_start })
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, or `None` while it runs.
    pub fn poll(&mut self) -> Option<Exit> {
        match self.child.try_wait() {
            Ok(Some(status)) => Some(self.exit(status)),
            Ok(None) => None,
            Err(error) => Some(Exit::Failed(format!("its process was lost: {error}"))),
        }
    }

    /// Sends the stop signal, upon which it saves a checkpoint and exits. Sent once: a second signal kills at once.
    pub fn request_stop(&mut self) {
        if !self.stop_sent {
            self.stop_sent = true;
            // The process may have exited already.
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
    }

    fn exit(&self, status: ExitStatus) -> Exit {
        if status.success() {
            return Exit::Success;
        }
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (_, Some(signal)) => format!("killed by signal {signal}"),
            _ => "exited without a status".into(),
        };
        let error = last_error(&self.log, self.log_start);
        let reason = error.unwrap_or_else(|| format!("{how}, see {}", self.log.display()));
        if matches!(status.code(), Some(2 | 3)) { Exit::Final(reason) } else { Exit::Failed(reason) }
    }
}

impl Drop for RunProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.request_stop();
            // Drop cannot report an error of waiting.
            let _ = self.child.wait();
        }
    }
}

/// Nothing is read from it. An evaluation is announced by it before it begins: if this process is killed, the next one that
/// runs the suite finds the evaluation at whatever point it is.
fn input(stage: Stage, folder: &Path) -> Stdio {
    let announced = (stage == Stage::Evaluate).then(|| EvaluationLock::announce(folder)).flatten();
    announced.map_or_else(Stdio::null, Stdio::from)
}

fn arguments(stage: Stage, run: &SuiteRun, folder: &Path, suite: &Suite, options: &SchedulerOptions) -> Vec<String> {
    let folder = folder.to_string_lossy().into_owned();
    let mut arguments = match stage {
        Stage::Train => [run.train_arguments(), vec!["--from-suite".into(), "--out".into(), folder]].concat(),
        Stage::Evaluate => {
            let evaluation = &suite.evaluation;
            let (interactions, seed) = (evaluation.interactions.to_string(), evaluation.start_seed.to_string());
            let noise = evaluation.noise.argument().unwrap_or("off");
            let words = ["eval", &folder, "--noise", noise, "--interactions", &interactions, "--start-seed", &seed];
            words.map(str::to_owned).to_vec()
        }
    };
    if let Some(roms) = &options.roms {
        arguments.extend(["--roms".to_owned(), roms.to_string_lossy().into_owned()]);
    }
    arguments
}

/// Bytes at the end of a log in which the error that ended the process is found.
const LOG_TAIL_BYTES: u64 = 1 << 20;

/// The last line `error: …` of the log after the byte `start`.
fn last_error(log: &Path, start: u64) -> Option<String> {
    let mut file = File::open(log).ok()?;
    let start = start.max(file.metadata().ok()?.len().saturating_sub(LOG_TAIL_BYTES));
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.lines().rev().find_map(|line| line.strip_prefix("error: ").map(str::to_owned))
}
