//! `inspect --by rank` and `--by thread`: load imbalance of call paths; and the values of both lists of `inspect`.

use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn inspect(file: &Path, words: &[&str]) -> Result<String, Failure> {
    let mut all: Vec<OsString> = ["inspect".into(), file.into()].into();
    all.extend(words.iter().map(OsString::from));
    command::output(all)
}

fn run(file: &Path, words: &[&str]) -> Result<String, Failure> {
    inspect(file, &[&["--by", "rank"], words].concat())
}

fn json(file: &Path, words: &[&str]) -> serde_json::Value {
    let text = run(file, &[words, &["--json"]].concat()).expect("it is inspected");
    serde_json::from_str(&text).expect("it is JSON")
}

/// Returns the rows of a table, which are objects.
fn rows(table: &serde_json::Value) -> Vec<serde_json::Value> {
    table["rows"].as_array().expect("rows").clone()
}

#[test]
fn the_planted_imbalance_of_jacobi_is_shown() {
    let file = bundled("jacobi-64");
    let found = json(&file, &["--top", "100"]);
    assert_eq!(
        (&found["locations"], &found["grid"]),
        (&64.into(), &serde_json::json!([4, 4, 4]))
    );
    let rows = rows(&found["call_paths"]);
    let clouds = rows
        .iter()
        .find(|row| row["call path"] == "Working > microphysics")
        .expect("it is listed");
    let number = |name: &str| clouds[name].as_f64().expect("a number");
    // Ranks 16 to 47 are under the cloud: c0 is 1 or 2.
    let at = clouds["on grid"].as_str().expect("a cell");
    assert!(at.starts_with("1,") || at.starts_with("2,"), "{at}");
    let values: Vec<f64> = (0..64).map(|rank| number(&rank.to_string())).collect();
    let (sum, max) = (
        values.iter().sum::<f64>(),
        values.iter().copied().fold(0.0, f64::max),
    );
    assert!((number("total") - sum).abs() < 64.0);
    assert_eq!(number("max"), max);
    assert!((number("max/mean") - max / (sum / 64.0)).abs() < 1e-6);
    assert!((number("saves") - (max - sum / 64.0)).abs() < 2.0);
    assert_eq!(values[at_rank(clouds)], max);
    let under: f64 = values[16..48].iter().sum();
    assert!(under > 0.8 * sum);
    // Calls of MPI wait for others: balancing them saves nothing.
    for row in &rows {
        let name = row["call path"].as_str().expect("a name");
        assert_eq!(row["saves"].is_null(), name.contains("MPI_"), "{name}");
    }
    // The sum of all computation saves at most the sum of the parts.
    let all = &rows_of_all(&found)[0];
    let parts: f64 = rows.iter().filter_map(|row| row["saves"].as_f64()).sum();
    let saves = all["saves"].as_f64().expect("a time");
    assert!(saves > 0.0 && saves <= parts + 1.0, "{saves} {parts}");
}

fn at_rank(row: &serde_json::Value) -> usize {
    row["at rank"]
        .as_str()
        .and_then(|rank| rank.parse().ok())
        .expect("a rank")
}

fn rows_of_all(found: &serde_json::Value) -> Vec<serde_json::Value> {
    rows(&found["all_computation"])
}

#[test]
fn many_ranks_are_folded_and_csv_is_complete() {
    let Some(file) = corpus("cube/lulesh/lulesh.p343.size30.r1.cubex") else {
        return;
    };
    let csv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("by-rank.csv");
    let text =
        run(&file, &["--top", "3", "--csv", csv.to_str().expect("text")]).expect("it is inspected");
    assert!(
        text.lines()
            .filter(|line| !line.starts_with("  saves"))
            .all(|line| line.chars().count() <= 150),
        "{text}"
    );
    assert!(
        text.contains("over 343 ranks") && text.contains("7 x 7 x 7, detected"),
        "{text}"
    );
    assert!(
        text.contains("each column is the mean of 43 neighbouring ranks")
            && text.contains("301-342"),
        "{text}"
    );
    assert!(
        text.contains("(all computation)") && text.contains("more call paths: --top"),
        "{text}"
    );
    let csv = std::fs::read_to_string(csv).expect("it was written");
    let (head, lines) = csv.split_once('\n').expect("a heading");
    assert!(head.ends_with(",342 [ns]"), "{head}");
    assert!(lines.lines().count() > 3);
    // Counts have no savings.
    let text = run(&file, &["--metric", "visits"]).expect("it is inspected");
    assert!(!text.contains("saves"), "{text}");
    let text = run(&file, &["--scope", "inclusive"]).expect("it is inspected");
    assert!(
        text.contains("inclusive time") && !text.contains("saves"),
        "{text}"
    );
}

#[test]
fn threads_are_added_up_unless_they_are_compared() {
    let Some(file) = corpus("cube/cube3/experiment1.cube") else {
        return;
    };
    let threads = ["--by", "thread", "--top", "2"];
    let text = inspect(&file, &threads).expect("it is inspected");
    assert!(
        text.contains("over 128 threads") && text.contains("at thread"),
        "{text}"
    );
    assert!(
        text.contains("0.0-3.3") && text.contains("3.1 is thread 1 of rank 3"),
        "{text}"
    );
    let text = run(&file, &["--top", "2"]).expect("it is inspected");
    assert!(
        text.contains("over 32 ranks") && text.contains("of 128 threads in all: --by thread"),
        "{text}"
    );
    // Only one thread of each rank sends.
    let found = json(&file, &["--metric", "bytes_sent", "--top", "100"]);
    let rows = rows(&found["call_paths"]);
    let is_send = |row: &&serde_json::Value| {
        let path = row["call path"].as_str().expect("a name");
        path.ends_with("MPI_Isend")
    };
    let sends = rows.iter().find(is_send).expect("it is listed");
    let factor = sends["max/mean"].as_f64().expect("a number");
    assert!((factor - 1.42).abs() < 0.005, "{factor}");
    // 4 ranks of 9 threads: a column for each rank.
    let Some(file) = corpus("cube/cube3/profile.cube") else {
        return;
    };
    let text = inspect(&file, &threads).expect("it is inspected");
    assert!(
        text.contains("the mean of the 9 threads of a rank") && text.contains("3.0-3.8"),
        "{text}"
    );
}

#[test]
fn the_page_has_a_heat_map_and_the_imbalance() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (page, picture) = (folder.join("by-rank.html"), folder.join("by-rank.svg"));
    let text = |path: &Path| path.to_str().expect("text").to_string();
    let (html, svg) = (text(&page), text(&picture));
    run(&bundled("jacobi-64"), &["--html", &html, "--svg", &svg]).expect("it is inspected");
    let html = std::fs::read_to_string(page).expect("it was written");
    assert!(html.contains("Exclusive time of the call paths on 64 ranks"));
    assert!(html.contains("max/mean") && html.contains("microphysics"));
    assert!(html.contains("Each row has a scale of its own, relative to its mean"));
    let svg = std::fs::read_to_string(picture).expect("it was written");
    assert!(
        svg.contains("Working &gt; microphysics")
            && svg.contains(">60</text>")
            && svg.contains("&gt;= 2x"),
        "{svg}"
    );
}

/// Writes a Cube3 profile with a process of each of these ranks, in this order, and exclusive times of `main` and
/// the functions that it calls, in seconds.
fn written(name: &str, ranks: &[u32], functions: &[(&str, Vec<&str>)]) -> PathBuf {
    let mut text =
        String::from("<cube version=\"3.0\"><metrics><metric id=\"0\"><disp_name>time</disp_name>");
    text += "<uniq_name>time</uniq_name><dtype>FLOAT</dtype><uom>sec</uom>";
    text += "</metric></metrics><program>";
    let names: Vec<&str> = [
        &["main"][..],
        &functions.iter().map(|it| it.0).collect::<Vec<_>>(),
    ]
    .concat();
    for (at, name) in names.iter().enumerate() {
        text += &format!(
            "<region id=\"{at}\" mod=\"a.c\" begin=\"1\" end=\"2\"><name>{name}</name></region>"
        );
    }
    for at in 0..names.len() {
        text += &format!("<cnode id=\"{at}\" calleeId=\"{at}\">");
        text += if at > 0 { "</cnode>" } else { "" };
    }
    text +=
        "</cnode></program><system><machine Id=\"0\"><name>M</name><node Id=\"0\"><name>n</name>";
    for (at, rank) in ranks.iter().enumerate() {
        text += &format!(
            "<process Id=\"{at}\"><name>Process {rank}</name><rank>{rank}</rank><thread Id=\"{at}\"><name>Thread 0</name>\
             <rank>0</rank></thread></process>"
        );
    }
    text += "</node></machine></system><severity><matrix metricId=\"0\">";
    for (at, (_, values)) in (1..).zip(functions) {
        text += &format!("<row cnodeId=\"{at}\">{}</row>", values.join(" "));
    }
    text += "</matrix></severity></cube>";
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("it is written");
    path
}

/// A recording lists the processes of a cyclic placement node by node.
#[test]
fn ranks_are_those_of_the_recording() {
    let file = written(
        "cyclic.cube",
        &[0, 2, 1, 3],
        &[("f", vec!["1", "9", "1", "5"])],
    );
    let found = json(&file, &[]);
    let row = &rows(&found["call_paths"])[0];
    assert_eq!(row["at rank"], "2");
    let at = |rank: &str| row[rank].as_f64();
    let values = ["0", "1", "2", "3"].map(at);
    assert_eq!(values, [1e9, 1e9, 9e9, 5e9].map(Some));
    // Several processes of one rank have names.
    let file = written("repeated.cube", &[7, 7, 5], &[("f", vec!["1", "9", "1"])]);
    let found = json(&file, &[]);
    assert_eq!(rows(&found["call_paths"])[0]["at rank"], "1");
}

#[test]
fn a_missing_rank_of_tau_is_reported_and_keeps_its_number() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tau-without-rank");
    std::fs::create_dir_all(&folder).expect("a folder");
    for rank in [1, 2, 4] {
        let text = format!(
            "1 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n\"main()\" 1 0 {rank} {rank} 0 \
             GROUP=\"TAU_USER\"\n0 aggregates\n"
        );
        std::fs::write(folder.join(format!("profile.{rank}.0.0")), text).expect("it is written");
    }
    let found = json(&folder, &[]);
    assert_eq!(rows(&found["call_paths"])[0]["at rank"], "4");
    assert!(found.to_string().contains("missing-rank"), "{found}");
    let text = inspect(&folder, &[]).expect("it is inspected");
    assert!(
        text.contains("2 a number of a node or thread below the largest one has no profile")
            || text.contains("missing-rank"),
        "{text}"
    );
}

#[test]
fn values_that_are_not_finite_are_named_and_not_counted_as_zero() {
    let values = vec!["1", "nan", "3", "2"];
    let functions = [("f", values), ("g", vec!["1", "1", "1", "2"])];
    let file = written("nan.cube", &[0, 1, 2, 3], &functions);
    let text = inspect(&file, &[]).expect("it is inspected");
    assert!(
        text.contains(
            "1 of 8 values of time is not finite, the first on Process 1, Thread 0 in main > f"
        ),
        "{text}"
    );
    let text = inspect(&file, &["--json"]).expect("it is inspected");
    let found: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let paths = rows(&found["call_paths"]);
    let f = paths
        .iter()
        .find(|row| row["call path"] == "main > f")
        .expect("it is listed");
    assert!(f["exclusive"].is_null(), "{f}");
    assert_eq!(found["undefined"][0]["count"], 1);
    let found = json(&file, &[]);
    assert_eq!(found["undefined"]["location"], "Process 1, Thread 0");
    let paths = rows(&found["call_paths"]);
    let f = paths
        .iter()
        .find(|row| row["call path"] == "main > f")
        .expect("it is listed");
    assert!(f["1"].is_null() && f["mean"] == 2_000_000_000.0, "{f}");
    let all = &rows_of_all(&found)[0];
    assert!(
        all["1"].is_null() && all["total"] == 10_000_000_000.0,
        "{all}"
    );
}

/// Nanoseconds of 64 bits end at 292 years, which 2.6 million core-hours reach.
#[test]
fn sums_of_times_have_no_limit() {
    let file = written("centuries.cube", &[0, 1], &[("f", vec!["6e9", "8e9"])]);
    let text = inspect(&file, &[]).expect("it is inspected");
    assert!(
        text.contains("14 000 000 000 s") && !text.contains("9223372036"),
        "{text}"
    );
    let text = run(&file, &[]).expect("it is inspected");
    assert!(
        text.contains("14 000 000 000 s") && !text.contains("9223372036"),
        "{text}"
    );
}

#[test]
fn calls_that_wait_are_no_computation_by_their_names() {
    let names = [
        "PMPI_Barrier",
        "mpi_wait_",
        "mpi_allreduce",
        "pmpi_barrier_",
        "ncclAllReduce",
        "#pragma omp barrier",
        "GOMP_barrier",
        "kmp_barrier",
        "shmem_barrier_all",
        "gaspi_wait",
        "pthread_cond_wait",
        "sleep",
    ];
    let functions = names.map(|name| (name, vec!["1", "2"]));
    let functions = [&functions[..], &[("solve", vec!["2", "1"])]].concat();
    let file = written("waits.cube", &[0, 1], &functions);
    let found = json(&file, &["--top", "100"]);
    for row in rows(&found["call_paths"]) {
        let is_work = row["call path"] == "main > solve";
        assert_eq!(row["saves"].is_null(), !is_work, "{row}");
    }
    assert_eq!(rows_of_all(&found)[0]["total"], 3_000_000_000.0);
}

#[test]
fn a_metric_that_does_not_add_up_is_refused_with_a_remedy() {
    let Some(file) = corpus("cube/lulesh/lulesh.p64.size30.r1.cubex") else {
        return;
    };
    let error = run(&file, &["--metric", "max_time"]).expect_err("it does not add up");
    let text = format!("{error:?}");
    assert!(
        text.contains("--metric max_time") && text.contains("such as visits, time"),
        "{text}"
    );
    let text = inspect(&file, &["--metric", "max_time"]).expect("it is inspected");
    assert!(
        text.contains("no call path has a value of max_time"),
        "{text}"
    );
}

#[test]
fn a_difference_is_ordered_by_size_and_saves_nothing() {
    let of = |name: &str, values: [[&'static str; 2]; 2]| {
        let [f, g] = values.map(|it| it.to_vec());
        written(name, &[0, 1], &[("f", f), ("g", g)])
    };
    let more = of("more.cube", [["1", "2"], ["9", "9"]]);
    let less = of("less.cube", [["5", "9"], ["8", "7"]]);
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("more-less.cubex");
    let words = ["profile", "diff"].map(OsString::from).into_iter();
    let files = [
        more.clone().into(),
        less.into(),
        "-o".into(),
        to.clone().into(),
    ];
    command::output(words.clone().chain(files)).expect("it is computed");
    let text = inspect(&to, &[]).expect("it is inspected");
    let place = |name: &str| text.find(name).expect("it is listed");
    assert!(place("main > f ") < place("main > g "), "{text}");
    assert!(
        text.contains("by size of the change of exclusive time"),
        "{text}"
    );
    let text = run(&to, &[]).expect("it is inspected");
    assert!(
        text.contains("change of exclusive time") && !text.contains("saves"),
        "{text}"
    );
    // A difference without negative values says what it is.
    let least = of("least.cube", [["1", "1"], ["8", "7"]]);
    let files = [
        more.clone().into(),
        least.into(),
        "-o".into(),
        to.clone().into(),
    ];
    command::output(words.clone().chain(files)).expect("it is computed");
    let text = run(&to, &[]).expect("it is inspected");
    assert!(
        text.contains("change of exclusive time") && !text.contains("saves"),
        "{text}"
    );
    let same = words
        .clone()
        .chain([more.clone().into(), more.clone().into()]);
    let text = command::output(same).expect("it is computed");
    assert!(text.contains("no difference: all values of"), "{text}");
    let wrong = words.chain([
        more.clone().into(),
        more.into(),
        "-o".into(),
        "out.txt".into(),
    ]);
    assert!(command::output(wrong).is_err());
}

#[test]
fn parts_of_a_metric_follow_it() {
    let Some(file) = corpus("cube/cube3/experiment1.cube") else {
        return;
    };
    let text = inspect(&file, &[]).expect("it is inspected");
    let names = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let lines: Vec<_> = text.lines().filter_map(names).collect();
    let place = |name: &str| {
        lines
            .iter()
            .position(|line| line == name)
            .expect("it is listed")
    };
    assert_eq!(place("execution"), place("time") + 1, "{text}");
    assert!(place("visits") > place("mpi_latesender"), "{text}");
}
