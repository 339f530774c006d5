//! Live detection of abnormal calls on all ranks of a program, with a parameter server, its page, and its clients.
//!
//! Ranks of any number of programs send their models and anomalies to a server, and receive the
//! shared model of all ranks. Ranks are not synchronised: they join, leave and restart at any time,
//! and a slow rank does not delay other ranks. Acknowledged data is on the disk of the server. The
//! page of the server leads from conspicuous ranks to a single call and its stack, either while the
//! program runs or later from the database.
//!
//! ```
//! use perf_anomaly::server::Client;
//! use perf_anomaly::{Detector, Tail, Watch, calls::Calls};
//! use perf_core::{Job, Nanos};
//! use perf_live::client::{Link, Target, Who};
//! use perf_live::{hub::Hub, web::Service};
//! # let file = std::env::temp_dir().join(format!("perf-live-doc-{}.sqlite", std::process::id()));
//! # std::fs::remove_file(&file).ok();
//! # const TOKEN: &str = "0123456789abcdef0123456789abcdef";
//! let hub = Hub::open(&file, Default::default())?;
//! let service = Service::start(hub.clone(), Service::params().token(TOKEN).check()?)?;
//!
//! // A rank, which may be on another machine.
//! let target = Target::new(&format!("http://{}", service.address()))?.token(TOKEN);
//! let link = Link::open(&target, Who::new(0, 3).program_name("lammps"))?;
//! let mut client = Client::new(link.client(), link.exchange());
//! let mut watch = Watch::new(Calls::default(), 0, 3);
//! let solve = watch.region("solve");
//! for k in 0..40 {
//!     watch.enter(0, solve, Nanos(1_000_000 * k));
//!     watch.exit(0, solve, Nanos(1_000_000 * k + 50_000));
//! }
//! watch.end_step();
//! let mut detector = Tail::default();
//! let mut judgements = Vec::new();
//! detector.detect(watch.sink().batch().samples(), &mut judgements, &Job::default())?;
//! client.step(watch.sink(), &judgements, &mut detector)?;
//!
//! let overview = hub.overview();
//! assert_eq!((overview.total.calls, &*overview.programs[0].name), (40, "lammps"));
//! # drop(service);
//! # hub.close();
//! # std::fs::remove_file(&file).ok();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Method
//! A delta `d_k` is the knowledge that the detector of a client has gained since delta `d_(k-1)`. A
//! client numbers its deltas. The server stores the last number `k` of each client and accepts a
//! delta if it has the next number. The model of the server is
//!
//! ```text
//! model = d_1 + d_2 + ... of all clients
//! ```
//!
//! where `+` merges models in any order ([`perf_core::Merge`]). A view is a model with a number. It
//! also has the number of the last delta in the view that came from the client that requests it. A
//! client classifies calls with the sum of the view and its later deltas, so that its own knowledge
//! is never missing and never counted twice. If the answer to a delta is lost, the client sends the
//! delta again; the server recognises it by its number. On disk, the state is the sum of the last
//! stored state and the deltas logged since.
//!
//! # Parts
//! * [`wire`]: messages as bytes.
//! * [`client`] (feature `client`): the client of a rank. [`client::Link`] provides an exchange for
//!   [`server::Client`](perf_anomaly::server::Client) and a store for a
//!   [`Recorder`](perf_anomaly::provenance::Recorder).
//! * `hub` (feature `server`): the server without HTTP, with state, database and batches.
//! * `web` (feature `server`): the HTTP interface; `docs/live.md` describes addresses and answers.
//! * `simulate` (feature `simulate`): any number of simulated ranks that play a recording.
//! * `program` (feature `server`): the functions behind the command `perfkit live`, which serve and
//!   replay. With the feature `simulate` it also contains the load generator of the program
//!   `perfkit-live`.
//!
//! # Cost
//! A single thread owns the state and the database. It takes all waiting messages, merges them,
//! writes one transaction, and then answers, so that batches grow with the load. Waiting messages
//! are bounded in number and bytes, and pages are updated at most four times a second. With a
//! [`client::Background`], a client continues to work while it waits for answers. `docs/live.md`
//! lists addresses and limits.
//!
//! # Pitfalls
//! * By default the server listens on the loopback interface. For access from other machines it
//!   must be behind a proxy that encrypts, because it sends and receives the token and all answers
//!   in plain text. Reading requires no token.
//! * Each start of a program is a new client. The server keeps the last numbers of a client until
//!   it has been silent for [`HubParams::forget`](hub::HubParams::forget), one day by default. They
//!   take about 200 bytes in memory and a row in the database.
//! * The server answers only when the message is on its disk. Programs that cannot wait for the
//!   answer use a [`client::Background`].
//!
//! # Features
//! * `client` (default): [`client`], for monitored programs. It depends on a small blocking HTTP
//!   client.
//! * `server` (default): [`hub`], [`web`] and [`program`]. It depends on axum, tokio and the C code
//!   of SQLite.
//! * `simulate`: the module `simulate` and the program `perfkit-live`, a load generator that plays
//!   a recording with any number of ranks.
#![doc(html_root_url = "../")]

#[cfg(feature = "client")]
pub mod client;
mod error;
#[cfg(feature = "server")]
pub mod hub;
#[cfg(feature = "server")]
mod page;
#[cfg(feature = "server")]
pub mod program;
#[cfg(feature = "simulate")]
pub mod simulate;
#[cfg(feature = "server")]
mod store;
#[cfg(feature = "server")]
pub mod web;
pub mod wire;

pub use error::{Error, Result};
