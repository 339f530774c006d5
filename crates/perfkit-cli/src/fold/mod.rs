//! Subcommand `fold`: folds the timeline of a recording, many streams in few rows, and draws it
//! with messages, waits and critical path in pictures and pages.

mod cells;
mod counters;
mod options;
mod rules;
mod states;
mod text;

use crate::failure::{Failure, Outcome, input};
use crate::findings;
use crate::output;
use crate::pictures::{self, Calls};
use crate::progress::Bar;
use crate::recording::{self, Recording};
use crate::wait::{Analysed, Analysis};
pub use counters::CountersBy;
pub use options::{Options, Rows};
use perfkit::core::{Messages, Nanos, TimeRange, match_messages};
use perfkit::fold::{
    Across, Counter, Counters, Fold, Folder, GroupBy, Line, MessageMatrix, MessageSizes, Op,
    RegionMap, Usage,
};
use perfkit::formats::chrome;
use perfkit::view::timeline::{MatrixPicture, Measure, Overlay, Picture};
use perfkit::view::{Scene, Section, Theme};
pub use rules::Rules;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

/// Folds a recording and prints a row of letters for each row of the fold. `words` are the
/// arguments, from which the page composes the command that draws another window.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn run(options: &Options, words: &[OsString], out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    let recording = recording::open_ranks_by(&options.files, options.rows.reading())?;
    let explain = findings::explain(&recording.diagnostics);
    let view = View::of(&recording, options).map_err(explain)?;
    findings::print(&recording.diagnostics, &view.folder.timelines().repairs());
    let name = options.name();
    let title = options.title(&view.op, options.matrix);
    let heading = options.title(&view.op, None);
    let overlay = if options.waits {
        Some(overlay(&recording, &options.names())?)
    } else {
        None
    };
    options.output.write(
        &name,
        || match options.matrix {
            Some(measure) => view.matrix(measure, &title, Theme::light()),
            None => view.scene(&title, overlay.as_ref(), Theme::light()),
        },
        || {
            let (timelines, groups) = (view.folder.timelines(), view.folder.groups().clone());
            let of = (&recording.trace, timelines);
            let window = view.fold.window();
            let (rows, name) = ((groups, view.chosen), (heading.as_str(), "timeline"));
            let more = pictures::More {
                command: options.again(words),
                serve: options.serve(),
                messages: Some(&view.found),
                rules: options.page_rules(),
                counters: Some(CountersBy::of_page(&view.counters, &view.chosen_counters)),
                calls: view.map.as_ref().map_or(Calls::Hidden, Calls::By),
            };
            let mut sections = pictures::timeline(of, rows, (window, false), name, more)?;
            if let Some(measure) = options.matrix {
                let draw = |theme| view.matrix(measure, "", theme);
                let (light, dark) = (draw(Theme::light())?, draw(Theme::dark())?);
                let (from, to) = view.times(view.fold.window());
                let heading = format!("Messages between rows, sent in {from} to {to}");
                sections.insert(0, matrix_section(&heading, light, dark)?);
            }
            if overlay.is_some() {
                let draw = |theme| view.scene("", overlay.as_ref(), theme);
                let (light, dark) = (draw(Theme::light())?, draw(Theme::dark())?);
                sections.push(crate::wait::timeline_section(light, dark)?);
            }
            Ok(sections)
        },
    )?;
    output::csv(options.csv.as_ref(), || {
        match (options.matrix, &view.messages) {
            (Some(_), Some((matrix, _))) => Ok(matrix.table()),
            _ => Ok(view.cells()),
        }
    })?;
    if let Some(path) = &options.chrome {
        view.export(path)?;
    }
    if options.general.json {
        output::json(out, &view.json())?;
    } else {
        writeln!(out, "{}", options.names())?;
        view.text(out)?;
        view.clocks_text(options.rows.are_clocks_kept(), &recording.trace, out)?;
        view.counters_text(out)?;
        view.messages_text(out)?;
    }
    Ok(())
}

/// Returns a section with the matrix of messages, drawn for both themes.
fn matrix_section(heading: &str, light: Scene, dark: Scene) -> Result<Section, Failure> {
    let draw = |theme: Theme| {
        if theme == Theme::dark() {
            dark.clone()
        } else {
            light.clone()
        }
    };
    let section = Section::picture("messages-matrix", heading, draw, "");
    section.map_err(pictures::failed)
}

/// Returns the waits of a recording with their causes, and its critical path.
fn overlay(recording: &Recording, names: &str) -> Result<Overlay, Failure> {
    match Analysis::of(recording.trace.view(), 1, false)? {
        Analysed::Found(analysis) => Ok(analysis.overlay()),
        Analysed::Nothing { reason, .. } => {
            Err(Failure::Input(format!("{names}: --waits: {reason}")))
        }
        Analysed::Training(_) => Err(Failure::Input(format!(
            "{names}: --waits: a training job has no wait states of MPI"
        ))),
    }
}

/// Fold of a recording with the statistics of its rows.
#[derive(Debug)]
struct View {
    /// Folder that computed the fold.
    folder: Folder,
    /// Rows of the fold.
    fold: Fold,
    /// Statistics of each row.
    usage: Vec<Usage>,
    /// Name of the operation.
    op: String,
    /// Operation, if it was selected by an option.
    chosen: Option<Op>,
    /// Messages of the recording.
    found: Messages,
    /// Messages of the window between the rows and by length, if an option asks for them.
    messages: Option<(MessageMatrix, MessageSizes)>,
    /// Counters of the recording.
    counters: Counters,
    /// Counters that options select.
    chosen_counters: Vec<Counter>,
    /// Combination of the counters of several locations.
    across: Across,
    /// Functions of the call stacks; `None` if the page has no call stacks.
    map: Option<RegionMap>,
}

impl View {
    fn of(recording: &Recording, options: &Options) -> Result<Self, Failure> {
        let trace = &recording.trace;
        let definitions = trace.definitions();
        let job = Bar::job();
        let usual = options.matrix.map(|_| GroupBy::Process);
        let of = (recording, options.file());
        let (timelines, groups, map) = options.rows.timelines(of, usual, &job)?;
        let (counters, chosen_counters) = options.counters.of(trace, &job)?;
        let mut params = options.params();
        let chosen = match &options.op {
            Some(operation) => Some(operation.find(&timelines)?),
            None => None,
        };
        if let Some(op) = chosen {
            params = params.op(op);
        }
        let usage_error = |error: perfkit::fold::Error| Failure::Usage(error.to_string());
        let folder = Folder::new(&timelines, groups, params.check().map_err(usage_error)?)
            .map_err(usage_error)?;
        let all = timelines.range();
        if all.is_empty() {
            return Err(Failure::Input(format!(
                "{}: no region is entered",
                options.names()
            )));
        }
        let window = recording::window(
            all,
            definitions.clock,
            options.window.from,
            options.window.to,
        )?;
        let mut fold = folder.empty();
        let mut scratch = folder.scratch();
        folder
            .refold(window, &mut scratch, &mut fold, &job)
            .map_err(input)?;
        let usage = folder.usage(window, &job).map_err(input)?;
        let found = match_messages(trace.view(), &job).map_err(input)?;
        let messages = if options.messages || options.matrix.is_some() {
            let sizes = MessageSizes::of(window, Line::of(&found));
            Some((folder.messages(window, Line::of(&found)), sizes))
        } else {
            None
        };
        let op = options
            .op
            .as_ref()
            .map_or("by kind", |operation| &operation.name)
            .to_string();
        Ok(View {
            folder,
            fold,
            usage,
            op,
            chosen,
            found,
            messages,
            counters,
            chosen_counters,
            across: options.counters.across,
            map,
        })
    }

    fn times(&self, window: TimeRange) -> (Nanos, Nanos) {
        let clock = self.folder.timelines().clock();
        let nanos = |at| clock.nanos(at).unwrap_or_default();
        (nanos(window.start), nanos(window.end))
    }

    /// Writes the fold as Chrome JSON.
    fn export(&self, path: &Path) -> Outcome {
        let trace = self.fold.to_trace().map_err(input)?;
        output::whole(path, |to| {
            chrome::write(trace.view(), to, &Bar::job()).map_err(input)?;
            Ok(())
        })
    }

    /// Draws the messages between rows.
    fn matrix(&self, measure: Measure, title: &str, theme: Theme) -> Result<Scene, Failure> {
        let nothing = || Failure::Usage("--matrix: the recording has no messages".into());
        let (matrix, _) = self.messages.as_ref().ok_or_else(nothing)?;
        if matrix.pairs.is_empty() {
            return Err(nothing());
        }
        let picture = MatrixPicture::new(matrix, measure);
        Ok(picture.titled(title).theme(theme).scene())
    }

    fn scene(
        &self,
        title: &str,
        overlay: Option<&Overlay>,
        theme: Theme,
    ) -> Result<Scene, Failure> {
        let draw = |folder: &Folder, fold: &Fold| {
            let picture = Picture::new(folder, fold).map_err(pictures::failed)?;
            let picture = picture.titled(title).theme(theme);
            let picture = picture.counters(&self.chosen_counters, self.across);
            Ok(match overlay {
                Some(overlay) => picture.overlay(overlay).scene(),
                None => picture.scene(),
            })
        };
        let groups = self.folder.groups();
        if groups.rows().len() <= pictures::MOST_ROWS {
            return draw(&self.folder, &self.fold);
        }
        let groups = pictures::in_blocks(groups.clone());
        let checked = self.folder.checked().clone();
        let folder = Folder::new(self.folder.timelines(), groups, checked).map_err(input)?;
        let fold = folder.fold(self.fold.window(), &Bar::job());
        draw(&folder, &fold.map_err(input)?)
    }
}
