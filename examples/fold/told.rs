//! What `fold` prints: a strip of letters a row, or JSON.

use super::View;
use perfkit::fold::{Cell, ClassId, State, Value as Shown};
use perfkit_examples::cli::Outcome;
use perfkit_examples::table::{counted, shortened};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

impl View {
    /// The share of a row's cells that paint each state.
    fn shares(&self, cells: &[Cell]) -> Vec<(ClassId, f64)> {
        let mut counts: BTreeMap<ClassId, usize> = BTreeMap::new();
        for class in cells.iter().filter_map(Cell::picture) {
            *counts.entry(class).or_default() += 1;
        }
        let all = cells.len().max(1) as f64;
        let mut shares: Vec<_> = counts
            .into_iter()
            .map(|(class, count)| (class, count as f64 / all))
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        shares
    }

    /// One object.
    pub(crate) fn json(&self) -> serde_json::Value {
        let classes = self.fold.classes();
        let rows = self.fold.rows().zip(&self.usage).map(|(row, usage)| {
            let shares = self.shares(row.cells()).into_iter();
            let states: BTreeMap<_, _> = shares
                .map(|(class, share)| (classes.name(class), share))
                .collect();
            let numbers = row.cells().iter().filter_map(|cell| cell.value.number());
            let count = numbers.clone().count();
            let mean = numbers.map(f64::from).sum::<f64>() / count.max(1) as f64;
            json!({
                "group": row.label(),
                "kind": format!("{:?}", row.group().kind),
                "streams": row.streams(),
                "utilisation": usage.utilisation.utilisation(),
                "overlap": usage.utilisation.overlap_share(),
                "mean_concurrency": usage.utilisation.mean_concurrency(),
                "cells_idle": row.idle_cells(),
                "states": states,
                "time_shares": usage.named_classes(classes).collect::<BTreeMap<_, _>>(),
                "time_idle": usage.share_of(State::Idle),
                "time_absent": usage.share_of(State::Absent),
                "mean": (count > 0).then_some(mean),
            })
        });
        let (start, end) = self.times(self.fold.window());
        json!({
            "op": self.op,
            "start_ns": start.0,
            "end_ns": end.0,
            "columns": self.fold.columns(),
            "rows": rows.collect::<Vec<_>>(),
        })
    }

    /// Rows of letters, and what they mean.
    pub(crate) fn text(&self, out: &mut dyn Write) -> Outcome {
        let (start, end) = self.times(self.fold.window());
        let streams: usize = self.fold.rows().map(|row| row.streams()).sum();
        let rows = self.folder.groups().rows().len();
        writeln!(
            out,
            "  {streams} streams in {}, {start} to {end}, op {}",
            counted(rows, "row"),
            self.op
        )?;
        let numbers = self
            .fold
            .cells()
            .iter()
            .filter_map(|cell| cell.value.number());
        let mut letters = Letters {
            largest: numbers.fold(0.0, f32::max),
            ..Letters::default()
        };
        let label = self
            .fold
            .rows()
            .map(|row| row.label().chars().count())
            .max();
        let label = label.unwrap_or_default().min(32);
        for (row, usage) in self.fold.rows().zip(&self.usage) {
            let strip: String = thinned(row.cells(), 80)
                .map(|cell| letters.of(cell.value))
                .collect();
            let busy = 100.0 * usage.utilisation.utilisation();
            let name = shortened(row.label(), 32);
            writeln!(out, "  {name:<label$} |{strip}| {busy:5.1} % busy")?;
        }
        let all = self.shares(self.fold.cells());
        for (class, share) in all {
            if let Some(letter) = letters.given.get(&class) {
                let (name, share) = (self.fold.classes().name(class), 100.0 * share);
                writeln!(out, "    {letter} {name:<40} {share:5.1} % of cells")?;
            }
        }
        for (sign, what) in [
            ('.', "in no region"),
            ('=', "all equal"),
            ('#', "other states"),
        ] {
            if letters.seen.contains(&sign) {
                writeln!(out, "    {sign} {what}")?;
            }
        }
        if letters.largest > 0.0 {
            writeln!(out, "    0 to 9: a digit is {:.2}", letters.largest / 9.0)?;
        }
        Ok(())
    }
}

/// `count` cells of a row, evenly spaced.
fn thinned(cells: &[Cell], count: usize) -> impl Iterator<Item = &Cell> {
    (0..count).filter_map(move |at| cells.get((2 * at + 1) * cells.len() / (2 * count)))
}

/// Letters for states, in the order in which they appear, and digits for numbers.
#[derive(Debug, Default)]
struct Letters {
    given: BTreeMap<ClassId, char>,
    /// The number that is written as 9.
    largest: f32,
    seen: BTreeSet<char>,
}

impl Letters {
    fn of(&mut self, value: Shown) -> char {
        let sign = match (value.picture(), value) {
            (Some(class), _) => {
                let letters = ('A'..='Z').chain('a'..='z');
                let next = letters.clone().nth(self.given.len()).unwrap_or('#');
                *self.given.entry(class).or_insert(next)
            }
            (None, Shown::Uniform) => '=',
            (None, Shown::Number(number)) => {
                let share = number / self.largest.max(f32::MIN_POSITIVE);
                char::from_digit((9.0 * share).round() as u32, 10).unwrap_or('9')
            }
            _ => '.',
        };
        self.seen.insert(sign);
        sign
    }
}
