//! [`Exchange`]: how messages travel, and [`Local`] for threads of one process.

use super::{Delta, Server, View};
use crate::{Error, Result};
use std::sync::{Arc, Mutex};

/// Carries deltas of one client to a server, and views back.
///
/// Neither call needs to wait: an exchange over a network may hand a delta to a thread of its own, or
/// to a request that completes later. What it must not do is lose a delta and say nothing.
pub trait Exchange: std::fmt::Debug + Send {
    /// Sends a delta.
    ///
    /// # Errors
    /// If it cannot tell that the delta arrives. The client sends it again, unchanged; a server takes
    /// it once. [`Error::OtherSession`] makes the client start anew with names.
    fn send(&mut self, delta: &Delta) -> Result<()>;

    /// The latest view that came since the last call; `None` if none did.
    ///
    /// # Errors
    /// If no view can come any more, or one that came cannot be read.
    fn receive(&mut self) -> Result<Option<View>>;
}

/// An exchange with a server in the same process. Clones are for further clients of that server.
///
/// ```
/// use perf_anomaly::server::{Local, Server};
/// let local = Local::new(Server::default());
/// let (one, two) = (local.clone(), local.clone());
/// assert_eq!(local.server(|server| server.clients())?, 0);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Debug)]
pub struct Local {
    server: Arc<Mutex<Server>>,
    view: Option<View>,
}

impl Local {
    /// An exchange with a server.
    pub fn new(server: Server) -> Self {
        Local {
            server: Arc::new(Mutex::new(server)),
            view: None,
        }
    }

    /// What `ask` says of the server.
    ///
    /// # Errors
    /// [`Error::Exchange`] if a thread panicked that had the server.
    pub fn server<T>(&self, ask: impl FnOnce(&mut Server) -> T) -> Result<T> {
        match self.server.lock() {
            Ok(mut server) => Ok(ask(&mut server)),
            Err(_) => Err(Error::Exchange("a thread failed while it had it".into())),
        }
    }
}

impl Clone for Local {
    fn clone(&self) -> Self {
        Local {
            server: Arc::clone(&self.server),
            view: None,
        }
    }
}

impl Exchange for Local {
    fn send(&mut self, delta: &Delta) -> Result<()> {
        self.view = Some(self.server(|server| server.take(delta))??);
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<View>> {
        Ok(self.view.take())
    }
}
