//! Findings of the report about accelerators (idle time, gaps, uneven devices, exposed
//! communication), and the timeline of the devices.

use super::balance::MIN_EXPLAINED;
use super::{Finding, Kind, percent, time};
use crate::failure::{Failure, input};
use crate::options::time_option;
use crate::pictures;
use crate::progress::Bar;
use crate::recording::Recording;
use crate::report::Part;
use crate::report::sources::Source;
use perfkit::core::LocationKind;
use perfkit::fold::{Cause, Device, DeviceParams, Devices, GroupBy, Groups, Op, Work};

/// Smallest share of idle time of the devices that is a finding.
const MIN_IDLE_SHARE: f64 = 0.1;
/// Smallest share of the longest gap in the span of its device at which the gap is a finding.
const MIN_GAP_SHARE: f64 = 0.05;
/// Smallest share of exposed communication or copies that is a finding.
const MIN_EXPOSED_SHARE: f64 = 0.05;
/// Smallest ratio of the largest to the mean busy share that makes devices uneven.
const MIN_MAX_TO_MEAN: f64 = 1.1;
/// Largest number of causes of idle time in a sentence.
const CAUSES: usize = 3;
/// Smallest share of idle time without a known cause at which no causes are listed.
const UNKNOWN_CAUSE: f64 = 0.995;
/// Denominator of all shares.
const SPAN: &str = "devices x span";

/// Describes a cause of idle time.
fn words(cause: Cause) -> &'static str {
    match cause {
        Cause::HostLate => "the host launches late",
        Cause::Launch => "launch latency",
        Cause::Copy => "dependence on a copy",
        Cause::Set => "dependence on a set of memory",
        Cause::Communication => "dependence on communication",
        Cause::Kernel => "between kernels that were launched in time",
        Cause::QueueEmpty => "empty queue",
        _ => "launches that are not recorded",
    }
}

fn name(device: &Device) -> String {
    match device.rank {
        Some(rank) => format!("rank {rank}, device {}", device.name),
        None => format!("device {}", device.name),
    }
}

/// Devices of a recording with the sum of their spans.
struct Sum<'a> {
    /// Recording with its name and files.
    source: &'a Source,
    /// Trace of the recording.
    recording: &'a Recording,
    /// Devices with work.
    devices: Vec<&'a Device>,
    /// Sum of the spans in ticks.
    span: f64,
    /// Share of the spans in the duration of the recording on all devices, by which findings are weighted.
    of_run: f64,
}

/// Returns the findings about the devices of a trace.
///
/// # Errors
/// Returns [`Failure::Input`] if the work of the devices cannot be read.
pub(in crate::report) fn part(source: &Source, recording: &Recording) -> Result<Part, Failure> {
    let mut part = Part::default();
    let system = &recording.trace.definitions().system;
    let is_stream =
        |location: &perfkit::core::Location| location.kind == LocationKind::AcceleratorStream;
    if !system.locations().iter().any(is_stream) {
        part.skip("devices", "no stream of an accelerator is recorded");
        return Ok(part);
    }
    let devices = Devices::new(
        recording.trace.view(),
        &DeviceParams::new().keep_gaps(true),
        &Bar::job(),
    )
    .map_err(input)?;
    let used = devices
        .devices()
        .iter()
        .filter(|device| device.utilisation.span > 0);
    let used: Vec<&Device> = used.collect();
    if used.is_empty() {
        part.skip("devices", "no work on any device is recognised");
        return Ok(part);
    }
    let spans = used.iter().map(|device| device.utilisation.span as f64);
    let span: f64 = spans.sum();
    let all = Sum {
        source,
        recording,
        of_run: recording.trace.range().map_or(1.0, |range| {
            (span / (used.len() as f64 * range.len().max(1) as f64)).min(1.0)
        }),
        devices: used,
        span,
    };
    all.idle(&mut part);
    all.gap(&mut part);
    all.uneven(&mut part);
    all.exposed(&mut part);
    for finding in &mut part.findings {
        finding.weight *= all.of_run;
    }
    Ok(part)
}

/// Returns the timeline of the devices for the page.
///
/// # Errors
/// Returns the errors of folding and drawing.
pub(in crate::report) fn section(
    source: &Source,
    recording: &Recording,
) -> Result<Vec<perfkit::view::Section>, Failure> {
    let timelines = pictures::timelines(&recording.trace)?;
    let rows = (pictures::device_rows(&timelines)?, None::<Op>);
    let words = source.paths.iter().map(|path| path.to_string_lossy());
    let words: Vec<_> = words.collect();
    let command = pictures::fold_command(words.iter().map(AsRef::as_ref).chain(["--by", "device"]));
    let heading = format!("{}: timeline of the devices", source.name);
    let of = (&recording.trace, &timelines);
    // A recording without groups of devices has no rows.
    if Groups::by(&timelines, GroupBy::Device).rows().is_empty() {
        return Ok(Vec::new());
    }
    pictures::timeline(
        of,
        rows,
        (timelines.range(), true),
        (&heading, "devices"),
        pictures::More {
            // The timeline of the processes has them.
            counters: Some(Vec::new()),
            ..pictures::More::command(&command)
        },
    )
}

impl Sum<'_> {
    fn nanos(&self, ticks: f64) -> f64 {
        let clock = self.recording.trace.definitions().clock;
        clock.total(ticks.max(0.0) as u128).0 as f64
    }

    fn sum(&self, of: impl Fn(&Device) -> u64) -> f64 {
        self.devices.iter().map(|device| of(device) as f64).sum()
    }

    fn of(&self) -> String {
        let devices = match self.devices.len() {
            1 => "1 device, from its first to its last work".into(),
            more => format!("{more} devices, each from its first to its last work"),
        };
        format!("{} of device time ({devices})", time(self.nanos(self.span)))
    }

    fn utilisation(&self, more: &[&str]) -> String {
        self.source.command(&["utilisation"], more)
    }

    fn idle(&self, part: &mut Part) {
        let idle = self.sum(Device::all_idle);
        let share = idle / self.span;
        if share < MIN_IDLE_SHARE {
            part.pass(format!(
                "idle for {} of {}, less than {}",
                percent(share),
                self.of(),
                percent(MIN_IDLE_SHARE)
            ));
            return;
        }
        let mut causes = Cause::ALL.map(|cause| (self.sum(|device| device.idle(cause)), cause));
        causes.sort_by(|one, other| other.0.total_cmp(&one.0));
        let causes = causes
            .iter()
            .filter(|(time, _)| *time >= 0.01 * idle)
            .take(CAUSES);
        let causes: Vec<String> = causes
            .map(|(time, cause)| format!("{} {}", words(*cause), percent(time / idle)))
            .collect();
        let unknown = self.sum(|device| device.idle(Cause::Unknown));
        let causes = if unknown >= UNKNOWN_CAUSE * idle {
            "The causes are unknown, because launches are not recorded".into()
        } else {
            format!("Causes, as shares of the idle time: {}", causes.join(", "))
        };
        let worst = self.devices.iter().max_by(|one, other| {
            let share = |device: &Device| device.all_idle() as f64 / device.utilisation.span as f64;
            share(one).total_cmp(&share(other))
        });
        let worst_words = match worst.filter(|_| self.devices.len() > 1) {
            Some(device) => format!(
                "; most of all {}, {} of its span",
                name(device),
                percent(device.all_idle() as f64 / device.utilisation.span as f64)
            ),
            None => String::new(),
        };
        let sentence = format!(
            "Devices have no work for {} of {}{worst_words}. {causes}.",
            percent(share),
            self.of(),
        );
        let figure = ("idle time", self.nanos(idle), "ns");
        let finding = Finding::new(
            Kind::DeviceIdle,
            &self.source.name,
            Some(share),
            SPAN,
            figure,
            sentence,
        );
        part.findings.push(
            finding
                .next(self.utilisation(&["--gaps", "5"]))
                .at(|place| {
                    place.rank = worst.and_then(|device| device.rank);
                    place.location = worst.map(|device| name(device));
                }),
        );
    }

    fn gap(&self, part: &mut Part) {
        let gaps = self
            .devices
            .iter()
            .flat_map(|device| device.gaps.iter().map(move |gap| (*device, gap)));
        let Some((device, gap)) = gaps.max_by_key(|(_, gap)| gap.range.len()) else {
            return;
        };
        let of_device = gap.range.len() as f64 / device.utilisation.span as f64;
        if of_device < MIN_GAP_SHARE {
            return;
        }
        let clock = self.recording.trace.definitions().clock;
        let length = self.nanos(gap.range.len() as f64);
        let causes = gap.parts().map(|(cause, range)| {
            format!("{} {}", words(cause), time(self.nanos(range.len() as f64)))
        });
        let causes: Vec<_> = causes.collect();
        let causes = if gap.parts().all(|(cause, _)| cause == Cause::Unknown) {
            String::new()
        } else {
            format!(": {}", causes.join(", "))
        };
        let share = gap.range.len() as f64 / self.span;
        let sentence = format!(
            "The longest gap without work on {} takes {}, {} of its span{causes}.",
            name(device),
            time(length),
            percent(of_device),
        );
        let (from, to) = (clock.nanos(gap.range.start), clock.nanos(gap.range.end));
        let window = [from, to].map(|at| time_option(at.unwrap_or_default().0));
        let command = self.source.command(
            &["fold"],
            &[
                "--by",
                "location",
                "--from",
                &window[0],
                "--to",
                &window[1],
                "--html",
                "closer.html",
            ],
        );
        let figure = ("gap", length, "ns");
        let finding = Finding::new(
            Kind::DeviceGap,
            &self.source.name,
            Some(share),
            SPAN,
            figure,
            sentence,
        );
        part.findings.push(finding.next(command).at(|place| {
            place.rank = device.rank;
            place.location = Some(name(device));
            place.from_ns = from.map(|at| at.0);
            place.to_ns = to.map(|at| at.0);
        }));
    }

    fn uneven(&self, part: &mut Part) {
        let busy = |device: &Device| device.utilisation.utilisation();
        let most = self
            .devices
            .iter()
            .max_by(|one, other| busy(one).total_cmp(&busy(other)));
        let least = self
            .devices
            .iter()
            .min_by(|one, other| busy(one).total_cmp(&busy(other)));
        let (Some(most), Some(least)) = (most, least) else {
            return;
        };
        let mean =
            self.devices.iter().map(|device| busy(device)).sum::<f64>() / self.devices.len() as f64;
        if self.devices.len() < 2 {
            return;
        }
        if mean <= 0.0 || busy(most) / mean < MIN_MAX_TO_MEAN {
            part.pass(format!(
                "busy alike: max/mean {:.2}, less than {MIN_MAX_TO_MEAN}",
                busy(most) / mean
            ));
            return;
        }
        let less: f64 = self
            .devices
            .iter()
            .map(|device| (busy(most) - busy(device)) * device.utilisation.span as f64)
            .sum();
        let share = less / self.span;
        let sentence = format!(
            "{} is busy for {} of its span and {} for {}, max/mean {:.2}. With equal work for all {} devices, {} of {} could go to \
             the less busy ones.",
            name(most),
            percent(busy(most)),
            name(least),
            percent(busy(least)),
            busy(most) / mean,
            self.devices.len(),
            percent(share),
            self.of()
        );
        let figure = ("max/mean of busy share", busy(most) / mean, "1");
        let mut finding = Finding::new(
            Kind::DeviceImbalance,
            &self.source.name,
            Some(share),
            SPAN,
            figure,
            sentence,
        );
        let idle = self.sum(Device::all_idle) / self.span;
        if share >= MIN_EXPLAINED * idle {
            // The cause of idle time is listed before it.
            finding.weight = finding.weight.max(idle + f64::EPSILON);
        }
        part.findings
            .push(finding.next(self.utilisation(&[])).at(|place| {
                place.rank = least.rank;
                place.location = Some(name(least));
            }));
    }

    fn exposed(&self, part: &mut Part) {
        for (works, kind, what) in [
            (
                &[Work::Communication][..],
                Kind::ExposedCommunication,
                "communication",
            ),
            (
                &[Work::Copy, Work::Set][..],
                Kind::ExposedCopies,
                "copying and setting memory",
            ),
        ] {
            let busy = self.sum(|device| works.iter().map(|work| device.busy(*work)).sum());
            let hidden = self.sum(|device| {
                works
                    .iter()
                    .map(|work| device.both(*work, Work::Compute))
                    .sum()
            });
            let exposed = (busy - hidden).max(0.0);
            let share = exposed / self.span;
            if busy == 0.0 {
                continue;
            }
            if share < MIN_EXPOSED_SHARE {
                part.pass(format!(
                    "{what} without computation beside it takes {} of {}, less than {}",
                    percent(share),
                    self.of(),
                    percent(MIN_EXPOSED_SHARE)
                ));
                continue;
            }
            let sentence = format!(
                "Devices spend {} of {} on {what} while no kernel computes beside it; {} of all {what} is hidden by computation.",
                percent(share),
                self.of(),
                percent(hidden / busy)
            );
            let figure = ("exposed time", self.nanos(exposed), "ns");
            let finding =
                Finding::new(kind, &self.source.name, Some(share), SPAN, figure, sentence);
            part.findings.push(finding.next(self.utilisation(&[])));
        }
    }
}
