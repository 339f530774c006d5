//! [`Connection`]: HTTP connection with non-blocking requests, for many simulated ranks in one thread.

use crate::client::Target;
use crate::{Error, Result};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Persistent connection with one request at a time. Failed requests are sent again, because the
/// server recognises repeated messages by their numbers.
#[derive(Debug)]
pub(super) struct Connection {
    /// Server.
    target: Target,
    /// Resolved address.
    address: SocketAddr,
    /// Connection, if open.
    stream: Option<TcpStream>,
    /// Bytes of the request.
    request: Vec<u8>,
    /// Number of bytes of the request that are sent.
    sent: usize,
    /// Bytes of the answer so far.
    answer: Vec<u8>,
    /// Begin of the request.
    began: Instant,
    /// Time until which the connection pauses; `None` if it does not pause.
    pause: Option<Instant>,
}

/// Status and body of an answer.
pub(super) type Answered = (u16, Vec<u8>);

/// Pause before a failed request is repeated.
const PAUSE: Duration = Duration::from_millis(200);

/// Interval between two checks for an answer.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// Largest answer in bytes.
const MAX_ANSWER: usize = 1 << 30;

/// Number of bytes read at once.
const CHUNK: usize = 2 << 10;

/// Largest size of the head of an answer in bytes.
const HEAD: usize = 16 << 10;

impl Connection {
    /// Creates a connection, which is opened at the first request.
    pub(super) fn new(target: &Target) -> Result<Self> {
        let host = target.url.trim_start_matches("http://");
        let with_port = match host.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => host.to_string(),
            _ => format!("{host}:80"),
        };
        let found = with_port.to_socket_addrs().map(|mut all| all.next());
        let address = found.ok().flatten();
        Ok(Connection {
            address: address.ok_or_else(|| unreachable(target, "no address has this name"))?,
            target: target.clone(),
            stream: None,
            request: Vec::new(),
            sent: 0,
            answer: Vec::new(),
            began: Instant::now(),
            pause: None,
        })
    }

    /// Begins a request, which [`poll`](Self::poll) continues. An earlier request is abandoned.
    pub(super) fn ask(&mut self, method: &str, path: &str, body: &[u8]) {
        self.request.clear();
        let host = self.target.url.trim_start_matches("http://");
        // Writing to memory does not fail.
        let _ = write!(
            self.request,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
            self.target.token,
            body.len()
        );
        self.request.extend_from_slice(body);
        self.answer.clear();
        self.sent = 0;
        self.began = Instant::now();
        // Bytes that could not be sent are sent by the next `poll`, which also reports errors.
        let _ = self.send();
    }

    /// Returns the address of the server.
    pub(super) fn url(&self) -> &str {
        &self.target.url
    }

    /// Continues the request until the answer is complete.
    ///
    /// # Errors
    /// Returns the errors of [`poll`](Self::poll).
    pub(super) fn wait(&mut self) -> Result<Answered> {
        loop {
            if let Some(answered) = self.poll()? {
                return Ok(answered);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Continues the request. Returns the answer if it is complete, otherwise `None`.
    ///
    /// # Errors
    /// Returns [`Error::Unreachable`] after the time limit, or for an invalid answer.
    pub(super) fn poll(&mut self) -> Result<Option<Answered>> {
        if self.pause.is_some_and(|until| Instant::now() < until) {
            return Ok(None);
        }
        self.pause = None;
        match self.go_on() {
            Ok(Some((503, after, _))) => self.later(after, "the server is busy"),
            Ok(Some((status, _, body))) => Ok(Some((status, body))),
            Ok(None) if self.began.elapsed() >= self.target.patience => {
                Err(unreachable(&self.target, "it does not answer"))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                self.stream = None;
                self.later(PAUSE, &error.to_string())
            }
        }
    }

    /// Repeats the request after a pause.
    fn later(&mut self, after: Duration, why: &str) -> Result<Option<Answered>> {
        if self.began.elapsed() + after >= self.target.patience {
            return Err(unreachable(&self.target, why));
        }
        self.answer.clear();
        self.sent = 0;
        self.pause = Some(Instant::now() + after);
        Ok(None)
    }

    /// Sends the remaining bytes of the request. Returns `true` if all bytes are sent.
    fn send(&mut self) -> std::io::Result<bool> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let made = TcpStream::connect_timeout(&self.address, self.target.patience)?;
                made.set_nodelay(true)?;
                made.set_nonblocking(true)?;
                none.insert(made)
            }
        };
        while let Some(rest) = self
            .request
            .get(self.sent..)
            .filter(|rest| !rest.is_empty())
        {
            match stream.write(rest) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn go_on(&mut self) -> std::io::Result<Option<(u16, Duration, Vec<u8>)>> {
        if !self.send()? {
            return Ok(None);
        }
        let Some(stream) = &mut self.stream else {
            return Ok(None);
        };
        let mut chunk = [0; CHUNK];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    let came = &chunk[..count];
                    self.answer.extend_from_slice(came);
                    let Some(head) = head(&self.answer)? else {
                        continue;
                    };
                    if let Some(body) = self.answer.get(head.body.clone()) {
                        let found = (head.status, head.after, body.to_vec());
                        if head.is_last {
                            self.stream = None;
                        }
                        return Ok(Some(found));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn unreachable(target: &Target, what: &str) -> Error {
    Error::Unreachable {
        url: target.url.clone(),
        what: what.into(),
    }
}

/// Head of an answer.
#[derive(Debug, PartialEq)]
struct Head {
    /// HTTP status.
    status: u16,
    /// Requested delay.
    after: Duration,
    /// Position of the body.
    body: std::ops::Range<usize>,
    /// `true` if the connection ends with this answer.
    is_last: bool,
}

/// Parses the head of an answer. Returns `None` if it is not complete yet.
fn head(bytes: &[u8]) -> std::io::Result<Option<Head>> {
    let invalid = |what: &str| std::io::Error::new(ErrorKind::InvalidData, what);
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if bytes.len() > HEAD {
            Err(invalid("a head without an end"))
        } else {
            Ok(None)
        };
    };
    let text = std::str::from_utf8(&bytes[..end]);
    let mut lines = text
        .map_err(|_| invalid("a head of other letters"))?
        .split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or_else(|| invalid("an answer without a status"))?;
    let (mut length, mut after, mut is_last) = (None, PAUSE, false);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok().filter(|length| *length <= MAX_ANSWER);
        } else if name.eq_ignore_ascii_case("retry-after") {
            after = Duration::from_secs(value.parse().unwrap_or(1).min(60));
        } else if name.eq_ignore_ascii_case("connection") {
            is_last = value.eq_ignore_ascii_case("close");
        }
    }
    let length: usize = length.ok_or_else(|| invalid("an answer without a length"))?;
    Ok(Some(Head {
        status,
        after,
        body: end + 4..end + 4 + length,
        is_last,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_once_they_are_complete() {
        let text = b"HTTP/1.1 503 Busy\r\nRetry-After: 2\r\ncontent-length: 3\r\nconnection: close\r\n\r\nabc";
        for end in 0..text.len() - 3 {
            assert_eq!(head(&text[..end]).ok(), Some(None), "{end}");
        }
        let found = head(text).expect("it is sound").expect("it is whole");
        assert_eq!(
            (found.status, found.after, found.is_last),
            (503, Duration::from_secs(2), true)
        );
        assert_eq!(&text[found.body], b"abc");
        for malformed in [
            &b"HTTP/1.1 200 OK\r\n\r\n"[..],
            b"HTTP/1.1 OK\r\ncontent-length: 1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
            &[b'a'; HEAD + 1],
        ] {
            assert!(head(malformed).is_err());
        }
    }
}
