//! Lists of the same views for other references and other weights of the axes.

use super::{List, order};
use perfkit::core::Job;
use perfkit::spectral::{AxisFilter, Match, RankParams, Spectra};

impl List {
    /// Returns the listed views for another reference, in the same order: a view of these or of other
    /// spectra, which consists of the views `parts` of these.
    pub(in crate::correlate) fn of_reference(
        &self,
        (spectra, view): (&Spectra<f64>, usize),
        parts: &[usize],
        filter: &AxisFilter,
        job: &Job,
    ) -> perfkit::spectral::Result<Vec<Match>> {
        let reference = spectra.reference(view, filter, job)?;
        let others: Vec<usize> = (0..self.rows.len())
            .filter(|view| parts != [*view])
            .collect();
        let params = RankParams::default()
            .pearson(false)
            .score(self.params.score());
        let params = params.tolerance(self.params.tolerance()).check()?;
        let ranking = self
            .spectra
            .rank_with(reference.as_ref(), None, &others, &params, job)?;
        let mut matches = ranking.matches;
        order(&mut matches);
        let listed = self.positions_beside(parts, &matches).into_iter();
        Ok(listed.filter_map(|at| matches.get(at).copied()).collect())
    }
}
