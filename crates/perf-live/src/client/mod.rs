//! The side of a rank: [`Link`] reaches a server, and is an exchange and a store.
//!
//! ```no_run
//! use perf_anomaly::calls::Calls;
//! use perf_anomaly::provenance::Recorder;
//! use perf_anomaly::server::Client;
//! use perf_anomaly::{Monitor, Tail, Watch};
//! use perf_live::client::{Link, Target, Who};
//! let target = Target::new("http://127.0.0.1:5560")?.token("the word of the writers");
//! let link = Link::open(&target, Who::new(0, 3).program_name("lammps"))?;
//! let calls = Calls::new(Calls::params().check()?);
//! let tail = Tail::new(Tail::params().check()?);
//! let monitor = Monitor::new(calls, Box::new(tail))
//!     .record(Recorder::new(Recorder::params().check()?, Box::new(link.store())))
//!     .share(Client::new(link.client(), link.exchange()));
//! let watch = Watch::new(monitor, 0, 3);
//! # Ok::<(), perf_live::Error>(())
//! ```

mod background;
mod http;
mod link;

pub use background::Background;
#[cfg(feature = "simulate")]
pub(crate) use link::fresh;
pub use link::{Kept, Link, Requests, Target, Who, stream_client};
