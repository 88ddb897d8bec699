//! Reports on synthetic run folders: finished, unfinished, torn, mixed, repeated.

mod support;

use sane_record::{EVALUATIONS_IN_TRAINING, EvaluatedWhileTraining, Event, JsonlFile};
use sane_report::{
    Measure, Noise, RecordedRun, Report, ReportError, ReportOptions, SectionReport, find_runs, read_run,
};
use std::fs;
use std::io::Write;
use std::path::Path;
use support::SyntheticRun;

fn read_all(root: &Path) -> Vec<RecordedRun> {
    find_runs(&[root.into()]).unwrap().iter().map(|folder| read_run(folder).unwrap()).collect()
}

fn report(root: &Path) -> Report {
    Report::of(read_all(root), Vec::new(), None)
}

/// Beside the paper's tables in full.
fn paper_report(root: &Path) -> Report {
    Report::with(read_all(root), Vec::new(), ReportOptions { paper: true, ..ReportOptions::default() })
}

fn only_section(report: &Report) -> &SectionReport {
    let [section] = &report.sections[..] else { panic!("{} sections", report.sections.len()) };
    section
}

fn file(report: &Report, path: &str) -> String {
    let file = report.files().unwrap().into_iter().find(|file| file.path == path).unwrap();
    String::from_utf8(file.bytes).unwrap()
}

/// Two games of the paper and a small world, two agents, two seeds.
fn write_small_suite(root: &Path) {
    for (world, score) in [("boxing", 60.0), ("qbert", 9_000.0), ("minatar/breakout", 9.0)] {
        for (agent, better) in [("q-sane", 1.3), ("eps-greedy", 1.0)] {
            for seed in 1..=2 {
                SyntheticRun::small(world, agent, seed, score * better + seed as f64).write(root);
            }
        }
    }
}

#[test]
fn a_run_is_read_as_it_was_written() {
    let root = tempfile::tempdir().unwrap();
    let folder = SyntheticRun::small("boxing", "q-sane", 7, 60.0).write(root.path());
    let run = read_run(&folder).unwrap();
    assert_eq!((run.world.as_str(), run.agent.as_str(), run.seed), ("boxing", "q-sane", 7));
    assert_eq!((run.finished, run.torn, run.reached_interactions, run.episodes), (true, false, 20_000, 80));
    assert_eq!((run.points.len(), run.evaluations.len(), run.parameters), (20, 2, 1_687_206));
    let hash = blake3::hash(&fs::read(folder.join("events.jsonl")).unwrap()).to_hex().to_string();
    assert_eq!(run.events_digest, hash);
    assert_eq!(run.process.interactions_per_second.map(f64::round), Some(500.0));
    assert_eq!((run.process.seconds.round(), run.process.threads), (40.0, Some(2)));
    assert_eq!(run.process.machines, ["Example processor, 2 logical cores"]);
    assert!(!run.has_dead_module());
}

#[test]
fn a_run_that_cannot_be_resumed_bit_for_bit_is_marked() {
    let root = tempfile::tempdir().unwrap();
    let events = SyntheticRun::small("gym:CartPole-v1", "sane", 1, 400.0).write(root.path()).join("events.jsonl");
    let unmarked = fs::read_to_string(&events).unwrap();
    let mark = "\"not_bit_exact\":\"its state cannot be saved\",\"parameters\"";
    fs::write(&events, unmarked.replacen("\"parameters\"", mark, 1)).unwrap();
    let said = file(&report(root.path()), "index.html");
    assert!(said.contains("finished; not bit-exact"), "the state does not say so");
    assert!(
        said.contains("Not bit-exact where it was stopped and resumed: its state cannot be saved."),
        "no note says why"
    );
}

#[test]
fn scores_are_averaged_over_seeds_and_shown_beside_the_paper_s() {
    let root = tempfile::tempdir().unwrap();
    write_small_suite(root.path());
    let report = paper_report(root.path());
    let scores = file(&report, "scores.csv");
    // (79 + 80) / 2, deviation √½; the paper's Q-SANE in Boxing; two evaluations of two episodes, none partial.
    assert!(scores.contains("1,noise-off,boxing,q-sane,2,79.5,0.7071067811865476,95.3,3.0,4,0\n"), "{scores}");
    let section = only_section(&report);
    let table = &section.scores[0];
    assert_eq!(table.columns, ["world", "q-sane", "q-sane, paper", "eps-greedy", "eps-greedy, paper"]);
    let row = |start: &str| &table.rows.iter().find(|row| row.cells[0].starts_with(start)).unwrap().cells;
    assert_eq!(row("boxing")[1..3], ["79.5 ± 0.7 (2 episodes each)", "95.3 ± 3.0"]);
    assert_eq!(row("asterix")[1], "not run");
    assert_eq!(row("minatar/breakout")[2], "–");
    assert_eq!(row("human-normalised mean, 8")[1], "missing (1 of 8)");
    assert_eq!(row("human-normalised mean, 8")[2], "4.86 (recomputed: 4.47)");
    assert!(table.notes.iter().any(|note| note.contains("4.86") && note.contains("4.47")), "{:?}", table.notes);
}

#[test]
fn the_table_with_noise_leaves_out_agents_without_noise() {
    let root = tempfile::tempdir().unwrap();
    write_small_suite(root.path());
    assert_eq!(only_section(&paper_report(root.path())).scores[1].columns, ["world", "q-sane", "q-sane, paper"]);
    assert_eq!(only_section(&report(root.path())).scores[1].columns, ["world", "q-sane"]);
}

#[test]
fn a_report_shows_the_games_that_were_run_and_the_paper_s_tables_when_its_suite_was() {
    let root = tempfile::tempdir().unwrap();
    write_small_suite(root.path());
    let few = report(root.path());
    let worlds: Vec<&str> = only_section(&few).scores[0].rows.iter().map(|row| row.cells[0].as_str()).collect();
    assert_eq!(worlds, ["qbert", "boxing", "minatar/breakout"]);
    let page = file(&few, "index.html");
    for word in ["missing", "not run", "asterix", ", paper"] {
        assert!(!page.contains(&format!(">{word}")) && !page.contains(&format!("{word}<")), "the page says {word}");
    }
    for game in sane_record::PAPER_GAMES.iter().filter(|game| game.in_8_game_suite) {
        SyntheticRun::small(game.game, "q-sane", 1, 50.0).write(root.path());
    }
    let whole = report(root.path());
    let table = &only_section(&whole).scores[0];
    assert!(table.caption.starts_with("Table 1.") && table.columns.contains(&"q-sane, paper".to_owned()));
    assert_eq!(table.rows.len(), 11 + 1 + 2, "the paper's games, the other world and two means");
}

/// A run whose world has a preset of its own.
fn write_with_preset(root: &Path, world: &str, agent: &str, seed: u64, preset: &str) {
    let folder = SyntheticRun::small(world, agent, seed, 10.0 + seed as f64).write(root);
    let config = folder.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("batch_size = 32", preset).replace("gamma = 0.99", "gamma = 0.5")).unwrap();
}

#[test]
fn an_agent_is_one_agent_in_worlds_whose_presets_differ() {
    let root = tempfile::tempdir().unwrap();
    for agent in ["eps-greedy", "noisynet", "sane", "q-sane"] {
        for seed in 1..=2 {
            SyntheticRun::small("minatar/breakout", agent, seed, 9.0 + seed as f64).write(root.path());
            write_with_preset(root.path(), "risky-road", agent, seed, "batch_size = 16\ntarget_period = 7");
        }
    }
    let report = report(root.path());
    let section = only_section(&report);
    let labels: Vec<&str> = section.section.agents.iter().map(|agent| agent.label.as_str()).collect();
    assert_eq!(labels, ["q-sane", "sane", "noisynet", "eps-greedy"]);
    assert_eq!(section.section.worlds, ["minatar/breakout", "risky-road"]);
    let page = file(&report, "index.html");
    for word in ["cannot be compared", ">missing<", ">not run<"] {
        assert!(!page.contains(word), "the page says {word}");
    }
    assert!(section.compared.iter().all(|part| part.comparison.raw.worlds.len() == 2));
    assert!(page.contains("Settings in which the worlds differ") && page.contains("training.batch_size"));
}

#[test]
fn one_agent_in_worlds_without_human_scores_is_compared_with_nothing() {
    let root = tempfile::tempdir().unwrap();
    for world in ["minatar/breakout", "risky-road"] {
        SyntheticRun::small(world, "sane", 1, 9.0).write(root.path());
    }
    assert!(only_section(&report(root.path())).compared.is_empty());
}

#[test]
fn one_run_is_its_curve_then_its_numbers() {
    let root = tempfile::tempdir().unwrap();
    SyntheticRun::small("boxing", "sane", 1, 50.0).write(root.path());
    let report = report(root.path());
    let page = file(&report, "index.html");
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("the page has no {text}"));
    assert!(at("<h3>Learning curves</h3>") < at("The run</figcaption>"), "the curve comes first");
    for word in [">missing", ">not run", "asterix", "Compared by", "Performance profiles"] {
        assert!(!page.contains(word), "the page says {word}");
    }
    assert!(page.contains("50.0 <small>(95 % interval 49.0 to 51.0, 2 episodes)</small>"), "its score and episodes");
    let names: Vec<String> = report.files().unwrap().into_iter().map(|file| file.path).collect();
    assert!(!names.iter().any(|name| name.contains("profiles") || name.contains("aggregates-")), "{names:?}");
}

#[test]
fn a_shorter_or_partial_evaluation_never_replaces_a_longer_one() {
    let root = tempfile::tempdir().unwrap();
    let synthetic = SyntheticRun::small("boxing", "sane", 1, 50.0);
    let folder = synthetic.write(root.path());
    let append = |line: String| {
        let mut file = fs::OpenOptions::new().append(true).open(folder.join("evaluations.jsonl")).unwrap();
        writeln!(file, "{line}").unwrap();
    };
    let score = || only_section(&report(root.path())).section.scores("boxing", 0, Measure::Evaluation(Noise::Off));
    let evaluation = |mean: f64, interactions: u64| {
        let mut evaluation = synthetic.evaluation("off", mean);
        evaluation.interactions = interactions;
        serde_json::to_value(Event::EvaluationFinished(evaluation)).unwrap()
    };
    append(evaluation(20.0, 1_000).to_string());
    assert_eq!(score(), [50.0], "a shorter one later");
    let mut partial = evaluation(30.0, 900_000);
    partial["partial"] = true.into();
    append(partial.to_string());
    assert_eq!(score(), [50.0], "a partial one");
    append(evaluation(60.0, 600_000).to_string());
    assert_eq!(score(), [60.0], "a longer one");
    let text = fs::read_to_string(folder.join("evaluations.jsonl")).unwrap();
    let only_partial: String =
        text.lines().filter(|line| line.contains("partial")).map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("evaluations.jsonl"), only_partial).unwrap();
    let said = file(&report(root.path()), "tables.md");
    assert!(said.contains("30.0 (95 % interval 29.0 to 31.0, 2 episodes, partial)"), "{said}");
    assert!(said.contains("One evaluation was stopped before the end"), "{said}");
}

#[test]
fn evaluations_while_training_have_a_curve_of_their_own_and_a_torn_line_is_left_out() {
    let root = tempfile::tempdir().unwrap();
    let folder = SyntheticRun::small("boxing", "sane", 1, 50.0).write(root.path());
    let path = folder.join(EVALUATIONS_IN_TRAINING);
    let mut evaluations = JsonlFile::resume(&path, 0).unwrap();
    for (interactions, mean) in [(5_000, 10.0), (10_000, 30.0), (15_000, 25.0)] {
        let returns = vec![mean - 2.0, mean, mean + 2.0];
        let made = EvaluatedWhileTraining { interactions, episodes: 3, mean, returns, best: mean == 30.0 };
        evaluations.write(&made).unwrap();
    }
    evaluations.flush().unwrap();
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"interactions\":2").unwrap();
    let report = report(root.path());
    let page = file(&report, "index.html");
    assert!(page.contains("<h3>Evaluated while training</h3>") && page.contains("30.0 <small>(at 10,000, 3 episodes)"));
    let curves = file(&report, "curves.csv");
    let points: Vec<&str> = curves.lines().filter(|line| line.starts_with("1,evaluated_while_training")).collect();
    assert_eq!(points.len(), 3, "{points:?}");
    // The columns are the lowest and the highest seed, and there is one; the spread over episodes is another thing.
    assert_eq!(points[1], "1,evaluated_while_training,boxing,sane,10000,30.0,30.0,30.0,true");
    let files = report.files().unwrap();
    assert!(files.iter().any(|file| file.path == "figures/evaluated-while-training-boxing.svg"));
    let of_episodes = "Where an agent has one seed, the band is the 95 % interval of its mean over episodes.";
    assert!(page.contains("Band: 95 % interval of the mean over episodes.") && !page.contains(of_episodes));
    for seed in 1..=2 {
        SyntheticRun::small("boxing", "noisynet", seed, 50.0).write(root.path());
    }
    assert!(file(&self::report(root.path()), "index.html").contains(of_episodes));
}

#[test]
fn a_sweep_has_a_panel_per_setting_and_is_one_section() {
    let root = tempfile::tempdir().unwrap();
    for (i, gamma) in ["0.9", "0.95", "0.99", "0.999"].into_iter().enumerate() {
        for seed in 1..=2 {
            let folder = root.path().join(format!("search-{i}/seed-{seed}"));
            SyntheticRun::small("boxing", "sane", seed, 10.0 * i as f64 + seed as f64).write_to(&folder);
            let config = folder.join("config.toml");
            let text = fs::read_to_string(&config).unwrap();
            let period = format!("batch_size = 32\ntarget_period = {}", 10_u32.pow(i as u32));
            let text = text.replace("batch_size = 32", &period).replace("gamma = 0.99", &format!("gamma = {gamma}"));
            fs::write(&config, text).unwrap();
        }
    }
    let report = report(root.path());
    let section = only_section(&report);
    let [sweep] = &section.sweeps[..] else { panic!("{} sweeps", section.sweeps.len()) };
    assert_eq!(sweep.best.rows[0].cells[1..], ["31.5 ± 0.7", "31.0 to 32.0", "2", "0.999", "1,000"]);
    assert!(file(&report, "index.html").contains("Sensitivity of sane in boxing"));
    assert!(report.files().unwrap().iter().any(|file| file.path == "figures/sensitivity-boxing-sane.png"));
}

#[test]
fn the_checklist_says_what_was_chosen_and_what_is_not_recorded() {
    let root = tempfile::tempdir().unwrap();
    let folder = SyntheticRun::small("boxing", "sane", 1, 50.0).write(root.path());
    let origin = "preset = 'quick'\ncommand = ['sane', 'train', 'boxing']\ngit_commit = 'abc'\ngit_dirty = false\n\
                  [chosen]\n'learner.gamma' = '--set'\n";
    fs::write(folder.join("origin.toml"), origin).unwrap();
    let said = file(&report(root.path()), "checklist.md");
    for line in [
        "- [x] **Number of runs and seeds.** 1 run: 1 agent in 1 world, seeds 1, 20,000 interactions each.",
        "    - `learner.gamma = 0.99 (--set; sane)`",
        "- [x] **Machines.** Example processor, 2 logical cores.",
        "- [x] **Code.** sane 0.1.0. Commit abc, without changes.",
        "    - `sane train boxing`",
        "- [ ] **Repeatability.** ",
    ] {
        assert!(said.contains(line), "no line {line} in\n{said}");
    }
}

#[test]
fn runs_of_different_budgets_are_never_averaged() {
    let root = tempfile::tempdir().unwrap();
    for (seed, budget) in [(1, 20_000), (2, 10_000)] {
        SyntheticRun { budget, reached: budget, ..SyntheticRun::small("boxing", "sane", seed, 50.0) }
            .write(root.path());
    }
    let report = report(root.path());
    let titles: Vec<&str> = report.sections.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(titles, ["Section 1: boxing, 20,000 interactions", "Section 2: boxing, 10,000 interactions"]);
    for section in &report.sections {
        assert_eq!(section.section.scores("boxing", 0, Measure::Evaluation(Noise::Off)), [50.0]);
    }
}

#[test]
fn variants_of_one_agent_have_separate_columns() {
    let root = tempfile::tempdir().unwrap();
    for (seed, double_q) in [(1, "true"), (2, "true"), (1, "false")] {
        let run = SyntheticRun {
            settings: format!("double_q = {double_q}\n"),
            ..SyntheticRun::small("boxing", "sane", seed, 50.0)
        };
        run.write_to(&root.path().join(format!("{double_q}-{seed}")));
    }
    let report = report(root.path());
    let labels: Vec<&str> = only_section(&report).section.agents.iter().map(|agent| agent.label.as_str()).collect();
    assert_eq!(labels, ["sane (double_q = false)", "sane (double_q = true)"]);
    let table = &only_section(&report).scores[0];
    assert_eq!(table.columns, ["world", "sane (double_q = false)", "sane (double_q = true)"]);
}

#[test]
fn an_unfinished_run_has_a_curve_and_no_score() {
    let root = tempfile::tempdir().unwrap();
    SyntheticRun::small("boxing", "sane", 1, 50.0).write(root.path());
    SyntheticRun { reached: 8_500, ..SyntheticRun::small("boxing", "sane", 2, 50.0) }.write(root.path());
    let report = report(root.path());
    let section = only_section(&report);
    assert_eq!(section.section.scores("boxing", 0, Measure::Training).len(), 1);
    assert!(
        section.remarks.iter().any(|remark| remark.starts_with("1 of 2 runs has not reached")),
        "{:?}",
        section.remarks
    );
    let row = &section.scores[0].rows.iter().find(|row| row.cells[0] == "boxing").unwrap().cells;
    assert_eq!(row[1], "50.0 (1 of 2 seeds, 2 episodes)");
    let curves = file(&report, "curves.csv");
    // Both seeds at 5,000 interactions, one at 15,000.
    let complete = |interactions: &str| {
        let start = format!("1,return_mean_last_100,boxing,sane,{interactions},");
        curves.lines().find(|line| line.starts_with(&start)).unwrap().ends_with("true")
    };
    assert!(complete("5000") && !complete("15000"));
}

#[test]
fn a_run_continued_with_a_larger_budget_is_not_finished_until_it_reaches_that() {
    let root = tempfile::tempdir().unwrap();
    let folder = SyntheticRun::small("boxing", "sane", 1, 50.0).write(root.path());
    let config = folder.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("total_interactions = 20000", "total_interactions = 40000")).unwrap();
    let run = read_run(&folder).unwrap();
    assert_eq!((run.finished, run.final_return), (false, None));
}

#[test]
fn evaluations_after_another_amount_of_training_are_selected_by_evaluated_at() {
    let root = tempfile::tempdir().unwrap();
    let made_up = SyntheticRun::small("boxing", "sane", 1, 50.0);
    let folder = made_up.write(root.path());
    let mut early = made_up.evaluation("off", 20.0);
    early.trained_interactions = 10_000;
    let mut file = JsonlFile::append(folder.join("evaluations.jsonl")).unwrap();
    file.write(&Event::EvaluationFinished(early)).unwrap();
    file.flush().unwrap();
    for (at, expected) in [(None, 50.0), (Some(10_000), 20.0)] {
        let report = Report::of(read_all(root.path()), Vec::new(), at);
        let section = only_section(&report);
        assert_eq!(section.section.scores("boxing", 0, Measure::Evaluation(Noise::Off)), [expected]);
        assert!(section.remarks.iter().any(|remark| remark.contains("evaluations stand in no table")));
    }
}

#[test]
fn a_torn_last_line_is_left_out_and_reported() {
    let root = tempfile::tempdir().unwrap();
    let folder = SyntheticRun::small("boxing", "sane", 1, 50.0).write(root.path());
    let mut events = fs::OpenOptions::new().append(true).open(folder.join("events.jsonl")).unwrap();
    events.write_all(b"{\"event\":\"interval_fin").unwrap();
    let report = report(root.path());
    let said = file(&report, "tables.md");
    assert!(
        said.contains("finished; last line torn") && said.contains("The last line of 1 event file is torn"),
        "{said}"
    );
}

#[test]
fn a_line_that_is_not_an_event_is_an_error_that_names_it() {
    let root = tempfile::tempdir().unwrap();
    let folder = SyntheticRun::small("boxing", "sane", 1, 50.0).write(root.path());
    let events = folder.join("events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    for (from, to) in
        [("{\"event\":\"episode_finished\"", "{\"evnt\":\"episode_finished\""), ("\"episodes\":4", "\"episodes\":x")]
    {
        fs::write(&events, text.replacen(from, to, 1)).unwrap();
        let error = read_run(&folder).unwrap_err().to_string();
        assert!(error.contains("events.jsonl, line "), "{error}");
    }
}

#[test]
fn a_run_that_has_not_written_anything_yet_is_shown_as_such() {
    let root = tempfile::tempdir().unwrap();
    let folder = SyntheticRun::small("boxing", "sane", 1, 50.0).write(root.path());
    for name in ["events.jsonl", "timings.jsonl", "evaluations.jsonl"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    let report = report(root.path());
    assert!(file(&report, "tables.md").contains("nothing recorded yet"));
    assert!(only_section(&report).remarks.iter().any(|remark| remark.contains("No run was evaluated")));
}

#[test]
fn folders_without_runs_are_an_error_that_says_what_was_expected() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("empty/deeper")).unwrap();
    let error = find_runs(&[root.path().into()]).unwrap_err();
    assert!(matches!(error, ReportError::NoRuns { .. }) && error.to_string().contains("config.toml"), "{error}");
}

#[test]
fn events_without_a_configuration_or_of_another_schema_or_run_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = SyntheticRun::small("boxing", "sane", 1, 50.0).write(root.path());
    let (config, events) = (folder.join("config.toml"), folder.join("events.jsonl"));
    let [config_text, events_text] = [&config, &events].map(|path| fs::read_to_string(path).unwrap());
    fs::write(&events, events_text.replacen("\"schema_version\":1", "\"schema_version\":9", 1)).unwrap();
    assert!(matches!(read_run(&folder), Err(ReportError::Schema { found: 9, .. })));
    fs::write(&events, &events_text).unwrap();
    fs::write(&config, config_text.replace("seed = 1", "seed = 2")).unwrap();
    assert!(matches!(read_run(&folder), Err(ReportError::Mismatch { .. })));
    fs::remove_file(&config).unwrap();
    assert!(matches!(read_run(&folder), Err(ReportError::Io { .. })));
}

#[test]
fn a_run_given_twice_or_copied_counts_once() {
    let root = tempfile::tempdir().unwrap();
    let folder = SyntheticRun::small("boxing", "sane", 1, 50.0).write(root.path());
    assert_eq!(find_runs(&[root.path().into(), folder.clone(), root.path().join("boxing")]).unwrap().len(), 1);
    SyntheticRun { reached: 9_000, ..SyntheticRun::small("boxing", "sane", 1, 50.0) }
        .write_to(&root.path().join("a-copy"));
    let report = report(root.path());
    assert_eq!(only_section(&report).section.all_runs().count(), 1);
    assert!(report.set_aside[0].folder.ends_with("a-copy") && report.set_aside[0].reason.starts_with("repeats "));
    // What --fresh moved aside is passed over.
    SyntheticRun::small("boxing", "sane", 1, 50.0).write_to(&root.path().join("boxing/sane/seed-1.old-1"));
    assert_eq!(read_all(root.path()).len(), 2);
}

#[test]
fn one_seed_gives_a_page_that_claims_nothing() {
    let root = tempfile::tempdir().unwrap();
    for (agent, game) in [("sane", "boxing"), ("sane", "qbert"), ("noisynet", "boxing"), ("noisynet", "qbert")] {
        SyntheticRun::small(game, agent, 1, 50.0).write(root.path());
    }
    let report = report(root.path());
    let part = &only_section(&report).compared[0];
    assert!(part.remarks.iter().any(|remark| remark.contains("single seed")), "{:?}", part.remarks);
    assert!(part.comparison.pairs.iter().all(|(_, _, estimate)| estimate.interval.is_none()));
    assert!(part.remarks.iter().all(|remark| !remark.contains(" beats ")));
    assert!(file(&report, "tables.md").contains("no interval: one seed"));
}

#[test]
fn a_few_seeds_of_one_world_claim_nothing_though_every_pairing_is_won() {
    let root = tempfile::tempdir().unwrap();
    for seed in 1..=3 {
        SyntheticRun::small("boxing", "sane", seed, 80.0 + seed as f64).write(root.path());
        SyntheticRun::small("boxing", "noisynet", seed, 50.0 + seed as f64).write(root.path());
    }
    let report = report(root.path());
    let remarks = only_section(&report).compared[0].remarks.join("\n");
    assert!(remarks.contains("sane against noisynet: undecided. The first wins 100 % of pairings, but"), "{remarks}");
    assert!(!remarks.contains(" beats "), "{remarks}");
}

#[test]
fn a_dead_perturbation_module_is_shown() {
    let root = tempfile::tempdir().unwrap();
    for (agent, seed) in [("sane", 3), ("sane", 4), ("q-sane", 3), ("sane-constant-elbo", 3)] {
        SyntheticRun { dead_module: true, ..SyntheticRun::small("boxing", agent, seed, 50.0) }.write(root.path());
    }
    let remarks = only_section(&report(root.path())).remarks.join("\n");
    assert!(remarks.contains("died in boxing q-sane seed 3; boxing sane seeds 3, 4: in the last"), "{remarks}");
}

#[test]
fn a_module_that_is_off_in_most_states_is_named_though_it_lives() {
    let root = tempfile::tempdir().unwrap();
    SyntheticRun { dead_states: 0.9, ..SyntheticRun::small("boxing", "sane", 3, 50.0) }.write(root.path());
    SyntheticRun { dead_states: 0.4, ..SyntheticRun::small("boxing", "q-sane", 3, 50.0) }.write(root.path());
    let remarks = only_section(&report(root.path())).remarks.join("\n");
    assert!(remarks.contains("is off in most states in boxing sane seed 3 (90 % of the states)"), "{remarks}");
    assert!(!remarks.contains("q-sane seed 3"), "{remarks}");
}

#[test]
fn every_figure_has_an_svg_and_a_png_and_the_page_needs_none_of_them() {
    let root = tempfile::tempdir().unwrap();
    write_small_suite(root.path());
    let report = report(root.path());
    let files = report.files().unwrap();
    let names = |ending: &str| -> Vec<String> {
        files.iter().filter_map(|file| file.path.strip_suffix(ending).map(str::to_owned)).collect()
    };
    assert_eq!(names(".svg"), names(".png"));
    for expected in [
        "learning-curve-grid",
        "learning-curve-boxing",
        "learning-curve-minatar-breakout",
        "sigma-grid",
        "exploration-grid",
        "aggregates-noise-off",
        "profiles-noise-off",
        "improvement-noise-off",
    ] {
        assert!(names(".svg").contains(&format!("figures/{expected}")), "{expected}");
    }
    assert!(files.iter().filter(|file| file.path.ends_with(".png")).all(|file| file.bytes.starts_with(b"\x89PNG")));
    let page = file(&report, "index.html");
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "src=", "<link", "@import", "url("] {
        assert!(!outside.contains(word), "the page says {word}");
    }
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    write_small_suite(root.path());
    let runs = read_all(root.path());
    let mut reversed = runs.clone();
    reversed.reverse();
    let files = |runs| Report::of(runs, Vec::new(), None).files().unwrap();
    assert_eq!(files(runs), files(reversed));
}

/// Written by `SANE_WRITE_GOLDEN=1 cargo test --release -p sane-report --test report the_page`, then inspect the page.
#[test]
fn the_page_equals_the_golden_page() {
    let root = tempfile::tempdir().unwrap();
    write_small_suite(root.path());
    let mut runs = read_all(root.path());
    for run in &mut runs {
        run.folder = run.folder.strip_prefix(root.path()).unwrap().into();
    }
    let page = file(&Report::of(runs, Vec::new(), None), "index.html");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/report/page.html");
    if std::env::var_os("SANE_WRITE_GOLDEN").is_some() {
        fs::write(&golden, &page).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap();
    let difference = page.lines().zip(expected.lines()).enumerate().find(|(_, (found, expected))| found != expected);
    assert_eq!(difference, None);
    assert_eq!(page.len(), expected.len());
}
