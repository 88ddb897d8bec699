//! `sane atari trace`: a game and its actions in, one JSON line per frame out, comparable with ale-py by `diff`.

use super::python_random::PythonRandom;
use crate::output::{Failure, Outcome, Output};
use anyhow::Context;
use sane_arcade::{Ale, Game, Joystick, Roms, Settings};
use std::fmt::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  sane atari trace boxing --random 1 600
  sane atari trace atlantis --random 7 2000 --mode 2 --full
  sane atari trace qbert --actions moves.txt

--random draws actions as Python's random.Random(SEED) does: a choice from the minimal set, held for 1 to 12 frames.
An action file holds ids 0-17 separated by blanks; the word reset resets the game.";

/// Run a game and print what each frame gave.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("source").required(true).args(["actions", "random"]))]
pub struct Args {
    /// The game, such as road_runner (`sane roms list` names all)
    game: String,
    /// File with action ids, separated by blanks
    #[arg(long, value_name = "FILE")]
    actions: Option<PathBuf>,
    /// N frames of random play
    #[arg(long, num_args = 2, value_names = ["SEED", "N"])]
    random: Option<Vec<u64>>,
    /// Seed of the environment's own generator
    #[arg(long, default_value_t = 0)]
    seed: u32,
    /// Probability that a frame repeats the action before it instead of taking the new one
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    sticky: f32,
    /// Add the 128 bytes of RAM in hexadecimal
    #[arg(long)]
    full: bool,
    /// Game mode
    #[arg(long)]
    mode: Option<u32>,
    /// Difficulty: 1 is the left switch, 2 the right one, 3 both
    #[arg(long)]
    difficulty: Option<u32>,
    /// Begin in the state after loading, without the reset that usually follows
    #[arg(long)]
    no_reset: bool,
    /// Random play draws from all legal actions instead of the minimal set
    #[arg(long)]
    full_action_set: bool,
    /// Folder with ROMs, looked at before all others
    #[arg(long, value_name = "DIR")]
    roms: Option<PathBuf>,
}

enum Token {
    Reset,
    Act(Joystick),
}

/// Prints the line of the start and of every frame.
pub fn run(args: Args, output: &Output) -> Outcome {
    let game = Game::named(&args.game).map_err(|error| Failure::Usage(error.to_string()))?;
    let tokens = tokens(&args, game)?;
    let rom = Roms::new(args.roms.as_deref()).load(game, &mut |news| output.note(news))?;
    let settings = Settings { seed: args.seed, repeat_action_probability: args.sticky, ..Settings::default() };
    let mut ale = Ale::load(game, &rom, settings)?;
    let usage = |error: sane_arcade::AleError| Failure::Usage(error.to_string());
    args.mode.map_or(Ok(()), |mode| ale.set_mode(mode)).map_err(usage)?;
    args.difficulty.map_or(Ok(()), |difficulty| ale.set_difficulty(difficulty)).map_err(usage)?;
    if !args.no_reset {
        ale.reset_game();
    }
    output.result(line(&ale, -1, None, 0, args.full, ""));
    let (mut frame, mut after_reset) = (0, "");
    for token in tokens {
        let Token::Act(action) = token else {
            ale.reset_game();
            after_reset = ",\"reset\":true";
            continue;
        };
        if ale.game_over() {
            ale.reset_game();
            after_reset = ",\"reset\":true";
        }
        let reward = ale.act(action);
        output.result(line(&ale, frame, Some(action), reward, args.full, after_reset));
        after_reset = "";
        frame += 1;
    }
    Ok(())
}

fn line(ale: &Ale, frame: i64, action: Option<Joystick>, reward: i32, full: bool, ending: &str) -> String {
    let action = action.map_or("null".to_owned(), |action| action.id().to_string());
    let (lives, over) = (ale.lives(), ale.game_over());
    let (ram_crc, screen_crc) = (sane_arcade::crc32(ale.ram()), sane_arcade::crc32(ale.screen()));
    let mut line = format!(
        "{{\"frame\":{frame},\"action\":{action},\"reward\":{reward},\"lives\":{lives},\"game_over\":{over},\
         \"ram_crc\":\"{ram_crc:08x}\",\"screen_crc\":\"{screen_crc:08x}\""
    );
    if full {
        line.push_str(",\"ram\":\"");
        for byte in ale.ram() {
            write!(line, "{byte:02x}").expect("a string takes everything");
        }
        line.push('"');
    }
    line.push_str(ending);
    line.push('}');
    line
}

fn tokens(args: &Args, game: &'static Game) -> Result<Box<dyn Iterator<Item = Token>>, Failure> {
    if let Some(path) = &args.actions {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let tokens: Result<Vec<Token>, Failure> = text.split_whitespace().map(token).collect();
        return Ok(Box::new(tokens?.into_iter()));
    }
    let random = args.random.as_deref().unwrap_or_default();
    let [seed, frames] = random else { return Err(Failure::Usage("--random takes SEED and N".to_owned())) };
    let actions = if args.full_action_set { game.legal_actions() } else { game.minimal_actions.clone() };
    let play = RandomPlay { random: PythonRandom::new(*seed), actions, held: Joystick::NOOP, left: 0 };
    Ok(Box::new(play.take(*frames as usize).map(Token::Act)))
}

fn probability(text: &str) -> Result<f32, String> {
    let p: f32 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if (0.0..=1.0).contains(&p) { Ok(p) } else { Err(format!("{p} is not between 0 and 1")) }
}

fn token(word: &str) -> Result<Token, Failure> {
    if word == "reset" {
        return Ok(Token::Reset);
    }
    let action = word.parse().ok().and_then(Joystick::from_id);
    action.map(Token::Act).ok_or_else(|| {
        Failure::Usage(format!("`{word}` in the action file is no action; use ids 0 to 17 or the word reset"))
    })
}

/// Uniform choices, each held 1 to 12 frames.
struct RandomPlay {
    random: PythonRandom,
    actions: Vec<Joystick>,
    held: Joystick,
    left: u32,
}

impl Iterator for RandomPlay {
    type Item = Joystick;

    fn next(&mut self) -> Option<Joystick> {
        if self.left == 0 {
            self.held = self.actions[self.random.below(self.actions.len() as u32) as usize];
            self.left = 1 + self.random.below(12);
        }
        self.left -= 1;
        Some(self.held)
    }
}
