//! [`Picture::matrices`]: draws the evidence that clusters of two experiments are the same, as
//! matrices.

use super::model::Compared;
use super::picture::{GAP, MARGIN, Picture, SIDE};
use crate::chart::paragraph;
use crate::{Anchor, Colour, Mark, Scene, Theme};

/// Colour of a share of 1.
const MATRIX: Colour = Colour::hex(0x2b5c9e);

impl Picture<'_> {
    /// Draws the evidence that clusters of two experiments are the same. There are matrices for the
    /// combined evidence, the nearest neighbours in both directions, and the vote of each
    /// evaluator.
    ///
    /// Returns `None` if the two experiments were not compared.
    pub fn matrices(&self, from: usize, to: usize) -> Option<Scene> {
        let pairs = self.clusters.pairs.iter();
        let mut pairs = pairs.filter(|pair| (pair.from, pair.to) == (from, to));
        let pair = pairs.next()?;
        let name = |experiment: usize| {
            self.clusters
                .experiments
                .get(experiment)
                .map_or("", |of| &of.name)
        };
        let (rows, columns) = pair.matrices.first().map_or((0, 0), |(_, matrix)| {
            (matrix.len(), matrix.first().map_or(0, Vec::len))
        });
        let cell = (SIDE / rows.max(columns).max(1) as f64).clamp(14.0, 44.0);
        let panel = [46.0 + cell * columns as f64, 66.0 + cell * rows as f64];
        let panel = [panel[0].max(190.0), panel[1]];
        let across = self.columns.min(pair.matrices.len()).max(1);
        let width = 2.0 * MARGIN + across as f64 * (panel[0] + GAP) - GAP;
        let mut scene = Scene::new(width.max(420.0) as u32, 0, self.theme.paper);
        scene.title = format!(
            "clusters of {} (rows) and {} (columns)",
            name(from),
            name(to)
        );
        let mut top = self.head(width.max(420.0), &mut scene);
        let words = format!(
            "Rows are clusters of {}, columns those of {}; shares in percent; empty cells have no vote.",
            name(from),
            name(to)
        );
        let room = width.max(420.0) - 2.0 * MARGIN;
        top += paragraph(&words, [MARGIN, top], room, self.theme.quiet, &mut scene);
        for (at, matrix) in pair.matrices.iter().enumerate() {
            let left = MARGIN + (at % across) as f64 * (panel[0] + GAP);
            let above = top + (at / across) as f64 * (panel[1] + GAP);
            self.matrix(pair, matrix, [left, above], cell, &mut scene);
        }
        top += pair.matrices.len().div_ceil(across) as f64 * (panel[1] + GAP);
        let left_out: usize = pair.left_out.iter().sum();
        if left_out > 0 {
            let note = format!("{left_out} clusters with the least time are not compared.");
            top += paragraph(&note, [MARGIN, top], room, self.theme.quiet, &mut scene);
        }
        scene.height = (top + MARGIN).ceil() as u32;
        Some(scene)
    }

    fn matrix(
        &self,
        pair: &Compared,
        (name, values): &(&str, Vec<Vec<f64>>),
        [left, top]: [f64; 2],
        cell: f64,
        scene: &mut Scene,
    ) {
        let theme = &self.theme;
        scene.push(Mark::Title(
            [left, top + 10.0],
            Anchor::Start,
            theme.ink,
            (*name).into(),
        ));
        let (left, top) = (left + 40.0, top + 56.0);
        let region = |experiment: usize, cluster: usize| {
            let id = cluster as u32 + 1;
            let has = |members: &Vec<u32>| members.contains(&id);
            let mut all = self.clusters.regions.iter();
            let found = all.find(|region| region.members.get(experiment).is_some_and(has));
            super::colour(found.map_or(0, |region| region.id), theme)
        };
        for (row, values) in values.iter().enumerate() {
            let y = top + (row as f64 + 0.5) * cell;
            let label = (row + 1).to_string();
            scene.push(Mark::Rect(
                [left - 14.0, y - 5.0, 10.0, 10.0],
                region(pair.from, row),
            ));
            scene.text([left - 18.0, y], Anchor::End, theme.ink, &label);
            for (column, value) in values.iter().enumerate() {
                let x = left + column as f64 * cell;
                if row == 0 {
                    let label = (column + 1).to_string();
                    let middle = x + cell / 2.0;
                    let swatch = [middle - 5.0, top - 14.0, 10.0, 10.0];
                    scene.push(Mark::Rect(swatch, region(pair.to, column)));
                    scene.text([middle, top - 22.0], Anchor::Middle, theme.ink, &label);
                }
                if value.is_nan() {
                    continue;
                }
                let fill = theme.absent.mix(MATRIX, value.clamp(0.0, 1.0));
                let place = [x, y - cell / 2.0, cell - 1.0, cell - 1.0];
                scene.push(Mark::Rect(place, fill));
                if cell >= 26.0 && *value >= 0.005 {
                    let text = format!("{:.0}", 100.0 * value);
                    let colour = readable(fill, theme);
                    scene.text([x + cell / 2.0, y], Anchor::Middle, colour, &text);
                }
            }
        }
    }
}

/// Returns ink or paper, whichever has more contrast with a colour.
fn readable(on: Colour, theme: &Theme) -> Colour {
    if on.contrast(theme.ink) >= on.contrast(theme.paper) {
        theme.ink
    } else {
        theme.paper
    }
}
