//! Program `perfkit-live`: runs the parameter server with its page, replays a database, or simulates ranks.

use perf_live::program::{self, Outcome, ServeOptions, SimulateOptions};
use perf_live::simulate::Load;
use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
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
  --host NAME      a further name under which the page may be options; may be repeated
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

/// Command-line options.
#[derive(Debug, Default)]
struct Options {
    /// Database or recording.
    file: Option<String>,
    /// Options of `serve`.
    serve: ServeOptions,
    /// Recording of the simulated ranks.
    from: Option<PathBuf>,
    /// Number of steps of the recording.
    steps: Option<u64>,
    /// Load of the simulation.
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
    let mut options = Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("listen") => options.serve.listen.address = Some(parser.value()?.parse()?),
            Long("host") => options.serve.listen.hosts.push(parser.value()?.string()?),
            Long("token-file") => options.serve.token_file = Some(parser.value()?.into()),
            Long("from") => options.from = Some(parser.value()?.into()),
            Long("publish") => options.serve.publish = Some(parser.value()?.parse()?),
            Long("history") => options.serve.history = Some(parser.value()?.parse()?),
            Long("clients") => options.serve.clients = Some(parser.value()?.parse()?),
            Long("queue") => options.serve.queue = Some(parser.value()?.parse()?),
            Long("steps") => options.steps = Some(parser.value()?.parse()?),
            Long("ranks") => options.load.ranks = parser.value()?.parse()?,
            Long("updates") => options.load.updates = parser.value()?.parse()?,
            Long("forget") => options.serve.forget = Some(seconds(&parser.value()?)?),
            Long("keep-bytes") => options.serve.keep_bytes = Some(parser.value()?.parse()?),
            Long("keep-steps") => options.serve.keep_steps = Some(parser.value()?.parse()?),
            Long("period") => options.load.period = seconds(&parser.value()?)?,
            Long("connections") => options.load.connections = parser.value()?.parse()?,
            Long("threads") => options.load.threads = parser.value()?.parse()?,
            Long("views") => options.load.views = parser.value()?.parse()?,
            Long("program") => options.load.program = parser.value()?.parse()?,
            Long("no-records") => options.load.records = false,
            Short('h') | Long("help") => return help(),
            Value(file) if options.file.is_none() => options.file = Some(file.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let file = options
        .file
        .clone()
        .ok_or("which file or address? See --help")?;
    let mut out = std::io::stdout();
    match command.as_str() {
        "serve" => program::serve(Path::new(&file), &options.serve, &mut out, |line| {
            eprintln!("perfkit-live: {line}");
        }),
        "replay" => program::replay(Path::new(&file), &options.serve.listen, &mut out),
        "simulate" => {
            let recording = options.from.ok_or("--from which recording?")?;
            let simulation = SimulateOptions {
                recording,
                token_file: options.serve.token_file,
                steps: options.steps.unwrap_or(100),
                load: options.load,
            };
            program::simulate(&file, &simulation, &mut out)
        }
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
