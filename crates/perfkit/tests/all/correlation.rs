//! Compares the correlations of all rows of a real profile, on both of its topologies and under all
//! filters, with the values of another implementation.

#![cfg(all(feature = "cube", feature = "spectral"))]
use perf_testdata::corpus::corpus;
use perfkit::core::{Job, MetricId};
use perfkit::formats::{OpenOptions, cube::Cube};
use perfkit::spectral::{AxisFilter, Match, Missing, RankParams, Spectra, stored_rows};
use perfkit::topology::{Ranks, Topology};
use serde_json::Value;

/// Relative tolerance, because the reference values are rounded to nine digits.
const DIGITS: f64 = 1e-9;

fn numbers<T>(value: &Value, of: fn(&Value) -> Option<T>) -> Vec<T> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|value| of(value).unwrap())
        .collect()
}

#[test]
fn all_rows_of_experiment_1() {
    let (Some(facts), Some(file)) = (
        corpus("cube/facts.json"),
        corpus("cube/cube3/experiment1.cube"),
    ) else {
        return;
    };
    // Some numbers of other sections are NaN, which JSON does not allow.
    let text = std::fs::read_to_string(facts)
        .unwrap()
        .replace("NaN", "null");
    let facts: Value = serde_json::from_str(&text).unwrap();
    let cases = facts["correlation"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    let cube = Cube::open(&file, &OpenOptions::new(), &Job::default()).unwrap();
    let profile = cube.profile();
    let metrics: Vec<MetricId> = (0..profile.metrics().len() as u32).map(MetricId).collect();
    let rows = stored_rows(profile, &metrics);
    for case in cases {
        let number = case["topology"].as_u64().unwrap() as usize;
        let cart = &profile.topologies()[number];
        let grid = Topology::from_cart(cart, Ranks::Locations, profile.system()).unwrap();
        let dims: Vec<usize> = numbers(&case["shape"], |len| Some(len.as_u64()? as usize));
        assert_eq!(grid.shape().lens(), dims);
        assert_eq!(rows.len() as u64, case["views"].as_u64().unwrap());
        let mut builder = Spectra::<f64>::builder(&dims).unwrap();
        let job = Job::default();
        builder
            .add_rows(profile, &grid, &rows, Missing::Refuse, &job)
            .unwrap();
        let spectra = builder.finish();
        let view_of = |about: &Value| {
            let metric = profile.metric(about["metric"].as_str().unwrap()).unwrap();
            let cnode = about["cnode"].as_u64();
            let at = rows
                .iter()
                .position(|row| row.0 == metric && cube.cnode_id(row.1) == cnode);
            at.unwrap()
        };
        let filter = AxisFilter::new(&numbers(&case["f"], Value::as_f64)).unwrap();
        let reference = view_of(&case["ref"]);
        let all = RankParams::default().check().unwrap();
        let list = spectra
            .rank(reference, &filter, &all, &Job::default())
            .unwrap();
        let about = format!("topology {number}, f = {}", case["f"]);
        assert_eq!(list.matches.len(), rows.len() - 1);
        let zeros = list.matches.iter().filter(|found| found.r() == 0.0).count();
        assert_eq!(zeros as u64, case["zero_rows"].as_u64().unwrap(), "{about}");

        let check = |found: &Match, expected: &Value| {
            let is = |r: f64, name: &str| {
                let expected = expected[name].as_f64().unwrap();
                assert!(
                    (r - expected).abs() <= DIGITS,
                    "{about}: {name} {r}, not {expected}"
                );
            };
            is(found.r(), "r_abs");
            is(found.correlation.max.r, "r_max");
            is(found.correlation.zero, "r_zero");
            let shift = numbers(&expected["shift"], |at| Some(at.as_u64()? as usize));
            assert_eq!(spectra.plan().shift(found.peak), shift, "{about}");
        };
        // Views with equal scores, to the precision of the reference values, may be in another
        // order.
        let top = case["top"].as_array().unwrap();
        for (found, expected) in list.matches.iter().zip(top) {
            let expected_r = expected["r_abs"].as_f64().unwrap();
            assert!((found.r() - expected_r).abs() <= DIGITS, "{about}");
            let same = list
                .matches
                .iter()
                .find(|found| found.view == view_of(expected));
            check(same.unwrap(), expected);
        }
        let mut negative: Vec<&Match> = list.matches.iter().collect();
        negative.sort_by(|a, b| a.r().total_cmp(&b.r()));
        for (found, expected) in negative
            .iter()
            .zip(case["most_negative"].as_array().unwrap())
        {
            let expected_r = expected["r_abs"].as_f64().unwrap();
            assert!((found.r() - expected_r).abs() <= DIGITS, "{about}");
            let same = list
                .matches
                .iter()
                .find(|found| found.view == view_of(expected));
            check(same.unwrap(), expected);
        }
        // The pruned list is the beginning of the complete one.
        let few = RankParams::default().top(5).check().unwrap();
        let pruned = spectra
            .rank(reference, &filter, &few, &Job::default())
            .unwrap();
        assert_eq!(pruned.matches, list.matches[..5], "{about}");
    }
}
