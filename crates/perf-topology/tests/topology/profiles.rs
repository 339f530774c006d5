//! Values of profiles in the cells of a grid.

use super::{counting, shape};
use perf_core::{
    CallPathId, CallTree, Combine, Limits, Location, LocationId, MetricId, Profile, ProfileMetric,
    Region, RegionId, Rows, Severities, SystemTree,
};
use perf_topology::{AxisOrder, Error, Topology};
use std::sync::Arc;

/// Returns a profile of one call path on four locations, with one metric of the given kind.
fn profile(combine: Combine, row: Severities) -> Profile {
    let locations = (0..4).map(|key| Location {
        key,
        ..Default::default()
    });
    let system = SystemTree::new(vec![], vec![], locations.collect(), &Limits::default());
    let mut calls = CallTree::default();
    calls.child(None, RegionId(0)).expect("a root");
    let about = ProfileMetric {
        combine,
        ..Default::default()
    };
    let mut rows = Rows::default();
    rows.insert(MetricId(0), CallPathId(0), row);
    let regions = vec![Region::named("main")];
    let system = system.expect("a tree");
    Profile::new(system, regions, calls, vec![about], Arc::new(rows)).expect("all is there")
}

#[test]
fn locations_of_a_cell_are_combined_by_their_metric() {
    // Locations 0, 2 and 3 lie in the first cell, 1 in the second, none in the third.
    let at: Vec<_> = [0usize, 1, 0, 0].into_iter().map(|at| vec![at]).collect();
    let entries = at
        .iter()
        .enumerate()
        .map(|(at, row)| (LocationId(at as u32), row.as_slice()));
    let grid = Topology::from_table(shape(&[3]), 4, entries);
    assert_eq!((grid.check().shared, grid.check().missing), (1, 1));
    let floats = Severities::F64(vec![3.0, -2.0, 1.0, 5.0]);
    for (combine, row, expected) in [
        (Combine::Sum, floats.clone(), [9.0, -2.0]),
        (Combine::Sum, Severities::U64(vec![3, 2, 1, 5]), [9.0, 2.0]),
        (Combine::Minimum, floats.clone(), [1.0, -2.0]),
        (Combine::Maximum, floats.clone(), [5.0, -2.0]),
        (
            Combine::Maximum,
            Severities::I64(vec![-3, 2, -1, -5]),
            [-1.0, 2.0],
        ),
        (
            Combine::Statistics,
            Severities::Tuples {
                width: 5,
                values: (0..20).map(f64::from).collect(),
            },
            [25.0, 5.0],
        ),
    ] {
        let profile = profile(combine, row);
        let view = grid.view_of(&profile, MetricId(0), CallPathId(0));
        let view = view.expect("it is read").expect("a row");
        assert_eq!(
            view.values(),
            [expected[0], expected[1], 0.0],
            "{combine:?}"
        );
        assert_eq!(view.mask(), [true, true, false]);
    }
    // The ratio of a cell with several locations is unknown.
    let ratios = profile(Combine::Never(1), floats);
    let mut view = [9.0; 3];
    let there = grid.view_of_into(&ratios, MetricId(0), CallPathId(0), &mut view);
    assert!(there.expect("it is read") && view[0].is_nan());
    assert_eq!(view[1..], [-2.0, 0.0]);
    let none =
        profile(Combine::Sum, Severities::U64(vec![0; 4])).with_rows(Arc::new(Rows::default()));
    assert!(
        grid.view_of(&none, MetricId(0), CallPathId(0))
            .expect("it is read")
            .is_none()
    );
    // A view of the wrong length is an error.
    let short = profile(Combine::Sum, Severities::U64(vec![0; 3]));
    assert!(grid.view_of(&short, MetricId(0), CallPathId(0)).is_err());
    assert!(grid.view_of(&none, MetricId(1), CallPathId(0)).is_err());
    assert!(grid.view_of(&none, MetricId(0), CallPathId(1)).is_err());
    let other = Topology::by_order(shape(&[3]), AxisOrder::LastFastest, 3);
    assert!(other.view_of(&none, MetricId(0), CallPathId(0)).is_err());
    let values = &mut [0.0; 2];
    assert!(
        grid.view_of_into(&none, MetricId(0), CallPathId(0), values)
            .is_err()
    );
}

#[test]
fn views_of_the_wrong_length_are_errors() {
    let grid = Topology::by_order(shape(&[2, 2]), AxisOrder::LastFastest, 4);
    assert!(matches!(
        grid.view(&counting(3)),
        Err(Error::Length {
            expected: 4,
            got: 3,
            ..
        })
    ));
    assert!(grid.view_into(&counting(4), &mut [0.0; 3]).is_err());
}
