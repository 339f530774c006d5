//! Construction of topologies, detection of defects, and operations.

use perf_core::{
    CallPathId, CallTree, CartDimension, CartTopology, Combine, GroupKind, Limits, Location,
    LocationGroup, LocationGroupId, LocationId, LocationKind, Members, MetricId, Profile,
    ProfileMetric, Properties, Region, RegionId, Rows, Severities, SystemNode, SystemNodeId,
    SystemTree,
};
use perf_topology::{
    Aggregate, Axis, AxisOrder, Error, Fill, Grid, MAX_CELLS, Place, Ranks, Shape, Topology,
    balanced, coordinates_in,
};
use proptest::prelude::*;
use std::sync::Arc;

fn shape(lens: &[usize]) -> Shape {
    Shape::of(lens).expect("a shape")
}

fn counting(cells: usize) -> Severities {
    Severities::U64((0..cells as u64).collect())
}

/// Returns two nodes of two processes with two threads each, except that the last process has one
/// thread and a device stream.
fn machine() -> SystemTree {
    let node = |name: &str| SystemNode {
        name: name.into(),
        ..Default::default()
    };
    let process = |node| LocationGroup {
        parent: Some(SystemNodeId(node)),
        ..Default::default()
    };
    let device = LocationGroup {
        kind: GroupKind::Accelerator,
        creator: Some(LocationGroupId(3)),
        ..Default::default()
    };
    let thread = |group, key| Location {
        group: Some(LocationGroupId(group)),
        key,
        ..Default::default()
    };
    let stream = Location {
        kind: LocationKind::AcceleratorStream,
        ..thread(4, 7)
    };
    let mut locations: Vec<Location> = (0..7).map(|key| thread(key as u32 / 2, key)).collect();
    locations.push(stream);
    let groups = vec![process(0), process(0), process(1), process(1), device];
    SystemTree::new(
        vec![node("a"), node("b")],
        groups,
        locations,
        &Limits::default(),
    )
    .expect("a tree")
}

#[test]
fn shapes_are_checked() {
    assert!(matches!(Shape::of(&[]), Err(Error::Axes { got: 0, .. })));
    assert!(matches!(
        Shape::of(&[1; 17]),
        Err(Error::Axes { got: 17, .. })
    ));
    assert!(matches!(
        Shape::of(&[3, 0]),
        Err(Error::EmptyAxis { axis: 1 })
    ));
    assert!(matches!(
        Shape::of(&[MAX_CELLS, 2]),
        Err(Error::TooManyCells { .. })
    ));
    assert!(matches!(
        Shape::of(&[usize::MAX, usize::MAX]),
        Err(Error::TooManyCells { .. })
    ));
    assert_eq!(shape(&[1; 16]).cells(), 1);
}

#[test]
fn ranks_lie_in_order() {
    let last = Topology::by_order(shape(&[2, 3]), AxisOrder::LastFastest, 6);
    assert_eq!(
        last.view(&counting(6)).expect("a view").values(),
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    );
    let first = Topology::by_order(shape(&[2, 3]), AxisOrder::FirstFastest, 6);
    assert_eq!(
        first.view(&counting(6)).expect("a view").values(),
        [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]
    );
    let few = Topology::by_order(shape(&[2, 3]), AxisOrder::LastFastest, 4);
    assert_eq!((few.check().missing, few.check().outside), (2, 0));
    assert!(matches!(
        few.check().perfect(),
        Err(Error::Missing { cells: 2 })
    ));
    let many = Topology::by_order(shape(&[2, 3]), AxisOrder::LastFastest, 8);
    assert_eq!(
        (
            many.check().placed,
            many.check().outside,
            many.check().unplaced
        ),
        (6, 2, 0)
    );
    assert!(matches!(
        many.check().perfect(),
        Err(Error::Outside { locations: 2 })
    ));
}

#[test]
fn grids_are_built_from_the_system_tree() {
    let system = machine();
    let all = [Place::Node, Place::Process, Place::Thread];
    let grid = Topology::from_system(&system, &all).expect("a shape");
    assert_eq!(
        (grid.shape().lens(), grid.name()),
        (vec![2, 2, 2], "node,process,thread")
    );
    assert_eq!(grid.shape().axes()[1].name, "process");
    // The last process has one thread; its stream is not a thread.
    assert_eq!(
        (
            grid.check().missing,
            grid.check().unplaced,
            grid.check().shared
        ),
        (1, 1, 0)
    );
    assert_eq!(grid.cell(LocationId(5)), Some(0b101));
    assert_eq!(grid.cell(LocationId(6)), Some(0b110));
    let ranks = Topology::from_system(&system, &[Place::Process]).expect("a shape");
    assert_eq!((ranks.shape().lens(), ranks.check().shared), (vec![4], 3));
    let flat = Topology::from_system(&system, &[Place::Thread]).expect("a shape");
    assert!(flat.shape().lens() == [7] && flat.check().is_injective());
    let ranks = Topology::by_process(shape(&[2, 2]), AxisOrder::FirstFastest, &system);
    // The stream shares the cell of its process.
    assert_eq!(ranks.cell(LocationId(7)), Some(3));
    assert_eq!(ranks.cell(LocationId(2)), Some(2));
}

#[test]
fn grids_are_built_from_definitions() {
    let dimension = |size| CartDimension {
        name: "x".into(),
        size,
        periodic: true,
    };
    let cart = |coordinates: Vec<(u32, Vec<u32>)>| CartTopology {
        name: "torus".into(),
        dimensions: vec![dimension(2), dimension(2)],
        coordinates,
        ..Default::default()
    };
    let whole = cart(vec![
        (0, vec![0, 0]),
        (1, vec![0, 1]),
        (2, vec![1, 0]),
        (3, vec![1, 1]),
    ]);
    let system = machine();
    let groups = Topology::from_cart(&whole, Ranks::Groups, &system).expect("a shape");
    assert_eq!(
        (groups.check().shared, groups.check().missing, groups.name()),
        (3, 0, "torus")
    );
    assert!(groups.shape().axes()[0].periodic);
    let view = groups
        .view(&Severities::I64(vec![1, -1, 2, 2, 3, 3, 4, 100]))
        .expect("a view");
    assert_eq!(view.values(), [0.0, 4.0, 6.0, 4.0]);
    // The rank of a communicator brings all locations of its process, streams included.
    let members = [6, 4, 2, 0].map(|at| Some(LocationId(at)));
    let members = Members::Ranks(members.to_vec());
    let ranks = Topology::from_cart(&whole, Ranks::Members(&members), &system).expect("a shape");
    assert_eq!(
        ranks.view(&counting(8)).expect("a view").values(),
        [13.0, 9.0, 5.0, 1.0]
    );
    let nodes = cart(vec![(0, vec![0, 0]), (1, vec![1, 1])]);
    let nodes = Topology::from_cart(&nodes, Ranks::Nodes, &system).expect("a shape");
    assert_eq!(
        (nodes.check().missing, nodes.cell(LocationId(7))),
        (2, Some(3))
    );
    // Counted defects: outside, too few coordinates, placed again elsewhere, unknown rank.
    let bad = cart(vec![
        (0, vec![0, 2]),
        (1, vec![0]),
        (2, vec![1, 1]),
        (2, vec![0, 0]),
        (2, vec![1, 1]),
        (99, vec![0, 0]),
    ]);
    let bad = Topology::from_cart(&bad, Ranks::Locations, &system).expect("a shape");
    let check = bad.check();
    assert_eq!(
        (check.outside, check.repeated, check.strangers, check.placed),
        (2, 1, 1, 1)
    );
    assert!(Topology::from_cart(&CartTopology::default(), Ranks::Locations, &system).is_err());
}

#[test]
fn implausibly_large_grids_of_a_recording_are_rejected() {
    let system = machine();
    let line = |size| CartTopology {
        dimensions: vec![CartDimension {
            size,
            ..Default::default()
        }],
        ..Default::default()
    };
    let lay = |size| Topology::from_cart(&line(size), Ranks::Locations, &system);
    // Eight locations on a machine of a million nodes are plausible; a length with a damaged digit
    // is not.
    assert!(lay(1 << 20).is_ok());
    let error = lay(99_999_999).map(drop);
    let refused = |cells, locations| {
        Err(Error::Implausible {
            cells,
            locations,
            limit: 1 << 20,
        })
    };
    assert_eq!(error, refused(99_999_999, system.locations().len()));
    let at = Location {
        properties: [("BGP Coords", "(99999999,1)")].into(),
        ..Default::default()
    };
    let one = SystemTree::new(vec![], vec![], vec![at], &Limits::default()).expect("one place");
    let error = Topology::from_metadata(&one, "BGP Coords", None).map(drop);
    assert_eq!(error, refused(200_000_000, 1));
    // A grid from a property is checked like a grid from definitions.
    let shape = Shape::of(&[600, 600, 600]).expect("below the cells of any grid");
    let error = Topology::from_metadata(&one, "BGP Coords", Some(shape)).map(drop);
    assert_eq!(error, refused(216_000_000, 1));
}

#[test]
fn grids_are_built_from_tables_and_texts() {
    let texts = ["(1,2)", "coordinates 0 1", "x=0 y=0"];
    let table: Vec<Vec<usize>> = texts
        .iter()
        .filter_map(|text| coordinates_in(text))
        .collect();
    let entries = table
        .iter()
        .enumerate()
        .map(|(at, row)| (LocationId(at as u32), row.as_slice()));
    let grid = Topology::from_table(shape(&[2, 3]), 3, entries);
    assert_eq!(
        grid.occupants(),
        [(0, LocationId(2)), (1, LocationId(1)), (5, LocationId(0))]
    );
    assert_eq!(coordinates_in("99999999999999999999999"), None);
}

#[test]
fn grids_are_built_from_metadata() {
    let at = |text: &str| Properties::from([("BGP Coords", text)]);
    let node = |text: &str| SystemNode {
        properties: at(text),
        ..Default::default()
    };
    let group = |node, properties| LocationGroup {
        parent: Some(SystemNodeId(node)),
        properties,
        ..Default::default()
    };
    let location = |group, key, properties| Location {
        group: Some(LocationGroupId(group)),
        key,
        properties,
        ..Default::default()
    };
    let none = Properties::new;
    let system = SystemTree::new(
        vec![node("(0,0,1)"), node("unknown")],
        vec![group(0, none()), group(0, at("(2,0,0)")), group(1, none())],
        vec![
            // Coordinates of the node, of the process, of the location itself, and none at all.
            location(0, 0, none()),
            location(1, 1, none()),
            location(1, 2, at("(1,1,0)")),
            location(2, 3, none()),
            location(2, 4, at("(1,1)")),
        ],
        &Limits::default(),
    )
    .expect("a tree");
    let grid = Topology::from_metadata(&system, "BGP Coords", None).expect("coordinates");
    assert_eq!(
        (grid.shape().lens(), grid.name()),
        (vec![3, 2, 2], "BGP Coords")
    );
    let cells: Vec<_> = (0..5).map(|id| grid.cell(LocationId(id))).collect();
    assert_eq!(cells, [Some(1), Some(8), Some(6), None, None]);
    let check = grid.check();
    assert_eq!((check.placed, check.unplaced, check.outside), (3, 1, 1));
    let small = Topology::from_metadata(&system, "BGP Coords", Some(shape(&[2, 2, 2])));
    let small = small.expect("coordinates");
    assert_eq!((small.check().placed, small.check().outside), (2, 2));
    let error = Topology::from_metadata(&system, "BGQ Coords", None).unwrap_err();
    assert!(error.to_string().contains("`BGQ Coords`"), "{error}");
}

#[test]
fn axes_are_permuted_split_joined_and_sliced() {
    let lens = [4, 3, 2];
    let grid = Topology::by_order(shape(&lens), AxisOrder::LastFastest, 24);
    let view = counting(24);
    let at = |topology: &Topology, at: &[usize]| topology.view(&view).expect("a view").get(at);
    let turned = grid.permute(&[2, 0, 1]).expect("a permutation");
    assert_eq!(
        (turned.shape().lens(), at(&turned, &[1, 3, 2])),
        (vec![2, 4, 3], at(&grid, &[3, 2, 1]))
    );
    assert!(matches!(
        grid.permute(&[0, 0, 1]),
        Err(Error::Permutation { .. })
    ));
    assert!(grid.permute(&[0, 1]).is_err() && grid.permute(&[0, 1, 5]).is_err());
    let split = grid.split(0, &[2, 2]).expect("2 x 2 = 4");
    assert_eq!(
        (split.shape().lens(), at(&split, &[1, 1, 2, 1])),
        (vec![2, 2, 3, 2], at(&grid, &[3, 2, 1]))
    );
    assert!(grid.split(0, &[3, 2]).is_err() && grid.split(3, &[1]).is_err());
    assert_eq!(split.join(0..2).expect("two axes").shape(), grid.shape());
    assert!(grid.join(1..1).is_err() && grid.join(2..4).is_err());
    let slice = grid.slice(1, 2).expect("within");
    assert_eq!(
        (slice.shape().lens(), at(&slice, &[3, 1])),
        (vec![4, 2], at(&grid, &[3, 2, 1]))
    );
    assert_eq!((slice.check().placed, slice.check().unplaced), (8, 16));
    assert!(matches!(
        grid.slice(1, 3),
        Err(Error::OutOfRange {
            axis: 1,
            at: 3,
            len: 3
        })
    ));
    let large = grid.embed(shape(&[5, 4, 3]), &[1, 1, 1]).expect("it fits");
    assert_eq!(
        (large.check().missing, at(&large, &[4, 3, 2])),
        (36, at(&grid, &[3, 2, 1]))
    );
    assert!(grid.embed(shape(&[5, 4, 3]), &[2, 1, 1]).is_err());
}

/// Reference implementation: for each cell of the result, visits every cell of the grid on its
/// line.
#[test]
fn aggregate_matches_the_reference_along_any_axis() {
    let lens = [3, 2, 4, 2];
    let shape = shape(&lens);
    let values: Vec<f64> = (0..shape.cells())
        .map(|cell| (cell * 37 % 23) as f64)
        .collect();
    let mask: Vec<bool> = (0..shape.cells())
        .map(|cell| cell % 5 != 0 && cell < 40)
        .collect();
    let grid = Grid::new(shape.clone(), values, mask).expect("lengths");
    for axis in 0..lens.len() {
        let mean = grid.aggregate(axis, Aggregate::Mean).expect("an axis");
        let spread = grid.aggregate(axis, Aggregate::Spread).expect("an axis");
        let max = grid.aggregate(axis, Aggregate::Max).expect("an axis");
        assert_eq!(mean.shape().axes().len(), lens.len() - 1);
        for cell in 0..mean.shape().cells() {
            let rest: Vec<usize> = mean.shape().coordinates(cell).collect();
            let line: Vec<f64> = (0..lens[axis])
                .filter_map(|at| {
                    let mut full = rest.clone();
                    full.insert(axis, at);
                    grid.get(&full)
                })
                .collect();
            let most = line.iter().copied().reduce(f64::max);
            let least = line.iter().copied().reduce(f64::min);
            assert_eq!(max.get(&rest), most);
            assert_eq!(spread.get(&rest), most.zip(least).map(|(a, b)| a - b));
            let sum = line.iter().sum::<f64>() / line.len() as f64;
            assert_eq!(mean.get(&rest), (!line.is_empty()).then_some(sum));
        }
        for at in 0..lens[axis] {
            let slice = grid.slice(axis, at).expect("within");
            for cell in 0..slice.shape().cells() {
                let rest: Vec<usize> = slice.shape().coordinates(cell).collect();
                let mut full = rest.clone();
                full.insert(axis, at);
                assert_eq!(slice.get(&rest), grid.get(&full));
            }
        }
    }
}

/// Cells around an embedded part take the value of the fill rule.
#[test]
fn embedded_parts_are_filled_by_a_rule() {
    let part = Topology::by_order(shape(&[2, 2]), AxisOrder::LastFastest, 4);
    let whole = part.embed(shape(&[3, 4]), &[1, 2]).expect("it fits");
    assert_eq!((whole.check().placed, whole.check().missing), (4, 8));
    let view = Severities::F64(vec![1.0, 2.0, 3.0, 6.0]);
    let grid = whole.view(&view).expect("four");
    for (rule, around) in [
        (Fill::Mean, 3.0),
        (Fill::Zero, 0.0),
        (Fill::Value(-7.5), -7.5),
    ] {
        let filled = grid.clone().filled(rule);
        let expected = [
            [around; 4],
            [around, around, 1.0, 2.0],
            [around, around, 3.0, 6.0],
        ];
        assert_eq!(filled.values(), expected.concat());
        // Filling does not place locations, so the mask still shows the gaps.
        assert_eq!(filled.missing(), 8);
    }
    let grid = Grid::new(shape(&[2]), vec![0.0; 2], vec![false; 2]).expect("lengths");
    assert_eq!(grid.filled(Fill::Mean).values(), [0.0, 0.0]);
}

#[test]
fn grids_are_filled_aggregated_and_cut() {
    let axes = vec![Axis::new("x", 2), Axis::new("y", 3)];
    let shape = Shape::new(axes).expect("a shape");
    let mask = vec![true, true, false, true, true, false];
    let grid = Grid::new(shape, vec![1.0, 5.0, 0.0, 3.0, 3.0, 0.0], mask).expect("lengths");
    assert_eq!(
        (grid.missing(), grid.mean(), grid.get(&[0, 2])),
        (2, 3.0, None)
    );
    assert_eq!(grid.clone().filled(Fill::Mean).values()[2], 3.0);
    assert_eq!(grid.clone().filled(Fill::Value(-1.0)).values()[5], -1.0);
    let over_y = |how| grid.aggregate(1, how).expect("an axis").into_parts().0;
    assert_eq!(over_y(Aggregate::Mean), [3.0, 3.0]);
    assert_eq!(over_y(Aggregate::Max), [5.0, 3.0]);
    assert_eq!(over_y(Aggregate::Min), [1.0, 3.0]);
    assert_eq!(over_y(Aggregate::Sum), [6.0, 6.0]);
    assert_eq!(over_y(Aggregate::Spread), [4.0, 0.0]);
    let over_x = grid.aggregate(0, Aggregate::Mean).expect("an axis");
    assert_eq!(
        (over_x.values(), over_x.mask()),
        (&[2.0, 4.0, 0.0][..], &[true, true, false][..])
    );
    assert_eq!(grid.slice(0, 1).expect("within").values(), [3.0, 3.0, 0.0]);
    let plane = grid.plane(1, 0, &[0, 0]).expect("two axes");
    assert_eq!(plane.columns, 2);
    assert_eq!(
        plane.cells,
        [Some(1.0), Some(3.0), Some(5.0), Some(3.0), None, None]
    );
    assert!(grid.plane(0, 2, &[0, 0]).is_err() && grid.plane(0, 1, &[0]).is_err());
}

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

#[test]
fn a_large_machine_is_placed_and_viewed() {
    let lens = [28, 8, 8, 8, 2, 16, 4];
    let grid = Topology::by_order(shape(&lens), AxisOrder::FirstFastest, 1_835_008);
    assert!(grid.check().is_perfect());
    let mut values = vec![0.0; 1_835_008];
    grid.view_into(&counting(1_835_008), &mut values)
        .expect("lengths");
    // Rank 28 is the first one in the second row.
    assert_eq!(
        values[grid.shape().cell(&[0, 1, 0, 0, 0, 0, 0]).expect("a cell")],
        28.0
    );
    let turned = grid.permute(&[6, 5, 4, 3, 2, 1, 0]).expect("a permutation");
    turned
        .view_into(&counting(1_835_008), &mut values)
        .expect("lengths");
    assert!(
        values
            .iter()
            .enumerate()
            .all(|(cell, value)| cell as f64 == *value)
    );
}

proptest! {
    #[test]
    fn cells_and_coordinates_agree(lens in prop::collection::vec(1usize..6, 1..6)) {
        let shape = shape(&lens);
        for cell in 0..shape.cells() {
            let at: Vec<usize> = shape.coordinates(cell).collect();
            prop_assert_eq!(shape.cell(&at), Some(cell));
        }
    }

    #[test]
    fn balanced_lengths_are_a_product_and_the_best(count in 1usize..400, axes in 1usize..4) {
        let lens = balanced(count, axes);
        prop_assert_eq!(lens.iter().product::<usize>(), count);
        prop_assert!(lens.windows(2).all(|two| two[0] >= two[1]));
        // No other product has a shorter longest axis.
        let longest = lens[0];
        let better = match axes {
            1 => false,
            2 => (1..longest).any(|a| count % a == 0 && count / a < longest),
            _ => (1..longest).any(|a| count % a == 0
                && (1..longest).any(|b| (count / a) % b == 0 && count / a / b < longest)),
        };
        prop_assert!(!better, "{:?}", lens);
    }

    #[test]
    fn permuting_back_is_nothing(lens in prop::collection::vec(1usize..5, 3), locations in 0usize..80) {
        let grid = Topology::by_order(shape(&lens), AxisOrder::FirstFastest, locations);
        let there = grid.permute(&[2, 0, 1]).expect("a permutation");
        let back = there.permute(&[1, 2, 0]).expect("a permutation");
        prop_assert_eq!(back.shape(), grid.shape());
        for location in 0..locations as u32 {
            prop_assert_eq!(back.cell(LocationId(location)), grid.cell(LocationId(location)));
        }
    }
}
