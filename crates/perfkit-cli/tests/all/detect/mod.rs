//! `detect` on recorded streams and on a growing one, and its messages about invalid input.

mod counters;
mod following;
mod lost_time;

use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;
use perfkit::anomaly::provenance::{Kind, Query, open};
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn run(words: &[&str]) -> Result<String, Failure> {
    command::output([&["detect"], words].concat())
}

fn json(words: &[&str]) -> serde_json::Value {
    match run(&[words, &["--json"]].concat()) {
        Ok(text) => serde_json::from_str(&text).expect("it is JSON"),
        Err(failure) => panic!("{words:?}: {failure:?}"),
    }
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

#[test]
fn strict_methods_say_of_streams_what_is_known() {
    let Some(lammps) = corpus("chimbuko/lammps-0.tsv.gz") else {
        return;
    };
    for (method, anomalies) in [("sstd", 355), ("hbos", 203), ("copod", 1560)] {
        let found = json(&[text(&lammps), "--method", method]);
        assert_eq!(found["anomalies"], anomalies, "{method}");
        assert_eq!(found["events"], 211_839);
        assert_eq!(found["method"], method);
    }
    // Each rank of one program has a file of its own.
    let ranks: Option<Vec<PathBuf>> = (0..6)
        .map(|rank| corpus(&format!("chimbuko/heat2d-{rank}.tsv.gz")))
        .collect();
    let ranks = ranks.expect("they are beside the other");
    let words: Vec<&str> = ranks.iter().map(|path| text(path)).collect();
    let found = json(&words);
    assert_eq!(found["by_rank"]["rows"].as_array().map(Vec::len), Some(6));
    assert_eq!(found["health"]["out-of-order"], 6);
}

#[test]
fn anomalies_are_written_with_all_that_is_around_them() {
    let Some(lammps) = corpus("chimbuko/lammps-0.tsv.gz") else {
        return;
    };
    #[allow(unused_mut, reason = "no more kinds without the feature")]
    let mut names = vec!["detect.jsonl"];
    #[cfg(feature = "sqlite")]
    names.push("detect.sqlite");
    for name in names {
        let file = scratch(name);
        let found = json(&[text(&lammps), "--provenance", text(&file)]);
        let mut store = open(&file).expect("it was just written");
        let query = Query {
            kind: Some(Kind::Anomaly),
            ..Query::default()
        };
        let records = store.query(&query).expect("it was just written");
        assert_eq!(Some(records.len() as u64), found["recorded"].as_u64());
        assert_eq!(found["anomalies"], found["recorded"]);
        assert!(
            records
                .iter()
                .all(|one| one.before.len() == 5 && one.after.len() == 5)
        );
        assert!(records.iter().any(|one| one.stack.len() == 2));
        let again = json(&[text(&lammps), "--provenance", text(&file), "--prune"]);
        let mut store = open(&file).expect("it was just written");
        let left = store.query(&query).expect("it was just written");
        assert!(again["pruned"].as_u64() > Some(0) && left.len() < records.len());
        // All numbers are those after pruning.
        assert_eq!(again["recorded"].as_u64(), Some(left.len() as u64));
        assert_eq!(again["anomalies"], again["recorded"]);
        let sum = |key: &str| {
            let all = again[key]["rows"].as_array().expect("a list").iter();
            all.map(|one| one["anomalies"].as_u64().expect("a number"))
                .sum::<u64>()
        };
        assert_eq!((Some(sum("by_rank")), Some(sum("by_function"))), {
            let all = again["anomalies"].as_u64();
            (all, all)
        });
        assert!(again["kept_bytes"].as_u64() < found["kept_bytes"].as_u64());
        if name.ends_with("jsonl") {
            let size = std::fs::metadata(&file).expect("it was just written").len();
            assert_eq!(again["kept_bytes"], size);
        }
    }
}

/// Returns rows of a stream: calls of 100 us, with some jitter, and one of 5 ms.
fn rows(calls: std::ops::Range<usize>) -> String {
    let row = |at: usize| {
        let (begin, jitter) = (1000 * 10 * at, at * 37 % 11);
        let runtime = if at == 150 { 5000 } else { 100 } + jitter;
        let step = at / 50;
        format!(
            "{step}\t{begin}\t0\t2\t0\tENTRY\tsolve\t\t\t\n{step}\t{}\t0\t2\t0\tEXIT\tsolve\t\t\t\n",
            begin + runtime
        )
    };
    calls.map(row).collect()
}

const HEAD: &str = "step\tts_us\tprogram\trank\tthread\tkind\tname\ttag\tpartner\tbytes\n";

#[test]
fn functions_have_rules_of_their_own() {
    let recording = bundled("nwchem-md-4");
    let file = text(&recording);
    let plain = json(&[file, "--period", "2590828ns"]);
    let of = |found: &serde_json::Value, name: &str, field: &str| {
        let all = found["by_function"]["rows"].as_array().expect("a list");
        let one = all.iter().find(|one| one["function"] == name).expect(name);
        one[field].as_u64().expect("a number")
    };
    assert!(of(&plain, "MPI_Barrier", "anomalies") > 0);
    let quiet = json(&[file, "--period", "2590828ns", "--ignore", "MPI_Ba*"]);
    assert_eq!(of(&quiet, "MPI_Barrier", "anomalies"), 0);
    assert_eq!(
        of(&quiet, "MPI_Barrier", "calls"),
        of(&plain, "MPI_Barrier", "calls")
    );
    // Calls with messages of several sizes may have models of their own.
    let other = |found: &serde_json::Value| {
        let all = found["by_function"]["rows"].as_array().expect("a list");
        let is_own = |name: &str| name == "MPI_Allreduce" || name.starts_with("MPI_Allreduce of ");
        let own = all
            .iter()
            .filter(|one| one["function"].as_str().is_some_and(is_own));
        own.map(|one| one["anomalies"].as_u64().expect("a number"))
            .sum::<u64>()
    };
    assert_eq!(other(&quiet), other(&plain));
    let eager = json(&[
        file,
        "--period",
        "2590828ns",
        "--threshold",
        "MPI_Allreduce=1000",
    ]);
    assert!(other(&eager) > other(&plain));
    let paths = json(&[
        file,
        "--period",
        "2590828ns",
        "--by",
        "path",
        "--ignore",
        "MPI_Ba*",
    ]);
    assert_eq!(of(&paths, "Working / MPI_Barrier", "anomalies"), 0);
    assert_eq!(
        of(&paths, "Working / MPI_Allreduce", "anomalies"),
        other(&plain)
    );
    // Deeper calls have more time in their callees.
    let inclusive = json(&[file, "--period", "2590828ns", "--runtime", "inclusive"]);
    assert_eq!(inclusive["calls"], plain["calls"]);
    // Each anomaly is counted exactly once in all tables.
    let sum = |field: &str| {
        let all = plain[field]["rows"].as_array().expect("a list").iter();
        all.map(|one| one["anomalies"].as_u64().expect("a number"))
            .sum::<u64>()
    };
    assert_eq!(Some(sum("by_function")), plain["anomalies"].as_u64());
    assert_eq!(Some(sum("by_rank")), plain["anomalies"].as_u64());
    // The pace does not change the results; the kept records contain the options and therefore
    // differ in size.
    let mut paced = json(&[file, "--period", "2590828ns", "--pace", "1000"]);
    paced["kept_bytes"] = plain["kept_bytes"].clone();
    assert_eq!(paced, plain);
}

#[test]
fn what_does_not_fit_is_said() {
    let recording = bundled("nwchem-md-4");
    let file = text(&recording);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/streams");
    let table = folder.join("miniapp.tsv");
    let files = folder.join("tau-metrics-miniapp-0.bp");
    for words in [
        &[][..],
        &[file, "--method", "best"],
        &[file, "--by", "rank"],
        &[file, "--rank-by", "size"],
        &[file, "--threshold", "MPI_*"],
        &[file, "--ignore", "MPI_Bar"],
        &[file, "--accept", "solv=it is warming up"],
        &[file, "--threshold", "MPI_*=2000"],
        &[file, "--method", "sstd", "--threshold", "MPI_*=-1"],
        &[file, "--false-alarms", "0"],
        &[file, "--period", "0s"],
        &[file, "--pace", "-1"],
        &[file, file],
        &[file, "--follow"],
        &[file, "--idle", "1s"],
        &[file, "--method", "sstd", "--false-alarms", "1"],
        &[text(&table), "--pace", "2"],
        &[text(&table), "--period", "1s"],
        &[text(&files), "--pace", "2"],
        &[text(&files), "--period", "1s"],
        &[text(&files), text(&table)],
    ] {
        let outcome = run(words);
        assert!(
            matches!(outcome, Err(Failure::Usage(_))),
            "{words:?}: {outcome:?}"
        );
    }
    let readme = bundled("README.md");
    for words in [
        &["/nonexistent/stream.tsv"][..],
        &[text(&readme)],
        &[file, "--provenance", "/nonexistent/out.jsonl"],
    ] {
        let outcome = run(words);
        assert!(
            matches!(outcome, Err(Failure::Input(_))),
            "{words:?}: {outcome:?}"
        );
    }
}

#[test]
fn files_of_adios_are_judged_as_the_table_beside_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/streams");
    let table = json(&[text(&folder.join("miniapp.tsv"))]);
    let files = json(&[text(&folder)]);
    for key in [
        "events",
        "calls",
        "anomalies",
        "not_enough_data",
        "by_function",
    ] {
        assert_eq!(files[key], table[key], "{key}");
    }
    assert_eq!(files["events"], 592);
    // A closed file is not waited for.
    let followed = run(&[text(&folder), "--follow"]);
    assert!(followed.is_ok(), "{followed:?}");
    let one = folder.join("tau-metrics-miniapp-1.bp");
    assert_eq!(
        json(&[text(&one)])["by_rank"]["rows"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

#[test]
fn what_is_there_is_not_written_over_by_mistake() {
    let source = scratch("spared.tsv");
    let table = "step\tts_us\tkind\tname\n0\t5\tENTRY\tmain\n0\t9\tEXIT\tmain\n";
    std::fs::write(&source, table).expect("a file");
    let words = [text(&source), "--provenance", text(&source)];
    assert!(matches!(run(&words), Err(Failure::Usage(_))));
    assert!(matches!(
        run(&["no-such-stream.tsv", "--provenance", text(&source)]),
        Err(Failure::Input(_))
    ));
    let left = std::fs::read_to_string(&source).expect("it is still there");
    assert_eq!(left, table);
}

#[test]
fn a_folder_of_streams_is_all_of_them() {
    let folder = scratch("streams");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("tests may write here");
    for rank in 0..3 {
        let name = format!("heat2d-{rank}.tsv.gz");
        let Some(from) = corpus(&format!("chimbuko/{name}")) else {
            return;
        };
        std::fs::copy(from, folder.join(name)).expect("tests may write here");
    }
    let table = "step\tts_us\trank\tkind\tname\n0\t5\t9\tENTRY\tmain\n0\t9\t9\tEXIT\tmain\n";
    std::fs::write(folder.join("heat2d-9.tsv"), table).expect("tests may write here");
    std::fs::write(folder.join("README.md"), "not one").expect("tests may write here");
    let found = json(&[text(&folder)]);
    assert_eq!(found["by_rank"]["rows"].as_array().map(Vec::len), Some(4));
}

#[test]
fn calls_that_are_open_at_the_end_make_no_step() {
    let file = scratch("open.tsv");
    let table = "step\tts_us\tkind\tname\n0\t5\tENTRY\tmain\n0\t7\tENTRY\tf\n0\t9\tEXIT\tf\n";
    std::fs::write(&file, table).expect("tests may write here");
    let found = json(&[text(&file)]);
    assert_eq!(
        (found["steps"].as_u64(), found["calls"].as_u64()),
        (Some(1), Some(2))
    );
    assert_eq!(found["by_rank"]["rows"][0]["anomalies per step count"], 1);
    assert_eq!(found["health"]["open-at-end"], 1);
    let recording = json(&[text(&bundled("nwchem-md-4"))]);
    // 159 iterations, and the time before them.
    assert_eq!(
        (&recording["steps"], &recording["steps_at"]),
        (&160.into(), &"MPI_Barrier".into())
    );
    let parts = json(&[text(&bundled("nwchem-md-4")), "--period", "2590828ns"]);
    assert_eq!(
        (&parts["steps"], &parts["steps_at"]),
        (&100.into(), &serde_json::Value::Null)
    );
    for rank in recording["by_rank"]["rows"].as_array().expect("a list") {
        assert!(
            rank["anomalies per step count"].as_u64() <= Some(160),
            "{rank}"
        );
    }
}

#[test]
fn what_was_left_out_and_what_changed_is_told() {
    let file = scratch("changed.tsv");
    let row = |at: usize| {
        let (begin, step) = (1000 * at, at / 50);
        let runtime = if at < 600 { 100 } else { 160 } + at * 37 % 11;
        format!(
            "{step}\t{begin}\tENTRY\tsolve\n{step}\t{}\tEXIT\tsolve\n",
            begin + runtime
        )
    };
    let rows: String = (0..1500).map(row).collect();
    let wrong = "0\t0\tDOG\tmain\n0\t0\tEXIT\tmain\n";
    let table = format!("step\tts_us\tkind\tname\n{wrong}{rows}");
    std::fs::write(&file, table).expect("tests may write here");
    let found = json(&[text(&file)]);
    let [change] = &found["changes"]["rows"].as_array().expect("a list")[..] else {
        panic!("{}", found["changes"])
    };
    assert_eq!(change["function"], "solve");
    assert!(
        (10..=12).contains(&change["step"].as_u64().expect("a number")),
        "{change}"
    );
    let left_out = &found["left_out"];
    assert_eq!(left_out["reader"], 1, "{left_out}");
    assert_eq!(left_out["events"], 1, "{left_out}");
    let printed = run(&[text(&file)]).expect("it ends");
    assert!(printed.contains("solve slowed from 10"), "{printed}");
    assert!(printed.contains("dropped: 1 reader, 1 events"), "{printed}");
    assert!(printed.contains("reader: 1 x "), "{printed}");
    let again = json(&[text(&file), "--restart"]);
    assert!(again["not_enough_data"].as_u64() > found["not_enough_data"].as_u64());
    let followed = run(&[text(&file), "--follow", "--idle", "0s"]).expect("it ends");
    assert!(followed.contains(": solve slowed from "), "{followed}");
}

#[test]
fn the_report_is_shown_although_nothing_can_be_written() {
    // All writes to this device fail.
    let full = Path::new("/dev/full");
    if !full.exists() {
        return println!("skipped: no such device");
    }
    let recording = bundled("nwchem-md-4");
    let words = [
        "detect",
        text(&recording),
        "--provenance",
        "/dev/full",
        "--json",
    ];
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let mut out = Vec::new();
    let outcome = command::run(&words, &mut out);
    assert!(matches!(outcome, Err(Failure::Input(_))), "{outcome:?}");
    let found: serde_json::Value = serde_json::from_slice(&out).expect("it is JSON");
    assert!(found["calls"].as_u64() > Some(0));
    let error = found["error"].as_str().unwrap_or_default();
    assert!(error.contains("/dev/full"), "{error}");
    // Records that cannot be kept are counted.
    let file = scratch("full.tsv");
    let rows = (0..200).map(|at| {
        let runtime = if at == 150 { 5000 } else { 100 } + at * 37 % 11;
        let begin = 10_000 * at;
        format!(
            "0\t{begin}\tENTRY\tsolve\n0\t{}\tEXIT\tsolve\n",
            begin + runtime
        )
    });
    let table = format!("step\tts_us\tkind\tname\n{}", rows.collect::<String>());
    std::fs::write(&file, table).expect("tests may write here");
    let words = ["detect", text(&file), "--provenance", "/dev/full", "--json"];
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let mut out = Vec::new();
    assert!(command::run(&words, &mut out).is_err());
    let found: serde_json::Value = serde_json::from_slice(&out).expect("it is JSON");
    assert_eq!(
        (&found["anomalies"], &found["recorded"]),
        (&1.into(), &0.into())
    );
    assert!(
        found["left_out"]["records_lost"].as_u64() > Some(0),
        "{found}"
    );
    let (mut out, words) = (Vec::new(), &words[..4]);
    assert!(command::run(words, &mut out).is_err());
    let printed = String::from_utf8(out).expect("it is text");
    assert!(printed.contains(" records lost"), "{printed}");
    // The summary does not mention a file because nothing was written.
    assert!(!printed.contains("\nwritten to"), "{printed}");
    assert!(
        printed.contains(
            "only partly written to /dev/full: 0 anomalies, 0 normal executions; 0 bytes of"
        ),
        "{printed}"
    );
}

#[test]
fn runs_are_compared_by_what_they_recorded() {
    let Some(lammps) = corpus("chimbuko/lammps-0.tsv.gz") else {
        return;
    };
    let lammps = text(&lammps);
    let (old, new) = (scratch("old.jsonl"), scratch("new.jsonl"));
    json(&[lammps, "--provenance", text(&old), "--false-alarms", "1"]);
    let words = [lammps, "--provenance", text(&new), "--false-alarms", "100"];
    let found = json(&[&words[..], &["--compare", text(&old)]].concat());
    let compared = &found["compared"];
    assert_eq!(compared["with"], text(&old));
    let all = compared["by_function"]["rows"].as_array().expect("a list");
    let sum = |when: &str| {
        let all = all.iter();
        all.map(|one| one[when].as_u64().expect("a number"))
            .sum::<u64>()
    };
    assert_eq!(Some(sum("anomalies")), found["recorded"].as_u64());
    assert!(sum("other anomalies") > 0 && sum("other anomalies") < sum("anomalies"));
    assert!(compared["by_path"]["rows"][0]["call path"].is_string());
    let printed = run(&[&words[..], &["--compare", text(&old)]].concat()).expect("it ends");
    assert!(printed.contains("anomalies then"), "{printed}");
    let same = run(&[lammps, "--false-alarms", "1", "--compare", text(&old)]).expect("it ends");
    assert!(same.contains("nothing differs"), "{same}");
    // The store of `--compare` must exist and is not overwritten.
    let over = run(&[lammps, "--provenance", text(&old), "--compare", text(&old)]);
    assert!(matches!(over, Err(Failure::Usage(_))), "{over:?}");
    for other in ["/nonexistent/old.jsonl", "/nonexistent"] {
        let missing = run(&[lammps, "--compare", other]);
        assert!(matches!(missing, Err(Failure::Input(_))), "{missing:?}");
    }
    let table = scratch("no-records.csv");
    std::fs::write(&table, "rank,calls\n0,17\n").expect("it is written");
    match run(&[lammps, "--compare", text(&table)]) {
        Err(Failure::Input(said)) => {
            assert!(said.contains("no record that --provenance"), "{said}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_asked_for_is_in_the_records() {
    let recording = bundled("nwchem-md-4");
    let file = scratch("asked.jsonl");
    let words = [
        text(&recording),
        "--provenance",
        text(&file),
        "--ignore",
        "MPI_Ba*",
        "--threshold",
        "MPI_Bcast=50",
        "--by",
        "path",
        "--false-alarms",
        "20",
        "--restart",
    ];
    json(&words);
    let line = std::fs::read_to_string(&file).expect("it was just written");
    let run: serde_json::Value =
        serde_json::from_str(line.lines().next().unwrap_or_default()).expect("it is JSON");
    let facts = &run["facts"];
    for (name, value) in [
        ("method", "default"),
        ("model by", "CallPath"),
        ("run time", "Exclusive"),
        ("false positives per million", "20"),
        ("ignored", "MPI_Ba*"),
        ("threshold of MPI_Bcast", "50"),
        ("restart", "true"),
        ("per function", "1000"),
    ] {
        assert_eq!(facts[name], value, "{name}: {facts}");
    }
    assert_eq!(facts["source"], text(&recording));
}

#[test]
fn a_stream_is_named_once_and_a_recording_has_a_bounded_number_of_steps() {
    let file = scratch("twice.tsv");
    std::fs::write(&file, format!("{HEAD}{}", rows(0..50))).expect("tests may write here");
    let refused = |words: &[&str]| match run(words) {
        Err(Failure::Usage(message)) => message,
        other => panic!("{other:?}"),
    };
    let twice = refused(&[text(&file), text(&file)]);
    assert!(twice.contains("is given twice"), "{twice}");
    let recording = bundled("jacobi-4");
    let many = refused(&[text(&recording), "--period", "1ns"]);
    assert!(many.contains("at most 1 000 000 are possible"), "{many}");
}

/// Sixteen ranks of a stencil, of which four compute more from iteration 8 on. Equal parts of the time hide them.
#[test]
fn slow_ranks_are_found_in_iterations() {
    let recording = bundled("jacobi-16");
    let file = text(&recording);
    let printed = run(&[file]).expect("it ends");
    assert!(
        printed.contains("a step begins at every 2 calls of exchange_halo on a rank"),
        "{printed}"
    );
    let ranks = |found: &serde_json::Value| -> BTreeSet<u64> {
        let slow = found["slow_ranks"]["rows"].as_array().expect("a list");
        slow.iter().filter_map(|one| one["rank"].as_u64()).collect()
    };
    let named = json(&[file, "--step-at", "dynamics"]);
    assert_eq!(named["steps"], 51);
    for found in [json(&[file]), named] {
        assert_eq!(ranks(&found), BTreeSet::from([5, 6, 9, 10]));
    }
    let Err(Failure::Usage(message)) = run(&[file, "--step-at", "dynamic"]) else {
        panic!("no such function")
    };
    assert!(message.contains("no call of the recording matches") && message.contains("dynamics"));
    let both = run(&[file, "--step-at", "dynamics", "--period", "1ms"]);
    assert!(both.is_err());
}
