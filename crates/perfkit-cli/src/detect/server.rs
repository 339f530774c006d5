//! [`Server`]: connection of `detect` to a parameter server, which shares the model of the monitor
//! and sends copies of stored records.

use crate::failure::Failure;
#[cfg(feature = "live")]
use crate::messages;
use perfkit::anomaly::Monitor;
use perfkit::anomaly::provenance::Store;
use std::path::{Path, PathBuf};
#[cfg(feature = "live")]
use std::{sync::mpsc::RecvTimeoutError, time::Duration};

/// Time for which a server is tried that does not answer.
#[cfg(feature = "live")]
const PATIENCE: Duration = Duration::from_secs(30);

/// Time after which a message names a server that does not answer.
#[cfg(feature = "live")]
const SILENCE: Duration = Duration::from_secs(1);

/// Returns the result of `wait`, and calls `notify` once if it takes longer than [`SILENCE`].
#[cfg(feature = "live")]
fn notify_late<T>(notify: impl FnOnce() + Send, wait: impl FnOnce() -> T) -> T {
    let (done, ends) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if ends.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                notify();
            }
        });
        let result = wait();
        drop(done);
        result
    })
}

/// Describes a server that does not answer.
#[cfg(feature = "live")]
fn waits(url: &str) -> String {
    let seconds = PATIENCE.as_secs();
    format!("no answer from the server at {url} yet; it is tried for {seconds} s")
}

/// Connection to a parameter server; does nothing without an address.
#[derive(Debug)]
pub(crate) struct Server {
    /// Connection; `None` without an address.
    #[cfg(feature = "live")]
    link: Option<perf_live::client::Link>,
}

impl Server {
    /// Connects to the server at an address, if there is one.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the server does not answer, and [`Failure::Usage`] without the
    /// feature `live`.
    #[cfg(feature = "live")]
    pub(crate) fn open(
        url: Option<&str>,
        token: Option<&Path>,
        run: &str,
        sources: &[PathBuf],
    ) -> Result<Self, Failure> {
        use crate::failure::input;
        use perf_live::client::{Link, Target, Who, stream_client};
        let Some(url) = url else {
            return Ok(Server { link: None });
        };
        let target = Target::new(url).map_err(|error| Failure::Usage(error.to_string()))?;
        let file = token.ok_or_else(|| Failure::Usage("--server needs --token".into()))?;
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|error| Failure::Input(format!("{}: {error}", file.display())))?;
        // A reader that is restarted on the same streams is the same client.
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let paths = sources.iter().map(|path| {
            // Links to one file are one stream.
            let path = path.canonicalize().or_else(|_| std::path::absolute(path));
            let path = path.unwrap_or_default();
            path.to_string_lossy().into_owned()
        });
        let paths: Vec<String> = paths.collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let client = stream_client(host.trim(), run, &paths);
        let who = Who::new(0, 0).program_name("detect").host(host.trim());
        let target = target.token(text.trim()).patience(PATIENCE);
        let link = notify_late(
            || messages::say(&waits(url)),
            || Link::open_as(&target, who, client),
        );
        Ok(Server {
            link: Some(link.map_err(input)?),
        })
    }

    /// Returns a server without connection, because this program was built without the feature
    /// `live`.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if there is an address.
    #[cfg(not(feature = "live"))]
    pub(crate) fn open(
        url: Option<&str>,
        _: Option<&Path>,
        _: &str,
        _: &[PathBuf],
    ) -> Result<Self, Failure> {
        match url {
            None => Ok(Server {}),
            Some(_) => Err(Failure::Usage(
                "servers are told with `--features live` of cargo".into(),
            )),
        }
    }

    /// Returns a store whose entries are also sent to the server.
    pub(crate) fn keep(&self, store: Box<dyn Store>) -> Box<dyn Store> {
        #[cfg(feature = "live")]
        if let Some(link) = &self.link {
            return Box::new(link.store().attach(store));
        }
        store
    }

    /// Returns a monitor that exchanges its model with the server.
    pub(crate) fn share(&self, monitor: Monitor) -> Monitor {
        #[cfg(feature = "live")]
        if let Some(link) = &self.link {
            return monitor.share(link.client_of(link.exchange()));
        }
        monitor
    }
}
