//! Grids that are detected from the views, and `--write-topology`.

use super::grids::threads;
use super::{complaint, json, run, scratch};
use perf_testdata::bundled::recording as bundled;
use perf_testdata::corpus::corpus;
use serde_json::json;

#[test]
fn cubes_of_lulesh_are_detected() {
    for (processes, edge) in [(27, 3), (64, 4), (343, 7)] {
        for size in [25, 30, 35, 40, 45] {
            let name = format!("cube/lulesh/lulesh.p{processes}.size{size}.r1.cubex");
            let Some(file) = corpus(&name) else {
                return;
            };
            let found = json(&file, &["--top", "1"]);
            assert_eq!(found["dims"], json!([edge, edge, edge]), "{name}");
            let notes = found["notes"].to_string();
            let expected = format!(
                "the grid is detected, --topology replaces it: {edge} x {edge} x {edge} processes"
            );
            assert!(notes.contains(&expected), "{notes}");
        }
    }
    let Some(file) = corpus("cube/lulesh/lulesh.p27.size30.r1.cubex") else {
        return;
    };
    // The name of a function of C++ suffices for a suggestion.
    let message = complaint(&file, &["--path", "TimeIncremnt"]);
    assert!(message.contains("void TimeIncrement(Domain&)"), "{message}");
    let message = complaint(&file, &["--axes", "x=1"]);
    assert!(message.contains("such as 1,1,1"), "{message}");
}

#[test]
fn the_grid_of_jacobi_is_detected() {
    for (name, dims) in [
        ("jacobi-64", json!([4, 4, 4])),
        ("jacobi-16", json!([4, 4])),
    ] {
        let found = json(&bundled(name), &["--topology", "detect"]);
        assert_eq!(found["dims"], dims, "{name}");
    }
}

#[test]
fn grids_of_the_file_take_precedence() {
    let Some(file) = corpus("cube/cube3/experiment1.cube") else {
        return;
    };
    let found = json(&file, &["--top", "1"]);
    assert_eq!(found["dims"], json!([16, 4, 2]));
    assert!(!found["notes"].to_string().contains("detected"));
}

#[test]
fn close_grids_are_listed_and_not_used() {
    // The processes of both jobs lie on several grids equally well.
    for (name, expected) in [
        ("cube/cupybe/mapflow40_c01.cubex", "4 x 5 x 2 ("),
        ("cube/pycubexr/L2_DCM_negative.cubex", "8 x 4 x 4 ("),
    ] {
        let Some(file) = corpus(name) else {
            return;
        };
        let message = complaint(&file, &["--topology", "detect"]);
        assert!(
            message.contains("no grid is clearly better than the others"),
            "{message}"
        );
        assert!(
            message.contains(expected) && message.contains("% by chance"),
            "{message}"
        );
    }
}

#[test]
fn equal_halves_are_no_grid() {
    let Some(file) = corpus("tau/ppk/LoadImbalance-256.ppk") else {
        return;
    };
    let message = complaint(&file, &["--topology", "detect"]);
    assert!(
        message.contains("weak evidence of a grid: 2 x 128 ("),
        "{message}"
    );
}

#[test]
fn nothing_is_detected_in_few_or_irregular_processes() {
    let message = complaint(&threads("detect-few", &[1; 7]), &["--topology", "detect"]);
    assert!(
        message.contains("the number of processes is 7"),
        "{message}"
    );
    let message = complaint(&threads("detect-odd", &[1; 26]), &["--topology", "detect"]);
    assert!(message.contains("no grid"), "{message}");
}

#[test]
fn the_grid_is_stored_in_the_file() {
    let source = bundled("jacobi-64");
    let stored = scratch("detected.cubex");
    let to = stored.to_str().expect("text");
    let first = json(&source, &["--write-topology", to, "--top", "1"]);
    let again = json(&stored, &["--top", "1"]);
    assert_eq!(first["dims"], again["dims"]);
    assert_eq!(first["pairs"], again["pairs"]);
    let text = run(&stored, &["--top", "1"]).expect("it correlates");
    assert!(
        text.contains("4 x 4 x 4 detected") && !text.contains("is detected"),
        "{text}"
    );
    // Lengths of an option are stored too, without the claim that axes are periodic.
    let given = scratch("given.cubex");
    let words = [
        "--topology",
        "8x8",
        "--write-topology",
        given.to_str().expect("text"),
    ];
    json(&stored, &words);
    let opened = perfkit_cli::recording::profile(&given).expect("it is a profile");
    let grids = opened.profile.topologies();
    let dims: Vec<Vec<u32>> = grids
        .iter()
        .map(|grid| grid.dimensions.iter().map(|axis| axis.size).collect())
        .collect();
    assert_eq!(dims, [vec![8, 8], vec![4, 4, 4]]);
    assert!(
        grids
            .iter()
            .flat_map(|grid| &grid.dimensions)
            .all(|axis| !axis.periodic)
    );
    let cell: Vec<u32> = grids[0].coordinates[13].1.clone();
    assert_eq!((grids[0].coordinates.len(), cell), (64, vec![1, 5]));
    // The recording itself is not replaced.
    let same = complaint(&stored, &["--write-topology", to]);
    assert!(same.contains("detected.cubex"), "{same}");
}
