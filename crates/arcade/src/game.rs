//! The 104 games: what the cartridge is, what the game offers, and its rules. In: a name or a checksum; out: a [`Game`].

use crate::action::Joystick;
use crate::games;
use crate::rules::Rules;
use sane_vcs::{CartridgeKind, TvFormat};
use std::sync::LazyLock;

/// One of the games, from the tables of this crate.
#[derive(Debug)]
pub struct Game {
    /// Name as typed on the command line, such as `road_runner`.
    pub name: &'static str,
    /// MD5 checksum of the ROM, in lower-case hexadecimal.
    pub md5: &'static str,
    /// Bytes of the ROM.
    pub rom_bytes: usize,
    /// How the cartridge is wired.
    pub cartridge: CartridgeKind,
    /// Television standard the program was written for; the console finds it out by itself.
    pub tv: TvFormat,
    /// First line of the visible window.
    pub first_line: u32,
    /// Rows of the picture.
    pub height: u32,
    /// What is plugged into the left port.
    pub port: Port,
    /// The difficulty switches while the television standard is found out, left then right.
    pub switches_at_load: [bool; 2],
    /// Whether a movement blanks the left edge of the line.
    pub hmove_comb: bool,
    /// Game modes; the first is the default.
    pub modes: Vec<u32>,
    /// Difficulties that may be chosen; a game that is loaded starts with 0, offered or not.
    pub difficulties: Vec<u32>,
    /// The actions that make a difference in this game, in order.
    pub minimal_actions: Vec<Joystick>,
    /// Whether the button may be pressed at all.
    pub may_fire: bool,
    /// Score, lives, end, opening and mode selection.
    pub rules: &'static Rules,
}

/// What the player holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// A joystick on the left.
    Joystick,
    /// A joystick on the right.
    JoystickOnTheRight,
    /// A pair of paddles.
    Paddles,
    /// A pair of paddles, wired the other way round.
    PaddlesSwapped,
}

/// A name that is no game.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no Atari game called `{typed}`{}; `sane roms list` names all {}", suggestion(*.closest), Game::all().len())]
pub struct UnknownGame {
    /// What was typed.
    pub typed: String,
    /// What was probably meant.
    pub closest: Option<&'static str>,
}

impl Game {
    /// The eleven games of the paper.
    pub const OF_THE_PAPER: [&'static str; 11] = [
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

    /// All games, by name.
    pub fn all() -> &'static [Self] {
        static GAMES: LazyLock<Vec<Game>> = LazyLock::new(read_table);
        &GAMES
    }

    /// The game with this name.
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

    /// All 18 actions, or the 9 without the button where the game forbids it.
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

/// The table is part of the program, so a row that does not read is our bug and says which.
fn read_row(row: &'static str) -> Game {
    let cells: Vec<&'static str> = row.split(',').collect();
    let [name, size, md5, cartridge, tv, first_line, _, height, port, swap_ports, swap_paddles, left, right, comb, ..] =
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
        cartridge: match cartridge {
            "2K" => CartridgeKind::K2,
            "4K" => CartridgeKind::K4,
            "F8" => CartridgeKind::F8,
            "F8SC" => CartridgeKind::F8Sc,
            "F6" => CartridgeKind::F6,
            "F6SC" => CartridgeKind::F6Sc,
            "E0" => CartridgeKind::E0,
            "FE" => CartridgeKind::Fe,
            "DPC" => CartridgeKind::Dpc,
            other => panic!("games.csv: {name}: cartridge `{other}`"),
        },
        tv: if tv == "PAL" { TvFormat::Pal } else { TvFormat::Ntsc },
        first_line: number(first_line),
        height: number(height),
        port: match (port, swap_ports, swap_paddles) {
            ("PADDLES", _, "YES") => Port::PaddlesSwapped,
            ("PADDLES", ..) => Port::Paddles,
            (_, "YES", _) => Port::JoystickOnTheRight,
            _ => Port::Joystick,
        },
        switches_at_load: [left == "A", right == "A"],
        hmove_comb: comb == "yes",
        modes: numbers(cells[14]),
        difficulties: numbers(cells[15]),
        minimal_actions,
        may_fire: cells[17] == "18",
        rules: games::rules(name).unwrap_or_else(|| panic!("games.csv: {name} has no rules")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_104_games_have_rules_modes_difficulties_and_actions() {
        assert_eq!(Game::all().len(), 104);
        assert_eq!(games::count(), 104);
        for game in Game::all() {
            assert!(!game.modes.is_empty() && !game.difficulties.is_empty(), "{}", game.name);
            assert!(!game.minimal_actions.is_empty(), "{}", game.name);
        }
    }

    #[test]
    fn the_eleven_of_the_paper_are_among_them() {
        for name in Game::OF_THE_PAPER {
            assert!(Game::named(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_slip_in_a_name_gets_a_suggestion() {
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
