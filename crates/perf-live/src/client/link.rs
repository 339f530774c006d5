//! [`Link`]: registration of a client ([`Who`]) at a server ([`Target`]), its exchange of deltas
//! and views ([`Requests`]), and its store of records on the server ([`Kept`]).

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

/// Server address, token and time limit.
#[derive(Clone)]
pub struct Target {
    /// Address.
    pub(crate) url: String,
    /// Token of writers.
    pub(crate) token: String,
    /// Time during which a message is repeated.
    pub(crate) patience: Duration,
}

/// Writes the target without its token.
impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut all = f.debug_struct("Target");
        all.field("url", &self.url)
            .field("patience", &self.patience);
        all.finish_non_exhaustive()
    }
}

impl Target {
    /// Creates a target for the server at `http://HOST:PORT`.
    ///
    /// ```
    /// use perf_live::client::Target;
    /// assert!(Target::new("http://127.0.0.1:5560/").is_ok());
    /// assert!(Target::new("https://127.0.0.1").is_err());
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] if the address does not have this form.
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

    /// Sets the token of writers. Default: empty.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = token.into();
        self
    }

    /// Sets the time during which a message is repeated while the server is busy or unreachable.
    /// Default: 30 s. After this time the knowledge is kept and sent with the next message.
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }
}

/// Identity of a client.
#[derive(Clone, Debug, Default)]
pub struct Who {
    /// Program.
    program: u32,
    /// Rank.
    rank: u32,
    /// Display name of the program.
    name: String,
    /// Host.
    host: String,
}

impl Who {
    /// Creates the identity of a rank of a program within a workflow.
    pub fn new(program: u32, rank: u32) -> Self {
        Who {
            program,
            rank,
            ..Who::default()
        }
    }

    /// Sets the display name of the program. Default: empty.
    pub fn program_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the host. Default: empty.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }
}

/// Client of a server. Clones share the connection and the identity.
///
/// Each link is a new client. A restarted program opens another link, and the server keeps the data
/// of the earlier link. A reader of streams that may be read again opens the link
/// [as](Self::open_as) the client of these streams.
///
/// ```no_run
/// use perf_live::client::{Link, Target, Who};
/// let target = Target::new("http://127.0.0.1:5560")?.token("the word of the writers");
/// let link = Link::open(&target, Who::new(0, 3).program_name("lammps").host("n12"))?;
/// // Another rank of the same process, over the same connection.
/// let next = link.attach(Who::new(0, 4).program_name("lammps"))?;
/// assert_ne!(link.client(), next.client());
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Link(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Connection.
    http: Http,
    /// Greeting with the identity.
    hello: Hello,
    /// Largest message in bytes.
    most: usize,
    /// Number of the last delta that the server had when the link was opened, and the last merged
    /// steps of its ranks.
    merged: (u64, Vec<Position>),
    /// Session, and number of the latest view.
    last: Mutex<(u64, u64)>,
    /// State of the record bundles.
    records: Mutex<Records>,
    /// Number of the last model.
    models: AtomicU64,
    /// Number of entries that the server permanently rejected.
    lost: AtomicU64,
}

/// Bundles of records of all stores of a client. The server numbers bundles by client.
#[derive(Debug, Default)]
struct Records {
    /// Number of the last bundle.
    last: u64,
    /// Bundle in flight. It is repeated unchanged before any other bundle, so that it counts once.
    sending: Option<(u64, Vec<String>)>,
}

impl Link {
    /// Registers with a server.
    ///
    /// # Errors
    /// Returns [`Error::Unreachable`] if the server does not answer in time, or [`Error::Refused`]
    /// if it rejects the client.
    pub fn open(target: &Target, who: Who) -> Result<Self> {
        Self::open_as(target, who, fresh())
    }

    /// Registers like [`open`](Self::open), with the given client number, which must be unique. An
    /// example is the [`stream_client`] of the streams that a program reads. If the server knows
    /// the client, the client is resumed: the numbers of its record bundles continue, and
    /// [`client_of`](Self::client_of) does not send merged steps again.
    ///
    /// # Errors
    /// Returns the errors of `open`, and [`Error::Parameter`] for a token that no server can have.
    pub fn open_as(target: &Target, who: Who, client: u64) -> Result<Self> {
        if !target.token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::Parameter {
                name: "token",
                value: format!("{} bytes long", target.token.len()),
                range: "one word of visible ASCII characters",
            });
        }
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

    /// Registers another client of the same server over the same connection, for many ranks in one
    /// process.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn attach(&self, who: Who) -> Result<Self> {
        Self::greet(self.0.http.clone(), who, fresh())
    }

    /// Returns the number of the client.
    pub fn client(&self) -> u64 {
        self.0.hello.client
    }

    /// Returns the session of the server.
    pub fn session(&self) -> u64 {
        self.last().0
    }

    /// Returns a client for a [`Monitor`](perf_anomaly::Monitor). It resumes an earlier client with
    /// this number, see [`Client::resume`].
    pub fn client_of<E: Exchange>(&self, exchange: E) -> Client<E> {
        let (sequence, positions) = &self.0.merged;
        Client::new(self.client(), exchange).resume(*sequence, positions)
    }

    /// Returns the exchange of deltas and views for a [`Client`].
    /// Each delta waits for its answer, unless the exchange runs in a
    /// [`Background`](super::Background).
    pub fn exchange(&self) -> Requests {
        Requests {
            link: self.clone(),
            view: None,
            asks: None,
        }
    }

    /// Returns the store of records for a [`Recorder`](perf_anomaly::provenance::Recorder). There
    /// may be several stores, each for a separate recorder.
    pub fn store(&self) -> Kept {
        Kept {
            link: self.clone(),
            lines: Vec::new(),
            bytes: 0,
            models: HashMap::new(),
            attached: None,
        }
    }

    /// Returns the number of entries that are lost because the server permanently rejected them,
    /// over all [stores](Self::store) of this client.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    fn last(&self) -> MutexGuard<'_, (u64, u64)> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message, and returns the answer.
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
                // A restarted server must learn the identity of the client.
                self.0.http.post(wire::HELLO, &self.0.hello.encode())?;
                let session = answer.session;
                Err(AnomalyError::OtherSession { session }.into())
            }
            (status, body) => Err(self.0.http.refused(status, &body)),
        }
    }
}

/// Returns a random client number. It uses the random keys of hash maps, which differ at each start
/// of a program.
pub(crate) fn fresh() -> u64 {
    RandomState::new().build_hasher().finish().max(1)
}

/// Returns the client number of a reader of `streams` on a host. The number is the same at each
/// start, so that an interrupted reader is resumed. `run` distinguishes runs that use the same
/// streams; it may be empty.
///
/// ```
/// use perf_live::client::stream_client;
/// let client = stream_client("n12", "", &["/scratch/run/rank-0.tsv"]);
/// assert_eq!(client, stream_client("n12", "", &["/scratch/run/rank-0.tsv"]));
/// assert_ne!(client, stream_client("n13", "", &["/scratch/run/rank-0.tsv"]));
/// ```
pub fn stream_client(host: &str, run: &str, streams: &[&str]) -> u64 {
    // The hash is FNV-1a of 64 bits, which is stable across versions. The final mixing separates
    // similar texts.
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

/// Exchange with one request for each delta.
#[derive(Debug)]
pub struct Requests {
    /// Link to the server.
    link: Link,
    /// Latest view, if [`receive`](Exchange::receive) has not returned it yet.
    view: Option<View>,
    /// View that deltas declare as known; `None` for the last received view.
    asks: Option<u64>,
}

impl Requests {
    /// Sets the view that the next deltas declare as known, see [`Push::view`]. Default (`None`):
    /// the last received view.
    pub fn ask(&mut self, view: impl Into<Option<u64>>) {
        self.asks = view.into();
    }

    /// Returns the link.
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

/// Store on the server. The entries are on the disk of the server when [`commit`](Store::commit)
/// returns. If the server permanently rejects entries, `commit` returns an error once, and the
/// entries are [counted](Link::lost). Entries cannot be read back unless another store is
/// [attached](Self::attach).
#[derive(Debug)]
pub struct Kept {
    /// Link to the server.
    link: Link,
    /// Waiting entries.
    lines: Vec<String>,
    /// Size of the waiting entries in bytes.
    bytes: usize,
    /// Numbers of models on the server, by their ids. They can differ from the ids, because other
    /// stores of the client also number models.
    models: HashMap<u64, u64>,
    /// Attached store, which answers queries.
    attached: Option<Box<dyn Store>>,
}

/// Largest size of a bundle of entries in bytes.
const BUNDLE: usize = 1 << 20;

/// Status codes of permanent rejection. With these codes the server authenticated the client, but
/// the message is invalid or too large.
const FOR_GOOD: [u16; 3] = [400, 413, 422];

/// Upper bound on the size in bytes of entries that wait for an unreachable server.
const WAITING: usize = 64 << 20;

impl Kept {
    /// Attaches another store. All entries are also written to this store, which answers queries.
    /// Revisions apply to this store only.
    pub fn attach(mut self, store: Box<dyn Store>) -> Self {
        self.attached = Some(store);
        self
    }

    /// Removes and returns the next bundle of waiting entries, or `None` if there are no entries.
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

    /// Returns an entry as text for the server, with the number of its model on the server.
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

    /// Sends all waiting entries. Permanently rejected entries are counted and dropped.
    fn send(&mut self) -> AnomalyResult<()> {
        let shared = Arc::clone(&self.link.0);
        // Bundles are numbered in order, so no other store of the client may send until this bundle
        // is answered.
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
        // An error of the remaining entries is reported when they are sent again.
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
        if let Some(attached) = &mut self.attached {
            attached.put(entry)?;
        }
        self.bytes += length;
        self.lines.push(line);
        Ok(length as u64 + 1)
    }

    fn commit(&mut self) -> AnomalyResult<()> {
        let attached = self.attached.as_mut().map_or(Ok(()), |one| one.commit());
        let sent = self.send();
        attached.and(sent)
    }

    fn each(&mut self, take: &mut dyn FnMut(Entry) -> AnomalyResult<()>) -> AnomalyResult<()> {
        let attached = self.attached.as_mut().ok_or_else(elsewhere)?;
        attached.each(take)
    }

    fn query(&mut self, query: &Query) -> AnomalyResult<Vec<Record>> {
        let attached = self.attached.as_mut().ok_or_else(elsewhere)?;
        attached.query(query)
    }

    fn revise(&mut self, judge: &mut dyn FnMut(&Record) -> Revision) -> AnomalyResult<u64> {
        let attached = self.attached.as_mut().ok_or_else(elsewhere)?;
        attached.revise(judge)
    }

    fn unreadable(&self) -> Option<(u64, String)> {
        self.attached.as_ref()?.unreadable()
    }
}

fn elsewhere() -> AnomalyError {
    AnomalyError::Exchange("what was kept is with the server".into())
}
