//! [`EpsParams`] and what they check to, [`EpsChecked`].

use crate::{Error, Result};

/// Parameters of [`EpsSearch`](super::EpsSearch): set them, then [`check`](Self::check).
///
/// ```
/// use perf_track::cluster::EpsSearch;
/// assert!(EpsSearch::params().min_points(4).check().is_ok());
/// assert!(EpsSearch::params().min_points(1).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EpsParams {
    min_points: usize,
    octaves: f64,
    alike: f64,
    queries: usize,
    noise: f64,
}

impl Default for EpsParams {
    fn default() -> Self {
        EpsParams {
            min_points: 10,
            octaves: 3.0,
            alike: 0.9,
            queries: 50_000,
            noise: 0.1,
        }
    }
}

impl EpsParams {
    /// Points within eps that make a point core, itself included: that of the clusters to come.
    /// Default 10, at least 2.
    pub fn min_points(mut self, min_points: usize) -> Self {
        self.min_points = min_points;
        self
    }

    /// How far the sweep goes from the knee, down and up, in doublings. Default 3, from 0.5 to 16.
    pub fn octaves(mut self, octaves: f64) -> Self {
        self.octaves = octaves;
        self
    }

    /// Adjusted Rand index from which on two steps of the sweep are alike. Default 0.9, 0 to 1.
    pub fn alike(mut self, alike: f64) -> Self {
        self.alike = alike;
        self
    }

    /// Most points whose distances make the k-distance graph: of more points every n-th, measured
    /// among all. Default 50,000, at least 3.
    pub fn queries(mut self, queries: usize) -> Self {
        self.queries = queries;
        self
    }

    /// Largest share of the weight that is left in noise if a larger eps takes it in; see
    /// [`choose_weighted`](super::EpsSearch::choose_weighted). Default 0.1, 0 to 1.
    pub fn noise(mut self, noise: f64) -> Self {
        self.noise = noise;
        self
    }

    /// Checks them.
    ///
    /// # Errors
    /// [`Error::Parameter`].
    pub fn check(self) -> Result<EpsChecked> {
        let wrong = |name, value: String, range| Err(Error::Parameter { name, value, range });
        if self.min_points < 2 {
            return wrong("min_points", self.min_points.to_string(), "at least 2");
        }
        if !(0.5..=16.0).contains(&self.octaves) {
            return wrong("octaves", self.octaves.to_string(), "from 0.5 to 16");
        }
        if !(0.0..=1.0).contains(&self.alike) {
            return wrong("alike", self.alike.to_string(), "from 0 to 1");
        }
        if !(0.0..=1.0).contains(&self.noise) {
            return wrong("noise", self.noise.to_string(), "from 0 to 1");
        }
        if self.queries < 3 {
            return wrong("queries", self.queries.to_string(), "at least 3");
        }
        Ok(EpsChecked(self))
    }
}

/// Parameters that [`EpsParams::check`] let pass: what an [`EpsSearch`](super::EpsSearch) runs with.
#[derive(Clone, Debug, PartialEq)]
pub struct EpsChecked(EpsParams);

impl EpsChecked {
    /// Points within eps that make a point core.
    pub fn min_points(&self) -> usize {
        self.0.min_points
    }

    pub(super) fn octaves(&self) -> f64 {
        self.0.octaves
    }

    pub(super) fn alike(&self) -> f64 {
        self.0.alike
    }

    pub(super) fn noise(&self) -> f64 {
        self.0.noise
    }

    pub(super) fn queries(&self) -> usize {
        self.0.queries
    }
}
