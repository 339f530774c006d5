//! Wait states, their causes, efficiencies, and the gain of a fix, from the trace of a parallel program.
//!
//! A parallel program is as fast as its slowest part at each synchronisation. This crate finds the time that locations
//! wait for others, the delays that cause it, the path that determines the run time, and the run time with other
//! durations. It works on the events of a [`Trace`](perf_core::Trace), whatever its format, on one machine.
//!
//! ```
//! use perf_core::{Collective, CollectiveOp, CommId, Communicator, Definitions, Event, Events, Job, Location};
//! use perf_core::{LocationId, Members, Nanos, Region, RegionId, SystemTree, Ticks, Trace};
//! use perf_wait::activity::Activities;
//! use perf_wait::critical::{CriticalPath, Extent};
//! use perf_wait::delay::DelayCosts;
//! use perf_wait::waits::{Pattern, WaitStates};
//! use perf_wait::whatif::{Change, Dependency, WhatIf};
//!
//! // Two ranks call `solve` for 100 and for 300 ns, and meet in a barrier of 10 ns.
//! let mut definitions = Definitions::default();
//! let rank = |key| Location { key, ..Default::default() };
//! definitions.system = SystemTree::new(vec![], vec![], vec![rank(0), rank(1)], &Default::default())?;
//! let world = Members::Ranks(vec![Some(LocationId(0)), Some(LocationId(1))]);
//! definitions.comms.push(Communicator { members: world, ..Default::default() });
//! definitions.regions = vec![Region::named("solve"), Region::named("MPI_Barrier")];
//! let (solve, barrier) = (RegionId(0), RegionId(1));
//! let mut all = Vec::new();
//! for own in [100, 300] {
//!     let mut events = Events::default();
//!     events.push(Ticks(0), Event::Enter { region: solve })?;
//!     events.push(Ticks(own), Event::Leave { region: solve })?;
//!     events.push(Ticks(own), Event::Enter { region: barrier })?;
//!     events.push(Ticks(own), Event::CollectiveBegin)?;
//!     let (op, comm) = (CollectiveOp::Barrier, CommId(0));
//!     let end = Collective { op, comm, root: None, sent: 0, received: 0, request: None };
//!     events.push(Ticks(310), Event::CollectiveEnd(end))?;
//!     events.push(Ticks(310), Event::Leave { region: barrier })?;
//!     all.push(events);
//! }
//! let trace = Trace::new(definitions, all)?;
//!
//! let job = Job::default();
//! let activities = Activities::of(trace.view(), &job)?;
//! // Rank 0 waits for 200 ns.
//! let waits = WaitStates::of_activities(&activities, &job)?;
//! assert_eq!(waits.total(Pattern::BarrierWait), 200);
//! // Rank 1 causes it, in `solve`.
//! let delays = DelayCosts::of(trace.view(), &activities, &waits, &job)?;
//! let cause = delays.costs()[0];
//! let path = cause.path.map(|path| activities.paths().name(path, &trace.definitions().regions));
//! assert_eq!((cause.location, path.as_deref(), cause.short), (LocationId(1), Some("solve"), 200.0));
//! // It is on the critical path for 300 ns, and balancing `solve` gains 100 ns.
//! let path = CriticalPath::of(trace.view(), &activities, &waits, Extent::Run, &job)?;
//! assert_eq!((path.ticks_on(LocationId(1)), path.times()[0].imbalance()), (300, 100.0));
//! // With rank 1 as fast as its peers the run takes 110 ns.
//! let none: &[Dependency] = &[];
//! let whatif = WhatIf::of(trace.view(), &activities, none, &job)?;
//! let change = Change::LikePeers { location: LocationId(1) };
//! assert_eq!(whatif.ask(&[change], &job)?.runtime, Nanos(110));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How
//!
//! [`Activities`](activity::Activities) reduce a trace to calls of MPI, of teams of threads and of accelerators with
//! computation in between, and connect them by messages, collectives, forks and launches. The other analyses work on this model. Wait states follow the formulas of Scalasca 2.6,
//! delays those of Böhme et al., efficiencies the POP methodology with a replay as by Dimemas. Replays order all
//! activities by their dependencies once and then take time in proportion to them. Activities of a program that only
//! follow each other are replayed as one; training jobs use an [`ActivityGraph`](graph::ActivityGraph).
//!
//! | question | item |
//! |---|---|
//! | what costs the run most time | [`findings`] |
//! | do the clocks of the locations agree, and by how much not | [`clocks`] |
//! | which calls wait, for how long, for which call | [`waits`] |
//! | which delay causes the waiting, on which location, in which call path | [`delay`] |
//! | which activities determine the run time | [`critical`] |
//! | how efficient is the run, and how does it scale | [`efficiency`] |
//! | which call paths of a profile are imbalanced, on which location, and what balancing saves | [`imbalance`] |
//! | how long is the run with other durations, without imbalance, with a function that is faster | [`whatif`] |
//! | the same for a training job with stages and data-parallel ranks | [`training`] |
//! | which ranks arrive late at collective operations of accelerators, why, and how much communication is exposed | [`device_collectives`] |
//! | which ranks, steps and calls are slower than their peers | [`stragglers`] |
//!
//! # Agreement with other tools
//!
//! | result | truth | largest difference |
//! |---|---|---|
//! | efficiencies, ideal run time, scaling | BSC's, EPOCH on 2, 4 and 16 processes | printed digits |
//! | replayed and ideal step times, slowdowns | published for two training jobs | 4e-7 of the value |
//! | wait states by rank | Scalasca, seven traces of Score-P, SST and TraceR and twelve of EZTrace | 1 ns |
//! | waits of threads and accelerators, exposed communication | a separate program on recordings of Score-P and Kineto | none |
//! | critical path by rank | Scalasca, the same seven traces and four of EZTrace | 0.2 us; 14 us where begin and end were added for it |
//! | delay costs by rank | Scalasca, the same eleven traces | 0.3 % of the waiting time of a kind; more where Scalasca drops costs |
//!
//! Scalasca drops some costs, so that its sums fall short of the waiting time. Here they never do.
//!
//! # Pitfalls
//!
//! * Times of two locations are compared. Where their clocks disagree, wait states are wrong: look at
//!   [`ClockEstimate::violations`](clocks::ClockEstimate::violations), and correct the trace first.
//! * Waiting time is a symptom. The location that waits least is usually the one that delays the others: see [`delay`].
//! * The critical path names activities that determine the run time. Making one of them faster saves at most the
//!   distance to the next path: ask [`whatif`].
//! * Threads and accelerators take part where the recording has barriers, forks, locks, launches and synchronising calls.
//!   Two threads that wait for each other by other means do not.
//! * Without links from launches to their work, the launch of a kernel is the last possible one.
//!
//! # Time and memory
//!
//! Measured on a shared machine of two cores of 2.6 GHz, with other work on it, for 19.2 million events of 1,024 ranks (428 MB)
//! that send, receive and reduce. Peak memory is that of the heap, relative to the trace. It includes the trace and the
//! results of the analyses before.
//!
//! | analysis | CPU time | peak memory |
//! |---|---|---|
//! | activities | 2.7 s | 1.85 |
//! | wait states | 1.0 s | 1.79 |
//! | delay costs | 3.2 s | 1.98 |
//! | critical path | 0.5 s | 1.63 |
//! | efficiencies | 0.8 s | 1.88 |
//! | findings | 4.8 s | 1.98 |
//!
//! `CI=true cargo test --release -p perf-wait --test memory -- --nocapture` prints time and memory.
//!
//! # Features
//!
//! * `parallel` (default): locations and wait states on all cores. The results are the same without it.
//! * `serde`: `Serialize` for results and ids.
//!
//! Every result has a method `table` or a name that ends in it; the feature `render` of `perf-core` writes tables as text,
//! CSV and JSON.
#![doc(html_root_url = "../")]

pub mod activity;
mod call_path_finder;
pub mod clocks;
pub mod critical;
pub mod delay;
pub mod device_collectives;
pub mod efficiency;
mod error;
pub mod findings;
pub mod graph;
pub mod imbalance;
mod running_state;
mod search;
mod slots;
pub mod stragglers;
mod timeline;
pub mod training;
pub mod waits;
pub mod whatif;

pub use error::{CallPlace, Error, Result};
