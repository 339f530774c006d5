//! Folded timelines: the states of many streams summarised in a few rows, with utilisation of
//! devices, counters over time and messages between rows.
//!
//! A timeline has one row for each thread. With thousands of threads it fits on no screen. Folding
//! combines many streams (threads and accelerator queues) into one row and keeps the essential
//! information: the most frequent state, outliers, and differences between streams. The method is
//! due to Weber (folding methods for event timelines, HIPS workshop at IPDPS 2015):
//!
//! 1. **State.** At each time, each stream is in a [`State`]: a class that a [`StateMap`] derives
//!    from its call stack, idle (`None` in the paper), or absent. [`Timelines`] store these states.
//! 2. **Sample.** Each pixel of the time axis is sampled at its centre. This takes one search for
//!    each pixel, regardless of the number of events in between.
//! 3. **Select.** For each pixel the states of a group of streams are counted, and an [`Op`]
//!    selects one of them. `max` selects the most frequent state, `min` the rarest, `diff` shows
//!    differences, and `idle` selects the most frequent state other than idle.
//!
//! Let `c(s)` be the number of streams of the group that are in state `s` at the centre of pixel p.
//! W is the number of pixels. Then
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
//! // 40 ranks, 4 of which become slower and slower. Any trace can be used.
//! let trace = perf_core::samples::cosmo::trace();
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
//! # Overview
//!
//! | question | item |
//! |---|---|
//! | Which phases does the job go through? | [`Op::Max`] over [`GroupBy::All`] or [`GroupBy::Node`] |
//! | Does any rank deviate, and when? | [`Op::Diff`], [`Op::Outliers`], then [`Folder::unfold`] |
//! | What are the deviating ranks doing? | [`Op::Min`] |
//! | Are the accelerators busy? | [`Op::Idle`] over [`GroupBy::Device`], [`Devices`] |
//! | Why are they idle? | [`Devices`], [`Cause`] |
//! | Which kinds of work do they execute? | classes by [`WorkRules`] |
//! | Which data is copied between host and device? | [`device_copies`], then [`Folder::lines`] |
//! | How many streams are in MPI? | [`Op::Count`], with classes by [`RegionGroups`] |
//! | How much do the streams differ? | [`Op::Entropy`], [`Cell::agreement`] |
//! | Which state takes most of the time in a pixel, not only at its centre? | [`Selection::Exact`], [`Op::Share`] |
//! | Which states does a cell contain? | [`Folder::tally`] |
//! | Which rows exchange messages? | [`Folder::lines`], [`Folder::messages`] |
//! | How long are messages, and how fast? | [`MessageSizes`] |
//! | What does one location call? | [`Timelines::call_stack`] |
//! | How do counters change, such as power or instructions? | [`Counters`] |
//! | When does a counter exceed a bound? | [`Timelines::of_counter`] |
//! | Which value has an event kind, such as an iteration? | [`Timelines::of_events`] |
//! | How can other programs open a fold? | [`Fold::to_trace`], then a writer of `perf-formats` |
//!
//! # Cost
//!
//! A transition takes 12 bytes. On one core at 2.6 GHz, an archive of 20 M events in 1,024 streams
//! is read, converted to timelines and folded into 1,920 columns in 0.74 s; another window is
//! folded in 62 ms (two cores: 0.45 s and 31 ms). `docs/benchmarks.md` lists the commands.
//! [`Folder::refold`] does not allocate. All results are the same for any number of threads.
//!
//! The memory can be estimated beforehand: [`Timelines::estimate`] for a view, [`Folder::memory`]
//! for a fold with its scratch.
//!
//! # Pitfalls
//!
//! * Sampling can miss states that are shorter than a pixel. It does not miss them evenly: a loop
//!   whose period matches the pixels shows only one of its phases. Zoom in, or use exact selection.
//! * Zero-length work adds no time. It is visible only if a pixel is at most one tick wide, so zoom
//!   in.
//! * If every region is its own class, no two ranks of a large application ever agree, and `diff`
//!   is coloured everywhere. Group regions first, see [`RegionGroups`].
//! * `max` over an accelerator with many streams shows it idle while it is busy. Rows of
//!   accelerator streams are therefore folded by `idle` unless an operation is set.
//! * An uncoloured cell of a published `diff` picture means either that all streams agree or that
//!   the idle streams are the minority. [`Value`] distinguishes these cases; [`Cell::picture`] does
//!   not.
//! * The majority of group majorities can differ from the overall majority: [`Nesting::Nested`]
//!   differs from [`Nesting::Flat`].
//! * A thread that has ended is absent, not idle. Absent streams are counted as idle, as published,
//!   unless [`AbsentRule::LeaveOut`] is set.
//!
//! # Features
//! * `parallel` (default): builds timelines and folds on all cores.
//! * `serde`: `Serialize` for results and ids.
//!
//! Every result has a method `table` or `tables`; the feature `render` of `perf-core` writes tables as text, CSV
//! and JSON.
#![doc(html_root_url = "../")]

mod cells;
mod counters;
mod devices;
mod error;
mod messages;
mod rows;
#[cfg(feature = "serde")]
mod serialize;
mod states;
mod table;
mod utilisation;

pub use cells::fold::{Fold, FoldRow};
pub use cells::folder::{Folder, Scratch};
pub use cells::operation::{Cell, Choice, FoldOp, Op, Value};
pub use cells::params::{AbsentRule, Checked, FoldParams, Nesting, Selection, Ties};
pub use cells::tally::{Counts, Entry, Tally};
pub use counters::counter::{Across, Counter, Counters};
pub use counters::series::{CounterCell, Series};
pub use devices::{
    Cause, Device, DeviceCopies, DeviceParams, Devices, Gap, Hta, HtaParams, Span, StreamUse, Work,
    WorkRules, device_copies,
};
pub use error::{Error, Result};
pub use messages::message_lines::{Column, Ends, Line, Lines, Traffic};
pub use messages::message_matrix::{MessageMatrix, Pair};
pub use messages::message_sizes::{MessageSizes, SizeClass};
pub use rows::groups::{Group, GroupBy, GroupId, Groups};
pub use rows::{RowOrder, similar_rows};
pub use states::class::{ClassId, Classes, State};
pub use states::state_map::{RegionGroups, RegionMap, StateMap};
pub use states::timelines::{Boundary, Timelines};
pub use utilisation::{Usage, Utilisation};
