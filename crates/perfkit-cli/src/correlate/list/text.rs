//! Output of the list of correlated views as text and as tables.

use super::{BOUND_WORDS, List, TIE, weights};
use crate::failure::{Failure, Outcome};
use crate::table;
use perfkit::core::{Column, Table};
use perfkit::spectral::Match;
use std::borrow::Cow;
use std::io::Write;

impl List {
    /// Writes the list as text.
    pub(in crate::correlate) fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let (metric, path) = self.label(self.reference);
        let lens: Vec<String> = self
            .topology
            .shape()
            .lens()
            .iter()
            .map(usize::to_string)
            .collect();
        let check = self.topology.check();
        writeln!(out, "  reference   {metric} of {path}")?;
        let shared = match check.shared {
            0 => String::new(),
            shared => format!(", {shared} shared"),
        };
        writeln!(
            out,
            "  topology    {}, {} of {} locations placed, {} cells empty{shared}",
            format!("{} {}", lens.join(" x "), self.topology.name()).trim_end(),
            check.placed,
            check.locations,
            check.missing
        )?;
        let percent = |share: &f64| format!("{:.0} %", 100.0 * share);
        let shares: Vec<String> = self.power.share.iter().map(percent).collect();
        writeln!(out, "  its power   {} along the axes", shares.join(", "))?;
        let behind = self.power.rest();
        let rest = weights(behind.f());
        let what = if self.axes.iter().all(|weight| *weight == 1.0) {
            "nothing is filtered away; "
        } else if self.axes.iter().all(|weight| *weight == 0.0) {
            "everything is filtered away; "
        } else {
            ""
        };
        // No variation remains if only one axis varies.
        let left_out = self.power.share.iter().zip(behind.f());
        let mut left_out = left_out.filter(|(share, weight)| **share > 0.0 && **weight == 0.0);
        let rest = if left_out.next().is_some() {
            format!("{what}what lies behind: --axes {rest}")
        } else {
            what.trim_end_matches("; ").to_string()
        };
        let rest = if rest.is_empty() {
            rest
        } else {
            format!(" ({rest})")
        };
        writeln!(out, "  filter      {}{rest}", weights(&self.axes))?;
        writeln!(out, "  by chance   {BOUND_WORDS}")?;
        if let Some(band) = self.band() {
            writeln!(out, "              {band}")?;
        }
        for note in self.notes(top) {
            writeln!(out, "  note        {note}")?;
        }
        let listed = self.listed(top, "")?;
        if listed.rows() == 0 && top > 0 {
            writeln!(
                out,
                "  nothing is listed: every view that varies is kin of the reference"
            )?;
            return Ok(());
        }
        if self.has_ties {
            writeln!(
                out,
                "  note        equal |r| (within {TIE:e}) stand in the order of metrics and call paths"
            )?;
        }
        Ok(table::print(out, &listed, 56)?)
    }

    /// Returns the first `top` views with labels for output.
    pub(super) fn listed(
        &self,
        top: usize,
        description: impl Into<Cow<'static, str>>,
    ) -> Result<Table, Failure> {
        let (positions, shown): (Vec<usize>, Vec<Match>) = self.shown(top).into_iter().unzip();
        let matches = || shown.iter();
        let labels: Vec<_> = matches().map(|it| self.label(self.row(it))).collect();
        let number = |name, of: fn(&Match) -> f64| Column::floats(name, "", matches().map(of));
        let pearson = matches().map(|found| found.pearson);
        let bounds = self.chance_bounds(&shown)?;
        let table = Table::new("views", description)
            .text("call path", labels.iter().map(|it| it.1.as_str()))
            .text("metric", labels.iter().map(|it| it.0.as_str()))
            .with(number("r", Match::r))
            .text("shift", matches().map(|found| self.shift(found)))
            .with(number("unshifted", |found| found.correlation.zero))
            .floats("Pearson", "", pearson)
            .text("p bound", bounds.into_iter().map(bound_text));
        if self.chances.is_none() {
            return Ok(table);
        }
        let chances = positions.iter().map(|at| self.chance_texts(*at));
        let chances: Vec<_> = chances.collect();
        let chance = |which: usize| {
            let of = move |texts: &Option<[String; 2]>| texts.as_ref().map(|of| of[which].clone());
            chances.iter().map(of)
        };
        Ok(table.text("p", chance(0)).text("p of all", chance(1)))
    }

    /// Returns a row for each view, in the order of the list.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the spectra cannot be read.
    pub(in crate::correlate) fn table(&self) -> Result<Table, Failure> {
        let plan = self.spectra.plan();
        let all = || self.matches.iter();
        let shift = |peak| {
            let shift: Vec<String> = plan.steps(peak).iter().map(isize::to_string).collect();
            shift.join(" ")
        };
        let names: Vec<(String, String)> = all().map(|found| self.name(self.row(found))).collect();
        let number = |name, of: fn(&Match) -> f64| Column::floats(name, "", all().map(of));
        let table = Table::new("views", "Views by their correlation with the reference.")
            .text("metric", names.iter().map(|(metric, _)| metric.as_str()))
            .text("scope", all().map(|found| self.scope(self.row(found).0)))
            .text("call path", names.iter().map(|(_, path)| path.as_str()))
            .with(number("r", Match::r))
            .text("shift", all().map(|found| shift(found.peak)))
            .with(number("max", |found| found.correlation.max.r))
            .text("max shift", all().map(|found| shift(found.correlation.max)))
            .with(number("min", |found| found.correlation.min.r))
            .text("min shift", all().map(|found| shift(found.correlation.min)))
            .with(number("unshifted", |found| found.correlation.zero))
            .floats("Pearson", "", all().map(|found| found.pearson))
            .flags("kin", all().map(|found| self.is_kin(found)))
            .floats("p bound", "", self.chance_bounds(&self.matches)?);
        if self.chances.is_none() {
            return Ok(table);
        }
        let chances = || (0..self.matches.len()).map(|at| self.chance(at));
        let of_all = chances().map(|chance| chance.map(|(_, all)| all));
        Ok(table
            .floats("p", "", chances().map(|chance| chance.map(|(p, _)| p)))
            .floats("p of all", "", of_all))
    }
}

/// Formats a bound of a probability with one digit, as pages do.
fn bound_text(p: f64) -> String {
    if p >= 0.0095 {
        format!("{p:.2}")
    } else if p >= 1e-15 {
        format!("{p:.0e}")
    } else {
        "< 1e-15".into()
    }
}
