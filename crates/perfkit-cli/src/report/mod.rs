//! Subcommand `report`: runs every analysis that recordings support, and collects ranked findings
//! and sections of a page in a [`Report`].
//!
//! [`Report::of`] runs the analyses; [`Report::write`] writes the page. An analysis that does not apply or fails
//! becomes a [`Remark`] at the end of the page.

pub(crate) mod exclusive_times;
mod findings;
mod output;
mod sources;

pub use findings::{Figure, Finding, Kind, Place};

use crate::clocks::{Clocks, ClocksBy};
use crate::failure::{Failure, Outcome, input};
use crate::inspect;
use crate::messages;
use crate::options::{General, TRACE, Window};
use crate::pictures;
use crate::progress::Bar;
use crate::recording::{Reading, Recording, order_by_threads};
use crate::table::counted;
use clap::Args;
use exclusive_times::Times;
use findings::balance::Balance;
use findings::series::Shares;
use findings::waits::Waits;
use findings::{
    anomalies, correlations, counters, devices, phases, recording_quality, series, waits,
};
use perfkit::core::{GroupKind, LocationKind, Profile, ReplayCounts, TraceView};
use perfkit::view::Section;
use serde::Serialize;
use sources::{Content, Source};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Number of call paths in the tables of the page.
const TOP: usize = 15;
/// Smallest ratio of common to all function names of two traces at which they count as runs of the same
/// program.
const MIN_COMMON_NAMES: f64 = 0.5;

/// Writes one page with every analysis that the recordings support, beginning with ranked findings
///
/// Each finding has its figure, its place and the next command to run. Several files of Chrome JSON, rocprofv3 or
/// Nsight Systems are the ranks of one job; several other traces of one program are a series, ordered by their number of threads.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recordings with events and profiles, in any mix"]
    #[arg(required = true, value_name = "RECORDING", long_help = format!(
        "Recordings in any mix: with events: {TRACE}; profiles: .cubex, .cube, a TAU folder, .ppk"
    ))]
    files: Vec<PathBuf>,
    /// Page to write
    #[arg(
        long,
        value_name = "OUT",
        default_value = "report.html",
        help_heading = "Output files"
    )]
    html: PathBuf,
    /// Write the findings as a table
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    csv: Option<PathBuf>,
    /// Grid of the locations, as `correlate` takes it: 4x4x4 or node,process,thread [default: that of the recording;
    /// without one nothing is correlated]
    #[arg(long, value_name = "RULE")]
    topology: Option<String>,
    #[command(flatten)]
    clocks: ClocksBy,
    #[command(flatten)]
    window: Window,
    #[command(flatten)]
    general: General,
}

/// Note about an analysis of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Name of the recording.
    pub recording: String,
    /// Name of the analysis.
    pub analysis: String,
    /// Reason why the analysis does not apply or failed, or the result of an analysis without a finding.
    pub text: String,
}

/// Recording of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// Name, unique among the recordings.
    pub name: String,
    /// Files of the recording.
    pub files: Vec<PathBuf>,
    /// Content in a few words.
    pub content: String,
}

/// Findings about recordings with the sections of the page.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Recordings in the order of the arguments.
    pub recordings: Vec<Subject>,
    /// Findings, the most important first.
    pub findings: Vec<Finding>,
    /// Results of analyses without a finding.
    pub healthy: Vec<Remark>,
    /// Analyses that do not apply or failed.
    pub skipped: Vec<Remark>,
    /// Number of files that could not be opened.
    pub unreadable: usize,
    /// Sections of the page, each with the name of its recording.
    #[serde(skip)]
    sections: Vec<(String, Section)>,
    /// Shares of the time of each trace, for series.
    #[serde(skip)]
    shares: Vec<(String, Shares)>,
}

/// Result of one analysis.
#[derive(Debug, Default)]
struct Part {
    /// Findings.
    findings: Vec<Finding>,
    /// Results without a finding.
    healthy: Vec<String>,
    /// Names of analyses that do not apply or failed, with the reasons.
    skipped: Vec<(String, String)>,
    /// Sections of the page.
    sections: Vec<Section>,
}

impl Part {
    /// Adds a result without a finding.
    fn pass(&mut self, text: String) {
        self.healthy.push(text);
    }

    /// Adds an analysis that does not apply.
    fn skip(&mut self, analysis: &str, reason: &str) {
        self.skipped.push((analysis.into(), reason.into()));
    }
}

/// Analyses recordings, prints the findings and writes the page.
///
/// # Errors
/// Returns [`Failure::Usage`] if an output file is a recording, and [`Failure::Input`] if no
/// recording can be opened or an output file cannot be written.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    for written in std::iter::once(&options.html).chain(&options.csv) {
        spare(written)?;
    }
    let report = Report::of(
        &options.files,
        options.topology.as_deref(),
        (options.clocks.clocks, options.window),
    );
    if report.recordings.is_empty() {
        let reasons = report.skipped.iter().map(|remark| {
            let Remark {
                recording, text, ..
            } = remark;
            if text.contains(recording.as_str()) {
                text.clone()
            } else {
                format!("{recording}: {text}")
            }
        });
        return Err(Failure::Input(reasons.collect::<Vec<_>>().join("\n")));
    }
    report.write(&options.html, None)?;
    if let Some(path) = &options.csv {
        crate::output::whole(path, |to| report.csv(to))?;
    }
    let page = options.html.display().to_string();
    if options.general.json {
        writeln!(out, "{}", report.json(&page)?)?;
    } else {
        report.text(out)?;
        writeln!(out, "\npage written to {page}")?;
    }
    Ok(())
}

/// Checks that an output file does not replace a recording, also one that is no argument.
fn spare(written: &Path) -> Outcome {
    match written.is_file().then(|| perfkit::formats::probe(written)) {
        Some(Ok(format)) => Err(Failure::Usage(format!(
            "{} is a recording ({}) and is not written over",
            written.display(),
            format.name
        ))),
        _ => Ok(()),
    }
}

impl Report {
    /// Analyses recordings. `topology` is the grid of their locations; the default is the grid of
    /// the recording. `reading` is the window of time, and the treatment of clocks that disagree.
    pub fn of(files: &[PathBuf], topology: Option<&str>, reading: impl Into<Reading>) -> Self {
        let mut report = Report::default();
        let reading = reading.into();
        let sources = sources::open(files, reading, &mut report);
        for source in &sources {
            messages::detail(&format!("analysing {}", source.name));
            match &source.content {
                Content::Trace(recording) => {
                    report.trace(source, recording, topology, reading.clocks);
                }
                Content::Profile(profiled) => {
                    let profile = &profiled.profile;
                    report.subject(source, profiled.format, profile_words(profile));
                    let repairs =
                        recording_quality::repairs(source, &profiled.diagnostics, &profiled.counts);
                    report.add(source, Ok(repairs), "repairs");
                    let sections = inspect::profile_sections(profiled, TOP);
                    report.pages(source, sections, "call paths");
                    report.profile(source, profile, None, topology);
                    report.add(source, counters::part(source, profile), "counters");
                }
            }
        }
        report.series(&sources);
        findings::rank(&mut report.findings);
        report
    }

    fn trace(
        &mut self,
        source: &Source,
        recording: &Recording,
        topology: Option<&str>,
        clocks: Clocks,
    ) {
        let trace = &recording.trace;
        self.subject(source, recording.format, trace_words(recording));
        let (mut waits, failed) = match waits::waits(source, recording, clocks) {
            Ok(waits) => (waits, None),
            Err(failure) => (Waits::default(), Some(failure)),
        };
        let sections = std::mem::take(&mut waits.part.sections);
        self.pages(source, Ok(sections), "waiting");
        let correction = waits.correction.as_deref();
        self.add(
            source,
            recording_quality::trace(source, trace, correction),
            "clocks",
        );
        self.code(source, recording, topology);
        match failed {
            Some(failure) => self.add(source, Err(failure), "waiting"),
            None => self.waiting(source, waits),
        }
    }

    /// Adds the findings about waiting. They replace findings of other analyses about the same time,
    /// which do not state the cause.
    fn waiting(&mut self, source: &Source, mut waits: Waits) {
        let found = &mut waits.part.findings;
        let of_source = |it: &Finding| it.place.recording == source.name;
        self.findings
            .retain(|it| !of_source(it) || !waits::repeats(it, found));
        let others = &self.findings;
        let is_repeated = |it: &Finding| of_source(it) && anomalies::repeats(it, found, others);
        let mut repeated = others
            .iter()
            .map(is_repeated)
            .collect::<Vec<_>>()
            .into_iter();
        self.findings
            .retain(|_| !repeated.next().unwrap_or_default());
        let symptom = self.findings.iter().filter(|it| of_source(it));
        let mut symptom = symptom.filter(|it| it.kind == Kind::Communication);
        if let Some(symptom) = symptom.next().map(|it| it.weight) {
            // Findings about waiting explain the time in MPI and are listed before it.
            for finding in found {
                let own = finding.weight;
                finding.weight = own.max(symptom + own * f64::EPSILON.sqrt());
            }
        }
        self.add(source, Ok(waits.part), "waiting");
    }

    /// Adds the findings about time by call path, abnormal calls and devices.
    fn code(&mut self, source: &Source, recording: &Recording, topology: Option<&str>) {
        let view = recording.trace.view();
        let sections = inspect::trace_sections(recording, &source.paths, &source.name, TOP);
        self.pages(source, sections, "timeline");
        let made = Profile::from_trace(view, &Bar::job());
        let (profile, counts) = match made.map_err(input) {
            Ok(made) => made,
            Err(failure) => {
                let none = ReplayCounts::default();
                let repairs = recording_quality::repairs(source, &recording.diagnostics, &none);
                self.add(source, Ok(repairs), "repairs");
                return self.add(source, Err(failure), "call paths");
            }
        };
        let repairs = recording_quality::repairs(source, &recording.diagnostics, &counts);
        self.add(source, Ok(repairs), "repairs");
        let times = self.profile(source, &profile, Some(view), topology);
        if let Some(times) = &times {
            self.shares.push((source.name.clone(), Shares::of(times)));
        }
        if let Some(times) = times.filter(|times| times.threads > 0) {
            self.add(
                source,
                anomalies::part(source, recording, &times),
                "abnormal calls",
            );
        }
        let devices = devices::part(source, recording);
        let has_devices = devices.as_ref().is_ok_and(|part| part.skipped.is_empty());
        self.add(source, devices, "devices");
        if has_devices {
            self.pages(
                source,
                devices::section(source, recording),
                "timeline of devices",
            );
        }
    }

    /// Adds the findings that follow from a profile, and returns its times.
    fn profile(
        &mut self,
        source: &Source,
        profile: &Profile,
        view: Option<TraceView<'_>>,
        topology: Option<&str>,
    ) -> Option<Times> {
        let times = match Times::of(profile, view) {
            Ok(times) => times,
            Err(failure) => {
                self.add(source, Err(failure), "time by call path");
                return None;
            }
        };
        let balance = Balance {
            source,
            times: &times,
            view,
            has_grid: topology.is_some() || !profile.topologies().is_empty(),
        };
        self.add(source, balance.part(), "time by call path");
        let correlations = correlations::part(source, profile, &times, topology);
        self.add(source, correlations, "correlation over the grid");
        Some(times)
    }

    /// Appends the recordings, findings and sections of another report.
    pub fn and(mut self, other: Report) -> Self {
        self.recordings.extend(other.recordings);
        self.findings.extend(other.findings);
        self.healthy.extend(other.healthy);
        self.skipped.extend(other.skipped);
        self.sections.extend(other.sections);
        self.shares.extend(other.shares);
        self.unreadable += other.unreadable;
        findings::rank(&mut self.findings);
        self
    }

    /// Adds the phases of each trace. Traces of the same program are compared as a series.
    fn series(&mut self, sources: &[Source]) {
        let traces = sources
            .iter()
            .filter(|source| source.trace().is_some() && source.paths.len() == 1);
        let traces: Vec<&Source> = traces.collect();
        let mut groups: Vec<Vec<&Source>> = Vec::new();
        for source in traces {
            let same = groups
                .iter_mut()
                .find(|group| group.first().is_some_and(|first| are_alike(first, source)));
            match same {
                Some(group) => group.push(source),
                None => groups.push(vec![source]),
            }
        }
        for group in groups {
            let names = group.iter().map(|source| source.name.clone());
            let name = names.collect::<Vec<_>>().join(", ");
            if group
                .iter()
                .any(|source| source.trace().is_some_and(has_streams))
            {
                let mut part = Part::default();
                part.skip(
                    "phases",
                    "CPU bursts of a recording with devices are mostly launches; see `perfkit cluster`",
                );
                self.named(&name, Ok(part), "phases");
            } else if let [only] = &group[..] {
                self.add(only, phases::single(only), "phases");
            } else {
                self.runs(group);
            }
        }
    }

    /// Adds the findings about several traces of one program.
    fn runs(&mut self, mut group: Vec<&Source>) {
        order_by_threads(&mut group, |source| {
            let shares = self.shares.iter().find(|(name, _)| *name == source.name);
            shares.map_or(0, |(_, shares)| shares.threads)
        });
        let names = group.iter().map(|source| source.name.clone());
        let name = names.collect::<Vec<_>>().join(", ");
        let name = name.as_str();
        let paths = group.iter().flat_map(|source| source.paths.clone());
        let paths: Vec<PathBuf> = paths.collect();
        let words: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
        let words = words.iter().map(AsRef::as_ref);
        let words = ["perfkit", "track"].into_iter().chain(words);
        let window = group.first().map_or_else(Window::default, |it| it.window);
        let options = window.outside_of(&[]);
        let options = options.iter().map(String::as_str);
        let command = pictures::shell(words.chain(["--html", "closer.html"]).chain(options));
        let shares = group.iter().filter_map(|source| {
            let mut all = self.shares.iter();
            all.find(|(name, _)| *name == source.name).cloned()
        });
        let shares: Vec<_> = shares.collect();
        let scaling = if window.is_given() {
            let mut part = Part::default();
            let what = "windows of equal length say nothing about speedup and scaling: report the whole runs";
            part.skip("scaling", what);
            part
        } else {
            series::part(name, &shares, &command)
        };
        self.named(name, Ok(scaling), "scaling");
        let opened: Vec<_> = group.iter().flat_map(|source| source.opened()).collect();
        let tracked = phases::tracked(name, &opened, &command);
        self.named(name, tracked, "phases from run to run");
    }

    fn subject(&mut self, source: &Source, format: &str, words: String) {
        self.recordings.push(Subject {
            name: source.name.clone(),
            files: source.paths.clone(),
            content: format!("{format}, {words}"),
        });
    }

    /// Adds the result of an analysis; an error becomes a remark.
    fn add(&mut self, source: &Source, part: Result<Part, Failure>, analysis: &str) {
        self.named(&source.name, part, analysis);
    }

    fn named(&mut self, name: &str, part: Result<Part, Failure>, analysis: &str) {
        let remark = |analysis: &str, text: String| Remark {
            recording: name.into(),
            analysis: analysis.into(),
            text,
        };
        match part {
            Ok(part) => {
                self.findings.extend(part.findings);
                let healthy = part.healthy.into_iter().map(|text| remark(analysis, text));
                self.healthy.extend(healthy);
                let skipped = part.skipped.into_iter();
                self.skipped
                    .extend(skipped.map(|(analysis, text)| remark(&analysis, text)));
                let sections = part.sections.into_iter();
                self.sections
                    .extend(sections.map(|section| (name.to_string(), section)));
            }
            Err(failure) => self.skipped.push(remark(analysis, sources::text(&failure))),
        }
    }

    fn pages(&mut self, source: &Source, sections: Result<Vec<Section>, Failure>, analysis: &str) {
        let part = sections.map(|sections| Part {
            sections,
            ..Part::default()
        });
        self.add(source, part, analysis);
    }
}

/// Returns `true` if a trace has streams of accelerators.
fn has_streams(recording: &Recording) -> bool {
    let locations = recording.trace.definitions().system.locations().iter();
    let mut kinds = locations.map(|location| location.kind);
    kinds.any(|kind| kind == LocationKind::AcceleratorStream)
}

/// Describes the size of a trace.
fn trace_words(recording: &Recording) -> String {
    let trace = &recording.trace;
    let system = &trace.definitions().system;
    let devices = system
        .groups()
        .iter()
        .filter(|group| group.kind == GroupKind::Accelerator);
    let devices = devices.count() as u64;
    let processes = findings::count(
        system.groups().len() as u64 - devices,
        "process",
        "processes",
    );
    let groups = match devices {
        0 => processes,
        some => format!(
            "{processes} and {}",
            findings::count(some, "device", "devices")
        ),
    };
    let duration = trace
        .range()
        .map_or(0, |range| range.len().saturating_sub(1));
    format!(
        "{} on {} of {} in {}",
        counted(trace.len(), "event"),
        counted(system.locations().len(), "location"),
        groups,
        findings::time(trace.definitions().clock.total(u128::from(duration)).0 as f64)
    )
}

/// Describes the size of a profile.
fn profile_words(profile: &Profile) -> String {
    format!(
        "a profile of {}, {} and {}",
        counted(profile.metrics().len(), "metric"),
        counted(profile.calls().paths().len(), "call path"),
        counted(profile.system().locations().len(), "location")
    )
}

/// Returns `true` if two traces are runs of the same program: they have the same format and most function names in
/// common.
fn are_alike(one: &Source, other: &Source) -> bool {
    let (Some(one), Some(other)) = (one.trace(), other.trace()) else {
        return false;
    };
    let names = |recording: &Recording| -> BTreeSet<String> {
        let regions = recording.trace.definitions().regions.iter();
        regions.map(|region| region.name.clone()).collect()
    };
    let (first, second) = (names(one), names(other));
    let common = first.intersection(&second).count() as f64;
    let all = first.union(&second).count().max(1) as f64;
    one.format == other.format && common / all >= MIN_COMMON_NAMES
}
