//! The parameter server and its page as a program, and ranks that are made up.

use perf_core::Job;
use perf_live::client::Target;
use perf_live::hub::{Finished, Hub};
use perf_live::simulate::{Figures, Load, Tape, run};
use perf_live::web::{Service, WebParams};
use std::error::Error;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: perfkit-live COMMAND

  serve FILE       takes what ranks tell, keeps it in a database, and shows it
  replay FILE      shows a database; nothing is written
  simulate URL     lets many ranks play a recording to a server

serve and replay:
  --listen ADDR    where, default 127.0.0.1:5560; port 0 for a free one. Beyond the machine nothing is
                   encrypted, and whoever reaches it may read
  --host NAME      a further name under which the page may be asked; may be repeated
serve:
  --token-file F   what writers must know is in this file; default FILE.token, which is made. The variable
                   PERFKIT_LIVE_TOKEN goes before it
  --publish N      a new view after N deltas, default after as many as there are clients
  --history N      steps a rank in memory, default 64
  --clients N      most clients, default 131072
  --queue N        messages that may wait, default 16384
  --forget T       seconds after which a silent client is forgotten, default 86400; what it told stays
  --keep-bytes N   most bytes of records, default no limit; of the older half the least severe go first
  --keep-steps N   records and steps of ranks are kept of the last N steps, default of all
simulate:
  --from RECORDING what the ranks do: an OTF2 archive or another recording with events
  --token-file F   as above
  --ranks N        simulated ranks, default 80
  --updates N      updates of each, default 60
  --period T       seconds between two updates of a rank, default 1; 0 for no wait
  --steps N        steps of the recording, default 100
  --connections N  of all ranks, default 256
  --threads N      that serve them, default 1
  --views N        each rank asks for the view with each N-th update, default 10; 0 for never
  --program N      the program they are of, default 0
  --no-records     without what is kept of anomalies";

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is asked for.
#[derive(Debug, Default)]
struct Asked {
    file: Option<String>,
    listen: Option<SocketAddr>,
    hosts: Vec<String>,
    token: Option<PathBuf>,
    from: Option<PathBuf>,
    publish: Option<u64>,
    history: Option<usize>,
    clients: Option<usize>,
    queue: Option<usize>,
    forget: Option<Duration>,
    keep_bytes: Option<u64>,
    keep_steps: Option<u64>,
    steps: Option<u64>,
    load: Load,
}

fn command(arguments: &[OsString]) -> Outcome {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_args(arguments);
    let command = match parser.next()? {
        Some(Value(command)) => command.string()?,
        Some(Short('h') | Long("help")) => return help(),
        Some(other) => return Err(other.unexpected().into()),
        None => return Err(USAGE.into()),
    };
    let mut asked = Asked::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("listen") => asked.listen = Some(parser.value()?.parse()?),
            Long("host") => asked.hosts.push(parser.value()?.string()?),
            Long("token-file") => asked.token = Some(parser.value()?.into()),
            Long("from") => asked.from = Some(parser.value()?.into()),
            Long("publish") => asked.publish = Some(parser.value()?.parse()?),
            Long("history") => asked.history = Some(parser.value()?.parse()?),
            Long("clients") => asked.clients = Some(parser.value()?.parse()?),
            Long("queue") => asked.queue = Some(parser.value()?.parse()?),
            Long("steps") => asked.steps = Some(parser.value()?.parse()?),
            Long("ranks") => asked.load.ranks = parser.value()?.parse()?,
            Long("updates") => asked.load.updates = parser.value()?.parse()?,
            Long("forget") => asked.forget = Some(seconds(&parser.value()?)?),
            Long("keep-bytes") => asked.keep_bytes = Some(parser.value()?.parse()?),
            Long("keep-steps") => asked.keep_steps = Some(parser.value()?.parse()?),
            Long("period") => asked.load.period = seconds(&parser.value()?)?,
            Long("connections") => asked.load.connections = parser.value()?.parse()?,
            Long("threads") => asked.load.threads = parser.value()?.parse()?,
            Long("views") => asked.load.views = parser.value()?.parse()?,
            Long("program") => asked.load.program = parser.value()?.parse()?,
            Long("no-records") => asked.load.records = false,
            Short('h') | Long("help") => return help(),
            Value(file) if asked.file.is_none() => asked.file = Some(file.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let file = asked
        .file
        .clone()
        .ok_or("which file or address? See --help")?;
    match command.as_str() {
        "serve" => serve(Path::new(&file), &asked),
        "replay" => replay(Path::new(&file), &asked),
        "simulate" => simulate(&file, &asked),
        other => Err(format!("no command is called {other}: see --help").into()),
    }
}

fn seconds(value: &OsString) -> Result<Duration, Box<dyn Error>> {
    use lexopt::ValueExt;
    let seconds: f64 = value.parse()?;
    Ok(Duration::try_from_secs_f64(seconds)?)
}

fn help() -> Outcome {
    Ok(writeln!(std::io::stdout(), "{USAGE}")?)
}

fn web(asked: &Asked) -> WebParams {
    let usual = SocketAddr::from(([127, 0, 0, 1], 5560));
    let params = Service::params().address(asked.listen.unwrap_or(usual));
    asked.hosts.iter().fold(params, WebParams::host)
}

fn serve(file: &Path, asked: &Asked) -> Outcome {
    let (token, from) = server_token(file, asked.token.as_deref())?;
    let mut params = Hub::params().publish(asked.publish);
    params = params
        .keep_bytes(asked.keep_bytes)
        .keep_steps(asked.keep_steps);
    if let Some(after) = asked.forget {
        params = params.forget(after);
    }
    if let Some(steps) = asked.history {
        params = params.history(steps);
    }
    if let Some(clients) = asked.clients {
        params = params.clients(clients);
    }
    if let Some(messages) = asked.queue {
        params = params.queue(messages);
    }
    let hub = Hub::open(file, params.check()?)?;
    watch_store(hub.clone());
    let service = Service::start(hub, web(asked).token(token).check()?)?;
    say(&service, &format!("writers need the token of {from}"))?;
    service.wait();
    Ok(())
}

/// Between two looks whether the database can be written.
const STORE_POLL: Duration = Duration::from_secs(1);

/// Prints when the database can no longer be written, and when it can again.
fn watch_store(hub: Hub) {
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
                Some(why) => eprintln!(
                    "perfkit-live: {file} cannot be written: {why}; messages of clients are refused until it can be"
                ),
                None => eprintln!(
                    "perfkit-live: {file} can be written again; {unstored} messages were refused meanwhile and come again"
                ),
            }
        }
    });
}

fn replay(file: &Path, asked: &Asked) -> Outcome {
    let finished = Finished::open(file, Hub::params().check()?)?;
    // Nobody writes, and nobody knows this.
    let service = Service::start(finished, web(asked).token(made_up()).check()?)?;
    say(&service, "nothing is written")?;
    service.wait();
    Ok(())
}

/// The address on a line of its own, for programs that start this one.
fn say(service: &Service, what: &str) -> Outcome {
    let mut out = std::io::stdout();
    writeln!(out, "listening on http://{}", service.address())?;
    out.flush()?;
    if out.is_terminal() {
        writeln!(out, "{what}")?;
    }
    Ok(())
}

const VARIABLE: &str = "PERFKIT_LIVE_TOKEN";

fn read_token(file: &Path) -> Result<String, Box<dyn Error>> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(text.trim().to_string())
}

/// The token, and where it is from.
fn server_token(database: &Path, file: Option<&Path>) -> Result<(String, String), Box<dyn Error>> {
    if let Ok(token) = std::env::var(VARIABLE) {
        return Ok((token, VARIABLE.into()));
    }
    let mut beside = database.as_os_str().to_os_string();
    beside.push(".token");
    let path = file.map_or_else(|| PathBuf::from(beside), Path::to_path_buf);
    if file.is_none() && !path.exists() {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let made = options.open(&path);
        let mut made = made.map_err(|error| format!("{}: {error}", path.display()))?;
        writeln!(made, "{}", made_up())?;
    }
    Ok((read_token(&path)?, path.display().to_string()))
}

/// Nobody can guess it: the keys of hashes are random.
fn made_up() -> String {
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

fn simulate(url: &str, asked: &Asked) -> Outcome {
    let from = asked.from.as_ref().ok_or("--from which recording?")?;
    let token = match (std::env::var(VARIABLE), &asked.token) {
        (Ok(token), _) => token,
        (Err(_), Some(file)) => read_token(file)?,
        (Err(_), None) => return Err("--token-file?".into()),
    };
    let options = perf_formats::OpenOptions::new();
    let recording = perf_formats::open(from, &options, &Job::default())?;
    let trace = recording.into_trace();
    let trace = trace.ok_or_else(|| format!("{}: holds no events", from.display()))?;
    let target = Target::new(url)?.token(token);
    let tape = Tape::record(trace.view(), asked.steps.unwrap_or(100), &target)?;
    let figures = run(&tape, &asked.load, &target)?;
    tell(&tape, &figures)
}

fn tell(tape: &Tape, figures: &Figures) -> Outcome {
    let mut out = std::io::stdout();
    writeln!(out, "{} ranks were recorded", tape.ranks())?;
    writeln!(
        out,
        "updates {}, calls {}, anomalies {}, lost {} ns, records {}",
        figures.updates, figures.calls, figures.anomalies, figures.time, figures.records
    )?;
    let seconds = figures.seconds.max(1e-9);
    writeln!(
        out,
        "in {:.1} s: {:.0} updates a second; begun at most {:.1} ms late, {} by more than a period",
        seconds,
        figures.updates as f64 / seconds,
        figures.lag.as_secs_f64() * 1e3,
        figures.late
    )?;
    let [half, most, last] = [0.5, 0.99, 1.0].map(|share| figures.latency(share));
    writeln!(
        out,
        "an update took {half} us, 1 in 100 over {most} us, none over {last} us"
    )?;
    let each = |bytes: u64| bytes as f64 / figures.updates.max(1) as f64;
    writeln!(
        out,
        "an update sent {:.0} bytes and heard {:.0}, {} views in all",
        each(figures.sent),
        each(figures.received),
        figures.views
    )?;
    match figures.is_accounted() {
        true => Ok(writeln!(out, "the server has each update once")?),
        false => {
            let (calls, anomalies, time) = figures.stored;
            let (lost, missing) = (figures.time, figures.missing);
            Err(format!(
                "the server has {calls} calls, {anomalies} anomalies, {time} ns more than before, of {}, {}, {lost} ns; \
                 {missing} answers did not name what was told",
                figures.calls, figures.anomalies
            )
            .into())
        }
    }
}
