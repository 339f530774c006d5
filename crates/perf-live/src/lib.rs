//! What is abnormal on all ranks of a program, while it runs? A parameter server, its page, and the way to it.
//!
//! Ranks of any number of programs tell a server what they learned and which calls were abnormal; each
//! hears what all know together. Nobody waits for anybody: ranks come, go and start anew, a slow one is
//! answered when it is there. What the server answered is on its disk. Its page leads from the ranks that
//! stand out to a call and its stack, while the program runs or from the database afterwards.
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
//! // A rank, which may be anywhere.
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
//! # How
//! A client numbers what its detector learned since the last time, delta `d_k`. The server knows the last `k` of each
//! client, takes `d_k` if it is the next one, and has
//!
//! ```text
//! model = d_1 + d_2 + ... of all clients
//! ```
//!
//! where `+` merges models, in any order ([`perf_core::Merge`]). A view is a model with a number and, for the client that
//! asks, the last of its deltas that are in it. A client judges by that view and what it sent or learned since, so that
//! what it knows itself is never missing and never counts twice. A delta whose answer was lost is sent again, and is
//! known by its number. The state is the sum of what was stored last and of the deltas that were logged since.
//!
//! # Parts
//! * [`wire`]: what is said, as bytes.
//! * [`client`] (feature `client`): the side of a rank; [`client::Link`] is an exchange for
//!   [`server::Client`](perf_anomaly::server::Client) and a store for a
//!   [`Recorder`](perf_anomaly::provenance::Recorder).
//! * `hub` (feature `server`): the server without its web: state, database, batches.
//! * `web` (feature `server`): HTTP around it; addresses and answers are in `docs/live.md`.
//! * `simulate` (feature `simulate`): as many ranks as one likes, from a recording.
//!
//! * `program` (features `server` and `simulate`): serving, replaying and simulating, for the command `perfkit live` and
//!   the small program `perfkit-live`, which the tests start.
//!
//! # What it costs
//! One thread has the state and the database: it takes all that waits, merges it, writes one transaction, and
//! answers then, so that batches grow with the load. What waits is bounded in number and bytes, and pages are told what is
//! new at most four times a second. A client sends what it learned since the last time, and works on while it
//! waits; `docs/live.md` has addresses and limits.
//!
//! # What to mind
//! * It listens on the loopback interface unless told otherwise. Beyond the machine it belongs behind something
//!   that encrypts: the token and all answers travel as they are. Whoever reaches it may read.
//! * Each start of a program is another client, of which the server remembers the last number until it was
//!   silent for [`HubParams::forget`](hub::HubParams::forget), a day by default: 64 bytes in memory and a row in the
//!   database.
//! * An answer says that the message is on the disk. Who cannot wait for that hands it to a
//!   [`client::Background`].
//!
//! # Features
//! * `client`: [`client`], for programs that are watched; brings a small blocking HTTP client.
//! * `server` (default): [`hub`], [`web`] and the program `perfkit-live`; brings axum, tokio and the C of SQLite.
//! * `simulate` (default): [`simulate`], as many ranks as one likes, played from a recording.
#![doc(html_root_url = "../")]

#[cfg(feature = "client")]
pub mod client;
mod error;
#[cfg(feature = "server")]
pub mod hub;
#[cfg(feature = "server")]
mod page;
#[cfg(all(feature = "server", feature = "simulate"))]
pub mod program;
#[cfg(feature = "simulate")]
pub mod simulate;
#[cfg(feature = "server")]
mod store;
#[cfg(feature = "server")]
pub mod web;
pub mod wire;

pub use error::{Error, Result};
