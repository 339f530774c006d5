//! [`device_copies`]: finds the copies between host and device in a trace by the names of the
//! copying regions, and returns them as messages, [`DeviceCopies`].

use super::classification::{Work, WorkRules, WorkTable};
use crate::Line;
use perf_core::{
    AttributeId, Cancelled, EventId, Interval, Job, Link, LinkKind, LocationView, Ticks, TraceView,
    Value, fits, intervals,
};
use std::collections::HashMap;

/// Copies between host and device as messages for [`Folder::lines`](crate::Folder::lines), and
/// counts of the copies that produce no message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DeviceCopies {
    /// One line for each copy. A copy to the device runs from the call that launched it to its end
    /// on the stream. A copy from the device runs from its begin on the stream to its end, on the
    /// thread that launched it.
    pub lines: Vec<Line>,
    /// Number of copies within a device, between devices, or within the host.
    pub elsewhere: u64,
    /// Number of copies whose name does not indicate the direction.
    pub unknown: u64,
    /// Number of copies without a link to the call that launched them.
    pub unlinked: u64,
}

/// Name patterns of copies from a device to the host.
const TO_HOST: [&str; 10] = [
    "*DtoH*",
    "*DtoP*",
    "*AtoH*",
    "*(Device -> Pinned)*",
    "*(Device -> Pageable)*",
    "*Device -> Host*",
    "*Device-to-Host*",
    "*DeviceToHost*",
    "*device-to-host*",
    "*DEVICE_TO_HOST*",
];

/// Name patterns of copies from the host to a device.
const TO_DEVICE: [&str; 10] = [
    "*HtoD*",
    "*PtoD*",
    "*HtoA*",
    "*(Pinned -> Device)*",
    "*(Pageable -> Device)*",
    "*Host -> Device*",
    "*Host-to-Device*",
    "*HostToDevice*",
    "*host-to-device*",
    "*HOST_TO_DEVICE*",
];

/// Name patterns of copies that are not between host and device.
const STAY: [&str; 13] = [
    "*DtoD*",
    "*PtoP*",
    "*HtoH*",
    "*HOST_TO_HOST*",
    "*AtoA*",
    "*AtoD*",
    "*DtoA*",
    "*(Device -> Device)*",
    "*Device-to-Device*",
    "*DeviceToDevice*",
    "*device-to-device*",
    "*DEVICE_TO_DEVICE*",
    "*Peer-to-Peer*",
];

/// Returns the copies of a view between host and device. Their size is the value of the attribute
/// `bytes`, or 0 if it is missing.
///
/// The rules decide which work is a copy. The name of the copy decides its direction: `DtoH`,
/// `DeviceToHost` and similar names lead to the host, `HtoD`, `HostToDevice` and similar names to
/// the device. Copies called `DtoD`, `PtoP` and similar are counted in
/// [`elsewhere`](DeviceCopies::elsewhere), all others in [`unknown`](DeviceCopies::unknown).
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{WorkRules, device_copies};
/// let trace = perf_core::samples::device::trace();
/// let copies = device_copies(trace.view(), &WorkRules::default(), &Job::default())?;
/// assert_eq!((copies.lines.len(), copies.unlinked), (1, 0));
/// assert_eq!((copies.lines[0].bytes, copies.lines[0].received.0), (4096, 60));
/// # Ok::<(), perf_core::Cancelled>(())
/// ```
///
/// # Errors
///
/// Returns [`Cancelled`] if the job is cancelled.
pub fn device_copies(
    view: TraceView<'_>,
    rules: &WorkRules,
    job: &Job,
) -> Result<DeviceCopies, Cancelled> {
    job.check()?;
    let definitions = view.definitions();
    let table = WorkTable::new(rules, definitions);
    let is_stream = |id| {
        let location = definitions.system.location(id);
        location.is_some_and(|location| location.kind.may_overlap())
    };
    let mut launches: HashMap<EventId, (bool, EventId)> = HashMap::new();
    let from_host = |link: &&Link| is_stream(link.to.location) && !is_stream(link.from.location);
    let mut checks = job.checks();
    for link in view.trace().links() {
        // Inserting a link into the map takes about as long as four steps of a simple loop.
        checks.next(4)?;
        if !from_host(&link) {
            continue;
        }
        let launched = (link.kind != LinkKind::Launch, link.from);
        let known = launches.entry(link.to).or_insert(launched);
        *known = launched.min(*known);
    }
    let attributes = definitions.attributes.iter();
    let bytes = attributes
        .into_iter()
        .position(|attribute| attribute.name == "bytes");
    let bytes = bytes
        .and_then(|index| u32::try_from(index).ok())
        .map(AttributeId);
    let mut copies = DeviceCopies::default();
    for location in view.locations().filter(|it| is_stream(it.id())) {
        intervals(
            location,
            |call| {
                if table.work(call.region) != Work::Copy {
                    return;
                }
                let name = definitions.region_name(call.region);
                let is_any = |patterns: &[&str]| patterns.iter().any(|it| fits(it, &name));
                if is_any(&STAY) {
                    copies.elsewhere += 1;
                    return;
                }
                let is_to_host = is_any(&TO_HOST);
                if !is_to_host && !is_any(&TO_DEVICE) {
                    copies.unknown += 1;
                    return;
                }
                let index = u32::try_from(call.enter).unwrap_or(u32::MAX);
                let work = EventId {
                    location: location.id(),
                    index,
                };
                let launch = launches.get(&work).map(|(_, launch)| *launch);
                let line = launch.and_then(|launch| {
                    let bytes = bytes.map_or(0, |id| bytes_of(location, call.enter, id));
                    line(view, location, call, launch, is_to_host, bytes)
                });
                match line {
                    Some(line) => copies.lines.push(line),
                    None => copies.unlinked += 1,
                }
            },
            job,
        )?;
    }
    Ok(copies)
}

fn line(
    view: TraceView<'_>,
    stream: LocationView<'_>,
    call: Interval,
    launch: EventId,
    is_to_host: bool,
    bytes: u64,
) -> Option<Line> {
    let events = view.trace().events().get(launch.location.index())?;
    let launched: Ticks = events.time(launch.index as usize)?;
    Some(if is_to_host {
        Line {
            from: stream.id(),
            sent: call.start,
            to: launch.location,
            received: call.end,
            bytes,
        }
    } else {
        Line {
            from: launch.location,
            sent: launched,
            to: stream.id(),
            received: call.end,
            bytes,
        }
    })
}

fn bytes_of(location: LocationView<'_>, enter: usize, bytes: AttributeId) -> u64 {
    let mut attributes = location.all().attributes(enter);
    let found = attributes.find(|value| value.attribute == bytes);
    match found.map(|value| value.value) {
        Some(Value::U64(bytes)) => bytes,
        Some(Value::I64(bytes)) => u64::try_from(bytes).unwrap_or(0),
        _ => 0,
    }
}
