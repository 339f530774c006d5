//! [`Overlay`]: hatched waits, arrows from their causes, and a path through the rows of a picture.

use super::legend::Entry;
use crate::{Mark, Scene, Theme};
use perf_core::{LocationId, Ticks, TimeRange};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Distance between two hatch lines in pixels.
const HATCH: f64 = 6.0;
/// A pixel of a row is hatched if its waiting streams spend at least this share of their time in
/// the pixel waiting.
const MIN_COVERED: f64 = 0.5;
/// Length of an arrow head in pixels.
const HEAD: f64 = 6.0;

/// Mean distance in pixels between the row changes of a path. Below this distance the changes are
/// drawn faintly.
const MIN_DISTANCE: f64 = 6.0;

/// Hatched intervals, arrows between locations, and a path through the rows, for
/// [`Picture::overlay`](super::Picture::overlay).
///
/// ```
/// use perf_core::{LocationId, Ticks};
/// use perf_view::timeline::Overlay;
/// let (slow, waiting) = (LocationId(0), LocationId(1));
/// let mut overlay = Overlay::default();
/// overlay.hatch(waiting, Ticks(10), Ticks(30));
/// overlay.arrow((slow, Ticks(30)), (waiting, Ticks(30)));
/// overlay.route(slow, Ticks(0), Ticks(30));
/// overlay.route(waiting, Ticks(30), Ticks(50));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    /// Hatched intervals: location, start, end.
    hatched: Vec<(LocationId, Ticks, Ticks)>,
    /// Arrows: location and time of the cause, then of the effect.
    arrows: Vec<[(LocationId, Ticks); 2]>,
    /// Parts of the path in order of time: location, start, end.
    route: Vec<(LocationId, Ticks, Ticks)>,
}

impl Overlay {
    /// Hatches an interval in which a location waits.
    pub fn hatch(&mut self, location: LocationId, start: Ticks, end: Ticks) {
        self.hatched.push((location, start, end));
    }

    /// Draws an arrow from a cause to its effect.
    pub fn arrow(&mut self, from: (LocationId, Ticks), to: (LocationId, Ticks)) {
        self.arrows.push([from, to]);
    }

    /// Appends an interval on a location to the path. Intervals must be added in order of time.
    pub fn route(&mut self, location: LocationId, start: Ticks, end: Ticks) {
        self.route.push((location, start, end));
    }

    /// Returns the explanations of the marks in use, for the legend.
    pub(super) fn remarks(&self) -> Vec<Entry> {
        let signs = [
            (self.hatched.is_empty(), "hatched: waits for others"),
            (
                self.arrows.is_empty(),
                "arrow: from the cause to a long wait",
            ),
            (self.route.is_empty(), "line: critical path"),
        ];
        let shown = signs.into_iter().filter(|(is_absent, _)| !is_absent);
        shown.map(|(_, words)| Entry::remark(words)).collect()
    }
}

/// Geometry of the rows of a picture.
pub(super) struct Rows<'a> {
    /// Row of each location.
    pub(super) of: HashMap<LocationId, u32>,
    /// Time window of the picture.
    pub(super) window: TimeRange,
    /// Left edge of the rows in pixels.
    pub(super) left: f64,
    /// Upper edge of the rows in pixels.
    pub(super) top: f64,
    /// Width of the window in pixels.
    pub(super) width: f64,
    /// Height of a row in pixels.
    pub(super) height: f64,
    /// Colours of the overlay.
    pub(super) theme: &'a Theme,
}

impl Rows<'_> {
    /// Returns the horizontal position of a time. Times outside of the window are clamped to its
    /// edges.
    fn x(&self, at: Ticks) -> f64 {
        let at = at.clamp(self.window.start, self.window.end);
        let offset = at.saturating_since(self.window.start) as f64;
        self.left + self.width * offset / self.window.len().max(1) as f64
    }

    fn y(&self, row: u32) -> f64 {
        self.top + (f64::from(row) + 0.5) * self.height
    }

    /// Draws the overlay.
    pub(super) fn draw(&self, overlay: &Overlay, scene: &mut Scene) {
        for (row, runs) in self.runs(&overlay.hatched) {
            for (from, to) in runs {
                self.hatch(row, from, to, scene);
            }
        }
        self.route(&overlay.route, scene);
        for [from, to] in &overlay.arrows {
            self.arrow(*from, *to, scene);
        }
    }

    /// Returns the runs of hatched pixels of each row, as offsets from the left edge.
    fn runs(&self, hatched: &[(LocationId, Ticks, Ticks)]) -> BTreeMap<u32, Vec<(f64, f64)>> {
        let columns = self.width.ceil() as usize;
        let mut covered: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (location, start, end) in hatched {
            let Some(row) = self.of.get(location) else {
                continue;
            };
            let (from, to) = (self.x(*start) - self.left, self.x(*end) - self.left);
            let pixels = covered.entry(*row).or_insert_with(|| vec![0.0; columns]);
            let (first, last) = (from.floor() as usize, to.ceil() as usize);
            let touched = pixels.iter_mut().enumerate().take(last).skip(first);
            for (column, covered) in touched {
                let part = to.min(column as f64 + 1.0) - from.max(column as f64);
                *covered += part.max(0.0);
            }
        }
        // Streams that never wait, such as threads without MPI calls, do not count.
        let waiting: BTreeSet<LocationId> = hatched.iter().map(|it| it.0).collect();
        let mut streams: BTreeMap<u32, u32> = BTreeMap::new();
        for row in waiting.iter().filter_map(|location| self.of.get(location)) {
            *streams.entry(*row).or_default() += 1;
        }
        let runs = |row: u32, pixels: Vec<f64>| {
            let count = streams[&row];
            let least = MIN_COVERED * f64::from(count);
            let mut runs: Vec<(f64, f64)> = Vec::new();
            let marked = pixels.iter().enumerate();
            for (column, _) in marked.filter(|(_, part)| **part >= least) {
                let column = column as f64;
                match runs.last_mut() {
                    Some(last) if last.1 == column => last.1 = column + 1.0,
                    _ => runs.push((column, column + 1.0)),
                }
            }
            runs
        };
        covered
            .into_iter()
            .map(|(row, pixels)| (row, runs(row, pixels)))
            .collect()
    }

    /// Draws diagonal lines in a rectangle. The lines of neighbouring rectangles are continuous.
    fn hatch(&self, row: u32, from: f64, to: f64, scene: &mut Scene) {
        let colour = self.theme.ink.opacity(0.65);
        let (left, right) = (self.left + from, self.left + to);
        let top = self.top + f64::from(row) * self.height;
        let bottom = top + self.height - 1.0;
        let mut sum = ((left + top) / HATCH).ceil() * HATCH;
        while sum <= right + bottom {
            let x = [
                (sum - top).clamp(left, right),
                (sum - bottom).clamp(left, right),
            ];
            let line = x.map(|x| [x, sum - x]);
            if line[0][0] > line[1][0] {
                scene.push(Mark::Path(line.to_vec(), 1.0, colour));
            }
            sum += HATCH;
        }
    }

    fn route(&self, route: &[(LocationId, Ticks, Ticks)], scene: &mut Scene) {
        let mut points: Vec<[f64; 2]> = Vec::new();
        for (location, start, end) in route {
            let Some(row) = self.of.get(location) else {
                continue;
            };
            if *end < self.window.start || *start > self.window.end {
                continue;
            }
            for x in [self.x(*start), self.x(*end)] {
                let point = [x, self.y(*row)];
                let is_same = |last: &[f64; 2]| last[1] == point[1] && (last[0] - x).abs() < 0.25;
                if !points.last().is_some_and(is_same) {
                    points.push(point);
                }
            }
        }
        if self.is_dense(&points) {
            self.dense_route(&points, scene);
        } else if points.len() > 1 {
            scene.push(Mark::Path(
                points.clone(),
                4.0,
                self.theme.paper.opacity(0.8),
            ));
            scene.push(Mark::Path(points, 2.0, self.theme.alarm));
        }
    }

    /// Returns `true` if a path changes its row so often that its lines would cover the rows.
    fn is_dense(&self, points: &[[f64; 2]]) -> bool {
        let changes = points.windows(2).filter(|ends| ends[0][1] != ends[1][1]);
        changes.count() as f64 * MIN_DISTANCE > self.width
    }

    /// Draws a path that changes its row often. Its parts within a row are lines; the changes are
    /// drawn faintly and at most once for each pixel.
    fn dense_route(&self, points: &[[f64; 2]], scene: &mut Scene) {
        let mut changes = BTreeSet::new();
        for ends in points.windows(2) {
            if ends[0][1] == ends[1][1] {
                scene.push(Mark::Path(ends.to_vec(), 2.0, self.theme.alarm));
            } else {
                let [first, second] = [ends[0][1].round() as i64, ends[1][1].round() as i64];
                changes.insert((
                    ends[0][0].round() as i64,
                    first.min(second),
                    first.max(second),
                ));
            }
        }
        let faint = self.theme.alarm.opacity(0.2);
        for (x, top, bottom) in changes {
            let line = [[x as f64, top as f64], [x as f64, bottom as f64]];
            scene.push(Mark::Path(line.to_vec(), 1.0, faint));
        }
    }

    fn arrow(&self, from: (LocationId, Ticks), to: (LocationId, Ticks), scene: &mut Scene) {
        let rows = (self.of.get(&from.0), self.of.get(&to.0));
        let (Some(first), Some(second)) = rows else {
            return;
        };
        let is_inside = |at: Ticks| at >= self.window.start && at <= self.window.end;
        if first == second || !is_inside(from.1) || !is_inside(to.1) {
            return;
        }
        let (start, end) = (
            [self.x(from.1), self.y(*first)],
            [self.x(to.1), self.y(*second)],
        );
        let (dx, dy) = (end[0] - start[0], end[1] - start[1]);
        let length = dx.hypot(dy).max(1.0);
        let (along, across) = ([dx / length, dy / length], [-dy / length, dx / length]);
        let corner = |side: f64| -> [f64; 2] {
            std::array::from_fn(|at| end[at] - HEAD * along[at] + side * HEAD / 2.0 * across[at])
        };
        let ink = self.theme.ink;
        scene.push(Mark::Path(vec![start, end], 1.4, ink));
        scene.push(Mark::Polygon(vec![end, corner(1.0), corner(-1.0)], ink));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_hatched_from_half_of_their_time_on() {
        let theme = Theme::light();
        let window = TimeRange::new(Ticks(100), Ticks(200)).expect("a range");
        let rows = Rows {
            of: HashMap::from([(LocationId(7), 0)]),
            window,
            left: 20.0,
            top: 0.0,
            width: 10.0,
            height: 12.0,
            theme: &theme,
        };
        let mut overlay = Overlay::default();
        // Pixels are 10 ticks wide. The intervals cover a part of the first pixel, the second and
        // third, half of the fourth, and the last one and beyond.
        overlay.hatch(LocationId(7), Ticks(90), Ticks(104));
        overlay.hatch(LocationId(7), Ticks(110), Ticks(135));
        overlay.hatch(LocationId(7), Ticks(190), Ticks(900));
        overlay.hatch(LocationId(8), Ticks(100), Ticks(200));
        let runs = rows.runs(&overlay.hatched);
        assert_eq!(runs, BTreeMap::from([(0, vec![(1.0, 4.0), (9.0, 10.0)])]));
        let mut scene = Scene::new(40, 12, theme.paper);
        rows.draw(&overlay, &mut scene);
        let inside = |point: &[f64; 2]| (21.0..=30.0).contains(&point[0]);
        let is_inside =
            |mark: &Mark| matches!(mark, Mark::Path(points, ..) if points.iter().all(inside));
        assert!(!scene.marks.is_empty() && scene.marks.iter().all(is_inside));
    }

    #[test]
    fn arrows_and_paths_outside_of_rows_and_window_are_skipped() {
        let theme = Theme::light();
        let rows = Rows {
            of: HashMap::from([(LocationId(0), 0), (LocationId(1), 1)]),
            window: TimeRange::new(Ticks(10), Ticks(20)).expect("a range"),
            left: 0.0,
            top: 0.0,
            width: 10.0,
            height: 10.0,
            theme: &theme,
        };
        let mut overlay = Overlay::default();
        let (first, second) = (LocationId(0), LocationId(1));
        overlay.arrow((first, Ticks(5)), (second, Ticks(15)));
        overlay.arrow((first, Ticks(15)), (LocationId(9), Ticks(15)));
        overlay.route(first, Ticks(0), Ticks(5));
        let mut scene = Scene::new(10, 20, theme.paper);
        rows.draw(&overlay, &mut scene);
        assert!(scene.marks.is_empty());
        overlay.route(first, Ticks(5), Ticks(15));
        overlay.route(second, Ticks(15), Ticks(30));
        rows.draw(&overlay, &mut scene);
        let path = vec![[0.0, 5.0], [5.0, 5.0], [5.0, 15.0], [10.0, 15.0]];
        assert_eq!(
            scene.marks.last(),
            Some(&Mark::Path(path, 2.0, theme.alarm))
        );
    }
}
