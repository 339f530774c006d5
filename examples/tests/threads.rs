//! What the examples print and draw does not depend on the number of threads.

#![allow(dead_code, reason = "the examples bring a `main` that no test calls")]

#[path = "../bursts.rs"]
mod bursts;
#[path = "../cluster.rs"]
mod cluster;
#[path = "../fold.rs"]
mod fold;
#[path = "../inspect.rs"]
mod inspect;
#[path = "../tour.rs"]
mod tour;

use perfkit_examples::cli::Run;
use perfkit_examples::recording::{bundled, planted};
use std::ffi::OsString;
use std::path::Path;
use tour::{detect, track, utilisation};

/// What an example prints, and the picture and page it draws, in a pool of so many threads.
fn run(name: &str, run: Run, words: &[String], draws: bool, threads: usize) -> [Vec<u8>; 3] {
    let file = |end: &str| {
        let name = format!("threads-{name}.{end}");
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
    };
    let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
    if draws {
        words.extend(["--png".into(), file("png").into_os_string()]);
        words.extend(["--html".into(), file("html").into_os_string()]);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().expect("threads can be made");
    let mut out = Vec::new();
    let done = pool.install(|| run(&words, &mut out));
    if let Err(failure) = done {
        panic!("{name}: {failure:?}");
    }
    let read = |end| match draws {
        true => std::fs::read(file(end)).expect("it was drawn"),
        false => Vec::new(),
    };
    [out, read("png"), read("html")]
}

#[test]
fn examples_are_alike() {
    let recording = |name: &str| bundled(name).display().to_string();
    let planted = planted().display().to_string();
    let (small, middle, large) = (
        recording("jacobi-4"),
        recording("jacobi-9"),
        recording("jacobi-16"),
    );
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(ToString::to_string).collect() };
    let phases = ["--min-duration", "20us", "--eps", "0.04", "--json"];
    let track_words = [&[&*small, &*middle, &*large][..], &phases].concat();
    let all: [(&str, Run, Vec<String>, bool); 8] = [
        ("inspect", inspect::run, words(&[&large, "--json"]), false),
        (
            "fold",
            fold::run,
            words(&[&large, "--op", "diff", "--json"]),
            true,
        ),
        (
            "devices",
            fold::run,
            words(&[&planted, "--by", "device", "--op", "idle", "--json"]),
            true,
        ),
        (
            "utilisation",
            utilisation::run,
            words(&[&planted, "--json"]),
            false,
        ),
        ("bursts", bursts::run, words(&[&large, "--json"]), false),
        ("cluster", cluster::run, words(&[&large, "--json"]), true),
        ("track", track::run, words(&track_words), true),
        (
            "detect",
            detect::run,
            words(&[&recording("nwchem-md-4"), "--prune", "--json"]),
            true,
        ),
    ];
    for (name, example, words, draws) in all {
        let one = run(name, example, &words, draws, 1);
        assert!(!one[0].is_empty(), "{name}");
        for threads in [2, 8] {
            let other = run(name, example, &words, draws, threads);
            assert!(other == one, "{name} on {threads} threads");
        }
    }
}
