//! Tests of files with many chunks, in both byte orders: threads, windows and lost anchors.

use perf_core::{Events, Job, Ticks, TimeRange, Trace};
use perf_formats::OpenOptions;
use perf_formats::otf2::{ByteOrder, MemoryArchive, Reader, WriteOptions, rules, write};
use perf_testdata::many_ranks;
use std::ops::ControlFlow;

const CHUNK: u64 = 1 << 16;

fn archive(trace: &Trace, order: ByteOrder, chunk: u64) -> MemoryArchive {
    let options = WriteOptions::default()
        .with_order(order)
        .with_chunks(chunk, 1 << 20);
    let mut members = MemoryArchive::default();
    let lost = write(trace.view(), &mut members, &options, &Default::default()).unwrap();
    assert!(lost.is_empty(), "{lost}");
    members
}

fn read(members: &MemoryArchive, options: OpenOptions) -> (Trace, perf_core::Diagnostics) {
    Reader::new(members, &options, &Job::default())
        .unwrap()
        .read()
        .unwrap()
}

#[test]
fn both_byte_orders_and_all_threads_read_the_same() {
    let trace = many_ranks::trace(3, 30_000);
    let little = archive(&trace, ByteOrder::Little, CHUNK);
    assert!(little.get("traces/0.evt").unwrap().len() > 5 * CHUNK as usize);
    let (one, found) = read(&little, OpenOptions::new().threads(1));
    assert_eq!(one.events(), trace.events());
    assert_eq!(found.repairs(), 0, "{found}");
    for threads in [2, 8] {
        let many = read(&little, OpenOptions::new().threads(threads));
        assert_eq!(many, (one.clone(), found.clone()));
    }
    let big = archive(&trace, ByteOrder::Big, CHUNK);
    let (swapped, _) = read(&big, OpenOptions::new());
    assert_eq!(swapped.events(), one.events());
}

#[test]
fn the_merged_stream_crosses_chunks() {
    let trace = many_ranks::trace(3, 30_000);
    let members = archive(&trace, ByteOrder::Little, CHUNK);
    let reader = Reader::new(&members, &OpenOptions::new(), &Job::default()).unwrap();
    let mut merged = reader.merged().unwrap();
    let mut times: Vec<Vec<Ticks>> = vec![Vec::new(); 3];
    let mut last = (Ticks(0), 0);
    while let Some((location, at, _)) = merged.next().unwrap() {
        assert!(last <= (at, location.index()) || last.0 < at);
        last = (at, location.index());
        times[location.index()].push(at);
    }
    for (times, events) in times.iter().zip(trace.events()) {
        assert_eq!(times, events.times());
    }
}

#[test]
fn windows_skip_chunks() {
    let trace = many_ranks::trace(2, 30_000);
    let members = archive(&trace, ByteOrder::Little, CHUNK);
    let range = trace.range().unwrap();
    for (from, to) in [(0, 1), (30, 34), (60, 64), (63, 64), (10, 11)] {
        let part = |share: u64| Ticks(range.start.0 + range.len() / 64 * share);
        let window = TimeRange::new(part(from), part(to)).unwrap();
        let (some, _) = read(&members, OpenOptions::new().window(window));
        for (whole, cut) in trace.events().iter().zip(some.events()) {
            assert_eq!(whole.times().get(whole.range(window)), Some(cut.times()));
        }
    }
}

#[test]
fn the_size_of_chunks_is_found_without_an_anchor() {
    let trace = many_ranks::trace(2, 30_000);
    for chunk in [CHUNK, 3 * CHUNK] {
        let mut members = archive(&trace, ByteOrder::Little, chunk);
        members.remove("traces.otf2");
        let (salvaged, found) = read(&members, OpenOptions::new());
        assert_eq!(salvaged.events(), trace.events());
        assert_eq!(found.count(rules::CHUNK_SIZE), 2);
    }
}

/// A lone jump at the start of a chunk is an outlier, whether the chunk is decoded independently or
/// in sequence.
#[test]
fn a_lone_jump_in_time_between_chunks_is_repaired_by_any_number_of_threads() {
    let trace = many_ranks::trace(1, 30_000);
    let mut members = archive(&trace, ByteOrder::Little, CHUNK);
    let bytes = members.get_mut("traces/0.evt").unwrap();
    // The first time of the third chunk is damaged.
    let at = 2 * CHUNK as usize + 18;
    assert_eq!(bytes[at], 5);
    bytes[at + 7] = 1;
    let (one, found) = read(&members, OpenOptions::new().threads(1));
    assert_eq!(found.count(rules::TIME_JUMP), 1);
    assert_eq!(found.repairs(), 1, "{found}");
    assert_eq!(one.len(), trace.len());
    let (times, truth) = (one.events()[0].times(), trace.events()[0].times());
    let differ = times
        .iter()
        .zip(truth)
        .filter(|(time, truth)| time != truth);
    assert!(differ.count() < 8);
    assert_eq!(one.range().unwrap().end, trace.range().unwrap().end);
    for threads in [2, 8] {
        let many = read(&members, OpenOptions::new().threads(threads));
        assert_eq!(many, (one.clone(), found.clone()));
    }
}

#[test]
fn a_damaged_chunk_header_loses_nothing_and_a_cut_file_its_end() {
    let trace = many_ranks::trace(1, 30_000);
    let mut members = archive(&trace, ByteOrder::Little, CHUNK);
    let size = members.get("traces/0.evt").unwrap().len();
    members.get_mut("traces/0.evt").unwrap()[CHUNK as usize] = 9;
    let (some, found) = read(&members, OpenOptions::new());
    assert_eq!(found.count(rules::DAMAGED_CHUNK), 1);
    let place = found
        .iter()
        .next()
        .map(|(_, finding)| finding.places[0].clone());
    assert_eq!(place.unwrap().offset, Some(CHUNK));
    assert_eq!(some.events(), trace.events());

    members.get_mut("traces/0.evt").unwrap()[CHUNK as usize] = 3;
    members.get_mut("traces/0.evt").unwrap().truncate(size / 2);
    let (some, found) = read(&members, OpenOptions::new());
    assert_eq!(found.count(rules::TRUNCATED), 1);
    let whole: &Events = &trace.events()[0];
    let kept = some.events()[0].times();
    assert_eq!(whole.times().get(..kept.len()), Some(kept));
    assert!(kept.len() > whole.len() / 3);
}

#[test]
fn a_chunk_shorter_than_its_damaged_header_has_no_events() {
    let mut members = archive(&many_ranks::trace(1, 30), ByteOrder::Little, CHUNK);
    let file = members.get_mut("traces/0.evt").unwrap();
    file[0] = 9;
    file.truncate(12);
    let (trace, found) = read(&members, OpenOptions::new());
    assert!(trace.events()[0].is_empty());
    assert!(found.count(rules::DAMAGED_CHUNK) > 0, "{found}");
    let reader = Reader::new(&members, &OpenOptions::new(), &Job::default()).unwrap();
    let mut merged = reader.merged().unwrap();
    assert!(merged.next().unwrap().is_none());
}

#[test]
fn memory_is_refused_before_it_is_taken() {
    let trace = many_ranks::trace(4, 10_000);
    let members = archive(&trace, ByteOrder::Little, 1 << 20);
    let estimate = Reader::new(&members, &OpenOptions::new(), &Job::default())
        .unwrap()
        .estimate()
        .unwrap();
    assert_eq!(estimate.events, trace.len() as u64);
    let (read, _) = read(&members, OpenOptions::new());
    let used = read.memory() as u64;
    assert!(estimate.memory / 3 < used && used < estimate.memory * 3);
    let limits = perf_core::Limits::default().with_memory(estimate.memory / 2);
    let reader = Reader::new(
        &members,
        &OpenOptions::new().limits(limits),
        &Job::default(),
    )
    .unwrap();
    let error = reader.read().unwrap_err();
    assert!(
        matches!(error, perf_formats::Error::Limit { .. }),
        "{error}"
    );
}

#[test]
fn a_visit_may_end_the_merged_stream() {
    let trace = many_ranks::trace(3, 1_000);
    let members = archive(&trace, ByteOrder::Little, CHUNK);
    // An archive in memory consists of its members.
    let names = [
        "traces.otf2",
        "traces.def",
        "traces/0.evt",
        "traces/1.evt",
        "traces/2.evt",
    ];
    let one = |name: &str| Some((name.to_string(), members.get(name)?.to_vec()));
    let members: MemoryArchive = names.into_iter().filter_map(one).collect();
    let visited = |most: usize| {
        let (reader, mut count) = (
            Reader::new(&members, &OpenOptions::new(), &Job::default()).unwrap(),
            0,
        );
        let visit = |_, _, _: perf_core::Event<'_>| {
            count += 1;
            if count == most {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        reader.merged().unwrap().for_each(visit).unwrap();
        count
    };
    assert_eq!((visited(10), visited(usize::MAX)), (10, trace.len()));
}

/// A lone jump in the middle of a location, at its end, and in its first timestamp. A pause is not
/// an outlier.
#[test]
fn a_lone_jump_in_time_is_an_outlier_and_a_pause_is_not() {
    let trace = many_ranks::trace(2, 3_000);
    let members = archive(&trace, ByteOrder::Little, 1 << 20);
    let bytes = members.get("traces/0.evt").unwrap();
    let mut stamps = Vec::new();
    let mut at = 18;
    while bytes[at] == 5 {
        stamps.push(at);
        // A timestamp of nine bytes, and an enter or leave.
        let is_call = matches!(bytes[at + 9], 12 | 13);
        let payload = bytes[at + 10] as usize;
        assert!(is_call || payload < 255);
        at += 11 + payload;
    }
    assert!(stamps.len() > 1_000);
    let end = trace.range().unwrap().end;
    for stamp in [stamps[0], stamps[stamps.len() / 2], *stamps.last().unwrap()] {
        let mut damaged = members.clone();
        // A jump of 167 days.
        damaged.get_mut("traces/0.evt").unwrap()[stamp + 7] |= 0x33;
        for threads in [1, 2] {
            let (some, found) = read(&damaged, OpenOptions::new().threads(threads));
            assert_eq!(found.count(rules::TIME_JUMP), 1, "{found}");
            assert_eq!(found.repairs(), 1, "{found}");
            assert_eq!(some.len(), trace.len());
            assert!(some.range().unwrap().end <= end);
        }
        let reader = Reader::new(&damaged, &OpenOptions::new(), &Job::default()).unwrap();
        let mut merged = reader.merged().unwrap();
        let mut last = Ticks(0);
        while let Some((_, time, _)) = merged.next().unwrap() {
            last = time;
        }
        assert!(last <= end);
        assert_eq!(merged.diagnostics().count(rules::TIME_JUMP), 1);
    }
    // All timestamps from one on are shifted: a pause in one location only.
    let mut paused = members.clone();
    let bytes = paused.get_mut("traces/0.evt").unwrap();
    for stamp in &stamps[stamps.len() / 2..] {
        bytes[stamp + 7] |= 0x33;
    }
    let (some, found) = read(&paused, OpenOptions::new());
    assert_eq!(found.repairs(), 0, "{found}");
    assert!(some.range().unwrap().end > end);
}

#[test]
fn a_damaged_anchor_is_repaired_as_a_missing_one() {
    let trace = many_ranks::trace(2, 30_000);
    let members = archive(&trace, ByteOrder::Little, CHUNK);
    let anchor = members.get("traces.otf2").unwrap().to_vec();
    let half = anchor[..anchor.len() / 2].to_vec();
    let mut garbled = anchor.clone();
    garbled[3] = b'?';
    for (damaged, what) in [(half, "half"), (garbled, "garbled"), (Vec::new(), "empty")] {
        let mut members = members.clone();
        members.insert("traces.otf2", damaged);
        let (some, found) = read(&members, OpenOptions::new());
        assert_eq!(some.events(), trace.events(), "{what}");
        assert_eq!(found.count(rules::DAMAGED_ANCHOR), 1, "{what}");
        let of_anchor = found
            .iter()
            .find(|(rule, _)| *rule == rules::DAMAGED_ANCHOR);
        let place = of_anchor.unwrap().1.places[0].clone();
        assert_eq!(&*place.file, "traces.otf2");
        assert!(place.offset.is_some(), "{place}");
    }
    // Only the chunk size is wrong, which causes no error by itself.
    let mut members = members.clone();
    members.get_mut("traces.otf2").unwrap()[13] ^= 1;
    let (some, _) = read(&members, OpenOptions::new());
    assert_eq!(some.events(), trace.events());
    // Without other files, the error of the anchor is returned.
    let alone = [("traces.otf2".to_string(), anchor[..9].to_vec())];
    let alone: MemoryArchive = alone.into_iter().collect();
    let error = Reader::new(&alone, &OpenOptions::new(), &Job::default()).unwrap_err();
    assert!(
        error.to_string().starts_with("traces.otf2, byte "),
        "{error}"
    );
}

#[test]
fn damaged_definitions_cost_few_of_them() {
    let trace = many_ranks::trace(2, 1_000);
    let members = archive(&trace, ByteOrder::Little, CHUNK);
    let whole = Reader::new(&members, &OpenOptions::new(), &Job::default()).unwrap();
    let count = whole.definition_file().len();
    let bytes = members.get("traces.def").unwrap().to_vec();
    for at in (18..bytes.len() - 2).step_by(7) {
        for value in [0, 1, 3, 0xFF, bytes[at] ^ 0x40] {
            let mut damaged = members.clone();
            damaged.get_mut("traces.def").unwrap()[at] = value;
            let Ok(reader) = Reader::new(&damaged, &OpenOptions::new(), &Job::default()) else {
                continue;
            };
            let left = reader.definition_file().len();
            assert!(left + 8 > count, "{at} {value}: {left} of {count}");
        }
    }
}
