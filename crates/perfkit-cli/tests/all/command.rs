//! The command line: help, completions, exit codes, tables as CSV, and misspelt names.

use perf_testdata::bundled::{devices, recording};
use perfkit_cli::command::output;
use perfkit_cli::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn text(path: PathBuf) -> String {
    path.display().to_string()
}

fn complaint(words: &[&str]) -> String {
    match output(words) {
        Err(Failure::Usage(text) | Failure::Input(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

/// Runs the program and returns its exit code, standard output and standard error.
fn perfkit(words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_perfkit"))
        .args(words)
        .output();
    let output = output.expect("the program is built");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

const SUBCOMMANDS: [&str; 9] = [
    "wait",
    "inspect",
    "fold",
    "correlate",
    "bursts",
    "cluster",
    "track",
    "detect",
    "utilisation",
];

#[test]
fn each_subcommand_has_help_and_the_shared_options() {
    for name in SUBCOMMANDS {
        let Err(Failure::Help(help)) = output([name, "--help"]) else {
            panic!("{name} has no help");
        };
        for option in [
            "--json",
            "--csv",
            "--png",
            "--svg",
            "--html",
            "--threads",
            "--quiet",
            "--verbose",
        ] {
            assert!(help.contains(option), "{name} {option}:\n{help}");
        }
    }
    let version = output(["--version"]);
    let expected = format!("perfkit {}\n", env!("CARGO_PKG_VERSION"));
    assert!(matches!(version, Err(Failure::Help(text)) if text == expected));
    for shell in ["bash", "zsh", "fish"] {
        let script = output(["completions", shell]).expect("it prints");
        assert!(SUBCOMMANDS.iter().all(|name| script.contains(name)));
    }
}

/// Checks the files of new crates; the gate builds and runs the programs.
#[test]
fn new_crates_depend_on_the_library_alone_and_replace_nothing() {
    let folder = scratch("new");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("tests may write here");
    let new = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perfkit"));
        let output = command.arg("new").args(words).current_dir(&folder).output();
        let output = output.expect("the program is built");
        let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    for (kind, argument) in [
        ("experiment", "RECORDING"),
        ("detector", "RECORDING"),
        ("format", "sample.txt"),
    ] {
        let name = format!("my-{kind}");
        let (code, printed, error) = new(&[kind, &name]);
        assert_eq!(code, Some(0), "{error}");
        let next = format!("next:\n  cd {name}\n  cargo run --release -- {argument}\n");
        assert!(printed.ends_with(&next), "{printed}");
        let read = |file: &str| {
            let file = folder.join(&name).join(file);
            std::fs::read_to_string(file).expect("it was written")
        };
        let manifest = read("Cargo.toml");
        let (_, after) = manifest
            .split_once("[dependencies]\n")
            .expect("it has some");
        let dependencies: Vec<&str> = after.lines().take_while(|line| !line.is_empty()).collect();
        let [dependency] = dependencies[..] else {
            panic!("{manifest}");
        };
        assert!(
            dependency.starts_with("perfkit = { path = \""),
            "{dependency}"
        );
        assert!(read("src/main.rs").contains("use perfkit::prelude::*;"));

        std::fs::write(folder.join(&name).join("src/main.rs"), "mine").expect("it can be written");
        let (code, _, error) = new(&[kind, &name]);
        assert!(code == Some(1) && error.contains("exists"), "{error}");
        assert_eq!(read("src/main.rs"), "mine");
    }
    for name in ["../above", "1st", "std", "a b"] {
        let (code, _, error) = new(&["format", name]);
        assert!(
            code == Some(2) && error.contains("no name of a crate"),
            "{error}"
        );
    }
    let (code, _, error) = new(&["format", "other", "--perfkit", "src"]);
    assert!(
        code == Some(2) && error.contains("not the library perfkit"),
        "{error}"
    );
    assert!(!folder.join("other").exists());
}

#[test]
fn exit_codes_tell_usage_from_input() {
    let (code, out, error) = perfkit(&["fold", "x", "--op", "best"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(error.starts_with("error: "), "{error}");
    assert!(error.contains("Usage: perfkit fold"), "{error}");
    let (code, out, error) = perfkit(&["inspect", "/nonexistent/a.otf2"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(error.contains("/nonexistent/a.otf2"), "{error}");
    let (code, out, error) = perfkit(&["--help"]);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    assert!(out.contains("utilisation"), "{out}");
}

#[test]
fn quiet_prints_errors_alone_and_verbose_prints_durations() {
    let file = text(recording("jacobi-4"));
    let usual = perfkit(&["fold", &file]);
    assert!(usual.2.contains("warning: "), "{}", usual.2);
    let quiet = perfkit(&["fold", &file, "--quiet", "--threads", "2"]);
    assert_eq!((&quiet.1, quiet.2.as_str()), (&usual.1, ""));
    let verbose = perfkit(&["fold", &file, "--verbose"]).2;
    let timed = verbose.lines().find(|line| line.ends_with(" s"));
    assert!(timed.is_some(), "{verbose}");
    assert!(complaint(&["fold", &file, "--quiet", "--verbose"]).contains("--verbose"));
    assert!(complaint(&["fold", &file, "--threads", "0"]).contains("1..=1024"));
}

/// Returns the headings and the number of rows of the table of a subcommand.
fn table(name: &str, words: &[&str]) -> (String, usize) {
    let path = scratch(&format!("command-{name}.csv"));
    let file = text(path.clone());
    output([&[name], words, &["--csv", &file]].concat()).expect(name);
    let rows = std::fs::read_to_string(path).expect("it was written");
    let head = rows.lines().next().unwrap_or_default().to_string();
    (head, rows.lines().count() - 1)
}

#[test]
fn tables_are_complete() {
    let (small, file) = (text(recording("jacobi-4")), text(recording("nwchem-md-4")));
    let (head, rows) = table("inspect", &[&small, "--top", "1"]);
    assert_eq!(
        head,
        "call path,location,time (inclusive) [ns],exclusive time [ns],visits (exclusive) [#],\
         bytes sent (exclusive) [bytes],bytes received (exclusive) [bytes]"
    );
    // A row for each of the 11 call paths on each of the 4 ranks that has it, for any `--top`.
    let inspected: serde_json::Value = serde_json::from_str(
        &output(["inspect", &small, "--json", "--top", "99"]).expect("it prints"),
    )
    .expect("JSON");
    let paths = inspected["call_paths"]["rows"]
        .as_array()
        .expect("a list")
        .len();
    assert!(rows > 3 * paths && rows <= 4 * paths, "{rows} of {paths}");

    let words = [small.as_str(), "--by", "rank", "--columns", "7"];
    let (head, rows) = table("fold", &words);
    assert!(head.starts_with("row,kind,column,from [ns],to [ns],state,number,"));
    assert_eq!(rows, 4 * 7);

    let (head, rows) = table("bursts", &[&small]);
    assert!(
        head.starts_with("process,thread,begin [ns],end [ns],kind,"),
        "{head}"
    );
    assert_eq!(rows, 2616);

    let (head, rows) = table("detect", &[&file, "--top", "1"]);
    assert!(
        head.contains(",function,call path,label,entry [ns],run time [ns],"),
        "{head}"
    );
    assert_eq!(rows, 11);

    let (head, rows) = table("utilisation", &[&text(devices())]);
    assert!(head.starts_with("rank,device,streams,work,from [ns],span [ns],busy [ns]"));
    assert_eq!(rows, 6);
}

#[test]
fn misspelt_names_are_suggested() {
    let (trace, grid) = (text(recording("jacobi-4")), text(recording("jacobi-64")));
    for (words, expected) in [
        (&["fold", &trace, "--by", "ranks"][..], "'rank'"),
        (&["fold", &trace, "--op", "maxx"], "did you mean `max`?"),
        (
            &["fold", &trace, "--op", "any=MPI_Allredcue"],
            "did you mean `MPI_Allreduce`?",
        ),
        (
            &["fold", &trace, "--colums", "3"],
            "did you mean `--columns`?",
        ),
        (&["detect", &trace, "--method", "stsd"], "'sstd'"),
        (
            &["correlate", &grid, "--path", "0", "--metric", "vistis"],
            "did you mean `visits`?",
        ),
        (
            &["correlate", &grid, "--path", "Working > radiaton"],
            "9 `Working > radiation`",
        ),
        (
            &[
                "correlate",
                &grid,
                "--path",
                "0",
                "--topology",
                "node,rank,thraed",
            ],
            "`thraed` is no level",
        ),
    ] {
        let said = complaint(words);
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}

#[test]
fn the_end_of_a_call_path_is_enough_if_no_other_has_it() {
    let file = text(recording("jacobi-64"));
    let common = [
        "correlate",
        &file,
        "--topology",
        "4x4x4",
        "--json",
        "--path",
    ];
    let reference = |path: &str| -> Result<serde_json::Value, Failure> {
        let printed = output([&common[..], &[path]].concat())?;
        let found: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
        Ok(found["reference"]["path"].clone())
    };
    assert_eq!(
        reference("radiation").expect("one path"),
        "Working > radiation"
    );
    let longer = reference("exchange_halo > MPI_Recv").expect("one path");
    assert_eq!(longer, "Working > exchange_halo > MPI_Recv");
    // A whole path takes precedence over the end of another path.
    assert_eq!(reference("Working").expect("the root"), "Working");
    let none = reference("halo > MPI_Recv").expect_err("a part of a name");
    assert!(matches!(none, Failure::Input(_)), "{none:?}");
}

/// The last axis of a grid in text varies fastest, in the program as in the library: the cloud over
/// ranks 16 to 47 is in the middle of the first axis.
#[test]
fn grids_count_as_the_library_does() {
    let file = text(recording("jacobi-64"));
    let words = [
        "correlate",
        &file,
        "--path",
        "radiation",
        "--metric",
        "exclusive time",
        "--topology",
        "4x4x4",
        "--json",
    ];
    let printed = output(words).expect("it correlates");
    let found: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let power: Vec<f64> = serde_json::from_value(found["axis_power"].clone()).expect("numbers");
    assert!(power[0] > 0.8 && power[1] < 0.01, "{power:?}");
}

/// Tests that wrong commands name the problem, the place and the remedy.
#[test]
fn wrong_commands_name_problem_place_and_remedy() {
    let recordings = recording("");
    let trace = text(recordings.join("jacobi-4"));
    let folder = scratch("wrong-commands");
    std::fs::create_dir_all(&folder).expect("tests may write here");
    let file = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, content).expect("tests may write here");
        text(path)
    };
    let words = file("a.txt", b"a text");
    let program = file("a.out", b"\x7fELF\x02\x01");
    let report = file("run.nsys-rep", b"a report");
    let profile = text(folder.join("profile.cubex"));
    output(["convert", &trace, &profile]).expect("a profile");
    let misspelt = text(recordings.join("jacoby-4"));
    let part = text(recordings.join("jacobi-4/eztrace_log.def"));
    let wrong: [(&[&str], &[&str]); 20] = [
        (&["inspct", &trace], &["inspct", "'inspect'"]),
        (
            &["fold", &trace, "--colums", "9"],
            &["`--colums`", "`--columns`"],
        ),
        (
            &["fold", &trace, "--columns", "0"],
            &["--columns", "at least one"],
        ),
        (
            &["fold", &trace, "--threads", "two"],
            &["--threads", "not a whole number"],
        ),
        (
            &["fold", &trace, "--by", "rnak"],
            &["--by", "rnak", "'rank'"],
        ),
        (&["fold", &trace, "--from", "5x"], &["--from", "5x", "20ms"]),
        (
            &["fold", &trace, "--from", "2s", "--to", "1s"],
            &["--from 2.000 s", "--to"],
        ),
        (
            &["fold", &trace, "--from", "1000s"],
            &["that window", "580.21 ms"],
        ),
        (
            &["fold", &trace, "--op", "count=Wrking"],
            &["--op", "`Working`"],
        ),
        (
            &["fold", &trace, "--counter", "wrok"],
            &["--counter", "`work`"],
        ),
        (
            &["fold", &profile],
            &["profile.cubex", "a profile", "`inspect`"],
        ),
        (
            &["inspect", &misspelt],
            &["jacoby-4", "no such file", "jacobi-4`"],
        ),
        (&["inspect", &part], &["eztrace_log.def", "open the anchor"]),
        (
            &["inspect", &words],
            &["a.txt", "no known format", "`perfkit inspect --help`"],
        ),
        (
            &["inspect", &program],
            &["a.out", "an executable program", "Score-P"],
        ),
        (
            &["inspect", &report],
            &["run.nsys-rep", "nsys export --type sqlite"],
        ),
        (
            &["bursts", &trace, "--metrics", "wrok"],
            &["jacobi-4", "no metric `wrok`", "`work`"],
        ),
        (
            &["bursts", &trace, "--calls", "MPI_Alreduce"],
            &["jacobi-4", "`MPI_Allreduce`"],
        ),
        (
            &["correlate", &profile, "--metric", "tmie"],
            &["--metric tmie", "time`"],
        ),
        (
            &["convert", &trace, "out.jsn"],
            &["out.jsn", ".json", "--format"],
        ),
    ];
    for (words, expected) in wrong {
        let message = complaint(words);
        for part in expected {
            assert!(message.contains(part), "{words:?}: {message}");
        }
    }
    // A subcommand that needs another one prints its help.
    let missing = output(["profile"]).expect_err("it is incomplete");
    assert!(matches!(missing, Failure::MissingSubcommand(text) if text.contains("diff")));
}
