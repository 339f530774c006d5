//! The folded timeline of a recording: many streams in few rows.
//!
//! `cargo run --release --example fold -- data/recordings/jacobi-16 --op diff --png fold.png`

#[path = "fold/asked.rs"]
mod asked;
#[path = "fold/told.rs"]
mod told;

use asked::{Asked, USAGE};
use perfkit::core::{Nanos, TimeRange};
use perfkit::fold::{
    Fold, Folder, Groups, Op, RegionGroups, RegionMap, Selection, Timelines, Usage,
};
use perfkit::formats::chrome;
use perfkit::view::{Scene, timeline::Picture};
use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::drawn;
use perfkit_examples::findings;
use perfkit_examples::progress::Bar;
use perfkit_examples::recording::{self, Recording};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let asked = asked::parse(args)?;
    let recording = recording::open_ranks_by(&asked.files, asked.unify)?;
    let explain = findings::explain(&recording.diagnostics);
    let view = View::of(&recording, &asked).map_err(explain)?;
    findings::tell(&recording.diagnostics, &view.folder.timelines().repairs());
    let name = asked.name();
    let title = asked.title(&view.op);
    asked.drawn.write(
        &name,
        || view.scene(&title),
        || {
            let (timelines, groups) = (view.folder.timelines(), view.folder.groups().clone());
            let of = (&recording.trace, timelines);
            let window = view.fold.window();
            let (rows, name) = ((groups, view.chosen), (title.as_str(), "timeline"));
            drawn::timeline(of, rows, (window, false), name, &asked.again(args))
        },
    )?;
    if let Some(path) = &asked.chrome {
        view.export(path)?;
    }
    if asked.json {
        writeln!(out, "{}", view.json())?;
    } else {
        writeln!(out, "{}", asked.names())?;
        view.text(out)?;
    }
    Ok(())
}

/// A fold with what is said about its rows.
#[derive(Debug)]
struct View {
    folder: Folder,
    fold: Fold,
    usage: Vec<Usage>,
    op: String,
    /// The operation, where one was asked for.
    chosen: Option<Op>,
}

impl View {
    fn of(recording: &Recording, asked: &Asked) -> Result<Self, Failure> {
        let trace = &recording.trace;
        let definitions = trace.definitions();
        let mut groups = RegionGroups::new().unify(asked.unify);
        for (name, glob) in &asked.groups {
            groups = groups.name(name, glob);
        }
        let map: RegionMap = groups.plan(definitions).map_err(input)?;
        let map = asked.depth.map_or(map.clone(), |depth| map.at_depth(depth));
        let job = Bar::job();
        let timelines = Timelines::new(trace.view(), &map, &job).map_err(input)?;
        let mut params = Folder::params().columns(asked.columns).instants(true);
        let chosen = match &asked.op {
            Some((_, operation)) => Some(operation.find(&timelines)?),
            None => None,
        };
        if let Some(op) = chosen {
            params = params.op(op);
        }
        if asked.exact {
            params = params.selection(Selection::Exact);
        }
        let usage_error = |error: perfkit::fold::Error| Failure::Usage(error.to_string());
        let groups = Groups::by(&timelines, asked.by);
        let folder = Folder::new(&timelines, groups, params.check().map_err(usage_error)?)
            .map_err(usage_error)?;
        let all = timelines.range();
        if all.is_empty() {
            return Err(Failure::Input(format!(
                "{}: no region is entered",
                asked.names()
            )));
        }
        let window = recording::window(all, definitions.clock, asked.from, asked.to)?;
        let mut fold = folder.empty();
        let mut scratch = folder.scratch();
        folder
            .refold(window, &mut scratch, &mut fold, &job)
            .map_err(input)?;
        let usage = folder.usage(window, &job).map_err(input)?;
        let op = asked
            .op
            .as_ref()
            .map_or("by kind", |(name, _)| name)
            .to_string();
        Ok(View {
            folder,
            fold,
            usage,
            op,
            chosen,
        })
    }

    fn times(&self, window: TimeRange) -> (Nanos, Nanos) {
        let clock = self.folder.timelines().clock();
        let nanos = |at| clock.nanos(at).unwrap_or_default();
        (nanos(window.start), nanos(window.end))
    }

    /// Writes the fold as Chrome JSON.
    fn export(&self, path: &Path) -> Outcome {
        let failed = |error: String| Failure::Input(format!("{}: {error}", path.display()));
        let trace = self.fold.to_trace().map_err(input)?;
        let file = std::fs::File::create(path).map_err(|error| failed(error.to_string()))?;
        let mut file = std::io::BufWriter::new(file);
        chrome::write(trace.view(), &mut file, &Bar::job())
            .map_err(|error| failed(error.to_string()))?;
        file.flush().map_err(|error| failed(error.to_string()))
    }

    fn scene(&self, title: &str) -> Result<Scene, Failure> {
        let picture = Picture::new(&self.folder, &self.fold).map_err(drawn::failed)?;
        Ok(picture.titled(title).scene())
    }
}
