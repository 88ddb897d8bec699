//! Suggestions for misspelt names.

/// The candidate most similar to `typed`, if any is similar enough to suggest.
pub fn closest_name<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let normal = |name: &str| name.to_lowercase().replace(['-', '_', ' ', '/'], "");
    let wanted = normal(typed);
    candidates
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wanted, &normal(name)), name))
        .filter(|(similarity, _)| *similarity >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAMES: [&str; 4] = ["boxing", "bowling", "road_runner", "minatar/asterix"];

    #[test]
    fn a_misspelt_name_gets_the_intended_one() {
        assert_eq!(closest_name("boxng", GAMES), Some("boxing"));
        assert_eq!(closest_name("RoadRunner", GAMES), Some("road_runner"));
        assert_eq!(closest_name("minatar-asterx", GAMES), Some("minatar/asterix"));
    }

    #[test]
    fn an_unrelated_name_gets_no_suggestion() {
        assert_eq!(closest_name("xyzzy", GAMES), None);
    }
}
