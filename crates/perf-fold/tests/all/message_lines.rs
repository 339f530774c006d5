//! Lines of messages between the rows of a fold.

use crate::folders::timelines;
use perf_core::{Job, LocationId, Ticks, TimeRange};
use perf_fold::{Column, Folder, GroupBy, Groups, Line, RegionMap, Timelines};

#[test]
fn lines_are_bundled_by_row_and_pixel() {
    let timelines = timelines();
    let groups = Groups::by(&timelines, GroupBy::Process);
    let params = Folder::params().columns(10).check().unwrap();
    let folder = Folder::new(&timelines, groups, params).unwrap();
    let window = TimeRange::new(Ticks(100), Ticks(200)).unwrap();
    let line = |from, sent, to, received| Line {
        from: LocationId(from),
        sent: Ticks(sent),
        to: LocationId(to),
        received: Ticks(received),
        bytes: 10,
    };
    let lines = folder.lines(
        window,
        [
            line(0, 100, 2, 199), // rank 0 to rank 1, first to last pixel
            line(1, 109, 2, 190), // another thread, the same pixels
            line(1, 110, 2, 190), // the next pixel
            line(0, 120, 3, 130), // host to device is not inside a row
            line(0, 120, 1, 130), // inside rank 0
            line(0, 10, 2, 99),   // over before the window
            line(0, 200, 2, 300), // begun after it
            line(0, 10, 2, 300),  // passes over it
            line(0, 120, 6, 130), // to the metric source
            line(0, 120, 99, 130),
        ],
    );
    let found = lines.bundles.iter().map(|(ends, traffic)| {
        (
            ends.from_row,
            ends.from,
            ends.to_row,
            ends.to,
            traffic.count,
            traffic.bytes,
        )
    });
    let at = Column::At;
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            (0, Column::Before, 2, Column::After, 1, 10),
            (0, at(0), 2, at(9), 2, 20),
            (0, at(1), 2, at(9), 1, 10),
            (0, at(2), 1, at(3), 1, 10),
        ]
    );
    assert_eq!(
        (
            lines.inside.count,
            lines.outside.count,
            lines.elsewhere.count
        ),
        (1, 2, 2)
    );
}

#[test]
fn every_message_is_counted_once() {
    let trace = perf_testdata::many_ranks::trace(8, 2_000);
    let map = RegionMap::by_name(trace.definitions()).unwrap();
    let timelines = Timelines::new(trace.view(), &map, &Job::default()).unwrap();
    let found = perf_core::match_messages(trace.view(), &Job::default()).unwrap();
    let count = |by| {
        let params = Folder::params().columns(50).check().unwrap();
        let folder = Folder::new(&timelines, Groups::by(&timelines, by), params).unwrap();
        let lines = folder.lines(timelines.range(), Line::of(&found));
        let between: u64 = lines.bundles.values().map(|traffic| traffic.count).sum();
        assert_eq!((lines.outside.count, lines.elsewhere.count), (0, 0));
        assert_eq!(between + lines.inside.count, found.messages.len() as u64);
        between
    };
    // A ring of eight ranks on one node.
    assert_eq!(count(GroupBy::Process), found.messages.len() as u64);
    assert_eq!(count(GroupBy::Node), 0);
}
