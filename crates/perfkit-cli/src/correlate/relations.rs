//! `correlate` without a reference: pairs of views that correlate beyond chance, as sentences,
//! table, JSON and section of a page.

use super::Options;
use super::pictures::{cell_names, explored};
use super::views::Views;
use crate::failure::{Failure, Outcome};
use crate::findings::Findings;
use crate::messages;
use crate::output;
use crate::pictures;
use crate::progress::Bar;
use crate::recording::Profiled;
use crate::scope::{scope_of, scoped_name};
use crate::table::{counted, different, grouped};
use perfkit::core::{CallPathId, Column, ProfileMetric, Table};
use perfkit::spectral::{AxisFilter, Kinship, Relation, RelationParams, Relations};
use perfkit::view::{Item, Section};
use serde::Serialize;
use std::io::Write;

/// Share of R that the named axes of a sentence hold at least.
const NAMED_SHARE: f64 = 0.9;

/// Largest number of characters of a call path in a sentence.
const MAX_NAME: usize = 60;

/// Views of a profile and the relations between them.
struct Found {
    /// Views with their spectra.
    views: Views,
    /// Pairs that correlate.
    relations: Relations,
    /// Expected share of false pairs.
    rate: f64,
}

/// View of a pair, for `--json`.
#[derive(Serialize)]
struct Named {
    /// Name of the metric.
    metric: String,
    /// Scope of the metric; `None` for one that is not additive.
    scope: Option<&'static str>,
    /// Label of the call path.
    path: String,
    /// Number of the call path.
    call_path: u32,
}

/// Pair of views, for `--json`.
#[derive(Serialize)]
struct Pair<'a> {
    /// Statement about the pair.
    sentence: String,
    /// One view.
    one: Named,
    /// The other view.
    other: Named,
    /// Correlation without shift, in `-1.0..=1.0`.
    r: f64,
    /// Upper bound of the probability of the correlation by chance.
    p: f64,
    /// Part of r along each axis.
    along: &'a [f64],
    /// Variation of the view that varies less, relative to the largest of its tree of metrics.
    share: f64,
    /// Number of further pairs among the views that this pair and later ones connect, and their kin.
    similar: usize,
}

/// Location that carries pairs, for `--json`.
#[derive(Serialize)]
struct Carried {
    /// Name of the location.
    location: String,
    /// Number of pairs.
    pairs: usize,
}

/// Result of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    /// Number of cells along each axis.
    dims: Vec<usize>,
    /// Weight of each axis.
    axes: &'a [f64],
    /// Number of views.
    views: usize,
    /// Number of distinct views that vary.
    distinct: usize,
    /// Number of views identical to another one.
    identical: usize,
    /// Number of constant views.
    constant: usize,
    /// Number of views with a value that is not finite.
    skipped: usize,
    /// Number of tested pairs.
    tested: u64,
    /// Number of pairs that are kin.
    kin: u64,
    /// Number of pairs that were found.
    found: usize,
    /// Expected share of false pairs among them.
    rate: f64,
    /// Numbers of pairs that are not found because few locations carry them.
    carried: Vec<Carried>,
    /// Notes about the grid.
    notes: Vec<String>,
    /// Repairs and losses of the reader.
    #[serde(flatten)]
    findings: Findings,
    /// Pairs, without repetitions.
    pairs: Vec<Pair<'a>>,
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
    let title = format!("{}: relations", crate::pictures::name(&options.file));
    let none = || {
        Err(Failure::Usage(
            "--path selects the reference of a picture".into(),
        ))
    };
    let sections = || {
        let mut sections = vec![found.section(options.top, &title)];
        // The page begins with a view of the strongest pair; the reader selects others.
        let strongest = found.distinct().first().map(|(pair, _)| pair.one);
        let row =
            strongest.and_then(|view| Some((found.metric(view)?, found.views.rows.get(view)?)));
        if let Some((metric, (_, path))) = row {
            let metric = metric.metric.name.as_str();
            sections.push(explored(&opened.profile, options, (metric, *path))?);
        }
        Ok(sections)
    };
    options.files.write(&title, none, sections)?;
    if options.general.json {
        let findings = Findings::new(&opened.diagnostics, opened.counts);
        return output::json(out, &found.json(options.top, findings));
    }
    writeln!(out, "{}", options.file.display())?;
    found.text(options.top, out)
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
            views,
            rate,
        })
    }

    fn metric(&self, view: usize) -> Option<&ProfileMetric> {
        let (metric, _) = self.views.rows.get(view)?;
        self.views.profile.metrics().get(metric.index())
    }

    /// Returns the label of the call path of a view.
    fn label(&self, view: usize) -> String {
        let row = self.views.rows.get(view);
        let label = row.and_then(|(_, path)| self.views.labels.get(path));
        label.cloned().unwrap_or_default()
    }

    fn metric_name(&self, view: usize) -> String {
        self.metric(view).map_or_else(String::new, scoped_name)
    }

    /// Returns the innermost regions of the call path of a view that identify it, or its label.
    fn short(&self, view: usize) -> String {
        let profile = &self.views.profile;
        let calls = profile.calls();
        let name = |id: CallPathId| {
            let region = calls.get(id).map(|path| path.region)?;
            Some(profile.regions().get(region.index())?.name.as_str())
        };
        let own = self.views.rows.get(view).map(|(_, path)| *path);
        // Callers of other call paths with the same names so far.
        let ids = (0..calls.paths().len()).filter_map(CallPathId::from_index);
        let mut same: Vec<CallPathId> = ids.filter(|id| Some(*id) != own).collect();
        let (mut at, mut names) = (own, Vec::new());
        while let Some(id) = at {
            names.push(name(id).unwrap_or_default());
            same.retain(|other| name(*other) == name(id));
            if same.is_empty() {
                names.reverse();
                return names.join(" > ");
            }
            at = calls.get(id).and_then(|path| path.parent);
            if at.is_some() {
                let callers = same.iter().filter_map(|id| calls.get(*id)?.parent);
                same = callers.collect();
            }
        }
        // The end of a label has the number of the call path.
        self.label(view)
    }

    /// Returns the names of the call paths of two views for a sentence, shortened but different.
    fn both(&self, one: usize, other: usize) -> (String, String) {
        let names = [self.short(one), self.short(other)];
        let mut names = different(names.iter().map(String::as_str), MAX_NAME).into_iter();
        let mut next = || names.next().unwrap_or_default();
        (next(), next())
    }

    /// Returns the name of an axis: its number, with the name that the grid gives it.
    fn axis_name(&self, axis: usize) -> String {
        let axes = self.views.topology.shape().axes();
        match axes.get(axis).map(|axis| axis.name.as_str()) {
            None | Some("") => axis.to_string(),
            Some(name) => format!("{axis} ({name})"),
        }
    }

    /// Returns the axes that hold most of R as text; empty if all axes do.
    fn along(&self, relation: &Relation) -> String {
        let axes = self.views.topology.shape().axes();
        let mut parts: Vec<(usize, f64)> = relation.along.iter().copied().enumerate().collect();
        parts.sort_by(|(_, a), (_, b)| (b * relation.r).total_cmp(&(a * relation.r)));
        let (mut named, mut sum) = (Vec::new(), 0.0);
        for (axis, part) in parts {
            if sum / relation.r >= NAMED_SHARE {
                break;
            }
            sum += part;
            named.push(axis);
        }
        let varying = axes.iter().filter(|axis| axis.len > 1).count();
        if named.len() >= varying {
            return String::new();
        }
        named.sort_unstable();
        let names: Vec<String> = named.into_iter().map(|axis| self.axis_name(axis)).collect();
        let noun = if names.len() == 1 { "axis" } else { "axes" };
        format!("{noun} {}", names.join(" and "))
    }

    /// Returns the statement about a pair with its statistics.
    fn sentence(&self, relation: &Relation) -> String {
        let (statement, statistics) = self.statement(relation);
        format!("{statement} ({statistics})")
    }

    /// Returns the statement about a pair, and its statistics.
    fn statement(&self, relation: &Relation) -> (String, String) {
        let (one, other) = (relation.one, relation.other);
        let metrics = (self.metric_name(one), self.metric_name(other));
        let is_time = |view: usize| {
            self.metric(view).is_some_and(|metric| {
                let unit = metric.metric.unit.as_str();
                matches!(unit, "ns" | "us" | "usec" | "ms" | "s" | "sec" | "seconds")
            })
        };
        let (high, low) = if is_time(one) && is_time(other) {
            ("long", "short")
        } else {
            ("high", "low")
        };
        let opposite = if relation.r < 0.0 { low } else { high };
        let statistics = format!("r = {:+.2}, p < {}", relation.r, power_of_ten(relation.p));
        let along = match self.along(relation) {
            along if along.is_empty() => along,
            along => format!(", along {along}"),
        };
        let (one, other) = self.both(one, other);
        if metrics.0 == metrics.1 {
            return (
                format!("`{one}` is {high} where `{other}` is {opposite}{along}"),
                format!("{statistics}; {}", metrics.0),
            );
        }
        let (metric, with) = metrics;
        let statement =
            format!("{metric} of `{one}` is {high} where {with} of `{other}` is {opposite}{along}");
        (statement, statistics)
    }

    /// Returns the pairs without repetitions, each with the number of its repetitions.
    fn distinct(&self) -> Vec<(&Relation, usize)> {
        let mut similar = vec![0; self.relations.found.len()];
        for first in self.relations.found.iter().filter_map(|it| it.repeats) {
            similar[first] += 1;
        }
        let all = self.relations.found.iter().zip(similar);
        all.filter(|(it, _)| it.repeats.is_none()).collect()
    }

    /// Describes the views and the tested pairs.
    fn tested(&self) -> [String; 2] {
        let Relations {
            distinct,
            identical,
            constant,
            skipped,
            tested,
            kin,
            ..
        } = self.relations;
        let skipped = match skipped {
            0 => String::new(),
            skipped => format!(", {} not finite", grouped(skipped as u64)),
        };
        let views = format!(
            "{}: {} differ, {} identical to another one, {} constant{skipped}",
            counted(self.views.rows.len(), "view"),
            grouped(distinct as u64),
            grouped(identical as u64),
            grouped(constant as u64)
        );
        let kin = match kin {
            0 => String::new(),
            kin => format!(", {} of kin are not (--kin tests them)", grouped(kin)),
        };
        let pairs = format!("{} pairs are tested without shift{kin}", grouped(tested));
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
        if found == 0 {
            return match self.relations.closest {
                Some((one, other, r, p)) => {
                    let names = self.both(one, other);
                    format!(
                        "no pair correlates beyond chance: the closest are {} of `{}` and {} of `{}` with r = {r:+.2} \
                         and p = {p:.1e}, where {:.1e} is needed among {} pairs",
                        self.metric_name(one),
                        names.0,
                        self.metric_name(other),
                        names.1,
                        self.relations.needed,
                        grouped(self.relations.tested)
                    )
                }
                None if self.relations.tested == 0 => "no pair could be tested".into(),
                None => format!(
                    "no pair correlates beyond chance: every |r| is below {}",
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
        for (relation, similar) in distinct.iter().take(top) {
            let similar = not_listed(*similar);
            writeln!(out, "  {}{similar}", self.sentence(relation))?;
        }
        Ok(())
    }

    fn named(&self, view: usize) -> Named {
        Named {
            metric: self
                .metric(view)
                .map_or_else(String::new, |it| it.metric.name.clone()),
            scope: self.metric(view).and_then(scope_of),
            path: self.label(view),
            call_path: self.views.rows.get(view).map_or(0, |(_, path)| path.0),
        }
    }

    fn json(&self, top: usize, findings: Findings) -> impl Serialize {
        let pairs = self.distinct().into_iter().take(top);
        let pairs = pairs.map(|(it, similar)| Pair {
            sentence: self.sentence(it),
            one: self.named(it.one),
            other: self.named(it.other),
            r: it.r,
            p: it.p,
            along: &it.along,
            share: it.share,
            similar,
        });
        let relations = &self.relations;
        Document {
            dims: self.views.topology.shape().lens(),
            axes: &self.views.axes,
            views: self.views.rows.len(),
            distinct: relations.distinct,
            identical: relations.identical,
            constant: relations.constant,
            skipped: relations.skipped,
            tested: relations.tested,
            kin: relations.kin,
            found: relations.found.len(),
            rate: self.rate,
            carried: self.carried(),
            notes: self.views.notes.clone(),
            findings,
            pairs: pairs.collect(),
        }
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
        let items = listed.map(|(relation, similar)| {
            let (statement, statistics) = self.statement(relation);
            Item::new(statement, format!("{statistics}{}", not_listed(*similar)))
        });
        let items: Vec<Item> = items.collect();
        Section::items("relations", heading, &words, &items)
    }

    /// Returns a row for each pair that was found, repetitions included.
    fn table(&self) -> Table {
        let found = || self.relations.found.iter();
        let text =
            |name: &'static str, of: fn(&Self, usize) -> String, view: fn(&Relation) -> usize| {
                Column::text(name, found().map(|it| of(self, view(it))))
            };
        let number = |name: &'static str, of: fn(&Relation) -> f64| {
            Column::floats(name, "", found().map(of))
        };
        let repeats = found().map(|it| it.repeats.map(|at| at + 1));
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
            .with(number("p", |it| it.p))
            .text("along", along);
        parts
            .fold(table, Table::with)
            .with(number("share", |it| it.share))
            .unsigned("like pair", "", repeats)
    }
}

/// Returns the end of a line with the number of similar pairs; empty if there are none.
fn not_listed(similar: usize) -> String {
    match similar {
        0 => String::new(),
        similar => format!("; {} not listed", counted(similar, "similar pair")),
    }
}

/// Returns the smallest power of ten above a probability, from 1e-300 to 1.
fn power_of_ten(p: f64) -> String {
    let exponent = p.max(1e-300).log10().floor() as i32 + 1;
    match exponent {
        0.. => "1".into(),
        -3..=-1 => format!(
            "{:.1$}",
            10f64.powi(exponent),
            exponent.unsigned_abs() as usize
        ),
        _ => format!("1e{exponent}"),
    }
}
