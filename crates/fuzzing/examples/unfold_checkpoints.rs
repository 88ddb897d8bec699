//! Writes mutated checkpoints as run folders, to try them with any build of the program, and the cases they were made from.
//!
//! ```sh
//! cargo run --release -p sane-fuzzing --example unfold_checkpoints -- 200 /tmp/cases 1
//! sane runs hash /tmp/cases/0007/run
//! ```

use sane_env::Stream;
use sane_fuzzing::mutation::mutate;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [count, folder, seed] = &arguments[..] else { panic!("expected: COUNT FOLDER SEED") };
    let (count, seed): (u64, u64) = (count.parse().expect("a number"), seed.parse().expect("a number"));
    let seeds = (sane_fuzzing::format("checkpoint").seeds)();
    let mut stream = Stream::named(seed, "checkpoint");
    for case in 0..count {
        let [of, other] = [0, 1].map(|_| &seeds[stream.below(seeds.len() as u64) as usize]);
        let input = mutate(&mut stream, of, other);
        let folder = PathBuf::from(folder).join(format!("{case:04}"));
        let run = folder.join("run");
        fs::create_dir_all(&run).expect("a new folder");
        fs::write(folder.join("case"), &input).expect("space for a small file");
        sane_fuzzing::checkpoint::unfold(&input, &run);
    }
}
