//! `inspect --by rank`: load imbalance of call paths.

use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use std::ffi::OsString;
use std::path::Path;

fn run(file: &Path, words: &[&str]) -> Result<String, Failure> {
    let mut all: Vec<OsString> =
        ["inspect".into(), file.into(), "--by".into(), "rank".into()].into();
    all.extend(words.iter().map(OsString::from));
    command::output(all)
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
fn threads_are_named_by_rank() {
    let Some(file) = corpus("cube/cube3/experiment1.cube") else {
        return;
    };
    let text = run(&file, &["--top", "2"]).expect("it is inspected");
    assert!(
        text.contains("over 128 threads") && text.contains("at thread"),
        "{text}"
    );
    assert!(
        text.contains("0.0-3.3") && text.contains("3.1 is thread 1 of rank 3"),
        "{text}"
    );
    // 4 ranks of 9 threads: a column for each rank.
    let Some(file) = corpus("cube/cube3/profile.cube") else {
        return;
    };
    let text = run(&file, &["--top", "2"]).expect("it is inspected");
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
    let svg = std::fs::read_to_string(picture).expect("it was written");
    assert!(
        svg.contains("Working &gt; microphysics") && svg.contains(">60</text>"),
        "{svg}"
    );
}
