//! Tests of the paper experiments: their output without the corpus, and their results with it.

#[path = "../../../papers/chimbuko.rs"]
mod chimbuko;
#[path = "../../../papers/correlation.rs"]
mod correlation;
#[path = "../../../papers/folding.rs"]
mod folding;
#[path = "../../../papers/stragglers.rs"]
mod stragglers;
#[path = "../../../papers/tracking.rs"]
mod tracking;

use super::{golden, look, print, scratch};
use perf_testdata::{corpus::corpus, repeats};
use perfkit_cli::failure::{Failure, Run};
use serde_json::Value;

const ALL: [(&str, Run); 5] = [
    ("correlation", correlation::run),
    ("folding", folding::run),
    ("tracking", tracking::run),
    ("chimbuko", chimbuko::run),
    ("stragglers", stragglers::run),
];

#[test]
fn papers() {
    let empty = scratch("no-corpus");
    std::fs::create_dir_all(&empty).expect("a folder can be made");
    let empty = empty.display().to_string();
    for (name, run) in ALL {
        let words = ["--corpus", &empty];
        golden(&format!("paper-{name}.txt"), run, &words);
    }
}

#[test]
fn papers_are_drawn() {
    // Outside of the gate the quick ones: the test `papers` runs all of them.
    for &(name, run) in repeats(&ALL[..], &ALL[..2]) {
        let [png, html] = ["png", "html"].map(|end| scratch(&format!("paper-{name}.{end}")));
        let [to, page] = [&png, &html].map(|path| path.display().to_string());
        let printed = print(run, &["--png", &to, "--html", &page, "--json"]);
        let printed = printed.expect(name);
        let object: Value = serde_json::from_str(&printed).expect("it is JSON");
        assert!(
            object["tables"]
                .as_array()
                .is_some_and(|all| all.len() >= 3),
            "{name}"
        );
        assert!(look(&png).2 > 500, "{name}: {:?}", look(&png));
        let page = std::fs::read_to_string(&html).expect("a page was written");
        assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    }
    let wrong = print(folding::run, &["--corpus", "/nonexistent"]);
    assert!(matches!(wrong, Err(Failure::Input(_))));
    let wrong = print(folding::run, &["--png"]);
    assert!(matches!(wrong, Err(Failure::Usage(_))));
}

/// Tests that the published results for recordings of others are reproduced to their printed
/// precision.
#[test]
fn papers_with_the_corpus() {
    let Some(root) = corpus("") else {
        return;
    };
    let root = root.display().to_string();
    let known = [
        ("A profile of NPB bt", 6, "no exception"),
        ("Real GPUs", 4, "select max"),
        ("EPOCH", 21, "regions"),
        ("Labels of its detectors", 9, "data reduction"),
        ("AR", 24, "no exception"),
    ];
    for ((name, run), (table, count, except)) in ALL.into_iter().zip(known) {
        let printed = print(run, &["--corpus", &root, "--json"]).expect(name);
        let object: Value = serde_json::from_str(&printed).expect("it is JSON");
        assert_eq!(object["skipped"], serde_json::json!([]));
        let tables = object["tables"].as_array().expect("tables");
        let is_it = |one: &&Value| {
            one["title"]
                .as_str()
                .is_some_and(|title| title.starts_with(table))
        };
        let rows = tables.iter().find(is_it).expect(table)["rows"].as_array();
        let rows = rows.expect("rows").iter();
        let is_plain = |row: &&Value| {
            row["what"]
                .as_str()
                .is_some_and(|what| !what.contains(except))
        };
        let rows: Vec<_> = rows.filter(is_plain).collect();
        assert_eq!(rows.len(), count, "{table}");
        for row in rows {
            assert_eq!(row["deviation"], 0.0, "{table}: {row}");
        }
    }
}
