//! `results.csv`: one line per finished run and noise mode, written anew after each run.

use super::SuiteError;
use super::expand::Suite;
use super::folder::SuiteFolder;
use super::standing::Standing;

const HEADER: &str = "variant,game,agent,seed,trained_interactions,training_return_last_100,noise,return_mean,return_std,\
    return_median,interval_95_low,interval_95_high,human_normalised,episodes,interactions,run";

/// The results of all runs of the suite that are done.
pub fn csv(folder: &SuiteFolder, suite: &Suite) -> Result<String, SuiteError> {
    let mut text = format!("{HEADER}\n");
    for run in &suite.runs {
        let (path, config) = (folder.run(run), &run.config);
        let standing = Standing::read(&path, config);
        if !standing.trained {
            continue;
        }
        let (evaluations, complete) = Standing::evaluations(&path, config, &suite.evaluation)?;
        if !complete {
            continue;
        }
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let start = [
            run.variant.clone().unwrap_or_default(),
            config.world.name.clone(),
            config.agent.clone(),
            config.seed.to_string(),
            config.training.total_interactions.0.to_string(),
            number(standing.mean_return),
        ]
        .map(|cell| quoted(&cell))
        .join(",");
        let end = quoted(&run.id);
        if evaluations.is_empty() {
            text += &format!("{start},,,,,,,,,,{end}\n");
        }
        for evaluation in evaluations {
            let [low, high] = evaluation.return_mean_interval_95;
            text += &format!(
                "{start},{},{},{},{},{low},{high},{},{},{},{end}\n",
                evaluation.noise,
                evaluation.return_mean,
                evaluation.return_std,
                evaluation.return_median,
                number(evaluation.human_normalised),
                evaluation.episodes,
                evaluation.interactions,
            );
        }
    }
    Ok(text)
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.into() }
}
