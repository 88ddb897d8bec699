//! What tells runs apart **within a world**: the settings that the user chose against the world's preset. What the preset of
//! another world gives is no difference: the same agent in two worlds is one agent.
//!
//! Where the origin of the settings is not recorded (older runs), it is the settings whose values differ between runs of the
//! same world.

use crate::recorded_run::RecordedRun;
use crate::settings::{Settings, differing_keys, part};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Stands among the settings for the preset, where runs of one world began with different ones.
pub const PRESET: &str = "preset";

/// Runs that nothing but their seed and their world tells apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Variant {
    /// All settings by which it was told apart, in any of its worlds; empty if it is the preset's own.
    pub differences: Settings,
    /// The fewest of them that tell it from the other variants.
    pub shown: Settings,
    /// World and settings of its runs.
    pub configurations: BTreeSet<(String, Settings)>,
}

/// The variants among these runs, the preset's own first, and for each run the index of its variant. `counts` says which
/// keys can tell runs apart.
pub fn told_apart(runs: &[&RecordedRun], counts: &dyn Fn(&str) -> bool) -> (Vec<Variant>, Vec<usize>) {
    let (configurations, of_run) = configurations(runs, counts);
    let signatures = signatures(&configurations);
    let mut distinct: Vec<&Settings> = signatures.iter().collect();
    distinct.sort_by(|a, b| natural_order(a, b));
    distinct.dedup();
    let shown_keys = telling_keys(&distinct);
    let mut variants: Vec<Variant> = distinct
        .iter()
        .map(|&differences| Variant {
            differences: differences.clone(),
            shown: part(differences, |key| shown_keys.contains(&key)),
            configurations: BTreeSet::new(),
        })
        .collect();
    let index: Vec<usize> = signatures
        .iter()
        .map(|signature| distinct.iter().position(|known| *known == signature).expect("all are listed"))
        .collect();
    for (configuration, &variant) in configurations.iter().zip(&index) {
        let identity = (configuration.world.to_owned(), configuration.settings.clone());
        variants[variant].configurations.insert(identity);
    }
    (variants, of_run.into_iter().map(|configuration| index[configuration]).collect())
}

/// One set of settings in one world.
struct Configuration<'a> {
    world: &'a str,
    settings: Settings,
    /// The preset it began with and the keys that were chosen against it, where that is recorded.
    origin: Option<(&'a str, BTreeSet<&'a str>)>,
}

impl Configuration<'_> {
    fn value(&self, key: &str) -> String {
        self.settings.get(key).cloned().unwrap_or_else(|| "not set".into())
    }

    fn values(&self, keys: &[String]) -> Settings {
        keys.iter().map(|key| (key.clone(), self.value(key))).collect()
    }

    /// The values of those of `keys` that were chosen.
    fn chosen(&self, keys: &[String]) -> Settings {
        let is_chosen = |key: &String| self.origin.as_ref().is_some_and(|(_, chosen)| chosen.contains(key.as_str()));
        self.values(&keys.iter().filter(|key| is_chosen(key)).cloned().collect::<Vec<_>>())
    }

    fn preset(&self) -> Option<&str> {
        self.origin.as_ref().map(|(preset, _)| *preset)
    }
}

fn configurations<'a>(runs: &[&'a RecordedRun], counts: &dyn Fn(&str) -> bool) -> (Vec<Configuration<'a>>, Vec<usize>) {
    let mut all: Vec<Configuration> = Vec::new();
    let mut known: BTreeMap<(&str, Settings), usize> = BTreeMap::new();
    let of_run = runs.iter().map(|run| {
        let settings = part(&run.settings, counts);
        let origin = run
            .origin
            .as_ref()
            .map(|origin| (origin.preset.as_str(), origin.chosen.keys().map(String::as_str).collect::<BTreeSet<_>>()));
        let index = *known.entry((&run.world, settings.clone())).or_insert(all.len());
        match all.get_mut(index) {
            None => all.push(Configuration { world: &run.world, settings, origin }),
            // Chosen in one run and the preset's in another: the preset gives that value.
            Some(Configuration { origin: Some((preset, chosen)), .. }) => {
                if let Some((other, keys)) = origin {
                    chosen.retain(|key| keys.contains(key));
                    *preset = (*preset).min(other);
                }
            }
            Some(configuration) => configuration.origin = origin,
        }
        index
    });
    let of_run = of_run.collect();
    (all, of_run)
}

/// For each configuration the settings that tell it apart: different within a world, and equal across worlds where the same
/// was chosen.
fn signatures(configurations: &[Configuration]) -> Vec<Settings> {
    let mut worlds: BTreeMap<&str, Vec<&Configuration>> = BTreeMap::new();
    configurations.iter().for_each(|one| worlds.entry(one.world).or_default().push(one));
    worlds.retain(|_, all| 1 < all.len());
    let differing: BTreeMap<&str, Vec<String>> = worlds
        .iter()
        .map(|(world, all)| (*world, differing_keys(all.iter().map(|one| &one.settings).collect::<Vec<_>>())))
        .collect();
    let anywhere: Vec<String> = differing.values().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    chosen_signatures(configurations, &worlds, &differing, &anywhere)
        .unwrap_or_else(|| differing_signatures(configurations, &differing))
}

/// By what was chosen; none where that is not recorded or does not tell the configurations of a world apart.
fn chosen_signatures(
    configurations: &[Configuration],
    worlds: &BTreeMap<&str, Vec<&Configuration>>,
    differing: &BTreeMap<&str, Vec<String>>,
    anywhere: &[String],
) -> Option<Vec<Settings>> {
    if worlds.values().flatten().any(|one| one.origin.is_none()) {
        return None;
    }
    let presets: BTreeMap<&str, BTreeSet<&str>> = worlds
        .iter()
        .map(|(world, all)| (*world, all.iter().filter_map(|one| one.preset()).collect::<BTreeSet<_>>()))
        .filter(|(_, presets)| 1 < presets.len())
        .collect();
    let signature = |one: &Configuration| {
        let mut signature = one.chosen(differing.get(one.world).map_or(anywhere, Vec::as_slice));
        let is_alone = !worlds.contains_key(one.world);
        let names_preset = |preset: &str| {
            presets.contains_key(one.world) || is_alone && presets.values().any(|used| used.contains(preset))
        };
        if let Some(preset) = one.preset().filter(|preset| names_preset(preset)) {
            signature.insert(PRESET.into(), preset.into());
        }
        signature
    };
    let signatures: Vec<Settings> = configurations.iter().map(signature).collect();
    let mut seen = BTreeSet::new();
    let tell = configurations.iter().zip(&signatures).all(|(one, signature)| seen.insert((one.world, signature)));
    tell.then_some(signatures)
}

/// By the values that differ within a world; a world with one configuration joins those with the same values elsewhere.
fn differing_signatures(configurations: &[Configuration], differing: &BTreeMap<&str, Vec<String>>) -> Vec<Settings> {
    let in_worlds: Vec<Settings> =
        configurations.iter().filter_map(|one| Some(one.values(differing.get(one.world)?))).collect();
    let signature = |one: &Configuration| match differing.get(one.world) {
        Some(keys) => one.values(keys),
        None => {
            let joins = |known: &&Settings| known.iter().all(|(key, value)| one.value(key) == *value);
            in_worlds.iter().find(joins).cloned().unwrap_or_default()
        }
    };
    configurations.iter().map(signature).collect()
}

/// The fewest keys that tell all of these apart, found greedily.
fn telling_keys<'a>(signatures: &[&'a Settings]) -> Vec<&'a str> {
    let keys: BTreeSet<&str> = signatures.iter().flat_map(|signature| signature.keys()).map(String::as_str).collect();
    let classes = |keys: &[&str]| {
        let restricted = |signature: &&'a Settings| {
            keys.iter().map(|key| signature.get(*key).map(String::as_str)).collect::<Vec<Option<&str>>>()
        };
        signatures.iter().map(restricted).collect::<BTreeSet<_>>().len()
    };
    let mut chosen: Vec<&str> = Vec::new();
    while classes(&chosen) < signatures.len() {
        let with = |key: &str| classes(&[&chosen[..], &[key]].concat());
        // Of keys that tell equally many apart: the preset, then the first.
        let best = keys.iter().copied().rev().max_by_key(|key| (with(key), *key == PRESET));
        chosen.extend(best.filter(|key| !chosen.contains(key)));
    }
    chosen
}

/// The preset's own first, then by keys and values, numbers by size.
fn natural_order(a: &Settings, b: &Settings) -> Ordering {
    let by_value = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        _ => a.cmp(b),
    };
    let pairs = a.iter().zip(b).map(|((key, x), (other, y))| key.cmp(other).then_with(|| by_value(x, y)));
    let first = pairs.into_iter().find(|order| order.is_ne());
    first.unwrap_or_else(|| a.len().cmp(&b.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_record::RunOrigin;

    /// A run of `world` with these settings (`key=value` in each word); those with a `!` were chosen.
    fn run(world: &str, preset: Option<&str>, settings: &str) -> RecordedRun {
        let pairs = || settings.split_whitespace().map(|word| word.split_once('=').unwrap());
        let chosen = pairs().filter_map(|(key, _)| Some((key.strip_suffix('!')?.to_owned(), "--set".to_owned())));
        RecordedRun {
            world: world.into(),
            settings: pairs().map(|(key, value)| (key.trim_end_matches('!').to_owned(), value.to_owned())).collect(),
            origin: preset.map(|preset| RunOrigin {
                preset: preset.into(),
                chosen: chosen.collect(),
                ..RunOrigin::default()
            }),
            ..RecordedRun::default()
        }
    }

    fn check(runs: &[RecordedRun], shown: &[&str], of_run: &[usize]) {
        let (variants, found) = told_apart(&runs.iter().collect::<Vec<_>>(), &|_| true);
        let text = |variant: &Variant| {
            variant.shown.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            (variants.iter().map(text).collect::<Vec<_>>(), found),
            (shown.iter().map(|s| (*s).to_owned()).collect(), of_run.to_vec())
        );
    }

    #[test]
    fn what_the_preset_of_another_world_gives_is_no_difference() {
        for [first, second] in [[None, None], [Some("minatar"), Some("risky-road")]] {
            check(&[run("breakout", first, "lr=1 hidden=2"), run("road", second, "lr=3 hidden=4")], &[""], &[0, 0]);
        }
    }

    #[test]
    fn what_was_chosen_in_several_worlds_is_one_variant_whatever_their_presets_give() {
        let runs = [
            run("a", Some("p"), "lr=1 decay=5"),
            run("a", Some("p"), "lr!=9 decay=5"),
            run("b", Some("q"), "lr=2 decay=6"),
            run("b", Some("q"), "lr!=9 decay=6"),
            run("c", Some("q"), "lr=2 decay=7"),
        ];
        check(&runs, &["", "lr=9"], &[0, 1, 0, 1, 0]);
    }

    #[test]
    fn older_runs_are_told_apart_by_what_differs_within_a_world() {
        let runs = [run("a", None, "lr=1 decay=5"), run("a", None, "lr=9 decay=5"), run("b", None, "lr=9 decay=6")];
        check(&runs, &["lr=1", "lr=9"], &[0, 1, 1]);
        let elsewhere = [&runs[..2], &[run("b", None, "lr=4 decay=6")]].concat();
        check(&elsewhere, &["", "lr=1", "lr=9"], &[1, 2, 0]);
    }

    #[test]
    fn two_presets_in_one_world_are_named_instead_of_all_that_they_change() {
        let runs = [
            run("a", Some("paper"), "lr=1 decay=5 size=1"),
            run("a", Some("quick"), "lr=2 decay=6 size=2"),
            run("b", Some("quick"), "lr=3 decay=6 size=2"),
        ];
        check(&runs, &["preset=paper", "preset=quick"], &[0, 1, 1]);
    }

    #[test]
    fn as_few_settings_are_shown_as_tell_all_apart_in_the_order_of_their_numbers() {
        let values = ["10", "9", "100"];
        let runs = values.map(|value| run("a", Some("p"), &format!("gamma!=0.{value} lr!={value} same!=1")));
        // The keys that tell are equally good; the first is taken.
        check(&runs, &["gamma=0.10", "gamma=0.100", "gamma=0.9"], &[0, 2, 1]);
        let (variants, _) = told_apart(&runs.iter().collect::<Vec<_>>(), &|_| true);
        assert_eq!(variants[0].differences.len(), 2, "what all have in common is no difference");
    }

    #[test]
    fn a_value_that_was_chosen_and_is_the_preset_s_is_the_preset_s() {
        let runs = [run("a", Some("p"), "lr=1"), run("a", Some("p"), "lr!=1"), run("a", Some("p"), "lr!=2")];
        check(&runs, &["", "lr=2"], &[0, 0, 1]);
    }

    #[test]
    fn runs_of_two_program_versions_that_were_asked_for_alike_are_told_apart_by_their_values() {
        let runs = [run("a", Some("p"), "lr=1"), run("a", Some("p"), "lr=2")];
        check(&runs, &["lr=1", "lr=2"], &[0, 1]);
    }
}
