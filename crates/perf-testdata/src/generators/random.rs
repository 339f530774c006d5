//! Random traces from a seed: small, deterministic, and with the defects of real ones.
//!
//! They contain leaves that do not match, zero-length regions, frames open at the end, recording
//! switched off, buffer flushes, locations without events or without an event file, several kinds
//! of locations, and devices in groups of their own and in those of their process.

use crate::xorshift::Xorshift;
use perf_core::{
    Definitions, Event, Events, GroupKind, Limits, Location, LocationGroup, LocationGroupId,
    LocationKind, Region, RegionId, SystemNode, SystemNodeId, SystemTree, Ticks, Trace,
};

/// Returns a random trace of up to `locations` locations with up to `events` events each, over
/// about twice as many ticks as events.
pub fn trace(seed: u64, locations: u32, events: u32) -> Trace {
    let mut random = Xorshift::new(seed);
    let count = 1 + random.below(u64::from(locations.max(1))) as u32;
    let regions = 1 + random.below(6) as u32;
    let mut definitions = Definitions::default();
    definitions.system = system(&mut random, count);
    // Two regions of the same name, as compilers create them.
    let names = ["main", "solve", "MPI_Wait", "MPI_Send", "kernel", "solve"];
    definitions.regions = names.map(Region::named)[..regions as usize].to_vec();
    let columns = (0..count).map(|_| column(&mut random, regions, events));
    Trace::new(definitions, columns.collect()).expect("one column a location")
}

fn column(random: &mut Xorshift, regions: u32, events: u32) -> Events {
    if random.below(12) == 0 {
        return Events::absent();
    }
    let mut column = Events::default();
    let mut at = random.below(20);
    let mut depth = 0u32;
    for _ in 0..random.below(u64::from(events) + 1) {
        at += random.below(5);
        let region = RegionId(random.below(u64::from(regions)) as u32);
        let event = match random.below(40) {
            0 => Event::Measuring {
                on: random.below(3) > 0,
            },
            1 => Event::Flush {
                until: Ticks(at + random.below(9)),
            },
            2 => Event::CollectiveBegin,
            // An undefined region.
            3 => Event::Enter {
                region: RegionId(99),
            },
            _ if random.below(u64::from(depth) + 2) < 2 => Event::Enter { region },
            _ => Event::Leave { region },
        };
        match event {
            Event::Enter { .. } => depth += 1,
            Event::Leave { .. } => depth = depth.saturating_sub(1),
            _ => {}
        }
        column.push(Ticks(at), event).expect("times ascend");
    }
    column
}

fn system(random: &mut Xorshift, count: u32) -> SystemTree {
    let node = |index: u32| SystemNode {
        name: format!("node {index}"),
        ..SystemNode::default()
    };
    // Two nodes, four processes on them, and a device for each of the first two processes.
    let group = |index: u32| {
        let device = index >= 4;
        LocationGroup {
            name: if device {
                "GPU".into()
            } else {
                format!("MPI Rank {index}")
            },
            kind: if device {
                GroupKind::Accelerator
            } else {
                GroupKind::Process
            },
            parent: Some(SystemNodeId(index % 2)),
            creator: index.checked_sub(4).map(LocationGroupId),
            ..LocationGroup::default()
        }
    };
    let location = |index: u32| {
        let kind = match random.below(8) {
            0 => LocationKind::Metric,
            1 | 2 => LocationKind::AcceleratorStream,
            _ => LocationKind::CpuThread,
        };
        let groups = if kind == LocationKind::AcceleratorStream {
            6
        } else {
            4
        };
        let group = random.below(groups + 1);
        Location {
            name: format!("location {index}"),
            kind,
            group: (group < groups).then_some(LocationGroupId(group as u32)),
            key: u64::from(index) << 32,
            ..Location::default()
        }
    };
    let nodes = (0..2).map(node).collect();
    let groups = (0..6).map(group).collect();
    let locations = (0..count).map(location).collect();
    SystemTree::new(nodes, groups, locations, &Limits::default()).expect("every parent is there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_core::{Job, Merge, ReplayCounts, Visitor, replay};

    #[test]
    fn traces_are_untidy_and_the_same_each_time() {
        #[derive(Default)]
        struct Seen {
            /// Number of intervals without recording.
            off: usize,
            /// Number of flushes.
            flushes: usize,
            /// Number of frames.
            frames: usize,
        }
        impl Visitor for Seen {
            fn enter(&mut self, _: Ticks, _: RegionId, _: usize) {
                self.frames += 1;
            }
            fn leave(&mut self, _: Ticks, _: RegionId, _: usize, _: perf_core::Close) {}
            fn event(&mut self, _: Ticks, event: Event<'_>, _: usize) {
                self.off += usize::from(event == Event::Measuring { on: false });
                self.flushes += usize::from(matches!(event, Event::Flush { .. }));
            }
        }
        let (mut seen, mut counts, mut absent) = (Seen::default(), ReplayCounts::default(), 0);
        for seed in 0..40 {
            let trace = trace(seed, 12, 60);
            assert_eq!(trace, super::trace(seed, 12, 60));
            for location in trace.view().locations() {
                counts.merge(&replay(location, &mut seen, &Job::default()).unwrap());
                absent += usize::from(location.all().is_absent());
            }
        }
        assert!(absent > 0 && seen.off > 0 && seen.flushes > 0 && seen.frames > 1_000);
        assert!(counts.top > 0 && counts.nearest > 0 && counts.renamed > 0);
        assert!(counts.orphan > 0 && counts.open_at_end > 0);
    }
}
