//! Names typed by people: which known one was probably meant.

/// The candidate nearest to `typed`, if any is near enough to be worth suggesting.
pub fn closest_name<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let normal = |name: &str| name.to_lowercase().replace(['-', '_', ' ', '/'], "");
    let wanted = normal(typed);
    candidates
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wanted, &normal(name)), name))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAMES: [&str; 4] = ["boxing", "bowling", "road_runner", "minatar/asterix"];

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        assert_eq!(closest_name("boxng", GAMES), Some("boxing"));
        assert_eq!(closest_name("RoadRunner", GAMES), Some("road_runner"));
        assert_eq!(closest_name("minatar-asterx", GAMES), Some("minatar/asterix"));
    }

    #[test]
    fn something_else_altogether_gets_no_suggestion() {
        assert_eq!(closest_name("xyzzy", GAMES), None);
    }
}
