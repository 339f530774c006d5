//! Data model of perfkit: time, locations, regions, traces and profiles of parallel programs.
//!
//! Readers convert files to a [`Trace`] or a [`Profile`], and analyses are functions of these
//! types. Readers and analyses do not depend on each other. This crate contains the shared types
//! and the basic algorithms: [`replay()`] converts enter and leave events to call frames,
//! [`intervals()`] does the same for overlapping regions, [`match_messages`] finds the two ends of
//! each message, and [`clip()`] extracts a window of time.
//!
//! ```
//! use perf_core::{Job, Definitions, Event, Events, Location, Nanos, Profile, Region, RegionId};
//! use perf_core::{SystemTree, Ticks, Trace, Value};
//! // One thread: `main` from 0 to 100 ns, and in it `solve` from 20 to 80.
//! let mut definitions = Definitions::default();
//! definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
//! definitions.regions = vec![Region::named("main"), Region::named("solve")];
//! let (main, solve) = (RegionId(0), RegionId(1));
//! let mut events = Events::default();
//! events.push(Ticks(0), Event::Enter { region: main })?;
//! events.push(Ticks(20), Event::Enter { region: solve })?;
//! events.push(Ticks(80), Event::Leave { region: solve })?;
//! events.push(Ticks(100), Event::Leave { region: main })?;
//! let trace = Trace::new(definitions, vec![events])?;
//! assert_eq!(trace.definitions().clock.nanos(Ticks(80)), Some(Nanos(80)));
//!
//! let (profile, counts) = Profile::from_trace(trace.view(), &Job::default())?;
//! let own = profile.metric("exclusive time").expect("profiles of traces have it");
//! let sums: Vec<Value> = profile.paths(own).iter().filter_map(|path| profile.total(own, *path).ok()).collect();
//! assert_eq!(sums, [Value::U64(40), Value::U64(60)]);
//! assert_eq!(counts.repairs(), 0);
//! # Ok::<(), perf_core::Error>(())
//! ```
//!
//! # Method
//! With a clock of `r` ticks per second and origin `t0`, tick `t` corresponds to
//! `floor((t - t0) 10^9 / r)` ns. Call frames come from [`replay()`]: a leave closes the innermost frame if
//! that belongs to the same region, and is otherwise repaired by a counted rule ([`ReplayCounts`]). A call
//! that is open from `e` to `l` contributes, together with the calls that it makes,
//!
//! ```text
//! inclusive = l - e        exclusive = inclusive - sum of the inclusive times of those calls
//! ```
//!
//! [`Profile::from_trace`] sums these times by call path and location. The k-th send and the k-th
//! receive of one communicator, pair of ranks and tag form one message, with receives in the order
//! in which they were posted (the non-overtaking rule of MPI). The k-th collectives of all ranks of
//! a communicator form one operation.
//!
//! # Devices
//! A stream of an accelerator is a location of [`LocationKind::AcceleratorStream`] in a group of
//! [`GroupKind::Accelerator`], whose creator is the process that drives it. Readers distinguish
//! streams by process, device, context and number, never by the number alone. Work is an enter and
//! a leave, like a call. The regions of a stream nest like those of a thread unless an overlap is
//! found: read a location that [overlaps](LocationView::overlaps) with [`intervals()`], and any
//! other location with [`replay()`]. Zero-length work is an enter and a leave at the same time and
//! counts like other work. The [`Link`]s of a [`Trace`] lead from the call that launched work to
//! the work.
//!
//! | question | types |
//! |---|---|
//! | When? | [`Ticks`], [`Nanos`], [`Clock`], [`TimeRange`] |
//! | Where? | [`SystemTree`], [`Location`], [`LocationGroup`] |
//! | In which region? | [`Region`], [`CallTree`] |
//! | How much? | [`Metric`], [`Value`], [`Profile`] |
//! | Which profile results from several ones? | [`algebra`] |
//! | Which events does the recording contain? | [`Trace`], [`Event`], [`TraceView`] |
//! | Which events occur now? | [`EventSource`], [`EventSink`], [`StreamEvent`] |
//! | Which defects does the recording have? | [`Diagnostics`], [`ReplayCounts`] |
//! | How is a result tabulated? | [`Table`], [`Column`], [`Cell`] |
//! | How are progress and cancellation handled? | [`Progress`], [`Job`] |
//! | How is work distributed over cores? | [`parallel`] |
//! | How are values encoded as bytes? | [`codec`] |
//! | How are the parameters of an analysis declared? | [`parameters!`] |
//!
//! # Cost
//! An enter or leave takes 12 bytes: a tick, and a word with kind and region. Each of the other
//! events has an additional record. Views of a window or of some locations do not copy events.
//! [`replay()`] and [`intervals()`] take time proportional to the number of events,
//! [`match_messages`] n log n in the number of messages. A [`Profile`] has rows only for views that
//! are not zero, and reads them on demand.
//!
//! # Pitfalls
//! * [`Ticks`] count the recording's own clock; [`Nanos`] count from its origin. A conversion whose
//!   result is out of range returns `None`. Ranges are half-open: the last event of a trace is at
//!   `range.end - 1`.
//! * Ids are dense numbers within one recording. The id of a location in the file is
//!   [`Location::key`]. Two recordings can only be matched by names.
//! * A location whose events are missing is [absent](Events::is_absent), which is not the same as
//!   idle.
//! * Clocks of ranks are corrected by the offsets stored in a recording; offsets are not estimated.
//!   If a message arrives before it is sent, the clocks disagree.
//!
//! # Features
//! * `serde`: `Serialize` and `Deserialize` for ids, times, plain records and [`SystemTree`], which
//!   is validated when read. [`Diagnostics`] has `Serialize` only, because its rules are constants.
//! * `parallel`: the loops of [`parallel`] run on all cores. The feature `parallel` of every other
//!   crate enables it.
//! * `render`: aligned text, CSV and JSON of a [`Table`].
#![doc(html_root_url = "../")]

mod algorithms;
pub mod codec;
mod definitions;
mod diagnostics;
mod error;
mod job;
mod limits;
mod live_events;
mod merge;
pub mod parallel;
mod parameters;
mod profile;
pub mod samples;
mod table;
pub mod text;
mod time;
mod trace;

pub use algorithms::clip::{Clipped, clip};
pub use algorithms::intervals::{Interval, OpenIntervals, intervals};
pub use algorithms::messages::{
    ClockCount, ClockPair, ClockViolations, CollectiveInstance, CollectiveMember, Endpoint,
    Message, Messages, RemoteAccess, Unmatched, UnmatchedCause, match_messages,
};
pub use algorithms::replay::{Close, FrameStack, ReplayCounts, Visitor, open_frames, replay};
pub use definitions::call_path_labels::CallPathLabels;
pub use definitions::communicators::{
    Attribute, CartDimension, CartMembers, CartTopology, Communicator, Members, Window,
};
pub use definitions::glob::fits;
pub use definitions::ids::{
    AttributeId, CallPathId, CommId, KindId, LocationGroupId, LocationId, MetricId, MetricSetId,
    RegionId, StreamId, SystemNodeId, WindowId,
};
pub use definitions::metric::{Metric, MetricMode, MetricSet, Value, ValueType};
pub use definitions::properties::{Properties, PropertiesIter};
pub use definitions::regions::{CallPath, CallTree, Paradigm, Region, RegionRole};
pub use definitions::system::{
    GroupKind, Location, LocationGroup, LocationKind, SystemNode, SystemTree,
};
pub use definitions::unify::Unify;
pub use diagnostics::{Diagnostics, Finding, Place, Rule, Weight};
pub use error::{Error, Result, write_chain};
pub use job::{CancellationChecks, Cancelled, Job, Progress, Watched};
pub use limits::Limits;
pub use live_events::{EventSink, EventSource, Peer, StreamEvent, StreamKey};
pub use merge::Merge;
pub use profile::algebra;
pub use profile::{
    Combine, JoinedRows, Profile, ProfileMetric, RowStore, Rows, Scope, Severities, SparseRows,
};
#[cfg(feature = "render")]
pub use table::is_unprintable;
pub use table::{Cell, Column, IntoCell, Table, Values};
pub use time::{Clock, Nanos, Ticks, TimeRange};
pub use trace::{
    AttributeValue, Collective, CollectiveOp, Definitions, Event, EventId, Events, Link, LinkKind,
    LocationView, RmaCompletion, RmaOp, Trace, TraceView, Transfer,
};
