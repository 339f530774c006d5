//! Methods that build a [`View`] from spectra: a list of correlated views for each choice of axes,
//! and further views and profile trees to explore in the page.

use super::explored::{self, Explored};
use super::trees::Trees;
use super::view::{Found, View, mask};
use crate::{Error, Result, Unit};
use perf_core::{CallPathId, Job, MetricId, Profile};
use perf_spectral::{AxisFilter, Match, RankParams, Real, Spectra};
use perf_topology::{Grid, Topology};
use std::collections::BTreeMap;

/// Maximum number of axes for which all 2^n - 1 choices are ranked.
const MOST_AXES: usize = 5;

impl View {
    /// Creates a view of a reference and of the `top` views that correlate most strongly with it,
    /// for each choice of axes.
    ///
    /// `grid` returns the name, values and unit of a view of the spectra for its index. The page
    /// begins with all axes selected. For up to 5 axes, all 2^n - 1 choices are ranked. For more
    /// axes, only the choice of all axes and the choices without one axis are ranked.
    /// [`correlated_by`](Self::correlated_by) begins with given axis weights and accepts any
    /// ranking. Reports progress in the phase `rank`.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_spectral::Spectra;
    /// use perf_topology::{Grid, Shape};
    /// use perf_view::{Unit, topology::View};
    /// let views: Vec<Vec<f64>> = (1..4)
    ///     .map(|n| (0..16).map(|cell| f64::from(cell * n % 7)).collect())
    ///     .collect();
    /// let mut builder = Spectra::<f64>::builder(&[4, 4])?;
    /// builder.extend(&views, &Job::default())?;
    /// let spectra = builder.finish();
    /// let grid = |at: usize| {
    ///     let grid = Grid::new(Shape::of(&[4, 4])?, views[at].clone(), vec![true; 16])?;
    ///     Ok((format!("view {at}"), grid, Unit::Number))
    /// };
    /// let view = View::correlated(&spectra, 0, grid, 10, &Job::default())?;
    /// assert_eq!(view.lists().count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Spectral`] if ranking fails.
    /// - Returns [`Error::Mismatch`] if the axes of a grid and of the spectra differ.
    /// - Returns [`Error::Cancelled`] if the job is cancelled.
    /// - Returns the errors of `grid`.
    pub fn correlated<T: Real>(
        spectra: &Spectra<T>,
        reference: usize,
        grid: impl Fn(usize) -> Result<(String, Grid, Unit)>,
        top: usize,
        job: &Job,
    ) -> Result<Self> {
        let params = RankParams::default().top(top).pearson(false).check()?;
        let candidates: Vec<usize> = (0..spectra.views().len())
            .filter(|view| *view != reference)
            .collect();
        let rank = |f: &[f64]| {
            let filter = AxisFilter::new(f)?;
            let list = spectra.rank_among(
                reference,
                &candidates,
                &filter,
                &params,
                &job.without_progress(),
            )?;
            Ok(list.matches)
        };
        let all = vec![1.0; spectra.plan().dims().len()];
        Self::correlated_by(spectra, reference, &all, rank, grid, job)
    }

    /// Creates a view like [`correlated`](Self::correlated) that begins with the axis weights `f`.
    /// `rank` receives axis weights and returns the list for these weights, strongest match first.
    ///
    /// The first list belongs to `f`. In the other choices an axis has either the weight 0 or its
    /// weight in `f`; if its weight in `f` is 0, it has the weight 1 instead. For up to 5 axes, all
    /// 2^n - 1 choices are ranked. For more axes, only `f` and the choices that switch one axis on
    /// or off are ranked.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Mismatch`] if the number of weights, of axes of the grid and of axes of
    ///   the spectra differ.
    /// - Returns [`Error::Cancelled`] if the job is cancelled.
    /// - Returns the errors of `rank` and of `grid`.
    pub fn correlated_by<T: Real>(
        spectra: &Spectra<T>,
        reference: usize,
        f: &[f64],
        mut rank: impl FnMut(&[f64]) -> Result<Vec<Match>>,
        grid: impl Fn(usize) -> Result<(String, Grid, Unit)>,
        job: &Job,
    ) -> Result<Self> {
        let (name, values, unit) = grid(reference)?;
        let axes = values.shape().axes().len();
        let dims = spectra.plan().dims().len();
        for (what, got) in [("axes of the spectra", dims), ("weights of axes", f.len())] {
            if got != axes {
                return Err(Error::Mismatch {
                    what,
                    expected: axes,
                    got,
                });
            }
        }
        let mut view = View::new(name, values, unit);
        let mut added = BTreeMap::new();
        let choices = choices(f);
        for f in &choices {
            job.check()?;
            let list = rank(f)?;
            let mut found = Vec::with_capacity(list.len());
            for matched in &list {
                let at = match added.get(&matched.view) {
                    Some(at) => *at,
                    None => {
                        let (name, values, unit) = grid(matched.view)?;
                        let at = view.add(name, values, unit)?;
                        added.insert(matched.view, at);
                        at
                    }
                };
                found.push(Found {
                    view: at,
                    r: matched.r(),
                    shift: spectra.plan().steps(matched.peak),
                    unshifted: matched.correlation.zero,
                });
            }
            view.list(f, found)?;
            job.advance("rank", 1, choices.len() as u64);
        }
        view.views = vec![reference; added.len() + 1];
        for (from, at) in added {
            if let Some(slot) = view.views.get_mut(at) {
                *slot = from;
            }
        }
        Ok(view.chosen(f))
    }

    /// Adds the other views of the spectra, so that the page can take any view as reference and any
    /// weights of the axes, and computes the list itself. Constant views and repeated ones are
    /// skipped. The page then also draws filtered fields.
    ///
    /// Values are coded so that correlations equal those of [`Spectra::correlate`] to 1e-6 (six
    /// standard deviations of the rounding error). A section has at most about 5.6 MB: if that does
    /// not suffice, the views that are in no list are rounded more coarsely, to an accuracy of R of
    /// up to 0.02, and then the last ones are skipped. Notes name both. Pages of grids with merged
    /// cells are not changed. `kin` returns `true` for two views of the spectra of which one contains
    /// the other; the page hides them from the list of each other. `tolerance` is that of
    /// [`RankParams::tolerance`].
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Cancelled`] if the job is cancelled.
    /// - Returns the errors of `grid`.
    pub fn explored<T: Real>(
        mut self,
        spectra: &Spectra<T>,
        grid: impl Fn(usize) -> Result<(String, Grid, Unit)>,
        kin: impl Fn(usize, usize) -> bool,
        tolerance: f64,
        job: &Job,
    ) -> Result<Self> {
        let cells = spectra.plan().len();
        let (capacity, exact) = (explored::capacity(cells), self.views.len());
        if self.is_coarser() || exact > capacity {
            return Ok(self);
        }
        let views = spectra.views().iter().enumerate();
        let others = views.filter(|(at, view)| {
            let is_useful = !view.is_skipped() && !view.is_constant() && view.same_as.is_none();
            is_useful && !self.views.contains(at)
        });
        let others: Vec<usize> = others.map(|(at, _)| at).collect();
        let all = self.views.len() + others.len();
        for at in others.into_iter().take(capacity - self.views.len()) {
            job.check()?;
            let (name, values, unit) = grid(at)?;
            self.add(name, values, unit)?;
            self.views.push(at);
        }
        let mut pairs = Vec::new();
        for (one, first) in self.views.iter().enumerate() {
            job.check()?;
            let others = self.views.iter().enumerate().skip(one + 1);
            let related = others.filter(|(_, second)| kin(*first, **second));
            pairs.extend(related.map(|(other, _)| (one, other)));
        }
        self.explored = Some(Explored {
            kin: pairs,
            tolerance,
            exact,
            all,
            trees: None,
        });
        Ok(self)
    }

    /// Adds trees of the metrics, the call paths and the system of a profile to a page that
    /// [explores](Self::explored) its views or [asks](Self::asking) a server. Readers select the reference in them, also sums of views
    /// such as a call path with all paths below it. Other pages are not changed, nor are those of
    /// profiles with more than 40,000 rows.
    ///
    /// `rows` are the views of the spectra in their order. `unit` returns the unit of values and the
    /// factor by which the values of the grids were multiplied, for the recorded name of a unit.
    ///
    /// ```
    /// use perf_core::{Job, Profile};
    /// use perf_spectral::{Missing, Spectra, stored_rows};
    /// use perf_topology::{AxisOrder, Shape, Topology};
    /// use perf_view::{Page, Unit, topology::View};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
    /// let ranks = profile.system().locations().len();
    /// let topology = Topology::by_order(Shape::of(&[ranks])?, AxisOrder::LastFastest, ranks);
    /// let rows = stored_rows(&profile, &[profile.metric("exclusive time").expect("traces have it")]);
    /// let mut builder = Spectra::<f64>::builder(&[ranks])?;
    /// builder.add_rows(&profile, &topology, &rows, Missing::Fill, &Job::default())?;
    /// let spectra = builder.finish();
    /// let grid = |at: usize| {
    ///     let (metric, path) = rows[at];
    ///     let row = profile.row(metric, path).ok().flatten().expect("it is stored");
    ///     Ok((format!("call path {}", path.0), topology.view(&row)?, Unit::Nanos))
    /// };
    /// let job = Job::default();
    /// let view = View::correlated(&spectra, 0, grid, 3, &job)?;
    /// let view = view.explored(&spectra, grid, |_, _| false, 0.01, &job)?;
    /// let view = view.browsed((&profile, &topology), &rows, &spectra, |_| (Unit::Nanos, 1.0), &job)?;
    /// let html = Page::new("Profile").with(view.section(&job)?).html(&job)?;
    /// assert!(html.contains("Call paths"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Io`] if a row cannot be read.
    /// - Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn browsed<T: Real>(
        mut self,
        (profile, topology): (&Profile, &Topology),
        rows: &[(MetricId, CallPathId)],
        spectra: &Spectra<T>,
        unit: impl Fn(&str) -> (Unit, f64),
        job: &Job,
    ) -> Result<Self> {
        // The items of the system are cells.
        if self.is_coarser() {
            return Ok(self);
        }
        let (explored, asking) = (&mut self.explored, &mut self.asking);
        let trees = explored.as_mut().map(|it| &mut it.trees);
        if let Some(trees) = trees.or(asking.as_mut().map(|it| &mut it.trees)) {
            let views = (spectra, self.views.as_slice());
            *trees = Trees::of((profile, topology), rows, views, unit, job)?;
        }
        Ok(self)
    }
}

/// Returns the given weights, followed by the weights of the other choices.
fn choices(f: &[f64]) -> Vec<Vec<f64>> {
    let (axes, own) = (f.len(), mask(f));
    let others: Vec<u32> = match axes {
        0..=MOST_AXES => (1..1 << axes).rev().collect(),
        _ => (0..axes).map(|axis| own ^ 1 << axis).collect(),
    };
    let others = others.into_iter().filter(|mask| *mask != 0 && *mask != own);
    let weights = |mask: u32| {
        let weight = |(axis, f): (usize, &f64)| match (mask >> axis & 1, *f > 0.0) {
            (0, _) => 0.0,
            (_, true) => *f,
            (_, false) => 1.0,
        };
        f.iter().enumerate().map(weight).collect()
    };
    std::iter::once(own).chain(others).map(weights).collect()
}
