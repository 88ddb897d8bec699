//! The frontier: what exploring costs. Each agent has a knob (ε, the wanted noise of Q, σ₀ …), and each value of it gives a
//! point: the share of exploratory actions, and the harm and the return that came with it. Agents are compared at equal
//! shares, not at settings that mean different things.
//!
//! Records in ([`read_frontier_run`]), curves out ([`Frontier::of`]), files of them ([`Frontier::files`]).

mod figure;
mod run;
mod tables;

pub use run::{FrontierRun, read_frontier_run};

use crate::agent::{Look, label, paper_position};
use crate::data::Data;
use crate::page::{html_page, remarks_html};
use crate::plot::{escape, to_svg};
use crate::report::OutputFile;
use crate::set_aside::{SetAside, without_repeats};
use crate::settings::{Settings, differing_keys, part, readable, section_part, swept_keys, variant_part};
use crate::{Figure, ReportError, Table};
use sane_stats::{Estimate, Scores, bootstrap, mean};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Curves of all worlds.
#[derive(Debug, Clone)]
pub struct Frontier {
    /// In order of their names; of one world, the longest training first.
    pub worlds: Vec<WorldFrontier>,
    /// Runs that are in no curve, and why.
    pub set_aside: Vec<SetAside>,
    /// Share of the training that was measured: its end.
    pub last: f64,
}

/// The curves of one world, of runs that share their budget, replay and network.
#[derive(Debug, Clone)]
pub struct WorldFrontier {
    pub world: String,
    /// The shared settings in which the world's runs differ; empty if they share all.
    pub section: Settings,
    /// The world, and what tells these runs from its others.
    pub title: String,
    pub curves: Vec<FrontierCurve>,
}

/// One agent: a point for each value of its knob.
#[derive(Debug, Clone)]
pub struct FrontierCurve {
    pub agent: String,
    pub look: Look,
    /// The settings in which its points differ, by their keys; empty if there is one point.
    pub knob: Vec<String>,
    /// In order of the knob.
    pub points: Vec<FrontierPoint>,
}

/// One value of the knob, over its seeds.
#[derive(Debug, Clone)]
pub struct FrontierPoint {
    /// The value as text; empty if the agent has one point.
    pub value: String,
    /// By seed.
    pub runs: Vec<FrontierRun>,
}

/// The runs of a world by their budget and all that the runs of a section share.
type Sections = BTreeMap<(Reverse<u64>, Settings), Vec<FrontierRun>>;

/// A number of a run.
pub(crate) type Pick = fn(&FrontierRun) -> Option<f64>;

impl FrontierPoint {
    /// The numbers of the runs that have one.
    pub(crate) fn values(&self, pick: Pick) -> Vec<f64> {
        self.runs.iter().filter_map(pick).collect()
    }

    /// The mean over seeds, with its 95 % interval.
    pub(crate) fn estimate(&self, pick: Pick) -> Option<Estimate> {
        let scores = Scores(vec![self.values(pick)]);
        (!scores.is_empty() && !scores.0[0].is_empty()).then(|| bootstrap(&[&scores], |drawn| mean(&drawn[0].0[0])))
    }

    pub(crate) fn mean(&self, pick: Pick) -> Option<f64> {
        let values = self.values(pick);
        (!values.is_empty()).then(|| mean(&values))
    }
}

impl FrontierCurve {
    /// The mean of `pick` at a share of exploratory actions, interpolated between the points on either side of it; none
    /// beyond the ends of the curve.
    pub fn at_share(&self, share: f64, pick: fn(&FrontierRun) -> Option<f64>) -> Option<f64> {
        let mut known: Vec<(f64, f64)> = self
            .points
            .iter()
            .filter_map(|point| Some((point.mean(|run| Some(run.changed_share))?, point.mean(pick)?)))
            .collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        let next = known.iter().position(|(x, _)| share <= *x)?;
        let (x_next, y_next) = known[next];
        if x_next == share {
            return Some(y_next);
        }
        let (x_last, y_last) = *known.get(next.checked_sub(1)?)?;
        Some(y_last + (y_next - y_last) * (share - x_last) / (x_next - x_last))
    }

    /// The point with the highest mean return.
    pub fn best(&self) -> Option<&FrontierPoint> {
        let value = |point: &FrontierPoint| point.mean(|run| run.return_mean);
        self.points
            .iter()
            .filter(|point| value(point).is_some())
            .max_by(|a, b| value(a).partial_cmp(&value(b)).unwrap())
    }
}

impl Frontier {
    /// The curves of these runs; `last` is the share of the training that they were measured over. Runs that repeat another
    /// one are set aside; those that a report would show in separate sections have curves of their own.
    pub fn of(runs: Vec<FrontierRun>, mut set_aside: Vec<SetAside>, last: f64) -> Self {
        let (runs, repeated) = without_repeats(runs, |run| &run.recorded);
        set_aside.extend(repeated);
        let recorded = || runs.iter().map(|run| &run.recorded);
        let swept = swept_keys(recorded().map(|run| (run.world.as_str(), run.agent.as_str(), &run.settings)));
        let names: BTreeSet<(usize, String)> = recorded().map(|run| report_order(&run.agent)).collect();
        let mut looks: BTreeMap<String, Look> = BTreeMap::new();
        for (_, name) in names {
            let taken: Vec<Look> = looks.values().copied().collect();
            looks.insert(name.clone(), Look::of(&name, &taken));
        }
        let mut worlds: BTreeMap<String, Sections> = BTreeMap::new();
        for run in runs {
            let section = (Reverse(run.recorded.budget_interactions), section_part(&run.recorded.settings, &swept));
            worlds.entry(run.recorded.world.clone()).or_default().entry(section).or_default().push(run);
        }
        let mut fronts = Vec::new();
        for (world, sections) in worlds {
            let differing = differing_keys(sections.keys().map(|(_, shared)| shared).collect::<Vec<_>>());
            for (i, ((_, shared), runs)) in sections.into_iter().enumerate() {
                let section = part(&shared, |key| differing.iter().any(|other| other == key));
                let (title, curves) = (label(&world, &section, i), curves(&looks, runs, &swept));
                fronts.push(WorldFrontier { world: world.clone(), section, title, curves });
            }
        }
        Self { worlds: fronts, set_aside, last }
    }

    /// The files: `index.html`, `frontier.md`, `frontier.json`, `frontier.csv` (a row per point), `frontier-runs.csv`, and a
    /// figure per world as SVG and PNG.
    pub fn files(&self) -> Result<Vec<OutputFile>, ReportError> {
        let text = |path: &str, text: String| OutputFile { path: path.into(), bytes: text.into_bytes() };
        let figures: Vec<Figure> = self.worlds.iter().map(|world| figure::of(world, self.last)).collect();
        let mut files = vec![
            text("index.html", self.html(&figures)),
            text("frontier.md", self.markdown()),
            text("frontier.json", serde_json::to_string_pretty(&self.json()).expect("plain data") + "\n"),
        ];
        files.extend(self.data().iter().map(|data| text(&format!("{}.csv", data.name), data.csv())));
        for figure in &figures {
            files.extend(figure.files("")?);
        }
        Ok(files)
    }

    /// Points, runs and findings.
    pub fn json(&self) -> Value {
        let [points, runs] = self.data();
        json!({
            "measured_share": self.last, "findings": self.findings(), "points": points.json(), "runs": runs.json(),
            "set_aside": self.set_aside,
        })
    }

    /// What the curves say, in sentences.
    pub fn findings(&self) -> Vec<String> {
        let sections = self.worlds.chunk_by(|a, b| a.world == b.world).filter_map(separated);
        let mut findings: Vec<String> = sections.collect();
        findings.extend(self.worlds.iter().flat_map(tables::findings));
        if !self.set_aside.is_empty() {
            findings.push(format!("In no curve: {}.", SetAside::listed(&self.set_aside)));
        }
        findings
    }

    fn data(&self) -> [Data; 2] {
        [tables::points(&self.worlds), tables::runs(&self.worlds)]
    }

    fn tables(&self) -> Vec<Table> {
        self.worlds.iter().flat_map(tables::of).collect()
    }

    fn markdown(&self) -> String {
        let lines: String = self.findings().iter().map(|finding| format!("- {finding}\n")).collect();
        let tables: String = self.tables().iter().map(Table::markdown).collect();
        format!("# The frontier of exploration\n\n{}\n{lines}\n{tables}", self.method())
    }

    fn html(&self, figures: &[Figure]) -> String {
        let drawn: String = figures
            .iter()
            .map(|figure| {
                let caption = escape(&figure.caption);
                format!(
                    "<figure class=\"wide\">\n{}<figcaption>{caption}</figcaption>\n</figure>\n",
                    to_svg(&figure.scene)
                )
            })
            .collect();
        let tables: String = self.tables().iter().map(Table::html).collect();
        let aside: Vec<String> = self.set_aside.iter().map(|run| format!("{}: {}", run.folder, run.reason)).collect();
        let body = format!(
            "<p>{}</p>\n{}{drawn}{tables}{}",
            escape(&self.method()),
            remarks_html(&self.findings()),
            remarks_html(&aside)
        );
        html_page("sane frontier", "The frontier of exploration", "", &body)
    }

    fn method(&self) -> String {
        format!(
            "Measured over the last {:.0} % of each training. An action is exploratory if it differs from the greedy \
             one of the noise-free network. Harm: episodes that were bad by the world's own criterion (a crash), or lost \
             lives where it has none, per 1,000 interactions.",
            100.0 * self.last
        )
    }
}

/// Agents are shown in this order: the paper's first.
fn report_order(agent: &str) -> (usize, String) {
    (paper_position(agent).unwrap_or(usize::MAX), agent.to_owned())
}

/// Which curves of one world are apart, and why; none where all are together.
fn separated(sections: &[WorldFrontier]) -> Option<String> {
    let [first, _, ..] = sections else { return None };
    let keys: BTreeSet<&String> = sections.iter().flat_map(|section| section.section.keys()).collect();
    let value = |section: &WorldFrontier, key: &str| match section.section.get(key) {
        Some(value) => format!("{key} = {}", readable(value)),
        None => format!("{key} not set"),
    };
    let values = |section| keys.iter().map(|key| value(section, key)).collect::<Vec<_>>().join(", ");
    let listed: Vec<String> = sections.iter().map(values).collect();
    Some(format!(
        "{}: runs that differ in budget, replay, network or profile are not averaged; there are curves for {}.",
        first.world,
        listed.join("; for ")
    ))
}

fn curves(looks: &BTreeMap<String, Look>, runs: Vec<FrontierRun>, swept: &BTreeSet<String>) -> Vec<FrontierCurve> {
    let mut agents: BTreeMap<(usize, String), Vec<FrontierRun>> = BTreeMap::new();
    for run in runs {
        agents.entry(report_order(&run.recorded.agent)).or_default().push(run);
    }
    agents.into_iter().map(|((_, agent), runs)| curve(looks[&agent], agent, runs, swept)).collect()
}

fn curve(look: Look, agent: String, runs: Vec<FrontierRun>, swept: &BTreeSet<String>) -> FrontierCurve {
    let own: Vec<Settings> = runs.iter().map(|run| variant_part(&run.recorded.settings, swept)).collect();
    let knob = differing_keys(&own);
    let mut points: BTreeMap<Vec<Option<String>>, Vec<FrontierRun>> = BTreeMap::new();
    for (run, own) in runs.into_iter().zip(&own) {
        points.entry(knob.iter().map(|key| own.get(key).cloned()).collect()).or_default().push(run);
    }
    let mut points: Vec<FrontierPoint> = points
        .into_iter()
        .map(|(values, mut runs)| {
            runs.sort_by_key(|run| run.recorded.seed);
            let mut shown: Vec<String> = values.into_iter().map(|value| value.unwrap_or_else(|| "–".into())).collect();
            // Two keys that are set alike, such as the first and the last ε, are one knob.
            shown.dedup();
            FrontierPoint { value: shown.join(", "), runs }
        })
        .collect();
    let number = |point: &FrontierPoint| point.value.split(", ").find_map(|value| value.parse::<f64>().ok());
    points.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
    FrontierCurve { agent, look, knob, points }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded_run::RecordedRun;
    use crate::settings::BUDGET;

    fn run(agent: &str, knob: &str, seed: u64, share: f64, harm: f64, value: f64) -> FrontierRun {
        FrontierRun {
            recorded: RecordedRun {
                folder: format!("runs/{agent}/{knob}/seed-{seed}").into(),
                world: "risky-road".into(),
                agent: agent.into(),
                seed,
                settings: [("learner.exploration.knob".to_owned(), knob.to_owned())].into(),
                ..RecordedRun::default()
            },
            interactions: 30_000,
            changed_share: share,
            harms_per_1000: harm,
            return_mean: Some(value),
            ..FrontierRun::default()
        }
    }

    fn frontier() -> Frontier {
        let runs = vec![
            run("eps-greedy", "0.2", 1, 0.12, 30.0, 3.0),
            run("eps-greedy", "0.02", 1, 0.02, 6.0, 17.0),
            run("eps-greedy", "0.02", 2, 0.02, 8.0, 15.0),
            run("oracle", "1", 1, 0.01, 0.1, 39.0),
            run("oracle", "1", 2, 0.01, 0.0, 41.0),
            run("oracle", "10", 1, 0.21, 0.5, 44.0),
            run("oracle", "10", 2, 0.21, 0.5, 46.0),
            run("sane-constant-elbo", "1", 1, 0.10, 2.0, 33.0),
            run("sane-constant-elbo", "1", 2, 0.10, 2.0, 35.0),
        ];
        Frontier::of(runs, Vec::new(), 0.5)
    }

    #[test]
    fn a_curve_has_a_point_for_each_value_of_its_knob_in_their_order() {
        let frontier = frontier();
        let curves = &frontier.worlds[0].curves;
        assert_eq!(
            curves.iter().map(|curve| &*curve.agent).collect::<Vec<_>>(),
            ["eps-greedy", "oracle", "sane-constant-elbo"]
        );
        assert_eq!(curves[0].knob, ["learner.exploration.knob"]);
        let values: Vec<&str> = curves[0].points.iter().map(|point| &*point.value).collect();
        assert_eq!(values, ["0.02", "0.2"]);
        assert_eq!(curves[1].points.iter().map(|point| &*point.value).collect::<Vec<_>>(), ["1", "10"]);
        assert!(curves[2].knob.is_empty(), "one value is no knob");
    }

    #[test]
    fn agents_are_compared_at_equal_shares_between_their_points_and_not_beyond() {
        let frontier = frontier();
        let harm =
            |agent: usize, share: f64| frontier.worlds[0].curves[agent].at_share(share, |run| Some(run.harms_per_1000));
        assert!((harm(0, 0.07).unwrap() - 18.5).abs() < 1e-9, "half way between 7 and 30");
        assert!((harm(1, 0.11).unwrap() - 0.275).abs() < 1e-9);
        assert_eq!((harm(0, 0.2), harm(1, 0.005)), (None, None));
    }

    #[test]
    fn the_gain_of_the_oracle_over_the_best_constant_noise_is_reported() {
        let findings = frontier().findings().join("\n");
        assert!(
            findings.contains("The oracle's best mean return is 45.0, that of the best constant noise"),
            "{findings}"
        );
        assert!(findings.contains("a gain of 11.0"), "{findings}");
    }

    #[test]
    fn runs_that_are_in_no_curve_are_counted_and_named_with_their_reason() {
        let aside = SetAside { folder: "runs/x".into(), reason: "it has not begun to learn".into() };
        let frontier = Frontier { set_aside: vec![aside], ..frontier() };
        assert_eq!(frontier.findings().last().unwrap(), "In no curve: 1 run: runs/x (it has not begun to learn).");
        assert_eq!(frontier.json()["set_aside"][0]["reason"], "it has not begun to learn");
    }

    #[test]
    fn a_run_that_repeats_another_counts_once_and_is_named() {
        let copy = |folder: &str, interactions: u64| {
            let mut copy = run("sane", "1", 1, 0.1, 2.0, 33.0);
            (copy.recorded.folder, copy.recorded.reached_interactions) = (folder.into(), interactions);
            copy
        };
        let frontier = Frontier::of(vec![copy("a", 60_000), copy("b", 60_500), copy("c", 60_000)], Vec::new(), 0.5);
        let [point] = &frontier.worlds[0].curves[0].points[..] else { panic!("one point") };
        assert_eq!(point.runs.iter().map(|run| run.recorded.folder.display().to_string()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(point.estimate(|run| Some(run.harms_per_1000)).unwrap().interval, None, "one seed has no interval");
        assert_eq!(frontier.set_aside.iter().map(|run| &*run.folder).collect::<Vec<_>>(), ["a", "c"]);
        let reason = "repeats b: same world, agent, settings and seed";
        assert_eq!(frontier.json()["set_aside"][1]["reason"], reason);
        assert_eq!(frontier.findings().last().unwrap(), &format!("In no curve: 2 runs: a ({reason}); c ({reason})."));
    }

    /// As [`run`], with a setting of the section.
    fn with(key: &str, value: &str, seed: u64) -> FrontierRun {
        let mut run = run("sane", "1", seed, 0.1, 2.0, 33.0);
        run.recorded.budget_interactions = if key == BUDGET { value.parse().unwrap() } else { 60_000 };
        run.recorded.settings.insert(key.into(), value.into());
        run
    }

    #[test]
    fn runs_of_different_budgets_are_no_seeds_of_one_point() {
        let runs = vec![with(BUDGET, "20000", 1), with(BUDGET, "60000", 1), with(BUDGET, "60000", 2)];
        let frontier = Frontier::of(runs, Vec::new(), 0.5);
        let titles: Vec<&str> = frontier.worlds.iter().map(|world| &*world.title).collect();
        assert_eq!(
            titles,
            ["risky-road (total_interactions = 60,000)", "risky-road (total_interactions = 20,000)"],
            "the longest training first"
        );
        let seeds: Vec<usize> = frontier.worlds.iter().map(|world| world.curves[0].points[0].runs.len()).collect();
        assert_eq!((seeds, frontier.set_aside.len()), (vec![2, 1], 0));
        let said = &frontier.findings()[0];
        assert!(
            said.ends_with(
                "there are curves for training.total_interactions = 60,000; for training.total_interactions = 20,000."
            ),
            "{said}"
        );
        assert_eq!(frontier.json()["points"][1]["section"], "training.total_interactions = 20000");
        let files = frontier.files().unwrap();
        let figures: BTreeSet<&str> = files[5..].iter().map(|file| &*file.path).collect();
        assert_eq!(figures.len(), 4, "a figure of each: {figures:?}");
    }

    #[test]
    fn replay_and_network_separate_curves_as_they_do_in_a_report_and_a_sweep_is_a_knob() {
        let two = |key| Frontier::of(vec![with(key, "1", 1), with(key, "2", 1)], Vec::new(), 0.5).worlds.len();
        assert_eq!(["replay.capacity", "learner.network.hidden", "learner.gamma"].map(two), [2, 2, 1]);
        let swept = ["1", "2", "3"].map(|value| with("replay.capacity", value, 1)).to_vec();
        let frontier = Frontier::of(swept, Vec::new(), 0.5);
        let [world] = &frontier.worlds[..] else { panic!("a sweep is one section") };
        assert_eq!((&world.curves[0].knob[..], world.curves[0].points.len()), (&["replay.capacity".to_owned()][..], 3));
    }

    #[test]
    fn every_run_is_in_the_files_and_every_figure_is_drawn() {
        let files = frontier().files().unwrap();
        let names: Vec<&str> = files.iter().map(|file| &*file.path).collect();
        let expected = ["index.html", "frontier.md", "frontier.json", "frontier.csv", "frontier-runs.csv"];
        assert_eq!(names[..5], expected);
        assert_eq!(names[5..], ["frontier-risky-road.svg", "frontier-risky-road.png"]);
        let text = |i: usize| String::from_utf8(files[i].bytes.clone()).unwrap();
        assert_eq!(text(4).lines().count(), 10);
        assert_eq!(text(3).lines().count(), 6);
        assert!(text(1).contains("| eps-greedy, 0.02 | 2 |"), "{}", text(1));
    }
}
