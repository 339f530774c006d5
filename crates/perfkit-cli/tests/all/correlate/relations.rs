//! `correlate` without a reference, and hidden kin in lists.

use super::{complaint, json, run, scratch};
use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;

const GRID: [&str; 4] = ["--topology", "4x4x4", "--scope", "exclusive"];

#[test]
fn all_pairs_are_described_by_sentences() {
    let file = bundled("jacobi-64");
    let csv = scratch("relations.csv");
    let words = [&GRID[..], &["--csv", csv.to_str().expect("text")]].concat();
    let found = json(&file, &words);
    let pairs = found["pairs"].as_array().expect("pairs");
    assert!(!pairs.is_empty() && found["found"].as_u64() >= Some(pairs.len() as u64));
    let text = run(&file, &GRID).expect("it correlates");
    for pair in pairs {
        let sentence = pair["sentence"].as_str().expect("a sentence");
        assert!(text.contains(sentence), "{sentence}\n{text}");
        let r = pair["r"].as_f64().expect("a number");
        assert!(
            r.abs() >= 0.7 && pair["p_bound"].as_f64() < Some(1e-3),
            "{pair}"
        );
        let is_opposite = sentence.contains("is short") || sentence.contains("is low");
        assert_eq!(is_opposite, r < 0.0, "{sentence}");
        let along = pair["along"].as_array().expect("axes").iter();
        let sum: f64 = along.filter_map(serde_json::Value::as_f64).sum();
        assert!((sum - r).abs() < 1e-9, "{pair}");
        // Pearson's coefficient of the list with a reference is the same number.
        let metric = pair["one"]["metric"].as_str().expect("a name");
        let path = pair["one"]["call_path"].to_string();
        let more = ["--metric", metric, "--path", &path, "--top", "1000"];
        let list = json(&file, &[&GRID[..], &more].concat());
        let same = list["views"]
            .as_array()
            .expect("views")
            .iter()
            .find(|view| {
                view["call_path"] == pair["other"]["call_path"]
                    && view["metric"] == pair["other"]["metric"]
            });
        let pearson = same.expect("it is listed")["pearson"].as_f64();
        assert!((pearson.expect("a number") - r).abs() < 1e-9, "{pair}");
    }
    let table = std::fs::read_to_string(csv).expect("it was written");
    let lines = table.lines().count();
    assert_eq!(found["found"].as_u64(), Some(lines as u64 - 1));
    assert!(table.starts_with("metric,call path,"), "{table}");
    let head = table.lines().next().expect("a head");
    let columns = "r,p bound,along,r along axis 0,r along axis 1,r along axis 2,share,";
    assert!(head.contains(columns), "{head}");
    // The table names the axes of the sentences.
    for pair in pairs {
        let sentence = pair["sentence"].as_str().expect("a sentence");
        if let Some((_, rest)) = sentence.split_once(", along ") {
            let (axes, _) = rest.split_once(" (r = ").expect("statistics");
            assert!(table.contains(&format!(",{axes},")), "{axes}");
        }
    }
    for words in [
        &["--surrogates", "9"][..],
        &["--png", "pairs.png"],
        &["--rate", "2"],
    ] {
        let message = complaint(&file, &[&GRID[..], words].concat());
        assert!(
            message.contains("--path") || message.contains("--rate 2"),
            "{message}"
        );
    }
}

/// Findings come from different functions, of which none calls the other; the others follow as counts.
#[test]
fn pairs_of_related_call_paths_follow_the_findings() {
    let file = bundled("jacobi-64");
    let csv = scratch("related.csv");
    let words = [&GRID[..], &["--csv", csv.to_str().expect("text")]].concat();
    let found = json(&file, &words);
    let function = |view: &serde_json::Value| {
        let path = view["path"].as_str().expect("a call path");
        path.rsplit(" > ").next().map(str::to_string)
    };
    let pairs = found["pairs"].as_array().expect("pairs");
    assert!(!pairs.is_empty());
    let mut functions = std::collections::BTreeSet::new();
    for pair in pairs {
        let mut both = [function(&pair["one"]), function(&pair["other"])];
        both.sort();
        assert_ne!(both[0], both[1], "{pair}");
        assert!(functions.insert(both), "{pair} repeats an earlier pair");
    }
    // The first one is about two times.
    let is_time = |view: &serde_json::Value| {
        let metric = view["metric"].as_str().expect("a metric");
        metric.ends_with("time")
    };
    assert!(
        is_time(&pairs[0]["one"]) && is_time(&pairs[0]["other"]),
        "{}",
        pairs[0]
    );
    let related = found["found_related"].as_u64().expect("a number");
    let table = std::fs::read_to_string(csv).expect("it was written");
    let ends = [",one call path", ",caller and callee", ",one function"];
    let is_related = |line: &&str| ends.iter().any(|end| line.ends_with(end));
    assert_eq!(table.lines().filter(is_related).count() as u64, related);
    let lines = found["related"].as_array().expect("statements");
    assert_eq!(lines.is_empty(), related == 0, "{lines:?}");
}

#[test]
fn a_profile_is_compared_with_others_only() {
    let file = bundled("jacobi-64");
    let same = file.to_str().expect("text");
    let message = complaint(&file, &[same, "--path", "0"]);
    assert!(
        message.contains("is given twice") && message.contains(same),
        "{message}"
    );
}

#[test]
fn pages_have_whole_statements() {
    let page = scratch("relations.html");
    let words = [&GRID[..], &["--html", page.to_str().expect("text")]].concat();
    let found = json(&bundled("jacobi-64"), &words);
    let html = std::fs::read_to_string(page).expect("it was written");
    // Names of call paths are code.
    let html = html.replace("<code>", "`").replace("</code>", "`");
    let pairs = found["pairs"].as_array().expect("pairs");
    assert!(!pairs.is_empty());
    for pair in pairs {
        let sentence = pair["sentence"].as_str().expect("a sentence");
        let (statement, _) = sentence.rsplit_once(" (r = ").expect("statistics");
        let statement = statement.replace('<', "&lt;").replace('>', "&gt;");
        assert!(html.contains(&statement), "{statement}");
    }
    // The views follow, with one of the strongest pair as the first reference.
    let first = &pairs[0]["one"];
    let path = first["path"].as_str().expect("a call path");
    let metric = first["metric"].as_str().expect("a metric");
    let name = format!("{path}, {metric}")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e");
    assert!(html.contains(&format!("[0,\"{name}")), "{name}");
}

#[test]
fn a_metric_restricts_the_pairs() {
    let file = bundled("jacobi-64");
    let all = json(&file, &GRID);
    let times = json(
        &file,
        &[&GRID[..], &["--metric", "exclusive time"]].concat(),
    );
    assert!(times["views"].as_u64() < all["views"].as_u64());
    let pairs = times["pairs"].as_array().expect("pairs");
    assert!(!pairs.is_empty());
    let is_time = |view: &serde_json::Value| view["metric"] == "exclusive time";
    assert!(
        pairs
            .iter()
            .all(|pair| is_time(&pair["one"]) && is_time(&pair["other"]))
    );
    let message = complaint(&file, &[&GRID[..], &["--same-metric"]].concat());
    assert!(message.contains("--path"), "{message}");
}

#[test]
fn one_rank_that_differs_makes_no_relation() {
    let file = bundled("jacobi-64");
    // Rank 0 alone leaves `EZTrace finalize` another way.
    let words = [&GRID[..], &["--metric", "visits"]].concat();
    let found = json(&file, &words);
    assert_eq!(
        (&found["found"], &found["carried"][0]["pairs"]),
        (&0.into(), &1.into())
    );
    let location = found["carried"][0]["location"].as_str().expect("a name");
    let text = run(&file, &words).expect("it correlates");
    let line = text.lines().find(|line| line.starts_with("  outliers "));
    assert!(line.expect("a line").ends_with(location), "{text}");
    // The list of that view names the rank.
    let path = ["--metric", "visits", "--path", "Working > EZTrace finalize"];
    let text = run(&file, &[&GRID[..], &path].concat()).expect("it correlates");
    let note = format!("note        {location} holds ");
    assert!(text.contains(&note), "{text}");
}

#[test]
fn kin_of_the_reference_are_hidden() {
    let Some(file) = corpus("cube/lulesh/lulesh.p64.size30.r1.cubex") else {
        return;
    };
    let words = [
        "--topology",
        "4x4x4",
        "--metric",
        "time",
        "--path",
        "0",
        "--top",
        "1000",
    ];
    let is_kin = |view: &serde_json::Value| view["kin"] == true;
    let hidden = json(&file, &words);
    let views = hidden["views"].as_array().expect("views");
    assert!(!views.is_empty() && !views.iter().any(is_kin));
    assert!(
        views.iter().all(|view| view["metric"] != "time"),
        "{views:?}"
    );
    let all = json(&file, &[&words[..], &["--kin"]].concat());
    let views = all["views"].as_array().expect("views");
    // All inclusive times are part of that of the root, and so are the shortest of its calls.
    assert!(
        views
            .iter()
            .all(|view| is_kin(view) == (view["metric"] != "visits"))
    );
    let notes = hidden["notes"].to_string();
    assert!(notes.contains("--kin lists them"), "{notes}");
}
