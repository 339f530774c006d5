//! [`Picture`]: ranking of ranks, abnormal calls by step and run times of a function, alone or together, as a
//! [`Scene`]; the module `stack_picture` draws the call stacks.

use super::anomalies::{Anomalies, Function, RANKINGS, rank_name};
use super::distribution::Distribution;
use crate::chart::{ABOVE, Around, BELOW, LEFT, MARGIN, Panel, head};
use crate::{Anchor, Axis, Mark, Scene, Theme, Unit, glyphs, number, numbered, shortened};
use perf_anomaly::provenance::{Kind, Record};
use perf_anomaly::server::Ranking;

/// Anomalies as PNG or SVG: a ranking of ranks, counts by step and rank, the distribution of a
/// function, and the call stack of a call.
///
/// ```
/// use perf_anomaly::server::Ranking;
/// use perf_view::anomaly::{Anomalies, Picture};
/// let found = Anomalies::new();
/// let picture = Picture::new(&found).titled("Nothing yet").by(Ranking::TimeLost);
/// assert!(picture.scene().svg().contains("Nothing yet"));
/// assert!(picture.stack(0).is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    pub(super) found: &'a Anomalies,
    title: String,
    pub(super) theme: Theme,
    by: Ranking,
    top: usize,
}

const WIDE: f64 = 460.0;
const HIGH: f64 = 260.0;
const GAP: f64 = 28.0;
const BAR: f64 = 22.0;
/// Height of the legend of a distribution.
const KEY: f64 = 20.0;

impl<'a> Picture<'a> {
    /// Creates a picture of the anomalies.
    pub fn new(found: &'a Anomalies) -> Self {
        Picture {
            found,
            title: String::new(),
            theme: Theme::light(),
            by: Ranking::Total,
            top: 8,
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

    /// Sets the statistic by which ranks are sorted. Default [`Ranking::Total`].
    pub fn by(mut self, by: Ranking) -> Self {
        self.by = by;
        self
    }

    /// Sets the number of ranks shown from each end of the ranking. It is clamped to `1..=256`.
    /// Default 8.
    pub fn top(mut self, ranks: usize) -> Self {
        self.top = ranks.clamp(1, 256);
        self
    }

    /// Draws the overview. It shows the ranking, the counts by step, the run times of the function
    /// with the most lost time, and the worst call.
    pub fn scene(&self) -> Scene {
        let width = 2.0 * MARGIN + 2.0 * (LEFT + WIDE) + GAP;
        let mut scene = Scene::new(width as u32, 0, self.theme.paper);
        scene.title = self.words();
        let mut top = head(&self.title, width, &self.theme, &mut scene);
        let left = MARGIN + LEFT;
        let right = left + WIDE + GAP + LEFT;
        let bars = self.draw_ranking([MARGIN, top], LEFT + WIDE, &mut scene);
        self.draw_steps(([right, top + ABOVE], [WIDE, HIGH]), &mut scene);
        top += bars.max(ABOVE + HIGH + BELOW) + 8.0;
        let worst = self
            .found
            .functions
            .iter()
            .find_map(|one| Some((one, one.distribution.as_ref()?)));
        let record = self.found.records.first();
        let mut below: f64 = 0.0;
        if let Some((function, distribution)) = worst {
            let room = ([right, top + ABOVE], [WIDE, HIGH]);
            self.draw_distribution((function, distribution), room, &mut scene);
            below = ABOVE + HIGH + BELOW + KEY;
        }
        if let Some(record) = record {
            below = below.max(self.draw_stack(record, [MARGIN, top], LEFT + WIDE, &mut scene));
        }
        scene.height = (top + below + MARGIN).ceil() as u32;
        scene
    }

    /// Draws the ranks with the highest and the lowest statistic.
    pub fn ranking(&self) -> Scene {
        self.alone(LEFT + WIDE, |scene, top| {
            self.draw_ranking([MARGIN, top], LEFT + WIDE, scene)
        })
    }

    /// Draws the anomalies by step. The ranks with the highest statistic are coloured.
    pub fn steps(&self) -> Scene {
        self.alone(LEFT + WIDE, |scene, top| {
            self.draw_steps(([MARGIN + LEFT, top + ABOVE], [WIDE, HIGH]), scene);
            ABOVE + HIGH + BELOW
        })
    }

    /// Draws the run times of a function with their normal ranges and the recorded abnormal calls.
    ///
    /// Returns `None` if the function has no anomalies or no distribution.
    pub fn distribution(&self, function: &str) -> Option<Scene> {
        let mut all = self.found.functions.iter();
        let function = all.find(|one| one.name == function)?;
        let distribution = function.distribution.as_ref()?;
        Some(self.alone(LEFT + WIDE, |scene, top| {
            let room = ([MARGIN + LEFT, top + ABOVE], [WIDE, HIGH]);
            self.draw_distribution((function, distribution), room, scene);
            ABOVE + HIGH + BELOW + KEY
        }))
    }

    /// Draws a recorded call, given by its index in [`Anomalies::records`], with its call stack and
    /// neighbouring calls. Abnormal calls are red, and messages are arrows to the lines of other
    /// ranks.
    ///
    /// Returns `None` if there is no such record.
    pub fn stack(&self, record: usize) -> Option<Scene> {
        let record = self.found.records.get(record)?;
        let width = LEFT + WIDE + 120.0;
        Some(self.alone(width, |scene, top| {
            self.draw_stack(record, [MARGIN, top], width, scene)
        }))
    }

    fn alone(&self, width: f64, draw: impl FnOnce(&mut Scene, f64) -> f64) -> Scene {
        let mut scene = Scene::new((width + 2.0 * MARGIN) as u32, 0, self.theme.paper);
        scene.title = self.words();
        let high = draw(&mut scene, MARGIN);
        scene.height = (high + 2.0 * MARGIN).ceil() as u32;
        scene
    }

    fn words(&self) -> String {
        let anomalies: u64 = self
            .found
            .ranks
            .iter()
            .map(|rank| rank.loss.anomalies())
            .sum();
        let calls: u64 = self.found.ranks.iter().map(|rank| rank.loss.calls).sum();
        let slow = self.found.ranks.iter();
        let slow: i64 = slow.map(|rank| rank.loss.in_slow_calls().0).sum();
        let title = match self.title.as_str() {
            "" => String::new(),
            title => format!("{title}: "),
        };
        format!(
            "{title}{} abnormal {} of {} on {} {}, together {} longer than expected",
            number::count(anomalies),
            match anomalies {
                1 => "call",
                _ => "calls",
            },
            number::count(calls),
            number::count(self.found.ranks.len() as u64),
            match self.found.ranks.len() {
                1 => "rank",
                _ => "ranks",
            },
            number::time(slow as f64)
        )
    }

    pub(super) fn heading(&self, [left, top]: [f64; 2], words: &str, scene: &mut Scene) {
        let at = [left, top + 10.0];
        scene.push(Mark::Title(at, Anchor::Start, self.theme.ink, words.into()));
    }

    fn draw_ranking(&self, [left, top]: [f64; 2], width: f64, scene: &mut Scene) -> f64 {
        let found = RANKINGS.iter().find(|(by, _)| *by == self.by);
        let (by, name) = found.copied().unwrap_or(RANKINGS[0]);
        self.heading([left, top], &format!("Ranks by {name}"), scene);
        let unit = match by {
            Ranking::TimeLost => Unit::Nanos,
            _ => Unit::Number,
        };
        let all = self.found.ranked(by);
        let most = all.first().map_or(0.0, |first| first.2);
        let (head, tail) = if all.len() > 2 * self.top {
            (self.top, all.len() - self.top)
        } else {
            (all.len(), all.len())
        };
        let names = 13.0 * glyphs::ADVANCE;
        let room = width - names - 9.0 * glyphs::ADVANCE;
        let mut y = top + 36.0;
        for (place, (at, rank, value)) in all.iter().enumerate() {
            if place == head {
                let words = format!("{} more", number::count((tail - head) as u64));
                scene.text([left + names, y], Anchor::Start, self.theme.quiet, &words);
                y += BAR;
            }
            if (head..tail).contains(&place) {
                continue;
            }
            let label = shortened(&rank_name(rank.program, rank.rank), 12);
            scene.text([left + names - 8.0, y], Anchor::End, self.theme.ink, &label);
            let length = if most > 0.0 { room * value / most } else { 0.0 };
            let colour = if place < head {
                numbered(*at)
            } else {
                self.theme.quiet
            };
            let place = [left + names, y - 7.0, length.max(1.0), 14.0];
            scene.push(Mark::Rect(place, colour));
            let end = [left + names + length + 6.0, y];
            scene.text(end, Anchor::Start, self.theme.ink, &written(&unit, *value));
            y += BAR;
        }
        if all.is_empty() {
            scene.text(
                [left, y],
                Anchor::Start,
                self.theme.quiet,
                "no rank completed a call",
            );
            y += BAR;
        }
        y - top
    }

    fn draw_steps(&self, (corner, size): ([f64; 2], [f64; 2]), scene: &mut Scene) {
        let counts = &self.found.counts;
        let points = || {
            counts
                .ranks
                .iter()
                .flat_map(|(at, steps)| steps.iter().map(move |one| (*at, one)))
        };
        let steps = points()
            .map(|(_, one)| one.step)
            .chain(counts.rest.iter().map(|one| one.step));
        let (first, last) = steps.fold((u64::MAX, 0), |(a, b), step| (a.min(step), b.max(step)));
        let (first, last) = if first > last { (0, 1) } else { (first, last) };
        let most = points().map(|(_, one)| one.anomalies);
        let most = most
            .chain(counts.rest.iter().map(|one| one.most))
            .max()
            .unwrap_or(0)
            .max(1);
        let panel = Panel {
            corner,
            size,
            x: [first as f64 - 0.5, last as f64 + 0.5],
            y: [-0.04 * most as f64, 1.05 * most as f64],
        };
        let whole = |axis: Axis, most: usize| -> Vec<(f64, String)> {
            let ticks = axis.ticks(most).into_iter();
            let ticks = ticks.filter(|(value, _)| value.fract() == 0.0 && *value >= 0.0);
            ticks
                .map(|(value, _)| (value, number::count(value as u64)))
                .collect()
        };
        let around = Around {
            title: "Anomalies by step and rank",
            x: "step",
            y: "abnormal calls of a rank",
            x_ticks: whole(Axis::over(panel.x, Unit::Number), 6),
            y_ticks: whole(Axis::over(panel.y, Unit::Number), 5),
        };
        panel.frame(&around, &self.theme, scene);
        for one in &counts.rest {
            let [x, top] = panel.place([one.step as f64, one.most as f64]);
            let bottom = panel.place([0.0, 0.0])[1];
            scene.push(Mark::Path(
                vec![[x, bottom], [x, top]],
                2.0,
                self.theme.idle,
            ));
            let [_, mean] = panel.place([0.0, one.mean()]);
            scene.push(Mark::Rect(
                [x - 1.5, mean - 1.0, 3.0, 2.0],
                self.theme.quiet,
            ));
        }
        let ranked = self.found.ranked(self.by);
        let high: Vec<usize> = ranked.iter().take(self.top).map(|one| one.0).collect();
        let mut shown: Vec<_> = points().filter(|(_, one)| one.anomalies > 0).collect();
        shown.sort_by_key(|(at, _)| high.contains(at));
        for (at, one) in shown {
            let [x, y] = panel.place([one.step as f64, one.anomalies as f64]);
            let colour = if high.contains(&at) {
                numbered(at)
            } else {
                self.theme.quiet
            };
            scene.push(Mark::Circle([x, y, 2.8], colour));
        }
    }

    fn draw_distribution(
        &self,
        (function, of): (&Function, &Distribution),
        (corner, size): ([f64; 2], [f64; 2]),
        scene: &mut Scene,
    ) {
        let own: Vec<&Record> = self
            .found
            .records
            .iter()
            .filter(|one| one.function == function.name)
            .collect();
        let times = own.iter().map(|one| one.runtime.0 as f64);
        let ends = of.range().into_iter().flatten();
        let seen: Vec<f64> = times.chain(ends).map(|time| time.max(1.0)).collect();
        let least = seen.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = seen.iter().copied().fold(1.0, f64::max);
        // Thresholds far from all calls, such as 0, are clamped so that the axis does not become
        // too long.
        let normal = of.normal.iter().flatten().copied();
        let normal = normal.map(|time| time.clamp((least / 2.0).min(largest), largest * 2.0));
        let all: Vec<f64> = seen.iter().copied().chain(normal).collect();
        let place = |time: f64| time.max(1.0).log10();
        let x = crate::chart::range(all.iter().map(|time| place(*time)));
        let most = of.bins.iter().map(|bin| bin.1).max().unwrap_or(1).max(1);
        let high = |count: u64| (1.0 + count as f64).log10();
        let panel = Panel {
            corner,
            size,
            x,
            y: [0.0, 1.08 * high(most)],
        };
        let decades = |low: f64, high: f64, write: &dyn Fn(f64) -> String| -> Vec<(f64, String)> {
            let (first, last) = (low.ceil() as i32, high.floor() as i32);
            let values = (first..=last).map(|at| (f64::from(at), write(10.0_f64.powi(at))));
            values.collect()
        };
        let counts = decades(0.0, panel.y[1], &|value| number::count(value as u64));
        let around = Around {
            title: &format!("Run times of {}", function.name),
            x: "run time, logarithmic",
            y: "calls, logarithmic",
            x_ticks: decades(x[0], x[1], &number::time),
            y_ticks: counts
                .into_iter()
                .map(|(at, label)| (high(10.0_f64.powf(at) as u64), label))
                .collect(),
        };
        let shade = self.theme.equal;
        for [from, to] in &of.seen {
            let [left, top] = panel.place([place(*from).max(x[0]), panel.y[1]]);
            let [right, bottom] = panel.place([place(*to).min(x[1]), 0.0]);
            scene.push(Mark::Rect(
                [left, top, (right - left).max(1.0), bottom - top],
                shade,
            ));
        }
        panel.frame(&around, &self.theme, scene);
        for ([from, to], count) in &of.bins {
            let [left, top] = panel.place([place(*from), high(*count)]);
            let [right, bottom] = panel.place([place(*to), 0.0]);
            let bar = [left, top, (right - left).max(1.2), bottom - top];
            scene.push(Mark::Rect(bar, self.theme.quiet));
        }
        let alarm = self.theme.alarm;
        let limit = |x: f64, top, bottom| Mark::Path(vec![[x, top], [x, bottom]], 1.5, alarm);
        let triangle = |x: f64, y: f64| {
            let corners = vec![[x, y], [x - 4.0, y - 8.0], [x + 4.0, y - 8.0]];
            Mark::Polygon(corners, alarm)
        };
        let limits = of.normal.iter().flatten().map(|time| place(*time));
        let limits: Vec<f64> = limits.filter(|at| *at > x[0]).collect();
        for at in &limits {
            let [x, top] = panel.place([*at, panel.y[1]]);
            let bottom = panel.place([0.0, 0.0])[1];
            scene.push(limit(x, top, bottom));
        }
        let abnormal = own.iter().filter(|one| one.kind == Kind::Anomaly);
        let abnormal: Vec<f64> = abnormal.map(|one| one.runtime.0 as f64).collect();
        for time in &abnormal {
            let [x, y] = panel.place([place(*time), 0.0]);
            scene.push(triangle(x, y - 12.0));
        }
        // The legend names what is painted.
        let y = corner[1] + size[1] + BELOW + KEY / 2.0 - 4.0;
        let square = |x: f64| Mark::Rect([x, y - 6.0, 12.0, 12.0], shade);
        let keys = [
            (!of.seen.is_empty(), "normal and observed"),
            (!limits.is_empty(), "limit of normal"),
            (!abnormal.is_empty(), "abnormal call"),
        ];
        let mut left = corner[0];
        for (number, (_, words)) in keys.iter().enumerate().filter(|(_, key)| key.0) {
            scene.push(match number {
                0 => square(left),
                1 => limit(left + 6.0, y - 6.0, y + 6.0),
                _ => triangle(left + 6.0, y + 4.0),
            });
            scene.text([left + 17.0, y], Anchor::Start, self.theme.ink, words);
            left += 17.0 + glyphs::width(words) + 16.0;
        }
    }
}

/// Formats a statistic. Whole numbers are written as counts.
fn written(unit: &Unit, value: f64) -> String {
    match unit {
        Unit::Number if value.fract() == 0.0 && value >= 0.0 => number::count(value as u64),
        unit => unit.write(value),
    }
}
