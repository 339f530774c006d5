//! What a server of anomalies is sent, and what it keeps: bodies of messages, requests, databases.

use crate::recordings::located;
use crate::verdict::Verdict;
use perf_live::hub::{Finished, Hub, Message};
use perf_live::web::{CheckedWebParams, Offline, Reply, Service, Source};
use perf_live::wire::{Answer, Bundle, Hello, Push, Welcome};
use perf_live::{Error, Result};
use perfkit::anomaly::provenance::Entry;
use perfkit::anomaly::server::Delta;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What writers have to know.
pub const TOKEN: &str = "everybody-knows-it";

/// Questions that a page asks.
pub const QUESTIONS: [&str; 13] = [
    "/",
    "/api/run",
    "/api/ranking?by=deviation&top=3&bottom=2&program=0",
    "/api/steps?ranks=0.0,1&from=1&to=9&limit=50",
    "/api/totals?program=0&limit=20",
    "/api/profile?program=0&limit=5",
    "/api/functions?label=slow&rank=0",
    "/api/samples?function=main&x=entry&y=bytes&kind=anomaly",
    "/api/records?order=severity&limit=10&score=0.5&severity=3",
    "/api/record?id=1",
    "/events?ranks=0.0&by=time",
    "/metrics",
    "/api/functions?function=a%20b+c&thread=1&step=2",
];

/// Bytes of a message, whichever it is: each decoder sees them, and what it makes of them comes out again.
pub fn bodies(bytes: &[u8]) -> Verdict {
    fn same<T: PartialEq>(one: &T, again: Result<T>) {
        assert!(again.is_ok_and(|again| again == *one), "it changes");
    }
    let hello = Hello::decode(bytes).map(|it| same(&it, Hello::decode(&it.encode())));
    let welcome = Welcome::decode(bytes).map(|it| same(&it, Welcome::decode(&it.encode())));
    let answer = Answer::decode(bytes).map(|it| same(&it, Answer::decode(&it.encode())));
    // Numbers of records that are none are no equals of themselves.
    let push = Push::decode(bytes).map(|it| assert!(Push::decode(&it.encode()).is_ok()));
    let mut is_value = false;
    for outcome in [hello, welcome, push, answer] {
        match outcome {
            Ok(()) => is_value = true,
            Err(Error::Wire { .. }) => {}
            Err(Error::Anomaly(error)) if located(&error) => {}
            Err(other) => return Verdict::Unlocated(other.to_string()),
        }
    }
    match is_value {
        true => Verdict::Value,
        false => Verdict::Refused,
    }
}

/// A server with an empty database, without a network.
#[derive(Debug)]
struct Server {
    hub: Hub,
    offline: Offline,
    path: PathBuf,
}

fn web() -> Result<CheckedWebParams> {
    Service::params().token(TOKEN).check()
}

/// A database, and what stands beside it.
fn clear(path: &Path) {
    // What is not there is cleared.
    let _ = std::fs::remove_file(path);
    clear_beside(path);
}

/// Removes what a database leaves beside it.
pub(crate) fn clear_beside(path: &Path) {
    for end in ["-wal", "-shm", "-journal", ".lock"] {
        let mut name = path.to_path_buf().into_os_string();
        name.push(end);
        let _ = std::fs::remove_file(name);
    }
}

impl Server {
    /// A new one, whose database is `path`.
    fn new(path: &Path) -> Result<Self> {
        clear(path);
        let hub = Hub::open(path, Default::default())?;
        Ok(Server {
            offline: Offline::new(hub.clone(), web()?)?,
            hub,
            path: path.into(),
        })
    }

    /// Answers a request: a line with its method and address, a line for each name and value of its head,
    /// an empty one, and its body.
    fn answer(&self, request: &[u8]) -> Verdict {
        ask(&self.offline, request)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.hub.close();
        clear(&self.path);
    }
}

fn ask(offline: &Offline, request: &[u8]) -> Verdict {
    let end = request.windows(2).position(|two| two == b"\n\n");
    let (head, body) = request.split_at(end.unwrap_or(request.len()));
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default());
    let (method, target) = first.split_once(' ').unwrap_or((&first, "/"));
    let fields: Vec<_> = lines
        .filter_map(|line| {
            let at = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at(at);
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            Some((String::from_utf8_lossy(name), value))
        })
        .collect();
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (name.as_ref(), *value))
        .collect();
    let body = body.get(2..).unwrap_or_default().to_vec();
    judge(target, &offline.answer(method, target, &fields, body))
}

/// Nothing that is asked may be the server's fault, and what is said to be JSON is.
fn judge(target: &str, reply: &Reply) -> Verdict {
    let text = || String::from_utf8_lossy(&reply.body).into_owned();
    match reply.status {
        200 if target.starts_with("/api/") && reply.body.is_empty() => Verdict::Value,
        200 if target.starts_with("/api/") => {
            match serde_json::from_slice::<serde_json::Value>(&reply.body) {
                Ok(_) => Verdict::Value,
                Err(error) => Verdict::Unlocated(format!("{target}: {error}: {}", text())),
            }
        }
        200 => Verdict::Value,
        500 => Verdict::Unlocated(format!("{target}: {}", text())),
        503 if target.starts_with("/api/") => Verdict::Unlocated(format!("{target}: {}", text())),
        _ => Verdict::Refused,
    }
}

/// Requests that a server is asked before another one takes its place: it grows with each.
const REQUESTS: u32 = 256;

/// One request, answered by a server that had nothing before the last few. Its database is made beside `path`.
pub fn request(path: &Path, bytes: &[u8]) -> Verdict {
    static SERVER: Mutex<Option<(Server, u32)>> = Mutex::new(None);
    // A request that made it panic was told as such.
    let mut server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    if server.as_ref().is_none_or(|(_, asked)| *asked == REQUESTS) {
        *server = None;
        match Server::new(&path.with_extension("asked")) {
            Ok(new) => *server = Some((new, 0)),
            Err(error) => return Verdict::Unlocated(error.to_string()),
        }
    }
    let Some((server, asked)) = server.as_mut() else {
        return Verdict::Refused;
    };
    *asked += 1;
    server.answer(bytes)
}

/// A database: all questions are asked of it as of a run that is over, and a server goes on with it.
pub fn database(path: &Path) -> Verdict {
    let verdict = finished(path).and(resumed(path));
    clear_beside(path);
    verdict
}

fn of(error: &Error) -> Verdict {
    match error {
        Error::Store { file, .. } if !file.is_empty() => Verdict::Refused,
        Error::Anomaly(error) if located(error) => Verdict::Refused,
        other => Verdict::Unlocated(other.to_string()),
    }
}

fn finished(path: &Path) -> Verdict {
    let open = || {
        let finished = Finished::open(path, Default::default())?;
        Offline::new(Source::from(finished), web()?)
    };
    let offline = match open() {
        Ok(offline) => offline,
        Err(error) => return of(&error),
    };
    // What cannot be read of it is answered so.
    for question in QUESTIONS {
        offline.answer("GET", question, &[("host", b"localhost")], Vec::new());
    }
    Verdict::Value
}

fn resumed(path: &Path) -> Verdict {
    let go_on = || {
        let hub = Hub::open(path, Default::default())?;
        let hello = Hello {
            client: 99,
            ..Hello::default()
        };
        // It may be full, or not let itself be written.
        let _ = hub.say(Message::Hello(hello), 64);
        hub.overview();
        hub.functions();
        hub.close();
        Ok(Verdict::Value)
    };
    go_on().unwrap_or_else(|error| of(&error))
}

/// Writes messages, requests and a database into a folder, from what a client sent and kept.
///
/// # Errors
/// What servers and the system say.
pub fn write(
    folder: &Path,
    delta: &Delta,
    entries: Vec<Entry>,
) -> Result<(), Box<dyn std::error::Error>> {
    let hello = Hello {
        client: delta.client,
        program: 0,
        rank: 3,
        name: "cosmo".into(),
        host: "n12".into(),
    };
    let push = |delta: Option<&Delta>, entries: Vec<Entry>| Push {
        client: hello.client,
        view: 0,
        delta: delta.cloned(),
        records: (!entries.is_empty()).then_some(Bundle {
            sequence: delta.map_or(1, |delta| delta.sequence),
            entries,
        }),
    };
    let (mut first, mut second) = (delta.clone(), delta.clone());
    (first.sequence, second.sequence) = (1, 2);
    let store = folder.join("server.store");
    clear(&store);
    let hub = Hub::open(&store, Default::default())?;
    let welcome = hub.say(Message::Hello(hello.clone()), 64)?.welcome(1 << 20);
    let pushes = [
        push(Some(&first), Vec::new()).encode(),
        push(None, entries.clone()).encode(),
        push(Some(&second), entries).encode(),
    ];
    let mut answer = Answer::default();
    for push in &pushes {
        answer = hub.say(Message::push(push)?, push.len())?.answer();
    }
    hub.close();
    for (name, bytes) in [("hello", hello.encode()), ("welcome", welcome.encode())] {
        std::fs::write(folder.join(format!("{name}.body")), bytes)?;
    }
    std::fs::write(folder.join("answer.body"), answer.encode())?;
    let posted = |path: &str, body: &[u8]| {
        let head = format!("POST {path}\nhost: localhost\nauthorization: Bearer {TOKEN}\n\n");
        [head.as_bytes(), body].concat()
    };
    for (at, body) in pushes.iter().enumerate() {
        std::fs::write(folder.join(format!("{at}.body")), body)?;
        let request = posted(perf_live::wire::PUSH, body);
        std::fs::write(folder.join(format!("push{at}.request")), request)?;
    }
    let request = posted(perf_live::wire::HELLO, &hello.encode());
    std::fs::write(folder.join("hello.request"), request)?;
    for (at, question) in QUESTIONS.iter().enumerate() {
        let request = format!("GET {question}\nhost: [::1]:80\n\n");
        std::fs::write(folder.join(format!("question{at}.request")), request)?;
    }
    Ok(())
}
