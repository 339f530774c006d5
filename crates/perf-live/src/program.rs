//! Functions behind `perfkit live`: [`serve`] runs the parameter server with its page and tokens,
//! and [`replay`] shows the database of a finished run.

#[cfg(feature = "simulate")]
mod simulation;

use crate::hub::{Finished, Hub};
use crate::web::{Service, WebParams};
use std::error::Error;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "simulate")]
pub use simulation::{SimulateOptions, simulate};

/// Result of a program.
pub type Outcome = Result<(), Box<dyn Error>>;

/// Receiver of messages for the user, one line each.
pub type Messages = fn(&str);

/// Address and names of the page.
#[derive(Clone, Debug, Default)]
pub struct Listen {
    /// Address; `None` for 127.0.0.1:5560. Port 0 stands for a free port.
    pub address: Option<SocketAddr>,
    /// Further host names under which the page may be requested.
    pub hosts: Vec<String>,
}

impl Listen {
    fn params(&self) -> WebParams {
        let usual = SocketAddr::from(([127, 0, 0, 1], 5560));
        let params = Service::params().address(self.address.unwrap_or(usual));
        self.hosts.iter().fold(params, WebParams::host)
    }
}

/// Options of [`serve`]. `None` stands for the default of [`Hub::params`].
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// Address and names of the page.
    pub listen: Listen,
    /// File with the token of writers. `None` stands for the path of the database with `.token`
    /// appended; this file is created if it does not exist.
    pub token_file: Option<PathBuf>,
    /// Number of deltas after which a view is published.
    pub publish: Option<u64>,
    /// Number of steps of a rank in memory.
    pub history: Option<usize>,
    /// Upper bound on clients.
    pub clients: Option<usize>,
    /// Upper bound on waiting messages.
    pub queue: Option<usize>,
    /// Time without a message after which a client is forgotten.
    pub forget: Option<Duration>,
    /// Upper bound on the size of records in bytes.
    pub keep_bytes: Option<u64>,
    /// Number of the last steps whose records are kept.
    pub keep_steps: Option<u64>,
}

/// Serves a database until the process ends. Writes the address to `out` as a separate line.
///
/// # Errors
/// Returns an error if the database or the address cannot be opened, or a parameter is out of range.
pub fn serve(
    file: &Path,
    options: &ServeOptions,
    out: &mut dyn Write,
    messages: Messages,
) -> Outcome {
    let source = server_token(file, options.token_file.as_deref())?;
    let web = options
        .listen
        .params()
        .token(source.token.as_str())
        .check()?;
    // Nothing is left behind if the address is taken.
    let socket = crate::web::bind(&web)?;
    let mut params = Hub::params()
        .publish(options.publish)
        .keep_bytes(options.keep_bytes)
        .keep_steps(options.keep_steps);
    if let Some(after) = options.forget {
        params = params.forget(after);
    }
    if let Some(steps) = options.history {
        params = params.history(steps);
    }
    if let Some(clients) = options.clients {
        params = params.clients(clients);
    }
    if let Some(waiting) = options.queue {
        params = params.queue(waiting);
    }
    let hub = Hub::open(file, params.check()?)?;
    watch_store(hub.clone(), messages);
    if let Some(path) = &source.to_create {
        create_token(path, &source.token)?;
    }
    let service = Service::start_on(socket, hub.into(), web)?;
    listening(&service, out)?;
    messages(&format!("clients need the token from {}", source.from));
    service.wait();
    Ok(())
}

/// Interval between two checks whether the database can be written.
const STORE_POLL: Duration = Duration::from_secs(1);

/// Prints a message when the database can no longer be written, and another message when it can be
/// written again.
fn watch_store(hub: Hub, messages: Messages) {
    std::thread::spawn(move || {
        let mut known: Option<String> = None;
        loop {
            std::thread::sleep(STORE_POLL);
            let overview = hub.overview();
            if overview.failure.is_some() == known.is_some() {
                continue;
            }
            known = overview.failure.clone();
            let (file, unstored) = (hub.path().display(), overview.unstored);
            match &known {
                Some(why) => messages(&format!(
                    "{file} cannot be written: {why}; messages of clients are rejected until it can be"
                )),
                None => messages(&format!(
                    "{file} can be written again; the clients repeat the {unstored} messages that were rejected"
                )),
            }
        }
    });
}

/// Serves the database of a finished run until the process ends, without writing to it.
///
/// # Errors
/// Returns the errors of [`serve`].
pub fn replay(file: &Path, listen: &Listen, out: &mut dyn Write) -> Outcome {
    let finished = Finished::open(file, Default::default())?;
    // The database is not written, so the token is not needed.
    let service = Service::start(finished, listen.params().token(random_token()).check()?)?;
    listening(&service, out)?;
    service.wait();
    Ok(())
}

/// Writes the address as a separate line, for programs that start this program.
fn listening(service: &Service, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "listening on http://{}", service.address())?;
    out.flush()
}

/// Environment variable with the token, which takes precedence over the file.
const VARIABLE: &str = "PERFKIT_LIVE_TOKEN";

fn read_token(file: &Path) -> Result<String, Box<dyn Error>> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(text.trim().to_string())
}

/// Token of writers.
struct Token {
    token: String,
    /// File or variable that has it.
    from: String,
    /// File that does not exist yet.
    to_create: Option<PathBuf>,
}

/// Returns the token, which is a new one if no file has it yet.
fn server_token(database: &Path, file: Option<&Path>) -> Result<Token, Box<dyn Error>> {
    if let Ok(token) = std::env::var(VARIABLE) {
        return Ok(Token {
            token,
            from: VARIABLE.into(),
            to_create: None,
        });
    }
    let mut beside = database.as_os_str().to_os_string();
    beside.push(".token");
    let path = file.map_or_else(|| PathBuf::from(beside), Path::to_path_buf);
    let is_new = file.is_none() && !path.exists();
    Ok(Token {
        token: if is_new {
            random_token()
        } else {
            read_token(&path)?
        },
        from: path.display().to_string(),
        to_create: is_new.then_some(path),
    })
}

/// Writes a token to a new file that other users cannot read.
fn create_token(path: &Path, token: &str) -> Outcome {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = options.open(path);
    let mut made = made.map_err(|error| format!("{}: {error}", path.display()))?;
    writeln!(made, "{token}")?;
    Ok(())
}

/// Returns an unpredictable token, from the random keys of hash maps.
fn random_token() -> String {
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}
