//! A suite and its runs, as read from a suite file; what to type to make one of them by hand.

use super::SuiteError;
use super::cluster_file::{ClusterFile, RayFile, SlurmFile};
use super::document::Document;
use super::file::{EvaluationFile, Resources, SuiteFile};
use super::part::Part;
use crate::config::RunConfig;
use crate::preset::Preset;
use std::path::Path;
use toml::{Table, Value};

/// A suite, ready to be run.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// What question it answers.
    pub about: String,
    /// Its runs: variant by variant; within one, the first seed of all games and agents comes first.
    pub runs: Vec<SuiteRun>,
    /// How finished runs are measured.
    pub evaluation: EvaluationFile,
    /// What a run may take of the machine.
    pub resources: Resources,
    /// What a job does before its run, on any cluster.
    pub cluster: ClusterFile,
    /// What is said to Slurm.
    pub slurm: SlurmFile,
    /// What is said to Ray.
    pub ray: RayFile,
    /// The file it was read from, as written.
    pub text: String,
}

/// One run of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteRun {
    /// Its name, and its folder below the suite's: `[variant/]game/agent/seed-S`.
    pub id: String,
    /// The variant, where the suite names some.
    pub variant: Option<String>,
    /// Where its settings start.
    pub preset: Preset,
    /// What is set on top, as `--set` takes it.
    pub assignments: Vec<String>,
    /// What it comes to.
    pub config: RunConfig,
}

impl Suite {
    /// The suite in this file.
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        Self::of(&Document::read(path)?)
    }

    pub(crate) fn of(document: &Document) -> Result<Self, SuiteError> {
        let file = SuiteFile::parse(document)?;
        let mut runs = Vec::new();
        if file.variants.is_empty() {
            Part { document, file: &file, variant: None }.expand(&mut runs)?;
        }
        for (i, variant) in file.variants.iter().enumerate() {
            Part { document, file: &file, variant: Some((i, variant)) }.expand(&mut runs)?;
        }
        let SuiteFile { name, about, evaluation, resources, cluster, slurm, ray, .. } = file;
        Ok(Self { name, about, runs, evaluation, resources, cluster, slurm, ray, text: document.text.clone() })
    }
}

impl SuiteRun {
    /// `sane train` with the arguments that make this run.
    pub fn train_arguments(&self) -> Vec<String> {
        let config = &self.config;
        let mut arguments = vec!["train".to_owned(), config.world.name.clone()];
        for (flag, value) in [
            ("--agent", config.agent.clone()),
            ("--seed", config.seed.to_string()),
            ("--steps", config.training.total_interactions.0.to_string()),
            ("--preset", self.preset.name().to_owned()),
        ] {
            arguments.extend([flag.to_owned(), value]);
        }
        arguments.extend(self.assignments.iter().flat_map(|text| ["--set".to_owned(), text.clone()]));
        arguments
    }
}

/// One assignment per key; a choice with its `kind` stays together, since its data make sense only with it.
pub(super) fn assignments(prefix: &str, table: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.contains_key("kind") => {
                found.extend(assignments(&format!("{prefix}{key}."), inner));
            }
            other => found.push(format!("{prefix}{key}={other}")),
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::config::Layers;

    const SMALL: &str = "name = 'small'\nbudget = 500\ngames = ['minatar/breakout', 'risky-road']\n\
        agents = ['sane', 'q-sane']\nseeds = [1, 2]\n";

    pub(crate) fn suite(text: &str) -> Result<Suite, SuiteError> {
        Suite::of(&Document { path: "s.toml".into(), text: text.into() })
    }

    fn check_refused(text: &str, said: &str) {
        let error = suite(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}\nexpected: {said}");
    }

    #[test]
    fn a_suite_is_every_game_with_every_agent_and_seed() {
        let suite = suite(SMALL).unwrap();
        let ids: Vec<_> = suite.runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids.len(), 8);
        assert_eq!(
            ids[..3],
            ["minatar/breakout/sane/seed-1", "minatar/breakout/q-sane/seed-1", "risky-road/sane/seed-1"]
        );
        assert!(suite.runs.iter().all(|run| run.config.training.total_interactions.0 == 500));
    }

    #[test]
    fn a_variant_has_its_own_lists_and_its_settings_win() {
        let text = format!(
            "{SMALL}[set]\nlearner.gamma = 0.9\n[[variant]]\nname = 'base'\n[[variant]]\nname = 'low'\n\
             agents = ['eps-greedy']\nseeds = [7]\nbudget = 600\nset.learner.gamma = 0.5\n"
        );
        let suite = suite(&text).unwrap();
        assert_eq!(suite.runs.len(), 8 + 2);
        let last = suite.runs.last().unwrap();
        assert_eq!((last.id.as_str(), last.config.learner.gamma), ("low/risky-road/eps-greedy/seed-7", 0.5));
        assert_eq!((suite.runs[0].config.learner.gamma, last.config.training.total_interactions.0), (0.9, 600));
    }

    #[test]
    fn what_to_type_gives_the_configuration_of_the_run() {
        let text = format!(
            "{SMALL}[set]\nlearner.objective = {{ kind = 'elbo', kl_weight = 0.25 }}\n\
             learner.exploration.module.hidden = [32, 16]\nreplay.rewards = 'raw'\n"
        );
        for run in suite(&text).unwrap().runs {
            let arguments = run.train_arguments();
            let mut layers = Layers::default();
            for pair in arguments[2..].chunks(2) {
                match pair[0].as_str() {
                    "--set" => layers.assignment(&pair[1]).unwrap(),
                    "--seed" => layers.assignment(&format!("seed={}", pair[1])).unwrap(),
                    "--steps" => layers.assignment(&format!("training.total_interactions={}", pair[1])).unwrap(),
                    _ => {}
                }
            }
            let base = run.preset.config(&arguments[1], &run.config.agent).unwrap();
            assert_eq!(layers.apply(&base).unwrap(), run.config);
        }
    }

    #[test]
    fn slips_are_named_with_their_line() {
        check_refused(&SMALL.replace("'risky-road'", "'minatar/brekout'"), "s.toml:3: ");
        check_refused(&SMALL.replace("risky-road", "boxng"), "s.toml:3: unknown world boxng; did you mean boxing?");
        check_refused(&SMALL.replace("q-sane", "qsane"), "s.toml:4: unknown agent qsane; did you mean q-sane?");
        check_refused(&SMALL.replace("[1, 2]", "[1, 1]"), "s.toml:5: the seed 1 stands there twice");
        check_refused(&SMALL.replace("[1, 2]", "[]"), "s.toml:5: no seeds");
        check_refused(&SMALL.replace("500", "0"), "s.toml:2: training.total_interactions = 0");
        check_refused(&SMALL.replace("budget", "budgt"), "s.toml:2: unknown field `budgt`");
        check_refused(&format!("{SMALL}preset = 'papr'\n"), "s.toml:6: unknown preset papr; did you mean paper?");
        check_refused(&format!("{SMALL}[set]\nlearner.gama = 1\n"), "s.toml:7: unknown key learner.gama");
        check_refused(&format!("{SMALL}[set]\nlearner.gamma = 2.0\n"), "s.toml:7: ");
        check_refused(&format!("{SMALL}[set]\nseed = 3\n"), "s.toml:7: seed is not for `set`");
        let epsilon = "[set]\nlearner.gamma = 0.9\nlearner.exploration.epsilon.last = 0.1\n";
        check_refused(&format!("{SMALL}{epsilon}"), "s.toml:8: ");
        check_refused(&format!("{SMALL}[evaluation]\nnoise = 'loud'\n"), "s.toml:7: unknown variant `loud`");
        check_refused(&SMALL.replace("small", "../small"), "s.toml:1: the name \"../small\"");
    }

    #[test]
    fn two_variants_that_come_to_the_same_are_refused() {
        let text = format!("{SMALL}[[variant]]\nname = 'a'\n[[variant]]\nname = 'b'\nset.learner.gamma = 0.99\n");
        check_refused(&text, "s.toml:9: the variants a and b give the same run of minatar/breakout sane seed 1");
        check_refused(
            &text.replace("'b'", "'a'"),
            "s.toml:9: the run a/minatar/breakout/sane/seed-1 stands there twice",
        );
    }
}
