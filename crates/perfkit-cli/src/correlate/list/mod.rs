//! [`List`]: views of a profile in the order of their correlation with the reference, with chance
//! probabilities, kin, names and notes for output.

mod json;
#[cfg(feature = "serve")]
mod other_references;
mod text;

use super::pictures::cell_names;
use super::views::Views;
use super::{Options, Related, call_path};
use crate::failure::Failure;
use crate::progress::Bar;
use crate::scope::{scope_of, scoped_name};
use perfkit::core::{CallPathId, Job, MetricId, Profile};
use perfkit::spectral::{
    AxisFilter, AxisPower, CheckedRank, Confidence, Kinship, Match, NullParams, RankParams, Score,
    Spectra, TOLERANCE,
};
use perfkit::topology::Topology;
use perfkit::view::Section;
use std::collections::{BTreeMap, BTreeSet};

/// Ordered list of views with the data behind it.
#[derive(Debug)]
pub(super) struct List {
    /// Profile of the views, in their scope.
    pub(super) profile: Profile,
    /// Kin among the views.
    kin: Kinship,
    /// `true` if kin of the reference and identical views are listed.
    shows_kin: bool,
    /// Labels of the call paths of the views.
    labels: BTreeMap<CallPathId, String>,
    /// Grid of the locations.
    pub(super) topology: Topology,
    /// Weight of each axis.
    pub(super) axes: Vec<f64>,
    /// Variance of the reference by axis.
    power: AxisPower,
    /// Metric and call path of the reference.
    pub(super) reference: (MetricId, CallPathId),
    /// Index of the reference in `rows`.
    pub(super) own: usize,
    /// Metric and call path of each compared view.
    pub(super) rows: Vec<(MetricId, CallPathId)>,
    /// Spectra of the views, in the order of `rows`.
    pub(super) spectra: Spectra<f64>,
    /// Correlations of the views, the best first.
    pub(super) matches: Vec<Match>,
    /// `true` if some matches are equally close.
    has_ties: bool,
    /// Probabilities of the matches by chance; `None` without surrogates.
    chances: Option<Chances>,
    /// Notes about the grid.
    grid_notes: Vec<String>,
    /// Parameters of the ranking.
    params: CheckedRank,
}

/// Probabilities of the correlations by chance.
#[derive(Debug)]
struct Chances {
    /// Number of surrogates.
    surrogates: usize,
    /// Probabilities of each match.
    confidence: Confidence,
}

/// Formats the weights of axes in the syntax of `--axes`.
pub(super) fn weights(f: &[f64]) -> String {
    f.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
}

/// Difference of correlations below which they are equal: the rounding of transforms depends on the
/// machine.
const TIE: f64 = 1e-9;

/// Description of the bounds of probabilities.
const BOUND_WORDS: &str = "p bound: at most this is the probability of r by chance, at its shift alone if that is none, \
                           otherwise at any";

/// Share of the variance above which a single cell rules every correlation.
const LONE: f64 = 0.5;

impl List {
    pub(super) fn of(profile: &Profile, options: &Options) -> Result<Self, Failure> {
        let Some(path) = &options.path else {
            return Err(Failure::Usage("--path selects the reference".into()));
        };
        let reference = call_path(profile, path, "--path")?;
        let views = Views::of(profile, options, Some(reference))?;
        let reference = (views.metric, reference);
        let own = views.rows.iter().position(|row| *row == reference);
        debug_assert!(own.is_some(), "`Views::of` adds the reference");
        Self::among(views, own.unwrap_or_default(), options)
    }

    /// Orders views by their correlation with the view `own` among them.
    pub(super) fn among(views: Views, own: usize, options: &Options) -> Result<Self, Failure> {
        let Views {
            profile,
            topology,
            notes,
            axes,
            rows,
            spectra,
            metric,
            labels,
        } = views;
        let reference = rows.get(own).copied().unwrap_or((metric, CallPathId(0)));
        if let Some(skipped) = spectra.skipped().iter().find(|it| it.view == own) {
            return Err(Failure::Input(format!(
                "the reference has no correlation with any view: {skipped}"
            )));
        }
        let usage = |error: perfkit::spectral::Error| Failure::Usage(error.to_string());
        let filter = AxisFilter::new(&axes);
        let filter = filter.map_err(|error| Failure::Usage(format!("--axes: {error}")))?;
        let score = if options.paper {
            Score::Paper
        } else {
            Score::Magnitude
        };
        let tolerance = options.tolerance.unwrap_or(TOLERANCE);
        let params = RankParams::default().score(score).tolerance(tolerance);
        let params = params.check().map_err(|_| {
            Failure::Usage(format!(
                "--tolerance {tolerance}: not a number from 0 to below 1"
            ))
        })?;
        let job = Bar::job();
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
        let kin = Kinship::of(&profile, &rows);
        Ok(List {
            kin,
            shows_kin: options.kin,
            labels,
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

    /// Returns notes about the grid, the filter and the order of the first `top` views, as complete
    /// sentences.
    pub(super) fn notes(&self, top: usize) -> Vec<String> {
        let mut notes = self.grid_notes.clone();
        notes.extend(self.skipped_views());
        let shown = self.shown(top);
        let changed = shown.iter().filter(|(_, found)| {
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
        let listed = self.listed_positions(&self.matches).len();
        let count = |of: fn(&Self, &Match) -> bool| {
            let matches = self.matches.iter();
            matches.filter(|found| of(self, found)).count()
        };
        let kin = count(Self::is_kin);
        if listed < self.matches.len() {
            let flat = if self.matches.iter().all(is_flat) {
                0
            } else {
                count(|list, found| is_flat(found) && !list.is_kin(found))
            };
            let same = self.matches.len() - listed - kin - flat;
            let mut hidden = vec![
                format!(
                    "{kin} of the reference's kin (they contain it, are part of it or equal it)"
                ),
                format!("{same} identical to another view"),
            ];
            if flat > 0 {
                hidden.push(format!("{flat} with r = 0 at any shift"));
            }
            let last = hidden.pop().unwrap_or_default();
            notes.push(format!(
                "of {} views, {} and {last} are hidden (--kin lists them)",
                self.matches.len(),
                hidden.join(", ")
            ));
        }
        if self.is_paper() {
            notes.push(
                "in order of the largest r: opposites of the reference are at the end".into(),
            );
        }
        notes.extend(self.open_axes());
        notes.extend(self.lone_cell());
        if self.power.share.iter().all(|share| *share == 0.0) {
            notes.push("the reference is the same everywhere, so that nothing follows it".into());
        }
        if self.axes.iter().all(|weight| *weight == 0.0) {
            notes.push("all axes weigh 0: everything is filtered away, and every r is 0".into());
        }
        notes
    }

    /// Returns the notes that hold for any reference, as complete sentences.
    pub(super) fn lasting_notes(&self) -> Vec<String> {
        let mut notes = self.grid_notes.clone();
        notes.extend(self.skipped_views());
        if !self.shows_kin {
            notes.push(
                "views that contain the reference, are part of it or equal another view are hidden (--kin lists them)"
                    .into(),
            );
        }
        notes.extend(self.open_axes());
        notes
    }

    /// Describes the views that are skipped; `None` if there are none.
    fn skipped_views(&self) -> Option<String> {
        let skipped = self.spectra.skipped();
        let first = skipped.first()?;
        Some(format!(
            "{} of {} views are skipped because a value is not finite: the first is {first}",
            skipped.len(),
            self.rows.len()
        ))
    }

    /// Names the cell that holds most of the variance of the reference; `None` if no cell does.
    fn lone_cell(&self) -> Option<String> {
        let filter = AxisFilter::new(&self.axes).ok()?;
        let values = self.spectra.filtered(self.own, &filter).ok()?;
        let squares = || values.iter().map(|value| value * value);
        let (cell, most) = squares()
            .enumerate()
            .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let share = most / squares().sum::<f64>();
        let name = &cell_names(&self.profile, &self.topology)[cell];
        (share > LONE && !name.is_empty()).then(|| {
            format!(
                "{name} holds {:.0} % of the variance of the reference: r shows mostly whether a view deviates there as \
                 well",
                100.0 * share
            )
        })
    }

    /// Describes the open axes that keep variation; `None` if there are none.
    fn open_axes(&self) -> Option<String> {
        let axes = self.topology.shape().axes().iter().zip(&self.axes);
        let open = axes.enumerate().filter_map(|(at, (axis, weight))| {
            let is_open = !axis.periodic && axis.len > 1 && *weight > 0.0;
            is_open.then(|| match axis.name.as_str() {
                "" => at.to_string(),
                name => format!("{at} ({name})"),
            })
        });
        let open: Vec<String> = open.collect();
        let (axes, are) = match open.len() {
            0 => return None,
            1 => ("axis", "is"),
            _ => ("axes", "are"),
        };
        Some(format!(
            "{axes} {} {are} open, but the transform wraps: a shift moves cells from one end to the other",
            open.join(", ")
        ))
    }

    /// Returns the relative difference within which magnitudes of r count as equal.
    pub(super) fn tolerance(&self) -> f64 {
        self.params.tolerance()
    }

    /// Returns `true` if one view contains the other and kin are hidden.
    pub(super) fn are_kin(&self, one: usize, other: usize) -> bool {
        !self.shows_kin && self.kin.are_kin(one, other)
    }

    /// Returns `true` if a view is kin of the reference: one contains the other, or they are equal.
    fn is_kin(&self, found: &Match) -> bool {
        self.is_kin_of(&[self.own], found)
    }

    /// Returns `true` if a view is kin of a reference that consists of these views.
    fn is_kin_of(&self, parts: &[usize], found: &Match) -> bool {
        let views = self.spectra.views();
        let first = |view: usize| views[view].same_as.unwrap_or(view);
        let of =
            |part: &usize| self.kin.are_kin(*part, found.view) || first(found.view) == first(*part);
        parts.iter().any(of)
    }

    /// Returns the positions of the views that are listed: without kin of the reference, without views
    /// that do not vary, and only the first of identical views. If no view varies all of them are
    /// listed.
    fn listed_positions(&self, matches: &[Match]) -> Vec<usize> {
        self.positions_beside(&[self.own], matches)
    }

    /// Returns the positions of the listed views for a reference that consists of these views.
    fn positions_beside(&self, parts: &[usize], matches: &[Match]) -> Vec<usize> {
        let mut known = BTreeSet::new();
        let views = self.spectra.views();
        let has_patterns = !matches.iter().all(is_flat);
        let mut is_listed = |found: &Match| {
            let view = views.get(found.view);
            let first = view.and_then(|it| it.same_as).unwrap_or(found.view);
            if is_flat(found) {
                return !has_patterns && !self.is_kin_of(parts, found);
            }
            !self.is_kin_of(parts, found) && known.insert(first)
        };
        let all = matches.iter().enumerate();
        let listed = all.filter(|(_, found)| self.shows_kin || is_listed(found));
        listed.map(|(at, _)| at).collect()
    }

    /// Returns the first `top` listed views with their positions.
    fn shown(&self, top: usize) -> Vec<(usize, Match)> {
        let positions = self.listed_positions(&self.matches).into_iter();
        let shown = positions.filter_map(|at| Some((at, *self.matches.get(at)?)));
        shown.take(top).collect()
    }

    /// Returns all views in their order, and `true` for those that are listed.
    pub(super) fn with_kin(&self) -> impl Iterator<Item = (bool, &Match)> {
        let listed: BTreeSet<usize> = self.listed_positions(&self.matches).into_iter().collect();
        let matches = self.matches.iter().enumerate();
        matches.map(move |(at, found)| (listed.contains(&at), found))
    }

    /// Returns the view that correlates best.
    pub(super) fn best(&self) -> Option<Match> {
        self.shown(1).first().map(|(_, found)| *found)
    }

    /// Returns `true` if the order is by the largest R, as in the paper, instead of the largest
    /// |R|.
    pub(super) fn is_paper(&self) -> bool {
        self.params.score() == Score::Paper
    }

    /// Returns the best views under other weights of the axes, in the same order.
    pub(super) fn under(&self, f: &[f64], top: usize) -> perfkit::spectral::Result<Vec<Match>> {
        let matches = if f == self.axes {
            self.matches.clone()
        } else {
            ranked(
                &self.spectra,
                self.own,
                &AxisFilter::new(f)?,
                &self.params,
                &Job::default(),
            )?
            .0
        };
        let mut listed = self.listed_positions(&matches);
        listed.truncate(top);
        Ok(listed
            .into_iter()
            .filter_map(|at| matches.get(at).copied())
            .collect())
    }

    /// Returns an upper bound of the probability of each match by chance.
    fn chance_bounds(&self, matches: &[Match]) -> Result<Vec<f64>, Failure> {
        let unread = |error: perfkit::spectral::Error| Failure::Input(error.to_string());
        let filter = AxisFilter::new(&self.axes).map_err(unread)?;
        let own = (&self.spectra, self.own);
        let bounds = self
            .spectra
            .chance_bounds(own, matches, &filter, &Bar::job());
        Ok(bounds
            .map_err(unread)?
            .iter()
            .map(|bound| bound.p)
            .collect())
    }

    /// Returns the probabilities of the match at a position of the list: for one view, and for all
    /// views.
    fn chance(&self, at: usize) -> Option<(f64, f64)> {
        let confidence = &self.chances.as_ref()?.confidence;
        Some((*confidence.p.get(at)?, *confidence.p_of_all.get(at)?))
    }

    /// Returns the probabilities of [`Self::chance`] as text.
    fn chance_texts(&self, at: usize) -> Option<[String; 2]> {
        let surrogates = self.chances.as_ref()?.surrogates;
        let (p, of_all) = self.chance(at)?;
        Some([p, of_all].map(|p| chance_text(p, surrogates)))
    }

    /// Describes the largest magnitude that surrogates reach; `None` without surrogates.
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

    /// Returns the probabilities of the first `top` views as a section of a page; `None` without
    /// surrogates.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the spectra cannot be read.
    pub(super) fn chances_section(&self, top: usize) -> Result<Option<Section>, Failure> {
        let Some(band) = self.band() else {
            return Ok(None);
        };
        let words = format!(
            "{band}. {BOUND_WORDS}; p: the share of surrogates that are as close to a view as the reference is, the \
             reference counted among them; p of all: as close to any view. Axes weigh {}.",
            weights(&self.axes)
        );
        let columns = ["call path", "metric", "r", "p bound", "p", "p of all"];
        let table = self.listed(top, words)?.select(&columns);
        let section = Section::table("chances", "Correlations by chance", &table);
        Ok(Some(section))
    }

    pub(super) fn name(&self, (metric, path): (MetricId, CallPathId)) -> (String, String) {
        let metric = self.profile.metrics().get(metric.index());
        let metric = metric.map_or_else(String::new, |metric| metric.metric.name.clone());
        (metric, self.labels[&path].clone())
    }

    /// Returns metric and call path for output. The scope is appended to the name of a metric that
    /// does not state it.
    pub(super) fn label(&self, row: (MetricId, CallPathId)) -> (String, String) {
        let (name, path) = self.name(row);
        let metric = self.profile.metrics().get(row.0.index());
        (metric.map_or(name, scoped_name), path)
    }

    /// Returns `inclusive` or `exclusive`; empty for a metric that is not additive, because it has
    /// no scope.
    fn scope(&self, metric: MetricId) -> String {
        let metric = self.profile.metrics().get(metric.index());
        let scope = metric.and_then(scope_of);
        scope.unwrap_or_default().to_string()
    }

    pub(super) fn row(&self, found: &Match) -> (MetricId, CallPathId) {
        self.rows[found.view]
    }

    /// Returns the reported shift with commas between the axes.
    pub(super) fn shift(&self, found: &Match) -> String {
        let shift = self.spectra.plan().steps(found.peak);
        let shift: Vec<String> = shift.iter().map(isize::to_string).collect();
        shift.join(",")
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

    /// Describes the metrics that [`results`](super::results) adds to the profile.
    pub(super) fn about(&self) -> String {
        let (metric, path) = self.label(self.reference);
        format!("{metric} of {path}, axes {:?}", self.axes)
    }

    /// Returns metric, call path, and largest and smallest R of all compared views.
    pub(super) fn extremes(&self) -> impl Iterator<Item = (MetricId, CallPathId, [f64; 2])> + '_ {
        self.matches.iter().map(|found| {
            let (metric, path) = self.row(found);
            let correlation = found.correlation;
            (metric, path, [correlation.max.r, correlation.min.r])
        })
    }
}

/// Returns `true` if r is 0 at any shift: the view does not vary under the weights of the axes, or shares no
/// variation with the reference.
fn is_flat(found: &Match) -> bool {
    let correlation = found.correlation;
    correlation.max.r == 0.0 && correlation.min.r == 0.0
}

/// Formats a p-value. The smallest p-value that the number of surrogates can show is marked as an
/// upper bound.
fn chance_text(p: f64, surrogates: usize) -> String {
    let all = surrogates as f64 + 1.0;
    // Enough digits for one in `all`.
    let digits = (all.log10().ceil() as usize).max(3);
    if p * all < 1.5 {
        format!("<= {p:.digits$}")
    } else {
        format!("{p:.digits$}")
    }
}

/// Ranks all views by their correlation with one of them. The flag is `true` if some views are
/// equally close.
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

/// Sorts views that are equally close by metric and call path, and returns `true` if there are any.
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
