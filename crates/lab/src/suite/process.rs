//! One process working on a run of a suite: started with its share of threads, watched, asked to stop, understood when it
//! ends.

use super::SuiteError;
use super::expand::{Suite, SuiteRun};
use super::scheduler::Crew;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// What a process does for its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// `sane train`.
    Train,
    /// `sane eval`.
    Evaluate,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With exit code 0.
    Well,
    /// The command line was refused: trying again cannot help.
    Refused(String),
    /// Anything else.
    Failed(String),
}

/// A process at work. Dropping it asks it to stop and waits until it has saved its checkpoint.
#[derive(Debug)]
pub struct RunProcess {
    /// What it does.
    pub stage: Stage,
    child: Child,
    asked: bool,
    log: PathBuf,
    log_start: u64,
}

impl RunProcess {
    /// Starts it. What it says goes to `log.txt` in the run's folder.
    pub fn start(stage: Stage, run: &SuiteRun, folder: &Path, suite: &Suite, crew: &Crew) -> Result<Self, SuiteError> {
        fs::create_dir_all(folder).map_err(SuiteError::io("create", folder))?;
        let path = folder.join("log.txt");
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        let log = opened.map_err(SuiteError::io("write", &path))?;
        let log_start = log.metadata().map_err(SuiteError::io("read", &path))?.len();
        let error_log = log.try_clone().map_err(SuiteError::io("write", &path))?;
        let threads = crew.threads.to_string();
        let mut command = Command::new(&crew.program);
        command.args(arguments(stage, run, folder, suite, crew)).args(["--threads", &threads]);
        // Worker threads of other libraries (of a Python environment, say) keep to the share as well.
        command.env("RAYON_NUM_THREADS", &threads).env("OMP_NUM_THREADS", &threads);
        // A group of its own: Ctrl-C reaches the suite alone, which then asks each run once; a second signal would kill it.
        command.process_group(0).stdin(Stdio::null()).stdout(log).stderr(error_log);
        let child = command.spawn().map_err(SuiteError::io("start", &crew.program))?;
        Ok(Self { stage, child, asked: false, log: path, log_start })
    }

    /// Its number in the system.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn poll(&mut self) -> Option<Ended> {
        match self.child.try_wait() {
            Ok(Some(status)) => Some(self.understood(status)),
            Ok(None) => None,
            Err(error) => Some(Ended::Failed(format!("its process was lost: {error}"))),
        }
    }

    /// Asks it to save a checkpoint and stop. Once only: a second time would end it at once.
    pub fn ask_to_stop(&mut self) {
        if !self.asked {
            self.asked = true;
            // A process that is gone already needs no asking.
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
    }

    fn understood(&self, status: ExitStatus) -> Ended {
        if status.success() {
            return Ended::Well;
        }
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (_, Some(signal)) => format!("killed by signal {signal}"),
            _ => "ended without a word".into(),
        };
        let said = last_error(&self.log, self.log_start);
        let reason = said.unwrap_or_else(|| format!("{how}, see {}", self.log.display()));
        if status.code() == Some(2) { Ended::Refused(reason) } else { Ended::Failed(reason) }
    }
}

impl Drop for RunProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.ask_to_stop();
            // Nothing is left to do for a process that cannot be waited for.
            let _ = self.child.wait();
        }
    }
}

fn arguments(stage: Stage, run: &SuiteRun, folder: &Path, suite: &Suite, crew: &Crew) -> Vec<String> {
    let folder = folder.to_string_lossy().into_owned();
    let mut arguments = match stage {
        Stage::Train => [run.train_arguments(), vec!["--out".into(), folder]].concat(),
        Stage::Evaluate => {
            let evaluation = &suite.evaluation;
            let (interactions, seed) = (evaluation.interactions.to_string(), evaluation.start_seed.to_string());
            let noise = evaluation.noise.argument().unwrap_or("off");
            let words = ["eval", &folder, "--noise", noise, "--interactions", &interactions, "--start-seed", &seed];
            words.map(str::to_owned).to_vec()
        }
    };
    if let Some(roms) = &crew.roms {
        arguments.extend(["--roms".to_owned(), roms.to_string_lossy().into_owned()]);
    }
    arguments
}

/// The last error that was written into the log since `start`.
fn last_error(log: &Path, start: u64) -> Option<String> {
    let mut file = File::open(log).ok()?;
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.lines().rev().find_map(|line| line.strip_prefix("error: ").map(str::to_owned))
}
