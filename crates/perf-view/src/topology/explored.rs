//! [`Explored`]: views that the script of a page correlates itself; [`ExploredData`]: their coded
//! grids, the pairs that contain each other and the trees of the profile as page data.

use super::coded_views::{BEST, Coded, MOST_CELLS};
use super::trees::{Trees, TreesData};
use crate::Result;
use crate::encoding::front_coded;
use perf_core::Job;
use perf_topology::Grid;
use serde::Serialize;

/// Largest size of the data of a section, in bytes.
const MAX_BYTES: usize = 5_600_000;

/// Bytes of a grid without its name and its values.
const BESIDE: usize = 48;

/// Returns the number of grids of this many cells that a page can hold.
pub(super) fn capacity(cells: usize) -> usize {
    MOST_CELLS / cells.max(1)
}

/// Views that a page can correlate.
#[derive(Clone, Debug)]
pub(super) struct Explored {
    /// Pairs of grids of which one contains the other; the first number is the smaller one.
    pub(super) kin: Vec<(usize, usize)>,
    /// Relative difference within which magnitudes count as equal.
    pub(super) tolerance: f64,
    /// Number of grids of the best accuracy, the first ones.
    pub(super) exact: usize,
    /// Number of different views of the spectra.
    pub(super) all: usize,
    /// Trees of the profile; `None` if it is unknown or has too many rows.
    pub(super) trees: Option<Trees>,
}

/// Views, kin and trees, as the page reads them.
#[derive(Serialize)]
pub(super) struct ExploredData<'a> {
    /// Values of the grids.
    #[serde(flatten)]
    coded: Coded,
    /// Kin of each grid with a higher number, as pairs of a first number and a count.
    kin: Vec<Vec<usize>>,
    /// Relative difference within which magnitudes count as equal.
    tolerance: f64,
    /// Trees of the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    trees: Option<TreesData<'a>>,
    /// Notes about skipped views and about the accuracy.
    #[serde(skip)]
    pub(super) notes: Vec<String>,
}

impl Explored {
    /// Codes the grids. `names` are those of the cells.
    ///
    /// # Errors
    ///
    /// Returns the errors of the transform, and [`Error::Cancelled`](crate::Error::Cancelled).
    pub(super) fn data<'a>(
        &'a self,
        grids: &[&Grid],
        labels: impl Iterator<Item = &'a str>,
        names: &[String],
        job: &Job,
    ) -> Result<ExploredData<'a>> {
        let mut kin = vec![Vec::new(); grids.len()];
        for (one, other) in &self.kin {
            if let Some(runs) = kin.get_mut(*one) {
                extend(runs, *other);
            }
        }
        let labels = front_coded(labels);
        let names = front_coded(names.iter().map(String::as_str));
        let trees = self.trees.as_ref().map(|trees| trees.data(grids.len()));
        let beside =
            serde_json::to_vec(&(&labels, names, &kin, &trees)).map_err(std::io::Error::from)?;
        let beside = beside.len() + BESIDE * labels.len();
        let coded = Coded::of(grids, self.exact, MAX_BYTES.saturating_sub(beside), job)?;
        let (held, all) = (coded.len(), self.all);
        kin.truncate(held);
        let mut notes = Vec::new();
        if held < all {
            notes.push(format!(
                "the page holds {held} of {all} different views, as many as fit; `perfkit correlate` compares all, and \
                 with `--path` it writes a page that begins with another view"
            ));
        }
        if coded.accuracy > BEST {
            notes.push(format!(
                "the values of most views are rounded, so that they fit into the page: r with another reference or \
                 other weights is accurate to {:.1e}, and of shifts or signs with nearly equal |r| another may be listed; the \
                 first list is exact, and `perfkit correlate` and the page of `perfkit serve` always are",
                coded.accuracy
            ));
        }
        Ok(ExploredData {
            coded,
            kin,
            tolerance: self.tolerance,
            trees: self.trees.as_ref().map(|trees| trees.data(held)),
            notes,
        })
    }
}

impl ExploredData<'_> {
    /// Returns the number of grids of the page.
    pub(super) fn len(&self) -> usize {
        self.coded.len()
    }
}

/// Appends a number to runs of numbers.
fn extend(runs: &mut Vec<usize>, number: usize) {
    if let [.., first, count] = runs.as_mut_slice()
        && *first + *count == number
    {
        *count += 1;
    } else {
        runs.extend([number, 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::extend;

    #[test]
    fn runs_are_numbers_in_a_row() {
        let mut runs = Vec::new();
        for number in [3, 4, 5, 9, 11, 12] {
            extend(&mut runs, number);
        }
        assert_eq!(runs, [3, 3, 9, 1, 11, 2]);
    }
}
