//! Pictures of recall against false alarms, and against the size of the planted call: one panel for
//! each shape and number of calls, and one line for each detector.

use crate::detectors::{DETECTORS, KINDS};
use crate::{Measured, Row};
use perfkit::view::{Anchor, Mark, Scene, Theme, numbered};

const COLUMNS: usize = 3;
const PANEL: [f64; 2] = [290.0, 130.0];
/// Space to the left of the axes of a panel, above them and below them.
const SPACE: [f64; 3] = [40.0, 26.0, 20.0];
/// Height of the legend.
const LEGEND: f64 = 30.0;
/// False alarms in a million calls of the axis, as decimal logarithms.
const ALARMS: [f64; 2] = [0.5, 6.0];
/// False alarms in a million calls of the picture of sizes.
const STATED: f64 = 10.0;

/// Draws recall against false alarms.
pub(crate) fn by_alarms(rows: &[Row]) -> Scene {
    let line = |row: &Row, one: &Measured| {
        let size = half(row);
        let points = (1..=12).map(|half| {
            let log = f64::from(half) / 2.0;
            let alarms = (10_f64.powf(log - 6.0) * one.normal.len() as f64) as usize;
            let x = (log - ALARMS[0]) / (ALARMS[1] - ALARMS[0]);
            [x, one.recall_at(size, alarms)]
        });
        points.collect()
    };
    let ticks = |_: &Row| {
        let names = ["10", "", "1,000", "", "100,000"];
        let place = |at: usize| (at as f64 + 1.0 - ALARMS[0]) / (ALARMS[1] - ALARMS[0]);
        let names = names.into_iter().enumerate();
        names.map(|(at, name)| (place(at), name.into())).collect()
    };
    panels(
        "Recall against false alarms in a million calls",
        rows,
        line,
        ticks,
    )
}

/// Draws recall by the size of the planted call.
pub(crate) fn by_size(rows: &[Row]) -> Scene {
    let place = |row: &Row, at: usize| at as f64 / (row.sizes.len() - 1).max(1) as f64;
    let line = |row: &Row, one: &Measured| {
        let alarms = (STATED * 1e-6 * one.normal.len() as f64) as usize;
        let sizes = 0..row.sizes.len();
        sizes
            .map(|size| [place(row, size), one.recall_at(size, alarms)])
            .collect()
    };
    let ticks = |row: &Row| {
        let sizes = row.sizes.iter().enumerate();
        sizes
            .map(|(at, size)| (place(row, at), format!("{size}")))
            .collect()
    };
    panels(
        "Recall by size at 10 false alarms in a million calls",
        rows,
        line,
        ticks,
    )
}

/// Returns the number of the size with about half of the usual excess.
fn half(row: &Row) -> usize {
    row.sizes
        .iter()
        .position(|size| match row.shape.planted {
            perf_testdata::run_times::Planted::Micros { .. } => true,
            _ => *size == 5.0,
        })
        .unwrap_or(0)
}

/// Draws a panel for each row. Lines and ticks are in `0.0..=1.0`.
fn panels(
    title: &str,
    rows: &[Row],
    line: impl Fn(&Row, &Measured) -> Vec<[f64; 2]>,
    ticks: impl Fn(&Row) -> Vec<(f64, String)>,
) -> Scene {
    let theme = Theme::light();
    let height = LEGEND + rows.len().div_ceil(COLUMNS) as f64 * PANEL[1];
    let width = COLUMNS as f64 * PANEL[0];
    let mut scene = Scene::new(width as u32, height as u32, theme.paper).titled(title);
    for (at, (name, _)) in DETECTORS.iter().take(KINDS).enumerate() {
        let x = SPACE[0] + at as f64 * 110.0;
        let y = LEGEND / 2.0;
        scene.push(Mark::Rect([x, y - 4.0, 14.0, 8.0], numbered(at)));
        scene.text([x + 20.0, y], Anchor::Start, theme.ink, name);
    }
    for (at, row) in rows.iter().enumerate() {
        let corner = [
            (at % COLUMNS) as f64 * PANEL[0],
            LEGEND + (at / COLUMNS) as f64 * PANEL[1],
        ];
        let (left, right) = (corner[0] + SPACE[0], corner[0] + PANEL[0] - 12.0);
        let (top, bottom) = (corner[1] + SPACE[1], corner[1] + PANEL[1] - SPACE[2]);
        let place = |[x, y]: [f64; 2]| [left + (right - left) * x, bottom - (bottom - top) * y];
        let name = format!("{}: {} calls", row.shape.name, row.calls);
        scene.text([left, top - 12.0], Anchor::Start, theme.ink, &name);
        for (share, label) in [(0.0, "0"), (0.5, "0.5"), (1.0, "1")] {
            let y = place([0.0, share])[1];
            scene.line([left, y, right, y], theme.grid);
            scene.text([left - 5.0, y], Anchor::End, theme.quiet, label);
        }
        for (share, label) in ticks(row) {
            let x = place([share, 0.0])[0];
            scene.line([x, top, x, bottom], theme.grid);
            scene.text([x, bottom + 10.0], Anchor::Middle, theme.quiet, &label);
        }
        // The default detector covers the others.
        for (at, one) in row.each.iter().take(KINDS).enumerate().rev() {
            let points = line(row, one).into_iter().map(place).collect();
            let width = if at == 0 { 2.5 } else { 1.2 };
            scene.push(Mark::Path(points, width, numbered(at)));
        }
    }
    scene
}
