//! [`Http`]: HTTP requests of a client over a persistent connection, repeated while the server is
//! busy or unreachable, until a time limit.

use super::link::Target;
use crate::{Error, Result};
use std::time::{Duration, Instant};
use ureq::Agent;

/// Persistent connection, and the headers of each request.
#[derive(Clone, Debug)]
pub(super) struct Http {
    /// HTTP client.
    agent: Agent,
    /// Address of the server.
    url: String,
    /// Authorization header.
    authorization: String,
    /// Time limit for a request including its repetitions.
    patience: Duration,
    /// Seed of random pauses. It differs between clients, so that they do not repeat requests at
    /// the same time.
    seed: u64,
}

/// Status and body of an answer.
pub(super) type Answered = (u16, Vec<u8>);

/// Largest answer in bytes.
const MAX_ANSWER: u64 = 1 << 30;

/// Longest part of an answer in bytes that becomes an error message.
const WORDS: usize = 400;

/// First and longest pause before a request is repeated.
const WAITS: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

impl Http {
    pub(super) fn new(target: &Target, seed: u64) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_connect(Some(target.patience.min(Duration::from_secs(5))))
            .timeout_global(Some(target.patience))
            // The server closes connections that are silent for 15 s.
            .max_idle_age(Duration::from_secs(10))
            .max_idle_connections(1)
            .max_idle_connections_per_host(1)
            .build();
        Http {
            agent: config.into(),
            url: target.url.clone(),
            authorization: format!("Bearer {}", target.token),
            patience: target.patience,
            seed,
        }
    }

    /// Sends a message and repeats it while the server is unreachable or asks for a repetition
    /// (status 503).
    pub(super) fn post(&self, path: &str, message: &[u8]) -> Result<Answered> {
        let begin = Instant::now();
        let mut wait = WAITS[0];
        loop {
            let outcome = self.once(path, message);
            let (after, last) = match outcome {
                Ok((503, after, words)) => (after, self.refused(503, &words)),
                Ok((status, _, body)) => return Ok((status, body)),
                Err(error) => (None, error),
            };
            let pause = after.unwrap_or(wait).max(wait).mul_f64(self.jitter(begin));
            if begin.elapsed() + pause >= self.patience {
                return Err(last);
            }
            std::thread::sleep(pause);
            wait = (2 * wait).min(WAITS[1]);
        }
    }

    /// Returns a random factor between 0.5 and 1.5.
    fn jitter(&self, begin: Instant) -> f64 {
        let nanos = begin.elapsed().as_nanos() as u64;
        let mixed = (self.seed ^ nanos).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        0.5 + (mixed >> 40) as f64 / (1_u64 << 24) as f64
    }

    /// Sends a request once. Returns the status, the delay that the server requests, if any, and
    /// the body.
    fn once(&self, path: &str, message: &[u8]) -> Result<(u16, Option<Duration>, Vec<u8>)> {
        let failed = |error: ureq::Error| Error::Unreachable {
            url: self.url.clone(),
            what: error.to_string(),
        };
        let request = self
            .agent
            .post(format!("{}{path}", self.url))
            .header("authorization", &self.authorization)
            .content_type("application/octet-stream");
        let mut response = request.send(message).map_err(failed)?;
        let after = response.headers().get("retry-after");
        let after = after.and_then(|after| after.to_str().ok()?.parse().ok());
        let after = after.map(|seconds: u64| Duration::from_secs(seconds.min(60)));
        let status = response.status().as_u16();
        let body = response
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER)
            .read_to_vec();
        Ok((status, after, body.map_err(failed)?))
    }

    /// Builds an error from the status and the body of an answer.
    pub(super) fn refused(&self, status: u16, body: &[u8]) -> Error {
        // A shorter body is shown whole.
        let words = String::from_utf8_lossy(body.get(..WORDS).unwrap_or(body));
        Error::Refused {
            url: self.url.clone(),
            status,
            what: words.trim().to_string(),
        }
    }
}
