//! Text, JSON, CSV, page and picture of one command agree, and the signs of their values are
//! correct.

use super::{complaint, json, multi, run, scratch};
use perf_testdata::bundled::recording as bundled;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;

/// Call paths that vary over the 64 ranks as radiation does.
const RADIATION: [&str; 5] = [
    "--metric",
    "exclusive time",
    "--same-metric",
    "--path",
    "Working > radiation",
];

/// Returns the data and the text of the page that a command writes.
fn page(file: &Path, words: &[&str], name: &str) -> (Value, String) {
    let path = scratch(name);
    let html = ["--html", path.to_str().expect("a name")];
    run(file, &[words, &html].concat()).expect("it correlates");
    let page = std::fs::read_to_string(path).expect("it was written");
    let begin = "<script type=\"application/json\">";
    let from = page.find(begin).expect("a page has data") + begin.len();
    let to = from + page[from..].find("</script>").expect("it ends");
    let data = serde_json::from_str(&page[from..to]).expect("it is JSON");
    (data, page)
}

/// Name, r, shift and r without shift of the first views of a list of a page.
fn listed(data: &Value, list: usize) -> Vec<[Value; 4]> {
    let list = data["lists"][list][1].as_array().expect("a list");
    // Names come with the length of the part that they share with the one before.
    let mut last = String::new();
    let grids = data["grids"].as_array().expect("grids").iter();
    let names: Vec<String> = grids
        .map(|grid| {
            last.truncate(grid["name"][0].as_u64().expect("a length") as usize);
            last.push_str(grid["name"][1].as_str().expect("a rest"));
            last.clone()
        })
        .collect();
    let line = |found: &Value| {
        let name = names[found[0].as_u64().expect("a number") as usize].as_str();
        [
            name.into(),
            found[1].clone(),
            found[2].clone(),
            found[3].clone(),
        ]
    };
    list.iter().map(line).collect()
}

/// Returns the same values from the JSON object of a command.
fn printed(object: &Value) -> Vec<[Value; 4]> {
    let line = |view: &Value| {
        let text = |key: &str| view[key].as_str().expect(key).to_string();
        let name = format!("{}, {}", text("path"), text("metric"));
        [
            name.into(),
            view["r"].clone(),
            view["shift"].clone(),
            view["zero"].clone(),
        ]
    };
    let views = object["views"].as_array().expect("a list");
    views.iter().map(line).collect()
}

/// Along the first axis surface varies exactly as radiation does. Both are one harmonic, with a
/// maximum and a minimum that are equal except for noise.
#[test]
fn a_wave_that_is_the_same_is_not_called_opposite() {
    let file = bundled("jacobi-64");
    let words = [&RADIATION[..], &["--topology", "4x4x4", "--axes", "0,0,1"]].concat();
    let text = run(&file, &words).expect("it correlates");
    let line = text.lines().find(|line| line.contains("surface"));
    let line = line.expect("it is in the list");
    let words_of_line: Vec<&str> = line.split_whitespace().rev().take(5).collect();
    assert_eq!(words_of_line[2..], ["0.999", "0,0,0", "0.999"], "{line}");
    assert!(
        text.contains("a share of 0.01 of the largest count as equal"),
        "{text}"
    );

    let csv = scratch("agreement.csv");
    let more = ["--csv", csv.to_str().expect("a name")];
    let object = json(&file, &[&words[..], &more].concat());
    let best = &object["views"][0];
    assert_eq!(
        (&best["r"], &best["shift"]),
        (&best["zero"], &serde_json::json!([0, 0, 0]))
    );
    assert_eq!(object["tolerance"], 0.01);
    let csv = std::fs::read_to_string(csv).expect("it was written");
    let start = format!(
        "exclusive time,exclusive,Working > surface,{},0 0 0,",
        best["r"]
    );
    assert!(
        csv.lines()
            .nth(1)
            .is_some_and(|line| line.starts_with(&start)),
        "{csv}"
    );
    let (data, html) = page(&file, &words, "agreement.html");
    assert_eq!(
        listed(&data, 0)[..],
        printed(&object)[..listed(&data, 0).len()]
    );
    assert!(html.contains("a share of 0.01 of the largest count as equal"));

    // Without tolerance, noise decides.
    let strict = json(&file, &[&words[..], &["--tolerance", "0"]].concat());
    let best = &strict["views"][0];
    let [r, max, min] = ["r", "max", "min"].map(|key| best[key].as_f64().expect(key));
    assert_eq!(r.abs(), max.max(-min));
    for wrong in ["1", "-0.1", "NaN", "x"] {
        let said = complaint(&file, &[&words[..], &["--tolerance", wrong]].concat());
        assert!(said.contains("tolerance"), "{said}");
    }
}

/// Covers the order of the paper, weights between 0 and 1, and more than five axes.
#[test]
fn pages_begin_with_the_list_of_the_command() {
    let file = bundled("jacobi-64");
    for (at, more) in [
        &["--topology", "4x4x4", "--paper"][..],
        &["--topology", "4x4x4", "--axes", "0,1,0.3"],
        &[
            "--topology",
            "4x4x4",
            "--axes",
            "0,1,0.3",
            "--paper",
            "--tolerance",
            "0",
        ],
        &["--topology", "2x2x2x2x2x2", "--axes", "0,1,0,0.5,0,1"],
        &[
            "--topology",
            "2x2x2x2x2x2",
            "--axes",
            "0,0,0.5,0,0,0",
            "--paper",
        ],
        &["--topology", "4x4x4", "--axes", "0,0,0"],
    ]
    .into_iter()
    .enumerate()
    {
        let words = [&RADIATION[..], more].concat();
        let object = json(&file, &words);
        let (data, html) = page(&file, &words, &format!("agreement-{at}.html"));
        assert_eq!(data["lists"][0][2], object["axes"], "{more:?}");
        assert_eq!(data["lists"][0][0], data["chosen"], "{more:?}");
        let own = listed(&data, 0);
        assert!(own.len() > 4);
        assert_eq!(own[..], printed(&object)[..own.len()], "{more:?}");
        // Notes count the listed views, which are 12 on a page.
        let of_page = json(&file, &[&words[..], &["--top", "12"]].concat());
        for note in of_page["notes"].as_array().expect("notes") {
            let note = note.as_str().expect("text").replace('>', "&gt;");
            assert!(html.contains(&note), "{more:?}: {note}");
        }
        // The other lists equal the output of the command for their weights.
        for (number, list) in data["lists"]
            .as_array()
            .expect("lists")
            .iter()
            .enumerate()
            .skip(1)
        {
            let weights: Vec<String> = list[2]
                .as_array()
                .expect("weights")
                .iter()
                .map(Value::to_string)
                .collect();
            let weights = weights.join(",");
            if number % 3 == 1 {
                // The last value of a repeated option applies.
                let words = [&words[..], &["--axes", &weights]].concat();
                let object = json(&file, &words);
                let found = listed(&data, number);
                assert_eq!(found[..], printed(&object)[..found.len()], "{words:?}");
            }
        }
    }
}

/// Returns the text of the picture of a command.
fn pictured(file: &Path, words: &[&str]) -> String {
    let mut all = vec![OsString::from(file)];
    all.extend(words.iter().map(OsString::from));
    let options = perfkit_cli::failure::options(all).expect("they are right");
    let [light, dark] = perfkit_cli::correlate::scenes(&options, "title").expect("it draws");
    assert_eq!(light.title, dark.title);
    light.title
}

#[test]
fn pictures_show_what_the_filter_lets_pass_and_the_shift() {
    let file = bundled("jacobi-64");
    let words = [&RADIATION[..], &["--topology", "4x4x4"]].concat();
    let plain = pictured(&file, &words);
    assert!(!plain.contains("filter"), "{plain}");
    assert!(
        plain.contains("r = -0.999, shift 0,0,2: Working > surface"),
        "{plain}"
    );
    let filtered = pictured(&file, &[&words[..], &["--axes", "0,0,1"]].concat());
    assert!(
        filtered.starts_with("title, filter 0,0,1: deviation from the mean. Working > radiation"),
        "{filtered}"
    );
    assert!(
        filtered.contains("r = +0.999, shift 0,0,0: Working > surface"),
        "{filtered}"
    );
    // Without the mean, values are on both sides of 0.
    assert_eq!(filtered.matches("cubes from -").count(), 2, "{filtered}");
    assert!(!plain.contains("cubes from -"), "{plain}");

    // With work (1, 2, 3, 4) us on 2 x 2 processes, values along the first axis differ by two
    // steps.
    let small = multi("pictures", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let words = [
        "--path",
        "work",
        "--metric",
        "TIME",
        "--topology",
        "2x2",
        "--axes",
    ];
    let shown = |axes| pictured(&small, &[&words[..], &[axes]].concat());
    let parts = [shown("1,0"), shown("0,1")];
    for (text, half) in parts.iter().zip(["1.00 us", "500 ns"]) {
        let ends = format!("cubes from -{half}");
        assert!(text.contains(&ends), "{text}");
    }
    // Removing the variation along all axes leaves 0.
    let nothing = shown("0,0");
    assert_eq!(nothing.matches("cubes from 0").count(), 2, "{nothing}");
}

/// Of more than three axes, those along which the field varies are drawn, and the others are named.
#[test]
fn pictures_of_many_axes_keep_what_varies() {
    let file = bundled("jacobi-64");
    let topology = ["--topology", "2x2x2x2x2x2", "--axes", "1,0,0,0,0,0"];
    let text = pictured(&file, &[&RADIATION[..], &topology].concat());
    assert!(
        text.contains("averaged over axis 2, axis 3, axis 4"),
        "{text}"
    );
    // The cloud covers the middle of the first two axes, so both are kept.
    assert!(
        text.contains("cubes from -1.") && text.contains(" to 1."),
        "{text}"
    );
}
