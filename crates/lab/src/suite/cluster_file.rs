//! The tables of a suite file that are for clusters: what a job needs beside its run.

use super::SuiteError;
use super::document::Document;
use serde::{Deserialize, Serialize};

/// What a job does before its run, on any cluster.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterFile {
    /// The program `sane` as the nodes see it; the one that submits if left out.
    pub program: Option<String>,
    /// Image of a container to run it in, by `apptainer exec`.
    pub image: Option<String>,
    /// Lines of shell to set up the environment.
    pub setup: Vec<String>,
}

/// What is said to Slurm.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmFile {
    /// Partition; Slurm's default if left out.
    pub partition: Option<String>,
    /// Account.
    pub account: Option<String>,
    /// Time limit of a job as Slurm writes it, `1-12:00:00`; a run that takes longer goes on in the next job.
    pub time: Option<String>,
    /// Runs side by side at most.
    pub at_once: Option<u32>,
    /// Further options of `sbatch`, as typed.
    pub options: Vec<String>,
}

/// What is said to Ray.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RayFile {
    /// Address of the cluster; the one this machine belongs to if left out.
    pub address: Option<String>,
    /// The Python that has the package `ray`.
    pub python: Option<String>,
}

impl ClusterFile {
    /// The shell lines that do `sane` with these arguments: what is set up first, then the program, in its image.
    pub fn shell(&self, program: &str, arguments: &[String]) -> String {
        let mut words: Vec<String> = Vec::new();
        if let Some(image) = &self.image {
            words.extend(["apptainer", "exec", image].map(str::to_owned));
        }
        words.push(self.program.clone().unwrap_or_else(|| program.to_owned()));
        words.extend(arguments.iter().cloned());
        let command = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        self.setup.iter().cloned().chain([format!("exec {command}")]).collect::<Vec<_>>().join("\n")
    }
}

impl SlurmFile {
    /// Seconds before its time limit that a job is warned: enough to write a checkpoint of any size, but a part of the limit
    /// only, so that it comes forward at all.
    pub fn warning_seconds(&self) -> u64 {
        self.time.as_deref().and_then(seconds).map_or(120, |limit| (limit / 4).clamp(1, 120))
    }

    /// Refuses what would change the meaning of the job script.
    pub fn check(&self, document: &Document) -> Result<(), SuiteError> {
        let words = [("partition", &self.partition), ("account", &self.account), ("time", &self.time)];
        for (key, word) in words {
            let is_word = |word: &String| !word.is_empty() && !word.contains(|c: char| c.is_whitespace());
            if word.as_ref().is_some_and(|word| !is_word(word)) {
                let place = document.place(&["slurm".into(), key.into()]);
                return Err(SuiteError::Format { place, reason: format!("{key} is one word without spaces") });
            }
        }
        if self.time.as_deref().is_some_and(|time| seconds(time).is_none_or(|seconds| seconds == 0)) {
            let place = document.place(&["slurm".into(), "time".into()]);
            let reason = "expected a time limit as Slurm writes it: minutes, hours:minutes:seconds, days-hours".into();
            return Err(SuiteError::Format { place, reason });
        }
        if let Some(i) = self.options.iter().position(|option| !option.starts_with('-') || option.contains('\n')) {
            let place = document.place(&["slurm".into(), "options".into(), i.into()]);
            let reason = "an option of sbatch begins with -, as --qos=long".into();
            return Err(SuiteError::Format { place, reason });
        }
        if self.at_once == Some(0) {
            let place = document.place(&["slurm".into(), "at_once".into()]);
            return Err(SuiteError::Format { place, reason: "at least one run at once".into() });
        }
        Ok(())
    }
}

/// A time limit of Slurm: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`.
fn seconds(time: &str) -> Option<u64> {
    let (days, rest) = time.split_once('-').map_or((None, time), |(days, rest)| (Some(days), rest));
    let numbers: Vec<u64> = rest.split(':').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let units: &[u64] = match (days, numbers.len()) {
        (Some(_), 1..=3) | (None, 3) => &[3600, 60, 1],
        (None, 1 | 2) => &[60, 1],
        _ => return None,
    };
    let days = days.map_or(Some(0), |days| days.parse::<u64>().ok())?;
    Some(86_400 * days + numbers.iter().zip(units).map(|(number, unit)| number * unit).sum::<u64>())
}

/// A word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limits_are_read_as_slurm_reads_them() {
        let cases = [("90", 5400), ("1:30", 90), ("2:00:01", 7201), ("1-12", 129_600), ("1-0:30", 88_200)];
        cases.iter().for_each(|(text, expected)| assert_eq!(seconds(text), Some(*expected), "{text}"));
        assert_eq!(["", "1h", "1-", "1:2:3:4"].map(seconds), [None; 4]);
        let warned = |time: &str| SlurmFile { time: Some(time.into()), ..SlurmFile::default() }.warning_seconds();
        assert_eq!((warned("1"), warned("1-0"), SlurmFile::default().warning_seconds()), (15, 120, 120));
    }

    #[test]
    fn the_environment_is_set_up_before_the_program_runs_in_its_image() {
        let cluster = ClusterFile {
            program: None,
            image: Some("images/sane v1.sif".into()),
            setup: vec!["module load gcc".into()],
        };
        let shell = cluster.shell("/opt/sane", &["suite".into(), "it's".into()]);
        assert_eq!(shell, "module load gcc\nexec apptainer exec 'images/sane v1.sif' /opt/sane suite 'it'\\''s'");
    }
}
