//! The nouns of perfkit: time, places, code, traces and profiles of parallel programs.
//!
//! Readers turn files into a [`Trace`] or a [`Profile`], analyses are functions of them, and
//! neither knows the other. This crate holds what both speak about and no algorithm but
//! [`replay()`], which turns enter and leave into call frames, [`intervals()`], which does so where
//! they overlap, and [`match_messages`], which finds the two ends of each message.
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
//! let (profile, mended) = Profile::from_trace(trace.view(), &Job::default())?;
//! let own = profile.metric("exclusive time").expect("profiles of traces have it");
//! let sums: Vec<Value> = profile.paths(own).iter().filter_map(|path| profile.total(own, *path).ok()).collect();
//! assert_eq!(sums, [Value::U64(40), Value::U64(60)]);
//! assert_eq!(mended.repairs(), 0);
//! # Ok::<(), perf_core::Error>(())
//! ```
//!
//! # How
//! With a clock of `r` ticks a second and origin `t0`, tick `t` is at `floor((t - t0) 10^9 / r)` ns. Frames of
//! calls come from [`replay()`]: a leave closes the innermost frame of its region, and by one of four counted
//! rules ([`ReplayCounts`]) what else must be closed. Of a call that is open from `e` to `l`, and the calls that
//! it makes,
//!
//! ```text
//! inclusive = l - e        exclusive = inclusive - sum of the inclusive times of those calls
//! ```
//!
//! which [`Profile::from_trace`] sums by call path and location. The k-th send and the k-th receive of one
//! communicator, pair of ranks and tag are one message, receives in the order they were posted (MPI's rule that
//! messages do not overtake one another); the k-th collective of a communicator on one rank is the k-th on all.
//!
//! # Devices
//! A stream of an accelerator is a location of [`LocationKind::AcceleratorStream`] in a group of
//! [`GroupKind::Accelerator`], whose creator is the process that drives it. Readers tell streams
//! apart by process, device, context and number, never by the number alone. Work is an enter and a
//! leave like any call. Streams nest like threads unless an overlap is seen: read a location that
//! [overlaps](LocationView::overlaps) by [`intervals()`], and any other one by [`replay()`]. Work of
//! no length is an enter and a leave at one time and counts like any other. The [`Link`]s of a
//! [`Trace`] lead from the call that started work to the work.
//!
//! | question | noun |
//! |---|---|
//! | when? | [`Ticks`], [`Nanos`], [`Clock`], [`TimeRange`] |
//! | where? | [`SystemTree`], [`Location`], [`LocationGroup`] |
//! | in which code? | [`Region`], [`CallTree`] |
//! | how much? | [`Metric`], [`Value`], [`Profile`] |
//! | what happened? | [`Trace`], [`Event`], [`TraceView`] |
//! | what is happening? | [`EventSource`], [`EventSink`], [`StreamEvent`] |
//! | what was wrong with the recording? | [`Diagnostics`], [`ReplayCounts`] |
//! | in which rows and columns? | [`Table`], [`Column`], [`Cell`] |
//! | how far is it, and can it stop? | [`Progress`], [`Job`] |
//! | on how many cores? | [`parallel`] |
//! | as which bytes? | [`codec`] |
//!
//! # Cost
//! An enter or leave takes 12 bytes: a tick, and a word of kind and region. Everything else has a record
//! beside them. Views of a window or of some locations copy nothing. [`replay()`] and [`intervals()`]
//! take time in proportion to the events, [`match_messages`] n log n in the messages. Rows of a
//! [`Profile`] exist where a view is not zero, and are read when asked.
//!
//! # What to mind
//! * [`Ticks`] are of the recording's own clock, [`Nanos`] since its origin; a conversion that does not fit is
//!   `None`. Ranges are half-open: the last event of a trace is at `range.end - 1`.
//! * Ids are dense numbers of one recording. What a file calls its locations is [`Location::key`]; names are
//!   what two recordings have in common.
//! * A location whose events are missing is [absent](Events::is_absent), which is not the same as idle.
//! * Clocks of ranks are corrected by the offsets a recording holds; none is estimated. A message that comes
//!   before it goes tells that they disagree.
//!
//! # Features
//! * `serde`: `Serialize` and `Deserialize` for ids, times, plain records and [`SystemTree`], which
//!   is checked as it is read; `Serialize` alone for [`Diagnostics`], whose rules are constants.
//! * `parallel`: the loops of [`parallel`] run on all cores. The feature of that name of every crate turns it on.
//! * `render`: aligned text, CSV and JSON of a [`Table`].
#![doc(html_root_url = "../")]

mod children;
mod code;
pub mod codec;
mod comm;
mod diagnostics;
mod error;
mod glob;
mod ids;
mod intervals;
mod job;
mod limits;
mod merge;
mod messages;
mod metric;
mod overlap;
pub mod parallel;
mod profile;
mod properties;
mod replay;
mod stream;
mod system;
mod table;
mod time;
mod trace;
mod unify;

pub use code::{CallPath, CallTree, Paradigm, Region, RegionRole};
pub use comm::{
    Attribute, CartDimension, CartMembers, CartTopology, Communicator, Members, Window,
};
pub use diagnostics::{Diagnostics, Finding, Place, Rule, Weight};
pub use error::{Error, Result, write_chain};
pub use glob::fits;
pub use ids::{
    AttributeId, CallPathId, CommId, KindId, LocationGroupId, LocationId, MetricId, MetricSetId,
    RegionId, StreamId, SystemNodeId, WindowId,
};
pub use intervals::{Interval, OpenIntervals, intervals};
pub use job::{CancellationChecks, Cancelled, Job, Progress};
pub use limits::Limits;
pub use merge::Merge;
pub use messages::{
    ClockCount, ClockPair, ClockViolations, CollectiveInstance, CollectiveMember, Endpoint,
    Message, Messages, RemoteAccess, Unmatched, UnmatchedCause, match_messages,
};
pub use metric::{Metric, MetricMode, MetricSet, Value, ValueType};
pub use profile::{Combine, Profile, ProfileMetric, RowStore, Rows, Scope, Severities, SparseRows};
pub use properties::{Properties, PropertiesIter};
pub use replay::{Close, FrameStack, ReplayCounts, Visitor, open_frames, replay};
pub use stream::{EventSink, EventSource, Peer, StreamEvent, StreamKey};
pub use system::{GroupKind, Location, LocationGroup, LocationKind, SystemNode, SystemTree};
pub use table::{Cell, Column, IntoCell, Table, Values};
pub use time::{Clock, Nanos, Ticks, TimeRange};
pub use trace::{
    AttributeValue, Collective, CollectiveOp, Definitions, Event, EventId, Events, Link, LinkKind,
    LocationView, RmaCompletion, RmaOp, Trace, TraceView, Transfer,
};
pub use unify::Unify;
