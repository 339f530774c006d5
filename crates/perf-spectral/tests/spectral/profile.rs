//! Views from profiles on topologies, and call paths that two profiles share.

use crate::common::pearson;
use perf_core::{
    CallPathId, CallTree, Combine, Job, Limits, Location, LocationGroup, LocationGroupId,
    LocationId, Metric, MetricId, Profile, ProfileMetric, Region, RegionId, RowStore, Severities,
    SystemNode, SystemNodeId, SystemTree, ValueType,
};
use perf_spectral::{
    AxisFilter, Error, Missing, RankParams, Spectra, Unfit, same_paths, stored_rows,
};
use perf_topology::{AxisOrder, Shape, Topology, balanced};
use std::sync::Arc;

fn profile() -> Profile {
    let trace = perf_core::samples::cosmo::trace();
    let found = Profile::from_trace(trace.view(), &Job::default());
    found.expect("a good trace").0
}

fn grid(profile: &Profile, extra: usize) -> Topology {
    let ranks = profile.system().locations().len();
    let shape = Shape::of(&balanced(ranks + extra, 2)).expect("a shape");
    Topology::by_order(shape, AxisOrder::FirstFastest, ranks)
}

#[test]
fn rows_are_views() {
    let profile = profile();
    let metrics: Vec<MetricId> = ["time", "visits"]
        .iter()
        .filter_map(|name| profile.metric(name))
        .collect();
    let rows = stored_rows(&profile, &metrics);
    let grid = grid(&profile, 0);
    let mut builder = Spectra::<f64>::builder(&grid.shape().lens()).expect("a shape");
    let job = Job::default();
    builder
        .add_rows(&profile, &grid, &rows, Missing::Refuse, &job)
        .expect("rows");
    let spectra = builder.finish();
    assert_eq!(spectra.views().len(), rows.len());
    let first = profile
        .row(rows[0].0, rows[0].1)
        .expect("a row")
        .expect("it is stored");
    let mean = first.sum().as_f64() / first.len() as f64;
    assert!((spectra.views()[0].mean - mean).abs() <= 1e-12 * mean);
    let params = RankParams::default().check().expect("in range");
    let list = spectra
        .rank(0, &AxisFilter::all(2), &params, &Job::default())
        .expect("a view");
    assert_eq!(list.matches.len(), rows.len() - 1);
}

#[test]
fn missing_cells_are_counted_or_refused() {
    let profile = profile();
    let rows = stored_rows(&profile, &[profile.metric("time").expect("it is there")]);
    let grid = grid(&profile, 2);
    let cells = grid.check().missing;
    assert!(cells > 0);
    let job = Job::default();
    let mut builder = Spectra::<f32>::builder(&grid.shape().lens()).expect("a shape");
    let refused = builder.add_rows(&profile, &grid, &rows, Missing::Refuse, &job);
    assert!(matches!(refused, Err(Error::Missing { cells: found }) if found == cells));
    builder
        .add_rows(&profile, &grid, &rows, Missing::Fill, &job)
        .expect("rows");
    assert!(
        builder
            .finish()
            .views()
            .iter()
            .all(|view| view.missing == cells)
    );
    let mut other = Spectra::<f32>::builder(&[3]).expect("a shape");
    assert!(
        other
            .add_rows(&profile, &grid, &rows, Missing::Fill, &job)
            .is_err()
    );
}

#[test]
fn a_profile_shares_all_paths_with_itself() {
    let profile = profile();
    let pairs = same_paths(&profile, &profile);
    assert_eq!(pairs.len(), profile.calls().paths().len());
    assert!(pairs.iter().all(|(a, b)| a == b));
}

/// Rows of two metrics and some call paths on 12 locations, with noise-like values. Those listed in
/// `bad` have a non-finite value at a location.
#[derive(Debug)]
struct Rows {
    /// Names of the call paths.
    names: Vec<&'static str>,
    /// Metric, call path, location and value of each non-finite entry.
    bad: Vec<(u32, u32, usize, f64)>,
}

fn value(metric: u32, name: &str, at: usize) -> f64 {
    let word: usize = name.bytes().map(usize::from).sum();
    ((word * 31 + at * at * 17 + at * 7 + metric as usize * (at + 5) * 13) % 101) as f64
}

impl RowStore for Rows {
    fn row(
        &self,
        metric: MetricId,
        path: CallPathId,
    ) -> perf_core::Result<Option<Arc<Severities>>> {
        let name = self.names[path.index()];
        let mut values: Vec<f64> = (0..12).map(|at| value(metric.0, name, at)).collect();
        for (of, row, at, value) in &self.bad {
            if (*of, *row) == (metric.0, path.0) {
                values[*at] = *value;
            }
        }
        Ok(Some(Arc::new(Severities::F64(values))))
    }

    fn paths(&self, _: MetricId) -> Vec<CallPathId> {
        (0..self.names.len())
            .filter_map(CallPathId::from_index)
            .collect()
    }
}

/// Returns a profile whose call paths are all below the first.
fn made(names: &[&'static str], bad: &[(u32, u32, usize, f64)]) -> Profile {
    let machine = SystemNode {
        name: "machine".into(),
        ..SystemNode::default()
    };
    let groups = (0..12).map(|rank| LocationGroup {
        name: format!("MPI Rank {rank}"),
        parent: Some(SystemNodeId(0)),
        ..LocationGroup::default()
    });
    let locations = (0..12).map(|rank| Location {
        name: "Master thread".into(),
        group: Some(LocationGroupId(rank)),
        key: rank.into(),
        ..Location::default()
    });
    let (groups, locations) = (groups.collect(), locations.collect());
    let system = SystemTree::new(vec![machine], groups, locations, &Limits::default());
    let mut calls = CallTree::default();
    for at in 0..names.len() {
        let parent = (at > 0).then_some(CallPathId(0));
        calls
            .child(parent, RegionId(at as u32))
            .expect("parents come first");
    }
    let regions = names.iter().map(|name| Region::named(*name));
    let metric = |name: &str| ProfileMetric {
        metric: Metric {
            name: name.into(),
            value_type: ValueType::F64,
            ..Metric::default()
        },
        ..ProfileMetric::default()
    };
    let rows = Rows {
        names: names.to_vec(),
        bad: bad.to_vec(),
    };
    let metrics = vec![metric("time"), metric("bytes")];
    let system = system.expect("groups and machine are there");
    Profile::new(system, regions.collect(), calls, metrics, Arc::new(rows)).expect("all is there")
}

fn twelve() -> Topology {
    Topology::by_order(
        Shape::of(&[4, 3]).expect("a shape"),
        AxisOrder::LastFastest,
        12,
    )
}

#[test]
fn metrics_and_profiles_are_compared_by_call_path() {
    // The same paths in another order, one removed and one added.
    let one = made(&["main", "solve", "exchange", "output"], &[]);
    let two = made(&["main", "exchange", "setup", "solve"], &[]);
    let pairs = same_paths(&one, &two);
    let numbers: Vec<_> = pairs.iter().map(|(a, b)| (a.0, b.0)).collect();
    assert_eq!(numbers, [(0, 0), (1, 3), (2, 1)]);
    let mut builder = Spectra::<f64>::builder(&[4, 3]).expect("a shape");
    let job = Job::default();
    let (time, bytes) = (MetricId(0), MetricId(1));
    let of_one: Vec<_> = pairs.iter().map(|pair| (time, pair.0)).collect();
    let of_two: Vec<_> = pairs.iter().map(|pair| (bytes, pair.1)).collect();
    for (profile, rows) in [(&one, &of_one), (&two, &of_two)] {
        builder
            .add_rows(profile, &twelve(), rows, Missing::Refuse, &job)
            .expect("rows");
    }
    let spectra = builder.finish();
    let wanted: Vec<_> = (0..pairs.len()).map(|at| (at, at + pairs.len())).collect();
    let params = RankParams::default().check().expect("in range");
    let found = spectra
        .correlate_pairs(&wanted, &AxisFilter::all(2), &params, &Job::default())
        .expect("views");
    for (found, name) in found.iter().zip(["main", "solve", "exchange"]) {
        let row = |metric: u32| -> Vec<f64> { (0..12).map(|at| value(metric, name, at)).collect() };
        let expected = pearson(&row(0), &row(1));
        assert!(
            (found.found.correlation.zero - expected).abs() < 1e-12,
            "{name}"
        );
        assert!((found.found.pearson.expect("asked for") - expected).abs() < 1e-12);
    }
}

#[test]
fn rows_that_are_not_finite_are_skipped_and_named() {
    let bad = [(0, 1, 5, f64::NAN), (1, 2, 11, f64::INFINITY)];
    let profile = made(&["main", "solve", "exchange", "output"], &bad);
    let rows = stored_rows(&profile, &[MetricId(0), MetricId(1)]);
    let mut builder = Spectra::<f64>::builder(&[4, 3]).expect("a shape");
    let job = Job::default();
    builder
        .add_rows(&profile, &twelve(), &rows, Missing::Fill, &job)
        .expect("they are skipped");
    let texts: Vec<String> = builder.skipped().iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2);
    assert!(
        texts[0].contains("time of main > solve is NaN at MPI Rank 5, Master thread"),
        "{texts:?}"
    );
    assert!(
        texts[1].contains("bytes of main > exchange is inf at MPI Rank 11"),
        "{texts:?}"
    );
    let spectra = builder.finish();
    // Skipped views keep their numbers.
    assert_eq!(spectra.views().len(), rows.len());
    let skipped: Vec<usize> = spectra.skipped().iter().map(|one| one.view).collect();
    assert_eq!(skipped, [1, 6]);
    assert!(spectra.views()[1].is_skipped() && !spectra.views()[1].is_constant());
    let params = RankParams::default().check().expect("in range");
    let filter = AxisFilter::all(2);
    let list = spectra
        .rank(0, &filter, &params, &Job::default())
        .expect("a view");
    assert_eq!(
        (list.matches.len(), list.skipped),
        (rows.len() - 3, vec![1, 6])
    );
    let pairs = spectra.pairs(&filter, &params, &job).expect("views");
    assert_eq!(pairs.len(), 6 * 5 / 2);
    assert!(matches!(
        spectra.rank(6, &filter, &params, &Job::default()),
        Err(Error::Skipped { view: 6, .. })
    ));
    assert!(matches!(
        spectra.correlate_pairs(&[(0, 1)], &filter, &params, &Job::default()),
        Err(Error::Skipped { view: 1, .. })
    ));
}

#[test]
fn rows_that_are_not_finite_can_be_refused() {
    let profile = made(&["main", "solve"], &[(1, 1, 2, f64::NEG_INFINITY)]);
    let rows = stored_rows(&profile, &[MetricId(0), MetricId(1)]);
    let builder = Spectra::<f32>::builder(&[4, 3]).expect("a shape");
    let mut builder = builder.unfit(Unfit::Refuse);
    let refused = builder.add_rows(&profile, &twelve(), &rows, Missing::Fill, &Job::default());
    let text = refused.expect_err("it is not finite").to_string();
    assert!(
        text.contains("bytes of main > solve is -inf at MPI Rank 2"),
        "{text}"
    );
    assert!(builder.is_empty() && builder.skipped().is_empty());
}

/// Two locations in each cell: a maximum is that of both, and a ratio is NaN.
#[test]
fn locations_of_a_cell_are_combined_by_their_metric() {
    let at: Vec<[usize; 1]> = (0..12).map(|at| [at / 2]).collect();
    let entries = at.iter().enumerate();
    let entries = entries.map(|(at, row)| (LocationId(at as u32), &row[..]));
    let grid = Topology::from_table(Shape::of(&[6]).expect("a shape"), 12, entries);
    let of = |combine| {
        let plain = made(&["main", "solve"], &[]);
        let metrics = plain.metrics().iter().map(|about| ProfileMetric {
            combine,
            ..about.clone()
        });
        let system = plain.system().clone();
        let (calls, regions) = (plain.calls().clone(), plain.regions().to_vec());
        let rows = Arc::clone(plain.rows());
        let profile = Profile::new(system, regions, calls, metrics.collect(), rows);
        let profile = profile.expect("all is there");
        let rows = stored_rows(&profile, &[MetricId(0)]);
        let mut builder = Spectra::<f64>::builder(&[6]).expect("a shape");
        let job = Job::default();
        let done = builder.add_rows(&profile, &grid, &rows, Missing::Refuse, &job);
        done.expect("rows");
        builder.finish()
    };
    let pairs = |f: fn(f64, f64) -> f64| {
        let both = |at: usize| f(value(0, "solve", 2 * at), value(0, "solve", 2 * at + 1));
        (0..6).map(both).sum::<f64>() / 6.0
    };
    for (combine, expected) in [
        (Combine::Sum, pairs(|a, b| a + b)),
        (Combine::Maximum, pairs(f64::max)),
        (Combine::Minimum, pairs(f64::min)),
    ] {
        let mean = of(combine).views()[1].mean;
        assert!(
            (mean - expected).abs() < 1e-9,
            "{combine:?}: {mean} {expected}"
        );
    }
    let ratios = of(Combine::Never(1));
    let text = ratios.skipped()[1].to_string();
    assert!(
        text.contains("time of main > solve is NaN at cell 0"),
        "{text}"
    );
}
