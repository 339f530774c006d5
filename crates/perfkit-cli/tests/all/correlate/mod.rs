//! `correlate` on each kind of profile and with each kind of topology, and its messages about
//! invalid input.

mod agreement;
mod detected;
mod relations;

use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;
use perfkit::core::Job;
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn run(file: &Path, words: &[&str]) -> Result<String, Failure> {
    let mut all = vec!["correlate".into(), OsString::from(file)];
    all.extend(words.iter().map(OsString::from));
    command::output(all)
}

fn json(file: &Path, words: &[&str]) -> serde_json::Value {
    let words = [words, &["--json"]].concat();
    match run(file, &words) {
        Ok(text) => serde_json::from_str(&text).expect("it is JSON"),
        Err(failure) => panic!("{}: {failure:?}", file.display()),
    }
}

/// Returns the message about invalid input.
fn complaint(file: &Path, words: &[&str]) -> String {
    match run(file, words) {
        Err(Failure::Input(text) | Failure::Usage(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Writes a TAU profile of four processes with two metrics. `work` of each process has the given
/// values, and `idle` is the rest up to 20.
fn multi(name: &str, values: [[u32; 4]; 2]) -> PathBuf {
    let folder = scratch(name);
    for (metric, values) in ["TIME", "PAPI_FP_OPS"].iter().zip(values) {
        let folder = folder.join(format!("MULTI__{metric}"));
        std::fs::create_dir_all(&folder).expect("tests may write here");
        for (process, work) in values.iter().enumerate() {
            let text = format!(
                "2 templated_functions_MULTI_{metric}\n# Name Calls Subrs Excl Incl ProfileCalls #\n\
                 \"work\" 1 0 {work} {work} 0 GROUP=\"TAU_USER\"\n\
                 \"idle\" 1 0 {0} {0} 0 GROUP=\"TAU_USER\"\n0 aggregates\n",
                20 - work
            );
            let file = folder.join(format!("profile.{process}.0.0"));
            std::fs::write(file, text).expect("tests may write here");
        }
    }
    folder
}

#[test]
fn a_folder_of_several_metrics() {
    let folder = multi("multi", [[1, 2, 3, 4], [2, 4, 6, 8]]);
    let words = ["--metric", "TIME", "--path", "work", "--topology", "2x2"];
    let list = json(&folder, &words);
    assert_eq!(list["dims"], serde_json::json!([2, 2]));
    let view = |metric: &str, path: &str| {
        let views = list["views"].as_array().expect("a list");
        let found = views
            .iter()
            .find(|view| view["metric"] == metric && view["path"] == path);
        found.expect("it is a view of the profile")["r"].as_f64()
    };
    // Twice the work has the same pattern, and the rest has the opposite one.
    let near = |r: Option<f64>, expected: f64| (r.expect("a number") - expected).abs() < 1e-12;
    assert!(near(view("PAPI_FP_OPS", "work"), 1.0));
    assert!(near(view("TIME", "idle").map(f64::abs), 1.0));
}

#[test]
fn each_rule_has_its_errors() {
    let folder = multi("rules", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let table = scratch("table.txt");
    let with = |text: &str| {
        std::fs::write(&table, text).expect("tests may write here");
        format!("table:{}", table.display())
    };
    let rule = with("0 0\n(1,0)\n\nx=0 y=1\n1 1\n");
    let list = json(&folder, &["--path", "work", "--topology", &rule]);
    assert_eq!(list["dims"], serde_json::json!([2, 2]));
    let said = |topology: &str| complaint(&folder, &["--path", "work", "--topology", topology]);
    for (text, expected) in [
        ("0 0\nnowhere\n", "line 2: no coordinates"),
        ("0 0\n1\n", "line 2: 1 coordinates, 2 in the lines before"),
        ("", "no coordinates"),
    ] {
        let said = said(&with(text));
        assert!(
            said.contains(expected) && said.contains("table.txt"),
            "{said}"
        );
    }
    // Missing lines, extra lines and lines with the same cell are counted and printed.
    for (text, dims, counts, note) in [
        (
            "0 0\n0 1\n1 0\n",
            [2, 2],
            [1, 0, 0],
            "1 of 4 locations have no coordinates in the table",
        ),
        (
            "0 0\n0 1\n1 0\n1 1\n5 5\n",
            [2, 2],
            [0, 1, 0],
            "there should be 4",
        ),
        (
            "0 0\n0 0\n1 0\n1 1\n",
            [2, 2],
            [0, 0, 1],
            "1 cells hold several locations",
        ),
    ] {
        let rule = with(text);
        let list = json(&folder, &["--path", "work", "--topology", &rule]);
        assert_eq!(list["dims"], serde_json::json!(dims), "{text}");
        let keys = ["locations_unplaced", "locations_unknown", "cells_shared"];
        assert_eq!(
            keys.map(|key| list[key].clone()),
            counts.map(serde_json::Value::from),
            "{text}"
        );
        let shown = run(&folder, &["--path", "work", "--topology", &rule]).expect("it fits");
        assert!(shown.contains(note), "{shown}");
    }
    assert!(said("table:/nowhere").contains("/nowhere"));
    assert!(said("cube:torus").contains("no grid `torus`"));
    assert!(said("rack").contains("rack"));
    assert!(said("4x0").contains("axis 1"));
    let said = complaint(&folder, &["--path", "wor"]);
    assert!(said.contains("did you mean 0 `work`?"), "{said}");
    let said = complaint(&folder, &["--path", "work", "--metric", "JOULES"]);
    assert!(said.contains("PAPI_FP_OPS"), "{said}");
    let said = complaint(Path::new("/nowhere"), &["--path", "0"]);
    assert!(said.contains("/nowhere"), "{said}");
}

/// Writes the profile of `jacobi-16` as a Cube file with two grids: one over its 16 locations, and
/// one without a name over its 16 processes.
fn cube_with_grids(name: &str) -> PathBuf {
    use perfkit::core::{CartDimension, CartMembers, CartTopology};
    let recorded = perfkit_cli::recording::profile(&bundled("jacobi-16"));
    let profile = recorded.expect("bundled").profile;
    let grid = |name: &str, lens: [u32; 2], of, periodic| CartTopology {
        name: name.into(),
        of,
        comm: None,
        dimensions: lens
            .map(|size| CartDimension {
                name: String::new(),
                size,
                periodic,
            })
            .to_vec(),
        coordinates: (0..lens[0] * lens[1])
            .map(|at| (at, vec![at / lens[1], at % lens[1]]))
            .collect(),
    };
    let profile = profile.with_topologies(vec![
        grid("torus", [4, 4], CartMembers::Locations, true),
        grid("", [2, 8], CartMembers::Groups, false),
    ]);
    let path = scratch(name);
    let to = std::fs::File::create(&path).expect("tests may write here");
    perfkit::formats::cube::write(&profile, to, &Default::default(), &Job::default())
        .expect("it is written");
    path
}

#[test]
fn grids_of_the_file_have_names_and_numbers() {
    let file = cube_with_grids("grids.cubex");
    let list = |rule: &str| json(&file, &["--path", "1", "--topology", rule]);
    for (rule, dims, periodic) in [
        ("cube:torus", [4, 4], true),
        ("cube:0", [4, 4], true),
        ("cube:", [2, 8], false),
        ("cube:1", [2, 8], false),
    ] {
        let list = list(rule);
        assert_eq!(list["dims"], serde_json::json!(dims), "{rule}");
        assert_eq!(list["axis_names"][0]["periodic"], periodic, "{rule}");
        assert_eq!(list["locations_unplaced"], 0, "{rule}");
    }
    // The first grid is the default.
    let unnamed = json(&file, &["--path", "1"]);
    assert_eq!(unnamed, list("cube:torus"));
    // Ranks in the order of the grid result in the same views with other axes: the last axis of a
    // grid of the file varies fastest, as the first axis of `4x4` does.
    let turned = list("4x4");
    let r = |list: &serde_json::Value| {
        let views = list["views"].as_array().expect("a list").clone();
        views
            .iter()
            .filter_map(|view| view["r"].as_f64())
            .collect::<Vec<_>>()
    };
    let pairs = r(&unnamed).into_iter().zip(r(&turned));
    assert!(pairs.clone().count() > 3);
    for (one, other) in pairs {
        assert!((one.abs() - other.abs()).abs() < 1e-9, "{one} {other}");
    }
    let said = complaint(&file, &["--path", "1", "--topology", "cube:2"]);
    assert!(said.contains("0 `torus`, 1 ``"), "{said}");
    let Some(real) = corpus("cube/converted/experiment1_be_dense.cubex") else {
        return;
    };
    let words = ["--path", "2", "--topology", "cube:topology 1"];
    assert_eq!(json(&real, &words)["dims"], serde_json::json!([4, 1, 32]));
}

#[test]
fn coordinates_may_be_in_the_metadata() {
    let folder = scratch("metadata");
    std::fs::create_dir_all(&folder).expect("tests may write here");
    let size = "<attribute><name>BGP Size</name><value>(2,2,2)</value></attribute>";
    let attribute =
        |at: &str| format!("<attribute><name>BGP Coords</name><value>{at}</value></attribute>");
    for (process, at) in ["(0,0,0)", "(1,0,0)", "(0,1,0)", "(1,1,1)"]
        .iter()
        .enumerate()
    {
        let (work, entry) = (process + 1, attribute(at));
        let idle = 20 - work;
        let text = format!(
            "2 templated_functions\n# Name Calls Subrs Excl Incl ProfileCalls #\
             <metadata>{size}{entry}</metadata>\n\
             \"work\" 1 0 {work} {work} 0 GROUP=\"TAU_USER\"\n\
             \"idle\" 1 0 {idle} {idle} 0 GROUP=\"TAU_USER\"\n0 aggregates\n"
        );
        let file = folder.join(format!("profile.{process}.0.0"));
        std::fs::write(file, text).expect("tests may write here");
    }
    let words = ["--path", "work", "--topology", "metadata:BGP Coords"];
    let list = json(&folder, &words);
    assert_eq!(list["dims"], serde_json::json!([2, 2, 2]));
    assert_eq!(
        (&list["cells_missing"], &list["locations_unplaced"]),
        (&4.into(), &0.into())
    );
    let said = complaint(&folder, &["--path", "work", "--topology", "metadata:Rack"]);
    assert!(said.contains("`Rack`"), "{said}");
}

#[test]
fn what_does_not_fit_the_grid_is_said() {
    let folder = multi("fits", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    for (words, expected) in [
        (
            &["--path", "work", "--topology", "3x1"][..],
            "3 cells are too few, 1 locations",
        ),
        (
            &["--path", "work", "--topology", "2x2", "--axes", "1"],
            "1 weights, but the grid 2 x 2",
        ),
        (
            &["--path", "work", "--topology", "2x2", "--axes", "1,2"],
            "--axes: weight 2",
        ),
        (&["--path", "work", "--axes", "1,x"], "'1,x' for '--axes"),
        (&["--path", "7"], "numbers go from 0 to 1"),
        (&["--path", "main > WORK"], "did you mean 0 `work`?"),
        (
            &["--path", "work", "--metric", "time"],
            "did you mean `TIME`, `exclusive TIME`?",
        ),
    ] {
        let said = complaint(&folder, words);
        assert!(said.contains(expected), "{words:?}: {said}");
    }
    // An excessive coordinate in a table does not exhaust the memory.
    let table = scratch("digits.txt");
    std::fs::write(&table, "0 0\n16000 16000\n").expect("tests may write here");
    let rule = format!("table:{}", table.display());
    let said = complaint(&folder, &["--path", "work", "--topology", &rule]);
    assert!(
        said.contains("256032001 cells are implausible for 4 locations"),
        "{said}"
    );
    // Cells without a process are filled, and a note reports them.
    let text = run(&folder, &["--path", "work", "--topology", "3x2"]).expect("it fits");
    assert!(
        text.contains("4 of 4 locations placed, 2 cells empty\n"),
        "{text}"
    );
    let note = "2 cells are empty and count as the mean of the others";
    assert!(text.contains(note), "{text}");
}

#[test]
fn grids_are_checked_before_they_take_memory() {
    let folder = multi("sizes", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let said = |words: &[&str]| complaint(&folder, &[&["--path", "work"], words].concat());
    for (lens, expected) in [
        (
            "600x600x600",
            "216000000 cells are implausible for 4 locations",
        ),
        (
            "100x100x100",
            "1 000 000 cells are too many for 4 processes",
        ),
        ("65536x65536", "more than 268435456 cells"),
    ] {
        let said = said(&["--topology", lens]);
        let named = said.contains(&format!("--topology {lens}: "));
        assert!(named && said.contains(expected), "{said}");
    }
    // The grid is plausible, but the views and surrogates exceed the memory budget.
    let text = said(&["--topology", "4x4", "--memory", "1e-6"]);
    let named = text.contains("--topology 4x4: ");
    assert!(named && text.contains("memory budget"), "{text}");
    let many = ["--surrogates", "1000000", "--memory", "0.01"];
    let text = said(&[&["--topology", "2x2"], &many[..]].concat());
    assert!(text.contains("with --surrogates 1000000"), "{text}");
    // The file contains a damaged length.
    let file = scratch("sizes.cubex");
    let opened = perfkit_cli::recording::profile(&folder).expect("it is a profile");
    let dimension = |size| perfkit::core::CartDimension {
        size,
        ..Default::default()
    };
    let cart = perfkit::core::CartTopology {
        name: "torus".into(),
        of: perfkit::core::CartMembers::Locations,
        dimensions: vec![dimension(600); 3],
        coordinates: vec![(0, vec![0, 0, 0])],
        ..Default::default()
    };
    let profile = opened.profile.with_topologies(vec![cart]);
    let to = std::fs::File::create(&file).expect("tests may write here");
    let options = perfkit::formats::cube::WriteOptions::new();
    perfkit::formats::cube::write(&profile, to, &options, &Job::default()).expect("it writes");
    let said = complaint(&file, &["--path", "work"]);
    assert!(
        said.contains("sizes.cubex, grid `torus`: 216000000 cells"),
        "{said}"
    );
    let said = complaint(&file, &["--path", "work", "--topology", "cube:torus"]);
    assert!(
        said.contains("--topology cube:torus: 216000000 cells"),
        "{said}"
    );
}

/// Writes a TAU profile with the given number of threads for each process.
fn threads(name: &str, threads: &[usize]) -> PathBuf {
    let folder = scratch(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("tests may write here");
    for (process, threads) in threads.iter().enumerate() {
        for thread in 0..*threads {
            let work = 1 + (process * 7 + thread * 3) % 5;
            let text = format!(
                "2 templated_functions\n# Name Calls Subrs Excl Incl ProfileCalls #\n\
                 \"work\" 1 0 {work} {work} 0 GROUP=\"TAU_USER\"\n\
                 \"idle\" 1 0 {0} {0} 0 GROUP=\"TAU_USER\"\n0 aggregates\n",
                20 - work * work % 7
            );
            let file = folder.join(format!("profile.{process}.0.{thread}"));
            std::fs::write(file, text).expect("tests may write here");
        }
    }
    folder
}

#[test]
fn default_grids_that_say_nothing_are_refused() {
    let words = &["--path", "work"][..];
    // Streams of a job with processes that are not ranks.
    let said = complaint(&threads("crowd", &[18, 18, 18, 17]), words);
    let expected = "2 x 2 x 1: 71 locations share 4 cells by accident, between 17 and 18 in each";
    assert!(said.contains(expected), "{said}");
    let said = complaint(&threads("few", &[1, 1, 1, 1]), words);
    assert!(
        said.contains("locations occupy 4 cells, fewer than 8"),
        "{said}"
    );
    // Threads of a rank share its cell intentionally.
    let teams = threads("teams", &[4; 8]);
    let list = json(&teams, words);
    assert_eq!(list["dims"], serde_json::json!([2, 2, 2]));
    assert_eq!(list["cells_shared"], 8);
    let notes = list["notes"].to_string();
    assert!(
        notes.contains("2 x 2 x 2 processes in order are a guess"),
        "{notes}"
    );
    // An explicit grid is accepted, and a note reports its problems.
    let few = threads("few", &[1, 1, 1, 1]);
    let text = run(&few, &[words, &["--topology", "2x2"]].concat()).expect("it correlates");
    assert!(
        text.contains("note        locations occupy 4 cells"),
        "{text}"
    );
}

#[test]
fn grids_of_one_axis_say_so() {
    use perfkit::core::{CartDimension, CartMembers, CartTopology};
    let folder = threads("line", &[1; 27]);
    let opened = perfkit_cli::recording::profile(&folder).expect("it is a profile");
    let dimension = |size| CartDimension {
        size,
        ..Default::default()
    };
    let cart = |name: &str, lens: [u32; 2]| CartTopology {
        name: name.into(),
        of: CartMembers::Locations,
        dimensions: lens.map(dimension).into(),
        coordinates: (0..27)
            .map(|at| (at, vec![at / lens[1], at % lens[1]]))
            .collect(),
        ..Default::default()
    };
    let file = scratch("line.cubex");
    let write = |grids| {
        let profile = opened.profile.clone().with_topologies(grids);
        let to = std::fs::File::create(&file).expect("tests may write here");
        let options = perfkit::formats::cube::WriteOptions::new();
        perfkit::formats::cube::write(&profile, to, &options, &Job::default()).expect("it writes");
    };
    let line = cart("Process x Thread", [27, 1]);
    write(vec![line.clone()]);
    let text = run(&file, &["--path", "work"]).expect("it correlates");
    assert!(text.contains("the grid 27 x 1 has one axis"), "{text}");
    assert!(text.contains("such as 3x3x3"), "{text}");
    // A grid of several axes takes precedence.
    write(vec![line, cart("plane", [9, 3])]);
    let list = json(&file, &["--path", "work"]);
    assert_eq!(list["dims"], serde_json::json!([9, 3]));
}

#[test]
fn filters_that_take_nothing_or_everything_say_so() {
    let folder = multi("filters", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let shown = |axes: &str| {
        let words = ["--path", "work", "--topology", "2x2", "--axes", axes];
        run(&folder, &words).expect("it correlates")
    };
    assert!(shown("1,1").contains("nothing is filtered away"));
    let everything = shown("0,0");
    assert!(
        everything.contains("everything is filtered away, and every r is 0"),
        "{everything}"
    );
    assert!(!everything.contains("0.999"), "{everything}");
    let some = shown("1,0");
    assert!(!some.contains("filtered away"), "{some}");
}

/// The order of the text of the paper: by the largest R, which is never below 0.
#[test]
fn opposites_are_last_in_the_order_of_the_paper() {
    let file = bundled("jacobi-16");
    let r = |list: &serde_json::Value, key: &str| -> Vec<f64> {
        let views = list["views"].as_array().expect("a list").iter();
        views
            .map(|view| view[key].as_f64().expect("a number"))
            .collect()
    };
    let usual = json(&file, &["--path", "1", "--top", "999"]);
    let paper = json(&file, &["--path", "1", "--top", "999", "--paper"]);
    assert_eq!(
        (&usual["score"], &paper["score"]),
        (&"magnitude".into(), &"max".into())
    );
    assert!(r(&usual, "r").iter().any(|r| *r < 0.0));
    assert_eq!(r(&paper, "r"), r(&paper, "max"));
    assert!(
        r(&paper, "r")
            .windows(2)
            .all(|two| two[0] >= two[1] - 1e-9 && two[1] >= 0.0)
    );
    let text = run(&file, &["--path", "1", "--paper"]).expect("it correlates");
    assert!(
        text.contains("note        in order of the largest r"),
        "{text}"
    );
}

#[test]
fn a_tolerance_out_of_range_names_option_and_range() {
    let words = ["--path", "Working > radiation", "--topology", "4x4x4"];
    for wrong in ["1", "-0.1", "7", "NaN"] {
        let option = format!("--tolerance={wrong}");
        let words = [&words[..], &[option.as_str()]].concat();
        let said = complaint(&bundled("jacobi-64"), &words);
        let expected = format!("--tolerance {wrong}: not a number from 0 to below 1");
        assert_eq!(said, expected);
    }
}

#[test]
fn one_axis_has_nothing_behind_it() {
    let text = |grid: &str| {
        let words = ["--path", "Working > radiation", "--topology", grid];
        run(&bundled("jacobi-64"), &words).expect("it correlates")
    };
    for grid in ["64", "1x64"] {
        assert!(!text(grid).contains("--axes"), "{}", text(grid));
    }
    assert!(text("4x4x4").contains("what lies behind: --axes"));
}

/// Notes refer to the listed views.
#[test]
fn notes_count_listed_views() {
    let list = |top: &str| {
        let words = [
            "--path",
            "Working > radiation",
            "--topology",
            "4x4x4",
            "--top",
            top,
        ];
        json(&bundled("jacobi-64"), &words)["notes"].to_string()
    };
    assert!(list("1000").contains("listed view"), "{}", list("1000"));
    assert!(!list("0").contains("listed view"), "{}", list("0"));
}

#[test]
fn surrogates_tell_what_a_correlation_is_worth() {
    let words = [
        "--metric",
        "exclusive time",
        "--path",
        "Working > radiation",
    ];
    let words = [
        &words[..],
        &["--topology", "4x4x4", "--axes", "0,0,1", "--same-metric"],
    ]
    .concat();
    let csv = scratch("chances.csv");
    let csv_words = ["--surrogates", "39", "--csv", &csv.display().to_string()];
    let list = json(
        &bundled("jacobi-64"),
        &[&words[..], &csv_words[..]].concat(),
    );
    assert_eq!(list["surrogates"], 39);
    let band = list["null_band"].as_f64().expect("a number");
    assert!((0.0..=1.0).contains(&band), "{band}");
    for view in list["views"].as_array().expect("a list") {
        let [p, of_all] = ["p", "p_of_all"].map(|key| view[key].as_f64().expect(key));
        assert!(0.025 <= p && p <= of_all && of_all <= 1.0, "{view}");
    }
    let rows = std::fs::read_to_string(&csv).expect("it was written");
    assert!(
        rows.lines()
            .next()
            .is_some_and(|head| head.ends_with(",Pearson,kin,p,p of all"))
    );
    let text = run(
        &bundled("jacobi-64"),
        &[&words[..], &["--surrogates", "9"]].concat(),
    );
    let text = text.expect("it correlates");
    assert!(text.contains("p of all"));
    // None of nine surrogates is as close: one in ten, including the reference.
    assert!(text.contains("<= 0.100"), "{text}");
    let page = scratch("chances.html");
    let page_words = ["--surrogates", "9", "--html", &page.display().to_string()];
    run(
        &bundled("jacobi-64"),
        &[&words[..], &page_words[..]].concat(),
    )
    .expect("it draws");
    let page = std::fs::read_to_string(&page).expect("it was written");
    assert!(page.contains("Correlations by chance"));
    assert!(page.contains("9 surrogates: 95 % of them"));
    let said = complaint(
        &bundled("jacobi-64"),
        &[&words[..], &["--surrogates", "0"]].concat(),
    );
    assert!(said.contains("--surrogates"), "{said}");
    assert!(json(&bundled("jacobi-64"), &words)["views"][0]["p"].is_null());
}

#[test]
fn what_readers_found_is_in_the_object() {
    let folder = multi("findings", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    std::fs::remove_file(folder.join("MULTI__TIME/profile.3.0.0")).expect("it was written");
    let list = json(&folder, &["--path", "work", "--topology", "2x2"]);
    let found = list["findings"].as_array().expect("a list");
    let missing = found.iter().find(|found| found["rule"] == "missing-file");
    assert_eq!(missing.expect("a file is missing")["count"], 1);
}

/// Viewers do not add correlations: over the call tree and over locations they aggregate to
/// extremes.
#[test]
fn correlations_go_back_as_extremes() {
    use perfkit::core::{CallPathId, Combine, Profile, Scope};
    let file = bundled("jacobi-16");
    let cube = scratch("extremes.cubex");
    let words = ["--path", "1", "--top", "9999"];
    let list = json(
        &file,
        &[&words[..], &["--cube", &cube.display().to_string()]].concat(),
    );
    let back = perfkit_cli::recording::profile(&cube).expect("it is a profile");
    let profile: Profile = back.profile;
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let views = list["views"].as_array().expect("a list");
    assert!(views.len() > 10);
    for view in views {
        let text = |key: &str| view[key].as_str().expect("a name").to_string();
        let find = |word: &str| profile.metric(&format!("{word} of {}", text("metric")));
        let paths = 0..profile.calls().paths().len() as u32;
        let mut paths = paths.map(CallPathId);
        let is_it =
            |path: &CallPathId| profile.calls().name(*path, profile.regions()) == text("path");
        let path = paths.find(is_it).expect("the call path is there");
        for (word, key, combine) in [
            ("correlation", "max", Combine::Maximum),
            ("anticorrelation", "min", Combine::Minimum),
        ] {
            let metric = find(word).expect("it was added");
            let about = &profile.metrics()[metric.index()];
            assert_eq!((about.combine, about.scope), (combine, Scope::Exclusive));
            let row = profile
                .row(metric, path)
                .expect("it is read")
                .expect("a row");
            let row = row.to_f64();
            assert_eq!(row, vec![row[0]; profile.system().locations().len()]);
            // Numbers read from text may differ in the last digit.
            assert!((row[0] - number(&view[key])).abs() < 1e-15, "{view}");
            // The whole machine has the value of each location.
            let total = profile.total(metric, path).expect("it is read").as_f64();
            assert_eq!(total, row[0]);
            // A collapsed call path has an extreme value in `-1.0..=1.0`.
            let below = profile
                .scoped(metric, path, Scope::Inclusive)
                .expect("it is read");
            let below = below.expect("a row").to_f64()[0];
            match combine {
                Combine::Maximum => assert!((row[0]..=1.0).contains(&below)),
                _ => assert!((-1.0..=row[0]).contains(&below)),
            }
        }
        let [max, min] = ["max", "min"].map(|key| number(&view[key]));
        let r = if max.abs() >= min.abs() { max } else { min };
        assert!((number(&view["r"]).abs() - r.abs()).abs() < 1e-9, "{view}");
    }
    // A second run on the results: names stay unique, and its results are also equal at all
    // locations.
    let again = scratch("extremes-again.cubex");
    let words = [
        "--path",
        "1",
        "--same-metric",
        "--cube",
        &again.display().to_string(),
    ];
    run(&cube, &words).expect("it writes");
    let back = perfkit_cli::recording::profile(&again).expect("it is a profile");
    let count = |name: &str| {
        let metrics = back.profile.metrics().iter();
        metrics.filter(|about| about.metric.name == name).count()
    };
    assert_eq!(
        (
            count("correlation of time"),
            count("correlation of time (2)")
        ),
        (1, 1)
    );
}

/// Results are added to the archive of the profile, and its other content stays.
#[test]
fn archives_keep_what_they_hold() {
    use perfkit::formats::{OpenOptions, cube::Cube};
    let Some(file) = corpus("cube/metacg/inputimbalance-001.cubex") else {
        return;
    };
    let to = scratch("kept.cubex");
    let words = ["--path", "1", "--cube", &to.display().to_string()];
    run(&file, &words).expect("it writes");
    let open =
        |path: &Path| Cube::open(path, &OpenOptions::new(), &Job::default()).expect("an archive");
    let (before, after) = (open(&file), open(&to));
    let spec = |cube: &Cube| {
        cube.member("remapping.spec")
            .expect("it is read")
            .expect("it is there")
    };
    assert_eq!(spec(&before), spec(&after));
    assert_eq!(before.profile().properties(), after.profile().properties());
}

#[test]
fn results_are_whole_or_not_there() {
    let folder = multi("outputs", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let to = scratch("outputs-there");
    let _ = std::fs::remove_dir_all(&to);
    std::fs::create_dir_all(&to).expect("tests may write here");
    let [csv, cube] = ["a.csv", "a.cubex"].map(|name| to.join(name).display().to_string());
    let words = ["--path", "work", "--topology", "2x2"];
    let more = ["--csv", &csv, "--cube", &cube];
    run(&folder, &[&words[..], &more].concat()).expect("it writes");
    let count = || std::fs::read_dir(&to).expect("it is there").count();
    assert_eq!(count(), 2);
    let said = complaint(
        &folder,
        &[&words[..], &["--csv", &to.display().to_string()]].concat(),
    );
    assert!(said.contains("outputs-there"), "{said}");
    let nowhere = to.join("none/a.csv").display().to_string();
    let said = complaint(&folder, &[&words[..], &["--csv", &nowhere]].concat());
    assert!(said.contains("none/a.csv"), "{said}");
    assert_eq!(count(), 2);
    let said = complaint(Path::new(&cube), &["--path", "work", "--cube", &cube]);
    assert!(said.contains("is both input and output"), "{said}");
}

#[test]
fn misspelled_names_are_guessed() {
    let folder = multi("guessed", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let said = complaint(&folder, &["--path", "wrok"]);
    assert!(
        said.contains("did you mean 0 `work`?") || said.contains("did you mean 1 `work`?"),
        "{said}"
    );
    let said = complaint(&folder, &["--path", "work", "--metric", "PAPI_FP_OP"]);
    assert!(said.contains("`PAPI_FP_OPS`"), "{said}");
    let said = complaint(&folder, &["--path", "work", "--metric", "TIEM"]);
    assert!(said.contains("`TIME`"), "{said}");
}

/// Two runs of one program on 64 processes: call paths match by name. A call path that correlates
/// with time in one run does so with the same call path of the other run, also across metrics.
#[test]
fn two_runs_meet_by_call_path() {
    use perfkit::core::{Job, MetricId, Profile};
    use perfkit::spectral::{AxisFilter, Missing, RankParams, Spectra, same_paths};
    use perfkit::topology::{AxisOrder, Shape, Topology};
    let read = |name: &str| -> Option<Profile> {
        let path = corpus(&format!("cube/lulesh/lulesh.{name}.r1.cubex"))?;
        Some(
            perfkit_cli::recording::profile(&path)
                .expect("it opens")
                .profile,
        )
    };
    let (Some(small), Some(large)) = (read("p64.size25"), read("p64.size45")) else {
        return;
    };
    let name = |profile: &Profile, path| profile.calls().name(path, profile.regions());
    let pairs = same_paths(&small, &large);
    assert_eq!(
        pairs.len(),
        small.calls().paths().len().min(large.calls().paths().len())
    );
    for (one, other) in &pairs {
        assert_eq!(name(&small, *one), name(&large, *other));
    }
    let shape = Shape::of(&[4, 4, 4]).expect("a shape");
    let place = |profile: &Profile| {
        Topology::by_process(shape.clone(), AxisOrder::FirstFastest, profile.system())
    };
    let rows = |metric: &str, profile: &Profile, of_large: bool| -> Vec<_> {
        let metric: MetricId = profile.metric(metric).expect("Score-P has it");
        let path = |(one, other): &(_, _)| if of_large { *other } else { *one };
        pairs.iter().map(|pair| (metric, path(pair))).collect()
    };
    let mut builder = Spectra::<f64>::builder(&[4, 4, 4]).expect("a shape");
    let job = Job::default();
    for (profile, metric, of_large) in [
        (&small, "time", false),
        (&large, "time", true),
        (&large, "visits", true),
    ] {
        let rows = rows(metric, profile, of_large);
        let grid = place(profile);
        builder
            .add_rows(profile, &grid, &rows, Missing::Refuse, &job)
            .expect("all 64 processes are there");
    }
    let spectra = builder.finish();
    let count = pairs.len();
    let wanted: Vec<_> = (0..count)
        .flat_map(|at| [(at, at + count), (at, at + 2 * count)])
        .collect();
    let filter = AxisFilter::new(&[1.0; 3]).expect("weights");
    let params = RankParams::default().check().expect("defaults");
    let found = spectra
        .correlate_pairs(&wanted, &filter, &params, &Job::default())
        .expect("views");
    assert_eq!(found.len(), wanted.len());
    // Without filter and shift R is Pearson's coefficient of the rows, which are in the order of
    // the ranks in both runs.
    let row = |view: usize| -> Vec<f64> {
        let (profile, metric, of_large) = [
            (&small, "time", false),
            (&large, "time", true),
            (&large, "visits", true),
        ][view / count];
        let (metric, path) = rows(metric, profile, of_large)[view % count];
        let row = profile.row(metric, path).expect("it is read");
        row.map_or_else(|| vec![0.0; 64], |row| row.to_f64())
    };
    let pearson = |a: &[f64], b: &[f64]| {
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let (mean_a, mean_b) = (mean(a), mean(b));
        let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            a.iter()
                .zip(b)
                .map(|(a, b)| f(a - mean_a, b - mean_b))
                .sum()
        };
        let norm = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
        if norm > 0.0 {
            sum(&|a, b| a * b) / norm
        } else {
            0.0
        }
    };
    for (pair, (one, other)) in found.iter().zip(&wanted) {
        assert_eq!((pair.reference, pair.found.view), (*one, *other));
        let zero = pair.found.correlation.zero;
        let expected = pearson(&row(*one), &row(*other));
        assert!((zero - expected).abs() < 1e-9, "{zero} {expected}");
    }
    let alike = |of: usize, least: f64| {
        let own = found.iter().skip(of).step_by(2);
        own.filter(|pair| pair.found.correlation.zero.abs() > least)
            .count()
    };
    assert!(alike(0, 0.5) >= 3, "time with time: {found:?}");
    assert!(alike(1, 0.1) >= 2, "time with visits: {found:?}");
}

#[test]
fn a_trace_on_its_machine() {
    let list = json(
        &bundled("jacobi-16"),
        &["--path", "1", "--topology", "node,process,thread"],
    );
    assert_eq!(list["locations_unplaced"], 0);
    assert!(
        list["views"]
            .as_array()
            .is_some_and(|views| !views.is_empty())
    );
}

#[test]
fn profiles_of_others() {
    for (file, words, dims) in [
        (
            "tau/cpi-mpi4",
            &["--path", "0", "--topology", "2x2x1"][..],
            vec![2, 2, 1],
        ),
        (
            "otf2/tracer-stencil4d-32",
            &["--path", "0", "--metric", "exclusive time"],
            vec![4, 4, 2],
        ),
        (
            "tau/ppk/LoadImbalance-8.ppk",
            &["--path", "3", "--topology", "2x2x2"],
            vec![2, 2, 2],
        ),
        (
            "cube/lulesh/lulesh.p343.size25.r1.cubex",
            &["--path", "1", "--metric", "time", "--topology", "7x7x7"],
            vec![7, 7, 7],
        ),
        (
            "cube/cube3/experiment1.cube",
            &["--path", "2"],
            vec![16, 4, 2],
        ),
    ] {
        let Some(path) = corpus(file) else { return };
        let list = json(&path, words);
        assert_eq!(list["dims"], serde_json::json!(dims), "{file}");
        assert_eq!(list["locations_unplaced"], 0, "{file}");
        let views = list["views"].as_array().expect("a list");
        let r: Vec<f64> = views.iter().filter_map(|view| view["r"].as_f64()).collect();
        assert!(r.len() > 1, "{file}");
        assert!(r.is_sorted_by(|a, b| a.abs() >= b.abs()), "{file}: {r:?}");
    }
}
