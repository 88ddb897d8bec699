//! The table of the 104 games: cartridge, modes, actions, rules. In: a name or a checksum; out: a [`Game`].

use crate::joystick::Joystick;
use crate::rules::{self, Rules};
use sane_vcs::CartridgeKind;
use std::sync::LazyLock;

/// One game: a row of `data/games.csv` and its rules.
#[derive(Debug)]
pub struct Game {
    /// Name as typed on the command line, such as `road_runner`.
    pub name: &'static str,
    /// MD5 checksum of the ROM, in lower-case hexadecimal.
    pub md5: &'static str,
    /// Bytes of the ROM.
    pub rom_bytes: usize,
    pub cartridge: CartridgeKind,
    /// First line of the visible window.
    pub first_line: u32,
    /// Rows of the screen.
    pub height: u32,
    pub port: Port,
    /// Whether the difficulty switches, left then right, are at A while the television standard is detected.
    pub(crate) switches_at_load: [bool; 2],
    /// Whether HMOVE blanks the left edge of the line.
    pub hmove_comb: bool,
    /// Game modes; the first is the default.
    pub modes: Vec<u32>,
    /// Difficulties that can be set. A game is loaded with difficulty 0, whether or not it is one of these.
    pub difficulties: Vec<u32>,
    /// The actions that have an effect in this game, in ALE's order.
    pub minimal_actions: Vec<Joystick>,
    /// Whether the button may be pressed; without it the game has 9 legal actions.
    pub may_fire: bool,
    pub(crate) rules: &'static Rules,
}

/// The controller of the player and the port it is plugged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    LeftJoystick,
    RightJoystick,
    Paddles,
    /// The two paddles of the pair exchanged.
    PaddlesSwapped,
}

/// A name that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no Atari game called `{typed}`{}; `sane roms list` names all {}", suggestion(*.closest), Game::all().len())]
pub struct UnknownGame {
    pub typed: String,
    /// The most similar name, if one is similar enough.
    pub closest: Option<&'static str>,
}

impl Game {
    /// The eleven games of the paper.
    pub const PAPER_GAMES: [&'static str; 11] = [
        "asterix",
        "atlantis",
        "enduro",
        "ice_hockey",
        "qbert",
        "riverraid",
        "road_runner",
        "seaquest",
        "fishing_derby",
        "boxing",
        "bowling",
    ];

    /// All games, sorted by name.
    pub fn all() -> &'static [Self] {
        static GAMES: LazyLock<Vec<Game>> = LazyLock::new(read_table);
        &GAMES
    }

    /// The game with this name; the error suggests a similar one.
    pub fn named(name: &str) -> Result<&'static Self, UnknownGame> {
        Self::all().iter().find(|game| game.name == name).ok_or_else(|| UnknownGame {
            typed: name.to_owned(),
            closest: sane_env::closest_name(name, Self::all().iter().map(|game| game.name)),
        })
    }

    /// The game whose ROM has this checksum.
    pub fn with_md5(md5: &str) -> Option<&'static Self> {
        Self::all().iter().find(|game| game.md5 == md5)
    }

    /// Name of the file in which the ROM is stored.
    pub fn rom_file_name(&self) -> String {
        format!("{}.bin", self.name)
    }

    /// All 18 actions, or the 9 without the button if the game forbids it.
    pub fn legal_actions(&self) -> Vec<Joystick> {
        (0..18).filter_map(Joystick::from_id).filter(|action| self.may_fire || !action.fires()).collect()
    }
}

fn suggestion(closest: Option<&str>) -> String {
    closest.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}

fn read_table() -> Vec<Game> {
    include_str!("data/games.csv").lines().filter(|line| !line.starts_with('#')).skip(1).map(read_row).collect()
}

/// The table is compiled in, so a malformed row is a bug of this crate: it panics and names the row.
fn read_row(row: &'static str) -> Game {
    let cells: Vec<&'static str> = row.split(',').collect();
    let [name, size, md5, cartridge, _, first_line, _, height, port, swap_ports, swap_paddles, left, right, comb, ..] =
        cells[..]
    else {
        panic!("games.csv: the row `{row}` is too short");
    };
    let number = |cell: &str| -> u32 { cell.parse().unwrap_or_else(|_| panic!("games.csv: {name}: `{cell}`")) };
    let numbers = |cell: &str| -> Vec<u32> { cell.split_whitespace().map(number).collect() };
    let minimal_actions = numbers(cells[16]).into_iter().filter_map(|id| Joystick::from_id(id as u8)).collect();
    Game {
        name,
        md5,
        rom_bytes: number(size) as usize,
        cartridge: CartridgeKind::ALL
            .into_iter()
            .find(|kind| kind.name() == cartridge)
            .unwrap_or_else(|| panic!("games.csv: {name}: cartridge `{cartridge}`")),
        first_line: number(first_line),
        height: number(height),
        port: match (port, swap_ports, swap_paddles) {
            ("PADDLES", _, "YES") => Port::PaddlesSwapped,
            ("PADDLES", ..) => Port::Paddles,
            (_, "YES", _) => Port::RightJoystick,
            _ => Port::LeftJoystick,
        },
        switches_at_load: [left == "A", right == "A"],
        hmove_comb: comb == "yes",
        modes: numbers(cells[14]),
        difficulties: numbers(cells[15]),
        minimal_actions,
        may_fire: cells[17] == "18",
        rules: rules::rules_of(name).unwrap_or_else(|| panic!("games.csv: {name} has no rules")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_104_games_have_rules_modes_difficulties_and_actions() {
        assert_eq!(Game::all().len(), 104);
        assert_eq!(rules::count(), 104);
        for game in Game::all() {
            assert!(!game.modes.is_empty() && !game.difficulties.is_empty(), "{}", game.name);
            assert!(!game.minimal_actions.is_empty(), "{}", game.name);
        }
    }

    #[test]
    fn the_eleven_of_the_paper_are_among_them() {
        for name in Game::PAPER_GAMES {
            assert!(Game::named(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion() {
        let error = Game::named("road-runer").unwrap_err();
        assert_eq!(error.closest, Some("road_runner"));
        assert!(error.to_string().contains("did you mean `road_runner`?"), "{error}");
    }

    #[test]
    fn two_games_forbid_the_button() {
        let forbidding: Vec<_> = Game::all().iter().filter(|game| !game.may_fire).map(|game| game.name).collect();
        assert_eq!(forbidding, ["lost_luggage", "skiing"]);
        assert_eq!(Game::named("skiing").unwrap().legal_actions().len(), 9);
    }
}
