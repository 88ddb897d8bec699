//! Gymnasium environments from the command line: training, evaluation, workers that die or hang, and what is refused.
//! Needs Python; downloads Gymnasium by pip where it is missing.

#[path = "../../gym/tests/bridge/packages.rs"]
mod packages;
mod process;

use packages::{is_left_out, python_path, write_script};
use process::{TempFolder, check, fail, sane, stderr, succeed, wait_until};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A folder for runs and for Python modules with environments.
struct Gym {
    temp: TempFolder,
}

impl Gym {
    /// `None` where the tests that need Python are left out.
    fn new() -> Option<Self> {
        (!is_left_out()).then(|| Self { temp: TempFolder::new() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path(name)
    }

    /// `sane` with an interpreter that finds Gymnasium, and modules in this folder.
    fn sane(&self, args: &[&str]) -> Command {
        let python = self.path("python-with-gymnasium");
        if !python.exists() {
            let line = format!("PYTHONPATH='{}:{}' exec python3 \"$@\"", self.temp.root().display(), python_path());
            write_script(&python, &line);
        }
        let mut command = sane(args);
        command.env("SANE_PYTHON", python);
        command
    }

    /// A short training run in this world and folder.
    fn train(&self, world: &str, folder: &Path, more: &[&str]) -> Command {
        let start = ["train", world, "--agent", "sane", "--threads", "1", "--set", "record.interval=200"];
        let mut command = self.sane(&start);
        command.args(["--set", "training.learning_starts=200", "--set", "replay.capacity=1000", "--out"]);
        command.arg(folder).args(more);
        command
    }
}

const SHORT: [&str; 2] = ["--steps", "1500"];

#[test]
fn the_same_seed_gives_the_same_run_and_it_is_marked_as_not_bit_exact() {
    let Some(gym) = Gym::new() else { return };
    let (one, other) = (gym.path("one"), gym.path("other"));
    succeed(&mut gym.train("gym:CartPole-v1", &one, &SHORT));
    succeed(&mut gym.train("gym:CartPole-v1", &other, &["--steps", "1500", "--set", "world.timeout_seconds=30"]));
    let events = |run: &Path| fs::read_to_string(run.join("events.jsonl")).unwrap();
    assert!(events(&one) == events(&other), "two runs of one seed differ");
    assert!(events(&one).lines().next().unwrap().contains("\"not_bit_exact\":\"the inner state of a Python"));
    assert!(fs::read_to_string(one.join("config.toml")).unwrap().starts_with("# not bit-exact: "));
    let shown = succeed(gym.sane(&["runs", "show"]).arg(&one));
    assert!(shown.contains("not bit-exact: the inner state of a Python environment cannot be saved"), "{shown}");
    assert!(shown.contains("hidden = [256, 256]") && shown.contains("convolutions = []"), "{shown}");
}

#[test]
fn a_run_made_longer_resumes_with_a_new_episode() {
    let Some(gym) = Gym::new() else { return };
    let run = gym.path("run");
    succeed(&mut gym.train("gym:CartPole-v1", &run, &SHORT));
    let mut longer = gym.train("gym:CartPole-v1", &run, &["--steps", "2500"]);
    let notes = stderr(&check(&mut longer, 0, "resuming at interaction 1500"));
    assert!(notes.contains("not bit-exact"), "{notes}");
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    assert!(events.lines().last().unwrap().contains("run_finished"));
}

#[test]
fn evaluation_starts_do_not_depend_on_the_number_of_threads() {
    let Some(gym) = Gym::new() else { return };
    let run = gym.path("run");
    succeed(&mut gym.train("gym:CartPole-v1", &run, &SHORT));
    let measured = |threads: &str| {
        let mut command = gym.sane(&["eval", "--json", "--noise", "on", "--interactions", "400", "--threads", threads]);
        let json: serde_json::Value = serde_json::from_str(&succeed(command.arg(&run))).unwrap();
        json[0]["returns"].clone()
    };
    let one_thread = measured("1");
    assert!(1 < one_thread.as_array().unwrap().len(), "{one_thread}");
    assert_eq!(one_thread, measured("3"));
}

#[test]
fn the_network_follows_from_the_observation_space() {
    let Some(gym) = Gym::new() else { return };
    let module = "import gymnasium, numpy as np
from gymnasium.spaces import Box, Discrete
class Pictures(gymnasium.Env):
    observation_space, action_space = Box(0, 255, (40, 40, 3), np.uint8), Discrete(3)
    def reset(self, seed=None, options=None): return np.zeros((40, 40, 3), np.uint8), {}
    def step(self, action): return np.full((40, 40, 3), action, np.uint8), 0.0, False, True, {}
gymnasium.register('Pictures-v0', Pictures)
";
    fs::write(gym.path("pictures.py"), module).unwrap();
    let shown = succeed(&mut gym.sane(&["config", "show", "gym:pictures:Pictures-v0"]));
    assert!(shown.contains("hidden = [512]") && shown.contains("kernel = 8"), "{shown}");
    let run = gym.path("run");
    succeed(&mut gym.train("gym:pictures:Pictures-v0", &run, &["--steps", "150"]));
}

/// After 300 steps it exits or hangs, as the file `fault` says; it does neither if the file is empty. It writes its process id,
/// and that of a process it starts before it hangs, which ends by nothing but a kill.
const FAULTY_MODULE: &str = "import gymnasium, numpy as np, os, pathlib, subprocess, time
from gymnasium.spaces import Box, Discrete
here = pathlib.Path(__file__).parent
class Faulty(gymnasium.Env):
    observation_space, action_space = Box(-1e3, 1e3, (2,), np.float32), Discrete(2)
    steps = 0
    def reset(self, seed=None, options=None):
        (here / 'process').write_text(str(os.getpid()))
        return np.zeros(2, np.float32), {}
    def step(self, action):
        self.steps += 1
        fault = (here / 'fault').read_text() if self.steps == 300 else ''
        if fault == 'exit':
            print('last words of the worker')
            os._exit(7)
        if fault == 'hang':
            child = subprocess.Popen(['sh', '-c', \"trap '' HUP IO TERM; exec sleep 1000\"])
            (here / 'child').write_text(str(child.pid))
            (here / 'hangs').write_text('')
            time.sleep(1000)
        return np.full(2, self.steps % 50, np.float32), 1.0, self.steps % 50 == 0, False, {}
gymnasium.register('Faulty-v0', Faulty)
";

fn gym_with(fault: &str) -> Option<(Gym, PathBuf)> {
    let gym = Gym::new()?;
    fs::write(gym.path("faulty.py"), FAULTY_MODULE).unwrap();
    fs::write(gym.path("fault"), fault).unwrap();
    let run = gym.path("run");
    Some((gym, run))
}

fn is_alive(process: &str) -> bool {
    // A process that has ended and was not waited for yet is still listed.
    fs::read_to_string(Path::new("/proc").join(process).join("stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_worker_that_dies_ends_the_run_with_its_last_lines_and_the_run_can_be_resumed() {
    let Some((gym, run)) = gym_with("exit") else { return };
    let text = fail(&mut gym.train("gym:faulty:Faulty-v0", &run, &["--steps", "1000"]), 1);
    for part in ["died on step: exit code 7", "last words of the worker", "the run is saved at interaction 299"] {
        assert!(text.contains(part), "{text}\nlacks {part}");
    }
    assert!(fs::read_to_string(run.join("timings.jsonl")).unwrap().contains("\"reason\":\"fault\""));
    fs::write(gym.path("fault"), "").unwrap();
    succeed(&mut gym.train("gym:faulty:Faulty-v0", &run, &["--steps", "1000"]));
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    // The abandoned episode is not recorded: every recorded one has all its 50 steps.
    assert!(events.lines().filter(|line| line.contains("episode_finished")).all(|line| line.contains(":50.0,")));
    assert!(events.lines().last().unwrap().contains("run_finished"), "{events}");
}

#[test]
fn a_worker_that_hangs_is_ended_after_the_timeout() {
    let Some((gym, run)) = gym_with("hang") else { return };
    let more = ["--steps", "1000", "--set", "world.timeout_seconds=12"];
    let text = fail(&mut gym.train("gym:faulty:Faulty-v0", &run, &more), 1);
    assert!(text.contains("did not answer step for 12 s and was ended"), "{text}");
    assert!(text.contains("the run is saved at interaction 299"), "{text}");
    let process = fs::read_to_string(gym.path("process")).unwrap();
    assert!(!is_alive(&process), "the worker {process} still runs");
    let child = fs::read_to_string(gym.path("child")).unwrap();
    wait_until("the end of what the worker started", || !is_alive(&child));
}

fn start(gym: &Gym, run: &Path) -> Child {
    gym.train("gym:faulty:Faulty-v0", run, &["--steps", "1000"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_worker_never_outlives_the_binary_even_if_it_hangs() {
    let Some((gym, run)) = gym_with("hang") else { return };
    let mut binary = start(&gym, &run);
    wait_until("the hanging step", || gym.path("hangs").exists());
    let processes = ["process", "child"].map(|name| fs::read_to_string(gym.path(name)).unwrap());
    assert!(processes.iter().all(|process| is_alive(process)));
    binary.kill().unwrap();
    binary.wait().unwrap();
    wait_until("the end of the worker and of what it started", || !processes.iter().any(|process| is_alive(process)));
}

#[test]
fn a_head_that_may_act_for_ever_is_noted_when_the_run_begins_and_not_where_episodes_have_a_limit() {
    let Some((gym, run)) = gym_with("") else { return };
    let train = |out: &Path, kwargs: &[&str]| {
        let mut command = gym.sane(&["train", "gym:faulty:Faulty-v0", "--agent", "bootstrapped", "--steps", "20"]);
        stderr(&check(command.args(kwargs).arg("--out").arg(out), 0, ""))
    };
    let notes = train(&run, &[]);
    assert!(notes.contains("nothing limits the episodes of gym:faulty:Faulty-v0"), "{notes}");
    let limited = train(&gym.path("limited"), &["--set", "world.kwargs.max_episode_steps=9"]);
    assert!(!limited.contains("nothing limits"), "{limited}");
}

/// The error of a training command that is refused.
fn refused(gym: &Gym, world: &str, more: &[&str], code: i32) -> String {
    fail(gym.sane(&["train", world, "--agent", "sane", "--steps", "10"]).args(more), code)
}

#[test]
fn unknown_names_are_wrong_usage_with_a_suggestion() {
    let Some(gym) = Gym::new() else { return };
    let text = refused(&gym, "gym:CartPol-v1", &[], 2);
    assert!(text.contains("did you mean gym:CartPole-v1?"), "{text}");
    let text = refused(&gym, "gym:", &[], 2);
    assert!(text.contains("names no Gymnasium environment"), "{text}");
}

#[test]
fn a_continuous_action_space_is_refused_with_the_remedy() {
    let Some(gym) = Gym::new() else { return };
    let text = refused(&gym, "gym:Pendulum-v1", &[], 2);
    assert!(text.contains("continuous action space Box(") && text.contains("docs/gym.md"), "{text}");
}

#[test]
fn a_missing_interpreter_is_named_with_the_remedy() {
    let Some(gym) = Gym::new() else { return };
    let text = refused(&gym, "gym:CartPole-v1", &["--set", "world.python=/no/such/python"], 1);
    assert!(text.contains("no Python interpreter `/no/such/python`") && text.contains("SANE_PYTHON"), "{text}");
}

#[test]
fn arguments_are_set_by_key_and_wrong_ones_are_named() {
    let Some(gym) = Gym::new() else { return };
    let text = refused(&gym, "gym:CartPole-v1", &["--set", "world.kwargs.colour=red"], 2);
    assert!(text.contains("does not take what world.kwargs says") && text.contains("'colour'"), "{text}");
    let shown = succeed(&mut gym.sane(&[
        "config",
        "show",
        "gym:CartPole-v1",
        "--set",
        "world.kwargs.sutton_barto_reward=true",
    ]));
    assert!(shown.contains("[world.kwargs]\nsutton_barto_reward = true"), "{shown}");
    let text = refused(&gym, "minatar/breakout", &["--set", "world.kwargs.x=1"], 2);
    assert!(text.contains("world.kwargs"), "{text}");
}

#[test]
fn an_invalid_timeout_is_refused() {
    let Some(gym) = Gym::new() else { return };
    let text = refused(&gym, "gym:CartPole-v1", &["--set", "world.timeout_seconds=0"], 2);
    assert!(text.contains("world.timeout_seconds = 0 is not possible"), "{text}");
}
