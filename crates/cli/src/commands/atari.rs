//! `sane atari`: compares the Atari games with the Arcade Learning Environment (ALE), frame by frame. `replay` checks
//! recorded runs; `trace` prints a run for a comparison with ale-py by `diff`.

use crate::args::{RomsOption, probability};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use anyhow::{Context, anyhow};
use clap::Subcommand;
use indicatif::ProgressBar;
use rayon::prelude::*;
use sane_arcade::{Ale, AleSettings, Game, Joystick, Roms, Trace, TraceComparison};
use sane_env::Mt19937;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const REPLAY_EXAMPLES: &str = "\
Examples:
  sane atari replay golden/atari/boxing.trc.gz
  sane atari replay golden/atari/*.trc.gz --json

Printed for each file: the number of frames and of states that differ; for the first difference the frame, the field \
and both values. The file's name may carry a mode and a difficulty: atlantis.m2.d0.trc.gz.
Exit code: 0 no difference, 1 some difference or an unreadable file, 2 wrong usage.";

const TRACE_EXAMPLES: &str = "\
Examples:
  sane atari trace boxing --random 1 600
  sane atari trace atlantis --random 7 2000 --mode 2 --full
  sane atari trace qbert --actions moves.txt

--random draws actions as Python's random.Random(SEED) does: a choice from the minimal set, held for 1 to 12 frames.
An action file holds ids 0-17 separated by whitespace; the word reset resets the game.";

/// Compare the Atari games with recorded runs of the Arcade Learning Environment
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane atari replay golden/atari/*.trc.gz             # exit code 1 if any frame differs\n  \
    sane atari trace boxing --random 1 600              # the lines that ale-py gives, too")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Replay recorded runs; compare RAM, screen, reward, lives and game over after every frame
    Replay(ReplayArgs),
    /// Run a game and print one JSON line per frame, for comparison with ale-py by `diff`
    Trace(TraceArgs),
}

pub fn run(args: Args, output: &Output) -> Outcome {
    match args.action {
        Action::Replay(args) => replay_files(&args, output),
        Action::Trace(args) => trace(&args, output),
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = REPLAY_EXAMPLES)]
struct ReplayArgs {
    /// Trace files (.trc.gz)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    roms: RomsOption,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// Replays all files in parallel.
fn replay_files(args: &ReplayArgs, output: &Output) -> Outcome {
    let roms = Roms::new(args.roms.folder());
    let bar = output.progress_bar(0, "frames");
    let results: Vec<(&PathBuf, anyhow::Result<TraceComparison>)> = args
        .files
        .par_iter()
        .map(|path| {
            let result = replay_file(path, &roms, &bar, *output);
            if !args.json {
                bar.suspend(|| output.result(line_about(path, &result)));
            }
            (path, result)
        })
        .collect();
    bar.finish_and_clear();
    let failed = results.iter().filter(|(_, result)| !result.as_ref().is_ok_and(|c| c.differences == 0)).count();
    if args.json {
        output.result(as_json(&results));
    }
    if failed == 0 {
        output.note(format_args!("{} files, no difference", results.len()));
        return Ok(());
    }
    Err(Failure::Failed(anyhow!("{failed} of {} files differ or cannot be replayed", results.len())))
}

fn replay_file(path: &Path, roms: &Roms, bar: &ProgressBar, output: Output) -> anyhow::Result<TraceComparison> {
    let trace = Trace::read(path)?;
    let game = Game::named(&trace.header.game)?;
    if trace.header.md5 != game.md5 {
        let (recorded, known) = (&trace.header.md5, game.md5);
        return Err(anyhow!(
            "the trace was recorded with a ROM of MD5 {recorded}; the ROM of {} has {known}",
            game.name
        ));
    }
    let rom = roms.load(game, &mut |message| bar.suspend(|| output.note(message)))?;
    bar.inc_length(trace.header.frames.into());
    trace.compare(game, &rom, || bar.inc(1)).with_context(|| path.display().to_string())
}

fn line_about(path: &Path, result: &anyhow::Result<TraceComparison>) -> String {
    let path = path.display();
    match result {
        Err(error) => format!("{path}: not replayed: {error:#}"),
        Ok(TraceComparison { frames, differences, first }) => {
            let line = format!("{path}: {frames} frames, {differences} differences");
            first.as_ref().map_or(line.clone(), |first| {
                let (at, field) = (&first.at, &first.field);
                format!("{line}; first at {at}: {field} is {}, recorded {}", first.found, first.recorded)
            })
        }
    }
}

fn as_json(results: &[(&PathBuf, anyhow::Result<TraceComparison>)]) -> Value {
    let file = |(path, result): &(&PathBuf, anyhow::Result<TraceComparison>)| {
        let path = path.display().to_string();
        match result {
            Err(error) => json!({"file": path, "error": format!("{error:#}")}),
            Ok(comparison) => {
                let first = comparison.first.as_ref().map(|first| {
                    json!({"at": first.at, "field": first.field, "recorded": first.recorded, "found": first.found})
                });
                let (frames, differences) = (comparison.frames, comparison.differences);
                json!({"file": path, "frames": frames, "differences": differences, "first": first})
            }
        }
    };
    let differences: u64 = results.iter().filter_map(|(_, result)| result.as_ref().ok()).map(|c| c.differences).sum();
    let frames: u64 = results.iter().filter_map(|(_, result)| result.as_ref().ok()).map(|c| c.frames).sum();
    json!({"files": results.iter().map(file).collect::<Vec<_>>(), "frames": frames, "differences": differences})
}

#[derive(Debug, clap::Args)]
#[command(after_help = TRACE_EXAMPLES)]
#[command(group = clap::ArgGroup::new("source").required(true).args(["actions", "random"]))]
struct TraceArgs {
    /// The game, such as road_runner (`sane roms list` names all)
    game: String,
    /// File with action ids, separated by whitespace
    #[arg(long, value_name = "FILE")]
    actions: Option<PathBuf>,
    /// Random play: seed and number of frames
    #[arg(long, num_args = 2, value_names = ["SEED", "N"])]
    random: Option<Vec<u64>>,
    /// Seed of the emulator's random generator
    #[arg(long, default_value_t = 0)]
    seed: u32,
    /// Sticky actions: probability that a frame repeats the previous action
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    sticky: f32,
    /// Add the 128 bytes of RAM in hexadecimal
    #[arg(long)]
    full: bool,
    /// Game mode
    #[arg(long)]
    mode: Option<u32>,
    /// Difficulty switches: 1 left, 2 right, 3 both
    #[arg(long)]
    difficulty: Option<u32>,
    /// Start in the state after loading, without the usual reset
    #[arg(long)]
    no_reset: bool,
    /// Draw random actions from all legal actions instead of the minimal set
    #[arg(long)]
    full_action_set: bool,
    #[command(flatten)]
    roms: RomsOption,
}

enum Token {
    Reset,
    Act(Joystick),
}

/// Prints one line for the start and one per frame.
fn trace(args: &TraceArgs, output: &Output) -> Outcome {
    let game = Game::named(&args.game).map_err(Failure::usage)?;
    let tokens = tokens(args, game)?;
    let rom = Roms::new(args.roms.folder()).load(game, &mut |message| output.note(message))?;
    let settings = AleSettings { seed: args.seed, repeat_action_probability: args.sticky, ..AleSettings::default() };
    let mut ale = Ale::load(game, &rom, settings)?;
    args.mode.map_or(Ok(()), |mode| ale.set_mode(mode)).map_err(Failure::usage)?;
    args.difficulty.map_or(Ok(()), |difficulty| ale.set_difficulty(difficulty)).map_err(Failure::usage)?;
    if !args.no_reset {
        ale.reset_game();
    }
    output.result(trace_line(&ale, -1, None, 0, args.full, ""));
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
        output.result(trace_line(&ale, frame, Some(action), reward, args.full, after_reset));
        after_reset = "";
        frame += 1;
    }
    Ok(())
}

fn trace_line(ale: &Ale, frame: i64, action: Option<Joystick>, reward: i32, full: bool, ending: &str) -> String {
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
            write!(line, "{byte:02x}").expect("writing to a string cannot fail");
        }
        line.push('"');
    }
    line.push_str(ending);
    line.push('}');
    line
}

fn tokens(args: &TraceArgs, game: &'static Game) -> Result<Box<dyn Iterator<Item = Token>>, Failure> {
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

fn token(word: &str) -> Result<Token, Failure> {
    if word == "reset" {
        return Ok(Token::Reset);
    }
    let action = word.parse().ok().and_then(Joystick::from_id);
    action.map(Token::Act).ok_or_else(|| {
        Failure::Usage(format!("`{word}` in the action file is not an action; use ids 0 to 17 or the word reset"))
    })
}

/// Uniform random actions, each held for 1 to 12 frames.
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

/// Python's `random.Random(seed)`, as far as `choice` and `randint` need it: random play here equals random play there.
struct PythonRandom {
    twister: Mt19937,
}

impl PythonRandom {
    /// `random.Random(seed)`: the seed's 32-bit words, lowest first, are the key of the generator.
    fn new(seed: u64) -> Self {
        let words = [seed as u32, (seed >> 32) as u32];
        let key = if words[1] == 0 { &words[..1] } else { &words[..] };
        Self { twister: Mt19937::from_key(key) }
    }

    /// `randrange(n)`: as few high bits as can hold `n`, drawn again until they are below it.
    fn below(&mut self, n: u32) -> u32 {
        let bits = u32::BITS - n.leading_zeros();
        loop {
            let draw = self.twister.next_u32() >> (u32::BITS - bits);
            if draw < n {
                return draw;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_equal_those_of_python() {
        // r = random.Random(5); [r.choice([0, 1, 2, 3, 4, 5]) for _ in range(6)], r.randint(1, 12), r.randint(1, 12)
        let mut random = PythonRandom::new(5);
        let choices: Vec<u32> = (0..6).map(|_| random.below(6)).collect();
        assert_eq!((choices, 1 + random.below(12), 1 + random.below(12)), (vec![4, 2, 5, 2, 5, 5], 11, 9));
    }

    #[test]
    fn seeds_of_more_than_32_bits_are_keys_of_two_words() {
        // random.Random(2**40 + 7).getrandbits(32)
        assert_eq!(PythonRandom::new((1 << 40) + 7).twister.next_u32(), 2_635_837_658);
        assert_eq!(PythonRandom::new(0).twister.next_u32(), 3_626_764_237);
    }
}
