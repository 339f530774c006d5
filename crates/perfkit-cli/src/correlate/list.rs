//! The ordered list, and how it is written.

use super::grid::Grid;
use super::{Options, Related, call_path, metric};
use crate::failure::{Failure, Outcome, input};
use crate::findings::Findings;
use crate::progress::Bar;
use crate::table::{self, shortened};
use perfkit::core::{CallPathId, Column, Combine, Job, MetricId, Profile, Table};
use perfkit::spectral::{
    AxisFilter, AxisPower, CheckedRank, Confidence, Correlation, Match, Missing, NullParams,
    RankParams, Score, Spectra, TOLERANCE, stored_rows,
};
use perfkit::topology::Topology;
use perfkit::view::Section;
use serde::Serialize;
use std::io::Write;

/// The ordered list, and what it was made of.
#[derive(Debug)]
pub(super) struct List<'a> {
    pub(super) profile: &'a Profile,
    pub(super) topology: Topology,
    pub(super) axes: Vec<f64>,
    power: AxisPower,
    pub(super) reference: (MetricId, CallPathId),
    /// The number of the reference among the rows.
    pub(super) own: usize,
    pub(super) rows: Vec<(MetricId, CallPathId)>,
    pub(super) spectra: Spectra<f64>,
    pub(super) matches: Vec<Match>,
    /// Whether some of them are equally close.
    has_ties: bool,
    /// Of the matches, if it was options for.
    chances: Option<Chances>,
    /// Notes about the grid.
    grid_notes: Vec<String>,
    params: CheckedRank,
}

/// What the correlations are worth.
#[derive(Debug)]
struct Chances {
    surrogates: usize,
    confidence: Confidence,
}

/// Metric and call path of a view, for `--json`.
#[derive(Serialize)]
struct ViewName {
    metric: String,
    scope: String,
    path: String,
}

/// Correlation of a view, for `--json`.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    view: ViewName,
    r: f64,
    shift: Vec<usize>,
    max: f64,
    max_shift: Vec<usize>,
    min: f64,
    min_shift: Vec<usize>,
    zero: f64,
    pearson: Option<f64>,
    missing: usize,
    p: Option<f64>,
    p_of_all: Option<f64>,
}

#[derive(Serialize)]
struct Axis {
    name: String,
    len: usize,
    periodic: bool,
}

/// Result of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    reference: ViewName,
    axes: &'a [f64],
    dims: Vec<usize>,
    axis_names: Vec<Axis>,
    axis_power: &'a [f64],
    suggested_axes: Vec<f64>,
    cells_missing: usize,
    cells_shared: usize,
    locations: usize,
    locations_placed: usize,
    locations_unplaced: usize,
    locations_outside: usize,
    locations_repeated: usize,
    locations_unknown: usize,
    tolerance: f64,
    score: &'static str,
    notes: Vec<String>,
    surrogates: Option<usize>,
    null_band: Option<f64>,
    #[serde(flatten)]
    findings: Findings,
    views: Vec<Listed>,
}

/// Weights of axes with commas between them, as `--axes` takes them.
pub(super) fn weights(f: &[f64]) -> String {
    f.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
}

/// Correlations that differ by less are equal: transforms round in another order on other machines.
const TIE: f64 = 1e-9;

impl<'a> List<'a> {
    pub(super) fn of(profile: &'a Profile, options: &Options) -> Result<Self, Failure> {
        let metric = metric(profile, options.metric.as_deref())?;
        let reference = (metric, call_path(profile, &options.path)?);
        let Grid {
            topology,
            source,
            notes,
        } = Grid::of(profile, options)?;
        let lens = topology.shape().lens();
        let axes = match &options.axes {
            Some(axes) => axes.weights(topology.shape())?,
            None => vec![1.0; lens.len()],
        };
        let usage = |error: perfkit::spectral::Error| Failure::Usage(error.to_string());
        let filter = AxisFilter::new(&axes);
        let filter = filter.map_err(|error| Failure::Usage(format!("--axes: {error}")))?;
        let score = match options.paper {
            true => Score::Paper,
            false => Score::Magnitude,
        };
        let tolerance = options.tolerance.unwrap_or(TOLERANCE);
        let params = RankParams::default().score(score).tolerance(tolerance);
        let params = params.check().map_err(|_| {
            Failure::Usage(format!(
                "--tolerance {tolerance}: not a number from 0 to below 1"
            ))
        })?;
        let metrics: Vec<MetricId> = match options.same_metric {
            true => vec![metric],
            false => (0..profile.metrics().len())
                .filter_map(MetricId::from_index)
                .collect(),
        };
        let mut rows = stored_rows(profile, &metrics);
        let own = rows.iter().position(|row| *row == reference);
        let own = own.unwrap_or_else(|| {
            rows.push(reference);
            rows.len() - 1
        });
        check_memory(&topology, rows.len(), options, &source)?;
        let job = Bar::job();
        let mut builder = Spectra::<f64>::builder(&lens).map_err(usage)?;
        builder
            .add_rows(profile, &topology, &rows, Missing::Fill, &job)
            .map_err(input)?;
        let spectra = builder.finish();
        let ranked = ranked(&spectra, own, &filter, &params, &job);
        let (matches, has_ties) = ranked.map_err(usage)?;
        let power = spectra.axis_power(own).map_err(usage)?;
        let mut chances = None;
        if let Some(surrogates) = options.surrogates {
            let params = NullParams::default().count(surrogates);
            let params = params.score(score).tolerance(tolerance).check();
            let params =
                params.map_err(|error| Failure::Usage(format!("--surrogates: {error}")))?;
            let views: Vec<usize> = matches.iter().map(|found| found.view).collect();
            let confidence = spectra.confidence(own, &views, &filter, &params, &job);
            chances = Some(Chances {
                surrogates,
                confidence: confidence.map_err(usage)?,
            });
        }
        Ok(List {
            profile,
            topology,
            axes,
            power,
            reference,
            own,
            rows,
            spectra,
            matches,
            has_ties,
            chances,
            grid_notes: notes,
            params,
        })
    }

    /// What one should know about the grid, the filter and the order of the first `top` views, in whole
    /// sentences.
    pub(super) fn notes(&self, top: usize) -> Vec<String> {
        let mut notes = self.grid_notes.clone();
        let skipped = self.spectra.skipped();
        if let Some(first) = skipped.first() {
            notes.push(format!(
                "{} of {} views are left out, since a number of theirs is not finite: the first is {first}",
                skipped.len(),
                self.rows.len()
            ));
        }
        let changed = self.matches.iter().take(top).filter(|found| {
            let strict = found.correlation.strict();
            !self.is_paper() && (found.peak.at, found.peak.r) != (strict.at, strict.r)
        });
        let changed = changed.count();
        if changed > 0 && self.params.tolerance() > 0.0 {
            let (share, s) = (self.params.tolerance(), if changed == 1 { "" } else { "s" });
            notes.push(format!(
                "|r| within a share of {share} of the largest count as equal: of {changed} listed view{s} the smallest \
                 such shift is reported (--tolerance 0 reports the largest |r|)"
            ));
        }
        if self.is_paper() {
            notes.push(
                "in order of the largest r: opposites of the reference are at the end".into(),
            );
        }
        if self.power.share.iter().all(|share| *share == 0.0) {
            notes.push("the reference is the same everywhere, so that nothing follows it".into());
        }
        if self.axes.iter().all(|weight| *weight == 0.0) {
            notes.push("all axes weigh 0: everything is filtered away, and every r is 0".into());
        }
        notes
    }

    /// Whether it is ordered by the largest R, whatever the smallest is.
    fn is_paper(&self) -> bool {
        self.params.score() == Score::Paper
    }

    /// The best views under other weights of the axes, in the same order.
    pub(super) fn under(&self, f: &[f64], top: usize) -> perfkit::spectral::Result<Vec<Match>> {
        let mut matches = match f == self.axes {
            true => self.matches.clone(),
            false => {
                ranked(
                    &self.spectra,
                    self.own,
                    &AxisFilter::new(f)?,
                    &self.params,
                    &Job::default(),
                )?
                .0
            }
        };
        matches.truncate(top);
        Ok(matches)
    }

    /// The chances of the match at a place of the list: alone, and among all.
    fn chance(&self, at: usize) -> Option<(f64, f64)> {
        let confidence = &self.chances.as_ref()?.confidence;
        Some((*confidence.p.get(at)?, *confidence.p_of_all.get(at)?))
    }

    /// The same as text.
    fn chance_texts(&self, at: usize) -> Option<[String; 2]> {
        let surrogates = self.chances.as_ref()?.surrogates;
        let (p, of_all) = self.chance(at)?;
        Some([p, of_all].map(|p| chance_text(p, surrogates)))
    }

    /// The largest magnitude that surrogates reach, as a sentence; `None` without surrogates.
    fn band(&self) -> Option<String> {
        let Chances {
            surrogates,
            confidence,
        } = self.chances.as_ref()?;
        let r = if self.is_paper() { "r" } else { "|r|" };
        Some(format!(
            "{surrogates} surrogates: 95 % of them reach no more than {r} = {:.3} with any view",
            confidence.band
        ))
    }

    /// The chances of the first `top` views as part of a page; `None` without surrogates.
    pub(super) fn chances_section(&self, top: usize) -> Option<Section> {
        let words = format!(
            "{}. p: the share of surrogates that are as close to a view as the reference is, the reference \
             counted among them; p of all: as close to any view. Axes weigh {}.",
            self.band()?,
            weights(&self.axes)
        );
        let matches = self.matches.iter().take(top);
        let labels: Vec<_> = matches.clone().map(|it| self.label(self.row(it))).collect();
        let chances: Vec<_> = (0..labels.len()).map(|at| self.chance_texts(at)).collect();
        let chance = |which: usize| {
            let of = move |texts: &Option<[String; 2]>| texts.as_ref().map(|of| of[which].clone());
            chances.iter().map(of)
        };
        let table = Table::new("chances", words)
            .with(Column::text(
                "call path",
                labels.iter().map(|it| it.1.as_str()),
            ))
            .with(Column::text(
                "metric",
                labels.iter().map(|it| it.0.as_str()),
            ))
            .with(Column::text(
                "r",
                matches.map(|found| format!("{:+.3}", found.r())),
            ))
            .with(Column::text("p", chance(0)))
            .with(Column::text("p of all", chance(1)));
        Some(Section::table("chances", "Correlations by chance", &table))
    }

    pub(super) fn name(&self, (metric, path): (MetricId, CallPathId)) -> (String, String) {
        let metric = self.profile.metrics().get(metric.index());
        let metric = metric.map_or_else(String::new, |metric| metric.metric.name.clone());
        (
            metric,
            self.profile.calls().name(path, self.profile.regions()),
        )
    }

    /// Returns metric and call path for people: a metric whose name does not state its scope has it added.
    pub(super) fn label(&self, row: (MetricId, CallPathId)) -> (String, String) {
        let (name, path) = self.name(row);
        let scope = self.scope(row.0);
        let is_stated = scope.is_empty() || name.starts_with(&scope);
        match is_stated {
            true => (name, path),
            false => (format!("{name} ({scope})"), path),
        }
    }

    /// Returns `inclusive` or `exclusive`; empty for a metric that does not add up, which has no scope.
    fn scope(&self, metric: MetricId) -> String {
        let metric = self.profile.metrics().get(metric.index());
        let metric = metric.filter(|metric| metric.combine == Combine::Sum);
        metric.map_or_else(String::new, |metric| {
            format!("{:?}", metric.scope).to_lowercase()
        })
    }

    pub(super) fn row(&self, found: &Match) -> (MetricId, CallPathId) {
        self.rows.get(found.view).copied().unwrap_or(self.reference)
    }

    /// The shift that is reported, with commas between the axes.
    pub(super) fn shift(&self, found: &Match) -> String {
        let shift = self.spectra.plan().shift(found.peak);
        let shift: Vec<String> = shift.iter().map(usize::to_string).collect();
        shift.join(",")
    }

    /// Returns the first `top` views for `--json`.
    pub(super) fn json(&self, top: usize, findings: Findings) -> impl Serialize {
        let plan = self.spectra.plan();
        let views = self.matches.iter().take(top).enumerate();
        let views = views.map(|(at, found)| {
            let Correlation { max, min, zero, .. } = found.correlation;
            Listed {
                view: self.view(self.row(found)),
                r: found.r(),
                shift: plan.shift(found.peak),
                max: max.r,
                max_shift: plan.shift(max),
                min: min.r,
                min_shift: plan.shift(min),
                zero,
                pearson: found.pearson,
                missing: found.missing,
                p: self.chance(at).map(|(p, _)| p),
                p_of_all: self.chance(at).map(|(_, p)| p),
            }
        });
        let axes = self.topology.shape().axes().iter().map(|axis| Axis {
            name: axis.name.to_string(),
            len: axis.len,
            periodic: axis.periodic,
        });
        let check = self.topology.check();
        let chances = self.chances.as_ref();
        Document {
            reference: self.view(self.reference),
            axes: &self.axes,
            dims: self.topology.shape().lens(),
            axis_names: axes.collect(),
            axis_power: &self.power.share,
            suggested_axes: self.power.rest().f().to_vec(),
            cells_missing: check.missing,
            cells_shared: check.shared,
            locations: check.locations,
            locations_placed: check.placed,
            locations_unplaced: check.unplaced,
            locations_outside: check.outside,
            locations_repeated: check.repeated,
            locations_unknown: check.strangers,
            tolerance: self.params.tolerance(),
            score: if self.is_paper() { "max" } else { "magnitude" },
            notes: self.notes(top),
            surrogates: chances.map(|chances| chances.surrogates),
            null_band: chances.map(|chances| chances.confidence.band),
            findings,
            views: views.collect(),
        }
    }

    fn view(&self, row: (MetricId, CallPathId)) -> ViewName {
        let (metric, path) = self.name(row);
        ViewName {
            metric,
            scope: self.scope(row.0),
            path,
        }
    }

    /// The list as text.
    pub(super) fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
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
        let what = match () {
            () if self.axes.iter().all(|weight| *weight == 1.0) => "nothing is filtered away; ",
            () if self.axes.iter().all(|weight| *weight == 0.0) => "everything is filtered away; ",
            () => "",
        };
        // Behind the only axis that varies lies nothing.
        let left_out = self.power.share.iter().zip(behind.f());
        let mut left_out = left_out.filter(|(share, weight)| **share > 0.0 && **weight == 0.0);
        let rest = match left_out.next().is_some() {
            true => format!("{what}what lies behind: --axes {rest}"),
            false => what.trim_end_matches("; ").to_string(),
        };
        let rest = match rest.is_empty() {
            true => rest,
            false => format!(" ({rest})"),
        };
        writeln!(out, "  filter      {}{rest}", weights(&self.axes))?;
        if let Some(band) = self.band() {
            writeln!(out, "  by chance   {band}")?;
        }
        for note in self.notes(top) {
            writeln!(out, "  note        {note}")?;
        }
        if self.has_ties {
            writeln!(
                out,
                "  note        equal |r| (within {TIE:e}) stand in the order of metrics and call paths"
            )?;
        }
        let rows = self
            .matches
            .iter()
            .take(top)
            .enumerate()
            .map(|(at, found)| {
                let (metric, path) = self.label(self.row(found));
                let pearson = found
                    .pearson
                    .map_or_else(String::new, |r| format!("{r:+.3}"));
                let mut row = vec![
                    format!("  {}", shortened(&path, 56)),
                    metric,
                    format!("{:+.3}", found.r()),
                    self.shift(found),
                    format!("{:+.3}", found.correlation.zero),
                    pearson,
                ];
                row.extend(self.chance_texts(at).into_iter().flatten());
                row
            });
        let head = [
            "  call path",
            "metric",
            "r",
            "shift",
            "unshifted",
            "Pearson",
            "p",
            "p of all",
        ];
        let head = match self.chances {
            Some(_) => &head[..],
            None => &head[..6],
        };
        table::write(out, head, &rows.collect::<Vec<_>>())?;
        Ok(())
    }

    /// Returns a row for each view, in the order of the list.
    pub(super) fn table(&self) -> Table {
        let plan = self.spectra.plan();
        let all = || self.matches.iter();
        let shift = |peak| {
            let shift: Vec<String> = plan.shift(peak).iter().map(usize::to_string).collect();
            shift.join(" ")
        };
        let names: Vec<(String, String)> = all().map(|found| self.name(self.row(found))).collect();
        let number = |name, of: fn(&Match) -> f64| Column::floats(name, "", all().map(of));
        let table = Table::new("views", "Views by their correlation with the reference.")
            .with(Column::text(
                "metric",
                names.iter().map(|(metric, _)| metric.as_str()),
            ))
            .with(Column::text(
                "call path",
                names.iter().map(|(_, path)| path.as_str()),
            ))
            .with(number("r", Match::r))
            .with(Column::text("shift", all().map(|found| shift(found.peak))))
            .with(number("max", |found| found.correlation.max.r))
            .with(Column::text(
                "max shift",
                all().map(|found| shift(found.correlation.max)),
            ))
            .with(number("min", |found| found.correlation.min.r))
            .with(Column::text(
                "min shift",
                all().map(|found| shift(found.correlation.min)),
            ))
            .with(number("unshifted", |found| found.correlation.zero))
            .with(Column::floats(
                "Pearson",
                "",
                all().map(|found| found.pearson),
            ));
        if self.chances.is_none() {
            return table;
        }
        let chances = || (0..self.matches.len()).map(|at| self.chance(at));
        table
            .with(Column::floats(
                "p",
                "",
                chances().map(|chance| chance.map(|(p, _)| p)),
            ))
            .with(Column::floats(
                "p of all",
                "",
                chances().map(|chance| chance.map(|(_, all)| all)),
            ))
    }

    /// Returns the views in their order, with the probability of chance among all of them.
    pub(super) fn related(&self) -> Vec<Related> {
        let views = self.matches.iter().enumerate();
        let view = |(at, found): (usize, &Match)| {
            let row = self.row(found);
            Related {
                id: row.1,
                path: self.name(row).1,
                r: found.r(),
                shift: self.shift(found),
                chance: self.chance(at).map(|(_, of_all)| of_all),
            }
        };
        views.map(view).collect()
    }

    /// What the metrics are about that [`results`](super::results) adds to the profile.
    pub(super) fn about(&self) -> String {
        let (metric, path) = self.name(self.reference);
        format!("{metric} of {path}, axes {:?}", self.axes)
    }

    /// Metric, call path, largest and smallest R of all that was compared.
    pub(super) fn extremes(&self) -> impl Iterator<Item = (MetricId, CallPathId, [f64; 2])> + '_ {
        self.matches.iter().map(|found| {
            let (metric, path) = self.row(found);
            let correlation = found.correlation;
            (metric, path, [correlation.max.r, correlation.min.r])
        })
    }
}

/// A p-value. The smallest that so many surrogates can show is an upper bound.
fn chance_text(p: f64, surrogates: usize) -> String {
    let all = surrogates as f64 + 1.0;
    // Enough digits for one in all of them.
    let digits = (all.log10().ceil() as usize).max(3);
    match p * all < 1.5 {
        true => format!("<= {p:.digits$}"),
        false => format!("{p:.digits$}"),
    }
}

/// Refuses spectra and scores of surrogates that would take more than the memory budget, before any memory
/// is taken for them.
fn check_memory(
    topology: &Topology,
    views: usize,
    options: &Options,
    source: &str,
) -> Result<(), Failure> {
    /// Bytes of a GiB.
    const GIB: f64 = (1u64 << 30) as f64;
    // Beside the spectra: views and spectra of a batch, and working space for each thread.
    const BESIDE: usize = 64;
    let cells = topology.shape().cells();
    let spectra = views.saturating_add(BESIDE).saturating_mul(cells);
    let scores = views.saturating_mul(options.surrogates.unwrap_or_default());
    let numbers = spectra.saturating_add(scores);
    let gib = numbers.saturating_mul(size_of::<f64>()) as f64 / GIB;
    let budget = options.memory;
    if gib <= budget {
        return Ok(());
    }
    let surrogates = match options.surrogates {
        Some(count) => format!(" and their scores with --surrogates {count}"),
        None => String::new(),
    };
    Err(Failure::Input(format!(
        "{source}: {views} views of {cells} cells{surrogates} take {gib:.2} GiB, more than the memory budget of \
         {budget} GiB; --same-metric compares fewer views, --memory raises the budget"
    )))
}

/// Ranks all views by their correlation with one of them. The flag is `true` if some are equally close.
fn ranked(
    spectra: &Spectra<f64>,
    own: usize,
    filter: &AxisFilter,
    params: &CheckedRank,
    job: &Job,
) -> perfkit::spectral::Result<(Vec<Match>, bool)> {
    let others: Vec<usize> = (0..spectra.views().len())
        .filter(|view| *view != own)
        .collect();
    let ranking = spectra.rank_among(own, &others, filter, params, job)?;
    let mut matches = ranking.matches;
    let has_ties = order(&mut matches);
    Ok((matches, has_ties))
}

/// Puts views that are equally close in the order of metrics and call paths, and says whether there
/// are any.
fn order(matches: &mut [Match]) -> bool {
    let mut has_ties = false;
    let mut rest = matches;
    while let Some(first) = rest.first() {
        let least = first.r().abs() - TIE;
        let count = rest.partition_point(|found| found.r().abs() >= least);
        let (equal, others) = rest.split_at_mut(count.max(1));
        has_ties |= equal.len() > 1;
        equal.sort_by_key(|found| found.view);
        rest = others;
    }
    has_ties
}
