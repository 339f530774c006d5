//! Views from profiles on topologies, and call paths that two profiles share.

use perf_core::{CancelToken, MetricId, Profile};
use perf_spectral::{AxisFilter, Error, Missing, RankParams, Spectra, same_paths, stored_rows};
use perf_topology::{AxisOrder, Shape, Topology, balanced};

fn profile() -> Profile {
    let trace = perf_testdata::cosmo::trace();
    let found = Profile::from_trace(trace.view(), &(), &CancelToken::new());
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
    let never = CancelToken::new();
    builder
        .add_rows(&profile, &grid, &rows, Missing::Refuse, &(), &never)
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
        .rank(0, &AxisFilter::all(2), &params)
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
    let never = CancelToken::new();
    let mut builder = Spectra::<f32>::builder(&grid.shape().lens()).expect("a shape");
    let refused = builder.add_rows(&profile, &grid, &rows, Missing::Refuse, &(), &never);
    assert!(matches!(refused, Err(Error::Missing { cells: found }) if found == cells));
    builder
        .add_rows(&profile, &grid, &rows, Missing::Fill, &(), &never)
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
            .add_rows(&profile, &grid, &rows, Missing::Fill, &(), &never)
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
