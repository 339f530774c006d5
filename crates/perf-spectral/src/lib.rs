//! Correlation of severity views in the frequency domain: which code regions influence one another,
//! apart from what is already known?
//!
//! A severity view is what one metric and call path cost at each point of an n-dimensional topology. Two
//! views are compared by their filtered circular cross correlation, `R(dx) = g_ab(dx) / sqrt(g_aa(0)
//! g_bb(0))` with `g_ab = IDFT(w conj(A) B)`: over all shifts, and with a filter that takes variation
//! along some axes away (Vierjahn et al., "the paper" below).
//!
//! # From a profile to a list
//! ```
//! use perf_core::{Job, Profile};
//! use perf_spectral::{AxisFilter, Missing, RankParams, Spectra, stored_rows};
//! use perf_topology::{AxisOrder, Shape, Topology};
//!
//! let trace = perf_testdata::cosmo::trace();
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
//! | question | here |
//! |---|---|
//! | along which axes does a view vary, and what to filter? | [`Spectra::axis_power`] |
//! | which views go with this one? | [`Spectra::rank`], pruned, or all |
//! | which pairs of views go together? | [`Spectra::pairs`], [`Spectra::correlate_pairs`] |
//! | could that be chance? | [`Spectra::confidence`] |
//! | the field that remains after filtering | [`Spectra::filtered`] |
//! | more than memory holds? | [`Spectra::builder_in`] keeps spectra in a file, [`Spectra::open`] opens it again |
//! | the transform itself | [`Transform`] |
//! | other filters | [`Filter`]: [`Band`], [`Harmonics`], [`Without`], [`Both`] |
//!
//! # What is settled here
//! * Frequencies are signed indices, so the length of an axis matters; [`Frequencies::Physical`] is the other choice.
//! * The mean takes no part, and cells without a location count as it.
//! * A result has the largest R, the smallest, and that without shift. `argmax R` alone, as the text of the
//!   paper has it ([`Score::Paper`]), can never show that two views are opposites: R sums up to 0 over all shifts.
//! * Extremes are found to within 1e-9 (f32: 2e-6); of equal values the smallest shift on the torus wins, then the
//!   lowest cell. What is smaller than rounding of the values is no variation: R is 0 there.
//! * The reported value is the one of largest magnitude to within [`TOLERANCE`], 1 %: magnitudes that differ by less
//!   count as equal, and the smallest shift is reported ([`Correlation::best`]). A wave has `-r` half a period away
//!   from `+r`, so that noise would decide the sign otherwise. [`RankParams::tolerance`] changes it; 0 is strict.
//! * Rows of a profile with a value that is infinite or no number are skipped and named, or refused ([`Unfit`]).
//! * Results do not depend on the number of threads. Between processors of different kinds they may differ by
//!   rounding.
//!
//! # Cost
//! With n = |T| points: a spectrum takes exactly n reals and is made in n log n, once. One view against m
//! others takes at most m inverse transforms; lists that are pruned take fewer where little goes with the
//! reference, and one pass over the spectra in any case. [`Spectra::confidence`] takes a transform a view and
//! surrogate. [`Spectra::builder_in`] keeps spectra on disk, and a few views in memory.
//!
//! # What to mind
//! * R is a quotient. With the known axes filtered away a perfect 1 may be of next to nothing: ask
//!   [`Spectra::axis_power`] how much of the view the axes hold.
//! * Every axis is taken for periodic. On a grid that is none, a shift wraps around; R without shift does not.
//! * An axis of length 1 holds nothing, and one of length 2 cannot tell a shift from a change of sign.
//! * Among many views something always correlates: [`Confidence`] has a p for all of them together.
//! * Ranks laid out in another order than the program's make patterns that are none of the program.
//!
//! # Threads
//! Threads share views, not a transform: with fewer views than threads some have nothing to do. FFTW with
//! two threads inside each transform of 65 536 points takes about three times as long as with a thread for half
//! of the views each (`cargo xtask compare spectral`).
//!
//! # Memory
//! A view of |T| points takes |T| numbers in memory as a spectrum; [`Transform::memory`] tells what some views
//! take while they are made, working space included. Those of a file take none.
//!
//! # Speed
//! Two threads correlate one view with many 1.6 to 1.9 times as fast as the faster of two ways of FFTW
//! in f64, and 2.3 to 2.6 times in f32. Forward transforms are 1.3 to 2.7 times as fast, but for the largest
//! shape of the comparison, 28 x 8 x 8 x 8 x 2 x 16 x 4, in f64: those take longer than with FFTW (0.81). They are
//! bound by memory: 15 MB each of view, working space and spectrum cross it. `docs/benchmarks.md` has all of them,
//! with the machine and how often each was run; `cargo xtask compare spectral` measures them.
//!
//! # Features
//! * `parallel` (default): views are transformed and correlated on all cores.
//! * `serde`: `Serialize` for results.
//!
//! Every result has a method `table`; the feature `render` of `perf-core` writes tables as text, CSV and JSON.
#![doc(html_root_url = "../")]

mod axes;
mod butterfly;
mod coefficient;
mod collect;
mod compiled;
mod dispatch;
mod energy;
mod error;
mod extremes;
mod filter;
mod first;
mod forward;
mod gather;
mod halves;
mod inverse;
#[expect(
    clippy::needless_range_loop,
    reason = "indices of small arrays are the subscripts of the formulas"
)]
mod last;
mod layout;
mod lines;
mod long;
mod pairs;
mod params;
mod points;
mod prime;
mod profile;
mod rank;
mod real;
mod reference;
mod result_table;
mod spectra;
mod store;
mod surrogate;
mod table;
mod transform;
mod turn;

pub use axes::AxisPower;
pub use collect::SpectraBuilder;
pub use error::{Error, Result};
pub use extremes::Peak;
pub use filter::{AxisFilter, Band, Both, Filter, Frequencies, Harmonics, Wave, Without};
pub use pairs::PairMatch;
pub use params::{CheckedRank, RankParams, Score};
pub use profile::{Missing, Skipped, Unfit, same_paths, stored_rows};
pub use rank::{Match, Ranking};
pub use real::Real;
pub use reference::{Bound, Correlation, Reference, TOLERANCE};
pub use result_table::ViewNames;
pub use spectra::{Spectra, View};
pub use surrogate::{CheckedNull, Confidence, NullParams};
pub use transform::{Scratch, Transform};
