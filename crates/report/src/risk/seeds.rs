//! Audits of several runs as one result: how well each number predicts the risk, with intervals over seeds, and the laws of
//! the noise for each agent. An agent is one name with one set of settings; its runs differ by their seeds.

use super::analysis::{MeasureAnalysis, NamedPrediction, Prediction, Predictor, RiskAnalysis, RiskMeasure};
use super::audit::{flip_remark, law_remarks, same_sigma_remark};
use super::flip_law::FlipLaw;
use super::law_figure::{LAWS, law_figure};
use super::laws::{NoiseLaws, law_points};
use crate::agent::{Agent, Look};
use crate::data::Data;
use crate::figures::file_part;
use crate::page::{html_page, remarks_html};
use crate::plot::{Axis, EstimateRow, Panel, Scene, TickStyle, Weight, escape, text_width, to_svg};
use crate::set_aside::{SetAside, without_repeats};
use crate::{Figure, OutputFile, RecordedRun, ReportError, Table};
use sane_record::RiskAudit;
use sane_stats::number_format::{counted, hundredths, percent, range, scientific};
use sane_stats::{Estimate, LinearFit, Scores, bootstrap, mean};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The audit of one run, with the settings of that run.
#[derive(Debug, Clone)]
pub struct AuditedRun {
    pub audit: RiskAudit,
    pub analysis: RiskAnalysis,
    /// What its folder says about it, as far as the audited policy was trained.
    recorded: RecordedRun,
}

impl AuditedRun {
    /// `run` is what the run's folder says about it.
    pub fn new(audit: RiskAudit, analysis: RiskAnalysis, run: RecordedRun) -> Self {
        let recorded = RecordedRun { reached_interactions: audit.subject.trained_interactions, ..run };
        Self { audit, analysis, recorded }
    }
}

/// Audits of several runs.
#[derive(Debug, Clone)]
pub struct SeedAudits {
    /// By world, the paper's agents first.
    pub agents: Vec<AuditedAgent>,
    /// Runs that are in no table, and why.
    pub set_aside: Vec<SetAside>,
}

/// How well a predictor ranks the states of a run by their risk.
type Score = fn(Prediction) -> Option<Estimate>;

const AUC: Score = |found| found.auc;
const SPEARMAN: Score = |found| found.spearman;

/// One agent in one world.
#[derive(Debug, Clone)]
pub struct AuditedAgent {
    pub world: String,
    /// Its name, with the settings in which it differs from other variants.
    pub label: String,
    pub look: Look,
    /// By seed.
    pub runs: Vec<AuditedRun>,
}

/// A number of a run.
type Pick<'a> = &'a dyn Fn(&AuditedRun) -> Option<f64>;

impl AuditedAgent {
    /// The mean over seeds with its 95 % interval over seeds; none where no run has the number.
    pub fn over_seeds(&self, pick: Pick<'_>) -> Option<Estimate> {
        let values: Vec<f64> = self.runs.iter().filter_map(pick).collect();
        let scores = Scores(vec![values]);
        (!scores.0[0].is_empty()).then(|| bootstrap(&[&scores], |drawn| mean(&drawn[0].0[0])))
    }

    /// The AUC of a predictor over seeds.
    pub fn auc(&self, measure: RiskMeasure, predictor: Predictor) -> Option<Estimate> {
        self.score(measure, predictor, AUC)
    }

    /// Its rank correlation with the risk over seeds.
    pub fn spearman(&self, measure: RiskMeasure, predictor: Predictor) -> Option<Estimate> {
        self.score(measure, predictor, SPEARMAN)
    }

    fn score(&self, measure: RiskMeasure, predictor: Predictor, score: Score) -> Option<Estimate> {
        self.over_seeds(&|run| score(prediction(run, measure, predictor)?).map(|found| found.point))
    }

    /// Seeds in which a score of a predictor can be computed: for the AUC those with states of both kinds, for the rank
    /// correlation those in which neither the risk nor the predictor is the same in all states.
    fn seeds_with(&self, measure: RiskMeasure, predictor: Predictor, score: Score) -> usize {
        let has_score = |run: &&AuditedRun| prediction(run, measure, predictor).and_then(score).is_some();
        self.runs.iter().filter(has_score).count()
    }

    fn measures(&self) -> Vec<RiskMeasure> {
        self.runs.first().map_or(Vec::new(), |run| run.analysis.measures.iter().map(|m| m.measure).collect())
    }

    fn predictors(&self, measure: RiskMeasure) -> Vec<Predictor> {
        let of_run = |run: &AuditedRun| measured(run, measure).map(MeasureAnalysis::predictions);
        let named = self.runs.iter().find_map(of_run).unwrap_or_default();
        named.iter().map(|named| named.predictor).collect()
    }

    fn audits(&self) -> Vec<&RiskAudit> {
        self.runs.iter().map(|run| &run.audit).collect()
    }

    /// The laws on the states of all seeds together.
    pub fn laws(&self) -> Option<NoiseLaws> {
        NoiseLaws::of(&self.runs.iter().flat_map(|run| law_points(&run.audit)).collect::<Vec<_>>())
    }

    /// The law of changed actions on the states of all seeds together.
    pub fn flip_law(&self) -> Option<FlipLaw> {
        FlipLaw::of(self.audits())
    }
}

fn measured(run: &AuditedRun, measure: RiskMeasure) -> Option<&MeasureAnalysis> {
    run.analysis.measures.iter().find(|measured| measured.measure == measure)
}

fn prediction(run: &AuditedRun, measure: RiskMeasure, predictor: Predictor) -> Option<Prediction> {
    let predictions = measured(run, measure)?.predictions();
    predictions.into_iter().find(|named| named.predictor == predictor).map(|named| named.prediction)
}

impl SeedAudits {
    /// Groups the runs, each once: those that repeat another one are set aside. Whatever can change what a run learns, its
    /// budget, replay and network included, makes it a row of its own.
    pub fn of(runs: Vec<AuditedRun>, mut set_aside: Vec<SetAside>) -> Self {
        let (mut runs, repeated) = without_repeats(runs, |run| &run.recorded);
        set_aside.extend(repeated);
        runs.sort_by_key(|run| run.recorded.seed);
        let variants = Agent::all_of(&runs.iter().map(|run| run.recorded.clone()).collect::<Vec<_>>());
        let worlds: BTreeSet<String> = runs.iter().map(|run| run.recorded.world.clone()).collect();
        let mut agents: Vec<AuditedAgent> = Vec::new();
        for (world, variant) in worlds.iter().flat_map(|world| variants.iter().map(move |variant| (world, variant))) {
            let is_of = |run: &AuditedRun| run.recorded.world == *world && variant.is_of(&run.recorded);
            let (own, others): (Vec<_>, Vec<_>) = runs.into_iter().partition(is_of);
            runs = others;
            if !own.is_empty() {
                let label = variant.label.clone();
                agents.push(AuditedAgent { world: world.clone(), label, look: variant.look, runs: own });
            }
        }
        Self { agents, set_aside }
    }

    /// The files: `index.html`, `audit.md`, `audit.json`, `audit.csv` (a row per agent, risk and predictor), `audit-runs.csv` (the
    /// same for each run), `laws.csv` (a row per run), and figures as SVG and PNG.
    pub fn files(&self) -> Result<Vec<OutputFile>, ReportError> {
        let text = |path: &str, text: String| OutputFile { path: path.into(), bytes: text.into_bytes() };
        let figures = self.figures();
        let mut files = vec![
            text("index.html", self.page(&figures)),
            text("audit.md", self.markdown(&figures)),
            text("audit.json", serde_json::to_string_pretty(&self.json()).expect("plain data") + "\n"),
        ];
        files.extend(self.data().iter().map(|data| text(&format!("{}.csv", data.name), data.csv())));
        for figure in &figures {
            files.extend(figure.files("")?);
        }
        Ok(files)
    }

    /// Findings and rows.
    pub fn json(&self) -> Value {
        let [agents, runs, laws] = self.data();
        json!({
            "findings": self.findings(), "agents": agents.json(), "runs": runs.json(), "laws": laws.json(),
            "set_aside": self.set_aside,
        })
    }

    /// What the audits say, in sentences.
    pub fn findings(&self) -> Vec<String> {
        let mut findings: Vec<String> = self.agents.iter().map(finding).collect();
        findings.extend(self.agents.iter().flat_map(law_findings));
        findings.extend(self.agents.iter().flat_map(same_sigma_findings));
        if !self.set_aside.is_empty() {
            findings.push(format!("In no table: {}.", SetAside::listed(&self.set_aside)));
        }
        findings
    }

    fn data(&self) -> [Data; 3] {
        [self.agent_rows(), self.run_rows(), self.law_rows()]
    }

    fn agent_rows(&self) -> Data {
        let columns = [
            "world",
            "agent",
            "risk",
            "predictor",
            "seeds",
            "auc",
            "auc_low_95",
            "auc_high_95",
            "spearman",
            "spearman_low_95",
            "spearman_high_95",
        ];
        let mut data = Data::new("audit", &columns);
        for (agent, measure, predictor) in self.cells() {
            let mut row = vec![json!(agent.world), json!(agent.label), json!(measure), json!(predictor)];
            row.push(json!(agent.seeds_with(measure, predictor, AUC)));
            for estimate in [agent.auc(measure, predictor), agent.spearman(measure, predictor)] {
                let end = |i: usize| json!(estimate.and_then(|estimate| estimate.interval).map(|ends| ends[i]));
                row.extend([json!(estimate.map(|estimate| estimate.point)), end(0), end(1)]);
            }
            data.rows.push(row);
        }
        data
    }

    fn run_rows(&self) -> Data {
        let mut data = Data::new("audit-runs", &["world", "agent", "seed", "risk", "predictor", "auc", "spearman"]);
        for (agent, measure, predictor) in self.cells() {
            for run in &agent.runs {
                let found = prediction(run, measure, predictor);
                let point = |estimate: Option<Estimate>| json!(estimate.map(|estimate| estimate.point));
                data.rows.push(vec![
                    json!(agent.world),
                    json!(agent.label),
                    json!(run.audit.subject.seed),
                    json!(measure),
                    json!(predictor),
                    point(found.and_then(|found| found.auc)),
                    point(found.and_then(|found| found.spearman)),
                ]);
            }
        }
        data
    }

    fn law_rows(&self) -> Data {
        let columns = [
            "world",
            "agent",
            "seed",
            "states",
            "sigma_mean_abs",
            "same_sigma_share",
            "changed_share_risky",
            "changed_share_other",
            "q_noise_mean",
            "q_noise_wanted",
            "q_noise_variation",
            "sigma_ratio_median",
            "sigma_r_squared",
            "sigma_slope",
            "sigma_intercept",
            "sigma_fit_r_squared",
            "counts_slope",
            "counts_r_squared",
            "flips_predicted",
            "flips_measured",
            "flips_r_squared",
            "flips_slope",
            "flips_intercept",
            "flips_fit_r_squared",
        ];
        let mut data = Data::new("laws", &columns);
        for (agent, run) in self.agents.iter().flat_map(|agent| agent.runs.iter().map(move |run| (agent, run))) {
            let laws = NoiseLaws::of(&law_points(&run.audit));
            let (law, counts) = (laws.and_then(|laws| laws.sigma), laws.and_then(|laws| laws.counts));
            let noise = primary(run).and_then(|measured| measured.noise);
            let fit = |pick: fn(LinearFit) -> f64| json!(law.and_then(|law| law.fit).map(pick));
            let flips = run.analysis.flip_law;
            let flips_fit = |pick: fn(LinearFit) -> f64| json!(flips.and_then(|law| law.fit).map(pick));
            data.rows.push(vec![
                json!(agent.world),
                json!(agent.label),
                json!(run.audit.subject.seed),
                json!(run.audit.states.len()),
                json!(run.audit.subject.sigma.mean_abs),
                json!(run.analysis.same_sigma.map(|same| same.share)),
                json!(noise.and_then(|noise| noise.changed_share_risky)),
                json!(noise.and_then(|noise| noise.changed_share_other)),
                json!(noise.map(|noise| noise.q_noise_mean)),
                json!(law.map(|law| law.q_noise_wanted)),
                json!(noise.map(|noise| noise.q_noise_variation)),
                json!(law.map(|law| law.sigma_ratio_median)),
                json!(law.and_then(|law| law.r_squared)),
                fit(|fit| fit.slope),
                fit(|fit| fit.intercept),
                fit(|fit| fit.r_squared),
                json!(counts.map(|fit| fit.slope)),
                json!(counts.map(|fit| fit.r_squared)),
                json!(flips.map(|law| law.predicted_mean)),
                json!(flips.map(|law| law.measured_mean)),
                json!(flips.and_then(|law| law.r_squared)),
                flips_fit(|fit| fit.slope),
                flips_fit(|fit| fit.intercept),
                flips_fit(|fit| fit.r_squared),
            ]);
        }
        data
    }

    fn cells(&self) -> impl Iterator<Item = (&AuditedAgent, RiskMeasure, Predictor)> {
        self.agents.iter().flat_map(|agent| {
            let of_measure = move |measure| agent.predictors(measure).into_iter().map(move |p| (agent, measure, p));
            agent.measures().into_iter().flat_map(of_measure)
        })
    }

    fn worlds(&self) -> Vec<&str> {
        let mut worlds: Vec<&str> = self.agents.iter().map(|agent| &*agent.world).collect();
        worlds.dedup();
        worlds
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures: Vec<Figure> =
            self.worlds().into_iter().filter_map(|world| predictors_figure(world, &self.of_world(world))).collect();
        for agent in &self.agents {
            let file = format!("{LAWS}-{}-{}", file_part(&agent.world), file_part(&agent.label));
            let who = format!("{}, {}, {}", agent.world, agent.label, counted(agent.runs.len(), "seed"));
            figures.extend(law_figure(&file, &who, &agent.audits()));
        }
        figures
    }

    fn of_world(&self, world: &str) -> Vec<&AuditedAgent> {
        self.agents.iter().filter(|agent| agent.world == world).collect()
    }

    fn tables(&self) -> Vec<Table> {
        let of_world = |world| [self.auc_table(world), self.rank_table(world)];
        let mut tables: Vec<Table> = self.worlds().into_iter().flat_map(of_world).collect();
        tables.push(self.law_table());
        tables
    }

    fn auc_table(&self, world: &str) -> Table {
        let note = "AUC: probability that a risky state ranks above another one by the predictor; ½ is chance. In brackets: 95 % \
                    interval over seeds, by bootstrap; none with a single seed. Seeds: those whose states are of both kinds.";
        self.predictor_table(world, "AUC of each predictor against the risk", note, AUC)
    }

    fn rank_table(&self, world: &str) -> Table {
        let note = "Rank correlation: Spearman's, from −1 to 1; 0 is chance. In brackets: 95 % interval over seeds, by bootstrap; none \
                    with a single seed. Seeds: those whose states are not all equally risky; a predictor that is one number in all \
                    states of a seed has no rank correlation there.";
        self.predictor_table(world, "rank correlation of each predictor with the risk", note, SPEARMAN)
    }

    fn predictor_table(&self, world: &str, what: &str, note: &str, score: Score) -> Table {
        let mut columns = vec!["agent".to_owned(), "seeds".to_owned(), "risk".to_owned()];
        columns.extend(Predictor::ALL.map(|predictor| predictor.name().to_owned()));
        let mut table = Table {
            caption: format!("{world}: {what}, mean over seeds"),
            columns,
            notes: vec![note.into()],
            ..Table::default()
        };
        for agent in self.of_world(world) {
            for measure in agent.measures() {
                let seeds = Predictor::ALL.map(|predictor| agent.seeds_with(measure, predictor, score));
                let seeds = seeds.into_iter().max().unwrap_or(0).to_string();
                let mut cells = vec![agent.label.clone(), seeds, measure.short_name().into()];
                cells.extend(Predictor::ALL.map(|predictor| with_interval(agent.score(measure, predictor, score))));
                table.push(cells);
            }
        }
        table
    }

    fn law_table(&self) -> Table {
        let columns = [
            "agent",
            "seeds",
            "σ ÷ law, median",
            "R² of log σ",
            "slope (law −1)",
            "noise of Q",
            "wanted",
            "variation",
            "slope over visits (law −½)",
            "P(flip), risky",
            "elsewhere",
            "R² of P(flip)",
            "its slope (law 1)",
        ];
        let mut table = Table {
            caption: "The laws of the noise, mean over seeds".into(),
            columns: columns.map(str::to_owned).into(),
            notes: vec![
                "σ ÷ law: σ over √(λk₂/(λk₂ + 2V)). R²: share of the variance of log σ that the law explains with nothing \
                 fitted; negative where the mean of log σ would predict better. Slope: of log σ² over log(1 + 2V/(λk₂)). Wanted: √(λk₂/2). \
                 Variation: standard deviation of the noise of Q over the states, divided by its mean. R² of P(flip): share of the variance of P(flip) \
                 that Φ(−gap/std) explains with nothing fitted, and slope of the fitted line. In brackets: 95 % interval over seeds."
                    .into(),
            ],
            ..Table::default()
        };
        for agent in &self.agents {
            let sigma = |pick: fn(super::laws::SigmaLaw) -> Option<f64>| {
                agent.over_seeds(&move |run| pick(NoiseLaws::of(&law_points(&run.audit))?.sigma?))
            };
            let noise = |pick: fn(super::analysis::NoiseByRisk) -> Option<f64>| {
                agent.over_seeds(&move |run| pick(primary(run)?.noise?))
            };
            let plain = |estimate: Option<Estimate>, format: fn(f64) -> String| {
                estimate.map_or_else(|| "–".into(), |estimate| format(estimate.point))
            };
            let counts = agent.over_seeds(&|run| Some(NoiseLaws::of(&law_points(&run.audit))?.counts?.slope));
            table.push(vec![
                format!("{}, {}", agent.world, agent.label),
                agent.runs.len().to_string(),
                with_interval(sigma(|law| Some(law.sigma_ratio_median))),
                with_interval(sigma(|law| law.r_squared)),
                with_interval(sigma(|law| law.fit.map(|fit| fit.slope))),
                plain(noise(|noise| Some(noise.q_noise_mean)), scientific),
                plain(sigma(|law| Some(law.q_noise_wanted)), scientific),
                plain(noise(|noise| Some(noise.q_noise_variation)), hundredths),
                with_interval(counts),
                plain(noise(|noise| noise.changed_share_risky), percent),
                plain(noise(|noise| noise.changed_share_other), percent),
                with_interval(agent.over_seeds(&|run| run.analysis.flip_law?.r_squared)),
                with_interval(agent.over_seeds(&|run| Some(run.analysis.flip_law?.fit?.slope))),
            ]);
        }
        table
    }

    fn markdown(&self, figures: &[Figure]) -> String {
        let findings: String = self.findings().iter().map(|finding| format!("- {finding}\n")).collect();
        let tables: String = self.tables().iter().map(Table::markdown).collect();
        let shown: String =
            figures.iter().map(|figure| format!("![{0}]({0}.svg)\n\n{1}\n\n", figure.name, figure.caption)).collect();
        format!("# {TITLE}\n\n{findings}\n{tables}{shown}")
    }

    fn page(&self, figures: &[Figure]) -> String {
        let tables: String = self.tables().iter().map(Table::html).collect();
        let shown = |figure: &Figure| {
            let caption = escape(&figure.caption);
            format!("<figure class=\"wide\">\n{}<figcaption>{caption}</figcaption>\n</figure>\n", to_svg(&figure.scene))
        };
        let aside: Vec<String> = self.set_aside.iter().map(|run| format!("{}: {}", run.folder, run.reason)).collect();
        let body = format!(
            "{}{tables}{}{}",
            remarks_html(&self.findings()),
            figures.iter().map(shown).collect::<String>(),
            if aside.is_empty() { String::new() } else { format!("<h2>In no table</h2>\n{}", remarks_html(&aside)) },
        );
        html_page("sane risk audit", TITLE, "", &body)
    }
}

const TITLE: &str = "Is low σ high risk? Over seeds";

fn primary(run: &AuditedRun) -> Option<&MeasureAnalysis> {
    run.analysis.primary()
}

fn finding(agent: &AuditedAgent) -> String {
    let all = counted(agent.runs.len(), "seed");
    let Some(measured) = agent.runs.first().and_then(primary) else {
        return format!("{}, {}, {all}: no state was measured.", agent.world, agent.label);
    };
    let seeds = match agent.seeds_with(measured.measure, Predictor::QSpread, AUC) {
        known if known == agent.runs.len() => all,
        known => format!("{known} of {all} (in the others all states are equally risky)"),
    };
    let named = |NamedPrediction { predictor, .. }: &NamedPrediction| {
        let auc = agent.auc(measured.measure, *predictor)?;
        Some(format!("{} {}", predictor.name(), with_interval(Some(auc))))
    };
    let parts: Vec<String> = measured.predictions().iter().filter_map(named).collect();
    let against = measured.measure.short_name();
    format!("{}, {}, {seeds}: AUC against the {against}: {}.", agent.world, agent.label, parts.join("; "))
}

fn law_findings(agent: &AuditedAgent) -> Vec<String> {
    let who = format!("{}, {}, states of all seeds: ", agent.world, agent.label);
    let remarks = agent.laws().into_iter().flat_map(|laws| law_remarks(&laws));
    remarks.chain(agent.flip_law().iter().map(flip_remark)).map(|remark| format!("{who}{remark}")).collect()
}

fn same_sigma_findings(agent: &AuditedAgent) -> Vec<String> {
    let of_run = |run: &AuditedRun| {
        let remark = same_sigma_remark(&run.analysis)?;
        Some(format!("{}, {}, seed {}: {remark}", agent.world, agent.label, run.audit.subject.seed))
    };
    agent.runs.iter().filter_map(of_run).collect()
}

/// `0.83 (0.79 to 0.88)`.
fn with_interval(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "–".into(),
        Some(Estimate { point, interval: None }) => hundredths(point),
        Some(Estimate { point, interval: Some(interval) }) => format!("{} ({})", hundredths(point), range(interval)),
    }
}

const ROW: f32 = 22.0;

/// A plot per predictor, an agent per row: the mean over seeds with its interval, a dot per seed.
fn predictors_figure(world: &str, agents: &[&AuditedAgent]) -> Option<Figure> {
    let measure = agents.iter().flat_map(|agent| &agent.runs).find_map(primary)?.measure;
    let predictors: Vec<Predictor> = Predictor::ALL
        .into_iter()
        .filter(|predictor| agents.iter().any(|agent| agent.auc(measure, *predictor).is_some()))
        .collect();
    let labels = agents.iter().map(|agent| text_width(&agent.label, 11.0, Weight::Regular)).fold(0.0, f32::max);
    let (width, cell) = (230.0, agents.len() as f32 * ROW + 70.0);
    let across = predictors.len().clamp(1, 3);
    let rows_of_panels = predictors.len().div_ceil(across);
    let size = (labels + 24.0 + across as f32 * (width + 12.0), rows_of_panels as f32 * cell + 12.0);
    let mut scene = Scene::new(size.0, size.1, format!("How well each number separates risky states in {world}"));
    for (i, predictor) in predictors.iter().enumerate() {
        let (column, line) = (i % across, i / across);
        let corner = (16.0 + labels + column as f32 * (width + 12.0), 8.0 + line as f32 * cell);
        let x = Axis::exact("AUC (0.5: chance)", 0.0, 1.0, 4, TickStyle::Short);
        let panel = Panel::of_rows(predictor.name(), x, agents.len(), corner, (width, cell - 8.0));
        panel.draw(&mut scene, &[]);
        panel.draw_reference(&mut scene, 0.5);
        // Names stand once, to the left of the first plot.
        let rows: Vec<EstimateRow<'_>> = agents
            .iter()
            .map(|agent| EstimateRow {
                label: if column == 0 { &agent.label } else { "" },
                estimate: agent.auc(measure, *predictor),
                interval_paint: agent.look.paint(),
                dot_paint: agent.look.paint(),
                marker: agent.look.pattern().marker,
            })
            .collect();
        panel.draw_rows(&mut scene, &rows);
        for (n, agent) in agents.iter().enumerate() {
            let y = agents.len() as f64 - n as f64 - 0.5;
            for run in &agent.runs {
                if let Some(auc) = prediction(run, measure, *predictor).and_then(|found| found.auc) {
                    let (x, y) = panel.at(auc.point, y);
                    scene.rule((x, y - 5.0), (x, y + 5.0), agent.look.paint(), 1.2);
                }
            }
        }
    }
    let caption = format!(
        "{world}: area under the ROC curve for telling risky states ({}) from the others, by each number. Dot: mean over seeds; line: 95 % \
         interval over seeds; ticks: single seeds.",
        measure.short_name()
    );
    Some(Figure { name: format!("predictors-{}", file_part(world)), caption, scene })
}

#[cfg(test)]
mod tests {
    use super::super::flip_law::tests::with_flips;
    use super::super::laws::tests::lawful;
    use super::*;
    use crate::settings::BUDGET;
    use sane_stats::normal_cdf;

    fn run(seed: u64, off: f64, q_noise: &str) -> AuditedRun {
        let mut audit = lawful(60, off);
        audit.subject.seed = seed;
        audit.subject.agent = "sane-elbo".into();
        let recorded = RecordedRun {
            folder: format!("runs/{q_noise}/seed-{seed}").into(),
            world: audit.subject.world.clone(),
            agent: audit.subject.agent.clone(),
            seed,
            settings: [("learner.exploration.q_noise".to_owned(), q_noise.to_owned())].into(),
            ..RecordedRun::default()
        };
        let analysis = RiskAnalysis::of(&audit);
        AuditedRun::new(audit, analysis, recorded)
    }

    #[test]
    fn intervals_are_over_seeds_and_variants_of_an_agent_are_kept_apart() {
        let runs = vec![run(2, 1.1, "0.3"), run(1, 0.9, "0.3"), run(1, 1.0, "0.1")];
        let audits = SeedAudits::of(runs, Vec::new());
        let labels: Vec<&str> = audits.agents.iter().map(|agent| &*agent.label).collect();
        assert_eq!(labels, ["sane-elbo (q_noise = 0.1)", "sane-elbo (q_noise = 0.3)"]);
        let both = &audits.agents[1];
        assert_eq!(both.runs.iter().map(|run| run.audit.subject.seed).collect::<Vec<_>>(), [1, 2]);
        let ratio = both.over_seeds(&|run| Some(NoiseLaws::of(&law_points(&run.audit))?.sigma?.sigma_ratio_median));
        let ratio = ratio.unwrap();
        let [low, high] = ratio.interval.unwrap();
        assert!((ratio.point - 1.0).abs() < 1e-9 && (low - 0.9).abs() < 1e-9 && (high - 1.1).abs() < 1e-9);
        assert_eq!(audits.agents[0].auc(RiskMeasure::TrueRisk, Predictor::MinusSigma).unwrap().interval, None);
    }

    #[test]
    fn a_run_that_repeats_another_counts_once_and_is_named() {
        let copy = |folder: &str, trained: u64| {
            let AuditedRun { mut audit, analysis, recorded } = run(1, 1.0, "0.3");
            audit.subject.trained_interactions = trained;
            AuditedRun::new(audit, analysis, RecordedRun { folder: folder.into(), ..recorded })
        };
        let audits = SeedAudits::of(vec![copy("a", 20_000), copy("b", 60_000)], Vec::new());
        let [agent] = &audits.agents[..] else { panic!("one agent") };
        assert_eq!(agent.runs.iter().map(|run| run.recorded.folder.display().to_string()).collect::<Vec<_>>(), ["b"]);
        let auc = agent.auc(RiskMeasure::TrueRisk, Predictor::MinusSigma).unwrap();
        assert_eq!(auc.interval, None, "one seed has no interval");
        let reason = "repeats b: same world, agent, settings and seed";
        assert_eq!(audits.json()["set_aside"][0]["reason"], reason);
        assert_eq!(audits.findings().last().unwrap(), &format!("In no table: 1 run: a ({reason})."));
    }

    #[test]
    fn runs_of_another_budget_replay_or_network_are_no_seeds_of_one_agent() {
        for (key, labels) in [
            (BUDGET, ["sane-elbo (total_interactions = 20,000)", "sane-elbo (total_interactions = 60,000)"]),
            ("replay.capacity", ["sane-elbo (capacity = 20,000)", "sane-elbo (capacity = 60,000)"]),
            ("learner.network.hidden", ["sane-elbo (hidden = 20,000)", "sane-elbo (hidden = 60,000)"]),
        ] {
            let with = |value: &str| {
                let mut run = run(1, 1.0, "0.3");
                run.recorded.settings.insert(key.into(), value.into());
                run
            };
            let audits = SeedAudits::of(vec![with("60000"), with("20000")], Vec::new());
            assert_eq!(audits.agents.iter().map(|agent| &*agent.label).collect::<Vec<_>>(), labels);
            assert!(audits.set_aside.is_empty() && audits.agents.iter().all(|agent| agent.runs.len() == 1));
        }
    }

    #[test]
    fn the_law_of_changed_actions_has_its_numbers_over_seeds() {
        let with_slope = |seed: u64, slope: f64| {
            let AuditedRun { recorded, .. } = run(seed, 1.0, "0.3");
            let mut audit = with_flips(40, |ratio| slope * normal_cdf(-ratio));
            audit.subject.seed = seed;
            let analysis = RiskAnalysis::of(&audit);
            AuditedRun::new(audit, analysis, recorded)
        };
        let audits = SeedAudits::of(vec![with_slope(1, 1.0), with_slope(2, 0.5)], Vec::new());
        let table = audits.law_table().markdown();
        assert!(
            table.contains("R² of P(flip) | its slope (law 1) |") && table.contains("| 0.75 (0.50 to 1.00) |"),
            "{table}"
        );
        let laws = audits.law_rows();
        let slope = laws.columns.iter().position(|name| *name == "flips_slope").unwrap();
        assert!((laws.rows[1][slope].as_f64().unwrap() - 0.5).abs() < 1e-9);
        let findings = audits.findings().join("\n");
        assert!(findings.contains("states of all seeds: By the law of the gap P(flip) = Φ(−gap/std)"), "{findings}");
    }

    #[test]
    fn rank_correlations_stand_beside_the_areas_with_intervals_over_seeds() {
        // Ranks of σ against the risk: falling in one seed, rising in the other, one number in the third.
        let with_sigma = |seed: u64, sigma: fn(f64) -> f64| {
            let AuditedRun { mut audit, recorded, .. } = run(seed, 1.0, "0.3");
            for audited in &mut audit.states {
                audited.state.sigma_abs = sigma(audited.state.true_risk.unwrap());
            }
            let analysis = RiskAnalysis::of(&audit);
            AuditedRun::new(audit, analysis, RecordedRun { seed, ..recorded })
        };
        let runs = vec![
            with_sigma(1, |risk| 1.0 - risk / 2.0),
            with_sigma(2, |risk| 1.0 + risk / 2.0),
            with_sigma(3, |_| 0.5),
        ];
        let audits = SeedAudits::of(runs, Vec::new());
        let tables = audits.tables();
        let captions: Vec<&str> = tables.iter().map(|table| &*table.caption).collect();
        assert_eq!(
            captions,
            [
                "risky-road: AUC of each predictor against the risk, mean over seeds",
                "risky-road: rank correlation of each predictor with the risk, mean over seeds",
                "The laws of the noise, mean over seeds",
            ]
        );
        let text = tables[1].markdown();
        let row = text.lines().find(|line| line.contains("| true risk |")).unwrap();
        // Two of three seeds have a rank correlation of σ, +1 and −1; the spread of Q is the same in all states.
        assert!(row.starts_with("| sane-elbo | 3 | true risk | 0.00 (−1.00 to 1.00) | – |"), "{row}");
        for file in &audits.files().unwrap()[..2] {
            let page = std::str::from_utf8(&file.bytes).unwrap();
            assert!(page.contains("rank correlation of each predictor with the risk"), "{} lacks it", file.path);
        }
    }

    #[test]
    fn the_result_is_a_page_a_text_numbers_and_figures_for_predictors_and_laws() {
        let set_aside = vec![SetAside { folder: "runs/x".into(), reason: "eps-greedy has no σ(s)".into() }];
        let audits = SeedAudits::of(vec![run(1, 1.0, "0.3"), run(2, 1.0, "0.3")], set_aside);
        let files = audits.files().unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let numbers = ["index.html", "audit.md", "audit.json", "audit.csv", "audit-runs.csv", "laws.csv"];
        assert_eq!(paths[..6], numbers);
        assert!(paths.contains(&"predictors-risky-road.svg") && paths.contains(&"laws-risky-road-sane-elbo.png"));
        let text = String::from_utf8(files[1].bytes.clone()).unwrap();
        assert!(text.contains("σ is 1.00 times that (median, nothing fitted, R² 1.00"), "{text}");
        assert!(
            text.contains("slope over visits") && text.contains("In no table: 1 run: runs/x (eps-greedy has no σ(s))"),
            "{text}"
        );
        let laws = String::from_utf8(files[5].bytes.clone()).unwrap();
        assert_eq!(laws.lines().count(), 3, "a row per run");
    }
}
