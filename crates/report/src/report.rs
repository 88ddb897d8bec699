//! The whole report: from runs to sections, comparisons and findings, and from there to files.

use crate::ReportError;
use crate::checklist::{self, ChecklistItem};
use crate::comparison::Comparison;
use crate::curve::Quantity;
use crate::data::{self, Data};
use crate::figures::{self, Figure};
use crate::findings;
use crate::page;
use crate::recorded_run::RecordedRun;
use crate::section::{Measure, Section, sections};
use crate::sensitivity::{self, Sensitivity};
use crate::set_aside::SetAside;
use crate::settings::{BUDGET, readable};
use crate::table::Table;
use crate::tables;
use rayon::prelude::*;
use sane_stats::Scores;
use sane_stats::number_format::{counted, grouped};
use serde_json::{Value, json};

/// A report ready to be written.
#[derive(Debug, Clone)]
pub struct Report {
    /// The longest training first.
    pub sections: Vec<SectionReport>,
    /// Runs that are in no section.
    pub set_aside: Vec<SetAside>,
    /// What conferences ask about experiments.
    pub checklist: Vec<ChecklistItem>,
    data: Vec<Data>,
}

/// What a report is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportOptions {
    /// Tables hold evaluations after that many interactions of training; none for the runs' whole budget.
    pub evaluated_at: Option<u64>,
    /// Whether the paper's tables are shown in full, whatever was run.
    pub paper: bool,
}

/// One section with its findings, tables and figures.
#[derive(Debug, Clone)]
pub struct SectionReport {
    pub title: String,
    pub section: Section,
    /// Findings about the runs.
    pub remarks: Vec<String>,
    /// One table per score.
    pub scores: Vec<Table>,
    pub compared: Vec<ComparisonReport>,
    /// For each quantity all worlds in one figure, and one figure per world.
    pub curves: Vec<(Figure, Vec<Figure>)>,
    /// How scores depend on the settings that were swept over.
    pub sweeps: Vec<Sensitivity>,
    /// One row per run.
    pub runs: Table,
    /// Settings in which the agents differ, and those in which the worlds do.
    pub settings: Vec<Table>,
}

/// A comparison with its findings, tables and figures.
#[derive(Debug, Clone)]
pub struct ComparisonReport {
    pub comparison: Comparison,
    /// Findings.
    pub remarks: Vec<String>,
    pub tables: Vec<Table>,
    pub figures: Vec<Figure>,
}

/// A file of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// Below the report's folder, with `/`.
    pub path: String,
    pub bytes: Vec<u8>,
}

impl Report {
    /// The report on these runs. With `evaluated_at`, tables hold evaluations after that many interactions of training.
    pub fn of(runs: Vec<RecordedRun>, set_aside: Vec<SetAside>, evaluated_at: Option<u64>) -> Self {
        Self::with(runs, set_aside, ReportOptions { evaluated_at, ..ReportOptions::default() })
    }

    /// The report on these runs that was asked for.
    pub fn with(runs: Vec<RecordedRun>, mut set_aside: Vec<SetAside>, options: ReportOptions) -> Self {
        let (mut sections, repeated) = sections(runs, options.evaluated_at);
        set_aside.extend(repeated);
        sections.iter_mut().for_each(|section| section.beside_paper |= options.paper);
        let several = 1 < sections.len();
        let reports: Vec<SectionReport> = sections
            .par_iter()
            .enumerate()
            .map(|(i, section)| {
                let prefix = if several { format!("section-{}-", i + 1) } else { String::new() };
                SectionReport::of(section.clone(), title(section, i, several), &prefix)
            })
            .collect();
        let compared: Vec<_> = reports
            .iter()
            .enumerate()
            .flat_map(|(i, report)| report.compared.iter().map(move |part| (i, &report.section, &part.comparison)))
            .collect();
        let data = vec![
            data::scores(&sections),
            data::aggregates(&compared),
            data::improvement(&compared),
            data::curves(&sections),
            data::runs(&sections),
        ];
        let checklist = checklist::checklist(&sections, &set_aside);
        Self { sections: reports, set_aside, checklist, data }
    }

    /// The page, tables, numbers and figures as files.
    pub fn files(&self) -> Result<Vec<OutputFile>, ReportError> {
        let text = |path: &str, text: String| OutputFile { path: path.into(), bytes: text.into_bytes() };
        let mut files = vec![
            text("index.html", page::html(self)),
            text("tables.md", page::markdown(self)),
            text("tables.tex", page::latex(self)),
            text("checklist.md", checklist::markdown(&self.checklist)),
        ];
        files.extend(self.data.iter().map(|data| text(&format!("{}.csv", data.name), data.csv())));
        let drawn: Vec<[OutputFile; 2]> =
            self.figures().par_bridge().map(|figure| figure.files("figures/")).collect::<Result<_, _>>()?;
        let mut drawn: Vec<OutputFile> = drawn.into_iter().flatten().collect();
        drawn.sort_by(|a, b| a.path.cmp(&b.path));
        files.extend(drawn);
        Ok(files)
    }

    /// The numbers without the curves, for `--json`.
    pub fn json(&self) -> Value {
        let mut object = serde_json::Map::new();
        let findings = |section: &SectionReport| {
            let mut remarks = section.remarks.clone();
            remarks.extend(section.compared.iter().flat_map(|part| part.remarks.clone()));
            json!({ "title": section.title, "remarks": remarks })
        };
        object.insert("sections".into(), self.sections.iter().map(findings).collect());
        for data in self.data.iter().filter(|data| data.name != "curves") {
            object.insert(data.name.into(), data.json());
        }
        let asked = |item: &ChecklistItem| {
            json!({
                "question": item.question,
                "answer": item.answer,
                "verbatim": item.verbatim,
                "gap": item.gap,
                "answered": item.is_answered(),
            })
        };
        object.insert("checklist".into(), self.checklist.iter().map(asked).collect());
        object.insert("set_aside".into(), json!(self.set_aside));
        Value::Object(object)
    }

    fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| {
            let curves = section.curves.iter().flat_map(|(grid, worlds)| std::iter::once(grid).chain(worlds));
            let compared = section.compared.iter().flat_map(|part| &part.figures);
            curves.chain(compared).chain(section.sweeps.iter().map(|sweep| &sweep.figure))
        })
    }
}

impl SectionReport {
    fn of(section: Section, title: String, prefix: &str) -> Self {
        let with_scores = || Measure::ALL.into_iter().filter(|&measure| section.has(measure));
        let compared = with_scores()
            .map(|measure| Comparison::of(&section, measure))
            .filter(findings::is_comparable)
            .map(|comparison| ComparisonReport::of(&section, comparison, prefix))
            .collect();
        let curves = Quantity::ALL
            .into_iter()
            .filter_map(|quantity| {
                let grid = figures::curve_grid(&section, prefix, quantity)?;
                let world = |world: &String| figures::world_curve(&section, prefix, world, quantity);
                Some((grid, section.worlds.iter().filter_map(world).collect()))
            })
            .collect();
        Self {
            title,
            remarks: findings::about_runs(&section).into_iter().chain(distinction(&section)).collect(),
            scores: with_scores().map(|measure| tables::score_table(&section, measure)).collect(),
            compared,
            curves,
            sweeps: sensitivity::sweeps(&section, prefix),
            runs: tables::run_table(&section),
            settings: tables::settings_table(&section)
                .into_iter()
                .chain(tables::world_settings_table(&section))
                .collect(),
            section,
        }
    }
}

impl ComparisonReport {
    fn of(section: &Section, comparison: Comparison, prefix: &str) -> Self {
        let measure = comparison.measure;
        let mut figures = Vec::new();
        if !comparison.aggregates.is_empty() && 1 < comparison.normalised.worlds.len() {
            let rows: Vec<_> =
                comparison.aggregates.iter().map(|(agent, row)| (&section.agents[*agent], *row)).collect();
            let games = comparison.normalised.worlds.len();
            figures.push(figures::interval_figure(prefix, measure, &rows, games));
            let scores = || comparison.normalised.scores.iter();
            // Fewer scores are dots, not a profile.
            let runs = |scores: &Scores| scores.0.iter().map(Vec::len).sum::<usize>();
            if scores().all(|(_, scores)| FEWEST_IN_A_PROFILE <= runs(scores)) {
                let agents: Vec<_> = scores().map(|(agent, scores)| (&section.agents[*agent], scores)).collect();
                figures.push(figures::profile_figure(prefix, measure, &agents, games));
            }
        }
        if !comparison.pairs.is_empty() {
            let label = |agent: usize| &section.agents[agent].label;
            let pairs: Vec<_> = comparison
                .pairs
                .iter()
                .map(|(first, second, estimate)| (format!("{} > {}", label(*first), label(*second)), *estimate))
                .collect();
            figures.push(figures::improvement_figure(prefix, measure, &pairs, comparison.raw.worlds.len()));
        }
        let tables = [tables::aggregate_table(section, &comparison), tables::improvement_table(section, &comparison)];
        let remarks = findings::about_comparison(section, &comparison);
        Self { remarks, tables: tables.into_iter().flatten().collect(), figures, comparison }
    }
}

/// Scores of an agent from which a performance profile is drawn.
const FEWEST_IN_A_PROFILE: usize = 3;

/// A title names up to this many worlds.
const MOST_NAMED: usize = 3;

fn title(section: &Section, index: usize, several: bool) -> String {
    let budget = match section.budgets() {
        (fewest, most) if fewest == most => format!("{} interactions", grouped(most)),
        (fewest, most) => format!("{} to {} interactions", grouped(fewest), grouped(most)),
    };
    let worlds = match section.worlds.len() {
        few if few <= MOST_NAMED => section.worlds.join(", "),
        many => counted(many, "world"),
    };
    let title = format!("{worlds}, {budget}");
    if several { format!("Section {}: {title}", index + 1) } else { title }
}

/// The settings that distinguish a section from the others; a single budget is in its title.
fn distinction(section: &Section) -> Option<String> {
    let parts: Vec<String> = section
        .distinction
        .iter()
        .filter(|(key, _)| *key != BUDGET)
        .map(|(key, value)| format!("{key} = {}", readable(value)))
        .collect();
    (!parts.is_empty()).then(|| format!("Told from the other sections by {}.", parts.join(", ")))
}
