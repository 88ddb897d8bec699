//! The whole report: from runs to sections, comparisons and sentences, and from there to files.

use crate::ReportError;
use crate::claims;
use crate::comparison::Comparison;
use crate::curve::Quantity;
use crate::data::{self, Data};
use crate::figures::{self, Figure};
use crate::page;
use crate::plot::{to_png, to_svg};
use crate::run::Run;
use crate::section::{Measure, Section, SetAside, sections};
use crate::table::Table;
use crate::tables;
use rayon::prelude::*;
use sane_stats::number_format::{counted, grouped};
use serde_json::{Value, json};

/// A report ready to be written.
#[derive(Debug, Clone)]
pub struct Report {
    /// Its sections, the longest training first.
    pub sections: Vec<SectionReport>,
    /// Runs that stand in no section.
    pub set_aside: Vec<SetAside>,
    data: Vec<Data>,
}

/// One section with all that is said and shown of it.
#[derive(Debug, Clone)]
pub struct SectionReport {
    /// Heading.
    pub title: String,
    /// The runs.
    pub section: Section,
    /// About the runs.
    pub remarks: Vec<String>,
    /// The paper's tables and that of training.
    pub scores: Vec<Table>,
    /// The agents held against each other.
    pub compared: Vec<ComparisonReport>,
    /// Curves: the grid, and one figure per world.
    pub curves: Vec<(Figure, Vec<Figure>)>,
    /// What each run was.
    pub runs: Table,
    /// In what the agents differ.
    pub settings: Option<Table>,
}

/// A comparison with all that is said and shown of it.
#[derive(Debug, Clone)]
pub struct ComparisonReport {
    /// The numbers.
    pub comparison: Comparison,
    /// What they support.
    pub remarks: Vec<String>,
    /// As tables.
    pub tables: Vec<Table>,
    /// As figures.
    pub figures: Vec<Figure>,
}

/// A file of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// Path below the report's folder, with `/`.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
}

impl Report {
    /// Of these runs. With `evaluated_at`, tables hold evaluations after that many interactions of training.
    pub fn of(runs: Vec<Run>, mut set_aside: Vec<SetAside>, evaluated_at: Option<u64>) -> Self {
        let (sections, repeated) = sections(runs, evaluated_at);
        set_aside.extend(repeated);
        let several = 1 < sections.len();
        let reports: Vec<SectionReport> = sections
            .par_iter()
            .enumerate()
            .map(|(i, section)| {
                let prefix = if several { format!("section-{}-", i + 1) } else { String::new() };
                SectionReport::of(section.clone(), i, &prefix)
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
        Self { sections: reports, set_aside, data }
    }

    /// All files: the page, tables, numbers and figures.
    pub fn files(&self) -> Result<Vec<OutputFile>, ReportError> {
        let text = |path: &str, text: String| OutputFile { path: path.into(), bytes: text.into_bytes() };
        let mut files = vec![
            text("index.html", page::html(self)),
            text("tables.md", page::markdown(self)),
            text("tables.tex", page::latex(self)),
        ];
        files.extend(self.data.iter().map(|data| text(&format!("{}.csv", data.name), data.csv())));
        let drawn: Vec<[OutputFile; 2]> = self.figures().par_bridge().map(draw).collect::<Result<_, _>>()?;
        let mut drawn: Vec<OutputFile> = drawn.into_iter().flatten().collect();
        drawn.sort_by(|a, b| a.path.cmp(&b.path));
        files.extend(drawn);
        Ok(files)
    }

    /// The numbers without the curves, for scripts.
    pub fn json(&self) -> Value {
        let mut object = serde_json::Map::new();
        let said = |section: &SectionReport| {
            let mut said = section.remarks.clone();
            said.extend(section.compared.iter().flat_map(|part| part.remarks.clone()));
            json!({ "title": section.title, "remarks": said })
        };
        object.insert("sections".into(), self.sections.iter().map(said).collect());
        for data in self.data.iter().filter(|data| data.name != "curves") {
            object.insert(data.name.into(), data.json());
        }
        let aside = |run: &SetAside| json!({ "folder": run.folder, "reason": run.reason });
        object.insert("set_aside".into(), self.set_aside.iter().map(aside).collect());
        Value::Object(object)
    }

    fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| {
            let curves = section.curves.iter().flat_map(|(grid, worlds)| std::iter::once(grid).chain(worlds));
            curves.chain(section.compared.iter().flat_map(|part| &part.figures))
        })
    }
}

impl SectionReport {
    fn of(section: Section, place: usize, prefix: &str) -> Self {
        let with_scores = || Measure::ALL.into_iter().filter(|&measure| section.has(measure));
        let compared = with_scores()
            .map(|measure| Comparison::of(&section, measure))
            .filter(claims::is_comparable)
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
            title: title(&section, place),
            remarks: claims::about_runs(&section).into_iter().chain(distinction(&section)).collect(),
            scores: with_scores().map(|measure| tables::score_table(&section, measure)).collect(),
            compared,
            curves,
            runs: tables::run_table(&section),
            settings: tables::settings_table(&section),
            section,
        }
    }
}

impl ComparisonReport {
    fn of(section: &Section, comparison: Comparison, prefix: &str) -> Self {
        let measure = comparison.measure;
        let mut figures = Vec::new();
        if !comparison.aggregates.is_empty() {
            let rows: Vec<_> =
                comparison.aggregates.iter().map(|(agent, row)| (&section.agents[*agent], *row)).collect();
            let games = comparison.normalised.worlds.len();
            figures.push(figures::interval_figure(prefix, measure, &rows, games));
            let scores = comparison.normalised.scores.iter();
            let agents: Vec<_> = scores.map(|(agent, scores)| (&section.agents[*agent], scores)).collect();
            figures.push(figures::profile_figure(prefix, measure, &agents, games));
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
        let remarks = claims::about_comparison(section, &comparison);
        Self { remarks, tables: tables.into_iter().flatten().collect(), figures, comparison }
    }
}

/// Most worlds that a title names.
const MOST_NAMED: usize = 3;

fn title(section: &Section, place: usize) -> String {
    let budget = format!("{} interactions", grouped(section.budget_interactions));
    if section.distinction.is_empty() {
        return budget;
    }
    let worlds = match section.worlds.len() {
        few if few <= MOST_NAMED => section.worlds.join(", "),
        many => counted(many, "world"),
    };
    format!("Section {}: {worlds}, {budget}", place + 1)
}

/// What tells a section from the others; the budget stands in its title.
fn distinction(section: &Section) -> Option<String> {
    let readable = |value: &String| value.parse().map_or_else(|_| value.clone(), grouped);
    let parts: Vec<String> = section
        .distinction
        .iter()
        .filter(|(key, _)| key.as_str() != "training.total_interactions")
        .map(|(key, value)| format!("{key} = {}", readable(value)))
        .collect();
    (!parts.is_empty()).then(|| format!("Sections differ in these settings, here: {}.", parts.join(", ")))
}

fn draw(figure: &Figure) -> Result<[OutputFile; 2], ReportError> {
    let png = to_png(&figure.scene).map_err(|reason| ReportError::Figure { figure: figure.name.clone(), reason })?;
    let svg = to_svg(&figure.scene).into_bytes();
    let path = |ending: &str| format!("figures/{}.{ending}", figure.name);
    Ok([OutputFile { path: path("svg"), bytes: svg }, OutputFile { path: path("png"), bytes: png }])
}
