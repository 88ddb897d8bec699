//! `sane bench engine`: a train step and an action selection of each agent, compared with the peak that the processor
//! reaches in registers.
//!
//! Times are minimums of many, what the machine can do undisturbed; the table shows medians next to them. The agents are
//! measured interleaved, in short slices, so that a disturbance of seconds affects all of them and their ratios hold.

use super::Measurements;
use crate::commands::agents::{named_agent, preset_world};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use sane_agent::{ActMode, AgentConfig, LearnPhase, Learner, ParameterCounts, PhaseObserver};
use sane_env::{Action, Element, EnvSpec, Stream};
use sane_nn::Kernel;
use sane_replay::Batch;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  sane bench engine
  sane bench engine --threads 1 --preset minatar --agents eps-greedy,sane
  sane bench engine --kernel portable --json

The batch size is 32, with 6 actions; a perturbation module has half as many units as the network's dense layer. GFLOP/s count the products of a step by their definition (two forward passes, \
gradients of weights and of all activations but the observation); noise, optimiser and everything else are overhead. \
Convolutions by Winograd's method need fewer multiplications than are counted. Actions are selected on one thread.";

const BATCH: usize = 32;
const ACTIONS: usize = 6;
/// Slices per agent, interleaved with those of the others.
const SLICES: u32 = 20;

/// Train step and action selection of each agent, compared with the processor's peak
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Agents to measure, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "eps-greedy,noisynet,sane,q-sane")]
    agents: Vec<String>,
    /// Shape of the observations: nature (84×84×4) or minatar (10×10×4)
    #[arg(long, default_value = "nature", value_parser = ["nature", "minatar"])]
    preset: String,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Instruction set: avx512, avx2 or portable [default: the best this processor has]
    #[arg(long)]
    kernel: Option<String>,
    /// Seconds of measurement per agent
    #[arg(long, value_name = "S", default_value_t = 6.0)]
    seconds: f64,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let kernel = args.kernel.as_deref().map_or(Ok(Kernel::detect()), Kernel::named).map_err(Failure::usage)?;
    if !(0.0..=600.0).contains(&args.seconds) {
        return Err(Failure::usage("--seconds must be between 0 and 600"));
    }
    let world = preset_world(&args.preset, ACTIONS)?;
    let config = |name: &String| named_agent(name, &world).map(AgentConfig::with_module_of_half_the_width);
    let configs = args.agents.iter().map(config).collect::<Result<Vec<_>, _>>()?;
    let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let (one_thread, workers) = (pool(1)?, pool(args.threads.map_or(0, usize::from))?);
    let threads = workers.current_num_threads();
    let peak = peak_gflops(kernel, &workers);
    let bar = output.progress_bar(u64::from(SLICES), "slices");
    let mut benches = configs.iter().map(|config| Bench::new(config, &world, kernel)).collect::<Result<Vec<_>, _>>()?;
    let slice = Duration::from_secs_f64(args.seconds) / SLICES;
    for _ in 0..SLICES {
        for bench in &mut benches {
            workers.install(|| bench.learn(slice))?;
            one_thread.install(|| bench.act(slice / 4));
        }
        bar.inc(1);
    }
    let rows = args.agents.iter().zip(&configs).zip(benches).map(|((name, config), bench)| {
        let (train, act) = (Measurements::of(bench.train_times), Measurements::of(bench.act_times));
        Ok(Row { name: name.clone(), train, act, gflop: gflop(config, &world)?, phases: bench.timer.minimum })
    });
    let rows = rows.collect::<Result<Vec<_>, Failure>>()?;
    bar.finish_and_clear();
    if args.json {
        output.result(as_json(&rows, threads, peak, kernel));
    } else {
        as_table(&rows, threads, peak, kernel).iter().for_each(|line| output.result(line));
    }
    Ok(())
}

/// The times of one agent in seconds, and the work of a train step.
struct Row {
    name: String,
    train: Measurements,
    act: Measurements,
    gflop: f64,
    phases: [f64; LearnPhase::ALL.len()],
}

impl Row {
    fn gflops(&self) -> f64 {
        self.gflop / self.train.min()
    }
}

/// Times the phases of learn steps and keeps the minimum of each.
struct PhaseTimer {
    last: Instant,
    minimum: [f64; LearnPhase::ALL.len()],
    current: [f64; LearnPhase::ALL.len()],
}

impl PhaseObserver for PhaseTimer {
    fn finished(&mut self, phase: LearnPhase) {
        let time = Instant::now();
        let i = LearnPhase::ALL.iter().position(|&known| known == phase).expect("all phases are listed");
        self.current[i] += (time - self.last).as_secs_f64();
        self.last = time;
    }
}

/// One agent with a batch of random states, and the times measured so far.
struct Bench {
    learner: Learner,
    noise: Stream,
    batch: Batch,
    state: Vec<u8>,
    timer: PhaseTimer,
    train_times: Vec<f64>,
    act_times: Vec<f64>,
}

impl Bench {
    fn new(config: &AgentConfig, world: &EnvSpec, kernel: Kernel) -> Result<Self, Failure> {
        let mut draws = Stream::named(1, "bench states");
        let mut batch = Batch::new(BATCH, world.state_bytes());
        let Element::U8 { full_scale } = world.frame.element else { unreachable!("both presets have bytes") };
        batch.states.fill_with(|| draws.below(u64::from(full_scale) + 1) as u8);
        batch.next_states.fill_with(|| draws.below(u64::from(full_scale) + 1) as u8);
        for (i, (action, reward)) in batch.actions.iter_mut().zip(&mut batch.rewards).enumerate() {
            *action = Action((i % ACTIONS) as u16);
            *reward = (i % 3) as f32 - 1.0;
        }
        let none = [0.0; LearnPhase::ALL.len()];
        Ok(Self {
            learner: Learner::on_kernel(config, world, &mut Stream::named(1, "init"), kernel)?,
            noise: Stream::named(1, "noise"),
            batch,
            state: vec![1; world.state_bytes()],
            timer: PhaseTimer { last: Instant::now(), minimum: none.map(|_| f64::INFINITY), current: none },
            train_times: Vec::new(),
            act_times: Vec::new(),
        })
    }

    /// Learn steps for the length of the slice, at least one.
    fn learn(&mut self, slice: Duration) -> Result<(), Failure> {
        let start = Instant::now();
        loop {
            let timer = &mut self.timer;
            timer.current = [0.0; LearnPhase::ALL.len()];
            timer.last = Instant::now();
            let started = timer.last;
            self.learner.learn_observed(&self.batch, &mut self.noise, timer)?;
            self.train_times.push(started.elapsed().as_secs_f64());
            for (minimum, current) in timer.minimum.iter_mut().zip(timer.current) {
                *minimum = minimum.min(current);
            }
            if slice <= start.elapsed() {
                return Ok(());
            }
        }
    }

    /// Selects actions with the perturbed network (greedily for agents without noise) for the length of the slice, at
    /// least one.
    fn act(&mut self, slice: Duration) {
        let start = Instant::now();
        loop {
            let started = Instant::now();
            std::hint::black_box(self.learner.act(&self.state, ActMode::Noisy, &mut self.noise));
            self.act_times.push(started.elapsed().as_secs_f64());
            if slice <= start.elapsed() {
                return;
            }
        }
    }
}

/// Multiply-adds in registers on all threads at once, the maximum of many short rounds.
fn peak_gflops(kernel: Kernel, workers: &rayon::ThreadPool) -> f64 {
    let round = || {
        let start = Instant::now();
        let flop: u64 = workers.broadcast(|_| kernel.multiply_adds(2_000_000)).into_iter().sum();
        flop as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    (0..60).map(|_| round()).fold(0.0, f64::max)
}

/// Multiply-adds of the matrix products of one train step, times two, in units of 10⁹. A layer counts four times: two forward
/// passes, its weights' gradient, its input's gradient, which the first convolution does not have.
fn gflop(config: &AgentConfig, world: &EnvSpec) -> Result<f64, Failure> {
    let (mut channels, mut height, mut width) = (world.state_channels(), world.frame.height, world.frame.width);
    let mut products = 0;
    for (i, conv) in config.network.convolutions.iter().enumerate() {
        height = (height - conv.kernel) / conv.stride + 1;
        width = (width - conv.kernel) / conv.stride + 1;
        let one = height * width * conv.kernel * conv.kernel * channels * conv.filters;
        products += if i == 0 { 3 * one } else { 4 * one };
        channels = conv.filters;
    }
    let widths = config.network.dense_widths(world)?;
    let dense: usize = widths.windows(2).map(|ends| 4 * ends[0] * ends[1]).sum();
    // Every weight is used twice forward (online and target network) and twice backward (input and weight gradient).
    products += dense + 4 * ParameterCounts::of(config, world)?.exploration;
    Ok(2.0 * (BATCH * products) as f64 / 1e9)
}

fn as_json(rows: &[Row], threads: usize, peak: f64, kernel: Kernel) -> Value {
    let agents: Map<String, Value> = rows
        .iter()
        .map(|row| {
            let phases: Map<String, Value> = LearnPhase::ALL
                .iter()
                .zip(row.phases)
                .map(|(phase, time)| (phase.name().to_owned(), json!(time * 1e3)))
                .collect();
            let value = json!({
                "train_step_ms": row.train.min() * 1e3,
                "act_ms": row.act.min() * 1e3,
                "gflops": row.gflops(),
                "share_of_peak": row.gflops() / peak,
                "phases_ms": phases,
            });
            (row.name.clone(), value)
        })
        .collect();
    json!({ "threads": threads, "kernel": kernel.name(), "peak_gflops": peak, "agents": agents })
}

fn as_table(rows: &[Row], threads: usize, peak: f64, kernel: Kernel) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{} kernel, {threads} threads, peak {peak:.1} GFLOP/s; batch {BATCH}, {ACTIONS} actions",
            kernel.name()
        ),
        format!(
            "{:<24}{:>14}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
            "agent", "train step ms", "median", "× first", "GFLOP/s", "of peak", "act ms", "median"
        ),
    ];
    for row in rows {
        let (ratio, share) = (row.train.min() / rows[0].train.min(), 100.0 * row.gflops() / peak);
        let ms = |times: &Measurements| (times.min() * 1e3, times.median() * 1e3);
        let ((train, train_median), (act, act_median)) = (ms(&row.train), ms(&row.act));
        lines.push(format!(
            "{:<24}{train:>14.3}{train_median:>10.3}{ratio:>10.3}{:>10.1}{share:>9.1}%{act:>10.4}{act_median:>10.4}",
            row.name,
            row.gflops()
        ));
    }
    lines.push(String::new());
    let heads: String = LearnPhase::ALL.iter().map(|phase| format!("{:>16}", phase.name())).collect();
    lines.push(format!("{:<24}{heads}", "phases, minimum ms"));
    for row in rows {
        let times: String = row.phases.iter().map(|time| format!("{:>16.3}", time * 1e3)).collect();
        lines.push(format!("{:<24}{times}", row.name));
    }
    lines
}
