//! [`Panel`]: rectangle with two axes, and the legend and text elements that charts share.

use crate::{Anchor, Axis, Colour, Mark, Scene, Theme, glyphs, shortened};

/// Rectangle with two axes in data units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panel {
    /// Upper left corner in pixels.
    pub(crate) corner: [f64; 2],
    /// Width and height in pixels.
    pub(crate) size: [f64; 2],
    /// Values at the left and the right end.
    pub(crate) x: [f64; 2],
    /// Values at the lower and the upper end.
    pub(crate) y: [f64; 2],
}

/// Space to the left of a panel for its tick labels, in pixels.
pub(crate) const LEFT: f64 = 78.0;
/// Space above a panel for its title and the name of the vertical axis, in pixels.
pub(crate) const ABOVE: f64 = 44.0;
/// Space below a panel for its tick labels and the name of the horizontal axis, in pixels.
pub(crate) const BELOW: f64 = 46.0;

/// Margin around a picture in pixels.
pub(crate) const MARGIN: f64 = 16.0;
/// Height of the title of a picture in pixels.
const TITLE: f64 = 30.0;

/// Draws the title of a picture unless it is empty, and returns the vertical position of the
/// content below.
pub(crate) fn head(title: &str, width: f64, theme: &Theme, scene: &mut Scene) -> f64 {
    if title.is_empty() {
        return MARGIN;
    }
    let most = ((width - 2.0 * MARGIN) / glyphs::ADVANCE) as usize;
    let at = [MARGIN, MARGIN + 8.0];
    scene.push(Mark::Title(
        at,
        Anchor::Start,
        theme.ink,
        shortened(title, most),
    ));
    MARGIN + TITLE
}

/// Texts and ticks around a panel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around<'a> {
    /// Title above the panel.
    pub(crate) title: &'a str,
    /// Name of the horizontal axis.
    pub(crate) x: &'a str,
    /// Name of the vertical axis.
    pub(crate) y: &'a str,
    /// Values and labels along the horizontal axis.
    pub(crate) x_ticks: Vec<(f64, String)>,
    /// Values and labels along the vertical axis.
    pub(crate) y_ticks: Vec<(f64, String)>,
}

/// Returns the range of all finite values with a margin of 4 %.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> [f64; 2] {
    let axis = Axis::around(values, crate::Unit::Number);
    [axis.low, axis.high]
}

impl Panel {
    /// Converts a pair of values to pixels.
    pub(crate) fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let share = |[low, high]: [f64; 2], value: f64| (value - low) / (high - low);
        [
            self.corner[0] + self.size[0] * share(self.x, x),
            self.corner[1] + self.size[1] * (1.0 - share(self.y, y)),
        ]
    }

    /// Draws axes, ticks, names and title.
    pub(crate) fn frame(&self, around: &Around<'_>, theme: &Theme, scene: &mut Scene) {
        let ([left, top], [width, height]) = (self.corner, self.size);
        let (right, bottom) = (left + width, top + height);
        let most = |pixels: f64| (pixels / glyphs::ADVANCE).max(4.0) as usize;
        let title = shortened(around.title, most(width + LEFT - 16.0));
        let at = [left - LEFT + 16.0, top - 32.0];
        scene.push(Mark::Title(at, Anchor::Start, theme.ink, title));
        let at = [left - LEFT + 16.0, top - 13.0];
        let up = shortened(around.y, most(width + LEFT - 16.0));
        scene.text(at, Anchor::Start, theme.quiet, &up);
        let mut last = f64::NEG_INFINITY;
        for (value, label) in &around.x_ticks {
            let x = self.place([*value, self.y[0]])[0];
            scene.line([x, top, x, bottom], theme.grid);
            scene.line([x, bottom, x, bottom + 4.0], theme.quiet);
            let half = glyphs::width(label) / 2.0;
            // Labels that would overlap are skipped.
            if x - half > last + 6.0 {
                let at = [x, bottom + 13.0];
                scene.text(at, Anchor::Middle, theme.quiet, label);
                last = x + half;
            }
        }
        for (value, label) in &around.y_ticks {
            let y = self.place([self.x[0], *value])[1];
            scene.line([left, y, right, y], theme.grid);
            let label = shortened(label, most(LEFT - 10.0));
            scene.text([left - 7.0, y], Anchor::End, theme.quiet, &label);
        }
        for line in [[left, bottom, right, bottom], [left, top, left, bottom]] {
            scene.line(line, theme.quiet);
        }
        let at = [left + width / 2.0, bottom + 32.0];
        let name = shortened(around.x, most(width + LEFT / 2.0));
        scene.text(at, Anchor::Middle, theme.quiet, &name);
    }
}

/// Draws a legend in as many lines as the width requires, and returns its height in pixels.
pub(crate) fn legend(
    entries: &[(Colour, String)],
    corner: [f64; 2],
    width: f64,
    theme: &Theme,
    scene: &mut Scene,
) -> f64 {
    const LINE: f64 = 20.0;
    let (mut x, mut y) = (corner[0], corner[1]);
    for (colour, name) in entries {
        let name = shortened(name, 40);
        let needed = glyphs::width(&name) + 36.0;
        if x + needed > corner[0] + width && x > corner[0] {
            (x, y) = (corner[0], y + LINE);
        }
        let swatch = [x, y + LINE / 2.0 - 6.0, 12.0, 12.0];
        scene.push(Mark::Rect(swatch, *colour));
        let at = [x + 17.0, y + LINE / 2.0];
        scene.text(at, Anchor::Start, theme.ink, &name);
        x += needed;
    }
    if entries.is_empty() {
        0.0
    } else {
        y - corner[1] + LINE
    }
}

/// Draws text that is wrapped to a width in pixels, and returns its height in pixels.
pub(crate) fn paragraph(
    words: &str,
    corner: [f64; 2],
    width: f64,
    colour: Colour,
    scene: &mut Scene,
) -> f64 {
    const LINE: f64 = 18.0;
    let most = (width / glyphs::ADVANCE).max(8.0) as usize;
    let mut lines: Vec<String> = vec![String::new()];
    for word in words.split_whitespace() {
        let word = shortened(word, most);
        let Some(line) = lines.last_mut() else { break };
        let needed = line.chars().count() + 1 + word.chars().count();
        if line.is_empty() {
            line.push_str(&word);
        } else if needed <= most {
            line.push(' ');
            line.push_str(&word);
        } else {
            lines.push(word);
        }
    }
    for (at, line) in lines.iter().enumerate() {
        let y = corner[1] + LINE * (at as f64 + 0.5);
        scene.text([corner[0], y], Anchor::Start, colour, line);
    }
    LINE * lines.len() as f64
}
