//! `correlate` without a reference: pairs of views that correlate beyond chance, as sentences,
//! table, JSON and section of a page.

mod json;
mod sentences;

use super::Options;
use super::list::List;
use super::pictures::cell_names;
use super::views::Views;
use crate::failure::{Failure, Outcome};
use crate::findings::Findings;
use crate::messages;
use crate::output;
use crate::pictures;
use crate::progress::Bar;
use crate::recording::Profiled;
use crate::table::{counted, grouped};
use json::Carried;
use perfkit::core::{Column, Table};
use perfkit::spectral::{AxisFilter, Kinship, Relation, RelationParams, Relations, Tie};
use perfkit::view::{Item, Section};
use std::collections::BTreeMap;
use std::io::Write;

/// Views of a profile and the relations between them.
struct Found {
    /// Views with their spectra.
    views: Views,
    /// Kinship of the views.
    kin: Kinship,
    /// Pairs that correlate.
    relations: Relations,
    /// Expected share of false pairs.
    rate: f64,
}

/// Finding with the pairs that repeat it.
struct Distinct<'a> {
    /// The pair that is listed.
    relation: &'a Relation,
    /// Pairs that repeat it.
    similar: Vec<&'a Relation>,
}

/// Finds the relations between all views and prints them.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub(super) fn run(options: &Options, opened: &Profiled, out: &mut dyn Write) -> Outcome {
    if options.files.png.is_some() || options.files.svg.is_some() {
        let what =
            "--path selects the reference of a picture; --html, --csv and --json take all pairs";
        return Err(Failure::Usage(what.into()));
    }
    let found = Found::of(opened, options)?;
    // The text has them too.
    for note in found.views.notes.iter().filter(|_| options.general.json) {
        messages::say(&format!("note: {note}"));
    }
    output::csv(options.csv.as_ref(), || Ok(found.table()))?;
    let mut printed = Vec::new();
    if options.general.json {
        let findings = Findings::new(&opened.diagnostics, opened.counts);
        output::json(&mut printed, &found.json(options.top, findings))?;
    } else {
        writeln!(printed, "{}", options.file.display())?;
        found.text(options.top, &mut printed)?;
    }
    let title = format!("{}: relations", crate::pictures::name(&options.file));
    let none = || {
        Err(Failure::Usage(
            "--path selects the reference of a picture".into(),
        ))
    };
    let sections = || found.sections(options, &title);
    options.files.write(&title, none, sections)?;
    Ok(out.write_all(&printed)?)
}

impl Found {
    fn of(opened: &Profiled, options: &Options) -> Result<Self, Failure> {
        let usage = |error: perfkit::spectral::Error| Failure::Usage(error.to_string());
        let rate = options.rate.unwrap_or(0.05);
        let params = RelationParams::default().rate(rate).check();
        let params =
            params.map_err(|_| Failure::Usage(format!("--rate {rate}: not between 0 and 1")))?;
        let mut views = Views::of(&opened.profile, options, None)?;
        let filter = AxisFilter::new(&views.axes);
        let filter = filter.map_err(|error| Failure::Usage(format!("--axes: {error}")))?;
        let kin = if options.kin {
            Kinship::unrelated(views.rows.len())
        } else {
            Kinship::of(&views.profile, &views.rows)
        };
        let relations = views.spectra.relations(&filter, &kin, &params, &Bar::job());
        if let Some(first) = views.spectra.skipped().first() {
            views.notes.push(format!(
                "{} of {} views are skipped because a value is not finite: the first is {first}",
                views.spectra.skipped().len(),
                views.rows.len()
            ));
        }
        Ok(Found {
            relations: relations.map_err(usage)?,
            kin,
            views,
            rate,
        })
    }

    /// Returns the findings without repetitions, each with its repetitions.
    fn distinct(&self) -> Vec<Distinct<'_>> {
        let mut similar: BTreeMap<usize, Vec<&Relation>> = BTreeMap::new();
        for it in &self.relations.found {
            similar
                .entry(it.repeats.unwrap_or(usize::MAX))
                .or_default()
                .push(it);
        }
        let all = self.relations.found.iter().enumerate();
        all.filter(|(_, it)| it.repeats.is_none())
            .map(|(at, relation)| Distinct {
                relation,
                similar: similar.remove(&at).unwrap_or_default(),
            })
            .collect()
    }

    /// Describes the views and the tested pairs.
    fn tested(&self) -> [String; 2] {
        let Relations {
            distinct,
            identical,
            constant,
            skipped,
            tested,
            tested_tied,
            kin,
            ..
        } = self.relations;
        let skipped = match skipped {
            0 => String::new(),
            skipped => format!(", {} not finite", grouped(skipped as u64)),
        };
        let views = format!(
            "{}: {} differ, {} equal another one up to a factor and a constant, {} constant{skipped}",
            counted(self.views.rows.len(), "view"),
            grouped(distinct as u64),
            grouped(identical as u64),
            grouped(constant as u64)
        );
        let kin = match kin {
            0 => String::new(),
            kin => format!(", {} of kin are not (--kin tests them)", grouped(kin)),
        };
        let tied = match tested_tied {
            0 => String::new(),
            tied => format!(
                " between unrelated call paths, and {} of one call path, of caller and callee or of one function",
                grouped(tied)
            ),
        };
        let pairs = format!(
            "{} pairs are tested without shift{tied}{kin}",
            grouped(tested)
        );
        [views, pairs]
    }

    /// Returns the locations that deviate most in both views of pairs that few locations carry, those
    /// of most pairs first.
    fn carried(&self) -> Vec<Carried> {
        let names = cell_names(&self.views.profile, &self.views.topology);
        let cells = self.relations.carried.iter();
        let carried = cells.map(|(cell, pairs)| Carried {
            location: names.get(*cell).cloned().unwrap_or_default(),
            pairs: *pairs,
        });
        let mut carried: Vec<Carried> = carried.collect();
        carried.sort_by_key(|it| std::cmp::Reverse(it.pairs));
        carried
    }

    /// Describes the pairs that are not found because few locations carry them; `None` without such
    /// pairs.
    fn outliers(&self) -> Option<String> {
        let carried = self.carried();
        let first = carried.first()?;
        let all: usize = carried.iter().map(|it| it.pairs).sum();
        let most = if carried.len() == 1 {
            first.location.clone()
        } else {
            let pairs = grouped(first.pairs as u64);
            format!("most often {} ({pairs})", first.location)
        };
        let are = if all == 1 { "is" } else { "are" };
        Some(format!(
            "{} {are} not beyond chance in spite of r: both views deviate most at the same one to four locations, {most}",
            counted(all, "pair")
        ))
    }

    /// Describes the number of pairs that were found.
    fn summary(&self, listed: usize, distinct: usize) -> String {
        let found = self.relations.found.len();
        let percent = 100.0 * self.rate;
        // Pairs of related call paths are described by their own lines.
        let pair = match self.relations.tested_tied {
            0 => "pair",
            _ => "pair of unrelated call paths",
        };
        if found == 0 {
            return match self.relations.closest {
                Some((one, other, r, p)) => {
                    let names = self.both(one, other);
                    format!(
                        "no {pair} correlates beyond chance: the closest are {} of `{}` and {} of `{}` with r = {r:+.2} \
                         and p = {p:.1e}, where {:.1e} is needed among {} pairs",
                        self.metric_name(one),
                        names.0,
                        self.metric_name(other),
                        names.1,
                        self.relations.needed,
                        grouped(self.relations.tested + self.relations.tested_tied)
                    )
                }
                None if self.relations.tested == 0 => format!("no {pair} could be tested"),
                None => format!(
                    "no {pair} correlates beyond chance: every |r| is below {}",
                    self.relations.least
                ),
            };
        }
        let repeats = match found - distinct {
            0 => String::new(),
            more => format!(
                ", {} of them similar to stronger ones",
                grouped(more as u64)
            ),
        };
        let rest = match distinct - listed {
            0 => String::new(),
            _ => format!("; the first {listed} (--top)"),
        };
        format!(
            "{} beyond chance, at most {percent} % of them false in expectation{repeats}{rest}",
            counted(found, "pair")
        )
    }

    /// Returns the lengths and the name of the grid.
    fn grid(&self) -> String {
        let topology = &self.views.topology;
        let lens: Vec<String> = topology
            .shape()
            .lens()
            .iter()
            .map(usize::to_string)
            .collect();
        let grid = format!("{} {}", lens.join(" x "), topology.name());
        grid.trim_end().to_string()
    }

    fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
        writeln!(out, "  topology    {}", self.grid())?;
        let [views, pairs] = self.tested();
        writeln!(out, "  views       {views}")?;
        writeln!(out, "  pairs       {pairs}")?;
        if let Some(outliers) = self.outliers() {
            writeln!(out, "  outliers    {outliers}")?;
        }
        if self.views.axes.iter().any(|weight| *weight != 1.0) {
            writeln!(
                out,
                "  filter      {}",
                super::list::weights(&self.views.axes)
            )?;
        }
        for note in &self.views.notes {
            writeln!(out, "  note        {note}")?;
        }
        let distinct = self.distinct();
        let listed = distinct.len().min(top);
        writeln!(
            out,
            "  found       {}",
            self.summary(listed, distinct.len())
        )?;
        for it in distinct.iter().take(top) {
            writeln!(out, "  {}{}", self.sentence(it.relation), self.similar(it))?;
        }
        for (label, text) in self.ties() {
            writeln!(out, "  {label:11} {text}")?;
        }
        Ok(())
    }

    /// Returns the sections of a page: the pairs, and the grids of the views.
    fn sections(self, options: &Options, title: &str) -> Result<Vec<Section>, Failure> {
        let mut sections = vec![self.section(options.top, title)];
        // The page begins with a view of the strongest pair; the reader selects others.
        if let Some(first) = self.distinct().first().map(|it| it.relation.one) {
            let list = List::among(self.views, first, options)?;
            sections.push(list.section("Views on the grid")?);
        }
        Ok(sections)
    }

    /// Returns the pairs as a list for a page.
    fn section(&self, top: usize, heading: &str) -> Section {
        let distinct = self.distinct();
        let [views, pairs] = self.tested();
        let listed = distinct.len().min(top);
        let summary = self.summary(listed, distinct.len());
        let mut words = format!(
            "{}. Grid {}. {views}; {pairs}.",
            pictures::capitalised(&summary),
            self.grid()
        );
        if let Some(outliers) = self.outliers() {
            words.push_str(&format!(" {outliers}."));
        }
        for note in &self.views.notes {
            words.push_str(&format!(" Note: {note}."));
        }
        let listed = distinct.iter().take(top);
        let items = listed.map(|it| {
            let (statement, statistics) = self.statement(it.relation);
            Item::new(statement, format!("{statistics}{}", self.similar(it)))
        });
        let ties = self.ties().into_iter();
        let ties = ties.map(|(_, text)| match text.split_once([':', ';']) {
            Some((title, text)) => Item::new(title, pictures::capitalised(text.trim())),
            None => Item::new(text, ""),
        });
        let items: Vec<Item> = items.chain(ties).collect();
        Section::items("relations", heading, &words, &items)
    }

    /// Returns a row for each pair that was found, repetitions included.
    fn table(&self) -> Table {
        let (free, tied) = (&self.relations.found, &self.relations.tied);
        let found = || free.iter().chain(tied);
        let text =
            |name: &'static str, of: fn(&Self, usize) -> String, view: fn(&Relation) -> usize| {
                Column::text(name, found().map(|it| of(self, view(it))))
            };
        let number = |name: &'static str, of: fn(&Relation) -> f64| {
            Column::floats(name, "", found().map(of))
        };
        let offsets = [vec![1; free.len()], vec![1 + free.len(); tied.len()]].concat();
        let repeats = found().zip(offsets);
        let repeats = repeats.map(|(it, offset)| it.repeats.map(|at| at + offset));
        let ties = found().map(|it| match it.tie? {
            Tie::CallPath => Some("one call path"),
            Tie::Caller => Some("caller and callee"),
            Tie::Function => Some("one function"),
            _ => None,
        });
        let along = found().map(|it| Some(self.along(it)).filter(|text| !text.is_empty()));
        // Parts of r, whose sum is r.
        let parts = (0..self.views.axes.len()).map(|axis| {
            let name = format!("r along axis {}", self.axis_name(axis));
            Column::floats(name, "", found().map(|it| it.along.get(axis).copied()))
        });
        let table = Table::new("relations", "Pairs of views that correlate beyond chance.")
            .with(text("metric", Self::metric_name, |it| it.one))
            .with(text("call path", Self::label, |it| it.one))
            .with(text("other metric", Self::metric_name, |it| it.other))
            .with(text("other call path", Self::label, |it| it.other))
            .with(number("r", |it| it.r))
            .with(number("p bound", |it| it.p))
            .text("along", along);
        parts
            .fold(table, Table::with)
            .with(number("share", |it| it.share))
            .unsigned("like pair", "", repeats)
            .text("related", ties)
    }
}
