//! Construction of topologies, detection of defects, and operations.

mod construction;
mod profiles;

use perf_core::{
    GroupKind, Limits, Location, LocationGroup, LocationGroupId, LocationId, LocationKind,
    Severities, SystemNode, SystemNodeId, SystemTree,
};
use perf_topology::{
    Aggregate, Axis, AxisOrder, Error, Fill, Grid, MAX_CELLS, Shape, Topology, balanced,
};
use proptest::prelude::*;

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
