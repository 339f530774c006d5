//! Conversion of grids of a trace: ranks of a communicator become processes.

use perf_core::Job;
use perf_core::*;

/// Returns four locations, optionally in processes of their own, and a grid of two ranks over
/// locations 3 and 1.
fn trace(with_processes: bool, members: Members) -> Trace {
    let groups = if with_processes {
        vec![LocationGroup::default(); 4]
    } else {
        vec![]
    };
    let location = |at: u32| Location {
        // Process 0 is that of the last location.
        group: with_processes.then_some(LocationGroupId(3 - at)),
        key: at.into(),
        ..Location::default()
    };
    let locations = (0..4).map(location).collect();
    let mut definitions = Definitions::default();
    definitions.system = SystemTree::new(vec![], groups, locations, &Limits::default()).unwrap();
    definitions.comms = vec![Communicator {
        members,
        ..Communicator::default()
    }];
    definitions.topologies = vec![CartTopology {
        name: "ring".into(),
        comm: Some(CommId(0)),
        dimensions: vec![CartDimension {
            size: 2,
            ..CartDimension::default()
        }],
        coordinates: vec![(0, vec![1]), (1, vec![0]), (2, vec![1])],
        ..CartTopology::default()
    }];
    let events = (0..4).map(|_| Events::default()).collect();
    Trace::new(definitions, events).unwrap()
}

fn grid(trace: &Trace) -> CartTopology {
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
    profile.topologies()[0].clone()
}

#[test]
fn ranks_become_processes_or_locations() {
    let members = Members::Ranks(vec![Some(LocationId(3)), Some(LocationId(1)), None]);
    let processes = grid(&trace(true, members.clone()));
    assert_eq!(processes.of, CartMembers::Groups);
    assert_eq!(processes.comm, None);
    // Rank 0 is location 3, in process 0; rank 2 is unknown in the recording.
    assert_eq!(processes.coordinates, [(0, vec![1]), (2, vec![0])]);
    let locations = grid(&trace(false, members));
    assert_eq!(locations.of, CartMembers::Locations);
    assert_eq!(locations.coordinates, [(3, vec![1]), (1, vec![0])]);
    let unknown = trace(true, Members::Unknown);
    assert_eq!(grid(&unknown), unknown.definitions().topologies[0]);
}
