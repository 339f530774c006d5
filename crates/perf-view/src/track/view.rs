//! [`View`]: section of a page that shows clusters and tracked regions, with its tables and the
//! data for its script.

use super::model::{Clusters, Compared, Match, Metric, Shown};
use super::picture::note;
use super::timeline::Timeline;
use super::{Picture, time_balance};
use crate::encoding::base64;
use crate::{Result, Section, Theme, number, section};
use maud::{Markup, html};
use perf_core::Job;
use perf_track::trend::Summary;
use serde::Serialize;

/// Section of a page that shows clusters and tracked regions.
///
/// The section shows one experiment along selectable axes, with a slider through the experiments.
/// It also shows all experiments side by side, trends, matrices, and the evidence for each tracked
/// region. See [`Clusters`] for an example.
#[derive(Clone, Debug)]
pub struct View<'a> {
    clusters: &'a Clusters,
    heading: String,
    id: String,
    most: usize,
}

const SCRIPT: &str = include_str!("../../assets/track/view.js");
const STYLE: &str = include_str!("../../assets/track/view.css");
/// Maximum number of tracked regions in a page. Regions with the most time take precedence.
const REGIONS: usize = 200;
/// Number of steps along an axis to which positions are rounded.
const STEPS: f64 = 65_535.0;

impl<'a> View<'a> {
    /// Creates a view of clusters.
    pub fn new(clusters: &'a Clusters) -> Self {
        View {
            clusters,
            heading: "Clusters".into(),
            id: "clusters".into(),
            most: 200_000,
        }
    }

    /// Sets the heading of the section and its link anchor. Default `Clusters` and `clusters`.
    pub fn named(mut self, heading: impl Into<String>, id: impl Into<String>) -> Self {
        (self.heading, self.id) = (heading.into(), id.into());
        self
    }

    /// Sets the maximum number of points of all experiments, default 200,000. If there are more,
    /// close points of one tracked region are merged, and the page states this.
    pub fn most(mut self, points: usize) -> Self {
        self.most = points.max(1);
        self
    }

    /// Creates the section. Reports progress in the phase `clusters`.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    /// - Returns [`Error::TooLarge`](crate::Error::TooLarge) if the static picture has too many
    ///   pixels.
    pub fn section(&self, job: &Job) -> Result<Section> {
        let clusters = self.clusters;
        let ranges = clusters.ranges();
        job.check()?;
        let (cells, steps) = clusters.cells(&ranges, self.most);
        let mut experiments = Vec::new();
        for (at, (experiment, cells)) in clusters.experiments.iter().zip(&cells).enumerate() {
            job.check()?;
            let axis = |axis: usize| {
                let [low, high] = ranges[axis];
                let places = cells.iter().map(|(place, _, _)| place.get(axis).copied());
                let places = places.map(|place| (place.unwrap_or(low) - low) / (high - low));
                words(places.map(|share| (STEPS * share).round().clamp(0.0, STEPS) as u16))
            };
            let counts = (cells.counts.iter().any(|count| *count > 1)).then(|| {
                // Counts are stored as logarithms, so that 16 bits hold numbers of up to 28 digits.
                let all = cells
                    .counts
                    .iter()
                    .map(|count| (1000.0 * (*count as f64).ln()).round() as u16);
                words(all)
            });
            experiments.push(ExperimentData {
                name: &experiment.name,
                tasks: experiment.tasks,
                points: experiment.regions.len(),
                noise: clusters.noise(at),
                cells: cells.len(),
                places: (0..clusters.axes.len()).map(axis).collect(),
                regions: words(
                    cells
                        .regions
                        .iter()
                        .map(|id| (*id).min(u32::from(u16::MAX)) as u16),
                ),
                counts,
                timeline: experiment.timeline.as_ref().map(TimelineData::of),
            });
            job.advance("clusters", 1, clusters.experiments.len() as u64);
        }
        let shown = clusters.regions.len().min(REGIONS);
        let axes = clusters.axes.iter().map(|axis| AxisData {
            name: &axis.name,
            unit: &axis.unit,
            log: axis.log,
            experiments: &axis.experiments,
        });
        let metrics = clusters.metrics.iter();
        let data = section::data(&Data {
            noun: clusters.noun,
            scale: &clusters.scale,
            ranges: &ranges,
            axes: axes.collect(),
            experiments,
            regions: clusters
                .regions
                .iter()
                .take(shown)
                .map(RegionData::of)
                .collect(),
            metrics: metrics
                .map(|metric| MetricData::of(metric, shown))
                .chain(MetricData::times(clusters, shown))
                .collect(),
            pairs: clusters.pairs.iter().map(PairData::of).collect(),
        })?;
        let mut notes = Vec::new();
        notes.extend(steps.map(|steps| note(clusters.points(), &cells, steps)));
        let more = clusters.regions.len() - shown;
        if more > 0 {
            notes.push(format!(
                "{more} more {}s with less time are drawn in grey.",
                clusters.noun
            ));
        }
        let scene = Picture::new(clusters).titled(&self.heading).scene();
        let still = (base64(&scene.png()?), scene.title);
        let body = self.body(&notes, &still);
        Ok(Section::new(
            "track",
            &self.id,
            &self.heading,
            body,
            data,
            SCRIPT,
            STYLE,
        ))
    }

    fn body(&self, notes: &[String], (still, words): &(String, String)) -> Markup {
        let (many, noun) = (self.clusters.experiments.len() > 1, self.clusters.noun);
        let is_tracked = noun == "region";
        let experiments = if many {
            ", the left and right keys an experiment"
        } else {
            ""
        };
        let help = [format!(
            "Point at a burst for its values, click to select its {noun}. Keys in the chart: up and down select a \
             {noun}{experiments}; Escape shows all."
        )];
        html! {
            @if !self.clusters.lead.is_empty() {
                ul.limits { @for sentence in &self.clusters.lead { li { (sentence) } } }
            }
            div.tools role="group" aria-label="Clusters" {
                label { "x axis " select.x {} }
                label { "y axis " select.y {} }
                @if many {
                    label { "Experiment " input.at type="range" min="0" step="0.02" value="0"; }
                    button.play type="button" aria-pressed="false" { "Play" }
                }
                button.none type="button" { "Show all " (noun) "s" }
                label { "Metric " select.metric {} }
                label { "as " select.kind {
                    option value="lines" { "mean and standard deviation" }
                    option value="boxes" { "box plots" }
                } }
                @if many { label { input.relative type="checkbox"; "relative to the first experiment" } }
                (section::help(&format!("{}-keys", self.id), &help))
            }
            output.status aria-live="polite" {}
            div.stage {
                canvas.cloud tabindex="0" role="img" aria-describedby={ (self.id) "-keys" } aria-label=(words) {}
                canvas.trend role="img" aria-label={ "A metric of each " (noun) } {}
            }
            @for line in notes { p.note.aggregated { (section::prose(line)) } }
            div.region aria-live="polite" {}
            @if self.clusters.experiments.iter().any(|of| of.timeline.is_some()) {
                canvas.timeline role="img"
                    aria-label={ "The " (noun) " that each thread computes over time" } {}
                output.where aria-live="polite" {}
            }
            div.below {
                div {
                    h3 { @if is_tracked { "Tracked regions" } @else { (capital(noun)) "s" } }
                    div.scroll { (self.table()) }
                    p.note {
                        @if is_tracked { "Each experiment: the clusters of the region, and its share of the CPU time." }
                        @else { "Shares of the CPU time; of the number of bursts if durations are unknown." }
                    }
                }
                @if !self.clusters.pairs.is_empty() {
                    div {
                        h3 { "Evidence for each match" }
                        div.tools role="group" aria-label="Evidence" {
                            label { "Experiments " select.pair {} }
                            label { "Evaluator " select.by {} }
                        }
                        div.scroll { table.matrix {} }
                        output.votes aria-live="polite" {}
                    }
                } @else { div { (self.balance()) } }
            }
            @if many {
                h3 { "All experiments" }
                canvas.experiments role="img" aria-label={ "All experiments in common axes. " (words) } {}
            }
            @if !self.clusters.pairs.is_empty() { (self.balance()) }
            noscript { img.still src={ "data:image/png;base64," (still) } alt=(words); }
        }
    }

    /// Returns the table of the division of the CPU time.
    fn balance(&self) -> Markup {
        let lines = self.clusters.balance();
        let names = lines.first().map_or(&[][..], |line| &line.parts);
        html! {
            @if !lines.is_empty() {
                h3 { "CPU time" }
                p.note { "All bursts, before any filter; each line adds up to 100 %." }
                div.scroll { table.balance {
                    thead { tr {
                        th scope="col" { "Experiment" }
                        th.n scope="col" { "CPU time" }
                        @for (name, _, _) in names { th.n scope="col" { (name) } }
                    } }
                    tbody {
                        @for line in &lines { tr {
                            th scope="row" { (line.name) }
                            td.n { (number::time(line.total.time.0 as f64)) }
                            @for (_, amount, share) in &line.parts {
                                td.n title={ (number::count(amount.bursts)) " bursts, " (amount.time.0) " ns" } {
                                    (time_balance::percent(*share))
                                }
                            }
                        } }
                    }
                } }
            }
        }
    }

    /// Returns the table of tracked regions.
    fn table(&self) -> Markup {
        let clusters = self.clusters;
        let tracked = clusters
            .regions
            .iter()
            .any(|region| region.confidence.is_some());
        let placed = clusters.regions.iter().any(|of| !of.position.is_empty());
        html! {
            table.regions {
                thead { tr {
                    th scope="col" { (capital(clusters.noun)) }
                    @for experiment in &clusters.experiments { th.n scope="col" { (section::name(&experiment.name)) } }
                    @if tracked { th.n scope="col" { "Confidence" } }
                    @if placed { th scope="col" { (if clusters.noun == "thread" { "Name" } else { "Program position" }) } }
                    @if tracked { th scope="col" { "Events" } }
                } }
                tbody {
                    @for region in clusters.regions.iter().take(REGIONS) {
                        tr data-region=(region.id) {
                            th scope="row" {
                                button.pick type="button" aria-pressed="false" {
                                    svg viewBox="0 0 13 13" aria-hidden="true" {
                                        rect width="13" height="13"
                                            fill=(super::colour(region.id, &Theme::light())) {}
                                    }
                                    (region.id)
                                }
                            }
                            @for (members, share) in region.members.iter().zip(&region.share) {
                                td.n { @if !members.is_empty() {
                                    @if tracked { (joined(members)) ": " }
                                    (number::percent(*share))
                                } }
                            }
                            @if tracked {
                                td.n { @if let Some(confidence) = region.confidence { (format!("{confidence:.2}")) } }
                            }
                            @if placed { td title=(region.position) { (function(&region.position)) } }
                            @if tracked {
                                td { (region.events.iter().map(|event| short(event)).collect::<Vec<_>>().join("; ")) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the function of a program position, without the calls before and after. The page shows them when the
/// region is selected.
fn function(position: &str) -> &str {
    position.split(", from ").next().unwrap_or_default()
}

/// Returns a noun with a capital letter.
fn capital(noun: &str) -> String {
    let mut letters = noun.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// Returns the first clause of the sentence about an event. The page shows the sentence when its region is selected.
fn short(event: &str) -> &str {
    event.split([',', ':']).next().unwrap_or_default()
}

fn joined(members: &[u32]) -> String {
    let members: Vec<String> = members.iter().map(u32::to_string).collect();
    members.join(" + ")
}

/// Encodes 16-bit numbers as base64, with the lower byte first.
fn words(values: impl Iterator<Item = u16>) -> String {
    base64(&values.flat_map(u16::to_le_bytes).collect::<Vec<_>>())
}

#[derive(Serialize)]
struct Data<'a> {
    noun: &'static str,
    /// Plural noun for the scale of an experiment.
    scale: &'a str,
    ranges: &'a [[f64; 2]],
    axes: Vec<AxisData<'a>>,
    experiments: Vec<ExperimentData<'a>>,
    regions: Vec<RegionData<'a>>,
    metrics: Vec<MetricData<'a>>,
    pairs: Vec<PairData>,
}

#[derive(Serialize)]
struct AxisData<'a> {
    name: &'a str,
    unit: &'a str,
    log: bool,
    experiments: &'a [[f64; 2]],
}

#[derive(Serialize)]
struct ExperimentData<'a> {
    name: &'a str,
    tasks: u32,
    points: usize,
    noise: usize,
    cells: usize,
    /// Coordinates of each axis as 16-bit numbers in base64; `regions` and `counts` have the same
    /// encoding.
    places: Vec<String>,
    regions: String,
    counts: Option<String>,
    timeline: Option<TimelineData<'a>>,
}

#[derive(Serialize)]
struct TimelineData<'a> {
    duration: i64,
    threads: &'a [String],
    total: usize,
    columns: usize,
    /// 16-bit numbers in base64.
    regions: String,
    /// Bytes in base64.
    shares: String,
}

impl<'a> TimelineData<'a> {
    fn of(timeline: &'a Timeline) -> Self {
        TimelineData {
            duration: timeline.end - timeline.begin,
            threads: &timeline.threads,
            total: timeline.total,
            columns: timeline.columns,
            regions: words(timeline.regions.iter().copied()),
            shares: base64(&timeline.shares),
        }
    }
}

#[derive(Serialize)]
struct RegionData<'a> {
    id: u32,
    colour: String,
    members: &'a [Vec<u32>],
    share: Vec<f64>,
    links: Vec<LinkData>,
    /// Centre and number of bursts in each experiment.
    centres: Vec<Option<(Vec<f64>, usize)>>,
    events: &'a [String],
    position: &'a str,
    facts: &'a [String],
}

impl<'a> RegionData<'a> {
    fn of(region: &'a Shown) -> Self {
        let centre = |centre: &Option<(Vec<f64>, usize)>| {
            let (at, count) = centre.as_ref()?;
            Some((at.iter().map(|value| rounded(*value)).collect(), *count))
        };
        RegionData {
            id: region.id,
            colour: super::colour(region.id, &Theme::light()).to_string(),
            members: &region.members,
            share: region.share.iter().map(|share| rounded(*share)).collect(),
            links: region.links.iter().map(LinkData::of).collect(),
            centres: region.centres.iter().map(centre).collect(),
            events: &region.events,
            position: &region.position,
            facts: &region.facts,
        }
    }
}

#[derive(Serialize)]
struct LinkData {
    from: (usize, u32),
    to: (usize, u32),
    kind: &'static str,
    confidence: f64,
    evidence: f64,
    votes: Vec<(&'static str, f64)>,
}

impl LinkData {
    fn of(link: &Match) -> Self {
        let votes = link.votes.iter();
        LinkData {
            from: link.from,
            to: link.to,
            kind: link.kind,
            confidence: rounded(link.confidence),
            evidence: rounded(link.evidence),
            votes: votes.map(|(who, value)| (*who, rounded(*value))).collect(),
        }
    }
}

#[derive(Serialize)]
struct MetricData<'a> {
    name: &'a str,
    unit: &'a str,
    /// For each tracked region and experiment: mean, standard deviation, and the seven values of a
    /// box from minimum to maximum.
    series: Vec<Vec<Option<[f64; 9]>>>,
}

impl<'a> MetricData<'a> {
    /// Returns the CPU time of each tracked region, summed over all threads. `None` unless several experiments
    /// have a known CPU time.
    fn times(clusters: &Clusters, shown: usize) -> Option<Self> {
        let totals = clusters.experiments.iter();
        let totals = totals.map(|of| Some(of.balance.as_ref()?.total.time.0 as f64));
        let totals: Vec<f64> = totals.collect::<Option<_>>()?;
        let series = |region: &Shown| {
            let parts = region.share.iter().zip(&region.members).zip(&totals);
            parts
                .map(|((share, members), total)| {
                    (!members.is_empty()).then(|| {
                        let mut all = [share * total; 9];
                        all[1] = 0.0;
                        all
                    })
                })
                .collect()
        };
        let regions = clusters.regions.iter().take(shown);
        (totals.len() > 1).then(|| MetricData {
            name: "CPU time of all threads",
            unit: "ns",
            series: regions.map(series).collect(),
        })
    }

    fn of(metric: &'a Metric, shown: usize) -> Self {
        let summary = |s: &Option<Summary>| {
            let s = s.as_ref()?;
            let boxed = [s.min, s.low, s.q1, s.median, s.q3, s.high, s.max];
            let mut all = [s.mean; 9];
            all[1] = s.deviation;
            all[2..].copy_from_slice(&boxed);
            Some(all)
        };
        let series = metric.series.iter().take(shown);
        MetricData {
            name: &metric.name,
            unit: &metric.unit,
            series: series
                .map(|series| series.iter().map(summary).collect())
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct PairData {
    from: usize,
    to: usize,
    left_out: [usize; 2],
    /// Name and rows of each matrix; null stands for no vote.
    matrices: Vec<(&'static str, Vec<Vec<Option<f64>>>)>,
}

impl PairData {
    fn of(pair: &Compared) -> Self {
        let row = |row: &Vec<f64>| {
            let cell = |value: &f64| (!value.is_nan()).then(|| rounded(*value));
            row.iter().map(cell).collect()
        };
        let matrices = pair.matrices.iter();
        PairData {
            from: pair.from,
            to: pair.to,
            left_out: pair.left_out,
            matrices: matrices
                .map(|(name, rows)| (*name, rows.iter().map(row).collect()))
                .collect(),
        }
    }
}

fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}
