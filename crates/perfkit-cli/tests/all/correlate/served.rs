//! Served pages of profiles: lists equal to those of the command, values of sums, and wrong requests.

use super::{bundled, corpus, json, run, scratch};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use perf_testdata::xorshift::Xorshift;
use perfkit::core::Job;
use perfkit_cli::failure::{self, Failure};
use perfkit_cli::serve::{Answer, Options, Pages, Request};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn opened(files: &[&Path], words: &[&str]) -> Result<Pages, Failure> {
    let files = files.iter().map(OsString::from);
    let words = words.iter().map(OsString::from);
    let all = words.chain(["--quiet".into()]).chain(files);
    let options: Options = failure::options(all.collect::<Vec<_>>()).expect("good options");
    Pages::open(&options)
}

fn pages(file: &Path, words: &[&str]) -> Pages {
    opened(&[file], words).expect("it opens")
}

fn ask(pages: &Pages, rest: &str, query: &str) -> Answer {
    let path = format!("{}{rest}", pages.path());
    let request = Request {
        method: "GET",
        host: Some("127.0.0.1:80"),
        path: &path,
        query,
    };
    pages.answer(request, &Job::default())
}

fn answer(pages: &Pages, rest: &str, query: &str) -> Value {
    match ask(pages, rest, query) {
        Answer::Json(text) => serde_json::from_str(&text).expect("it is JSON"),
        other => panic!("{rest}?{query}: {other:?}"),
    }
}

fn html(pages: &Pages) -> String {
    match ask(pages, "", "") {
        Answer::Page(html) => html,
        other => panic!("{other:?}"),
    }
}

/// Returns the data of the first view of a page.
fn data(html: &str) -> Value {
    let begin = "<script type=\"application/json\">";
    let (_, rest) = html.split_once(begin).expect("data");
    let (text, _) = rest.split_once("</script>").expect("an end");
    serde_json::from_str(text).expect("it is JSON")
}

/// Returns the names of the views, which come with the length of what they share with the one before.
fn names(data: &Value) -> Vec<String> {
    let mut last = String::new();
    let grids = data["grids"].as_array().expect("grids").iter();
    let name = |grid: &Value| {
        let shared = grid["name"][0].as_u64().expect("a length") as usize;
        let kept: String = last.chars().take(shared).collect();
        last = kept + grid["name"][1].as_str().expect("a text");
        last.clone()
    };
    grids.map(name).collect()
}

/// Returns the values of views.
fn values(pages: &Pages, views: &str) -> Vec<Vec<f64>> {
    let found = answer(pages, "views/0/fields", &format!("views={views}"));
    let fields = found["fields"].as_array().expect("fields").iter();
    let field = |kinds: &Value| -> Vec<f64> {
        let bytes = STANDARD.decode(kinds[0].as_str().expect("a text"));
        let bytes = bytes.expect("it is base64");
        let numbers = bytes.chunks(8);
        numbers
            .map(|it| f64::from_le_bytes(it.try_into().expect("8 bytes")))
            .collect()
    };
    fields.map(field).collect()
}

/// Writes the profile of a bundled recording of 64 ranks with a grid of 4 x 4 x 4.
fn jacobi(name: &str) -> PathBuf {
    let file = scratch(name);
    let out = ["--topology", "4x4x4", "--write-topology"];
    let words = [&out[..], &[file.to_str().expect("a text")]].concat();
    run(&bundled("jacobi-64"), &words).expect("it is written");
    file
}

/// Compares the lists of five references and three filters with those of the command.
fn assert_lists(file: &Path, words: &[&str]) {
    const TOP: usize = 12;
    let pages = pages(file, words);
    let data = data(&html(&pages));
    let (names, axes) = (names(&data), data["axes"].as_array().expect("axes").len());
    let all = vec!["1"; axes].join("_");
    let first: Vec<&str> = (0..axes)
        .map(|axis| if axis == 0 { "1" } else { "0" })
        .collect();
    let some: Vec<&str> = ["0.35", "0.8", "0.05"]
        .into_iter()
        .cycle()
        .take(axes)
        .collect();
    let mut compared = 0;
    for at in 0..5 {
        let view = at * (names.len() - 1) / 4;
        let (path, metric) = names[view].rsplit_once(", ").expect("path and metric");
        let metric = metric
            .trim_end_matches(" (exclusive)")
            .trim_end_matches(" (inclusive)");
        for f in [all.clone(), first.join("_"), some.join("_")] {
            let query = format!("reference={view}&weights={f}&top={TOP}");
            let found = answer(&pages, "views/0/list", &query);
            let (axes, top) = (f.replace('_', ","), TOP.to_string());
            let reference = [
                "--path", path, "--metric", metric, "--axes", &axes, "--top", &top,
            ];
            let list = json(file, &[words, &reference].concat());
            let varying = list["views"].as_array().expect("views").iter();
            let varying: Vec<&Value> = varying.filter(|it| it["r"] != 0.0).collect();
            let found = found["found"].as_array().expect("a list");
            assert_eq!(found.len(), varying.len(), "{query}");
            for (entry, expected) in found.iter().zip(varying) {
                let name = &names[entry[0].as_u64().expect("a number") as usize];
                let label = format!(
                    "{}, {}",
                    expected["path"].as_str().expect("a text"),
                    expected["metric"].as_str().expect("a text")
                );
                assert!(name.starts_with(&label), "{query}: {name}, {label}");
                assert_eq!(entry[2], expected["shift"], "{query}");
                let number = |it: &Value| it.as_f64().expect("a number");
                let is_shifted = entry[2]
                    .as_array()
                    .is_some_and(|it| it.iter().any(|at| *at != 0));
                let (p, bound) = (
                    number(&entry[4][usize::from(is_shifted)]),
                    number(&expected["p_bound"]),
                );
                assert!(
                    (p - bound).abs() <= 1e-9 * bound,
                    "{query}: {name} {p} {bound}"
                );
                for (at, key) in [(1, "r"), (3, "zero")] {
                    let differ = number(&entry[at]) - number(&expected[key]);
                    assert!(differ.abs() < 1e-12, "{query}: {name} {key} {differ}");
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 15, "{compared}");
}

#[test]
fn lists_are_those_of_the_command() {
    assert_lists(&jacobi("served-lists.cubex"), &[]);
    assert_lists(&jacobi("served-kin.cubex"), &["--kin", "--tolerance", "0"]);
    for name in [
        "cube/cube3/experiment1.cube",
        "cube/lulesh/lulesh.p27.size25.r1.cubex",
    ] {
        let Some(file) = corpus(name) else { return };
        assert_lists(&file, &[]);
    }
}

/// Writes a flat profile of 64 processes whose functions have times that are smooth or skewed along two axes, or have
/// one outlier; two of each kind are related.
fn kinds(name: &str) -> PathBuf {
    let folder = scratch(name);
    std::fs::create_dir_all(&folder).expect("tests may write here");
    let mut random = Xorshift::new(11);
    let mut noise = || random.below(1 << 20) as f64 / f64::from(1 << 20);
    for process in 0..64 {
        let wave = |turns: usize| (std::f64::consts::TAU * turns as f64 / 8.0).cos();
        let (x, y) = (process / 8, process % 8);
        let smooth = 3.0 + wave(x + y) + 0.7 * wave(2 * x + 1);
        let skewed = (1.2 * wave(x + 2 * y) + 0.8 * wave(3 * x)).exp();
        let hot = if process == 19 { 40.0 } else { 0.0 };
        let times = [
            ("smooth", smooth),
            ("smooth_too", 5.0 - smooth + 0.3 * noise()),
            ("skewed", skewed),
            ("skewed_too", skewed * (0.8 + 0.4 * noise())),
            ("hot", noise() + hot),
            ("hot_too", noise() + hot),
        ];
        let mut text =
            "6 templated_functions\n# Name Calls Subrs Excl Incl ProfileCalls #\n".to_string();
        for (name, time) in times {
            let time = 1e6 * time;
            text += &format!("\"{name}\" 1 0 {time} {time} 0 GROUP=\"TAU_USER\"\n");
        }
        let file = folder.join(format!("profile.{process}.0.0"));
        std::fs::write(file, text + "0 aggregates\n").expect("tests may write here");
    }
    folder
}

/// Smooth and skewed views and views with outliers have one bound of chance in all pairs, in lists and in pages.
#[test]
fn bounds_of_chance_are_those_of_all_pairs() {
    let (file, grid) = (
        kinds("served-kinds"),
        ["--topology", "8x8", "--metric", "exclusive Time"],
    );
    assert_lists(&file, &["--topology", "8x8"]);
    let found = json(
        &file,
        &[&grid[..], &["--rate", "0.9", "--kin", "--top", "99"]].concat(),
    );
    let pairs = found["pairs"].as_array().expect("pairs");
    assert!(pairs.len() >= 2, "{found}");
    for pair in pairs {
        let path = |side: &str| pair[side]["path"].as_str().expect("a text").to_owned();
        let reference = path("one");
        let list = json(
            &file,
            &[
                &grid[..],
                &["--path", &reference, "--tolerance", "0.3", "--kin"],
            ]
            .concat(),
        );
        let views = list["views"].as_array().expect("views").iter();
        let view = views.clone().find(|view| {
            view["path"] == path("other") && view["metric"] == pair["other"]["metric"]
        });
        let (bound, p) = (
            &view.expect("it is listed")["p_bound"],
            pair["p_bound"].as_f64().expect("a number"),
        );
        let bound = bound.as_f64().expect("a number");
        assert!((bound - p).abs() <= 1e-9 * p, "{pair}: {bound}");
    }
}

/// Sums that the trees select have the values of their parts, and what they contain is not in their list.
#[test]
fn sums_are_those_of_their_parts() {
    let pages = pages(&jacobi("served-sums.cubex"), &[]);
    let data = data(&html(&pages));
    let trees = &data["fields"]["trees"];
    let metrics = trees["metrics"].as_array().expect("metrics");
    let visits = metrics.iter().position(|it| it["name"] == "visits");
    let visits = visits.expect("traces have visits");
    let rows = &trees["rows"][metrics[visits]["exclusive"].as_u64().expect("exclusive") as usize];
    let mut expected = vec![0.0; 64];
    let mut parts = Vec::new();
    // Parents come before their children.
    let mut inside = vec![true];
    for path in trees["paths"].as_array().expect("paths").iter().skip(1) {
        let parent = path[1].as_u64();
        inside.push(parent.is_some_and(|parent| inside[parent as usize]));
    }
    let paths = rows["paths"].as_array().expect("paths").iter();
    let paths = paths.map(|path| path.as_u64().expect("a number") as usize);
    for (path, view) in paths.zip(rows["views"].as_array().expect("views")) {
        if !inside[path] {
            continue;
        }
        let part = match view.as_u64() {
            Some(view) => {
                parts.push(view);
                values(&pages, &view.to_string()).remove(0)
            }
            None => vec![view[0].as_f64().expect("a value"); 64],
        };
        expected
            .iter_mut()
            .zip(part)
            .for_each(|(sum, value)| *sum += value);
    }
    assert!(!parts.is_empty());
    let inclusive = format!("{visits}.0.0.0");
    assert_eq!(values(&pages, &inclusive), [expected]);
    // Several selections in one request, one of them twice.
    let exclusive = format!("{visits}.0.0.1");
    let some = values(&pages, &format!("{exclusive}-{inclusive}-{inclusive}"));
    assert!(some.len() == 3 && some[1] == some[2] && some[0] != some[1]);
    let query = format!("reference={inclusive}&weights=1_1_1&top=999");
    let list = answer(&pages, "views/0/list", &query);
    let found = list["found"].as_array().expect("a list");
    assert!(!found.is_empty());
    assert!(
        found
            .iter()
            .all(|it| !parts.contains(&it[0].as_u64().expect("a number")))
    );
    assert_eq!(list["count"].as_u64(), Some(found.len() as u64));
}

#[test]
fn names_of_users_are_text() {
    let folder = scratch("served-hostile");
    std::fs::create_dir_all(&folder).expect("tests may write here");
    let name = "step<</script><img src=x onerror=alert(1)>>, \u{202e}time";
    for process in 0..16 {
        let (work, rest) = (process * process % 7 + 1, process % 5 + 2);
        let text = format!(
            "2 templated_functions\n# Name Calls Subrs Excl Incl ProfileCalls #\n\
             \"{name}\" 1 0 {work} {work} 0 GROUP=\"TAU_USER\"\n\
             \"rest\" 1 0 {rest} {rest} 0 GROUP=\"TAU_USER\"\n0 aggregates\n"
        );
        let file = folder.join(format!("profile.{process}.0.0"));
        std::fs::write(file, text).expect("tests may write here");
    }
    let pages = pages(&folder, &["--topology", "4x4", "--path", "rest"]);
    let html = html(&pages);
    assert!(!html.contains("<img src=x") && !html.contains('\u{202e}'));
    assert!(html.contains("connect-src 'self'") && !html.contains("worker-src"));
    let names = names(&data(&html));
    let list = answer(&pages, "views/0/list", "reference=0&weights=1_1&top=5");
    let found = list["found"][0][0].as_u64().expect("a view") as usize;
    assert!(
        names[found].starts_with("step<</script><img"),
        "{}",
        names[found]
    );
}

#[test]
fn wrong_requests_are_refused() {
    let pages = pages(&jacobi("served-wrong.cubex"), &[]);
    let refused = |rest: &str, query: &str| match ask(&pages, rest, query) {
        Answer::Refused(code, what) => (code, what),
        other => panic!("{rest}?{query}: {other:?}"),
    };
    for rest in [
        "views/1/list",
        "views/0/",
        "views/0",
        "views/-1/list",
        "views/0/list/x",
        "cells/0",
    ] {
        let (code, what) = refused(rest, "reference=0&weights=1_1_1&top=5");
        assert!(code == 404 && what.contains(';'), "{rest}: {code} {what}");
    }
    let many = vec!["0"; 65].join("-");
    for (rest, query, part) in [
        ("list", "", "no reference; expected"),
        ("list", "reference=0&weights=1_1_1", "no top; expected"),
        (
            "list",
            "reference=0&weights=1_1_1&top=-1",
            "top is not a whole number",
        ),
        (
            "list",
            "reference=x&weights=1_1_1&top=5",
            "a view is not a whole number",
        ),
        (
            "list",
            "reference=99999&weights=1_1_1&top=5",
            "a view is 99999, expected 0 to",
        ),
        (
            "list",
            "reference=0.0&weights=1_1_1&top=5",
            "expected the number of a view",
        ),
        (
            "list",
            "reference=0.0.2.0&weights=1_1_1&top=5",
            "expected the number of a view",
        ),
        (
            "list",
            "reference=99.0.0.0&weights=1_1_1&top=5",
            "a metric is 99, expected 0 to",
        ),
        (
            "list",
            "reference=0.99999.0.0&weights=1_1_1&top=5",
            "a call path is 99999",
        ),
        ("list", "reference=0&weights=1_1&top=5", "expected 3, got 2"),
        (
            "list",
            "reference=0&weights=1_1_2&top=5",
            "expected 0 to 1 for each axis",
        ),
        (
            "list",
            "reference=0&weights=1_1_NaN&top=5",
            "expected 0 to 1 for each axis",
        ),
        ("fields", "view=0", "no views; expected"),
        ("fields", "views=0-x", "a view is not a whole number"),
        ("fields", "views=0-99999", "a view is 99999, expected 0 to"),
        (
            "fields",
            &format!("views={many}"),
            "the number of views is 65, expected 0 to 64",
        ),
    ] {
        let (code, what) = refused(&format!("views/0/{rest}"), query);
        assert!(code == 400 && what.contains(part), "{query}: {code} {what}");
    }
}

#[test]
fn no_query_breaks_the_page_of_a_profile() {
    let pages = pages(&jacobi("served-queries.cubex"), &[]);
    let mut random = Xorshift::new(7);
    let words = [
        "reference",
        "weights",
        "top",
        "views",
        "=",
        "&",
        "-",
        "_",
        ".",
        "0",
        "1",
        "7",
        "0.5",
        "%2C",
        "1e9",
        "inf",
        "\u{ff}",
        "18446744073709551615",
        "-1",
        "0.0.1.1",
        "1.2.0.0",
    ];
    for at in 0..2_000 {
        let mut query = String::new();
        for name in ["reference", "weights", "top", "views"] {
            if random.below(8) > 0 {
                query += &format!("{name}=");
            }
            for _ in 0..random.below(4) + 1 {
                query += words[random.below(words.len() as u64) as usize];
            }
            query += "&";
        }
        let rest = ["views/0/list", "views/0/fields"][at % 2];
        let answer = ask(&pages, rest, &query);
        let is_answer = matches!(answer, Answer::Json(_) | Answer::Refused(400, _));
        assert!(is_answer, "{query}: {answer:?}");
    }
}

/// Profiles and recordings with events are on one page, and options of profiles need one.
#[test]
fn profiles_stand_beside_timelines() {
    let (profile, trace) = (jacobi("served-beside.cubex"), bundled("jacobi-4"));
    let pages = opened(&[&trace, &profile], &["--path", "0"]).expect("it opens");
    let html = html(&pages);
    assert!(html.contains("data-view=\"timeline\"") && html.contains("data-view=\"topology\""));
    let found = answer(
        &pages,
        "cells/0",
        "from=0&to=1000000000&columns=9&op=0&rows=0",
    );
    assert_eq!(found["columns"], 9);
    let list = answer(&pages, "views/0/list", "reference=0&weights=1_1_1&top=3");
    assert!(list["count"].as_u64() > Some(0));
    match opened(&[&trace], &["--axes", "1,1"]) {
        Err(Failure::Usage(text)) => {
            assert!(text.starts_with("--axes applies to profiles"), "{text}")
        }
        other => panic!("{other:?}"),
    }
    for (words, name) in [
        (&["--by", "node"][..], "--by"),
        (&["--order", "busy"], "--order"),
        (&["--nested"], "--nested"),
        (&["--counter", "*"], "--counter"),
        (&["--clocks", "correct"], "--clocks"),
    ] {
        match opened(&[&profile], words) {
            Err(Failure::Usage(text)) => {
                assert!(
                    text.starts_with(&format!("{name} applies to timelines")),
                    "{text}"
                )
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}
