//! Tests that reading, writing and reading again returns the same trace, also for cuts.

use perf_core::Job;
use perf_core::*;
use perf_formats::OpenOptions;
use perf_formats::otf2::{
    self, ATTRIBUTE_NOT_WRITTEN, ByteOrder, Cut, EVENT_NOT_WRITTEN, Reader, WriteOptions, cut,
    write,
};
use std::path::{Path, PathBuf};

/// Returns the bundled recordings, and those of the corpus if it is available.
fn archives() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings");
    let folders = |path: &Path| {
        let entries = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let mut all = folders(&own);
    if let Some(others) = perf_testdata::corpus::corpus("otf2") {
        all.extend(folders(&others));
    }
    all.sort();
    all
}

fn read(reader: &Reader<'_>) -> Trace {
    reader.read().unwrap().0
}

fn written(view: TraceView<'_>, options: &WriteOptions) -> (otf2::MemoryArchive, Diagnostics) {
    let mut archive = otf2::MemoryArchive::default();
    let lost = write(view, &mut archive, options, &Job::default()).unwrap();
    (archive, lost)
}

/// Returns the definitions without the properties of the writer and without the clock origin, which
/// a writer moves to the first event if that is earlier.
fn comparable(definitions: &Definitions) -> Definitions {
    let mut definitions = definitions.clone();
    definitions.properties.retain(|(key, _)| key.contains("::"));
    definitions.clock = Clock::default();
    definitions
}

#[test]
fn writing_and_reading_gives_the_same_trace() {
    for path in archives() {
        let original = read(&Reader::open(&path, &OpenOptions::new(), &Job::default()).unwrap());
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let options = WriteOptions::default()
                .with_order(order)
                .with_chunks(4096, 1 << 20);
            let (archive, lost) = written(original.view(), &options);
            let again = read(&Reader::new(archive, &OpenOptions::new(), &Job::default()).unwrap());
            let name = path.display();
            let (before, after) = (original.definitions(), again.definitions());
            assert_eq!(before.system, after.system, "{name}");
            assert_eq!(before.regions, after.regions, "{name}");
            assert_eq!(before.comms, after.comms, "{name}");
            assert_eq!(before.windows, after.windows, "{name}");
            assert_eq!(before.metrics, after.metrics, "{name}");
            assert_eq!(before.topologies, after.topologies, "{name}");
            let dropped = lost.count(EVENT_NOT_WRITTEN);
            assert_eq!(
                original.len() as u64,
                again.len() as u64 + dropped,
                "{name}"
            );
            if dropped > 0 {
                continue;
            }
            for (before, after) in original.view().locations().zip(again.view().locations()) {
                assert_eq!(before.times(), after.times(), "{name}");
                for ((_, before), (at, after)) in before.iter().zip(after.iter()) {
                    assert_eq!(before, after, "{name} at {at}");
                }
            }
            if lost.count(ATTRIBUTE_NOT_WRITTEN) == 0 {
                assert!(original.events() == again.events(), "{name}: events differ");
                assert_eq!(comparable(before), comparable(after), "{name}");
            }
        }
    }
}

/// Compares without `assert_eq`, because a trace is too large to print.
fn assert_same(before: &Trace, after: &Trace, path: &Path) {
    let name = path.display();
    assert!(before.events() == after.events(), "{name}: events differ");
    let (before, after) = (before.definitions(), after.definitions());
    assert_eq!(comparable(before), comparable(after), "{name}");
    assert_eq!(before.clock, after.clock, "{name}");
}

/// Nested frames and overlapping activities.
#[test]
fn a_window_is_balanced_and_what_lies_before_it_can_be_stopped() {
    const EVENTS: usize = 3 * CancellationChecks::EACH;
    for kind in [LocationKind::CpuThread, LocationKind::AcceleratorStream] {
        let mut definitions = Definitions::default();
        definitions.regions = ["a", "b", "c", "d", "e"].map(Region::named).to_vec();
        let location = Location {
            kind,
            ..Location::default()
        };
        let locations = vec![location];
        definitions.system =
            SystemTree::new(vec![], vec![], locations, &Limits::default()).unwrap();
        let mut events = Events::default();
        let mut random = 1_u64;
        for at in 0..EVENTS {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            let region = (random >> 40) as u32 % 5;
            let is_leave = (random >> 50).is_multiple_of(2);
            events.push_call(Ticks(at as u64), is_leave, RegionId(region));
        }
        let trace = Trace::new(definitions, vec![events]).unwrap();
        // The trace caches the result, so that each of the runs below does the same work.
        let location = trace.location(LocationId(0)).unwrap();
        let overlaps = location
            .overlaps(trace.definitions(), &Job::default())
            .unwrap();
        assert_eq!(overlaps, kind.may_overlap());
        let (from, to) = (EVENTS - 1_000, EVENTS - 500);
        let window = TimeRange::new(Ticks(from as u64), Ticks(to as u64)).unwrap();
        let options = WriteOptions::default();
        let ((archive, _), checks) = perf_testdata::cancel::checks(format!("{kind:?}"), |job| {
            let mut archive = otf2::MemoryArchive::default();
            let view = trace.view().between(window);
            let lost = write(view, &mut archive, &options, job)?;
            Ok::<_, perf_formats::Error>((archive, lost))
        });
        // One check for the location, and one for each of three pieces before the window and one in
        // it.
        assert!((4..=6).contains(&checks), "{checks}");
        let events = trace.location(LocationId(0)).unwrap().all();
        let open = |index| {
            if kind.may_overlap() {
                let mut open = OpenIntervals::default();
                for event in (0..index).filter_map(|index| events.event(index)) {
                    match event {
                        Event::Enter { region } => open.enter(region, ()),
                        Event::Leave { region } => drop(open.leave(region)),
                        _ => {}
                    }
                }
                open.iter().map(|(region, ())| region).collect()
            } else {
                open_frames(events, index)
            }
        };
        let enters = open(from).into_iter().map(|region| Event::Enter { region });
        let inside = (from..to).filter_map(|index| events.event(index));
        let leaves = open(to).into_iter().rev();
        let leaves = leaves.map(|region| Event::Leave { region });
        assert!(enters.len() > 0 && leaves.len() > 0);
        let again = read(&Reader::new(archive, &OpenOptions::new(), &Job::default()).unwrap());
        let again = again.location(LocationId(0)).unwrap();
        let written = again.iter().map(|(_, event)| event);
        assert!(written.eq(enters.chain(inside).chain(leaves)), "{kind:?}");
    }
}

#[test]
fn a_cut_of_everything_is_the_same_archive() {
    for path in archives() {
        let options = OpenOptions::new();
        let reader = Reader::open(&path, &options, &Job::default()).unwrap();
        let mut archive = otf2::MemoryArchive::default();
        cut(&reader, &Cut::new(), &mut archive, &Job::default()).unwrap();
        let again = Reader::new(archive, &options, &Job::default()).unwrap();
        assert_eq!(reader.definition_counts(), again.definition_counts());
        let (before, after) = (read(&reader), read(&again));
        assert_same(&before, &after, &path);
    }
}

#[test]
fn a_cut_holds_what_lies_in_it_and_is_balanced() {
    for path in archives() {
        let options = OpenOptions::new();
        let reader = Reader::open(&path, &options, &Job::default()).unwrap();
        let whole = read(&reader);
        let Some(range) = whole.range() else {
            continue;
        };
        let third = range.len() / 3;
        let window =
            TimeRange::new(Ticks(range.start.0 + third), Ticks(range.end.0 - third)).unwrap();
        let kept: Vec<_> = whole
            .definitions()
            .system
            .location_ids()
            .step_by(2)
            .collect();
        let selection = Cut::new()
            .window(window)
            .locations(kept.clone())
            .name("part");
        let mut archive = otf2::MemoryArchive::default();
        cut(&reader, &selection, &mut archive, &Job::default()).unwrap();
        let reader = Reader::new(archive, &options, &Job::default()).unwrap();
        assert_eq!(reader.name(), "part");
        let part = read(&reader);
        let name = path.display();
        assert_eq!(
            part.definitions().system.locations().len(),
            kept.len(),
            "{name}"
        );
        for id in kept {
            let before = whole.view().between(window).location(id).unwrap();
            let key = whole.definitions().system.location(id).unwrap().key;
            let own = part.definitions().system.by_key(key).unwrap();
            let after = part.location(own).unwrap();
            assert_eq!(
                reader.declared_events(own),
                Some(after.len() as u64),
                "{name}"
            );
            let profile = |view: LocationView<'_>| {
                let mut spans = Spans::default();
                let counts = replay(view, &mut spans, &Job::default()).unwrap();
                spans.closed.sort_unstable();
                (spans.closed, counts)
            };
            // The same frames, clipped at the window.
            let ((frames, old), (cut_frames, new)) = (profile(before), profile(after));
            let clip = |frames: Vec<(u32, u64, u64)>| {
                let inside = |(region, start, end): (u32, u64, u64)| {
                    let end = end.clamp(window.start.0, window.end.0 - 1);
                    (region, start.clamp(window.start.0, window.end.0 - 1), end)
                };
                let mut frames: Vec<_> = frames.into_iter().map(inside).collect();
                frames.sort_unstable();
                frames
            };
            let (frames, cut_frames) = (clip(frames), clip(cut_frames));
            assert_eq!(frames.len(), cut_frames.len(), "{name}");
            for (before, after) in frames.iter().zip(&cut_frames) {
                assert_eq!(before.0, after.0, "{name}");
                // A raw tick may be several corrected ones, so that an edge can be off by one.
                assert!(
                    before.1.abs_diff(after.1) <= 1,
                    "{name}: {before:?} {after:?}"
                );
                assert!(
                    before.2.abs_diff(after.2) <= 1,
                    "{name}: {before:?} {after:?}"
                );
            }
            assert_eq!(new.orphan, old.orphan, "{name}");
            // All other events are kept, in order.
            let others = |view: LocationView<'_>| {
                let is_call =
                    |event: &Event<'_>| matches!(event, Event::Enter { .. } | Event::Leave { .. });
                let others = view.iter().filter(|(_, event)| !is_call(event));
                others
                    .map(|(at, event)| format!("{at} {event:?}"))
                    .collect::<Vec<_>>()
            };
            assert_eq!(others(before), others(after), "{name}");
        }
    }
}

/// Frames as (region, start, end).
#[derive(Default)]
struct Spans {
    open: Vec<(u32, u64)>,
    closed: Vec<(u32, u64, u64)>,
}

impl Visitor for Spans {
    fn enter(&mut self, at: Ticks, region: RegionId, _: usize) {
        self.open.push((region.0, at.0));
    }

    fn leave(&mut self, at: Ticks, _: RegionId, _: usize, _: Close) {
        let (region, start) = self.open.pop().unwrap();
        self.closed.push((region, start, at.0));
    }
}
