//! Folded timelines: what are a thousand streams doing, on one screen?
//!
//! A timeline has a row for each thread, and a screen has a thousand rows and no eye to read them.
//! Folding puts many streams (threads, and queues of work of accelerators) into one row and keeps what
//! matters: what most of them do, what the odd ones do, and where they differ. The method is Weber's (folding methods for event timelines,
//! HIPS workshop at IPDPS 2015):
//!
//! 1. **State.** Each stream is, at each time, in a [`State`]: a class that a [`StateMap`] makes
//!    of its call stack, idle (the paper's `None`), or absent. [`Timelines`] hold them.
//! 2. **Sample.** Each pixel of the time axis is the time at its centre. The cost is that of a
//!    search a pixel, however many events lie between.
//! 3. **Select.** For each pixel the states of a group of streams are counted and an [`Op`]
//!    selects one: `max` what most do, `min` what fewest do, `diff` where they differ, `idle` what
//!    those do that do something.
//!
//! With `c(s)` the streams of a group that are in state `s` at the centre of pixel p of W,
//!
//! ```text
//! t_p  = t0 + floor((2p + 1)(t1 - t0) / 2W)
//! max  = argmax c        min  = argmin c over states that occur
//! diff = nothing if all are equal, else min
//! idle = argmax c over states that are not idle
//! ```
//!
//! ```
//! use perf_core::Job;
//! use perf_fold::{Folder, GroupBy, Groups, Op, RegionMap, Timelines};
//! // 40 ranks, 4 of which have more and more to do. Any trace will do.
//! let trace = perf_testdata::cosmo::trace();
//!
//! let states = RegionMap::by_name(trace.definitions())?;
//! let timelines = Timelines::new(trace.view(), &states, &Job::default())?;
//! let groups = Groups::by(&timelines, GroupBy::Node);
//! let params = Folder::params().columns(800).op(Op::Max).check()?;
//! let folder = Folder::new(&timelines, groups, params)?;
//!
//! let window = timelines.range();
//! let fold = folder.fold(window, &Job::default())?;
//! for (row, usage) in fold.rows().zip(folder.usage(window, &Job::default())?) {
//!     let busy = usage.utilisation.utilisation();
//!     println!("{}: {} streams, {:.0} % busy", row.label(), row.streams(), 100.0 * busy);
//!     for (state, share) in usage.named(timelines.classes()) {
//!         println!("  {state}: {:.1} %", 100.0 * share);
//!     }
//!     assert_eq!(row.cells().len(), 800);
//! }
//! // Late in the run 4 of the 10 ranks of the first node still compute while the others wait.
//! let waiting = timelines.classes().id("MPI_Allreduce").expect("it is entered");
//! let cell = fold.row(0).and_then(|row| row.cells().get(795)).expect("it is there");
//! assert_eq!((cell.picture(), cell.winning, cell.total), (Some(waiting), 6, 10));
//! # Ok::<(), perf_fold::Error>(())
//! ```
//!
//! # What to ask with what
//!
//! | question | ask |
//! |---|---|
//! | What does the job do, phase by phase? | [`Op::Max`] over [`GroupBy::All`] or [`GroupBy::Node`] |
//! | Is any rank out of step, and when? | [`Op::Diff`], [`Op::Outliers`], then [`Folder::unfold`] |
//! | What do the few do that are out of step? | [`Op::Min`] |
//! | Do the accelerators work? | [`Op::Idle`] over [`GroupBy::Device`], [`Devices`] |
//! | Why are they idle? | [`Devices`], [`Cause`] |
//! | What do they do? | classes by [`WorkRules`] |
//! | What is copied between host and device? | [`device_copies`], then [`Folder::lines`] |
//! | How many are in MPI? | [`Op::Count`], with classes by [`RegionGroups`] |
//! | How mixed is it? | [`Op::Entropy`], [`Cell::agreement`] |
//! | What takes the time in a pixel, not only at its centre? | [`Selection::Exact`], [`Op::Share`] |
//! | What exactly is in this cell? | [`Folder::tally`] |
//! | Who talks to whom? | [`Folder::lines`] |
//! | How do others open it? | [`Fold::to_trace`], then a writer of `perf-formats` |
//!
//! # Cost
//!
//! A transition takes 12 bytes. On one core of 2.6 GHz, an archive of 20 M events in 1,024 streams is read, becomes timelines and a
//! picture of 1,920 columns in 0.74 s, and another window is folded in 62 ms (two cores: 0.45 s and 31 ms);
//! `docs/benchmarks.md` has the commands. [`Folder::refold`] allocates nothing. All results are the same for any
//! number of threads.
//!
//! Memory is told before it is taken: [`Timelines::estimate`] of a view, [`Folder::memory`] of a fold with its
//! scratch.
//!
//! # Pitfalls
//!
//! * Sampling misses what is shorter than a pixel. It does not do so evenly: a loop in step with
//!   the pixels shows one of its phases only. Zoom, or select exactly.
//! * Work of no length adds no time. It shows where a pixel is no wider than a tick: zoom in.
//! * With single regions as classes no two ranks of a large application are ever alike and `diff`
//!   is coloured everywhere. Group regions first, see [`RegionGroups`].
//! * `max` over an accelerator with many streams shows it idle while it is busy; rows of streams
//!   are folded by `idle` unless told otherwise.
//! * No colour in a published `diff` picture means that all agree, or that the idle ones are the
//!   minority. [`Value`] tells these apart; [`Cell::picture`] does not.
//! * A majority of majorities is no majority: [`Nesting::Nested`] differs from [`Nesting::Flat`].
//! * A thread that has ended is absent, not idle. Absent streams are counted as idle, as
//!   published, unless [`AbsentRule::LeaveOut`] is asked for.
//!
//! # Features
//! * `parallel` (default): builds timelines and folds on all cores.
//! * `serde`: `Serialize` for results and ids.
//!
//! Every result has a method `table` or `tables`; the feature `render` of `perf-core` writes tables as text, CSV
//! and JSON.
#![doc(html_root_url = "../")]

mod build;
mod class;
mod devices;
mod error;
mod fold;
mod folder;
mod groups;
mod kernel;
mod lines;
mod map;
mod op;
mod overlap;
mod params;
mod sample;
#[cfg(feature = "serde")]
mod serialize;
mod table;
mod tally;
mod timelines;
mod trace;
mod tree;
mod usage;

pub use class::{ClassId, Classes, State};
pub use devices::{
    Cause, Device, DeviceCopies, DeviceParams, Devices, Gap, Hta, HtaParams, Span, StreamUse, Work,
    WorkRules, device_copies,
};
pub use error::{Error, Result};
pub use fold::{Fold, FoldRow};
pub use folder::{Folder, Scratch};
pub use groups::{Group, GroupBy, GroupId, Groups};
pub use lines::{Column, Ends, Line, Lines, Traffic};
pub use map::{RegionGroups, RegionMap, StateMap};
pub use op::{Cell, Choice, FoldOp, Op, Value};
pub use params::{AbsentRule, Checked, FoldParams, Nesting, Selection, Ties};
pub use tally::{Counts, Entry, Tally};
pub use timelines::{Boundary, Timelines};
pub use usage::{Usage, Utilisation};
