//! Correlation of severity views in the frequency domain: finds code regions that influence one
//! another, after removing known effects.
//!
//! A severity view is the severity of one metric and call path at each point of an n-dimensional
//! topology. Two views are compared by their filtered circular cross-correlation, `R(dx) = g_ab(dx)
//! / sqrt(g_aa(0) g_bb(0))` with `g_ab = IDFT(w conj(A) B)`: over all shifts, and with a filter
//! that removes the variation along some axes (Vierjahn et al., "the paper" below).
//!
//! # From a profile to a list
//! ```
//! use perf_core::{Job, Profile};
//! use perf_spectral::{AxisFilter, Missing, RankParams, Spectra, stored_rows};
//! use perf_topology::{AxisOrder, Shape, Topology};
//!
//! let trace = perf_core::samples::cosmo::trace();
//! let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
//! let ranks = profile.system().locations().len();
//! let shape = Shape::of(&perf_topology::balanced(ranks, 2))?;
//! let grid = Topology::by_order(shape, AxisOrder::LastFastest, ranks);
//!
//! let metric = profile.metric("time").expect("profiles of traces have it");
//! let rows = stored_rows(&profile, &[metric]);
//! let mut builder = Spectra::<f64>::builder(&grid.shape().lens())?;
//! builder.add_rows(&profile, &grid, &rows, Missing::Fill, &Job::default())?;
//! let spectra = builder.finish();
//!
//! let list = spectra.rank(0, &AxisFilter::all(2), &RankParams::default().top(3).check()?, &Job::default())?;
//! for found in &list.matches {
//!     let path = profile.calls().name(rows[found.view].1, profile.regions());
//!     println!("{:+.3} at {:?} {path}", found.r(), spectra.plan().shift(found.peak));
//! }
//! assert!(list.matches.iter().all(|found| found.r().abs() <= 1.0));
//! assert!(list.matches.is_sorted_by(|one, next| one.r().abs() >= next.r().abs()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | question | item |
//! |---|---|
//! | Along which axes does a view vary, and which should be filtered? | [`Spectra::axis_power`] |
//! | Which views correlate with a given one? | [`Spectra::rank`], pruned, or all |
//! | Which pairs of views correlate? | [`Spectra::pairs`], [`Spectra::correlate_pairs`] |
//! | Which pairs correlate beyond chance, apart from kin? | [`Spectra::relations`], [`Kinship`] |
//! | On which grid of processes does the program work? | [`Grids::of`] |
//! | Is a correlation significant? | [`Spectra::chance_bounds`], in closed form; [`Spectra::confidence`], from surrogates |
//! | Which field remains after filtering? | [`Spectra::filtered`] |
//! | Do the spectra exceed the memory? | [`Spectra::builder_in`] keeps spectra in a file, [`Spectra::open`] opens it again |
//! | Is only the transform needed? | [`Transform`] |
//! | Are there other filters? | [`Filter`]: [`Band`], [`Harmonics`], [`Without`], [`Both`] |
//!
//! # Conventions
//! * Frequencies are signed indices, so the length of an axis matters. [`Frequencies::Physical`] is
//!   the alternative.
//! * The mean is removed; empty cells are set to the mean.
//! * A result contains the maximum and minimum of R, and R without shift. `argmax R` alone, as in
//!   the text of the paper ([`Score::Paper`]), can never show that two views are opposites, because
//!   R sums to 0 over all shifts.
//! * Extremes are accurate to 1e-9 (f32: 2e-6). Among equal values the smallest shift on the torus
//!   wins, then the lowest cell. Variation below the rounding error of the values is ignored: R is
//!   0 there.
//! * The reported value is the one of largest magnitude to within [`TOLERANCE`], 1 %: magnitudes
//!   that differ by less count as equal, and the smallest shift is reported
//!   ([`Correlation::best`]). A wave has `-r` half a period away from `+r`, so otherwise noise
//!   would decide the sign. [`RankParams::tolerance`] changes it; 0 disables it.
//! * Rows of a profile with an infinite or NaN value are skipped and listed, or rejected
//!   ([`Unfit`]).
//! * Results do not depend on the number of threads. They may differ by rounding between processors
//!   of different kinds.
//!
//! # Cost
//! Let n = |T| be the number of points. A spectrum takes exactly n reals and is computed once in n
//! log n. Correlating one view with m others takes at most m inverse transforms. Pruned lists take
//! fewer if few views correlate with the reference, and one pass over the spectra in any case.
//! [`Spectra::confidence`] takes one transform for each view and surrogate. [`Spectra::builder_in`]
//! keeps the spectra on disk and only a few views in memory.
//!
//! # Pitfalls
//! * R is a quotient. After the known axes are removed, a perfect 1 may describe a negligible
//!   variation. [`Spectra::axis_power`] returns the share of each axis in the variation of a view.
//! * Every axis is treated as periodic. On non-periodic grids a shift wraps around; R without shift
//!   is not affected.
//! * An axis of length 1 has no variation, and an axis of length 2 cannot distinguish a shift from
//!   a change of sign.
//! * Among many views some always correlate by chance: [`Confidence`] has a p-value for all of them
//!   together.
//! * If the order of ranks differs from that of the program, the views show patterns that the
//!   program does not have.
//!
//! # Threads
//! Views are distributed over threads; a transform is not. With fewer views than threads some
//! threads are idle. FFTW with two threads in each transform of 65,536 points takes about three
//! times as long as with one thread for each half of the views (`cargo xtask compare spectral`).
//!
//! # Memory
//! The spectrum of a view of |T| points takes |T| numbers in memory. [`Transform::memory`] returns
//! the memory for a number of views during construction, including the working space. Spectra in a
//! file take none.
//!
//! # Speed
//! Two threads correlate one view with many others 1.6 to 1.9 times as fast as the faster of two
//! FFTW implementations in f64, and 2.3 to 2.6 times as fast in f32. Forward transforms are 1.04 to
//! 1.4 times as fast in f64 and 2.2 to 2.7 times in f32. The smallest ratio is that of the largest
//! shape of the comparison, 28 x 8 x 8 x 8 x 2 x 16 x 4, in f64 (1.04 to 1.20), because view and
//! spectrum have 15 MB each and wait for memory. `docs/benchmarks.md` lists all results with the
//! machine and the number of runs; `cargo xtask compare spectral` measures them.
//!
//! # Features
//! * `parallel` (default): transforms and correlates views on all cores.
//! * `serde`: `Serialize` for results.
//!
//! Every result has a method `table`; the feature `render` of `perf-core` writes tables as text, CSV and JSON.
#![doc(html_root_url = "../")]

mod axes;
mod correlation;
mod error;
mod fft;
mod filter;
mod grids;
mod profile;
mod real;
mod relations;
mod significance;
mod spectra;
mod table;

pub use axes::AxisPower;
pub use correlation::{
    Bound, CheckedRank, Correlation, Match, PairMatch, Peak, RankParams, Ranking, Reference, Score,
    TOLERANCE,
};
pub use error::{Error, Result};
pub use fft::{Scratch, Transform};
pub use filter::{AxisFilter, Band, Both, Filter, Frequencies, Harmonics, Wave, Without};
pub use grids::{Assignment, CheckedGrids, GridCandidate, GridParams, GridVerdict, Grids};
pub use profile::{Missing, Skipped, Unfit, same_paths, stored_rows};
pub use real::Real;
pub use relations::{
    ChanceBound, CheckedRelations, Kinship, Relation, RelationParams, Relations, Tie,
};
pub use significance::{CheckedNull, Confidence, NullParams};
pub use spectra::{Spectra, SpectraBuilder, View};
pub use table::ViewNames;
