//! [`Bars`]: bar chart of named values in a [`Unit`], drawn as a [`Scene`], which can be written as PNG or SVG.

use crate::{Anchor, Colour, Mark, Scene, Theme, Unit, glyphs, shortened};

/// Bar chart of named values as PNG or SVG. Bars are in the order in which they were added.
///
/// ```
/// use perf_view::{Bars, Unit};
/// let mut bars = Bars::new(Unit::Nanos).titled("Where the time goes");
/// bars.push("main / solve", 3e9);
/// bars.push("main / output", 4e8);
/// assert!(bars.scene().svg().contains("400 ms"));
/// ```
#[derive(Clone, Debug)]
pub struct Bars {
    unit: Unit,
    title: String,
    theme: Theme,
    bars: Vec<(String, f64)>,
}

const MARGIN: f64 = 16.0;
const BAR: f64 = 24.0;
/// Length of the longest bar in pixels.
const LONGEST: f64 = 420.0;
/// Longest name in characters.
const NAME: usize = 56;
const COLOUR: Colour = Colour::hex(0x3b76b0);

impl Bars {
    /// Creates an empty chart for values of a unit.
    pub fn new(unit: Unit) -> Self {
        Bars {
            unit,
            title: String::new(),
            theme: Theme::light(),
            bars: Vec::new(),
        }
    }

    /// Sets the title above the bars. Default: none.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the theme, default [`Theme::light`].
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Adds a bar. A value that is negative or not a number is written as text without a bar.
    pub fn push(&mut self, name: impl Into<String>, value: f64) {
        self.bars.push((name.into(), value));
    }

    /// Draws the chart.
    pub fn scene(&self) -> Scene {
        let names = self
            .bars
            .iter()
            .map(|(name, _)| name.chars().count().min(NAME));
        let left = MARGIN + names.max().unwrap_or(0) as f64 * glyphs::ADVANCE + 8.0;
        let width = left + LONGEST + 12.0 * glyphs::ADVANCE + MARGIN;
        let top = MARGIN + if self.title.is_empty() { 0.0 } else { 30.0 };
        let height = top + self.bars.len() as f64 * BAR + MARGIN;
        let mut scene = Scene::new(width as u32, height as u32, self.theme.paper);
        let most = ((width - 2.0 * MARGIN) / glyphs::ADVANCE) as usize;
        let title = shortened(&self.title, most);
        let at = [MARGIN, MARGIN + 8.0];
        scene.push(Mark::Title(at, Anchor::Start, self.theme.ink, title));
        let said = self.bars.iter().take(12);
        let said: Vec<String> = said
            .map(|(name, value)| format!("{name} {}", self.unit.write(*value)))
            .collect();
        scene.title = format!("{}: {}", self.title, said.join(", "));
        let finite = self.bars.iter().map(|(_, value)| *value);
        let largest = finite.filter(|value| value.is_finite()).fold(0.0, f64::max);
        for (at, (name, value)) in self.bars.iter().enumerate() {
            let y = top + (at as f64 + 0.5) * BAR;
            let label = shortened(name, NAME);
            scene.text([left - 8.0, y], Anchor::End, self.theme.ink, &label);
            let length = if value.is_finite() && largest > 0.0 {
                LONGEST * (value / largest).max(0.0)
            } else {
                0.0
            };
            scene.push(Mark::Rect([left, y - 8.0, length, 16.0], COLOUR));
            let end = [left + length + 6.0, y];
            let written = self.unit.write(*value);
            scene.text(end, Anchor::Start, self.theme.ink, &written);
        }
        scene
    }
}
