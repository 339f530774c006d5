//! [`Devices`]: utilisation of each [`Device`] of a recording, and the causes of its idle time, by
//! [`DeviceParams`]; submodules also hold copies and a comparison with Holistic Trace Analysis.

mod classification;
mod copies;
mod device_work;
mod hta;
mod idle;
mod sweep;
mod table;

pub use classification::{Work, WorkRules};
pub use copies::{DeviceCopies, device_copies};
pub use hta::{Hta, HtaParams};
pub use idle::{Cause, Gap};

use crate::{Error, Result, Utilisation};
use classification::WorkTable;
use device_work::Part;
use perf_core::{
    Job, LocationGroupId, LocationId, Merge, ReplayCounts, TimeRange, TraceView, parallel,
};

/// Piece of work on a device.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    /// Begin in ticks.
    start: u64,
    /// End in ticks.
    end: u64,
    /// Begin of the call that launched the work, in ticks; `None` if the recording has no link
    /// between the two.
    launch: Option<u64>,
    /// End of that call in ticks. Equal to its begin if the end is unknown, and 0 without a call.
    launch_end: u64,
    /// Number of the stream in its device.
    stream: u32,
    /// Kind of work.
    work: Work,
}

/// Period over which utilisation is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Span {
    /// For each device, from the begin of its first work to the end of its last work.
    #[default]
    Own,
    /// The same for all devices: from the begin of the first work on any device to the end of the
    /// last work on any device.
    Job,
    /// A display window [a, b), the same for all devices.
    Window(TimeRange),
}

perf_core::parameters! {
    /// Parameters of [`Devices`]. Every value is valid, so there is no check.
    ///
    /// ```
    /// use perf_fold::{DeviceParams, Span, Work, WorkRules};
    /// let rules = WorkRules::default().before(Work::Communication, "halo_*");
    /// let params = DeviceParams::new().rules(rules).span(Span::Job).keep_gaps(true);
    /// # let _ = params;
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct DeviceParams {
        /// Sets the rules that classify work. Default: [`WorkRules::default`].
        rules: WorkRules = WorkRules::default(),
        /// Sets the period over which utilisation is computed. Default: [`Span::Own`].
        span: Span = Span::default(),
        /// Keeps each gap in [`Device::gaps`]. Default: `false`. A gap takes 32 bytes.
        keep_gaps: bool = false,
    }
}

impl DeviceParams {
    /// Returns the defaults: default rules, each device over its own span, gaps summed and not
    /// kept.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Utilisation of the devices of a recording and the causes of their idle time.
///
/// All times are whole ticks of the recording, without rounding.
///
/// * **Device**: the streams of one [`GroupKind::Accelerator`](perf_core::GroupKind) group. Older
///   recordings keep the streams in the group of the process; there all streams of the process are
///   one device.
/// * **Work**: an [interval](perf_core::intervals()) on a stream that
///   [overlaps](perf_core::LocationView::overlaps), otherwise an outermost stack frame, whose inner
///   frames are its calls. Zero-length work counts as an event but adds no time.
/// * **Busy**: the length of the union of all work of the device within the window. It is not the
///   sum of the lengths, because pieces of work may overlap.
/// * **Utilisation**: busy / length of the window, which is the [`Span`].
/// * **Overlap**: time in which more than one stream is busy. Overlapping work on a single stream
///   does not count.
/// * **Idle**: the length of the window minus the busy time, split by [`Cause`] into parts that add
///   up to it.
///
/// # Why a device is idle
/// A *gap* is an interval without work, from `g0`, the end of the last work before it, to `g1`, the
/// begin of the next work. Zero-length work ends a gap too. If several pieces of work begin at
/// `g1`, the next work is the one that was launched first. `l` is the begin of the host call from
/// which a [`Link`](perf_core::Link) leads to the next work. A link of kind `Launch` takes
/// precedence; without one, any link from a location that is not a stream is used. `e` is the end
/// of that call if the link has kind `Launch` and the next work is a kernel; otherwise `e` is `l`.
/// A call that copies or sets may wait for its work, so its end is not the end of the launch.
///
/// The [`parts`](Gap::parts) of each [`Gap`] have these causes:
///
/// | time | cause |
/// |---|---|
/// | no link leads to the next work | [`Cause::Unknown`], all of the gap |
/// | `l > g0`: from `g0` to `l` (or `g1`, if clocks are off) | [`Cause::HostLate`] |
/// | `l > g0`: from `l` to `g1` | [`Cause::Launch`] |
/// | `l <= g0`: from `g0` to `e`, if that is later, or to `g1`, if that comes first | [`Cause::Launch`] |
/// | `l <= g0`: the rest, if the next work or any that ended at `g0` is a copy | [`Cause::Copy`] |
/// | the same, if any of these is a set and none is a copy | [`Cause::Set`] |
/// | the same, if any of these is communication and none is a copy or a set | [`Cause::Communication`] |
/// | the same, if all of these compute | [`Cause::Kernel`] |
/// | before the launch of the first work of all (its begin if that is not known), and after the end of the last | [`Cause::QueueEmpty`] |
/// | between the launch of the first work of all and its begin | [`Cause::Launch`] |
///
/// The last two rows occur only if the window is wider than the device's own span.
///
/// ```
/// use perf_core::{Job, Ticks, TimeRange};
/// use perf_fold::{Cause, DeviceParams, Devices, Span, Work};
/// let trace = perf_core::samples::device::trace();
/// let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default())?;
/// let device = &devices.devices()[0];
/// assert_eq!((device.events, device.streams.len()), (6, 2));
/// assert_eq!((device.utilisation.busy, device.utilisation.span), (70, 100));
/// assert_eq!(device.utilisation.utilisation(), 0.7);
/// assert_eq!(device.busy(Work::Copy), 20);
/// assert_eq!(device.both(Work::Copy, Work::Compute), 10);
/// assert_eq!((device.idle(Cause::HostLate), device.idle(Cause::Launch)), (15, 5));
/// assert_eq!(device.idle(Cause::Kernel), 10);
///
/// let half = TimeRange { start: Ticks(0), end: Ticks(50) };
/// let half = Devices::new(trace.view(), &DeviceParams::new().span(Span::Window(half)), &Job::default())?;
/// assert_eq!(half.devices()[0].utilisation.busy, 40);
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Devices {
    /// Devices in the order of their groups.
    devices: Vec<Device>,
    /// Repairs made while pairing enters and leaves.
    repairs: ReplayCounts,
}

/// Utilisation of one device.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Device {
    /// Location group; `None` for streams without a group.
    pub group: Option<LocationGroupId>,
    /// Process that drives the device, if the recording contains it.
    pub process: Option<LocationGroupId>,
    /// Rank, from a property `rank` of its streams, group or process.
    pub rank: Option<u64>,
    /// Name of the device, from the property `device` of its group or first stream; without that
    /// property, the name of the group.
    pub name: String,
    /// Streams in the order of the view.
    pub streams: Vec<StreamUse>,
    /// Number of pieces of work that touch the window.
    pub events: u64,
    /// Number of those pieces that have zero length.
    pub instants: u64,
    /// Number of those pieces without a link to a launch.
    pub unlinked: u64,
    /// Window over which the device was analysed.
    pub window: TimeRange,
    /// Utilisation over the window. Its overlap is the time in which several streams are busy.
    pub utilisation: Utilisation,
    /// Gaps in order of time; empty unless [`DeviceParams::keep_gaps`] is set.
    pub gaps: Vec<Gap>,
    /// Number of pieces of work of each kind.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::by_work"))]
    counts: [u64; Work::ALL.len()],
    /// Busy time of each kind, in ticks.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::by_work"))]
    busy: [u64; Work::ALL.len()],
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "crate::serialize::by_work_pair")
    )]
    /// Time in which work of both kinds is open, in ticks.
    both: [[u64; Work::ALL.len()]; Work::ALL.len()],
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "crate::serialize::by_cause")
    )]
    /// Idle time of each cause, in ticks.
    idle: [u64; Cause::ALL.len()],
}

/// Utilisation of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StreamUse {
    /// Location of the stream.
    pub location: LocationId,
    /// Number of pieces of work that touch the window.
    pub events: u64,
    /// Length of the union of this work within the window, in ticks.
    pub busy: u64,
}

impl Device {
    /// Returns the number of pieces of work of a kind that touch the window.
    pub fn count(&self, work: Work) -> u64 {
        self.counts[work as usize]
    }

    /// Returns the time in which work of a kind is open, in ticks.
    pub fn busy(&self, work: Work) -> u64 {
        self.busy[work as usize]
    }

    /// Returns the time in which work of both kinds is open, such as communication concurrent with
    /// computation, in ticks.
    pub fn both(&self, one: Work, other: Work) -> u64 {
        self.both[one as usize][other as usize]
    }

    /// Returns the idle time of a cause, in ticks. The idle times of all causes add up to the span
    /// minus the busy time.
    pub fn idle(&self, cause: Cause) -> u64 {
        self.idle[cause as usize]
    }

    /// Returns the time in which no work is open, in ticks.
    pub fn all_idle(&self) -> u64 {
        self.utilisation.span - self.utilisation.busy
    }
}

impl Devices {
    /// Analyses the devices of a view, in the order of their groups, streams without a group last.
    ///
    /// The window of the view is ignored; the window of the parameters applies. The reason is that
    /// work outside of a window may explain idle time within it.
    ///
    /// Progress is reported in events of the devices, in the phase `devices`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn new(view: TraceView<'_>, params: &DeviceParams, job: &Job) -> Result<Self> {
        let parts = device_work::parts(view);
        let mut launches = device_work::launches(view, |_| true, job)?;
        device_work::add_ends(view, &mut launches, job)?;
        let table = WorkTable::new(&params.rules, view.definitions());
        let gathered = parallel::try_map(parts.len(), |at| -> Result<_> {
            let part = &parts[at];
            job.check()?;
            device_work::pieces(view, part, &launches, &table, job)
        })?;
        let total = gathered.iter().map(|it| it.events).sum();
        let own = |pieces: &[Piece]| {
            let start = pieces.first().map_or(0, |piece| piece.start);
            let end = pieces.iter().map(|piece| piece.end).max();
            range(start, end.unwrap_or(start))
        };
        let spans = gathered.iter().filter(|it| !it.pieces.is_empty());
        let spans = spans.map(|it| own(&it.pieces));
        let whole = spans.reduce(|a, b| TimeRange {
            start: a.start.min(b.start),
            end: a.end.max(b.end),
        });
        let work: Vec<_> = parts.into_iter().zip(&gathered).collect();
        let devices = parallel::try_map(work.len(), |at| {
            let (part, gathered) = &work[at];
            job.check()?;
            let window = match params.span {
                Span::Own => own(&gathered.pieces),
                Span::Job => whole.unwrap_or(range(0, 0)),
                Span::Window(window) => window,
            };
            let is_whole = !matches!(params.span, Span::Window(_));
            let shown = (window, is_whole, params.keep_gaps);
            let device = device(part, &gathered.pieces, shown, job)?;
            job.advance("devices", gathered.events, total);
            Ok::<_, Error>(device)
        })?;
        let mut repairs = ReplayCounts::default();
        gathered.iter().for_each(|it| repairs.merge(&it.repairs));
        Ok(Devices { devices, repairs })
    }

    /// Returns the devices.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Returns the devices by value.
    pub fn into_devices(self) -> Vec<Device> {
        self.devices
    }

    /// Returns the repairs made by [`intervals`](perf_core::intervals()).
    pub fn repairs(&self) -> ReplayCounts {
        self.repairs
    }

    /// Returns the number of pieces of work on all devices, 0 for a recording without any.
    pub fn events(&self) -> u64 {
        self.devices.iter().map(|device| device.events).sum()
    }

    /// Returns the overall utilisation: the sum of the busy times of all devices over the sum of
    /// their spans, or 0 without devices.
    pub fn utilisation(&self) -> f64 {
        let sum = |of: fn(&Device) -> u64| {
            let each = self.devices.iter().map(|device| u128::from(of(device)));
            each.sum::<u128>()
        };
        match sum(|device| device.utilisation.span) {
            0 => 0.0,
            span => sum(|device| device.utilisation.busy) as f64 / span as f64,
        }
    }
}

fn range(start: u64, end: u64) -> TimeRange {
    TimeRange {
        start: perf_core::Ticks(start),
        end: perf_core::Ticks(end),
    }
}

fn device(
    part: &Part,
    pieces: &[Piece],
    (window, is_whole, keep_gaps): (TimeRange, bool, bool),
    job: &Job,
) -> Result<Device> {
    let swept = sweep::sweep(pieces, part.streams.len(), window, job)?;
    let streams = part.streams.iter().zip(&swept.streams);
    let streams = streams.map(|(location, busy)| StreamUse {
        location: *location,
        events: 0,
        busy: *busy,
    });
    let mut device = Device {
        group: part.group,
        process: part.process,
        rank: part.rank,
        name: part.name.clone(),
        streams: streams.collect(),
        events: 0,
        instants: 0,
        unlinked: 0,
        window,
        utilisation: swept.utilisation,
        gaps: Vec::new(),
        counts: Default::default(),
        busy: swept.busy,
        both: swept.both,
        idle: Default::default(),
    };
    let mut checks = job.checks();
    for piece in pieces {
        checks.next(1)?;
        let begins = window.start.0 <= piece.start && piece.start < window.end.0;
        let lasts = piece.start < window.end.0 && window.start.0 < piece.end;
        if !(is_whole || begins || lasts) {
            continue;
        }
        device.events += 1;
        device.instants += u64::from(piece.start == piece.end);
        device.unlinked += u64::from(piece.launch.is_none());
        device.counts[piece.work as usize] += 1;
        if let Some(stream) = device.streams.get_mut(piece.stream as usize) {
            stream.events += 1;
        }
    }
    idle::gaps(pieces, window, job, |gap| {
        for (cause, range) in gap.parts() {
            device.idle[cause as usize] += range.len();
        }
        if keep_gaps {
            device.gaps.push(gap);
        }
    })?;
    Ok(device)
}
