//! Grids of `correlate`: those of files, those of metadata, defaults, and their limits.

use super::{complaint, json, multi, run, scratch};
use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;
use perfkit::core::Job;
use std::path::PathBuf;

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
    assert!(
        said.contains("0 `torus` (4 x 4), 1 without a name (2 x 8)"),
        "{said}"
    );
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
pub(super) fn threads(name: &str, threads: &[usize]) -> PathBuf {
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
    let expected = "is 4: 71 locations share 4 cells by accident, between 17 and 18 in each";
    assert!(said.contains(expected), "{said}");
    let said = complaint(&threads("few", &[1, 1, 1, 1]), words);
    assert!(
        said.contains("locations occupy 4 cells, fewer than 8"),
        "{said}"
    );
    // Threads of a rank share its cell intentionally.
    let teams = threads("teams", &[4; 8]);
    let list = json(&teams, words);
    assert_eq!(list["dims"], serde_json::json!([8]));
    assert_eq!(list["cells_shared"], 8);
    let notes = list["notes"].to_string();
    assert!(notes.contains("the processes are in a row"), "{notes}");
    assert!(notes.contains("need --topology, such as 2x2x2"), "{notes}");
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
