//! [`draw`]: draws a metric of each tracked region over the experiments into a panel, as lines with
//! deviations or as box plots ([`Kind`]).

use super::model::{Clusters, Metric, Shown};
use super::space_axis::{factors, unit, with_unit};
use crate::chart::{Around, Panel};
use crate::{Axis, Colour, Mark, Scene, Theme, shortened};
use perf_track::trend::Summary;

/// Kind of chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Means over the experiments, with a standard deviation to either side.
    Lines,
    /// Box plots with quartiles, median, whiskers of at most 1.5 box heights, and the extremes as
    /// points.
    Boxes,
}

/// Maximum number of tracked regions in a chart. Readers cannot distinguish more.
pub(super) const SHOWN: usize = 16;

/// Draws a metric of the first tracked regions into a panel.
pub(super) fn draw(
    clusters: &Clusters,
    metric: &Metric,
    kind: Kind,
    (corner, size): ([f64; 2], [f64; 2]),
    theme: &Theme,
    scene: &mut Scene,
) {
    let all: Vec<(&Shown, &Vec<Option<Summary>>)> = clusters
        .regions
        .iter()
        .zip(&metric.series)
        .take(SHOWN)
        .collect();
    let ends = |s: &Summary| match kind {
        // A deviation reaches no further than the values: durations are not negative.
        Kind::Lines => [
            (s.mean - s.deviation).max(s.min),
            (s.mean + s.deviation).min(s.max),
        ],
        Kind::Boxes => [s.min, s.max],
    };
    let found = all.iter().flat_map(|(_, series)| series.iter().flatten());
    let values: Vec<f64> = found.flat_map(ends).collect();
    let positive = values.iter().copied().filter(|value| *value > 0.0);
    let low = positive.clone().fold(f64::INFINITY, f64::min);
    let high = positive.fold(0.0, f64::max);
    // On a logarithmic axis only the means must be positive. A deviation that reaches below 0 ends
    // at the axis.
    let means = all.iter().flat_map(|(_, series)| series.iter().flatten());
    let log = high > 20.0 * low && means.into_iter().all(|s| s.mean > 0.0);
    let place = |value: f64| if log { value.max(low).ln() } else { value };
    let y = crate::chart::range(values.iter().map(|value| place(*value)));
    let panel = Panel {
        corner,
        size,
        x: [-0.5, clusters.experiments.len() as f64 - 0.5],
        y,
    };
    let unit = unit(&metric.unit);
    let most = (size[1] / 44.0) as usize + 1;
    let y_ticks = if log {
        factors([y[0].exp(), y[1].exp()], most)
            .into_iter()
            .map(|value| (value.ln(), unit.write(value)))
            .collect()
    } else {
        Axis::over(y, unit).ticks(most)
    };
    let what = match kind {
        Kind::Lines => "mean, with a deviation to either side",
        Kind::Boxes => "quartiles, whiskers and extremes",
    };
    let around = Around {
        title: &with_unit(&metric.name, &metric.unit),
        x: &experiments_are(clusters),
        y: what,
        x_ticks: experiment_labels(clusters),
        y_ticks,
    };
    panel.frame(&around, theme, scene);
    let room = size[0] / clusters.experiments.len() as f64;
    let step = (0.8 * room / all.len().max(1) as f64).min(14.0);
    for (at, (region, series)) in all.iter().enumerate() {
        let aside = (at as f64 - (all.len() as f64 - 1.0) / 2.0) * step;
        let colour = super::colour(region.id, theme);
        let mut last: Option<[f64; 2]> = None;
        for (experiment, summary) in series.iter().enumerate() {
            let Some(summary) = summary else { continue };
            let y = |value: f64| panel.place([experiment as f64, place(value)])[1];
            let x = panel.place([experiment as f64, 0.0])[0] + aside;
            match kind {
                Kind::Lines => {
                    let mean = [x, y(summary.mean)];
                    if let Some(last) = last.replace(mean) {
                        scene.push(Mark::Path(vec![last, mean], 1.6, colour));
                    }
                    let [from, to] = ends(summary).map(y);
                    scene.push(Mark::Path(vec![[x, from], [x, to]], 1.4, colour));
                    scene.push(Mark::Circle([mean[0], mean[1], 3.2], colour));
                }
                Kind::Boxes => boxed(summary, x, step, &y, (colour, theme.paper), scene),
            }
        }
    }
}

fn boxed(
    s: &Summary,
    x: f64,
    step: f64,
    y: &dyn Fn(f64) -> f64,
    (colour, paper): (Colour, Colour),
    scene: &mut Scene,
) {
    let half = (0.36 * step).max(1.5);
    scene.push(Mark::Path(vec![[x, y(s.low)], [x, y(s.high)]], 1.2, colour));
    let (top, bottom) = (y(s.q3), y(s.q1));
    let height = (bottom - top).max(2.0);
    scene.push(Mark::Rect([x - half, top, 2.0 * half, height], colour));
    if height <= 4.0 {
        return outliers(s, x, y, colour, scene);
    }
    let median = vec![[x - half, y(s.median)], [x + half, y(s.median)]];
    scene.push(Mark::Path(median, 1.2, paper));
    outliers(s, x, y, colour, scene);
}

/// Draws the extremes that lie outside of the whiskers.
fn outliers(s: &Summary, x: f64, y: &dyn Fn(f64) -> f64, colour: Colour, scene: &mut Scene) {
    for (value, outside) in [(s.min, s.min < s.low), (s.max, s.max > s.high)] {
        if outside {
            scene.push(Mark::Circle([x, y(value), 1.8], colour));
        }
    }
}

/// Returns the name of the axis of experiments.
fn experiments_are(clusters: &Clusters) -> String {
    if is_scaling(clusters) {
        format!("{} of each experiment", clusters.scale)
    } else if clusters.experiments.len() == 1 {
        String::new()
    } else {
        "experiments in order".to_owned()
    }
}

fn is_scaling(clusters: &Clusters) -> bool {
    let first = clusters
        .experiments
        .first()
        .map(|experiment| experiment.tasks);
    clusters
        .experiments
        .iter()
        .any(|experiment| Some(experiment.tasks) != first)
}

fn experiment_labels(clusters: &Clusters) -> Vec<(f64, String)> {
    let scaling = is_scaling(clusters);
    let experiments = clusters.experiments.iter().enumerate();
    let label = |(at, experiment): (usize, &super::model::Experiment)| {
        let text = if scaling {
            experiment.tasks.to_string()
        } else if clusters.experiments.len() == 1 {
            shortened(&experiment.name, 24)
        } else {
            (at + 1).to_string()
        };
        (at as f64, text)
    };
    experiments.map(label).collect()
}
