//! Paraver traces: Extrae writes them, Dimemas and the tools of the BSC read and write them.
//!
//! | level | what |
//! |---|---|
//! | [`Reader`] | records in batches, in order, in memory that does not grow with the trace |
//! | [`Writer`] | records to text; what was read comes out byte by byte as it stood |
//! | [`Pcf`], [`Row`] | names of states, types and values; labels of threads |
//! | [`read_trace`] | a [`Trace`](perf_core::Trace) of it |
//! | [`write_trace`] | a trace of Paraver of any `Trace` |
//! | [`recolour`], [`recolour_files`] | the same trace with a cluster for each burst |
//! | [`clustered`] | what the established burst clustering reads and writes: its parameters and bursts |
//!
//! # Trace
//!
//! Each thread is a location, each task a process; their numbers are [properties](object_of), and
//! the key of a location is its place in the header, from 0. Times stay in the unit of the header.
//!
//! | in the trace of Paraver | here |
//! |---|---|
//! | state | a region of its name (`Running`), the innermost frame |
//! | MPI call, types 50000001 to 5 | a region of its name, in the place of the state |
//! | user function 60000019; outlined 60000018, task 60000023 | regions around these. Values of 60000019 nest, 0 ends the innermost; one of the other two takes the place of the last |
//! | hardware counters (42.., 44.., 46.., gradient 7 of the `.pcf`) | metrics in [relative mode](perf_core::MetricMode::Relative): what was counted since the last reading. A line is one event, so that counters that were read together are one [`MetricSet`](perf_core::MetricSet) |
//! | callers 70000001.., 80000001.. | a [`Sample`](perf_core::Event::Sample) just before the MPI call, whose call path ends in the function that called; functions have file and line |
//! | sampled functions 30000000.., 30000100.. | a `Sample` |
//! | communication | [`Send`](perf_core::Event::Send) at the logical send, complete at the physical one; [`RecvPost`](perf_core::Event::RecvPost) at the logical receive and [`Recv`](perf_core::Event::Recv) at the physical one |
//! | facts of collectives 50100001 to 4 | [`CollectiveBegin`](perf_core::Event::CollectiveBegin) and [`CollectiveEnd`](perf_core::Event::CollectiveEnd), where communicator and operation are known |
//! | flush 40000003, tracing 40000012 | [`Flush`](perf_core::Event::Flush), [`Measuring`](perf_core::Event::Measuring) |
//! | all other types | [`Other`](perf_core::Event::Other): the name of the kind ends in the type in parentheses, the number is the value |
//! | comments | properties of the trace |
//!
//! A counter that is read when a burst ends belongs to that burst, so metrics of an instant come
//! before its leaves and enters. A state that follows one of its kind without a gap is left and
//! entered again. A function that begins or ends within a state divides it.
//!
//! A collective says its root at the root alone, and the n-th of a communicator on one task is the
//! n-th on each other. Where a [window](crate::OpenOptions::window) or a choice of
//! [locations](crate::OpenOptions::locations) keeps a part of a trace, all of it is counted, so that
//! what is kept has the roots of the whole; each rooted collective that is not kept takes 24 bytes
//! meanwhile.
//!
//! The CPU of a record is not kept; that it changed is counted.
//!
//! # Order
//!
//! The records of a thread should be in order of time. Those that go back are counted and sorted into
//! place, with their times; records of one time keep their order. For that a trace in a file is read a
//! second time, and the records of the threads concerned are kept in memory meanwhile, about 60 bytes
//! each. A trace from another source cannot be read twice: all its records are kept. A time beyond twice
//! the duration in the header, where few records have one, is damaged and taken at the time of the record
//! before, or for a message at the other time of the same end. Records beyond the duration are counted and kept.

pub mod clustered;
mod export;
mod export_ends;
mod export_lines;
mod export_names;
mod export_people;
mod export_plan;
mod export_states;
mod export_steps;
mod format;
mod header;
mod late;
mod names;
mod order;
mod parse;
mod pcf;
mod place;
mod reader;
mod recolour;
mod recolour_files;
mod record;
pub mod rules;
mod scan;
mod source;
mod stream;
mod tables;
mod trace;
mod write;

pub use export::{Companions, write_files, write_trace};
pub use format::FORMAT;
pub use header::{Header, Resources, Task, TimeUnit};
pub use pcf::{EventKind, Pcf, Row};
pub use place::object_of;
pub use reader::Reader;
pub use recolour::{Cluster, Coloured, Recoloured, colours, recolour};
pub use recolour_files::{name_clusters, recolour_files};
pub use record::{Batch, Communication, Object, OnCpu, Pair, Record};
pub use trace::{into_trace, read_trace};
pub use write::Writer;
