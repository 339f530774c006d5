//! Compares every Cube profile of the corpus with its facts: sizes, types, sums and single cells.

#![cfg(feature = "cube")]
use perf_core::{CallPathId, Job, LocationId, MetricId, Profile, Severities, Value as Number};
use perf_formats::OpenOptions;
use perf_formats::cube::{Cube, WriteOptions, property, rules, write};
use perf_testdata::corpus::corpus;
use serde_json::Value;
use std::path::Path;

fn facts(section: &str) -> Option<Vec<Value>> {
    let path = corpus("cube/facts.json")?;
    // NaN, which some correlations have, is not valid JSON.
    let text = std::fs::read_to_string(path).unwrap();
    let facts: Value = serde_json::from_str(&text.replace("NaN", "null")).unwrap();
    Some(facts[section].as_array().unwrap().clone())
}

fn open(path: &Path) -> Cube {
    Cube::open(path, &OpenOptions::new(), &Job::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn path_of(cube: &Cube, id: u64) -> CallPathId {
    let all = cube.profile().calls().paths().len() as u32;
    let mut all = (0..all).map(CallPathId);
    all.find(|path| cube.cnode_id(*path) == Some(id)).unwrap()
}

/// Returns the attributes of a file without the other properties.
fn attributes(profile: &Profile) -> usize {
    let properties = profile.properties().iter();
    properties
        .filter(|(name, _)| !name.starts_with("cube."))
        .count()
}

fn sum(profile: &Profile, metric: MetricId) -> (f64, u128, u64) {
    let (mut sum, mut exact, mut nonzero) = (0.0, 0, 0);
    for path in profile.paths(metric) {
        let row = profile.row(metric, path).unwrap().unwrap();
        nonzero += row.to_f64().iter().filter(|value| **value != 0.0).count() as u64;
        sum += row.to_f64().iter().sum::<f64>();
        if let Severities::U64(values) = &*row {
            exact += values.iter().map(|value| u128::from(*value)).sum::<u128>();
        }
    }
    (sum, exact, nonzero)
}

fn close(got: f64, expected: f64) -> bool {
    (got - expected).abs() <= 1e-12 * expected.abs().max(1.0)
}

fn check_value(got: Option<Number>, expected: &Value, what: &str) {
    let got = got.unwrap();
    match (got, expected.as_u64(), expected.as_i64()) {
        (Number::U64(got), Some(expected), _) => assert_eq!(got, expected, "{what}"),
        (Number::I64(got), _, Some(expected)) => assert_eq!(got, expected, "{what}"),
        // A JSON library may be off by one in the last digit.
        (got, ..) => {
            let (got, expected) = (got.as_f64(), expected.as_f64().unwrap());
            assert!(
                (got - expected).abs() <= 1e-15 * expected.abs(),
                "{what}: {got}"
            );
        }
    }
}

fn check_metric(cube: &Cube, fact: &Value, file: &str) {
    let profile = cube.profile();
    let name = fact["name"].as_str().unwrap();
    let what = format!("{file}, {name}");
    let id = profile.metric(name).unwrap();
    let about = &profile.metrics()[id.index()];
    let kind = about
        .properties
        .iter()
        .find(|(key, _)| key == property::DATA_TYPE);
    assert_eq!(kind.unwrap().1, fact["dtype"].as_str().unwrap(), "{what}");
    assert_eq!(about.metric.unit, fact["uom"].as_str().unwrap(), "{what}");
    let scope = format!("{:?}", about.scope).to_uppercase();
    assert_eq!(scope, fact["type"].as_str().unwrap(), "{what}");
    let parent = about.metric.parent.map(|id| u64::from(id.0));
    assert_eq!(parent.is_some(), fact["parent"].is_u64(), "{what}");
    let Some(indexed) = fact["rows_indexed"].as_u64() else {
        assert!(profile.paths(id).is_empty(), "{what}");
        return;
    };
    let stored = fact["rows_stored"].as_u64().unwrap();
    let rows = profile.paths(id).len() as u64;
    assert!(
        rows == stored && rows <= indexed,
        "{what}: {rows} rows, {stored} stored"
    );
    if let Some(first) = fact.get("first_row") {
        let row = profile.row(id, path_of(cube, first["cnode"].as_u64().unwrap()));
        let row = row.unwrap().unwrap();
        let values = row.tuple(LocationId(0)).unwrap();
        let mut hex: String = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        if fact["dtype"] == "TAU_ATOMIC" {
            let count = (values[0] as u32).to_le_bytes();
            let count: String = count.iter().map(|byte| format!("{byte:02x}")).collect();
            hex = count + &hex[16..];
        }
        let expected = first["first_element_hex"].as_str().unwrap();
        assert!(hex.starts_with(expected), "{what}: {hex}");
        assert_eq!(row.len(), profile.system().locations().len());
        return;
    }
    if cube.version() == "4.0" {
        // The facts do not count the locations of a Cube3 tree.
        return;
    }
    let (total, exact, nonzero) = sum(profile, id);
    let expected = &fact["sum"];
    match (exact, expected.as_u64()) {
        (1.., Some(expected)) => assert_eq!(exact, u128::from(expected), "{what}"),
        _ => assert!(close(total, expected.as_f64().unwrap()), "{what}: {total}"),
    }
    assert_eq!(nonzero, fact["nonzero"].as_u64().unwrap(), "{what}");
    for cell in fact["cells"].as_array().unwrap() {
        let path = path_of(cube, cell["cnode"].as_u64().unwrap());
        let column = LocationId(cell["column"].as_u64().unwrap() as u32);
        let row = profile.row(id, path).unwrap().unwrap();
        check_value(row.get(column), &cell["value"], &what);
        let region = profile.calls().get(path).unwrap().region;
        let name = &profile.regions()[region.index()].name;
        // The facts truncate long names.
        assert!(name.starts_with(cell["region"].as_str().unwrap()), "{what}");
    }
}

fn check_topologies(profile: &Profile, facts: &Value, file: &str) {
    let facts = facts.as_array().unwrap();
    assert_eq!(profile.topologies().len(), facts.len(), "{file}");
    for (topology, fact) in profile.topologies().iter().zip(facts) {
        assert_eq!(topology.name, fact["name"].as_str().unwrap(), "{file}");
        let points = fact["ncoords"].as_u64().unwrap();
        assert_eq!(topology.coordinates.len() as u64, points, "{file}");
        for (axis, fact) in topology
            .dimensions
            .iter()
            .zip(fact["dims"].as_array().unwrap())
        {
            let Some(fact) = fact.as_array() else {
                assert_eq!(u64::from(axis.size), fact.as_u64().unwrap(), "{file}");
                continue;
            };
            assert_eq!(axis.name, fact[0].as_str().unwrap(), "{file}");
            assert_eq!(u64::from(axis.size), fact[1].as_u64().unwrap(), "{file}");
            assert_eq!(
                axis.periodic.to_string(),
                fact[2].as_str().unwrap(),
                "{file}"
            );
        }
    }
}

#[test]
fn every_archive_gives_its_facts() {
    let Some(facts) = facts("cubex") else { return };
    assert_eq!(facts.len(), 59);
    for fact in &facts {
        let file = fact["file"].as_str().unwrap();
        let Some(path) = corpus(file) else { continue };
        let cube = open(&path);
        let profile = cube.profile();
        let count = |name: &str| fact[name].as_u64().unwrap() as usize;
        assert_eq!(
            cube.version(),
            fact["cube_version"].as_str().unwrap(),
            "{file}"
        );
        assert_eq!(attributes(profile), count("n_attrs"), "{file}");
        assert_eq!(profile.metrics().len(), count("n_metrics"), "{file}");
        assert_eq!(profile.regions().len(), count("n_regions"), "{file}");
        let paths = profile.calls().paths();
        assert_eq!(paths.len(), count("n_cnodes"), "{file}");
        let roots = paths.iter().filter(|path| path.parent.is_none()).count();
        assert_eq!(roots, count("n_root_cnodes"), "{file}");
        let system = profile.system();
        if cube.version() == "4.0" {
            assert_eq!(system.locations().len(), 2, "{file}");
        } else {
            assert_eq!(system.locations().len(), count("n_locations"), "{file}");
            let counts = &fact["system"];
            assert_eq!(
                system.nodes().len() as u64,
                counts["stn"].as_u64().unwrap(),
                "{file}"
            );
            assert_eq!(
                system.groups().len() as u64,
                counts["lgs"].as_u64().unwrap(),
                "{file}"
            );
        }
        let mut free = fact["misc_members"].as_array().unwrap().iter();
        let mut free: Vec<_> = free.by_ref().filter_map(Value::as_str).collect();
        free.retain(|name| *name != "anchor.xml");
        free.sort_unstable();
        assert_eq!(cube.members().collect::<Vec<_>>(), free, "{file}");
        for name in free {
            assert!(cube.member(name).unwrap().is_some(), "{file}, {name}");
        }
        check_topologies(profile, &fact["topologies"], file);
        for metric in fact["metrics"].as_array().unwrap() {
            check_metric(&cube, metric, file);
        }
        let is_buggy = file.contains("checksum_bug");
        let wrong = if is_buggy { 14 } else { 0 };
        assert_eq!(cube.diagnostics().count(rules::CHECKSUM), wrong, "{file}");
        assert_eq!(
            cube.diagnostics().repairs(),
            0,
            "{file}: {}",
            cube.diagnostics()
        );
    }
}

#[test]
fn every_document_gives_its_facts() {
    let Some(facts) = facts("cube3") else { return };
    for fact in &facts {
        let file = fact["file"].as_str().unwrap();
        let Some(path) = corpus(file) else { continue };
        let cube = open(&path);
        let profile = cube.profile();
        let count = |name: &str| fact[name].as_u64().unwrap() as usize;
        assert_eq!(
            cube.version(),
            fact["cube_version"].as_str().unwrap(),
            "{file}"
        );
        assert_eq!(profile.metrics().len(), count("n_metrics"), "{file}");
        assert_eq!(profile.calls().paths().len(), count("n_cnodes"), "{file}");
        assert_eq!(
            profile.system().locations().len(),
            count("n_locations"),
            "{file}"
        );
        let rows: usize = (0..profile.metrics().len() as u32)
            .map(|at| profile.paths(MetricId(at)).len())
            .sum();
        assert_eq!(rows, count("rows"), "{file}");
        let short = cube.diagnostics().count(rules::SHORT_ROW);
        assert_eq!(short as usize, count("short_rows"), "{file}");
        check_topologies(profile, &fact["topologies"], file);
        for (name, expected) in fact["sums_exclusive_calltree"].as_object().unwrap() {
            let id = profile.metric(name).unwrap();
            let (total, ..) = sum(profile, id);
            assert!(
                close(total, expected.as_f64().unwrap()),
                "{file}, {name}: {total}"
            );
        }
        for cell in fact["cells"].as_array().unwrap() {
            let id = profile.metric(cell["metric"].as_str().unwrap()).unwrap();
            let path = path_of(&cube, cell["cnode"].as_u64().unwrap());
            let thread = LocationId(cell["thread"].as_u64().unwrap() as u32);
            let row = profile.row(id, path).unwrap().unwrap();
            check_value(row.get(thread), &cell["value"], file);
        }
    }
}

#[test]
fn conversions_agree_with_the_document_they_come_from() {
    let Some(source) = corpus("cube/cube3/experiment1.cube") else {
        return;
    };
    let source = open(&source);
    for name in ["le_sparse", "be_dense", "le_z_reversed"] {
        let file = format!("cube/converted/experiment1_{name}.cubex");
        let Some(path) = corpus(&file) else { continue };
        let cube = open(&path);
        for (about, at) in cube.profile().metrics().iter().zip(0u32..) {
            let theirs = source.profile().metric(&about.metric.name).unwrap();
            for path in (0..source.profile().calls().paths().len() as u32).map(CallPathId) {
                // Rows of zeros are optional.
                let row = |profile: &Profile, id| {
                    let row = profile.row(id, path).unwrap();
                    let row = row.map(|row| row.to_f64());
                    row.filter(|row| row.iter().any(|value| *value != 0.0))
                };
                let expected = row(source.profile(), theirs);
                assert_eq!(row(cube.profile(), MetricId(at)), expected, "{file}");
            }
        }
    }
}

/// Asserts that definitions and rows are the same.
fn assert_same(a: &Profile, b: &Profile, what: &str) {
    // Without printing the values, which are too long.
    assert!(a.metrics() == b.metrics(), "{what}: metrics");
    assert!(a.regions() == b.regions(), "{what}: regions");
    assert!(a.calls() == b.calls(), "{what}: call paths");
    assert!(a.system() == b.system(), "{what}: system");
    assert!(a.topologies() == b.topologies(), "{what}: topologies");
    assert_eq!(a.properties(), b.properties(), "{what}");
    for at in (0..a.metrics().len() as u32).map(MetricId) {
        assert_eq!(a.paths(at), b.paths(at), "{what}");
        for path in a.paths(at) {
            assert_eq!(a.row(at, path).unwrap(), b.row(at, path).unwrap(), "{what}");
        }
    }
}

#[test]
fn every_profile_is_read_as_it_was_written() {
    let sections = ["cubex", "cube3"].into_iter().filter_map(facts);
    for fact in sections.flatten() {
        let file = fact["file"].as_str().unwrap();
        let Some(path) = corpus(file) else { continue };
        let cube = open(&path);
        // Compression without optimisation is slow; the small files are sufficient.
        let is_small = path.metadata().unwrap().len() < 100_000;
        for compress in [false, true].into_iter().take(1 + usize::from(is_small)) {
            let mut bytes = Vec::new();
            let options = WriteOptions::new().compress(compress);
            let lost = cube
                .write(cube.profile(), &mut bytes, &options, &Job::default())
                .unwrap();
            assert!(lost.is_empty(), "{file}: {lost}");
            let back = Cube::from_bytes(bytes, file, &OpenOptions::new(), &Job::default()).unwrap();
            assert!(
                back.diagnostics().is_empty(),
                "{file}: {}",
                back.diagnostics()
            );
            assert_same(cube.profile(), back.profile(), file);
            for name in cube.members() {
                assert_eq!(
                    cube.member(name).unwrap(),
                    back.member(name).unwrap(),
                    "{file}"
                );
            }
            assert_eq!(cube.members().count(), back.members().count(), "{file}");
            // The profile alone lacks their bytes, which is counted.
            let lost = write(cube.profile(), std::io::sink(), &options, &Job::default()).unwrap();
            let expected = cube.members().count() as u64;
            assert_eq!(lost.count(rules::MEMBER_NOT_WRITTEN), expected, "{file}");
        }
    }
}
