//! Readers and writers of Paraver traces (`.prv` with `.pcf` and `.row`), as written by Extrae,
//! Dimemas and the BSC tools.
//!
//! | level | purpose |
//! |---|---|
//! | [`Reader`] | records in batches, in order, in memory that does not grow with the trace |
//! | [`Writer`] | records to text; records from a reader are written byte for byte |
//! | [`Pcf`], [`Row`] | names of states, types and values; labels of threads |
//! | [`read_trace`] | conversion to a [`Trace`](perf_core::Trace) |
//! | [`write_trace`] | conversion of any `Trace` to Paraver |
//! | [`recolour`], [`recolour_files`] | the same trace with a cluster for each burst |
//! | [`clustered`] | files of the established burst clustering: its parameters and bursts |
//!
//! # Conventions
//!
//! Each thread is a location, and each task is a process. Their numbers are [properties](object_of) of the location.
//! The key of a location is its index in the header, from 0. Times stay in the unit of the header.
//!
//! | in Paraver | in the trace |
//! |---|---|
//! | state | a region of its name (`Running`), the innermost frame |
//! | MPI call, types 50000001 to 5 | a region of its name, in place of the state |
//! | user function 60000019; outlined 60000018, task 60000023 | regions around these. Values of 60000019 nest, 0 ends the innermost; a value of the other two replaces the previous one |
//! | hardware counters (42.., 44.., 46.., gradient 7 of the `.pcf`) | metrics in [relative mode](perf_core::MetricMode::Relative): the increment since the last reading. A line is one event, so that counters that were read together form one [`MetricSet`](perf_core::MetricSet) |
//! | callers 70000001.., 80000001.. | a [`Sample`](perf_core::Event::Sample) just before the MPI call, with a call path that ends in the calling function; functions have file and line |
//! | sampled functions 30000000.., 30000100.. | a `Sample` |
//! | communication | [`Send`](perf_core::Event::Send) at the logical send, completed at the physical one; [`RecvPost`](perf_core::Event::RecvPost) at the logical receive and [`Recv`](perf_core::Event::Recv) at the physical one |
//! | collectives 50100001 to 4 | [`CollectiveBegin`](perf_core::Event::CollectiveBegin) and [`CollectiveEnd`](perf_core::Event::CollectiveEnd), if communicator and operation are known |
//! | flush 40000003, tracing 40000012 | [`Flush`](perf_core::Event::Flush), [`Measuring`](perf_core::Event::Measuring) |
//! | all other types | [`Other`](perf_core::Event::Other): the name of the kind ends in the type in parentheses, the number is the value |
//! | comments | properties of the trace |
//!
//! A counter that is read at the end of a burst belongs to that burst, so metrics of an instant
//! precede its leaves and enters. A state that follows an equal one without a gap is left and
//! entered again. A function that begins or ends within a state divides it.
//!
//! The root of a collective is recorded only at the root. The n-th collective of a communicator on one task corresponds
//! to the n-th collective on every other task. If a [window](crate::OpenOptions::window) or a selection of
//! [locations](crate::OpenOptions::locations) keeps a part of a trace, collectives outside the part are counted as
//! well, so that the kept collectives have the same roots as in the whole trace. Each rooted collective that is not
//! kept takes 24 bytes while the trace is read.
//!
//! The CPU of a record is not kept; changes of the CPU are counted.
//!
//! # Order
//!
//! The records of a thread should be in order of time. Records that go back in time are reported and sorted by time;
//! records of the same time keep their order. For this purpose a trace in a file is read a second time, with the
//! records of the affected threads in memory, about 60 bytes each. A trace from another source cannot be read twice.
//! All its records are therefore kept in memory.
//!
//! A time beyond twice the duration in the header counts as damaged if only few records have such a time. It is
//! replaced by the time of the preceding record, for the end of a state by the time of the next record, and for a
//! message by the other time of the same end. Records beyond the duration are reported and kept.

pub mod clustered;
mod companions;
mod decimal;
mod export;
mod header;
mod line_source;
mod names;
mod parse;
mod pcf;
mod reader;
mod recolour;
mod record;
mod row;
pub mod rules;
mod trace;
mod write;

pub use companions::FORMAT;
pub use export::{Companions, write_files, write_trace};
pub use header::{Header, Resources, Task, TimeUnit};
pub use pcf::{EventKind, Pcf};
pub use reader::Reader;
pub use recolour::{
    Cluster, Coloured, Recoloured, colours, name_clusters, recolour, recolour_files,
};
pub use record::{Batch, Communication, Object, OnCpu, Pair, Record};
pub use row::Row;
pub use trace::{into_trace, object_of, read_trace};
pub use write::Writer;
