//! Client of a rank: [`Link`] connects to a server and provides an exchange of models and a store of records.
//!
//! ```no_run
//! use perf_anomaly::provenance::Recorder;
//! use perf_anomaly::server::Client;
//! use perf_anomaly::{Monitor, Watch};
//! use perf_live::client::{Link, Target, Who};
//! let target = Target::new("http://127.0.0.1:5560")?.token("the word of the writers");
//! let link = Link::open(&target, Who::new(0, 3).program_name("lammps"))?;
//! let monitor = Monitor::default()
//!     .record(Recorder::new(Default::default(), Box::new(link.store())))
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
