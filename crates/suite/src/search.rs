//! `[[search]]`: settings that are tried out. Every point of a search is a variant like any other, named `NAME-1`, `NAME-2`, …
//!
//! ```text
//! grid      every combination of the values
//! random    `points` draws
//! halving   `points` draws with a short budget; of each rung the best 1/`keep` continue with `keep` times the budget
//! ```

use crate::SuiteError;
use crate::file::{Document, KeyStep, Variant, count};
use sane_env::Stream;
use sane_lab::merge_tables;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// Settings that are tried out; what it does not say is as in the suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Names the folders of its points.
    pub name: String,
    pub method: Method,
    /// Number of draws; a grid has as many points as there are combinations.
    pub points: Option<u32>,
    /// Seed of the draws.
    #[serde(default)]
    pub seed: u64,
    /// Halving: number of rungs; the last has the whole budget.
    pub rungs: Option<u32>,
    /// Halving: one point in so many is kept, with so many times the budget.
    pub keep: Option<u32>,
    /// Halving: what points are ranked by.
    pub metric: Option<Metric>,
    pub preset: Option<String>,
    #[serde(default, deserialize_with = "count")]
    pub budget: Option<u64>,
    pub games: Option<Vec<String>>,
    pub agents: Option<Vec<String>>,
    pub seeds: Option<Vec<u64>>,
    /// Settings of all its points, merged over the suite's `set`.
    #[serde(default)]
    pub set: Table,
    /// The settings to try: key → list of values, or a range.
    pub over: Table,
}

/// How points are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    Grid,
    Random,
    Halving,
}

/// A number that runs are compared by; larger is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Mean return of the last 100 training episodes.
    #[default]
    Training,
    /// Mean return of the suite's evaluation without noise.
    Evaluation,
    /// Mean return of the suite's evaluation with noise.
    EvaluationWithNoise,
}

/// Successive halving (Karnin et al. 2013; Jamieson and Talwalkar 2016).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halving {
    pub rungs: u32,
    pub keep: u32,
    pub metric: Metric,
}

/// Points of the largest search.
const MOST_POINTS: usize = 10_000;

impl Search {
    /// The rungs of a search by halving.
    pub fn halving(&self) -> Option<Halving> {
        (self.method == Method::Halving).then(|| Halving {
            rungs: self.rungs.unwrap_or(3),
            keep: self.keep.unwrap_or(3),
            metric: self.metric.unwrap_or_default(),
        })
    }

    /// Its points as variants, in order.
    pub(crate) fn variants(&self, index: usize, document: &Document) -> Result<Vec<Variant>, SuiteError> {
        let at = |key: &[&str]| {
            let mut path = vec!["search".into(), index.into()];
            path.extend(key.iter().map(|&step| KeyStep::from(step)));
            document.location(&path)
        };
        let refuse = |key: &[&str], reason: String| Err(SuiteError::Format { location: at(key), reason });
        let mut choices = Vec::new();
        for (key, value) in leaves("", &self.over) {
            let steps: Vec<&str> = std::iter::once("over").chain(key.split('.')).collect();
            match Choice::read(&value, self.method) {
                Ok(choice) => choices.push((key, choice)),
                Err(reason) => return refuse(&steps, format!("{key}: {reason}")),
            }
        }
        if choices.is_empty() {
            return refuse(
                &["over"],
                "nothing to search over; name at least one setting, such as learner.gamma = [0.9, 0.99]".into(),
            );
        }
        for (key, given) in
            [("rungs", self.rungs.is_some()), ("keep", self.keep.is_some()), ("metric", self.metric.is_some())]
        {
            if given && self.method != Method::Halving {
                return refuse(&[key], format!("`{key}` belongs to method = \"halving\""));
            }
        }
        let points = match (self.method, self.points) {
            (Method::Grid, Some(_)) => {
                return refuse(
                    &["points"],
                    "a grid has a point for every combination; `points` belongs to random and halving".into(),
                );
            }
            (Method::Grid, None) => grid(&choices),
            (_, None) => return refuse(&["method"], "say how many `points` to draw".into()),
            (_, Some(0)) => return refuse(&["points"], "a search of 0 points finds nothing".into()),
            (_, Some(points)) if MOST_POINTS < points as usize => None,
            (_, Some(points)) => Some(self.draw(&choices, points)),
        };
        let Some(points) = points else {
            return refuse(&["over"], format!("a search of more than {MOST_POINTS} points: take fewer values"));
        };
        if let Some(Halving { rungs, keep, .. }) = self.halving() {
            if !(1..=20).contains(&rungs) || keep < 2 {
                return refuse(
                    &["method"],
                    "halving has from 1 to 20 `rungs`, and keeps one point in 2 or more".into(),
                );
            }
            let one = |list: &Option<Vec<String>>| list.as_ref().is_none_or(|list| list.len() == 1);
            if !one(&self.games) || !one(&self.agents) {
                return refuse(
                    &["name"],
                    "halving ranks the points of one agent in one game; make a [[search]] for each".into(),
                );
            }
        }
        let digits = points.len().to_string().len();
        let variant = |(i, point): (usize, Table)| {
            let mut set = self.set.clone();
            merge_tables(&mut set, &point);
            let Self { preset, budget, games, agents, seeds, .. } = self.clone();
            Variant { name: format!("{}-{:0digits$}", self.name, i + 1), preset, budget, games, agents, seeds, set }
        };
        Ok(points.into_iter().enumerate().map(variant).collect())
    }

    /// Each setting has a stream of its own: another setting beside it does not change its draws.
    fn draw(&self, choices: &[(String, Choice)], points: u32) -> Vec<Table> {
        let stream = |key: &str| Stream::named(self.seed, &format!("search/{}/{key}", self.name));
        let mut streams: Vec<Stream> = choices.iter().map(|(key, _)| stream(key)).collect();
        let mut found: Vec<Table> = Vec::new();
        // A draw that repeats is left out; where there are fewer combinations than points, all of them soon are found.
        for _ in 0..u64::from(points) * 20 {
            let drawn = choices.iter().zip(&mut streams).map(|((key, choice), stream)| (key, choice.draw(stream)));
            let point = table_of(drawn);
            if !found.contains(&point) {
                found.push(point);
            }
            if found.len() == points as usize {
                break;
            }
        }
        found
    }
}

/// What one setting is chosen from.
#[derive(Debug, Clone, PartialEq)]
enum Choice {
    Values(Vec<Value>),
    Range(Range),
}

/// `{ from = 1e-5, to = 1e-3, scale = "log", steps = 5 }`; whole numbers where both ends are.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: Value,
    to: Value,
    #[serde(default)]
    scale: Scale,
    /// Values of a grid, evenly spaced on the scale.
    steps: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Scale {
    #[default]
    Linear,
    Log,
}

impl Choice {
    fn read(value: &Value, method: Method) -> Result<Self, String> {
        match value {
            Value::Array(values) if values.is_empty() => Err("the list of values is empty".into()),
            Value::Array(values) => match (1..values.len()).find(|&i| values[..i].contains(&values[i])) {
                Some(i) => Err(format!("the value {} is listed twice", values[i])),
                None => Ok(Self::Values(values.clone())),
            },
            Value::Table(table) => {
                let range: Range =
                    table.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
                range.check(method)?;
                Ok(match (method, range.steps) {
                    (Method::Grid, Some(steps)) => Self::Values(range.spaced(steps)),
                    _ => Self::Range(range),
                })
            }
            other => Err(format!("expected a list of values or a range {{ from, to, scale }}, found {other}")),
        }
    }

    fn draw(&self, stream: &mut Stream) -> Value {
        match self {
            Self::Values(values) => values[stream.below(values.len() as u64) as usize].clone(),
            Self::Range(range) => range.at(stream.uniform()),
        }
    }
}

impl Range {
    fn check(&self, method: Method) -> Result<(), String> {
        let (Some(from), Some(to)) = (number(&self.from), number(&self.to)) else {
            return Err(format!("the ends of a range are numbers, found {} and {}", self.from, self.to));
        };
        if to <= from {
            return Err(format!("the range from {} to {} is empty", self.from, self.to));
        }
        if self.scale == Scale::Log && from <= 0.0 {
            return Err(format!("a logarithmic range begins above 0, not at {}", self.from));
        }
        match (method, self.steps) {
            (Method::Grid, None) => Err("a grid needs the number of `steps` of a range, or a list of values".into()),
            (Method::Grid, Some(steps)) if !(2..=1_000).contains(&steps) => {
                Err("a range has from 2 to 1000 `steps`".into())
            }
            (Method::Random | Method::Halving, Some(_)) => Err("`steps` belongs to method = \"grid\"".into()),
            _ => Ok(()),
        }
    }

    fn spaced(&self, steps: u32) -> Vec<Value> {
        let mut values: Vec<Value> = (0..steps).map(|i| self.at(f64::from(i) / f64::from(steps - 1))).collect();
        values.dedup();
        values
    }

    /// The value at this share of the way, to four digits: it can be read and typed, and is the same on every machine.
    fn at(&self, share: f64) -> Value {
        let (from, to) = (number(&self.from).unwrap_or_default(), number(&self.to).unwrap_or_default());
        let value = match self.scale {
            Scale::Linear => from + share * (to - from),
            Scale::Log => from * libm::pow(to / from, share),
        };
        match (&self.from, &self.to) {
            (Value::Integer(low), Value::Integer(high)) => {
                // Draws are below 1: the last whole number has as much room as the others.
                let whole = if self.steps.is_none() && self.scale == Scale::Linear {
                    (from + share * (to - from + 1.0)).floor()
                } else {
                    value.round()
                };
                Value::Integer((whole as i64).clamp(*low, *high))
            }
            _ => {
                let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
                Value::Float(rounded.clamp(from, to))
            }
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    let found = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    found.filter(|number| number.is_finite())
}

/// Every combination, the last setting changing fastest; none if they are too many.
fn grid(choices: &[(String, Choice)]) -> Option<Vec<Table>> {
    let mut points = vec![Table::new()];
    for (key, choice) in choices {
        let Choice::Values(values) = choice else { continue };
        if MOST_POINTS < points.len().saturating_mul(values.len()) {
            return None;
        }
        let with = |point: &Table, value: &Value| {
            let mut point = point.clone();
            merge_tables(&mut point, &table_of([(key, value.clone())]));
            point
        };
        points = points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect();
    }
    Some(points)
}

/// Dotted key → list or range, for every setting of `over`.
fn leaves(prefix: &str, table: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.contains_key("from") && !inner.contains_key("to") => {
                found.extend(leaves(&format!("{prefix}{key}."), inner));
            }
            other => found.push((format!("{prefix}{key}"), other.clone())),
        }
    }
    found
}

/// The nested table of dotted keys.
fn table_of<'a>(values: impl IntoIterator<Item = (&'a String, Value)>) -> Table {
    let mut table = Table::new();
    for (key, value) in values {
        sane_lab::set_value(&mut table, key, value);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(text: &str) -> Result<Vec<String>, String> {
        let document = Document { path: "s.toml".into(), text: format!("[[search]]\nname = 'x'\n{text}") };
        let table: Table = document.text.parse().unwrap();
        let search: Search =
            table["search"][0].clone().try_into().map_err(|error: toml::de::Error| error.to_string())?;
        let variants = search.variants(0, &document).map_err(|error| error.to_string())?;
        let one_line = |variant: Variant| {
            let set: Vec<String> =
                sane_lab::flatten_table(&variant.set).into_iter().map(|(k, v)| format!("{k}={v}")).collect();
            format!("{}: {}", variant.name, set.join(" "))
        };
        Ok(variants.into_iter().map(one_line).collect())
    }

    #[test]
    fn a_grid_is_every_combination() {
        let found = points(
            "method = 'grid'\nset.learner.double_q = true\nover.learner.gamma = [0.9, 0.99]\n\
             over.training.batch_size = { from = 16, to = 64, scale = 'log', steps = 3 }\n",
        );
        let all = [
            "x-1: learner.double_q=true learner.gamma=0.9 training.batch_size=16",
            "x-2: learner.double_q=true learner.gamma=0.9 training.batch_size=32",
            "x-3: learner.double_q=true learner.gamma=0.9 training.batch_size=64",
        ];
        let found = found.unwrap();
        assert_eq!((found.len(), &found[..3]), (6, &all.map(str::to_owned)[..]));
    }

    #[test]
    fn draws_repeat_and_do_not_depend_on_the_settings_beside_them() {
        let one = "method = 'random'\npoints = 12\nseed = 3\nover.learner.gamma = { from = 0.5, to = 0.9 }\n";
        let two = format!("{one}over.training.batch_size = {{ from = 1, to = 3 }}\n");
        let first = points(one).unwrap();
        assert_eq!(points(one).unwrap(), first);
        let both = points(&two).unwrap();
        assert!(first.iter().zip(&both).all(|(alone, both)| both.starts_with(alone.as_str())), "{first:?} {both:?}");
        for size in ["=1", "=2", "=3"] {
            assert!(both.iter().any(|point| point.ends_with(size)), "{both:?}");
        }
        assert_ne!(points(&one.replace("seed = 3", "seed = 4")).unwrap(), first);
    }

    #[test]
    fn what_cannot_be_searched_is_refused_with_its_line() {
        for (text, said) in [
            ("method = 'grid'\nover.learner.gamma = []\n", "s.toml:4: learner.gamma: the list of values is empty"),
            (
                "method = 'grid'\nover.learner.gamma = [0.9, 0.9]\n",
                "s.toml:4: learner.gamma: the value 0.9 is listed twice",
            ),
            (
                "method = 'random'\npoints = 2\nover.learner.gamma = { from = 0.9, to = 0.5 }\n",
                "s.toml:5: learner.gamma: the range from 0.9 to 0.5 is empty",
            ),
            (
                "method = 'random'\npoints = 2\nover.learner.gamma = { from = 0, to = 0.5, scale = 'log' }\n",
                "a logarithmic range begins above 0",
            ),
            ("method = 'random'\npoints = 2\nover.learner.gamma = 0.5\n", "expected a list of values or a range"),
            (
                "method = 'random'\npoints = 2\nover.learner.gamma = { from = 0.1, till = 0.5 }\n",
                "unknown field `till`",
            ),
            ("method = 'random'\nover.learner.gamma = [0.5]\n", "s.toml:3: say how many `points` to draw"),
            ("method = 'random'\npoints = 0\nover.learner.gamma = [0.5]\n", "s.toml:4: a search of 0 points"),
            (
                "method = 'grid'\npoints = 2\nover.learner.gamma = [0.5]\n",
                "s.toml:4: a grid has a point for every combination",
            ),
            (
                "method = 'grid'\nmetric = 'training'\nover.learner.gamma = [0.5]\n",
                "`metric` belongs to method = \"halving\"",
            ),
            ("method = 'halving'\npoints = 4\nkeep = 1\nover.learner.gamma = [0.5]\n", "keeps one point in 2 or more"),
            (
                "method = 'halving'\npoints = 4\nmetric = 'speed'\nover.learner.gamma = [0.5]\n",
                "unknown variant `speed`",
            ),
            (
                "method = 'halving'\npoints = 4\nagents = ['sane', 'q-sane']\nover.learner.gamma = [0.5]\n",
                "one agent in one game",
            ),
            ("method = 'grid'\nover = {}\n", "nothing to search over"),
        ] {
            let error = points(text).unwrap_err();
            assert!(error.contains(said), "{error}\nexpected: {said}");
        }
    }
}
