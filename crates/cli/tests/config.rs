//! `sane config` as a process, and settings on the command line: invalid ones are refused by their key, with exit code 2,
//! before anything is written.

mod process;

use process::{TempFolder, fail, sane, small_run, succeed};
use std::fs;

#[test]
fn invalid_settings_are_refused_by_their_key_and_leave_no_folder() {
    let temp = TempFolder::new();
    let cases = [
        ("learner.optimiser.learning_rate=-0.1", "learning_rate = -0.1 is not possible"),
        ("training.batch_size=100000", "training.batch_size = 100000 is not possible"),
        ("training.train_period=0", "training.train_period = 0 is not possible"),
        ("record.checkpoint_interval=0", "record.checkpoint_interval = 0 is not possible"),
        ("learner.gama=0.9", "did you mean learner.gamma?"),
        ("learner.gamma=high", "--set"),
        ("learner.gamma", "expected key=value"),
    ];
    let of_agents = [
        ("bootstrapped", "learner.exploration.heads=0", "exploration.heads = 0 is not possible"),
        ("bootstrapped", "learner.exploration.mask_probability=0", "exploration.mask_probability = 0 is not possible"),
        ("langevin", "learner.exploration.inverse_temperature=0", "inverse_temperature = 0 is not possible"),
        ("bayes-head", "learner.exploration.prior_deviation=-1", "prior_deviation = -1 is not possible"),
        ("bayes-head", "learner.exploration.thompson=month", "--set"),
        ("bayes-head", "learner.exploration.thompson=never", "exploration.thompson = never is not possible"),
        ("sane-shuffled", "learner.exploration.thompson=never", "exploration.thompson = never is not possible"),
        ("sane-elbo", "learner.exploration.q_noise=0", "exploration.q_noise = 0 is not possible"),
        ("noisynet-elbo", "learner.exploration.q_noise=-1", "exploration.q_noise = -1 is not possible"),
        ("sane-counts", "learner.exploration.noise_at_visits=0", "noise_at_visits = 0 is not possible"),
        ("oracle", "learner.exploration.risky_noise=2", "exploration.risky_noise = 2 is not possible"),
        ("sane-gap", "learner.exploration.hash_bits=9", "hash_bits"),
    ];
    for (agent, setting, expected) in cases.map(|(setting, text)| ("sane", setting, text)).into_iter().chain(of_agents)
    {
        let text = fail(&mut small_run(agent, &temp.path("never"), &["--set", setting]), 2);
        assert!(text.contains(expected), "{setting}: {text}");
        assert!(!temp.path("never").exists(), "{setting} left a folder behind");
    }
}

#[test]
fn a_share_of_actions_is_below_one() {
    let temp = TempFolder::new();
    let settings = ["learner.exploration.q_noise_unit=share", "learner.exploration.q_noise=1"];
    let text = fail(&mut small_run("sane-elbo", &temp.path("never"), &["--set", settings[0], "--set", settings[1]]), 2);
    assert!(text.contains("exploration.q_noise = 1 is not possible; expected a share of actions"), "{text}");
    assert!(!temp.path("never").exists());
}

#[test]
fn a_share_of_actions_that_no_noise_changes_in_this_world_is_refused_before_anything_is_written() {
    let temp = TempFolder::new();
    let unit = "learner.exploration.q_noise_unit=share";
    let run = |share: &str, out: &str| {
        small_run(
            "sane-elbo",
            &temp.path(out),
            &["--set", unit, "--set", &format!("learner.exploration.q_noise={share}")],
        )
    };
    let text = fail(&mut run("0.9", "never"), 2);
    assert!(text.contains("exploration.q_noise = 0.9 is not possible with 6 actions"), "{text}");
    assert!(text.contains("choose a smaller share") && text.contains("q_noise_unit = gap"), "{text}");
    assert!(!temp.path("never").exists());
    succeed(&mut run("0.8", "allowed"));
}

#[test]
fn a_trace_of_learning_takes_settings_of_the_agent_and_no_others() {
    let temp = TempFolder::new();
    let trace = |settings: &[&str]| {
        let mut command = sane(&["trace-learning", "--agent", "sane-elbo", "--env-preset", "minatar", "--steps", "1"]);
        command.args(settings.iter().flat_map(|setting| ["--set", setting])).arg("--out").arg(temp.path("trace"));
        command
    };
    for (setting, expected) in [("seed=3", "the agent's, learner.KEY=VALUE"), ("learner.gama=1", "learner.gamma?")] {
        let text = fail(&mut trace(&[setting]), 2);
        assert!(text.contains(expected), "{setting}: {text}");
        assert!(!temp.path("trace").exists());
    }
    // Possible with the six actions of the trace, and not with three.
    succeed(&mut trace(&["learner.exploration.q_noise_unit=share", "learner.exploration.q_noise=0.75"]));
    let written = || String::from_utf8_lossy(&fs::read(temp.path("trace")).unwrap()).into_owned();
    assert!(written().contains(r#"\"q_noise\":0.75,\"q_noise_unit\":\"share\""#), "{}", &written()[..2_000]);
    assert!(!written().contains("memory.transitions"));
    succeed(&mut trace(&["learner.exploration.contraction=posterior"]));
    assert!(written().contains("step0.memory.transitions"), "the weight of the KL term follows from them");
}

#[test]
fn unknown_names_get_a_suggestion() {
    let cases = [
        (vec!["train", "boxng", "--agent", "sane"], "did you mean boxing?"),
        (vec!["train", "boxing", "--agent", "qsane"], "did you mean q-sane?"),
        (vec!["train", "boxing", "--agent", "sane", "--preset", "quik"], "did you mean quick?"),
        (vec!["train", "minatar/asterx", "--agent", "sane"], "minatar/asterix"),
        (vec!["config", "show", "minatar/asterx"], "minatar/asterix"),
        (vec!["config", "show", "deep-sea/1000"], "a size from 2 to 100"),
    ];
    for (args, expected) in cases {
        let text = fail(&mut sane(&args), 2);
        assert!(text.contains(expected), "{args:?}: {text}");
    }
}

#[test]
fn a_file_with_an_unknown_key_is_refused_and_a_good_one_is_used() {
    let temp = TempFolder::new();
    let (bad, good) = (temp.path("bad.toml"), temp.path("good.toml"));
    fs::write(&bad, "[training]\nbatchsize = 3\n").unwrap();
    fs::write(&good, "agent = \"noisynet\"\n[training]\nbatch_size = 3\n").unwrap();
    let text = fail(sane(&["config", "show", "--config"]).arg(&bad), 2);
    assert!(text.contains("bad.toml") && text.contains("did you mean training.batch_size?"), "{text}");
    let shown = succeed(sane(&["config", "show", "--config"]).arg(&good));
    assert!(shown.contains("batch_size = 3") && shown.contains("kind = \"noisynet\""), "{shown}");
    // The printed configuration can be read back; then every value is the file's.
    fs::write(&good, &shown).unwrap();
    let again = succeed(sane(&["config", "show", "--config"]).arg(&good));
    let values = |text: &str| text.parse::<toml::Table>().expect("TOML");
    assert_eq!(values(&again), values(&shown));
}

#[test]
fn presets_differ_in_the_documented_keys_and_every_key_is_explained() {
    let differences = succeed(&mut sane(&["config", "diff", "paper", "machado"]));
    assert_eq!(differences.lines().count(), 1, "{differences}");
    assert!(differences.starts_with("world.profile"), "{differences}");
    assert!(succeed(&mut sane(&["config", "keys"])).contains("learner.gamma"));
}
