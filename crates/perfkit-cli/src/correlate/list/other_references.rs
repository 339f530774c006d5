//! Lists of the same views for other references and other weights of the axes.

use super::{List, order};
use perfkit::core::Job;
use perfkit::spectral::{AxisFilter, Match, RankParams, Reference, Spectra};
use perfkit::topology::Grid;

impl List {
    /// Returns the notes that hold for any reference, as complete sentences.
    pub(in crate::correlate) fn lasting_notes(&self) -> Vec<String> {
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

    /// Returns the listed views for another view as the reference, in the same order.
    pub(in crate::correlate) fn of_view(
        &self,
        view: Option<usize>,
        f: &[f64],
        job: &Job,
    ) -> perfkit::spectral::Result<Vec<Match>> {
        let filter = AxisFilter::new(f)?;
        let reference = view.map(|view| self.spectra.reference(view, &filter, job));
        let reference = reference.transpose()?.flatten();
        self.of_reference(reference.as_ref(), view.as_slice(), job)
    }

    /// Returns the listed views for a sum of views as the reference, in the same order.
    pub(in crate::correlate) fn of_sum(
        &self,
        sum: &Grid,
        parts: &[usize],
        f: &[f64],
        job: &Job,
    ) -> perfkit::spectral::Result<Vec<Match>> {
        let mut builder = Spectra::<f64>::builder(self.spectra.plan().dims())?;
        builder.extend_masked(&[sum.values()], sum.mask(), job)?;
        let reference = builder.finish().reference(0, &AxisFilter::new(f)?, job)?;
        self.of_reference(reference.as_ref(), parts, job)
    }

    fn of_reference(
        &self,
        reference: Option<&Reference<f64>>,
        parts: &[usize],
        job: &Job,
    ) -> perfkit::spectral::Result<Vec<Match>> {
        let others: Vec<usize> = (0..self.rows.len())
            .filter(|view| parts != [*view])
            .collect();
        let params = RankParams::default()
            .pearson(false)
            .score(self.params.score());
        let params = params.tolerance(self.params.tolerance()).check()?;
        let ranking = self
            .spectra
            .rank_with(reference, None, &others, &params, job)?;
        let mut matches = ranking.matches;
        order(&mut matches);
        let listed = self.positions_beside(parts, &matches).into_iter();
        Ok(listed.filter_map(|at| matches.get(at).copied()).collect())
    }
}
