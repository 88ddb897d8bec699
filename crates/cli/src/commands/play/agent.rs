//! An agent at play: its picture, its score, its σ as a bar; n switches its noise.

use super::half_blocks::{bar, half_blocks};
use super::keys::{Wish, wish};
use super::pace::Pace;
use super::terminal::{Listening, Terminal};
use super::{Args, PAUSED};
use crate::output::{Failure, Outcome, Output};
use sane_agent::{ActMode, Decision, Policy};
use sane_env::{AgentSteps, Environment, FrameStack, Stream};
use sane_lab::{WorldKind, WorldSource, read_config, read_trained, stop_on_signals};
use std::path::Path;
use std::sync::atomic::Ordering;

/// Decisions per second in worlds without a speed of their own.
const SMALL_WORLD_RATE: f64 = 8.0;
/// Frames per second of the console.
const CONSOLE_RATE: f64 = 60.0;
/// How quickly the bar's scale forgets a large σ, per decision.
const FORGETTING: f64 = 0.999;

/// Plays until somebody quits.
pub fn play(args: &Args, output: &Output) -> Outcome {
    let folder = Path::new(&args.target);
    if !folder.exists() && WorldKind::of(&args.target).is_ok() {
        return Err(Failure::Usage(format!(
            "{0} is a world; `sane play {0} --human` lets you play it, `sane play RUN` shows an agent",
            args.target
        )));
    }
    let config = read_config(folder)?;
    let source = WorldSource::open(&config.world, args.roms.as_deref(), &mut |news| output.note(news))?;
    let trained = read_trained(folder, &source, args.checkpoint.map(AgentSteps))?;
    trained.notes.iter().for_each(|note| output.note(note));
    let stop = stop_on_signals()?;
    let spec = trained.spec().clone();
    let skip = f64::from(spec.frame_skip.0);
    let own_rate = if 1.0 < skip { CONSOLE_RATE / skip } else { SMALL_WORLD_RATE };
    let mut pace = Pace::new(args.fps.map_or(own_rate, f64::from));
    let has_noise = config.learner.exploration.noise().is_some();
    let title = format!("{}, {}", spec.name, config.agent);
    let mut stage = Stage::new(trained.learner.policy(), &source, args.start_seed)?;
    let (mut is_noisy, mut is_paused, mut widest) = (has_noise, false, 0.0_f64);
    let mut lines = Vec::new();
    let mut terminal = Terminal::take(Listening::Presses)?;
    while !stop.load(Ordering::Relaxed) {
        while let Some(key) = terminal.key(pace.left())? {
            match wish(&key) {
                Some(Wish::Quit) => return Ok(()),
                Some(Wish::Pause) => is_paused = !is_paused,
                Some(Wish::Restart) => {
                    stage.begin(&source)?;
                    is_paused = false;
                }
                Some(Wish::Noise) => is_noisy = has_noise && !is_noisy,
                None => {}
            }
        }
        pace.tick();
        if is_paused {
            if let Some(last) = lines.last_mut().filter(|last| *last != PAUSED) {
                *last = PAUSED.into();
                terminal.show(&lines)?;
            }
            continue;
        }
        let decision = stage.decide(if is_noisy { ActMode::Noisy } else { ActMode::Greedy });
        let (columns, rows) = terminal.size()?;
        if !pace.is_behind() {
            let sigma = decision.sigma.map(|sigma| f64::from(sigma.abs()));
            widest = (widest * FORGETTING).max(sigma.unwrap_or(0.0));
            let noise = match (has_noise, is_noisy) {
                (false, _) => "no noise",
                (_, true) => "noise on",
                (_, false) => "noise off",
            };
            let (columns, rows) = (usize::from(columns), usize::from(rows));
            lines = half_blocks(&stage.world.picture(), columns, rows.saturating_sub(3));
            lines.push(fitted(&format!("{title}   score {}   {noise}", points(stage.return_raw)), columns));
            lines.push(fitted(&thoughts(&decision, &spec.actions, sigma, widest), columns));
            lines.push(fitted("q quit   p pause   n noise   r next episode", columns));
            terminal.show(&lines)?;
        }
        if stage.carry_out(&decision)? {
            stage.begin(&source)?;
        }
    }
    Ok(())
}

fn thoughts(decision: &Decision, actions: &[String], sigma: Option<f64>, widest: f64) -> String {
    let action = actions.get(usize::from(decision.action.0)).map_or("?", String::as_str);
    let changed = if decision.noise_changed_action { "  (changed by the noise)" } else { "" };
    match sigma {
        Some(sigma) => format!("|σ| {} {sigma:.5}   {action}{changed}", bar(sigma, widest, 20)),
        None => format!("{action}{changed}"),
    }
}

/// A score: whole where it is, else with two digits after the point.
pub fn points(score: f64) -> String {
    if score.fract() == 0.0 { format!("{score}") } else { format!("{score:.2}") }
}

/// As much of a line as fits.
pub fn fitted(line: &str, columns: usize) -> String {
    line.chars().take(columns).collect()
}

/// A world with the agent in it.
struct Stage {
    policy: Policy,
    world: Box<dyn Environment>,
    stack: FrameStack,
    frame: Vec<u8>,
    starts: Stream,
    noise: Stream,
    start_seed: u64,
    episode: u64,
    return_raw: f64,
}

impl Stage {
    fn new(policy: Policy, source: &WorldSource, start_seed: u64) -> Result<Self, Failure> {
        let world = source.make(0)?;
        let (stack, frame) = (FrameStack::new(world.spec()), vec![0; world.spec().frame.bytes()]);
        let unset = || Stream::named(start_seed, "overwritten by the first episode");
        let (starts, noise) = (unset(), unset());
        let mut stage = Self { policy, world, stack, frame, starts, noise, start_seed, episode: 0, return_raw: 0.0 };
        stage.begin(source)?;
        Ok(stage)
    }

    /// The next of the episodes that `sane eval` plays from this seed.
    fn begin(&mut self, source: &WorldSource) -> Result<(), Failure> {
        let number = self.episode;
        let stream = |name: &str| Stream::named(self.start_seed, &format!("evaluation/{name}/{number}"));
        (self.starts, self.noise) = (stream("start"), stream("noise"));
        self.world = source.make(stream("world").next_u64())?;
        self.world.reset(&mut self.starts, &mut self.frame)?;
        self.stack.restart(&self.frame);
        (self.episode, self.return_raw) = (number + 1, 0.0);
        Ok(())
    }

    fn decide(&mut self, mode: ActMode) -> Decision {
        self.policy.act(self.stack.state(), mode, &mut self.noise)
    }

    /// Whether the episode is over.
    fn carry_out(&mut self, decision: &Decision) -> Result<bool, Failure> {
        let step = self.world.step(decision.action, &mut self.frame)?;
        self.stack.push(&self.frame);
        self.return_raw += f64::from(step.reward.raw());
        Ok(step.ending.ends_episode())
    }
}
