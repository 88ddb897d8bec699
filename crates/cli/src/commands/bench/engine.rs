//! `sane bench engine`: a train step and an act of each agent, against the peak that the processor reaches in registers.
//!
//! Times are minimums of many, what the machine can do when nothing disturbs it; the table shows medians beside them. The
//! agents take turns, so that a disturbance of seconds hits all of them and their ratios stand.

mod turn;

use crate::output::{Failure, Outcome, Output};
use indicatif::{ProgressBar, ProgressDrawTarget};
use sane_agent::{AgentConfig, Exploration, Phase};
use sane_env::{Element, EnvSpec, FrameSkip, FrameSpace};
use sane_nn::Kernel;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};
use turn::{Bench, Spread};

const EXAMPLES: &str = "\
Examples:
  sane bench engine
  sane bench engine --threads 1 --preset minatar --agents eps-greedy,sane
  sane bench engine --kernel portable --json

The batch is 32 with 6 actions. GFLOP/s count the products of a step by their definition (two forward passes, gradients of \
weights and of all activations but the observation); noise, optimiser and everything else are overhead. Convolutions that \
are computed by Winograd's method need fewer multiplications than are counted. An act runs on one thread.";

const BATCH: usize = 32;
const ACTIONS: usize = 6;
const TURNS: u32 = 20;

/// Train step and act of each agent, against the processor's peak.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Which agents
    #[arg(long, value_delimiter = ',', default_value = "eps-greedy,noisynet,sane,q-sane")]
    agents: Vec<String>,
    /// Size of the world: nature (84×84×4) or minatar (10×10×4)
    #[arg(long, default_value = "nature", value_parser = ["nature", "minatar"])]
    preset: String,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Instructions to compute with: avx512, avx2 or portable [default: the best of this processor]
    #[arg(long)]
    kernel: Option<String>,
    /// Seconds to measure each agent
    #[arg(long, value_name = "S", default_value_t = 6.0)]
    seconds: f64,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub fn run(args: Args, output: &Output) -> Outcome {
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    let kernel = args.kernel.as_deref().map_or(Ok(Kernel::detect()), Kernel::named).map_err(|error| usage(&error))?;
    if !(0.0..=600.0).contains(&args.seconds) {
        return Err(Failure::Usage("--seconds must be between 0 and 600".to_owned()));
    }
    let world = world(&args.preset);
    let configs = args.agents.iter().map(|name| agent(name, &world)).collect::<Result<Vec<_>, _>>()?;
    let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let (alone, workers) = (pool(1)?, pool(args.threads.map_or(0, usize::from))?);
    let threads = workers.current_num_threads();
    let peak = peak_gflops(kernel, &workers);
    let target = if output.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(u64::from(TURNS)), target);
    let mut benches = configs.iter().map(|config| Bench::new(config, &world, kernel)).collect::<Result<Vec<_>, _>>()?;
    let turn = Duration::from_secs_f64(args.seconds) / TURNS;
    for _ in 0..TURNS {
        for bench in &mut benches {
            workers.install(|| bench.learn(turn))?;
            alone.install(|| bench.act(turn / 4));
        }
        bar.inc(1);
    }
    let rows = args.agents.iter().zip(&configs).zip(benches).map(|((name, config), bench)| {
        let (train, act) = (Spread::of(bench.train_times), Spread::of(bench.act_times));
        Ok(Row { name: name.clone(), train, act, gflop: gflop(config, &world)?, phases: bench.clock.best })
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

/// What was measured of one agent, and the work of a train step.
struct Row {
    name: String,
    train: Spread,
    act: Spread,
    gflop: f64,
    phases: [f64; Phase::ALL.len()],
}

impl Row {
    fn gflops(&self) -> f64 {
        self.gflop / self.train.min
    }
}

fn world(preset: &str) -> EnvSpec {
    let (frame, history) = match preset {
        "minatar" => (FrameSpace { channels: 4, height: 10, width: 10, element: Element::U8 { full_scale: 1 } }, 1),
        _ => (FrameSpace::gray(84, 84), 4),
    };
    let actions = (0..ACTIONS).map(|i| format!("action {i}")).collect();
    EnvSpec { name: format!("bench/{preset}"), frame, history, actions, frame_skip: FrameSkip(4) }
}

fn agent(name: &str, world: &EnvSpec) -> Result<AgentConfig, Failure> {
    AgentConfig::named(name, world).ok_or_else(|| {
        let known = sane_agent::CATALOGUE.map(|entry| entry.name);
        let hint =
            sane_env::closest_name(name, known).map_or(String::new(), |close| format!("; did you mean {close}?"));
        Failure::Usage(format!("there is no agent called {name}{hint} (`sane agents` lists them)"))
    })
}

/// Multiply-adds in registers on all threads at once, the best of many short rounds.
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
    products += if matches!(config.exploration, Exploration::NoisyNet { .. }) { 2 * dense } else { dense };
    if let Some(module) = config.exploration.module() {
        let ends: Vec<usize> = [widths[0]].into_iter().chain(module.hidden.iter().copied()).chain([1]).collect();
        products += ends.windows(2).map(|ends| 4 * ends[0] * ends[1]).sum::<usize>();
    }
    Ok(2.0 * (BATCH * products) as f64 / 1e9)
}

fn as_json(rows: &[Row], threads: usize, peak: f64, kernel: Kernel) -> Value {
    let agents: Map<String, Value> = rows
        .iter()
        .map(|row| {
            let phases: Map<String, Value> = Phase::ALL
                .iter()
                .zip(row.phases)
                .map(|(phase, time)| (phase.name().to_owned(), json!(time * 1e3)))
                .collect();
            let value = json!({
                "train_step_ms": row.train.min * 1e3,
                "act_ms": row.act.min * 1e3,
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
        let (ratio, share) = (row.train.min / rows[0].train.min, 100.0 * row.gflops() / peak);
        let ms = |spread: Spread| (spread.min * 1e3, spread.median * 1e3);
        let ((train, train_median), (act, act_median)) = (ms(row.train), ms(row.act));
        lines.push(format!(
            "{:<24}{train:>14.3}{train_median:>10.3}{ratio:>10.3}{:>10.1}{share:>9.1}%{act:>10.4}{act_median:>10.4}",
            row.name,
            row.gflops()
        ));
    }
    lines.push(String::new());
    let heads: String = Phase::ALL.iter().map(|phase| format!("{:>16}", phase.name())).collect();
    lines.push(format!("{:<24}{heads}", "phases, least ms"));
    for row in rows {
        let times: String = row.phases.iter().map(|time| format!("{:>16.3}", time * 1e3)).collect();
        lines.push(format!("{:<24}{times}", row.name));
    }
    lines
}
