//! Grids from orders of ranks, system trees, definitions, tables, texts and metadata.

use super::{counting, machine, shape};
use perf_core::{
    CartDimension, CartTopology, Limits, Location, LocationGroup, LocationGroupId, LocationId,
    Members, Properties, Severities, SystemNode, SystemNodeId, SystemTree,
};
use perf_topology::{AxisOrder, Error, Place, Ranks, Shape, Topology, coordinates_in};

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

/// Recordings list processes in any order, for example by node, and may lack some.
#[test]
fn processes_lie_at_their_ranks() {
    let of = |ranks: &[u32], node: fn(u32) -> u32| {
        let process = |rank: &u32| LocationGroup {
            properties: [("rank", rank.to_string())].into(),
            parent: Some(SystemNodeId(node(*rank))),
            ..LocationGroup::default()
        };
        let thread = |at: u32| Location {
            key: at.into(),
            group: Some(LocationGroupId(at)),
            ..Location::default()
        };
        let nodes = vec![SystemNode::default(); 2];
        let groups = ranks.iter().map(process).collect();
        let threads = (0..ranks.len() as u32).map(thread).collect();
        SystemTree::new(nodes, groups, threads, &Limits::default()).expect("a tree")
    };
    let cells = |grid: &Topology| {
        (0..4)
            .map(|at| grid.cell(LocationId(at)))
            .collect::<Vec<_>>()
    };
    let by_process = |ranks: &[u32], lens: &[usize]| {
        let system = of(ranks, |_| 0);
        cells(&Topology::by_process(
            shape(lens),
            AxisOrder::LastFastest,
            &system,
        ))
    };
    let cyclic = [0, 2, 1, 3].map(Some);
    assert_eq!(by_process(&[0, 2, 1, 3], &[2, 2]), cyclic);
    // Rank 0 is missing, so that its cell is empty.
    assert_eq!(by_process(&[3, 2, 1], &[2, 2])[..3], [3, 2, 1].map(Some));
    // Numbers past the last cell give only the order.
    assert_eq!(by_process(&[40, 20, 10, 30], &[4]), [3, 1, 0, 2].map(Some));
    let system = of(&[1, 3, 0, 2], |rank| rank % 2);
    let grid = Topology::from_system(&system, &[Place::Node, Place::Process]).expect("a shape");
    assert_eq!(cells(&grid), [2, 3, 0, 1].map(Some));
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
