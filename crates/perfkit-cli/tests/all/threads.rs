//! Output and pictures of the subcommands do not depend on the number of threads.

use perf_testdata::bundled::{devices as planted, recording as bundled};
use perfkit_cli::command;
use std::ffi::OsString;
use std::path::Path;

/// Runs a subcommand in a pool of the given number of threads, and returns its output, picture and
/// page.
fn run(name: &str, command: &str, words: &[String], draws: bool, threads: usize) -> [Vec<u8>; 3] {
    let file = |end: &str| {
        let name = format!("threads-{name}.{end}");
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
    };
    let command = OsString::from(command);
    let words = words.iter().map(OsString::from);
    let mut words: Vec<OsString> = std::iter::once(command).chain(words).collect();
    if draws {
        words.extend(["--png".into(), file("png").into_os_string()]);
        words.extend(["--html".into(), file("html").into_os_string()]);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().expect("threads can be made");
    let mut out = Vec::new();
    let done = pool.install(|| command::run(&words, &mut out));
    if let Err(failure) = done {
        panic!("{name}: {failure:?}");
    }
    let read = |end| {
        if draws {
            std::fs::read(file(end)).expect("it was drawn")
        } else {
            Vec::new()
        }
    };
    [out, read("png"), read("html")]
}

#[test]
fn output_is_independent_of_the_number_of_threads() {
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
    let all: [(&str, &str, Vec<String>, bool); 9] = [
        ("inspect", "inspect", words(&[&large, "--json"]), false),
        (
            "fold",
            "fold",
            words(&[&large, "--op", "diff", "--json"]),
            true,
        ),
        (
            "devices",
            "fold",
            words(&[&planted, "--by", "device", "--op", "idle", "--json"]),
            true,
        ),
        (
            "utilisation",
            "utilisation",
            words(&[&planted, "--json"]),
            false,
        ),
        (
            "wait",
            "wait",
            words(&[&large, "--clocks", "correct", "--json"]),
            true,
        ),
        ("bursts", "bursts", words(&[&large, "--json"]), false),
        ("cluster", "cluster", words(&[&large, "--json"]), true),
        ("track", "track", words(&track_words), true),
        (
            "detect",
            "detect",
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
