//! Synthetic recordings of a device and of the thread that drives it, built from [`Piece`]s of
//! work; that of [`PIECES`] has two streams, busy for 70 of 100 ns.

use crate::{
    Attribute, AttributeId, AttributeValue, Definitions, EventId, Events, GroupKind, Link,
    LinkKind, Location, LocationGroup, LocationGroupId, LocationId, LocationKind, Paradigm, Region,
    RegionId, SystemTree, Ticks, Trace, Value,
};

/// Piece of work: time of its launch (`None` without a launch), stream, region, begin and end.
/// Times are in nanoseconds.
pub type Piece = (Option<u64>, u32, &'static str, u64, u64);

/// Contents of [`trace`]. Computation ends at 20 ns and continues at 30 ns, although the next
/// kernel was launched in time. At 60 ns the device has no more work, and the next launch is at 75
/// ns.
pub const PIECES: [Piece; 6] = [
    (Some(0), 0, "kernel", 0, 20),
    (Some(10), 0, "kernel", 30, 50),
    (Some(20), 1, "Memcpy HtoD (Pageable -> Device)", 40, 60),
    (Some(22), 1, "Memset (Device)", 45, 45),
    (Some(75), 0, "kernel", 80, 100),
    (
        Some(76),
        1,
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        85,
        95,
    ),
];

/// Returns the trace of [`PIECES`].
///
/// # Panics
/// Does not panic, because the pieces are valid.
pub fn trace() -> Trace {
    build(&PIECES)
}

/// Returns a trace of the given pieces, each launched by a zero-length call.
///
/// See [`build_with_calls`].
///
/// # Panics
/// Panics for pieces that end before they begin.
pub fn build(pieces: &[Piece]) -> Trace {
    build_with_calls(pieces, 0)
}

/// Returns a trace of the given pieces, each launched by a call of `length` ns. A call ends earlier
/// if the next call begins before its end. Work of one stream may overlap, but pieces of the same
/// name must not contain each other.
///
/// The thread is location 0, and stream `s` is location `s` + 1. Copies have a size of 4,096 bytes.
///
/// # Panics
/// Panics for pieces that end before they begin.
pub fn build_with_calls(pieces: &[Piece], length: u64) -> Trace {
    let cuda = |name: &str| Region {
        paradigm: Paradigm::Cuda,
        ..Region::named(name)
    };
    let mut regions = vec![cuda("cudaLaunchKernel")];
    let mut region = |name: &str| {
        let known = regions.iter().position(|it| it.name == name);
        let index = known.unwrap_or_else(|| {
            regions.push(cuda(name));
            regions.len() - 1
        });
        RegionId(index as u32)
    };
    let named: Vec<_> = pieces
        .iter()
        .map(|piece| (region(piece.2), piece))
        .collect();
    let streams = pieces.iter().map(|piece| piece.1 + 1).max().unwrap_or(0);

    let mut launches: Vec<(u64, usize)> = Vec::new();
    launches.extend(
        pieces
            .iter()
            .enumerate()
            .filter_map(|(index, it)| Some((it.0?, index))),
    );
    launches.sort_unstable();
    let mut host = Events::default();
    let mut from = vec![None; pieces.len()];
    for (number, (at, piece)) in launches.iter().copied().enumerate() {
        from[piece] = Some(host.len() as u32);
        let next = launches.get(number + 1).map_or(u64::MAX, |next| next.0);
        host.push_call(Ticks(at), false, RegionId(0));
        host.push_call(Ticks(next.min(at + length)), true, RegionId(0));
    }
    let mut columns = vec![host];
    let mut links = Vec::new();
    for stream in 0..streams {
        let own = named
            .iter()
            .enumerate()
            .filter(|(_, (_, it))| it.1 == stream);
        // Enters sort before leaves, so that zero-length work begins before it ends.
        let mut marks: Vec<(u64, bool, usize)> = Vec::new();
        for (index, (_, piece)) in own {
            assert!(piece.3 <= piece.4, "a piece that ends before it begins");
            marks.extend([(piece.3, false, index), (piece.4, true, index)]);
        }
        marks.sort_unstable();
        let mut events = Events::default();
        for (at, is_end, index) in marks {
            let region = named[index].0;
            let enter = events.len() as u32;
            events.push_call(Ticks(at), is_end, region);
            if is_end {
                continue;
            }
            if named[index].1.2.starts_with("Memcpy") {
                events.push_attribute(AttributeValue {
                    attribute: AttributeId(0),
                    type_code: 4,
                    value: Value::U64(4096),
                });
            }
            links.extend(from[index].map(|launch| Link {
                kind: LinkKind::Launch,
                from: EventId {
                    location: LocationId(0),
                    index: launch,
                },
                to: EventId {
                    location: LocationId(stream + 1),
                    index: enter,
                },
            }));
        }
        columns.push(events);
    }
    let definitions = Definitions {
        system: system(streams),
        regions,
        attributes: vec![Attribute {
            name: "bytes".into(),
            description: "bytes moved".into(),
        }],
        ..Definitions::default()
    };
    let trace = Trace::new(definitions, columns).expect("a column a location");
    trace.with_links(links).expect("the ends are there")
}

fn system(streams: u32) -> SystemTree {
    let groups = vec![
        LocationGroup {
            name: "process".into(),
            properties: vec![("rank".into(), "0".into())].into(),
            ..LocationGroup::default()
        },
        LocationGroup {
            name: "device 0".into(),
            kind: GroupKind::Accelerator,
            creator: Some(LocationGroupId(0)),
            properties: vec![("device".into(), "0".into())].into(),
            ..LocationGroup::default()
        },
    ];
    let stream = |number: u32| Location {
        name: format!("stream {number}"),
        kind: LocationKind::AcceleratorStream,
        group: Some(LocationGroupId(1)),
        key: u64::from(number) + 1,
        ..Location::default()
    };
    let thread = Location {
        name: "thread".into(),
        group: Some(LocationGroupId(0)),
        ..Location::default()
    };
    let locations = std::iter::once(thread).chain((0..streams).map(stream));
    SystemTree::new(vec![], groups, locations.collect(), &Default::default()).expect("it fits")
}
