//! [`Picture`]: points of all experiments in common axes, moving tracked regions, and trends of
//! metrics, as PNG or SVG.

use super::merged_points::Cells;
use super::model::Clusters;
use super::trend::{self, Kind, SHOWN};
pub(super) use crate::chart::MARGIN;
use crate::chart::{ABOVE, Around, BELOW, LEFT, Panel, head, legend, paragraph};
use crate::{Anchor, Colour, Mark, Scene, Theme, number};

/// Experiments in common axes with their trends, as PNG or SVG.
///
/// ```
/// # use perf_core::{Job, Nanos};
/// # use perf_track::{Burst, Bursts, ClusterId, Dimension, Scale, Thread};
/// # use perf_view::track::{Clusters, Picture};
/// # let mut bursts = Bursts::new(["work"]);
/// # let thread = bursts.add_thread(Thread::default())?;
/// # for at in 0..8 {
/// #     let (begin, end) = (Nanos(10 * at), Nanos(10 * at + 5));
/// #     bursts.push(Burst { thread, begin, end, ..Burst::default() }, &[1e6 * at as f64])?;
/// # }
/// # let scaled = Scale::params().dimension(Dimension::new("work")).check()?.fit(&[&bursts], &Job::default())?;
/// # let labels = [ClusterId(1); 8];
/// let clusters = Clusters::of_experiment("run 7", &scaled, &labels)?;
/// let scene = Picture::new(&clusters).titled("One phase").scene();
/// assert!(scene.svg().contains("One phase") && scene.png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    pub(super) clusters: &'a Clusters,
    title: String,
    pub(super) theme: Theme,
    pub(super) columns: usize,
    most: usize,
    is_moving: bool,
}

/// Width and height of a panel in pixels.
pub(super) const SIDE: f64 = 264.0;
pub(super) const GAP: f64 = 24.0;
/// Maximum number of pairs of axes.
const PAIRS: usize = 6;

impl<'a> Picture<'a> {
    /// Creates a picture of clusters.
    pub fn new(clusters: &'a Clusters) -> Self {
        Picture {
            clusters,
            title: String::new(),
            theme: Theme::light(),
            columns: 4,
            most: 20_000,
            is_moving: false,
        }
    }

    /// Sets the title above the picture. Default: none.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the theme, default [`Theme::light`].
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Sets the maximum number of panels side by side, which is clamped to `1..=64`. Default 4.
    pub fn columns(mut self, panels: usize) -> Self {
        self.columns = panels.clamp(1, 64);
        self
    }

    /// Sets the maximum number of circles, default 20,000. If there are more points, close points
    /// of one tracked region are merged, and the picture states this.
    pub fn most(mut self, circles: usize) -> Self {
        self.most = circles.max(1);
        self
    }

    /// Sets whether there is a panel in which the tracked regions move from experiment to
    /// experiment. Default `false`. Only SVG files show the movement.
    pub fn moving(mut self, is_moving: bool) -> Self {
        self.is_moving = is_moving;
        self
    }

    /// Draws every experiment in common axes. Below the experiments are the trends of the metrics
    /// that are axes.
    pub fn scene(&self) -> Scene {
        let clusters = self.clusters;
        let ranges = clusters.ranges();
        let (cells, steps) = clusters.cells(&ranges, self.most);
        let pairs = pairs(clusters.axes.len());
        let metrics: Vec<_> = clusters
            .axes
            .iter()
            .filter_map(|axis| {
                clusters
                    .metrics
                    .iter()
                    .find(|metric| metric.name == axis.name)
            })
            .collect();
        let moving = usize::from(self.is_moving && clusters.experiments.len() > 1);
        let charts = 2 * metrics.len() + moving;
        let across = self
            .columns
            .min(clusters.experiments.len().max(charts))
            .max(1);
        let width = 2.0 * MARGIN + across as f64 * (LEFT + SIDE + GAP) - GAP;
        let mut scene = Scene::new(width as u32, 0, self.theme.paper);
        scene.title = self.words();
        let mut top = self.head(width, &mut scene);
        for pair in &pairs {
            for experiment in 0..clusters.experiments.len() {
                let corner = self.corner(experiment, across, top);
                self.scatter(experiment, *pair, corner, (&ranges, &cells), &mut scene);
            }
            top += clusters.experiments.len().div_ceil(across) as f64 * PITCH;
        }
        for (at, metric) in metrics.iter().enumerate() {
            for (beside, kind) in [Kind::Lines, Kind::Boxes].into_iter().enumerate() {
                let corner = self.corner(2 * at + beside, across, top);
                let room = (corner, [SIDE, SIDE]);
                trend::draw(clusters, metric, kind, room, &self.theme, &mut scene);
            }
        }
        if moving > 0 {
            let corner = self.corner(charts - 1, across, top);
            let pair = pairs.first().copied().unwrap_or_default();
            self.moves(pair, corner, (&ranges, &cells), &mut scene);
        }
        top += charts.div_ceil(across) as f64 * PITCH;
        let entries = self.entries();
        let room = width - 2.0 * MARGIN;
        top += legend(&entries, [MARGIN, top], room, &self.theme, &mut scene);
        for line in clusters.balance_words() {
            top += paragraph(&line, [MARGIN, top], room, self.theme.ink, &mut scene);
        }
        if let Some(steps) = steps {
            let note = note(clusters.points(), &cells, steps);
            top += paragraph(&note, [MARGIN, top], room, self.theme.quiet, &mut scene);
        }
        scene.height = (top + MARGIN).ceil() as u32;
        scene
    }

    /// Draws a metric of each tracked region over the experiments, as means with standard
    /// deviations and as boxes.
    ///
    /// Returns `None` if there is no such metric.
    pub fn trend(&self, metric: &str) -> Option<Scene> {
        let clusters = self.clusters;
        let metric = clusters.metrics.iter().find(|found| found.name == metric)?;
        let wide = (clusters.experiments.len() as f64 * 60.0).clamp(SIDE, 1200.0);
        let width = 2.0 * MARGIN + 2.0 * (LEFT + wide) + GAP;
        let mut scene = Scene::new(width as u32, 0, self.theme.paper);
        scene.title = format!("{} of each {}, by experiment", metric.name, clusters.noun);
        let mut top = self.head(width, &mut scene);
        for (at, kind) in [Kind::Lines, Kind::Boxes].into_iter().enumerate() {
            let left = MARGIN + LEFT + at as f64 * (LEFT + wide + GAP);
            let room = ([left, top + ABOVE], [wide, SIDE]);
            trend::draw(clusters, metric, kind, room, &self.theme, &mut scene);
        }
        top += PITCH;
        let room = width - 2.0 * MARGIN;
        top += legend(
            &self.entries(),
            [MARGIN, top],
            room,
            &self.theme,
            &mut scene,
        );
        scene.height = (top + MARGIN).ceil() as u32;
        Some(scene)
    }

    pub(super) fn head(&self, width: f64, scene: &mut Scene) -> f64 {
        head(&self.title, width, &self.theme, scene)
    }

    fn corner(&self, at: usize, across: usize, top: f64) -> [f64; 2] {
        let (column, row) = (at % across, at / across);
        [
            MARGIN + LEFT + column as f64 * (LEFT + SIDE + GAP),
            top + ABOVE + row as f64 * PITCH,
        ]
    }

    fn scatter(
        &self,
        experiment: usize,
        pair: [usize; 2],
        corner: [f64; 2],
        (ranges, cells): (&[[f64; 2]], &[Cells]),
        scene: &mut Scene,
    ) {
        let panel = self.panel(pair, corner, ranges);
        let title = self
            .clusters
            .experiments
            .get(experiment)
            .map_or("", |of| &of.name);
        self.around(&panel, (experiment, title), pair, scene);
        let circles = cells
            .get(experiment)
            .map(|cells| self.circles(&panel, pair, cells));
        scene.marks.extend(circles.into_iter().flatten());
        for region in self.clusters.regions.iter().take(SHOWN) {
            let Some((centre, _)) = region.centres.get(experiment).and_then(|of| of.as_ref())
            else {
                continue;
            };
            // A space of one dimension is drawn along the middle of the second axis.
            let [x, y] = panel.place(spot(pair, |axis| centre.get(axis).copied().unwrap_or(0.5)));
            badge(
                [x, y],
                &region.id.to_string(),
                super::colour(region.id, &self.theme),
                scene,
            );
        }
    }

    fn panel(&self, [x, y]: [usize; 2], corner: [f64; 2], ranges: &[[f64; 2]]) -> Panel {
        // The axis beyond the last dimension has an arbitrary range.
        let of = |axis: usize| ranges.get(axis).copied().unwrap_or([0.0, 1.0]);
        Panel {
            corner,
            size: [SIDE, SIDE],
            x: of(x),
            y: if x == y { [-0.5, 0.5] } else { of(y) },
        }
    }

    fn around(
        &self,
        panel: &Panel,
        (experiment, title): (usize, &str),
        [x, y]: [usize; 2],
        scene: &mut Scene,
    ) {
        let axes = &self.clusters.axes;
        let name = |axis: usize| axes.get(axis).map_or(String::new(), |axis| axis.title());
        let ticks = |axis: usize, ends: [f64; 2], most: usize| {
            let found = axes
                .get(axis)
                .map(|axis| axis.ticks(experiment, ends, most));
            found.unwrap_or_default()
        };
        let (across, up) = (name(x), if x == y { String::new() } else { name(y) });
        let around = Around {
            title,
            x: &across,
            y: &up,
            x_ticks: ticks(x, panel.x, 4),
            y_ticks: if x == y {
                Vec::new()
            } else {
                ticks(y, panel.y, 5)
            },
        };
        panel.frame(&around, &self.theme, scene);
    }

    /// Returns the points of an experiment as circles. Points in no tracked region come first, so
    /// that other points cover them.
    fn circles(&self, panel: &Panel, pair: [usize; 2], cells: &Cells) -> Vec<Mark> {
        let mut all: Vec<_> = cells.iter().collect();
        all.sort_by_key(|cell| cell.1 != 0);
        let circle = |(at, region, count): (&[f64], u32, u64)| {
            // Points of a space of one dimension lie on the axis.
            let value = |axis: usize| at.get(axis).copied().unwrap_or_default();
            let [x, y] = panel.place(spot(pair, value));
            Mark::Circle([x, y, radius(count)], super::colour(region, &self.theme))
        };
        all.into_iter().map(circle).collect()
    }

    /// Draws the centres of the tracked regions, which move from experiment to experiment. Their
    /// area grows with the share of the time.
    fn moves(
        &self,
        pair: [usize; 2],
        corner: [f64; 2],
        (ranges, cells): (&[[f64; 2]], &[Cells]),
        scene: &mut Scene,
    ) {
        let panel = self.panel(pair, corner, ranges);
        let steps = self.clusters.experiments.len();
        for experiment in 0..steps {
            let mut seen = Scene::new(1, 1, self.theme.paper);
            let name = &self.clusters.experiments[experiment].name;
            self.around(&panel, (experiment, name), pair, &mut seen);
            let circles = cells
                .get(experiment)
                .map(|cells| self.circles(&panel, pair, cells));
            seen.marks.extend(circles.into_iter().flatten());
            scene.push(Mark::During(experiment, steps, seen.marks));
        }
        for region in self.clusters.regions.iter().take(SHOWN) {
            // While a tracked region is not visible, it stays at its last known position, or at its
            // first position if it was not visible yet.
            let mut known = region.centres.iter().flatten().next();
            let places = region
                .centres
                .iter()
                .enumerate()
                .map(|(experiment, centre)| {
                    known = centre.as_ref().or(known);
                    // Clusters have a share of their only experiment alone.
                    let share = region.share.get(experiment).copied().unwrap_or_default();
                    let value = |axis: usize| known.and_then(|of| of.0.get(axis).copied());
                    let at = spot(pair, |axis| value(axis).unwrap_or(0.5));
                    let [x, y] = panel.place(at);
                    ([x, y, 4.0 + 26.0 * share.max(0.0).sqrt()], centre.is_some())
                });
            let colour = super::colour(region.id, &self.theme).opacity(0.55);
            scene.push(Mark::Moving(places.collect(), colour));
        }
    }

    fn entries(&self) -> Vec<(Colour, String)> {
        let clusters = self.clusters;
        let last = |shares: &[f64]| shares.iter().rev().find(|share| **share > 0.0).copied();
        let region = |region: &super::model::Shown| {
            let share = last(&region.share).map_or(String::new(), |share| {
                format!(", {}", number::percent(share))
            });
            let name = format!("{} {}{share}", clusters.noun, region.id);
            (super::colour(region.id, &self.theme), name)
        };
        let mut entries: Vec<_> = clusters.regions.iter().take(SHOWN).map(region).collect();
        let more = clusters.regions.len().saturating_sub(SHOWN);
        if more > 0 {
            let name = format!("and {more} more {}s", clusters.noun);
            entries.push((self.theme.paper, name));
        }
        let in_none = |experiment: &super::model::Experiment| experiment.regions.contains(&0);
        if clusters.experiments.iter().any(in_none) {
            entries.push((super::colour(0, &self.theme), "in none".into()));
        }
        entries
    }

    fn words(&self) -> String {
        let clusters = self.clusters;
        let experiments: Vec<String> = clusters
            .experiments
            .iter()
            .enumerate()
            .map(|(at, experiment)| {
                let noise = clusters.noise(at);
                let points = number::count(experiment.regions.len() as u64);
                format!(
                    "{} ({points} bursts, {} in no cluster)",
                    experiment.name,
                    number::count(noise as u64)
                )
            })
            .collect();
        let title = match self.title.as_str() {
            "" => String::new(),
            title => format!("{title}: "),
        };
        format!(
            "{title}{} {}s in {}",
            clusters.regions.len(),
            clusters.noun,
            experiments.join(", ")
        )
    }
}

/// Returns the coordinates along a pair of axes. If both axes are the same, all points lie on the
/// middle line.
fn spot([x, y]: [usize; 2], value: impl Fn(usize) -> f64) -> [f64; 2] {
    if x == y {
        [value(x), 0.0]
    } else {
        [value(x), value(y)]
    }
}

/// Height of a row of panels in pixels.
const PITCH: f64 = ABOVE + SIDE + BELOW + 10.0;
/// Draws a number on a disc next to the position that it labels.
fn badge([x, y]: [f64; 2], text: &str, colour: Colour, scene: &mut Scene) {
    let [white, black] = [Colour::hex(0xffffff), Colour::hex(0x000000)];
    let ink = if colour.contrast(white) > colour.contrast(black) {
        white
    } else {
        black
    };
    let radius = 4.0 + 4.0 * text.chars().count() as f64;
    let (x, y) = (x + 14.0, y - 14.0);
    scene.push(Mark::Circle([x, y, radius + 1.5], white.opacity(0.9)));
    scene.push(Mark::Circle([x, y, radius], colour));
    scene.push(Mark::Title([x, y], Anchor::Middle, ink, text.into()));
}

/// Returns the radius in pixels of a circle that represents `count` points. The area grows with the
/// logarithm of the count.
fn radius(count: u64) -> f64 {
    1.7 * (1.0 + (count.max(1) as f64).log10()).sqrt()
}

/// Returns the first [`PAIRS`] pairs of axes. A single axis is paired with itself.
fn pairs(dimensions: usize) -> Vec<[usize; 2]> {
    if dimensions < 2 {
        return vec![[0, 0]];
    }
    let all = (1..dimensions).flat_map(|y| (0..y).map(move |x| [x, y]));
    all.take(PAIRS).collect()
}

/// Returns the remark about merged points.
pub(super) fn note(points: usize, cells: &[Cells], steps: usize) -> String {
    let drawn: usize = cells.iter().map(Cells::len).sum();
    format!(
        "{} bursts are drawn as {} circles: those of one object within 1/{steps} of an axis are one circle, \
         larger for more of them. What lies alone stays where it is.",
        number::count(points as u64),
        number::count(drawn as u64)
    )
}
