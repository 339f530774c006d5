//! Generated trace of six devices with 14 streams each; [`Plan`]: its planted utilisation, overlap
//! and causes of idle time by device.

use perf_core::{
    Attribute, AttributeId, AttributeValue, Definitions, Event, EventId, Events, GroupKind, Link,
    LinkKind, Location, LocationGroup, LocationGroupId, LocationId, LocationKind, Region, RegionId,
    SystemTree, Ticks, Trace, Value,
};

/// Number of devices.
pub const DEVICES: u32 = 6;
/// Number of streams of each device.
pub const STREAMS: u32 = 14;
/// Number of time slots, each with two pieces of work on each device.
pub const SLOTS: u64 = 240;
/// Length of a slot in nanoseconds.
pub const SLOT: u64 = 250_000;
/// Begin of the first work.
const BEGIN: u64 = 100_000;
/// Delay between a late launch and its work.
const LATENCY: u64 = 8_000;

/// Planted times of one device, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Time from the begin of the first work to the end of the last.
    pub span: u64,
    /// Time with work.
    pub busy: u64,
    /// Time with work on two streams.
    pub overlap: u64,
    /// Time with copies.
    pub copy: u64,
    /// Time with communication.
    pub communication: u64,
    /// Idle time before late launches.
    pub host_late: u64,
    /// Idle time between these launches and the work.
    pub launch: u64,
    /// Idle time before copies that were launched in time.
    pub before_copies: u64,
    /// Idle time before communication that was launched in time.
    pub before_communication: u64,
    /// Idle time before kernels that were launched in time.
    pub before_kernels: u64,
}

const NAMES: [&str; 8] = [
    "cudaLaunchKernel",
    "Memcpy HtoD (Pinned -> Device)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "advect_x",
    "advect_y",
    "flux_limiter",
    "pressure_solve",
    "boundary",
];

/// Returns the utilisation of a device in per cent.
pub fn percent(device: u32) -> u64 {
    15 * (u64::from(device) + 1)
}

/// Piece of work.
struct Piece {
    /// Time of its launch.
    launch: u64,
    /// Begin.
    start: u64,
    /// End.
    end: u64,
    /// Stream of the device.
    stream: u32,
    /// Region.
    region: u32,
}

/// Hashes two numbers.
fn mixed(one: u64, other: u64) -> u64 {
    let mut mix =
        one.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ other.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mix = (mix ^ (mix >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mix ^ (mix >> 31)
}

/// Returns the work of one device, and the planted times.
///
/// In each slot two consecutive pieces on two streams overlap by a tenth of the busy time. Every
/// third launch is late; a copy or a collective replaces some of the first ones.
fn device(number: u32) -> (Vec<Piece>, Plan) {
    let busy = SLOT * percent(number) / 100;
    let mut plan = Plan {
        span: SLOTS * SLOT,
        ..Plan::default()
    };
    let mut pieces = Vec::new();
    let mut ended = None;
    for slot in 0..SLOTS {
        let mix = mixed(u64::from(number) + 1, slot + 1);
        let shift = match slot {
            0 => 0,
            slot if slot + 1 == SLOTS => SLOT - busy,
            _ => mix % 12_001,
        };
        let start = BEGIN + slot * SLOT + shift;
        let region = match slot % 8 {
            3 => 1,
            6 => 2,
            _ => 3 + (mix >> 20) as u32 % 5,
        };
        let is_late = slot % 3 == 1;
        let launch = match ended {
            Some(ended) if !is_late => ended - 20_000,
            _ => start - LATENCY,
        };
        if let Some(ended) = ended {
            let gap = start - ended;
            match (is_late, region) {
                (true, _) => {
                    plan.host_late += gap - LATENCY;
                    plan.launch += LATENCY;
                }
                (false, 1) => plan.before_copies += gap,
                (false, 2) => plan.before_communication += gap,
                (false, _) => plan.before_kernels += gap,
            }
        }
        let stream = (mix >> 32) as u32 % STREAMS;
        let other = (stream + 1 + (mix >> 40) as u32 % (STREAMS - 1)) % STREAMS;
        let first = busy * 6 / 10;
        let second = start + busy / 2;
        let mut push = |launch, start, end, stream, region| {
            pieces.push(Piece {
                launch,
                start,
                end,
                stream,
                region,
            });
        };
        push(launch, start, start + first, stream, region);
        let kernel = 3 + (mix >> 50) as u32 % 5;
        push(launch + 5_000, second, start + busy, other, kernel);
        plan.busy += busy;
        plan.overlap += first - busy / 2;
        match region {
            1 => plan.copy += first,
            2 => plan.communication += first,
            _ => {}
        }
        ended = Some(start + busy);
    }
    (pieces, plan)
}

/// Returns the planted times of each device.
pub fn plans() -> Vec<Plan> {
    (0..DEVICES).map(|number| device(number).1).collect()
}

/// Returns the run: a launching thread for each device, then the streams of all devices.
///
/// # Panics
/// Does not panic, because the generated work is valid.
pub fn trace() -> Trace {
    let mut definitions = Definitions::default();
    definitions.regions = NAMES.map(Region::named).to_vec();
    for region in &mut definitions.regions {
        region.paradigm = perf_core::Paradigm::Cuda;
    }
    definitions.regions[0].role = perf_core::RegionRole::Wrapper;
    definitions.regions[1].role = perf_core::RegionRole::DataTransfer;
    let attribute = |name: &str| Attribute {
        name: name.into(),
        ..Attribute::default()
    };
    definitions.attributes = ["correlation", "bytes"].map(attribute).to_vec();
    definitions.system = system();
    let (mut threads, mut streams, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..DEVICES {
        let mut pieces = device(number).0;
        pieces.sort_by_key(|piece| (piece.launch, piece.start));
        let mut thread = Events::default();
        let mut own = vec![Events::default(); STREAMS as usize];
        for piece in &pieces {
            let correlation = links.len() as u64 + 1;
            let stream = &mut own[piece.stream as usize];
            let location = DEVICES + number * STREAMS + piece.stream;
            links.push(Link {
                kind: LinkKind::Launch,
                from: EventId {
                    location: LocationId(number),
                    index: thread.len() as u32,
                },
                to: EventId {
                    location: LocationId(location),
                    index: stream.len() as u32,
                },
            });
            call(
                &mut thread,
                piece.launch,
                piece.launch + 4_000,
                0,
                &[correlation],
            );
            let values = [correlation, 1 << 20];
            let values = &values[..1 + usize::from(piece.region == 1)];
            call(stream, piece.start, piece.end, piece.region, values);
        }
        threads.push(thread);
        streams.extend(own);
    }
    threads.extend(streams);
    let trace = Trace::new(definitions, threads).expect("a column a location");
    trace.with_links(links).expect("the ends are there")
}

fn call(events: &mut Events, start: u64, end: u64, region: u32, values: &[u64]) {
    let region = RegionId(region);
    events
        .push(Ticks(start), Event::Enter { region })
        .expect("in order");
    for (attribute, value) in (0..).zip(values) {
        events.push_attribute(AttributeValue {
            attribute: AttributeId(attribute),
            type_code: 4,
            value: Value::U64(*value),
        });
    }
    events
        .push(Ticks(end), Event::Leave { region })
        .expect("in order");
}

fn system() -> SystemTree {
    let property = |name: &str, value: u32| (name.to_owned(), value.to_string());
    let mut groups = vec![LocationGroup {
        name: "solver".into(),
        ..LocationGroup::default()
    }];
    let mut locations = Vec::new();
    for number in 0..DEVICES {
        groups.push(LocationGroup {
            name: format!("GPU {number}"),
            kind: GroupKind::Accelerator,
            creator: Some(LocationGroupId(0)),
            properties: vec![property("device", number)].into(),
            ..LocationGroup::default()
        });
        locations.push(Location {
            name: format!("driver of GPU {number}"),
            group: Some(LocationGroupId(0)),
            key: u64::from(number),
            ..Location::default()
        });
    }
    for number in 0..DEVICES {
        for stream in 0..STREAMS {
            locations.push(Location {
                name: format!("stream {stream}"),
                kind: LocationKind::AcceleratorStream,
                group: Some(LocationGroupId(number + 1)),
                key: locations.len() as u64,
                properties: vec![property("device", number), property("stream", stream)].into(),
            });
        }
    }
    SystemTree::new(vec![], groups, locations, &Default::default()).expect("it fits")
}
