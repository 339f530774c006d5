//! Tracked objects as pictures: every frame in the space all share, an animation from frame to
//! frame, and how each metric of each object goes.

use crate::picture::darker;
use crate::plot::{Anchor, FAINT, INK, Mark, Plot};
use crate::series::Series;
use embedded_graphics::pixelcolor::Rgb888;
use perfkit::track::Bursts;
use perfkit::track::track::ObjectId;

const SIDE: f64 = 260.0;
const LEFT: f64 = 62.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 42.0;
const GAP: f64 = 22.0;
/// Longest list of objects in the legend and the trends.
const SHOWN: usize = 16;

const COLOURS: [u32; 12] = [
    0xd1422f, 0x2f7fc1, 0x3a9a52, 0xe39a23, 0x8457b0, 0x28a8a3, 0xc2538f, 0x8a6a3b, 0x5560b8,
    0x9fb52d, 0xe07a5f, 0x457b6b,
];

/// The colour of an object: the same in every frame.
pub fn colour(object: Option<ObjectId>) -> Rgb888 {
    let Some(index) = object.and_then(|object| (object.0 as usize).checked_sub(1)) else {
        return FAINT;
    };
    let value = COLOURS
        .get(index % COLOURS.len())
        .copied()
        .unwrap_or_default();
    darker(value, (index / COLOURS.len()).min(3) as i32)
}

/// Where an axis of a panel begins and ends, in its own units.
#[derive(Clone, Copy)]
struct Span(f64, f64);

impl Span {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|v| v.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        match high - low {
            width if width > 0.0 => Span(low - 0.04 * width, high + 0.04 * width),
            _ if low.is_finite() => Span(low - 0.5, high + 0.5),
            _ => Span(0.0, 1.0),
        }
    }

    fn share(self, value: f64) -> f64 {
        (value - self.0) / (self.1 - self.0)
    }

    fn at(self, share: f64) -> f64 {
        self.0 + share * (self.1 - self.0)
    }
}

/// A square with axes.
struct Panel {
    corner: [f64; 2],
    x: Span,
    y: Span,
}

impl Panel {
    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [left, top] = self.corner;
        [
            left + SIDE * self.x.share(x),
            top + SIDE * (1.0 - self.y.share(y)),
        ]
    }

    fn frame(&self, title: &str, axes: [&str; 2], marks: &mut Vec<Mark>) {
        let [left, top] = self.corner;
        let (right, bottom) = (left + SIDE, top + SIDE);
        for line in [[left, bottom, right, bottom], [left, top, left, bottom]] {
            marks.push(Mark::Line(line, INK));
        }
        let middle = left + SIDE / 2.0;
        marks.push(Mark::Text(
            [left, top - 12.0],
            Anchor::Start,
            INK,
            title.to_owned(),
        ));
        marks.push(Mark::Text(
            [middle, bottom + 30.0],
            Anchor::Middle,
            INK,
            axes[0].to_owned(),
        ));
        marks.push(Mark::Text(
            [right, top - 12.0],
            Anchor::End,
            INK,
            axes[1].to_owned(),
        ));
    }

    /// Labels at three places of each axis.
    fn ticks(&self, x: impl Fn(f64) -> String, y: impl Fn(f64) -> String, marks: &mut Vec<Mark>) {
        let [left, top] = self.corner;
        let bottom = top + SIDE;
        for share in [0.05, 0.5, 0.95] {
            let at = left + SIDE * share;
            marks.push(Mark::Line([at, bottom, at, bottom + 4.0], INK));
            let text = x(self.x.at(share));
            marks.push(Mark::Text([at, bottom + 14.0], Anchor::Middle, INK, text));
            let at = bottom - SIDE * share;
            marks.push(Mark::Line([left - 4.0, at, left, at], INK));
            let text = y(self.y.at(share));
            marks.push(Mark::Text([left - 8.0, at], Anchor::End, INK, text));
        }
    }
}

/// What an axis says: the metric, its unit, and whether its steps are equal factors.
pub fn axis_name(bursts: &Bursts, metric: &str, log: bool) -> String {
    let unit = match (metric, bursts.column(metric)) {
        (_, Ok(column)) => column.unit.as_str(),
        ("duration", _) => "ns",
        _ => "",
    };
    let unit = match unit {
        "" => String::new(),
        unit => format!(" [{unit}]"),
    };
    format!("{metric}{unit}{}", if log { ", log" } else { "" })
}

/// A number with three digits and a prefix for powers of 1000.
pub fn short(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let size = value.abs();
    let found = units.iter().find(|unit| size >= unit.0);
    let (scaled, unit) = found.map_or((value, ""), |unit| (value / unit.0, unit.1));
    let digits = match scaled.abs() {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$}{unit}")
}

/// All frames, one a column, with a row for each pair of axes; below them the trend of each metric of
/// the space, and (in SVG) the objects moving from frame to frame.
pub fn picture(series: &Series, title: &str) -> Plot {
    let mut plot = Plot::default();
    let mut top = 24.0 + ABOVE;
    plot.marks.push(Mark::Text(
        [LEFT, 18.0],
        Anchor::Start,
        INK,
        title.to_owned(),
    ));
    let dimensions = series.metrics.len();
    let mut pairs: Vec<[usize; 2]> = Vec::new();
    for y in 1..dimensions {
        pairs.extend((0..y).map(|x| [x, y]));
    }
    if dimensions == 1 {
        pairs.push([0, 0]);
    }
    for pair in &pairs {
        scatter(series, *pair, top, &mut plot.marks);
        top += SIDE + ABOVE + BELOW;
    }
    for (column, metric) in series.metrics.iter().enumerate() {
        let corner = [LEFT + column as f64 * (SIDE + LEFT + GAP), top];
        trend(series, metric, corner, &mut plot.marks);
    }
    let columns = series.frames.len().max(dimensions + 1);
    if let Some(pair) = pairs.first() {
        let corner = [LEFT + dimensions as f64 * (SIDE + LEFT + GAP), top];
        animation(series, *pair, corner, &mut plot.marks);
    }
    top += SIDE + BELOW + 10.0;
    let width = columns as f64 * (SIDE + LEFT + GAP) + GAP;
    let mut x = LEFT;
    for object in series.tracking.objects.iter().take(SHOWN) {
        let text = format!("object {}", object.id);
        if x + 80.0 > width {
            x = LEFT;
            top += 18.0;
        }
        plot.marks.push(Mark::Rect(
            [x, top - 5.0, 11.0, 11.0],
            colour(Some(object.id)),
        ));
        plot.marks
            .push(Mark::Text([x + 16.0, top], Anchor::Start, INK, text));
        x += 80.0;
    }
    (plot.width, plot.height) = (width as u32, (top + 24.0) as u32);
    plot
}

/// Both coordinates of each point of a frame, with its object.
fn points(series: &Series, frame: usize, [x, y]: [usize; 2]) -> Vec<([f64; 2], Option<ObjectId>)> {
    let colours = series.tracking.colours(frame).unwrap_or_default();
    let Some((Ok(points), clustered)) = series
        .scaled
        .frames
        .get(frame)
        .map(|f| f.points())
        .zip(series.frames.get(frame))
    else {
        return Vec::new();
    };
    let all = points.iter().zip(&clustered.labels).map(|(point, label)| {
        let at = |axis: usize| point.get(axis).copied().unwrap_or_default();
        (
            [at(x), at(y)],
            colours.get(label.0 as usize).copied().flatten(),
        )
    });
    all.collect()
}

/// The space that all frames share.
fn spans(series: &Series, pair: [usize; 2]) -> [Span; 2] {
    let all: Vec<[f64; 2]> = (0..series.frames.len())
        .flat_map(|frame| points(series, frame, pair).into_iter().map(|point| point.0))
        .collect();
    [0, 1].map(|axis| Span::of(all.iter().map(|point| point[axis])))
}

/// What an axis of the space says.
fn metric_name(series: &Series, axis: usize) -> String {
    let metric = series.metrics.get(axis).map_or("", String::as_str);
    let log = series.scaled.transform.axes().get(axis);
    let bursts = series.frames.first().map(|of| of.frame.bursts());
    bursts.map_or_else(String::new, |bursts| {
        axis_name(bursts, metric, log.is_some_and(|axis| axis.log))
    })
}

fn scatter(series: &Series, pair: [usize; 2], top: f64, marks: &mut Vec<Mark>) {
    let [x, y] = spans(series, pair);
    let names = pair.map(|axis| metric_name(series, axis));
    let names = [names[0].as_str(), names[1].as_str()];
    for (frame, clustered) in series.frames.iter().enumerate() {
        let corner = [LEFT + frame as f64 * (SIDE + LEFT + GAP), top];
        let panel = Panel { corner, x, y };
        panel.frame(clustered.frame.name(), names, marks);
        // The values that coordinates stand for: a frame may be shifted.
        let raw = |axis: usize, value: f64| {
            let mut coordinates = vec![0.0; series.metrics.len()];
            if let Some(coordinate) = coordinates.get_mut(axis) {
                *coordinate = value;
            }
            let metrics = series.scaled.transform.invert(frame, &coordinates);
            metrics
                .and_then(|metrics| metrics.get(axis).copied())
                .map_or_else(String::new, short)
        };
        panel.ticks(
            |value| raw(pair[0], value),
            |value| raw(pair[1], value),
            marks,
        );
        let mut all = points(series, frame, pair);
        // What is in no object lies below.
        all.sort_by_key(|point| point.1.is_some());
        for (point, object) in all {
            let [x, y] = panel.place(point);
            marks.push(Mark::Circle([x, y, 2.0], colour(object)));
        }
    }
}

fn trend(series: &Series, metric: &str, corner: [f64; 2], marks: &mut Vec<Mark>) {
    let shown = || {
        series
            .tracking
            .objects
            .iter()
            .take(SHOWN)
            .filter(|o| o.frames() > 1)
    };
    let of = |id| series.trends.series(id, metric).unwrap_or_default();
    let all: Vec<_> = shown().map(|object| (object.id, of(object.id))).collect();
    let values = all
        .iter()
        .flat_map(|(_, s)| s.iter().flatten())
        .flat_map(|s| [s.q1, s.q3]);
    let values: Vec<f64> = values.collect();
    let is_wide = values.iter().all(|&v| v > 0.0)
        && values.iter().fold(0.0f64, |a, &b| a.max(b))
            > 20.0 * values.iter().fold(f64::INFINITY, |a, &b| a.min(b));
    let place = |value: f64| if is_wide { value.ln() } else { value };
    let back = |value: f64| if is_wide { value.exp() } else { value };
    let panel = Panel {
        corner,
        x: Span(-0.3, series.frames.len() as f64 - 0.7),
        y: Span::of(values.iter().map(|&value| place(value))),
    };
    // Frames of one number of tasks are windows, or runs that differ in something else.
    let tasks = |frame: usize| series.frames.get(frame).map(|of| of.frame.tasks());
    let is_scaling = (1..series.frames.len()).any(|frame| tasks(frame) != tasks(0));
    let below = if is_scaling {
        "tasks of the frame"
    } else {
        "frame, in order"
    };
    let bursts = series.frames.first().map(|of| of.frame.bursts());
    let beside = bursts.map_or_else(String::new, |bursts| axis_name(bursts, metric, is_wide));
    panel.frame("mean and quartiles", [below, &beside], marks);
    for (id, line) in all {
        let colour = colour(Some(id));
        let mut last: Option<[f64; 2]> = None;
        for (frame, summary) in line.iter().enumerate() {
            let Some(summary) = summary else { continue };
            let x = frame as f64;
            let [left, mean] = panel.place([x, place(summary.mean)]);
            let ends = [summary.q1, summary.q3].map(|value| panel.place([x, place(value)])[1]);
            marks.push(Mark::Line([left, ends[0], left, ends[1]], colour));
            if let Some([x, y]) = last {
                marks.push(Mark::Line([x, y, left, mean], colour));
            }
            marks.push(Mark::Circle([left, mean, 3.0], colour));
            last = Some([left, mean]);
        }
    }
    let bottom = corner[1] + SIDE;
    for (frame, clustered) in series.frames.iter().enumerate() {
        let at = panel.place([frame as f64, 0.0])[0];
        let text = match is_scaling {
            true => clustered.frame.tasks().to_string(),
            false => (frame + 1).to_string(),
        };
        marks.push(Mark::Text([at, bottom + 14.0], Anchor::Middle, INK, text));
    }
    for share in [0.05, 0.5, 0.95] {
        let at = bottom - SIDE * share;
        let text = short(back(panel.y.at(share)));
        marks.push(Mark::Text([corner[0] - 8.0, at], Anchor::End, INK, text));
    }
}

/// The objects' centres with their share of the time as area, moving from frame to frame.
fn animation(series: &Series, pair: [usize; 2], corner: [f64; 2], marks: &mut Vec<Mark>) {
    let [x, y] = spans(series, pair);
    let panel = Panel { corner, x, y };
    let steps = series.frames.len();
    let mut own = Vec::new();
    let names = pair.map(|axis| metric_name(series, axis));
    panel.frame("", [names[0].as_str(), names[1].as_str()], &mut own);
    let all: Vec<_> = (0..steps)
        .map(|frame| points(series, frame, pair))
        .collect();
    for (frame, clustered) in series.frames.iter().enumerate() {
        let title = clustered.frame.name().to_owned();
        let place = [corner[0], corner[1] - 12.0];
        let mut seen = vec![Mark::Text(place, Anchor::Start, INK, title)];
        for (point, object) in &all[frame] {
            let [x, y] = panel.place(*point);
            seen.push(Mark::Circle([x, y, 1.5], colour(*object)));
        }
        own.push(Mark::During(frame, steps, seen));
    }
    for object in series.tracking.objects.iter().take(SHOWN) {
        let mut centres: Vec<Option<([f64; 2], f64)>> = Vec::new();
        for (frame, points) in all.iter().enumerate() {
            let inside = points.iter().filter(|point| point.1 == Some(object.id));
            let (count, sum) = inside.fold((0usize, [0.0; 2]), |(count, sum), (point, _)| {
                (count + 1, [sum[0] + point[0], sum[1] + point[1]])
            });
            let share = object.share.get(frame).copied().unwrap_or_default();
            let mean = sum.map(|sum| sum / count.max(1) as f64);
            centres.push((count > 0).then_some((mean, share)));
        }
        // Where it is not seen it waits at the place where it was seen first or last.
        let mut known = centres.iter().flatten().next().copied();
        let steps = centres.iter().map(|centre| {
            known = centre.or(known);
            let (place, share) = known.unwrap_or_default();
            let [x, y] = panel.place(place);
            ([x, y, 4.0 + 26.0 * share.max(0.0).sqrt()], centre.is_some())
        });
        own.push(Mark::Moving(steps.collect(), colour(Some(object.id))));
    }
    // A picture that does not move has the trends alone.
    let moving = own.into_iter().map(|mark| match mark {
        Mark::During(..) | Mark::Moving(..) => mark,
        still => Mark::Still(vec![still]),
    });
    marks.extend(moving);
}
