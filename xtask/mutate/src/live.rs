//! Checks of an anomaly server on damaged messages, requests and databases, without a network, and
//! generation of undamaged ones.

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

/// Token for write access.
pub const TOKEN: &str = "everybody-knows-it";

/// Requests of a page.
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

/// Passes bytes to the decoder of each message. A decoded message must survive encoding and
/// decoding.
pub fn bodies(bytes: &[u8]) -> Verdict {
    fn same<T: PartialEq>(one: &T, again: Result<T>) {
        assert!(again.is_ok_and(|again| again == *one), "it changes");
    }
    let hello = Hello::decode(bytes).map(|it| same(&it, Hello::decode(&it.encode())));
    let welcome = Welcome::decode(bytes).map(|it| same(&it, Welcome::decode(&it.encode())));
    let answer = Answer::decode(bytes).map(|it| same(&it, Answer::decode(&it.encode())));
    // Records may contain NaN, which does not equal itself, so these messages are not compared.
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
    if is_value {
        Verdict::Value
    } else {
        Verdict::Refused
    }
}

/// Server with an empty database, without a network.
#[derive(Debug)]
struct Server {
    hub: Hub,
    offline: Offline,
    path: PathBuf,
}

fn web() -> Result<CheckedWebParams> {
    Service::params().token(TOKEN).check()
}

/// Removes a database and the files next to it.
fn clear(path: &Path) {
    // The file may not exist, so errors are ignored.
    let _ = std::fs::remove_file(path);
    clear_beside(path);
}

/// Removes the files that a database leaves next to it.
pub(crate) fn clear_beside(path: &Path) {
    for end in ["-wal", "-shm", "-journal", ".lock"] {
        let mut name = path.to_path_buf().into_os_string();
        name.push(end);
        let _ = std::fs::remove_file(name);
    }
}

impl Server {
    /// Creates a server with the new database `path`.
    fn new(path: &Path) -> Result<Self> {
        clear(path);
        let hub = Hub::open(path, Default::default())?;
        Ok(Server {
            offline: Offline::new(hub.clone(), web()?)?,
            hub,
            path: path.into(),
        })
    }

    /// Answers a request: a line with method and address, one line for each header name and each
    /// header value, an empty line, and the body.
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

/// Checks a reply: no request may cause a server error, and a reply that is declared as JSON must
/// be valid.
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

/// Number of requests after which the server is replaced, because its memory grows with each.
const REQUESTS: u32 = 256;

/// Sends one request to a server that has only seen the last few requests. The database of the
/// server is next to `path`.
pub fn request(path: &Path, bytes: &[u8]) -> Verdict {
    static SERVER: Mutex<Option<(Server, u32)>> = Mutex::new(None);
    // A panic during an earlier request has been reported already.
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

/// Checks a database: requests to it as the database of a finished run, and a server that continues
/// with it.
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
    // Damaged parts give error replies, which are acceptable.
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
        // The database may be full or read-only, so errors are ignored.
        let _ = hub.say(Message::Hello(hello), 64);
        hub.overview();
        hub.functions();
        hub.close();
        Ok(Verdict::Value)
    };
    go_on().unwrap_or_else(|error| of(&error))
}

/// Writes messages, requests and a database into a folder, from the data that a client sent and
/// stored.
///
/// # Errors
///
/// Returns the errors of servers and of the file system.
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
