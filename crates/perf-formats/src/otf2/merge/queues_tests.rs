//! Tests that [`Queues`] returns the events of several streams in the same order as sorting them
//! all by time.

use super::*;
use perf_core::RegionId;
use proptest::prelude::*;

/// Merges streams of times, decoding at most `block` events at once. The region of an event is its
/// index in the stream.
fn merge(streams: &[Vec<u64>], block: usize, target: usize) -> Vec<(u64, u32, u32)> {
    let mut queues = Queues::new(
        (0..streams.len() as u32)
            .map(LocationId)
            .collect::<Vec<_>>()
            .into_iter(),
    );
    queues.target = target;
    let mut at = vec![0; streams.len()];
    let mut merged = Vec::new();
    loop {
        queues
            .refill(|stream, events| {
                assert!(events.is_empty(), "a block is read into empty events");
                // Every third block is empty, as it is outside of a window.
                let (from, is_empty) = (at[stream] / 3 * block, at[stream] % 3 == 2);
                let from = from + usize::from(at[stream] % 3 == 1) * block.div_ceil(2);
                let len = [block.div_ceil(2), block / 2, 0][at[stream] % 3];
                at[stream] += 1;
                let times = streams[stream].iter().enumerate().skip(from).take(len);
                for (index, time) in times {
                    events.push_enter(Ticks(*time), RegionId(index as u32));
                }
                Ok(is_empty && from + len >= streams[stream].len())
            })
            .unwrap();
        if !queues.gather() {
            return merged;
        }
        while let Some(entry) = queues.pop() {
            let (id, time, event) = queues.event(entry).unwrap();
            let Event::Enter { region } = event else {
                panic!("all are enters")
            };
            merged.push((time.0, id.0, region.0));
        }
    }
}

fn sorted(streams: &[Vec<u64>]) -> Vec<(u64, u32, u32)> {
    let mut all = Vec::new();
    for (stream, times) in (0..).zip(streams) {
        all.extend((0..).zip(times).map(|(index, time)| (*time, stream, index)));
    }
    all.sort_unstable();
    all
}

/// Generates times with gaps below `2^rate`, many of them 0, and an arbitrary start.
fn stream() -> impl Strategy<Value = Vec<u64>> {
    let gaps = (0u32..40).prop_flat_map(|rate| prop::collection::vec(0u64..1 << rate, 0..120));
    let few = prop::collection::vec(0u64..3, 0..60);
    (
        prop_oneof![gaps, few],
        prop_oneof![Just(0), 0u64..5000, Just(u64::MAX - 9)],
    )
        .prop_map(|(gaps, start)| {
            let mut now = start;
            let step = |gap: u64| {
                now = now.saturating_add(gap);
                now
            };
            gaps.into_iter().map(step).collect()
        })
}

proptest! {
    #[test]
    fn merging_is_sorting(
        streams in prop::collection::vec(stream(), 0..12), block in 1usize..40, target in 1usize..99,
    ) {
        prop_assert_eq!(merge(&streams, block, target), sorted(&streams));
    }
}

#[test]
fn a_large_batch_is_sorted_by_digits() {
    let times = |stream: u64| (0..4000).map(move |at| at * (90 + stream) / 7).collect();
    let streams: Vec<Vec<u64>> = (0..30).map(times).collect();
    assert_eq!(merge(&streams, 1000, 1 << 15), sorted(&streams));
}

#[test]
fn a_failure_loses_nothing() {
    let mut queues = Queues::new([LocationId(3), LocationId(5)].into_iter());
    let mut calls = 0;
    let mut fill = |_: usize, events: &mut Events| {
        calls += 1;
        if calls % 2 == 1 {
            return Err(perf_core::Cancelled.into());
        }
        events.push_enter(Ticks(calls), RegionId(0));
        Ok(calls > 6)
    };
    let (mut failures, mut times) = (0, Vec::new());
    loop {
        while queues.refill(&mut fill).is_err() {
            failures += 1;
        }
        if !queues.gather() {
            break;
        }
        while let Some(entry) = queues.pop() {
            times.extend(queues.event(entry).map(|(_, time, _)| time.0));
        }
    }
    assert!(failures > 1);
    assert_eq!(
        times,
        (1..=times.len() as u64)
            .map(|at| 2 * at)
            .collect::<Vec<_>>()
    );
}
