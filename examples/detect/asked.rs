//! What `detect` can be asked for, and whether it makes sense.

use perfkit::anomaly::calls::{ModelBy, Repair, Runtime};
use perfkit::anomaly::server::Ranking;
use perfkit::core::Nanos;
use perfkit_examples::cli::{self, Failure, Outcome};
use perfkit_examples::detected::source::Source;
use perfkit_examples::drawn::{self, Files};
use perfkit_examples::recording::parse_time;
use std::ffi::OsString;
use std::path::PathBuf;

/// What the program prints with `--help`.
pub(crate) const USAGE: &str = "usage: detect SOURCE... [OPTIONS]

Finds abnormal calls, ranks and functions, and shows the worst calls with their call stacks.

  SOURCE              streams of events, one or one a rank, or a folder of them: .tsv, .ndjson, .jsonl,
                      also .gz; .bp files of TAU's ADIOS2 plug-in, or a folder of them; or one
                      recording: OTF2 archive, Paraver trace (.prv), Chrome/Kineto JSON, rocprofv3
                      JSON; with the feature `nsys` an export of Nsight Systems
  --method METHOD     default, or as Chimbuko does: sstd, hbos, copod
  --false-alarms N    default method: most alarms expected in a million calls when nothing is wrong,
                      default 10
  --by WHAT           what has a model of its own: function (default) or path
  --runtime WHAT      what is judged: exclusive time (default) or inclusive
  --ignore GLOB       neither judges nor learns these functions; may be repeated
  --threshold GLOB=X  another threshold for these functions, in the unit of the method: false alarms
                      in a million, deviations (sstd), part of the range of scores (hbos, copod)
  --period T          length of a step of streams that do not say it, default 1s, and of a recording,
                      default a hundredth of it
  --origin T          time at which step 0 of streams begins that do not say their steps, default the
                      first event; the ranks of one run that are read apart need the same
  --rank-by WHAT      order of the ranks: total (default), mean, deviation, minimum, maximum of their
                      anomalies a step, or time
  --provenance OUT    writes all that is known of each anomaly: JSON Lines, or a database if OUT ends
                      in .sqlite or .db (feature `sqlite`)
  --compare STORE     shows which functions lost more or less time than in another run, by what that
                      run wrote with --provenance
  --prune             judges what was written again, by the model at the end
  --server URL        tells all of it to a parameter server, and judges by what all that tell it know
                      (feature `live`)
  --token FILE        with --server: the file with the token of its writers
  --run NAME          with --server: tells runs apart that write the same files; a detector that starts again
                      on the same files of the same run goes on, and counts nothing twice
  --restart           starts over with a function that became slower or faster for good
  --follow            waits for more at the end of streams, and prints anomalies as they come; files may
                      come later, by themselves or in a folder. Without --idle it ends when the writers of
                      all .bp files closed them, and for text never
  --idle T            with --follow: ends when nothing came for so long, also if all writers closed
                      their files but more files may come in a folder
  --pace X            replays a recording X times as fast as it was made
  --top N             ranks, functions and calls to list, default 5
  --png OUT           also draws ranks, steps, the worst function and the worst call
  --html OUT          also writes a page: from rank to step to function to call stack
  --json              one JSON object instead of text";

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) method: Method,
    pub(crate) false_alarms: Option<f64>,
    pub(crate) model: ModelBy,
    pub(crate) runtime: Runtime,
    pub(crate) ignore: Vec<String>,
    pub(crate) thresholds: Vec<(String, f64)>,
    pub(crate) period: Option<Nanos>,
    pub(crate) origin: Option<Nanos>,
    pub(crate) ranking: Ranking,
    pub(crate) provenance: Option<PathBuf>,
    pub(crate) compare: Option<PathBuf>,
    pub(crate) prune: bool,
    pub(crate) server: Option<String>,
    pub(crate) token: Option<PathBuf>,
    pub(crate) run: Option<String>,
    pub(crate) restart: bool,
    pub(crate) follow: bool,
    pub(crate) idle: Option<Nanos>,
    pub(crate) pace: Option<f64>,
    pub(crate) top: usize,
    pub(crate) drawn: Files,
    pub(crate) draws: bool,
    pub(crate) as_json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Method {
    Default,
    Sstd,
    Hbos,
    Copod,
}

impl Method {
    const ALL: [(Method, &str); 4] = [
        (Method::Default, "default"),
        (Method::Sstd, "sstd"),
        (Method::Hbos, "hbos"),
        (Method::Copod, "copod"),
    ];

    pub(crate) fn name(self) -> &'static str {
        let found = Method::ALL.iter().find(|(one, _)| *one == self);
        found.map_or("default", |(_, name)| name)
    }
}

/// One of a list of words.
fn one_of<T: Copy>(option: &str, word: &str, all: &[(T, &str)]) -> Result<T, Failure> {
    let found = all.iter().find(|(_, name)| *name == word);
    found.map(|(one, _)| *one).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|(_, name)| *name).collect();
        Failure::Usage(format!("{option} `{word}`: expected {}", names.join(", ")))
    })
}

/// The arguments.
pub(crate) fn parse(args: &[OsString]) -> Result<Asked, Failure> {
    use lexopt::prelude::*;
    let mut asked = Asked {
        files: Vec::new(),
        method: Method::Default,
        false_alarms: None,
        model: ModelBy::Function,
        runtime: Runtime::Exclusive,
        ignore: Vec::new(),
        thresholds: Vec::new(),
        period: None,
        origin: None,
        ranking: Ranking::Total,
        provenance: None,
        compare: None,
        prune: false,
        server: None,
        token: None,
        run: None,
        restart: false,
        follow: false,
        idle: None,
        pace: None,
        top: 5,
        drawn: Files::default(),
        draws: false,
        as_json: false,
    };
    let models = [(ModelBy::Function, "function"), (ModelBy::CallPath, "path")];
    let runtimes = [
        (Runtime::Exclusive, "exclusive"),
        (Runtime::Inclusive, "inclusive"),
    ];
    let mut parser = lexopt::Parser::from_args(args);
    let text = |parser: &mut lexopt::Parser| parser.value()?.string();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("method") => {
                asked.method = one_of("--method", &text(&mut parser)?, &Method::ALL)?;
            }
            Long("false-alarms") => {
                asked.false_alarms = Some(cli::number("false-alarms", &mut parser)?);
            }
            Long("by") => asked.model = one_of("--by", &text(&mut parser)?, &models)?,
            Long("runtime") => {
                asked.runtime = one_of("--runtime", &text(&mut parser)?, &runtimes)?;
            }
            Long("ignore") => asked.ignore.push(text(&mut parser)?),
            Long("threshold") => {
                let word = text(&mut parser)?;
                let rule = word.rsplit_once('=');
                let rule = rule.and_then(|(glob, x)| Some((glob.to_string(), x.parse().ok()?)));
                let wrong = || Failure::Usage(format!("--threshold `{word}`: expected GLOB=X"));
                asked.thresholds.push(rule.ok_or_else(wrong)?);
            }
            Long("period") => asked.period = Some(above_0(parse_time(&text(&mut parser)?)?)?),
            Long("origin") => asked.origin = Some(parse_time(&text(&mut parser)?)?),
            Long("rank-by") => {
                let parsed = text(&mut parser)?.parse();
                asked.ranking = parsed.map_err(usage)?;
            }
            Long("provenance") => asked.provenance = Some(PathBuf::from(parser.value()?)),
            Long("compare") => asked.compare = Some(PathBuf::from(parser.value()?)),
            Long("prune") => asked.prune = true,
            Long("server") => asked.server = Some(text(&mut parser)?),
            Long("run") => asked.run = Some(text(&mut parser)?),
            Long("token") => asked.token = Some(PathBuf::from(parser.value()?)),
            Long("restart") => asked.restart = true,
            Long("follow") => asked.follow = true,
            Long("idle") => asked.idle = Some(parse_time(&text(&mut parser)?)?),
            Long("pace") => asked.pace = Some(cli::number("pace", &mut parser)?),
            Long("top") => asked.top = cli::number("top", &mut parser)?,
            Long("png") => asked.drawn.png = Some(parser.value()?.into()),
            Long("html") => asked.drawn.html = Some(parser.value()?.into()),
            Long("json") => asked.as_json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) => asked.files.push(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    if asked.files.is_empty() {
        return Err(Failure::Usage("which source?".into()));
    }
    if asked.token.is_some() && asked.server.is_none() {
        return Err(Failure::Usage("--token is for --server".into()));
    }
    if asked.run.is_some() && asked.server.is_none() {
        return Err(Failure::Usage("--run is for --server".into()));
    }
    if asked.idle.is_some() && !asked.follow {
        return Err(Failure::Usage("--idle is for --follow".into()));
    }
    if asked.false_alarms.is_some() && asked.method != Method::Default {
        return Err(Failure::Usage(
            "--false-alarms is for the default method".into(),
        ));
    }
    if asked
        .pace
        .is_some_and(|pace| !(pace > 0.0 && pace.is_finite()))
    {
        return Err(Failure::Usage("--pace must be above 0".into()));
    }
    Ok(asked)
}

fn above_0(time: Nanos) -> Result<Nanos, Failure> {
    match time.0 > 0 {
        true => Ok(time),
        false => Err(Failure::Usage("--period must be above 0".into())),
    }
}

/// Parameters that the library refuses come from the arguments.
pub(crate) fn usage(error: perfkit::anomaly::Error) -> Failure {
    Failure::Usage(error.to_string())
}

/// Options that the source has no use for are wrong.
pub(crate) fn means_something(asked: &Asked, kind: Source) -> Outcome {
    let wrong = |what: &str| Err(Failure::Usage(what.into()));
    match kind {
        Source::Trace if asked.follow => wrong("--follow is for streams, not for recordings"),
        Source::Text | Source::Adios if asked.pace.is_some() => {
            wrong("--pace is for recordings; streams are read as fast as they come")
        }
        Source::Trace if asked.origin.is_some() => wrong("--origin is for streams"),
        Source::Adios if asked.period.is_some() || asked.origin.is_some() => {
            wrong("--period and --origin are of no use: .bp files say their steps")
        }
        _ => Ok(()),
    }
}

/// Sources must be there before anything is written, unless one waits for them, and must not be what is
/// written.
pub(crate) fn spare_sources(asked: &Asked, kind: Source) -> Outcome {
    if let (Some(other), Some(written)) = (&asked.compare, &asked.provenance) {
        cli::spare(other, written)?;
    }
    for file in &asked.files {
        if !asked.follow || kind == Source::Trace {
            let found = std::fs::metadata(file);
            found.map_err(|error| Failure::Input(format!("{}: {error}", file.display())))?;
        }
        for written in asked.provenance.iter().chain(asked.drawn.all()) {
            cli::spare(file, written)?;
        }
    }
    Ok(())
}

/// The heading of pictures and pages.
pub(crate) fn title(asked: &Asked) -> String {
    let names = asked.files.iter().map(|file| drawn::name(file));
    let names: Vec<String> = names.take(3).collect();
    format!("{}: abnormal calls", names.join(", "))
}

/// What was asked for, for whoever reads the records; thresholds and what is ignored the monitor adds.
pub(crate) fn facts(asked: &Asked, repair: Repair) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("program", "detect".to_string()),
        ("method", asked.method.name().into()),
        ("model by", format!("{:?}", asked.model)),
        ("run time", format!("{:?}", asked.runtime)),
        ("repair", format!("{repair:?}")),
    ];
    let period = asked.period.map(|period| period.to_string());
    let origin = asked.origin.map(|origin| origin.to_string());
    let pace = asked.pace.map(|pace| pace.to_string());
    for (name, value) in [("period", period), ("origin", origin), ("pace", pace)] {
        facts.extend(value.map(|value| (name, value)));
    }
    for (name, is_so) in [
        ("prune", asked.prune),
        ("restart", asked.restart),
        ("follow", asked.follow),
    ] {
        facts.extend(is_so.then(|| (name, is_so.to_string())));
    }
    let files = asked.files.iter();
    facts.extend(files.map(|file| ("source", file.display().to_string())));
    facts
}
