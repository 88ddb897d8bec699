//! `sane watch` as a process: what it serves, refuses and prints, over plain sockets.

mod process;
#[path = "../../report/tests/support/mod.rs"]
mod support;

use process::{TIMEOUT, check, sane, wait_until};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::SyntheticRun;

struct Watch {
    child: Child,
    address: String,
    token: Option<String>,
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Watch {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = sane(&["watch", "--port", "0"]);
        command.current_dir(folder).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("sane starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{line} is not an address"));
        let (address, path) = rest.split_once('/').unwrap();
        let token = path.strip_prefix("?token=").map(str::to_owned);
        Self { child, address: address.to_owned(), token }
    }

    fn ask(&self, path: &str, headers: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.address) };
        write!(stream, "GET {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: bytes[end + 4..].to_vec() }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(path, "")
    }

    fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// The rows, once `wanted` is true of them.
    fn rows(&self, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let start = Instant::now();
        loop {
            let rows = self.json("/api/runs")["rows"].as_array().unwrap().clone();
            if wanted(&rows) {
                return rows;
            }
            assert!(start.elapsed() < TIMEOUT, "{rows:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn write_runs(root: &Path) {
    for (agent, score) in [("q-sane", 80.0), ("noisynet", 60.0)] {
        for seed in 1..=2 {
            SyntheticRun::small("boxing", agent, seed, score + seed as f64).write(&root.join("runs"));
        }
    }
}

fn id_of(rows: &[Value], agent: &str, seed: u64) -> String {
    let row = rows.iter().find(|row| row["agent"] == agent && row["seed"] == seed).unwrap();
    row["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_page_its_parts_and_the_runs_are_served() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let watch = Watch::start(root.path(), &[]);
    let page = watch.get("/");
    let text = String::from_utf8_lossy(&page.body).into_owned();
    assert!(page.status == 200 && text.starts_with("<!DOCTYPE html>"));
    assert!(page.head.to_lowercase().contains("content-security-policy: default-src 'none'"), "{}", page.head);
    for part in ["/watch.css", "/palette.css", "/watch.js", "/chart.js", "/icon.svg"] {
        assert_eq!(watch.get(part).status, 200, "{part}");
    }
    let rows = watch.rows(|rows| rows.len() == 4);
    let row = rows.iter().find(|row| row["agent"] == "q-sane" && row["seed"] == 2).unwrap();
    assert_eq!((&row["world"], &row["state"], &row["reached"]), (&"boxing".into(), &"finished".into(), &20_000.into()));
    assert!(10 < row["trend"].as_array().unwrap().len() && row["name"] == "runs/boxing/q-sane/seed-2");
    let run = watch.json(&format!("/api/runs/{}", id_of(&rows, "q-sane", 2)));
    for series in ["return", "curve", "sigma", "exploration", "loss", "q", "speed"] {
        assert!(10 < run["history"]["series"][series]["x"].as_array().unwrap().len(), "{series}");
    }
    assert_eq!(run["head"]["evaluations"].as_array().unwrap().len(), 2);
    assert_eq!(run["head"]["settings"]["world.name"], "boxing");
}

#[test]
fn runs_are_compared_each_by_itself_and_over_their_seeds() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let watch = Watch::start(root.path(), &["runs"]);
    let rows = watch.rows(|rows| rows.len() == 4);
    let ids = [("q-sane", 1), ("q-sane", 2), ("noisynet", 1)].map(|(agent, seed)| id_of(&rows, agent, seed)).join(",");
    let compare = |by: &str, more: &str| {
        watch.json(&format!("/api/compare?runs={ids}&quantity=curve&by={by}{more}"))["curves"].clone()
    };
    assert_eq!(compare("run", "").as_array().unwrap().len(), 3);
    let curves = compare("agent", "");
    assert_eq!(compare("seeds", ""), curves, "as it was called before");
    assert_eq!((&curves[0]["seeds"], &curves[1]["seeds"]), (&serde_json::json!([1, 2]), &serde_json::json!([1])));
    let (low, mean, high) = (&curves[0]["low"][90], &curves[0]["mean"][90], &curves[0]["high"][90]);
    assert!(low.as_f64() < mean.as_f64() && mean.as_f64() < high.as_f64(), "{low} {mean} {high}");
    // 500 interactions per second, 4 frames each, 250 in an episode.
    for (axis, end) in [("interactions", 20_000.0), ("frames", 80_000.0), ("seconds", 40.0), ("episodes", 80.0)] {
        for by in ["run", "agent"] {
            let x = compare(by, &format!("&x={axis}"))[0]["x"].as_array().unwrap().last().cloned().unwrap();
            assert_eq!(x.as_f64(), Some(end), "{axis} by {by}");
        }
    }
    assert_eq!(watch.get("/api/compare?runs=x&quantity=nonsense&by=run").status, 400);
    assert_eq!(watch.get("/api/compare?runs=x&quantity=curve&by=run&x=nonsense").status, 400);
}

#[test]
fn evaluations_while_training_are_a_curve_with_its_interval() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let folder = root.path().join("runs/boxing/q-sane/seed-1");
    let lines = [(5_000, "[1.0,3.0,2.0]", 2.0), (10_000, "[4.0,6.0,5.0]", 5.0)].map(|(interactions, returns, mean)| {
        format!(
            "{{\"interactions\":{interactions},\"episodes\":3,\"mean\":{mean:?},\"returns\":{returns},\"best\":true}}\n"
        )
    });
    fs::write(folder.join("evaluations_in_training.jsonl"), lines.concat() + "{\"interactions\":15000,\"epi").unwrap();
    let watch = Watch::start(root.path(), &[]);
    let id = id_of(&watch.rows(|rows| rows.len() == 4), "q-sane", 1);
    let history = watch.json(&format!("/api/runs/{id}?x=frames"))["history"].clone();
    let curve = &history["series"]["evaluation"];
    assert_eq!((&curve["x"], &curve["mean"]), (&serde_json::json!([20_000, 40_000]), &serde_json::json!([2.0, 5.0])));
    assert_eq!((&history["best_evaluation"]["interactions"], &history["bad_lines"]), (&10_000.into(), &0.into()));
    let compared = watch.json(&format!("/api/compare?runs={id}&quantity=evaluation&by=run"))["curves"][0].clone();
    let value = |list: &str| compared[list][1].as_f64().unwrap();
    assert!(4.0 <= value("low") && value("low") < 5.0 && 5.0 < value("high") && value("high") <= 6.0, "{compared}");
}

#[test]
fn updates_are_pushed() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let watch = Watch::start(root.path(), &[]);
    watch.rows(|rows| rows.len() == 4);
    let since = watch.json("/api/runs")["place"].as_str().unwrap().to_owned();
    let mut stream = TcpStream::connect(&watch.address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(stream, "GET /api/live?since={since} HTTP/1.1\r\nHost: {}\r\n\r\n", watch.address).unwrap();
    SyntheticRun::small("boxing", "sane", 9, 5.0).write(&root.path().join("runs"));
    let mut reader = BufReader::new(stream);
    let update = loop {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the connection was closed");
        if let Some(data) = line.strip_prefix("data: ") {
            break serde_json::from_str::<Value>(data).unwrap();
        }
    };
    assert_eq!((update["whole"].as_bool(), update["rows"].as_array().unwrap().len()), (Some(false), 1));
    assert_eq!(update["rows"][0]["seed"], 9);
}

#[test]
fn files_being_written_torn_lines_and_deleted_folders_do_not_stop_it() {
    let root = tempfile::tempdir().unwrap();
    let unfinished = SyntheticRun { reached: 10_000, ..SyntheticRun::small("boxing", "sane", 1, 50.0) };
    let folder = unfinished.write(&root.path().join("runs"));
    fs::remove_file(folder.join("timings.jsonl")).unwrap();
    let watch = Watch::start(root.path(), &[]);
    let rows = watch.rows(|rows| rows.len() == 1);
    assert_eq!((&rows[0]["reached"], &rows[0]["state"]), (&10_000.into(), &"stopped".into()));
    let path = format!("/api/runs/{}", rows[0]["id"].as_str().unwrap());
    let events = fs::read(folder.join("events.jsonl")).unwrap();
    let end = |run: &Value| run["history"]["series"]["curve"]["x"].as_array().unwrap().last().cloned();
    assert_eq!(end(&watch.json(&path)), Some(10_000.into()));
    // Truncated in the middle of a line, as while it is being written: the complete lines count.
    fs::write(folder.join("events.jsonl"), &events[..events.len() / 2]).unwrap();
    let reached = end(&watch.json(&path)).unwrap().as_u64().unwrap();
    assert!((4_000..6_000).contains(&reached), "{reached}");
    // A resumed run writes the same lines again and continues.
    fs::write(folder.join("events.jsonl"), [&events[..], b"not a record\n{\"event\":"].concat()).unwrap();
    let run = watch.json(&path);
    assert_eq!((end(&run), &run["history"]["bad_lines"]), (Some(10_000.into()), &1.into()));
    fs::remove_dir_all(root.path().join("runs")).unwrap();
    watch.rows(<[Value]>::is_empty);
    assert_eq!(watch.get(&path).status, 404);
    unfinished.write(&root.path().join("runs"));
    watch.rows(|rows| rows.len() == 1);
}

#[test]
fn nothing_outside_the_given_folders_is_served() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let runs = root.path().join("runs");
    let folder = runs.join("boxing/q-sane/seed-1");
    fs::create_dir_all(folder.join("risk/gallery")).unwrap();
    fs::write(folder.join("risk/gallery/gallery.json"), "{}").unwrap();
    fs::write(folder.join("risk/gallery/1.png"), "picture").unwrap();
    fs::write(root.path().join("secret.png"), "secret").unwrap();
    symlink(root.path().join("secret.png"), folder.join("risk/gallery/link.png")).unwrap();
    symlink(root.path().join("secret.png"), folder.join("film.bin")).unwrap();
    let elsewhere = SyntheticRun::small("boxing", "sane", 3, 5.0).write(&root.path().join("elsewhere"));
    symlink(elsewhere, runs.join("link")).unwrap();
    let watch = Watch::start(root.path(), &["runs"]);
    let id = id_of(&watch.rows(|rows| rows.len() == 4), "q-sane", 1);
    assert_eq!(watch.get(&format!("/api/runs/{id}/gallery/1.png")).body, b"picture");
    let forbidden = [
        format!("/api/runs/{id}/gallery/link.png"),
        format!("/api/runs/{id}/film"),
        format!("/api/runs/{id}/gallery/../../../../../../secret.png"),
        format!("/api/runs/{id}/gallery/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/secret.png"),
        format!("/api/runs/{id}/gallery/..%2f..%2f..%2f..%2f..%2f..%2fsecret.png"),
        format!("/api/runs/{id}/gallery/%2fetc%2fpasswd"),
        format!("/api/runs/{id}/gallery//etc/passwd"),
        format!("/api/runs/{id}/gallery/..%2f..%2fconfig.toml"),
        "/api/runs/..%2f..%2fetc/film".into(),
        "/../../etc/passwd".into(),
        "/%2e%2e/%2e%2e/etc/passwd".into(),
        "/etc/passwd".into(),
    ];
    for path in forbidden {
        let answer = watch.get(&path);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(answer.status == 404 || answer.status == 400, "{path}: {}", answer.status);
        assert!(!text.contains("secret") && !text.contains("root:") && !text.contains("agent ="), "{path}: {text}");
    }
}

#[test]
fn only_reading_requests_are_accepted() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let watch = Watch::start(root.path(), &[]);
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let mut stream = TcpStream::connect(&watch.address).unwrap();
        let host = &watch.address;
        write!(stream, "{method} /api/runs HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 405"), "{method}: {answer}");
    }
}

#[test]
fn with_a_host_a_token_is_required() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let watch = Watch::start(root.path(), &["--host", "127.0.0.1"]);
    let token = watch.token.clone().expect("the address holds a token");
    for path in ["/", "/api/runs", "/api/live", "/watch.js", "/?token=wrong", &format!("/api/runs?token={token}0")] {
        let answer = watch.get(path);
        assert_eq!(answer.status, 401, "{path}");
        assert!(String::from_utf8_lossy(&answer.body).contains("open the address that `sane watch` printed"), "{path}");
    }
    let welcome = watch.get(&format!("/?token={token}"));
    assert_eq!(welcome.status, 303);
    let cookie = welcome.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let kept = cookie.split(';').next().unwrap();
    assert_eq!(watch.ask("/api/runs", &format!("Cookie: {kept}\r\n")).status, 200);
    assert_eq!(watch.ask("/api/runs", &format!("Authorization: Bearer {token}\r\n")).status, 200);
}

#[test]
fn without_a_host_other_host_names_are_refused() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let watch = Watch::start(root.path(), &[]);
    assert!(watch.address.starts_with("127.0.0.1:") && watch.token.is_none());
    assert_eq!(watch.ask("/api/runs", "Host: localhost\r\n").status, 200);
    assert_eq!(watch.ask("/api/runs", "Host: evil.example\r\n").status, 403);
}

#[test]
fn wrong_input_gets_an_explanation_and_a_remedy() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let check = |arguments: &[&str], code: i32, expected: &str| {
        check(sane(&["watch"]).current_dir(root.path()).args(arguments), code, expected);
    };
    let watch = Watch::start(root.path(), &[]);
    let port = watch.address.rsplit(':').next().unwrap();
    check(&["--port", port], 1, "is in use");
    check(&["--port", port], 1, "--port 0");
    check(&["rusn"], 2, "rusn is not a folder");
    check(&["runs/boxing/q-sane/seed-1/config.toml"], 2, "is not a folder");
    check(&["--host", "everywhere"], 2, "is not an address");
    check(&["--host", "203.0.113.7"], 2, "is not an address of this machine");
    check(&["--port", "70000"], 2, "70000");
}

#[test]
fn ctrl_c_ends_it_even_while_a_client_waits_for_updates() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let mut watch = Watch::start(root.path(), &[]);
    let mut stream = TcpStream::connect(&watch.address).unwrap();
    write!(stream, "GET /api/live HTTP/1.1\r\nHost: {}\r\n\r\n", watch.address).unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    let id = watch.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    wait_until("the server's end", || watch.child.try_wait().unwrap().is_some());
    assert!(watch.child.wait().unwrap().success());
}

/// A run whose numbers are at the ends of their types, and beyond them.
fn write_hostile_run(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let config = "agent = 'sane'\nseed = 9223372036854775807\n[world]\nname = 'boxing'\n[training]\n\
        total_interactions = 9223372036854775807\n[record]\ninterval = 9223372036854775807\n";
    fs::write(folder.join("config.toml"), config).unwrap();
    let mut events = String::new();
    for interactions in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
        for value in ["1e308", "-1e308", "1e-320", "NaN", "1e999", "null"] {
            events += &format!(
                "{{\"event\":\"episode_finished\",\"interactions\":{interactions},\"episode\":{interactions},\
                 \"return_raw\":{value},\"return_mean_last_100\":{value}}}\n"
            );
        }
    }
    fs::write(folder.join("events.jsonl"), events).unwrap();
    let speeds = ["1.0", "1e308", "1e-308", "-1.0", "NaN"].map(|speed| {
        format!(
            "{{\"timing\":\"speed\",\"interactions\":18446744073709551615,\"interactions_per_second\":{speed},\
             \"resident_bytes\":18446744073709551615,\"share\":{{}}}}\n"
        )
    });
    let process = "{\"timing\":\"process_started\",\"unix_seconds\":18446744073709551615,\
        \"from_interactions\":18446744073709551615,\"threads\":18446744073709551615,\"version\":\"\"}\n";
    fs::write(folder.join("timings.jsonl"), process.to_owned() + &speeds.concat() + &speeds[0]).unwrap();
    let evaluations = ["1e308", "-1e308", "NaN", "null"].map(|mean| {
        format!(
            "{{\"interactions\":18446744073709551615,\"episodes\":18446744073709551615,\"mean\":{mean},\
             \"returns\":[1e308,-1e308,1e308],\"best\":true}}\n"
        )
    });
    fs::write(folder.join("evaluations_in_training.jsonl"), evaluations.concat()).unwrap();
}

#[test]
fn hostile_numbers_in_one_run_do_not_harm_the_page() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    write_hostile_run(&root.path().join("runs/hostile"));
    let watch = Watch::start(root.path(), &[]);
    let rows = watch.rows(|rows| rows.len() == 5 && rows.iter().all(|row| row["reached"] != 0));
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    for id in &ids {
        watch.json(&format!("/api/runs/{id}"));
    }
    for quantity in ["curve", "return", "sigma", "exploration", "loss", "q", "speed", "evaluation"] {
        for by in ["run", "agent"] {
            for x in ["interactions", "frames", "seconds", "episodes"] {
                let request = format!("/api/compare?runs={}&quantity={quantity}&by={by}&x={x}", ids.join(","));
                assert!(!watch.json(&request)["curves"].as_array().unwrap().is_empty(), "{request}");
            }
        }
    }
    // The runs are still followed.
    SyntheticRun::small("boxing", "q-sane", 3, 1.0).write(&root.path().join("runs"));
    watch.rows(|rows| rows.len() == 6);
}

#[test]
fn silent_connections_do_not_lock_out_a_person_with_the_token() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let watch = Watch::start(root.path(), &["--host", "127.0.0.1"]);
    let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&watch.address).unwrap()).collect();
    let authorised = format!("Authorization: Bearer {}\r\n", watch.token.as_deref().unwrap());
    for _ in 0..20 {
        assert_eq!(watch.ask("/api/runs", &authorised).status, 200);
    }
    assert_eq!(watch.ask("/api/runs", "").status, 401);
    // Each of them is closed: the oldest by the newer ones, the others for want of a request, also if it has begun one.
    (&silent[299]).write_all(b"GET / HTTP/1.1\r\nHost: x\r\n").unwrap();
    for stream in [&silent[0], &silent[100], &silent[299]] {
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut bytes = Vec::new();
        let read = { stream }.read_to_end(&mut bytes);
        let kind = read.err().map(|error| error.kind());
        assert_ne!(kind, Some(std::io::ErrorKind::WouldBlock), "a silent connection stays open");
    }
    assert_eq!(watch.ask("/api/runs", &authorised).status, 200);
}

#[test]
fn a_run_folder_may_vanish_under_the_page() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let watch = Watch::start(root.path(), &["runs"]);
    let id = id_of(&watch.rows(|rows| rows.len() == 4), "q-sane", 1);
    assert_eq!(watch.get(&format!("/api/runs/{id}")).status, 200);
    fs::remove_dir_all(root.path().join("runs")).unwrap();
    for path in ["", "/film", "/gallery", "/gallery/low/1.png"] {
        let status = watch.get(&format!("/api/runs/{id}{path}")).status;
        assert!(status == 200 || status == 404, "{path}: {status}");
    }
    watch.rows(|rows| rows.is_empty());
    assert_eq!(watch.get(&format!("/api/runs/{id}")).status, 404);
    write_runs(root.path());
    watch.rows(|rows| rows.len() == 4);
}
