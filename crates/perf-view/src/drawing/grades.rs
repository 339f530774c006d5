//! [`Grades`]: drawing of a table of efficiencies as percentages, with a column for each run,
//! coloured from red (low) to green (high).

use crate::{Anchor, Colour, ColourMap, Mark, Scene, Theme, glyphs, shortened};

/// Coloured table of percentages with a column for each run and a row for each efficiency.
///
/// The colours run from dark red at 50 % and below to light green at 100 % and above. The lightness
/// rises with the value, so that colour-blind readers and prints without colour can distinguish the
/// cells. Each cell also contains its number.
///
/// ```
/// use perf_view::Grades;
/// let mut grades = Grades::new([("run a".to_string(), "4 x".to_string())]).titled("Efficiencies");
/// grades.push("parallel efficiency", 0, [Some(0.872)]);
/// grades.push("load balance", 1, [Some(0.9)]);
/// assert!(grades.scene().svg().contains("87.20"));
/// ```
#[derive(Clone, Debug)]
pub struct Grades {
    title: String,
    theme: Theme,
    heads: Vec<(String, String)>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
/// Row of the table.
struct Row {
    /// Name of the efficiency.
    name: String,
    /// Depth in the tree of efficiencies; the root has depth 0.
    depth: usize,
    /// Value of each column as a fraction of 1; `None` if it is not known.
    values: Vec<Option<f64>>,
}

const MARGIN: f64 = 16.0;
const ROW: f64 = 26.0;
const TITLE: f64 = 30.0;
const HEAD: f64 = 40.0;
/// Pixels by which each level of the tree is indented.
const INDENT: f64 = 16.0;
/// Longest column heading in characters.
const HEAD_LETTERS: usize = 14;
/// Width of a column in pixels.
const COLUMN: f64 = 112.0;
/// Value of the first colour, as a fraction of 1.
const WORST: f64 = 0.5;

const COLOURS: [Colour; 5] = [
    Colour::hex(0xa01c26),
    Colour::hex(0xd9622f),
    Colour::hex(0xec9836),
    Colour::hex(0xdfc64d),
    Colour::hex(0xb4ee98),
];

impl Grades {
    /// Returns an empty table with the given columns. Each column has two lines of heading.
    pub fn new(heads: impl IntoIterator<Item = (String, String)>) -> Self {
        Grades {
            title: String::new(),
            theme: Theme::light(),
            heads: heads.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Sets the title above the table. Default: none.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the theme, default [`Theme::light`].
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Adds a row at a depth of the tree, with one value for each column as a fraction of 1. `None`
    /// is shown as `-`.
    pub fn push(
        &mut self,
        name: impl Into<String>,
        depth: usize,
        values: impl IntoIterator<Item = Option<f64>>,
    ) {
        self.rows.push(Row {
            name: name.into(),
            depth,
            values: values.into_iter().collect(),
        });
    }

    /// Draws the table.
    pub fn scene(&self) -> Scene {
        let theme = &self.theme;
        let indent = |row: &Row| row.depth as f64 * INDENT;
        let names = self
            .rows
            .iter()
            .map(|row| indent(row) + glyphs::width(&row.name));
        let left = MARGIN + names.fold(0.0, f64::max) + 14.0;
        let top = MARGIN + if self.title.is_empty() { 0.0 } else { TITLE };
        let width = left + self.heads.len() as f64 * COLUMN + MARGIN;
        let width = width.max(2.0 * MARGIN + glyphs::width(&self.title));
        let height = top + HEAD + self.rows.len() as f64 * ROW + MARGIN;
        let mut scene = Scene::new(width.ceil() as u32, height.ceil() as u32, theme.paper);
        scene.title = self.words();
        if !self.title.is_empty() {
            let at = [MARGIN, MARGIN + 8.0];
            scene.push(Mark::Title(
                at,
                Anchor::Start,
                theme.ink,
                self.title.clone(),
            ));
        }
        for (column, (name, below)) in self.heads.iter().enumerate() {
            let middle = left + (column as f64 + 0.5) * COLUMN;
            let name = shortened(name, HEAD_LETTERS);
            scene.text([middle, top + 9.0], Anchor::Middle, theme.ink, &name);
            scene.text([middle, top + 26.0], Anchor::Middle, theme.quiet, below);
        }
        for (at, row) in self.rows.iter().enumerate() {
            let y = top + HEAD + (at as f64 + 0.5) * ROW;
            scene.text(
                [MARGIN + indent(row), y],
                Anchor::Start,
                theme.ink,
                &row.name,
            );
            for (column, value) in row.values.iter().enumerate().take(self.heads.len()) {
                let x = left + column as f64 * COLUMN;
                let Some(value) = value.filter(|value| value.is_finite()) else {
                    scene.text([x + COLUMN / 2.0, y], Anchor::Middle, theme.quiet, "-");
                    continue;
                };
                let fill = colour(value);
                let cell = [x + 1.0, y - ROW / 2.0 + 1.0, COLUMN - 2.0, ROW - 2.0];
                scene.push(Mark::Rect(cell, fill));
                let at = [x + COLUMN / 2.0, y];
                scene.text(
                    at,
                    Anchor::Middle,
                    ink(fill),
                    &format!("{:.2} %", 100.0 * value),
                );
            }
        }
        scene
    }

    /// Returns the table as text, for readers who cannot see it.
    fn words(&self) -> String {
        let heads: Vec<&str> = self.heads.iter().map(|head| head.0.as_str()).collect();
        let row = |row: &Row| {
            let values = row.values.iter();
            let values =
                values.map(|it| it.map_or("-".into(), |it| format!("{:.1} %", 100.0 * it)));
            format!("{} {}", row.name, values.collect::<Vec<_>>().join(", "))
        };
        let rows: Vec<String> = self.rows.iter().map(row).collect();
        format!(
            "{} of {}: {}",
            self.title,
            heads.join(", "),
            rows.join("; ")
        )
    }
}

/// Returns the colour of a value given as a fraction of 1.
fn colour(value: f64) -> Colour {
    ColourMap::Own(COLOURS.to_vec()).at((value - WORST) / (1.0 - WORST))
}

/// Returns black or white, whichever has more contrast with a colour.
fn ink(on: Colour) -> Colour {
    // On any colour, one of the two has a contrast above 4.5.
    let (dark, light) = (Colour::hex(0x000000), Colour::hex(0xffffff));
    if on.contrast(dark) >= on.contrast(light) {
        dark
    } else {
        light
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colours::colour_map::oklab;

    #[test]
    fn lightness_rises_and_numbers_are_readable() {
        let steps: Vec<f64> = (0..=50).map(|at| 0.5 + f64::from(at) / 100.0).collect();
        let light: Vec<f64> = steps.iter().map(|it| oklab(colour(*it))[0]).collect();
        assert!(light.windows(2).all(|pair| pair[1] > pair[0]), "{light:?}");
        for value in steps {
            let fill = colour(value);
            assert!(fill.contrast(ink(fill)) > 4.5, "{value}");
        }
    }

    #[test]
    fn missing_values_have_no_colour() {
        let mut grades = Grades::new([("a".to_owned(), String::new())]);
        grades.push("IPC scaling", 0, [None]);
        grades.push("load balance", 0, [Some(f64::NAN)]);
        let scene = grades.scene();
        let is_cell = |mark: &&Mark| matches!(mark, Mark::Rect(..));
        assert_eq!(scene.marks.iter().filter(is_cell).count(), 0);
    }
}
