//! [`Mode`]: choice between the optimal and the published method, which sets the parameters of
//! every step from bursts to tracked regions.

use crate::cluster::{Border, DbscanParams, RefineMode, RefineParams};
use crate::tracking::TrackParams;
use crate::{AlignMethod, AlignParams, ExtractParams, ScaleMode, ScaleParams, ZeroDivision};

/// Method for finding clusters and for matching the clusters of different experiments.
///
/// Each step has separate parameters. This type sets the parameters in which the two methods differ,
/// for programs that offer the choice to their users:
///
/// | step | [`Optimal`](Mode::Optimal) | [`Published`](Mode::Published) |
/// |---|---|---|
/// | [`extract`](Mode::extract) | after a division by 0 the burst lacks the metric | the result is 0 |
/// | [`scale`](Mode::scale) | one range for all experiments, between quantiles, after a fitted shift | smallest to largest value of each experiment |
/// | [`dbscan`](Mode::dbscan) | a border point joins the core point of lowest index | border points are assigned in the order of the established tool |
/// | [`refine`](Mode::refine) | radii of equal ratios | the published list of radii |
/// | [`align`](Mode::align) | a star around the consensus | pairs, a tree and profiles |
/// | [`track`](Mode::track) | optimal assignment of all evidence | links of at least 15 %, closed transitively; callers only if requested |
///
/// In published mode each experiment has a separate space and therefore needs a separate radius, see
/// [`shares_a_space`](Mode::shares_a_space). A burst whose metric is 0 on a logarithmic axis is no
/// point in either mode. The established tools place such bursts at the smallest representable
/// number, which stretches the axis.
///
/// ```
/// use perf_track::{Align, Mode};
/// use perf_track::cluster::{Border, Dbscan};
/// let mode = Mode::Published;
/// let dbscan = mode.dbscan(Dbscan::params().eps(0.04)).check()?;
/// assert_eq!(dbscan.border(), Border::PeerCompatible);
/// assert!(!mode.shares_a_space());
/// let align = mode.align(Align::params()).check()?;
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Assignment of largest evidence over all experiments, with explicit births, deaths, splits
    /// and merges.
    #[default]
    Optimal,
    /// Published heuristic: every link above a threshold counts, and groups are its transitive
    /// closure (Llort et al., section III.D).
    Published,
}

impl Mode {
    /// Sets the result of a division by 0.
    pub fn extract(self, params: ExtractParams) -> ExtractParams {
        match self {
            Mode::Optimal => params,
            Mode::Published => params.zero_division(ZeroDivision::Zero),
        }
    }

    /// Sets the method for the range of an axis.
    pub fn scale(self, params: ScaleParams) -> ScaleParams {
        params.mode(match self {
            Mode::Optimal => ScaleMode::Joint,
            Mode::Published => ScaleMode::PerExperiment,
        })
    }

    /// Sets the rule for border points.
    pub fn dbscan(self, params: DbscanParams) -> DbscanParams {
        params.border(self.border())
    }

    /// Sets the source of the radii of a refinement.
    pub fn refine(self, params: RefineParams) -> RefineParams {
        params.border(self.border()).mode(match self {
            Mode::Optimal => RefineMode::ScaleFree,
            Mode::Published => RefineMode::Published,
        })
    }

    /// Sets the method of sequence alignment, which determines the SPMD score.
    pub fn align(self, params: AlignParams) -> AlignParams {
        params.method(match self {
            Mode::Optimal => AlignMethod::Star,
            Mode::Published => AlignMethod::Progressive,
        })
    }

    /// Sets the method of tracking.
    pub fn track(self, params: TrackParams) -> TrackParams {
        params.mode(self)
    }

    /// Returns `true` if distances in different experiments are comparable, so that one radius
    /// suits all of them.
    pub fn shares_a_space(self) -> bool {
        self == Mode::Optimal
    }

    fn border(self) -> Border {
        match self {
            Mode::Optimal => Border::LowestCore,
            Mode::Published => Border::PeerCompatible,
        }
    }
}

/// Writes the name: `optimal` or `published`.
impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Mode::Optimal => "optimal",
            Mode::Published => "published",
        })
    }
}
