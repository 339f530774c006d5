//! Lists of correlated views from spectra, for each choice of axes.

use super::view::{Found, View};
use crate::{Error, Result, Unit};
use perf_core::{CancelToken, Progress};
use perf_spectral::{AxisFilter, RankParams, Real, Spectra};
use perf_topology::Grid;
use std::collections::BTreeMap;

/// Most axes of which every choice is computed: 2^n - 1 rankings.
const MOST_AXES: usize = 5;

impl View {
    /// A view of a reference and of what correlates with it: the `top` strongest for each choice of
    /// axes, and the grids of all of these.
    ///
    /// `grid` gives name, values and unit of a view of the spectra, by its number. Up to 5 axes all
    /// 2^n - 1 choices are ranked; with more axes each alone, all but each, and all. Reports choices of
    /// the phase `rank`.
    ///
    /// ```
    /// use perf_spectral::Spectra;
    /// use perf_topology::{Grid, Shape};
    /// use perf_view::{Unit, topology::View};
    /// let views: Vec<Vec<f64>> = (1..4)
    ///     .map(|n| (0..16).map(|cell| f64::from(cell * n % 7)).collect())
    ///     .collect();
    /// let mut builder = Spectra::<f64>::builder(&[4, 4])?;
    /// builder.extend(&views)?;
    /// let spectra = builder.finish();
    /// let grid = |at: usize| {
    ///     let grid = Grid::new(Shape::of(&[4, 4])?, views[at].clone(), vec![true; 16])?;
    ///     Ok((format!("view {at}"), grid, Unit::Number))
    /// };
    /// let view = View::correlated(&spectra, 0, grid, 10, &(), &Default::default())?;
    /// assert_eq!(view.lists().count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of ranking and of `grid`, and [`Error::Cancelled`].
    pub fn correlated<T: Real>(
        spectra: &Spectra<T>,
        reference: usize,
        grid: impl Fn(usize) -> Result<(String, Grid, Unit)>,
        top: usize,
        progress: &dyn Progress,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let (name, values, unit) = grid(reference)?;
        let axes = values.shape().axes().len();
        let dims = spectra.plan().dims().len();
        if dims != axes {
            return Err(Error::Mismatch {
                what: "axes of the spectra",
                expected: axes,
                got: dims,
            });
        }
        let mut view = View::new(name, values, unit);
        let params = RankParams::default().top(top).pearson(false).check()?;
        let candidates: Vec<usize> = (0..spectra.views().len())
            .filter(|view| *view != reference)
            .collect();
        let mut added = BTreeMap::new();
        let choices = choices(axes);
        for f in &choices {
            let filter = AxisFilter::new(f)?;
            let list = spectra.rank_among(reference, &candidates, &filter, &params, &(), cancel)?;
            let mut found = Vec::with_capacity(list.matches.len());
            for matched in &list.matches {
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
                    shift: spectra.plan().shift(matched.peak),
                });
            }
            view.list(f, found)?;
            progress.advance("rank", 1, choices.len() as u64);
        }
        Ok(view)
    }
}

/// All axes first, then the other choices.
fn choices(axes: usize) -> Vec<Vec<f64>> {
    let weights = |mask: u32| (0..axes).map(|axis| f64::from(mask >> axis & 1)).collect();
    let all = (1u32 << axes) - 1;
    let masks: Vec<u32> = match axes {
        0..=MOST_AXES => (1..=all).rev().collect(),
        _ => {
            let single = (0..axes).map(|axis| 1 << axis);
            let without = (0..axes).map(|axis| all & !(1 << axis));
            std::iter::once(all).chain(single).chain(without).collect()
        }
    };
    masks.into_iter().map(weights).collect()
}
