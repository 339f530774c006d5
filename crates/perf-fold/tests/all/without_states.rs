//! Streams that recorded no states are in no share.

use perf_core::{
    Cell, Definitions, Event, Events, Job, Location, LocationKind, Region, RegionId, SystemTree,
    Ticks, TimeRange, Trace,
};
use perf_fold::{Folder, GroupBy, Groups, RegionMap, State, Timelines, Usage};

/// Returns four threads, of which the second works in one half of its time, and the others record nothing.
fn trace() -> Trace {
    let locations = (0..4).map(|key| Location {
        name: format!("thread {key}"),
        key,
        ..Location::default()
    });
    let mut definitions = Definitions::default();
    definitions.regions = ["outer", "work"].map(Region::named).to_vec();
    definitions.system = SystemTree::new(vec![], vec![], locations.collect(), &Default::default())
        .expect("a good tree");
    let events = (0..4).map(|at| {
        let mut events = Events::default();
        let region = RegionId(1);
        for begin in (0..100).step_by(20).filter(|_| at == 1) {
            for (time, event) in [
                (begin, Event::Enter { region }),
                (begin + 10, Event::Leave { region }),
            ] {
                events.push(Ticks(time), event).expect("in order");
            }
        }
        events
    });
    Trace::new(definitions, events.collect()).expect("a good trace")
}

#[test]
fn shares_are_of_the_streams_with_states() {
    let (trace, job) = (trace(), Job::default());
    let map = RegionMap::by_name(trace.definitions()).unwrap();
    let timelines = Timelines::new(trace.view(), &map, &job).unwrap();
    let recorded: Vec<bool> = (0..5).map(|it| timelines.has_states(it)).collect();
    assert_eq!(recorded, [false, true, false, false, false]);
    let window = TimeRange {
        start: Ticks(0),
        end: Ticks(80),
    };
    let groups = Groups::by(&timelines, GroupBy::All);
    let folder = Folder::new(&timelines, groups, Default::default()).unwrap();
    let usage = folder.usage(window, &job).unwrap();
    assert_eq!(usage.len(), 1);
    assert_eq!(usage[0].without_states, 3);
    assert_eq!(usage[0].busy_share(LocationKind::CpuThread), 0.5);
    assert_eq!(usage[0].share_of(State::Absent), 0.0);
    assert_eq!(usage[0].share_of(State::Idle), 0.5);
    // The sums of streams agree, also in a window in which the only stream with states is not recorded.
    let shares = folder.busy_shares(window, &job).unwrap();
    assert_eq!(
        (shares[0].without_states, &shares[0].times),
        (3, &usage[0].times)
    );
    let after = TimeRange {
        start: Ticks(200),
        end: Ticks(300),
    };
    let usage_after = Usage::of(&timelines, &[0, 1, 2, 3, 9], after, &job).unwrap();
    assert_eq!(usage_after.times, [(State::Absent, 100)]);
    assert_eq!(usage_after.without_states, 4);
    let [utilisation, _] = folder.usage_tables(&usage);
    assert_eq!(
        utilisation.cell(0, "without states"),
        Some(Cell::Unsigned(3))
    );
    assert_eq!(utilisation.text_of(0, "busy share"), "50 %");
}
