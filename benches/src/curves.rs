//! [`scene`]: picture of growing costs with a panel for each [`Curve`]: logarithmic axes, points
//! and a fitted power law.

use crate::scaling::{Point, PowerLaw};
use perfkit::view::{Anchor, Colour, Mark, Scene, Theme, number};

/// Curve of one panel.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Title of the panel.
    pub title: String,
    /// Name of the horizontal axis.
    pub axis: String,
    /// Measured points.
    pub points: Vec<Point>,
}

const COLUMNS: usize = 4;
const PANEL: [f64; 2] = [310.0, 250.0];
/// Space to the left of the axes of a panel, above them, below them and to their right.
const LEFT: f64 = 76.0;
const ABOVE: f64 = 44.0;
const BELOW: f64 = 42.0;
const RIGHT: f64 = 14.0;

/// Draws all curves. `unit` formats a cost.
pub fn scene(title: &str, curves: &[Curve], unit: fn(f64) -> String) -> Scene {
    let theme = Theme::light();
    let rows = curves.len().div_ceil(COLUMNS);
    let size = [COLUMNS as f64 * PANEL[0], rows as f64 * PANEL[1]];
    let mut scene = Scene::new(size[0] as u32, size[1] as u32, theme.paper).titled(title);
    for (at, curve) in curves.iter().enumerate() {
        let (column, row) = ((at % COLUMNS) as f64, (at / COLUMNS) as f64);
        let corner = [column * PANEL[0], row * PANEL[1]];
        panel(curve, corner, unit, &theme, &mut scene);
    }
    scene
}

/// Returns the range of an axis in decimal logarithms, slightly larger than the range of the
/// values.
fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let ends = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
        [low.min(value.log10()), high.max(value.log10())]
    });
    // The range has a minimum size, so that noise of a constant curve does not fill the panel.
    let middle = f64::midpoint(ends[0], ends[1]);
    let half = ((ends[1] - ends[0]) / 2.0).max(0.55) * 1.08;
    [middle - half, middle + half]
}

fn panel(
    curve: &Curve,
    corner: [f64; 2],
    unit: fn(f64) -> String,
    theme: &Theme,
    scene: &mut Scene,
) {
    let x = ends(curve.points.iter().map(|point| point.size));
    let y = ends(curve.points.iter().map(|point| point.cost));
    let (left, right) = (corner[0] + LEFT, corner[0] + PANEL[0] - RIGHT);
    let (top, bottom) = (corner[1] + ABOVE, corner[1] + PANEL[1] - BELOW);
    let place = |size: f64, cost: f64| {
        let share = |[low, high]: [f64; 2], value: f64| (value.log10() - low) / (high - low);
        [
            left + (right - left) * share(x, size),
            bottom - (bottom - top) * share(y, cost),
        ]
    };
    let decades =
        |[low, high]: [f64; 2]| (low.ceil() as i32..=high.floor() as i32).map(|at| 10f64.powi(at));
    let origin = [10f64.powf(x[0]), 10f64.powf(y[0])];
    for size in decades(x) {
        let at = place(size, origin[1])[0];
        scene.line([at, top, at, bottom], theme.grid);
        let label = number::short(size, "");
        scene.text(
            [at, bottom + 12.0],
            Anchor::Middle,
            theme.quiet,
            label.trim(),
        );
    }
    for cost in decades(y) {
        let at = place(origin[0], cost)[1];
        scene.line([left, at, right, at], theme.grid);
        scene.text([left - 6.0, at], Anchor::End, theme.quiet, &unit(cost));
    }
    for line in [[left, bottom, right, bottom], [left, top, left, bottom]] {
        scene.line(line, theme.quiet);
    }
    let title = [corner[0] + 12.0, corner[1] + 14.0];
    scene.push(Mark::Title(
        title,
        Anchor::Start,
        theme.ink,
        curve.title.clone(),
    ));
    let middle = [(left + right) / 2.0, bottom + 29.0];
    scene.text(middle, Anchor::Middle, theme.quiet, &curve.axis);
    let blue = Colour::hex(0x3b76b0);
    if let (Some(law), [first, .., last]) = (PowerLaw::fit(&curve.points), &curve.points[..]) {
        let at = [first, last].map(|point| place(point.size, law.at(point.size)));
        scene.push(Mark::Path(at.to_vec(), 1.5, theme.quiet));
        let slope = format!("slope {:.2}", law.slope);
        let at = [corner[0] + 12.0, corner[1] + 32.0];
        scene.text(at, Anchor::Start, theme.quiet, &slope);
    }
    for point in &curve.points {
        let [x, y] = place(point.size, point.cost);
        scene.push(Mark::Circle([x, y, 4.0], blue));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_has_its_points_and_slope() {
        let point = |size: f64| Point {
            size,
            cost: size / 1000.0,
        };
        let curve = Curve {
            title: "reading".into(),
            axis: "locations".into(),
            points: [64.0, 256.0, 1024.0].map(point).to_vec(),
        };
        let scene = scene("costs", &[curve.clone(), curve], |cost| {
            number::time(cost * 1e9)
        });
        let circles = scene
            .marks
            .iter()
            .filter(|mark| matches!(mark, Mark::Circle(..)));
        assert_eq!(circles.count(), 6);
        let texts: Vec<&str> = scene
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Text(_, _, _, text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert!(texts.contains(&"slope 1.00"), "{texts:?}");
        assert!(texts.contains(&"100 ms"), "{texts:?}");
        assert!(scene.png().is_ok());
    }
}
