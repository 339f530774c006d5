//! The ordered list, and how it is written.

use super::grid::Grid;
use super::{Asked, call_path, metric};
use perfkit::core::{CallPathId, Combine, Job, MetricId, Profile};
use perfkit::spectral::{
    AxisFilter, AxisPower, CheckedRank, Confidence, Match, Missing, NullParams, RankParams, Score,
    Spectra, TOLERANCE, stored_rows,
};
use perfkit::topology::Topology;
use perfkit_examples::cli::{Failure, Outcome, input};
use perfkit_examples::progress::Bar;
use perfkit_examples::table::{self, shortened};
use serde_json::json;
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
    /// Of the matches, if it was asked for.
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

/// Weights of axes with commas between them, as `--axes` takes them.
pub(super) fn weights(f: &[f64]) -> String {
    f.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
}

/// Correlations that differ by less are equal: transforms round in another order on other machines.
const TIE: f64 = 1e-9;

impl<'a> List<'a> {
    pub(super) fn of(profile: &'a Profile, asked: &Asked) -> Result<Self, Failure> {
        let metric = metric(profile, asked.metric.as_deref())?;
        let reference = (metric, call_path(profile, &asked.path)?);
        let Grid {
            topology,
            source,
            notes,
        } = Grid::of(profile, asked)?;
        let lens = topology.shape().lens();
        let axes = asked.axes.clone().unwrap_or_else(|| vec![1.0; lens.len()]);
        if axes.len() != lens.len() {
            let (given, count) = (axes.len(), lens.len());
            let dims = lens.iter().map(usize::to_string).collect::<Vec<_>>();
            return Err(Failure::Usage(format!(
                "--axes: {given} weights, but the grid {} has {count} axes",
                dims.join(" x ")
            )));
        }
        let usage = |error: perfkit::spectral::Error| Failure::Usage(error.to_string());
        let filter = AxisFilter::new(&axes);
        let filter = filter.map_err(|error| Failure::Usage(format!("--axes: {error}")))?;
        let metrics: Vec<MetricId> = match asked.same_metric {
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
        check_memory(&topology, rows.len(), asked, &source)?;
        let job = Bar::job();
        let mut builder = Spectra::<f64>::builder(&lens).map_err(usage)?;
        builder
            .add_rows(profile, &topology, &rows, Missing::Fill, &job)
            .map_err(input)?;
        let spectra = builder.finish();
        let score = match asked.paper {
            true => Score::Paper,
            false => Score::Magnitude,
        };
        let tolerance = asked.tolerance.unwrap_or(TOLERANCE);
        let params = RankParams::default().score(score).tolerance(tolerance);
        let params = params.check().map_err(usage)?;
        let ranked = ranked(&spectra, own, &filter, &params, &job);
        let (matches, has_ties) = ranked.map_err(usage)?;
        let power = spectra.axis_power(own).map_err(usage)?;
        let mut chances = None;
        if let Some(surrogates) = asked.surrogates {
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

    /// What one should know about the grid, the filter and the order, in whole sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.grid_notes.clone();
        let skipped = self.spectra.skipped();
        if let Some(first) = skipped.first() {
            notes.push(format!(
                "{} of {} views are left out, since a number of theirs is not finite: the first is {first}",
                skipped.len(),
                self.rows.len()
            ));
        }
        let changed = self.matches.iter().filter(|found| {
            let strict = found.correlation.strict();
            !self.is_paper() && (found.peak.at, found.peak.r) != (strict.at, strict.r)
        });
        let changed = changed.count();
        if changed > 0 && self.params.tolerance() > 0.0 {
            let (share, s) = (self.params.tolerance(), if changed == 1 { "" } else { "s" });
            notes.push(format!(
                "|r| within a share of {share} of the largest count as equal: of {changed} view{s} the smallest \
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

    fn dims(&self) -> Vec<serde_json::Value> {
        let axes = self.topology.shape().axes().iter();
        axes.map(|axis| json!({ "name": axis.name, "len": axis.len, "periodic": axis.periodic }))
            .collect()
    }

    pub(super) fn json(&self, top: usize) -> serde_json::Value {
        let (metric, path) = self.name(self.reference);
        let plan = self.spectra.plan();
        let views = self
            .matches
            .iter()
            .take(top)
            .enumerate()
            .map(|(at, found)| {
                let scope = self.scope(self.row(found).0);
                let (metric, path) = self.name(self.row(found));
                let correlation = found.correlation;
                let chance = self.chance(at);
                json!({
                    "metric": metric,
                    "scope": scope,
                    "path": path,
                    "r": found.r(),
                    "shift": plan.shift(found.peak),
                    "max": correlation.max.r,
                    "max_shift": plan.shift(correlation.max),
                    "min": correlation.min.r,
                    "min_shift": plan.shift(correlation.min),
                    "zero": correlation.zero,
                    "pearson": found.pearson,
                    "missing": found.missing,
                    "p": chance.map(|(p, _)| p),
                    "p_of_all": chance.map(|(_, p)| p),
                })
            });
        let check = self.topology.check();
        json!({
            "reference": { "metric": metric, "scope": self.scope(self.reference.0), "path": path },
            "axes": self.axes,
            "dims": self.topology.shape().lens(),
            "axis_names": self.dims(),
            "axis_power": self.power.share,
            "suggested_axes": self.power.rest().f(),
            "cells_missing": check.missing,
            "cells_shared": check.shared,
            "locations": check.locations,
            "locations_placed": check.placed,
            "locations_unplaced": check.unplaced,
            "locations_outside": check.outside,
            "locations_repeated": check.repeated,
            "locations_unknown": check.strangers,
            "tolerance": self.params.tolerance(),
            "score": if self.is_paper() { "max" } else { "magnitude" },
            "notes": self.notes(),
            "surrogates": self.chances.as_ref().map(|chances| chances.surrogates),
            "null_band": self.chances.as_ref().map(|chances| chances.confidence.band),
            "views": views.collect::<Vec<_>>(),
        })
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
        let rest = weights(self.power.rest().f());
        let what = match () {
            () if self.axes.iter().all(|weight| *weight == 1.0) => "nothing is filtered away; ",
            () if self.axes.iter().all(|weight| *weight == 0.0) => "everything is filtered away; ",
            () => "",
        };
        // What does not vary has nothing in front of anything.
        let rest = match self.power.share.iter().any(|share| *share > 0.0) {
            true => format!("{what}what lies behind: --axes {rest}"),
            false => what.trim_end_matches("; ").to_string(),
        };
        let rest = match rest.is_empty() {
            true => rest,
            false => format!(" ({rest})"),
        };
        writeln!(out, "  filter      {}{rest}", weights(&self.axes))?;
        if let Some(Chances {
            surrogates,
            confidence,
        }) = &self.chances
        {
            writeln!(
                out,
                "  by chance   {surrogates} surrogates: 95 % of them reach no more than {} = {:.3} with any view",
                if self.is_paper() { "r" } else { "|r|" },
                confidence.band
            )?;
        }
        for note in self.notes() {
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
                if let Some((p, of_all)) = self.chance(at) {
                    row.extend([format!("{p:.3}"), format!("{of_all:.3}")]);
                }
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

    /// All views as a table with a head, separated by commas.
    pub(super) fn csv(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let plan = self.spectra.plan();
        let shift = |peak| {
            let shift = plan
                .shift(peak)
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>();
            shift.join(" ")
        };
        let more = self.chances.as_ref().map_or("", |_| ",p,p_of_all");
        writeln!(
            out,
            "metric,path,r,shift,max,max_shift,min,min_shift,zero,pearson{more}"
        )?;
        for (at, found) in self.matches.iter().enumerate() {
            let (metric, path) = self.name(self.row(found));
            let correlation = found.correlation;
            let chance = self.chance(at);
            let chance = chance.map_or_else(String::new, |(p, all)| format!(",{p},{all}"));
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{}{chance}",
                quoted(&metric),
                quoted(&path),
                found.r(),
                shift(found.peak),
                correlation.max.r,
                shift(correlation.max),
                correlation.min.r,
                shift(correlation.min),
                correlation.zero,
                found.pearson.unwrap_or_default(),
            )?;
        }
        Ok(())
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

/// Refuses spectra and scores of surrogates that would take more than the memory budget, before any memory
/// is taken for them.
fn check_memory(
    topology: &Topology,
    views: usize,
    asked: &Asked,
    source: &str,
) -> Result<(), Failure> {
    /// Bytes of a GiB.
    const GIB: f64 = (1u64 << 30) as f64;
    // Beside the spectra: views and spectra of a batch, and working space for each thread.
    const BESIDE: usize = 64;
    let cells = topology.shape().cells();
    let spectra = views.saturating_add(BESIDE).saturating_mul(cells);
    let scores = views.saturating_mul(asked.surrogates.unwrap_or_default());
    let numbers = spectra.saturating_add(scores);
    let gib = numbers.saturating_mul(size_of::<f64>()) as f64 / GIB;
    let budget = asked.memory;
    if gib <= budget {
        return Ok(());
    }
    let surrogates = match asked.surrogates {
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
