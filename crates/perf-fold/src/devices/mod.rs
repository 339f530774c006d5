//! [`Devices`]: how busy each device of a recording is, and why it is not.

mod copies;
mod gather;
mod hta;
mod idle;
mod sweep;
mod table;
mod work;

pub use copies::{DeviceCopies, device_copies};
pub use hta::{Hta, HtaParams};
pub use idle::{Cause, Gap};
pub use work::{Work, WorkRules};

use crate::{Error, Result, Utilisation};
use gather::Part;
use perf_core::{
    Job, LocationGroupId, LocationId, Merge, ReplayCounts, TimeRange, TraceView, parallel,
};
use work::WorkTable;

/// Work on a device, as the analyses of this module see it.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    start: u64,
    end: u64,
    /// When the call began that launched it, where the recording links the two.
    launch: Option<u64>,
    /// When that call ended, where that is known.
    launch_end: u64,
    /// The number of the stream in its device.
    stream: u32,
    work: Work,
}

/// The time that the share of busy time is taken of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Span {
    /// For each device from the begin of its first work to the end of its last.
    #[default]
    Own,
    /// For all devices the same: from the begin of the first work on any to the end of the last.
    Job,
    /// A display window [a, b), the same for all devices.
    Window(TimeRange),
}

/// What [`Devices`] are asked for. No value of these is wrong, so there is nothing to check.
///
/// ```
/// use perf_fold::{DeviceParams, Span, Work, WorkRules};
/// let rules = WorkRules::default().before(Work::Communication, "halo_*");
/// let params = DeviceParams::new().rules(rules).span(Span::Job).keep_gaps(true);
/// # let _ = params;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceParams {
    rules: WorkRules,
    span: Span,
    keep_gaps: bool,
}

impl DeviceParams {
    /// The default rules, each device over its own span, gaps summed and not kept.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which work is what. Default: [`WorkRules::default`].
    pub fn rules(mut self, rules: WorkRules) -> Self {
        self.rules = rules;
        self
    }

    /// The time that shares are of. Default: [`Span::Own`].
    pub fn span(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// Keeps each gap in [`Device::gaps`]. Default: `false`. A gap takes 32 bytes.
    pub fn keep_gaps(mut self, keep: bool) -> Self {
        self.keep_gaps = keep;
        self
    }
}

/// How busy the devices of a recording are, and why they are not.
///
/// All times are ticks of the recording and whole numbers: nothing is rounded.
///
/// * **Device**: the streams of one [`GroupKind::Accelerator`](perf_core::GroupKind) group; in old
///   recordings, which keep streams in the group of the process, those of the process.
/// * **Work**: an [interval](perf_core::intervals()) on a stream that
///   [overlaps](perf_core::LocationView::overlaps), else an outermost frame: the frames in it are its calls. Work
///   of no length counts as an event and adds no time.
/// * **Busy**: the measure of the union of all work of the device within the window. Never a sum,
///   since work overlaps, and never a stack.
/// * **Utilisation**: busy / length of the window, which is the [`Span`].
/// * **Overlap**: time in which more than one stream is busy. Work that overlaps on one stream is no
///   overlap of streams.
/// * **Idle**: the window less busy, split by [`Cause`] so that the parts add up to it.
///
/// # Why a device is idle
/// A *gap* is a stretch of time without work, from `g0`, where the last work before it ends, to
/// `g1`, where the next begins. Work of no length ends a gap as well. Of several pieces of work that
/// begin at `g1`, the one that was launched first is the next. `l` is the begin of the call on the
/// host that a [`Link`](perf_core::Link) leads from: one of kind `Launch`, or else any from a location
/// that is no stream. `e` is the end of that call if the link is of kind `Launch` and the next work is a
/// kernel, and `l` otherwise: a call that copies or sets may wait for its work, so that its end does
/// not tell when it had launched it.
///
/// A gap is one [`Gap`], whose [`parts`](Gap::parts) have these causes:
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
/// The last two occur only where the window is wider than the device's own span.
///
/// ```
/// use perf_core::{Job, Ticks, TimeRange};
/// use perf_fold::{Cause, DeviceParams, Devices, Span, Work};
/// let trace = perf_testdata::device::trace();
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
    devices: Vec<Device>,
    repairs: ReplayCounts,
}

/// How busy one device is.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Device {
    /// Its group; `None` for streams that are in none.
    pub group: Option<LocationGroupId>,
    /// The process that drives it, where the recording tells.
    pub process: Option<LocationGroupId>,
    /// The rank, from a property `rank` of its streams, group or process.
    pub rank: Option<u64>,
    /// What the recording calls it, from a property `device` of its streams or group; else the name
    /// of the group.
    pub name: String,
    /// Its streams, in the order of the view.
    pub streams: Vec<StreamUse>,
    /// Pieces of work that touch the window.
    pub events: u64,
    /// Those of them that have no length.
    pub instants: u64,
    /// Those of them that no link leads to.
    pub unlinked: u64,
    /// The window.
    pub window: TimeRange,
    /// How busy it is over the window; overlap is that of streams.
    pub utilisation: Utilisation,
    /// Its gaps in order of time, if [`DeviceParams::keep_gaps`] is on.
    pub gaps: Vec<Gap>,
    /// Pieces of work in each kind.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::by_work"))]
    counts: [u64; Work::ALL.len()],
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::by_work"))]
    busy: [u64; Work::ALL.len()],
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "crate::serialize::by_work_pair")
    )]
    both: [[u64; Work::ALL.len()]; Work::ALL.len()],
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "crate::serialize::by_cause")
    )]
    idle: [u64; Cause::ALL.len()],
}

/// How busy one stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StreamUse {
    /// Its location.
    pub location: LocationId,
    /// Pieces of work that touch the window.
    pub events: u64,
    /// The measure of their union within the window, in ticks.
    pub busy: u64,
}

impl Device {
    /// Pieces of work of a kind that touch the window.
    pub fn count(&self, work: Work) -> u64 {
        self.counts[work as usize]
    }

    /// Time in which work of a kind is open: its union, in ticks.
    pub fn busy(&self, work: Work) -> u64 {
        self.busy[work as usize]
    }

    /// Time in which work of both kinds is open, such as communication beside compute; in ticks.
    pub fn both(&self, one: Work, other: Work) -> u64 {
        self.both[one as usize][other as usize]
    }

    /// Idle time of a cause, in ticks. All causes add up to the span less the busy time.
    pub fn idle(&self, cause: Cause) -> u64 {
        self.idle[cause as usize]
    }

    /// Time in which no work is open, in ticks.
    pub fn all_idle(&self) -> u64 {
        self.utilisation.span - self.utilisation.busy
    }
}

impl Devices {
    /// The devices of a view, in the order of their groups, those without one last.
    ///
    /// The window of the view does not matter, that of the parameters does: what happens outside of
    /// it is needed to tell why a device is idle in it.
    ///
    /// Progress is reported in events of the phase `devices`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn new(view: TraceView<'_>, params: &DeviceParams, job: &Job) -> Result<Self> {
        let parts = gather::parts(view);
        let mut launches = gather::launches(view, |_| true, job)?;
        gather::add_ends(view, &mut launches, job)?;
        let table = WorkTable::new(&params.rules, view.definitions());
        let total = view.locations().map(|it| it.all().len() as u64).sum();
        let gathered = parallel::try_map(parts.len(), |at| -> Result<_> {
            let part = &parts[at];
            job.check()?;
            gather::pieces(view, part, &launches, &table, job)
        })?;
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

    /// The devices.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The same, to keep.
    pub fn into_devices(self) -> Vec<Device> {
        self.devices
    }

    /// What [`intervals`](perf_core::intervals()) had to mend.
    pub fn repairs(&self) -> ReplayCounts {
        self.repairs
    }

    /// Pieces of work on all devices: 0 for a recording that has none.
    pub fn events(&self) -> u64 {
        self.devices.iter().map(|device| device.events).sum()
    }

    /// Share of the device-time in which devices are busy: the sum of their busy times over that of
    /// their spans, 0 without any.
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
