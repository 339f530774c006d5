//! Compares pictures with golden files: SVG files by their structure, PNG files by their pixels.
//!
//! `PERFKIT_GOLDEN=overwrite` rewrites the golden files.

use crate::synthetic;

use perf_core::samples::cosmo;
use perf_core::{Job, TimeRange};
use perf_core::{Ticks, match_messages};
use perf_fold::{Folder, GroupBy, Groups, Line, Op, RegionMap, Timelines};
use perf_testdata::many_ranks;
use perf_topology::{Grid, Shape};
use perf_view::anomaly::Anomalies;
use perf_view::timeline::Marker;
use perf_view::{Bars, ColourMap, Scene, Theme, Unit, anomaly, timeline, topology, track};
use std::path::{Path, PathBuf};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn writes() -> bool {
    std::env::var_os("PERFKIT_GOLDEN").is_some_and(|mode| mode == "overwrite")
}

/// Compares a picture with its golden files. In writing mode, files that differ are written again; rounding alone
/// changes none.
fn check(name: &str, scene: &Scene) {
    let (svg, png) = (format!("{name}.svg"), format!("{name}.png"));
    let (drawn, pixels) = (scene.svg(), scene.png().expect("it is small"));
    let compared = std::fs::read_to_string(file(&svg))
        .and_then(|golden| Ok((golden, std::fs::read(file(&png))?)))
        .map_err(|error| format!("{name}: {error}"))
        .and_then(|(text, picture)| {
            same_structure(name, &drawn, &text)?;
            same_pixels(name, &pixels, &picture)
        });
    match compared {
        Ok(()) => {}
        Err(_) if writes() => {
            std::fs::write(file(&svg), drawn).expect("golden files can be written");
            std::fs::write(file(&png), pixels).expect("golden files can be written");
        }
        Err(message) => panic!("{message}"),
    }
}

/// Splits a line into text and numbers.
fn parts(line: &str) -> Vec<Result<f64, &str>> {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-';
    let mut out = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let first = rest.starts_with(is_number);
        let end = rest
            .find(|letter| is_number(letter) != first)
            .unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        out.push(part.parse().map_err(|_| part));
        rest = after;
    }
    out
}

/// Returns an error unless both files have the same elements with the same text and colours. Numbers may be
/// rounded differently on another processor.
fn same_structure(name: &str, drawn: &str, golden: &str) -> Result<(), String> {
    for (at, (drawn, golden)) in drawn.lines().zip(golden.lines()).enumerate() {
        if drawn == golden {
            continue;
        }
        let (one, other) = (parts(drawn), parts(golden));
        let same = one.len() == other.len()
            && one.iter().zip(&other).all(|pair| match pair {
                (Ok(one), Ok(other)) => (one - other).abs() <= 0.06,
                (Err(one), Err(other)) => one == other,
                _ => false,
            });
        if !same {
            return Err(format!("{name}.svg, line {}:\n{drawn}\n{golden}", at + 1));
        }
    }
    match (drawn.lines().count(), golden.lines().count()) {
        (drawn, golden) if drawn != golden => {
            Err(format!("{name}.svg: {drawn} lines, not {golden}"))
        }
        _ => Ok(()),
    }
}

fn decoded(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it fits")];
    let frame = reader.next_frame(&mut pixels).expect("it is whole");
    (frame.width, frame.height, pixels)
}

/// Returns an error unless both pictures have the same size and hardly any pixel differs by more than
/// rounding.
fn same_pixels(name: &str, drawn: &[u8], golden: &[u8]) -> Result<(), String> {
    let (drawn, golden) = (decoded(drawn), decoded(golden));
    if (drawn.0, drawn.1) != (golden.0, golden.1) {
        return Err(format!("{name}.png: another size"));
    }
    let other = drawn.2.chunks(3).zip(golden.2.chunks(3));
    let other =
        other.filter(|(one, other)| one.iter().zip(*other).any(|(a, b)| a.abs_diff(*b) > 24));
    let (other, all) = (other.count(), drawn.2.len() / 3);
    if other * 500 > all {
        return Err(format!("{name}.png: {other} of {all} pixels differ"));
    }
    Ok(())
}

#[test]
fn timelines() {
    let trace = cosmo::trace();
    let map = RegionMap::by_name(trace.definitions()).expect("few regions");
    let timelines = Timelines::new(trace.view(), &map, &Job::default()).expect("a good trace");
    let markers = [Marker::new(
        Ticks(30_000_000),
        perf_core::LocationId(3),
        "late",
    )];
    for (name, op, theme) in [
        ("timeline-max", Op::Max, Theme::light()),
        ("timeline-diff", Op::Diff, Theme::dark()),
        ("timeline-entropy", Op::Entropy, Theme::light()),
    ] {
        let params = Folder::params().columns(240).op(op).check().expect("good");
        let groups = Groups::by(&timelines, GroupBy::Node);
        let folder = Folder::new(&timelines, groups, params).expect("a few rows");
        let fold = folder
            .fold(timelines.range(), &Job::default())
            .expect("it folds");
        let picture = timeline::Picture::new(&folder, &fold).expect("there are rows");
        let picture = picture.titled("COSMO-SPECS, synthetic").theme(theme);
        check(name, &picture.markers(&markers).scene());
    }
}

#[test]
fn messages() {
    let trace = many_ranks::trace(6, 400);
    let map = RegionMap::by_name(trace.definitions()).expect("few regions");
    let timelines = Timelines::new(trace.view(), &map, &Job::default()).expect("a good trace");
    let params = Folder::params().columns(300).check().expect("good");
    let groups = Groups::by(&timelines, GroupBy::Process);
    let folder = Folder::new(&timelines, groups, params).expect("a few rows");
    let range = timelines.range();
    let end = Ticks(range.start.0 + range.len() / 8);
    let window = TimeRange { end, ..range };
    let fold = folder.fold(window, &Job::default()).expect("it folds");
    let found = match_messages(trace.view(), &Job::default()).unwrap();
    let lines = folder.lines(window, Line::of(&found));
    let picture = timeline::Picture::new(&folder, &fold).expect("there are rows");
    check(
        "messages",
        &picture.titled("Six ranks in a ring").lines(&lines).scene(),
    );
}

#[test]
fn cubes() {
    let shape = Shape::of(&[3, 4, 2]).expect("a small grid");
    let values = (0..24).map(|cell| f64::from(cell * 7 % 24) * 1e6).collect();
    let mut mask = vec![true; 24];
    mask[5] = false;
    let grid = Grid::new(shape, values, mask).expect("a value a cell");
    for (name, map, theme) in [
        ("cubes", ColourMap::GreenYellowRed, Theme::light()),
        ("cubes-safe", ColourMap::BlueYellow, Theme::dark()),
    ] {
        let picture = topology::Picture::new(&grid)
            .expect("three axes")
            .map(map)
            .theme(theme);
        check(
            name,
            &picture
                .titled("time, main / solve")
                .unit(Unit::Nanos)
                .side(220)
                .scene(),
        );
    }
}

#[test]
fn clusters() {
    let found = synthetic::clusters::clusters(["4 tasks", "8 tasks"], 24);
    let picture = track::Picture::new(&found).titled("Three phases, twice as many tasks");
    check("track", &picture.clone().moving(true).scene());
    check(
        "track-dark",
        &picture.clone().theme(Theme::dark()).columns(2).scene(),
    );
    check(
        "track-matrices",
        &picture.matrices(0, 1).expect("two frames"),
    );
    check("track-trend", &picture.trend("rate").expect("a metric"));
}

#[test]
fn anomalies() {
    let mut report = synthetic::anomalies::report(synthetic::anomalies::tail());
    let found = Anomalies::of(&mut report).expect("the store is read");
    let picture = anomaly::Picture::new(&found).titled("One rank of four waits");
    check("anomaly", &picture.scene());
    check(
        "anomaly-stack-dark",
        &picture
            .clone()
            .theme(Theme::dark())
            .stack(0)
            .expect("the worst"),
    );
    check(
        "anomaly-distribution",
        &picture.distribution("MPI_Wait").expect("a model"),
    );
}

#[test]
fn bars() {
    let mut bars = Bars::new(Unit::Nanos).titled("Where the time goes");
    for (name, value) in [
        ("main / solve", 3.2e9),
        ("main / <output>", 4e8),
        ("nothing", 0.0),
        ("unknown", f64::NAN),
    ] {
        bars.push(name, value);
    }
    check("bars", &bars.scene());
}
