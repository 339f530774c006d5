//! [`Link`]: a client of a server, with its two sides for a monitor.

use super::http::Http;
use crate::wire::{self, Answer, Hello, NO_VIEW, Push, Welcome};
use crate::{Error, Result};
use perf_anomaly::provenance::{Entry, Query, Record, Revision, Store};
use perf_anomaly::server::{Client, Delta, Exchange, Position, View};
use perf_anomaly::{Error as AnomalyError, Result as AnomalyResult};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A server, and how long one waits for it.
#[derive(Clone)]
pub struct Target {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) patience: Duration,
}

/// The token stays where it is.
impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut all = f.debug_struct("Target");
        all.field("url", &self.url)
            .field("patience", &self.patience);
        all.finish_non_exhaustive()
    }
}

impl Target {
    /// The server at `http://HOST:PORT`.
    ///
    /// ```
    /// use perf_live::client::Target;
    /// assert!(Target::new("http://127.0.0.1:5560/").is_ok());
    /// assert!(Target::new("https://127.0.0.1").is_err());
    /// ```
    ///
    /// # Errors
    /// [`Error::Parameter`] for another kind of address.
    pub fn new(url: &str) -> Result<Self> {
        let host = url
            .strip_prefix("http://")
            .map(|rest| rest.trim_end_matches('/'));
        let is_sound = |host: &&str| {
            let is_odd = |letter: char| letter.is_whitespace() || "/?#@".contains(letter);
            !host.is_empty() && !host.contains(is_odd)
        };
        let Some(host) = host.filter(is_sound) else {
            return Err(Error::Parameter {
                name: "url",
                value: url.into(),
                range: "http://HOST:PORT",
            });
        };
        Ok(Target {
            url: format!("http://{host}"),
            token: String::new(),
            patience: Duration::from_secs(30),
        })
    }

    /// The token of writers. No default.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = token.into();
        self
    }

    /// How long a message is repeated while the server is busy or not there. Default: 30 s. What was learned
    /// is kept then, and comes with the next message.
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }
}

/// Who a client is.
#[derive(Clone, Debug, Default)]
pub struct Who {
    program: u32,
    rank: u32,
    name: String,
    host: String,
}

impl Who {
    /// A rank of a program, of those of one workflow.
    pub fn new(program: u32, rank: u32) -> Self {
        Who {
            program,
            rank,
            ..Who::default()
        }
    }

    /// What people call the program. Default: empty.
    pub fn program_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The host it runs on. Default: empty.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }
}

/// A client of a server. Clones are the same one.
///
/// Each link is another client: a program that starts anew opens another link, and what the one before
/// said stays. Who reads a stream that may be read again opens it [as](Self::open_as) the client of that stream.
///
/// ```no_run
/// use perf_live::client::{Link, Target, Who};
/// let target = Target::new("http://127.0.0.1:5560")?.token("the word of the writers");
/// let link = Link::open(&target, Who::new(0, 3).program_name("lammps").host("n12"))?;
/// // Another rank of the same process, over the same connection.
/// let next = link.beside(Who::new(0, 4).program_name("lammps"))?;
/// assert_ne!(link.client(), next.client());
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Link(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    http: Http,
    hello: Hello,
    /// Most bytes of a message.
    most: usize,
    /// The last delta that the server had when the link was opened, and the steps of ranks in it.
    merged: (u64, Vec<Position>),
    /// The session, and the number of the latest view.
    last: Mutex<(u64, u64)>,
    records: Mutex<Records>,
    /// The last number of a model.
    models: AtomicU64,
    /// Entries that the server refused for good.
    lost: AtomicU64,
}

/// Bundles of all stores of a client: the server counts them by client.
#[derive(Debug, Default)]
struct Records {
    /// The number of the last one.
    last: u64,
    /// What is on its way: it comes again as it was, before any other, so that it counts once.
    sending: Option<(u64, Vec<String>)>,
}

impl Link {
    /// Says hello to a server.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if it does not answer in time, [`Error::Refused`] if it says no.
    pub fn open(target: &Target, who: Who) -> Result<Self> {
        Self::open_as(target, who, fresh())
    }

    /// As [`open`](Self::open), with a number of the client that nobody else speaks as, such as
    /// [`stream_client`] of what it reads. One that the server knows goes on: its records are counted on from
    /// there, and [`client_of`](Self::client_of) does not tell steps again that are merged.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_as(target: &Target, who: Who, client: u64) -> Result<Self> {
        Self::greet(Http::new(target, client), who, client)
    }

    fn greet(http: Http, who: Who, client: u64) -> Result<Self> {
        let hello = Hello {
            client,
            program: who.program,
            rank: who.rank,
            name: who.name,
            host: who.host,
        };
        let (welcome, positions) = match http.post(wire::HELLO, &hello.encode())? {
            (200, body) => Welcome::decode_with(&body)?,
            (status, body) => return Err(http.refused(status, &body)),
        };
        Ok(Link(Arc::new(Shared {
            http,
            hello,
            most: usize::try_from(welcome.most).unwrap_or(usize::MAX),
            merged: (welcome.delta, positions),
            last: Mutex::new((welcome.session, 0)),
            records: Mutex::new(Records {
                last: welcome.records,
                sending: None,
            }),
            models: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        })))
    }

    /// Another client of the same server over the same connection: for many ranks in one process.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn beside(&self, who: Who) -> Result<Self> {
        Self::greet(self.0.http.clone(), who, fresh())
    }

    /// The number of the client.
    pub fn client(&self) -> u64 {
        self.0.hello.client
    }

    /// The session of the server.
    pub fn session(&self) -> u64 {
        self.last().0
    }

    /// Returns a client for a [`Monitor`](perf_anomaly::Monitor): it goes on where one of this number stopped, see
    /// [`Client::resume`].
    pub fn client_of<E: Exchange>(&self, exchange: E) -> Client<E> {
        let (sequence, positions) = &self.0.merged;
        Client::new(self.client(), exchange).resume(*sequence, positions)
    }

    /// Carries deltas and views: for a [`Client`](perf_anomaly::server::Client). Each delta waits for its
    /// answer; in a [`Background`](super::Background) nobody does.
    pub fn exchange(&self) -> Requests {
        Requests {
            link: self.clone(),
            view: None,
            asks: None,
        }
    }

    /// Carries what is kept: for a [`Recorder`](perf_anomaly::provenance::Recorder). There may be several, each for
    /// a recorder of its own.
    pub fn store(&self) -> Kept {
        Kept {
            link: self.clone(),
            lines: Vec::new(),
            bytes: 0,
            models: HashMap::new(),
            beside: None,
        }
    }

    /// Entries of all [stores](Self::store) of this client that are lost: the server refused them for good.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    fn last(&self) -> MutexGuard<'_, (u64, u64)> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message, and gives the answer.
    fn push(&self, message: &[u8]) -> Result<Answer> {
        match self.0.http.post(wire::PUSH, message)? {
            (200, body) => {
                let answer = Answer::decode(&body)?;
                let mut last = self.last();
                last.0 = answer.session;
                if answer.view.is_some() {
                    last.1 = answer.number;
                }
                Ok(answer)
            }
            (409, body) => {
                let answer = Answer::decode(&body)?;
                *self.last() = (answer.session, 0);
                // Another server does not know who this is.
                self.0.http.post(wire::HELLO, &self.0.hello.encode())?;
                let session = answer.session;
                Err(AnomalyError::OtherSession { session }.into())
            }
            (status, body) => Err(self.0.http.refused(status, &body)),
        }
    }
}

/// The keys of hashes are random: no two starts of a program have one number.
pub(crate) fn fresh() -> u64 {
    RandomState::new().build_hasher().finish().max(1)
}

/// Returns the number of the client that reads some streams on a host: the same at each start, so that a reader
/// that was stopped goes on where it was. `run` tells runs apart that use the same streams; it may be empty.
///
/// ```
/// use perf_live::client::stream_client;
/// let client = stream_client("n12", "", &["/scratch/run/rank-0.tsv"]);
/// assert_eq!(client, stream_client("n12", "", &["/scratch/run/rank-0.tsv"]));
/// assert_ne!(client, stream_client("n13", "", &["/scratch/run/rank-0.tsv"]));
/// ```
pub fn stream_client(host: &str, run: &str, streams: &[&str]) -> u64 {
    // FNV-1a of 64 bits, which stays the same in all versions; the final mixing spreads near texts.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in [host, run].iter().chain(streams) {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    (hash ^ (hash >> 32))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .max(1)
}

fn exchange(error: Error) -> AnomalyError {
    match error {
        Error::Anomaly(error) => error,
        other => AnomalyError::Exchange(other.to_string()),
    }
}

/// Deltas out, views in, one request each.
#[derive(Debug)]
pub struct Requests {
    link: Link,
    view: Option<View>,
    asks: Option<u64>,
}

impl Requests {
    /// Which view the next deltas say that the client has, see [`Push::view`]. Default: the last one that
    /// came.
    pub fn ask(&mut self, view: impl Into<Option<u64>>) {
        self.asks = view.into();
    }

    /// The client.
    pub fn link(&self) -> &Link {
        &self.link
    }
}

impl Exchange for Requests {
    fn send(&mut self, delta: &Delta) -> AnomalyResult<()> {
        let (client, last) = (self.link.client(), self.link.last().1);
        let view = self.asks.unwrap_or(last);
        let message = Push::raw((client, view), Some(&delta.encode()), None);
        let answer = self.link.push(&message).map_err(exchange)?;
        if let Some(bytes) = answer.view {
            self.view = Some(View::decode(&bytes)?);
        }
        Ok(())
    }

    fn receive(&mut self) -> AnomalyResult<Option<View>> {
        Ok(self.view.take())
    }
}

/// What is kept goes to the server, which has it on its disk when [`commit`](Store::commit) returns. What it
/// refuses for good is an error of `commit` once, and [counted](Link::lost). It
/// cannot be read again from here, unless another store is [beside](Self::beside) it.
#[derive(Debug)]
pub struct Kept {
    link: Link,
    /// Entries that wait, and their bytes.
    lines: Vec<String>,
    bytes: usize,
    /// The numbers of models for the server, where another store of the client has theirs.
    models: HashMap<u64, u64>,
    /// Another store, which is asked.
    beside: Option<Box<dyn Store>>,
}

/// Bytes of a bundle of entries.
const BUNDLE: usize = 1 << 20;

/// The server understood who speaks, and will never take the message: it is none, too large or makes no sense.
const FOR_GOOD: [u16; 3] = [400, 413, 422];

/// Bytes of entries that wait for a server that is not there.
const WAITING: usize = 64 << 20;

impl Kept {
    /// Puts all into another store, too, and asks that one where something is to be read. What is revised is
    /// revised there alone.
    pub fn beside(mut self, store: Box<dyn Store>) -> Self {
        self.beside = Some(store);
        self
    }

    /// The next bundle: some of what waits.
    fn bundle(&mut self) -> Option<Vec<String>> {
        let mut bytes = 0;
        let fits = |line: &&String| {
            bytes += line.len() + 4;
            bytes <= BUNDLE.min(self.link.0.most / 2)
        };
        let count = self.lines.iter().take_while(fits).count().max(1);
        if self.lines.is_empty() {
            return None;
        }
        let lines: Vec<String> = self.lines.drain(..count.min(self.lines.len())).collect();
        self.bytes -= lines.iter().map(String::len).sum::<usize>();
        Some(lines)
    }

    /// An entry as the server is to have it.
    fn line(&mut self, entry: &Entry) -> String {
        match entry {
            Entry::Model(model) => {
                let number = self.link.0.models.fetch_add(1, Ordering::Relaxed) + 1;
                self.models.insert(model.id, number);
                if model.id != number {
                    let mut model = model.clone();
                    model.id = number;
                    return Entry::Model(model).to_string();
                }
            }
            Entry::Call(record) if record.model > 0 => {
                let number = self.models.get(&record.model).copied();
                let number = number.unwrap_or_default();
                if record.model != number {
                    let mut record = record.clone();
                    record.model = number;
                    return Entry::Call(record).to_string();
                }
            }
            _ => {}
        }
        entry.to_string()
    }

    /// Sends all that waits. What the server refuses for good is counted and given up.
    fn send(&mut self) -> AnomalyResult<()> {
        let shared = Arc::clone(&self.link.0);
        // Nobody else of the client may send until this is answered: bundles come in order.
        let records = shared.records.lock();
        let mut records = records.unwrap_or_else(PoisonError::into_inner);
        let mut refused: Option<(usize, String)> = None;
        let outcome = loop {
            if records.sending.is_none() {
                let next = records.last.saturating_add(1);
                records.sending = self.bundle().map(|lines| (next, lines));
            }
            let Some(bundle) = &records.sending else {
                break Ok(());
            };
            let (number, lines) = (bundle.0, bundle.1.len());
            let message = Push::raw((self.link.client(), NO_VIEW), None, Some(bundle));
            match self.link.push(&message) {
                Ok(_) => records.last = number,
                Err(error @ Error::Refused { status, .. }) if FOR_GOOD.contains(&status) => {
                    refused.get_or_insert((0, error.to_string())).0 += lines;
                }
                Err(error) => break Err(exchange(error)),
            }
            records.sending = None;
        };
        let Some((lost, why)) = refused else {
            return outcome;
        };
        // What waits yet is told of when it is tried again.
        shared.lost.fetch_add(lost as u64, Ordering::Relaxed);
        let what = format!("entries that are lost: {lost}: {why}");
        Err(AnomalyError::Exchange(what))
    }
}

impl Store for Kept {
    fn put(&mut self, entry: &Entry) -> AnomalyResult<u64> {
        let line = self.line(entry);
        let length = line.len();
        if self.bytes + length > WAITING {
            let what = format!("{} bytes of records wait for it", self.bytes);
            return Err(AnomalyError::Exchange(what));
        }
        if let Some(beside) = &mut self.beside {
            beside.put(entry)?;
        }
        self.bytes += length;
        self.lines.push(line);
        Ok(length as u64 + 1)
    }

    fn commit(&mut self) -> AnomalyResult<()> {
        let beside = self.beside.as_mut().map_or(Ok(()), |one| one.commit());
        let sent = self.send();
        beside.and(sent)
    }

    fn each(&mut self, take: &mut dyn FnMut(Entry) -> AnomalyResult<()>) -> AnomalyResult<()> {
        let beside = self.beside.as_mut().ok_or_else(elsewhere)?;
        beside.each(take)
    }

    fn query(&mut self, query: &Query) -> AnomalyResult<Vec<Record>> {
        let beside = self.beside.as_mut().ok_or_else(elsewhere)?;
        beside.query(query)
    }

    fn revise(&mut self, judge: &mut dyn FnMut(&Record) -> Revision) -> AnomalyResult<u64> {
        let beside = self.beside.as_mut().ok_or_else(elsewhere)?;
        beside.revise(judge)
    }

    fn unreadable(&self) -> Option<(u64, String)> {
        self.beside.as_ref()?.unreadable()
    }
}

fn elsewhere() -> AnomalyError {
    AnomalyError::Exchange("what was kept is with the server".into())
}
