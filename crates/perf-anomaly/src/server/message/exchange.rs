//! [`Exchange`]: transport of messages between a client and a server, and [`Local`] for threads of one process.

use super::{Delta, View};
use crate::server::Server;
use crate::{Error, Result};
use std::sync::{Arc, Mutex};

/// Transports deltas of one client to a server, and views back.
///
/// The methods need not block: an exchange over a network may pass a delta to a thread, or to a
/// request that completes later. An exchange must not lose a delta without an error.
pub trait Exchange: std::fmt::Debug + Send {
    /// Sends a delta.
    ///
    /// # Errors
    /// Returns an error if the delta may not have arrived. The client then sends it again, and the
    /// server merges it only once. For [`Error::OtherSession`] the client begins a new session and
    /// sends all names again.
    fn send(&mut self, delta: &Delta) -> Result<()>;

    /// Returns the latest view that arrived since the last call; `None` if none arrived.
    ///
    /// # Errors
    /// Returns an error if no further view can arrive, or if a view cannot be decoded.
    fn receive(&mut self) -> Result<Option<View>>;
}

/// Exchange with a server in the same process. Clones are exchanges of further clients with the
/// same server.
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
    /// Shared server.
    server: Arc<Mutex<Server>>,
    /// View that the client has not received yet.
    view: Option<View>,
}

impl Local {
    /// Creates an exchange with a server.
    pub fn new(server: Server) -> Self {
        Local {
            server: Arc::new(Mutex::new(server)),
            view: None,
        }
    }

    /// Calls `ask` with the server and returns its result.
    ///
    /// # Errors
    /// Returns [`Error::Exchange`] if a thread panicked while it held the server.
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
