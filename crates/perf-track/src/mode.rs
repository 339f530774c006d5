//! [`Mode`]: as published, or ours, in every step from bursts to objects.

use crate::cluster::{Border, DbscanParams, RefineMode, RefineParams};
use crate::tracking::TrackParams;
use crate::{AlignMethod, AlignParams, ExtractParams, ScaleMode, ScaleParams, ZeroDivision};

/// How clusters are found, and how those of different frames are found to be one object.
///
/// Each step has parameters of its own; this sets those in which the two ways differ, for
/// programs that let their users choose:
///
/// | step | [`Optimal`](Mode::Optimal) | [`Published`](Mode::Published) |
/// |---|---|---|
/// | [`extract`](Mode::extract) | a ratio by 0 is none: the burst lacks the metric | it is 0 |
/// | [`scale`](Mode::scale) | one range for all frames, between quantiles, after a fitted shift | from the least to the largest value of each frame |
/// | [`dbscan`](Mode::dbscan) | border points go to the core point of the lowest index | they go as the established tool visits them |
/// | [`refine`](Mode::refine) | radii of equal ratios | the published list of radii |
/// | [`align`](Mode::align) | a star around the consensus | pairs, a tree and profiles |
/// | [`track`](Mode::track) | optimal assignment of all evidence | links of at least 15 %, closed transitively; callers only if asked for |
///
/// In published mode frames have spaces of their own, so each needs its own radius; see
/// [`shares_a_space`](Mode::shares_a_space). A logarithm of 0 makes no point in either mode: the
/// established tools put such bursts at the smallest number there is, from where they stretch the axis.
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
    /// The assignment of largest evidence over all frames, in which births, deaths, splits and
    /// merges are explicit.
    #[default]
    Optimal,
    /// The published heuristic: every link above a threshold counts, and groups are its transitive
    /// closure (Llort et al., section III.D).
    Published,
}

impl Mode {
    /// Sets what a division by 0 gives.
    pub fn extract(self, params: ExtractParams) -> ExtractParams {
        match self {
            Mode::Optimal => params,
            Mode::Published => params.zero_division(ZeroDivision::Zero),
        }
    }

    /// Sets how the range of an axis is found.
    pub fn scale(self, params: ScaleParams) -> ScaleParams {
        params.mode(match self {
            Mode::Optimal => ScaleMode::Joint,
            Mode::Published => ScaleMode::PerFrame,
        })
    }

    /// Sets whose border points are.
    pub fn dbscan(self, params: DbscanParams) -> DbscanParams {
        params.border(self.border())
    }

    /// Sets where the radii of a refinement come from.
    pub fn refine(self, params: RefineParams) -> RefineParams {
        params.border(self.border()).mode(match self {
            Mode::Optimal => RefineMode::ScaleFree,
            Mode::Published => RefineMode::Published,
        })
    }

    /// Sets how sequences are aligned, and with it the SPMD score.
    pub fn align(self, params: AlignParams) -> AlignParams {
        params.method(match self {
            Mode::Optimal => AlignMethod::Star,
            Mode::Published => AlignMethod::Progressive,
        })
    }

    /// Sets how objects are found.
    pub fn track(self, params: TrackParams) -> TrackParams {
        params.mode(self)
    }

    /// Whether distances in different frames are alike, so that one radius suits all of them.
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

/// Its name: `optimal` or `published`.
impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Mode::Optimal => "optimal",
            Mode::Published => "published",
        })
    }
}
