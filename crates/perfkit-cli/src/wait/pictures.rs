//! Output of `wait` as pictures, sections of a page and overlay of a timeline: waits and critical
//! path over time, and coloured table of efficiencies.

use super::output::Document;
use super::series::grades;
use super::{Analysis, Statement};
use crate::failure::{Failure, Outcome, input};
use crate::pictures::{self, Files, failed};
use crate::progress::Bar;
use perfkit::core::{Job, Ticks, TimeRange, TraceView};
use perfkit::fold::{Fold, Folder, GroupBy, Groups, RegionGroups, Timelines};
use perfkit::view::{Item, Scene, Section, Theme, timeline};
use perfkit::wait::efficiency::{Scaling, Series};
use perfkit::wait::waits::WaitState;
use std::collections::BTreeSet;

/// Width of the timeline in pixels.
const COLUMNS: usize = 1200;
/// Width in pixels of a timeline next to the findings of a report.
pub(crate) const HALF_COLUMNS: usize = 520;
/// Largest number of waits that have an arrow from their cause.
const MAX_ARROWS: usize = 24;

/// Draws the results and writes the picture and page files that the options select.
///
/// # Errors
/// Returns the errors of folding and drawing, and [`Failure::Input`] if a file cannot be written.
pub(super) fn write(
    files: &Files,
    name: &str,
    view: TraceView<'_>,
    analysis: &Analysis,
    document: &Document,
) -> Outcome {
    let title = format!("{name}: waits and critical path");
    let timeline = WaitTimeline::of(view, analysis, COLUMNS)?;
    let scene = || timeline.scene(&title, Theme::light());
    files.write(&format!("{name}: wait states"), scene, || {
        let parts = timeline.sections(analysis, name)?;
        let mut all = vec![items(&document.findings)];
        // Places the findings next to the efficiencies, if there are any.
        if parts.len() > 1 {
            all = all.into_iter().map(Section::half).collect();
        }
        let is_pair = parts.len() > 1;
        let part = |(at, part): (usize, Section)| {
            if at == 0 && is_pair {
                part.half()
            } else {
                part
            }
        };
        all.extend(parts.into_iter().enumerate().map(part));
        for (id, heading, table) in [
            ("waits", "Wait states", &document.wait_states),
            ("wait-ranks", "Ranks", &document.ranks),
            ("causes", "Root causes", &document.root_causes),
            ("critical", "Critical path", &document.critical_path),
            ("hybrid", "Threads and accelerators", &document.hybrid),
            (
                "exchanges",
                "Collectives of accelerators",
                &document.exchanges,
            ),
        ] {
            if table.rows() > 0 {
                all.push(Section::table(id, heading, table).half());
            }
        }
        Ok(all)
    })
}

/// Returns the findings as a section.
fn items(findings: &[Statement]) -> Section {
    let item = |it: &Statement| {
        let window = it
            .window
            .map_or_else(String::new, |(from, to)| format!("{from} to {to}"));
        let text = match it.evidence.as_str() {
            "" => format!("{}.", it.sentence),
            evidence => format!("{}. Evidence: {evidence}.", it.sentence),
        };
        Item::new(pictures::capitalised(it.kind), text)
            .place(window)
            .command(&it.command)
    };
    let items: Vec<Item> = findings.iter().map(item).collect();
    let words = if items.is_empty() {
        "No finding would save 1 % of the run time or more."
    } else {
        "Sorted by the run time that a fix would save."
    };
    Section::items("findings", "Findings", words, &items)
}

/// Returns the coloured table of efficiencies and the timeline with waits and critical path as sections of a page. The
/// timeline is `columns` pixels wide. Without efficiencies, the timeline is the only section.
///
/// # Errors
/// Returns the errors of folding and drawing.
pub(crate) fn sections(
    view: TraceView<'_>,
    analysis: &Analysis,
    name: &str,
    columns: usize,
) -> Result<Vec<Section>, Failure> {
    WaitTimeline::of(view, analysis, columns)?.sections(analysis, name)
}

/// Returns a timeline with waits as a section of a page, from its pictures on light and on dark paper.
///
/// # Errors
/// Returns the errors of drawing.
pub(crate) fn timeline_section(light: Scene, dark: Scene) -> Result<Section, Failure> {
    let draw = |theme: Theme| {
        if theme == Theme::dark() {
            dark.clone()
        } else {
            light.clone()
        }
    };
    let words = "Hatched: at least half of the ranks of a row wait. Arrows: from the cause to the longest waits. Line: critical path.";
    Section::picture("waits-timeline", "Waits and critical path", draw, words).map_err(failed)
}

/// Folded timeline of all ranks with their waits, the causes of the longest waits and the critical path. All pictures of
/// a command are drawn from one.
struct WaitTimeline {
    /// Folder of the rows.
    folder: Folder,
    /// Cells of the rows.
    fold: Fold,
    /// Waits, causes and critical path.
    overlay: timeline::Overlay,
}

impl WaitTimeline {
    /// Folds the timeline of the ranks to `columns` pixels.
    fn of(view: TraceView<'_>, analysis: &Analysis, columns: usize) -> Result<Self, Failure> {
        let map = RegionGroups::new()
            .mpi("MPI")
            .plan(view.definitions())
            .map_err(input)?;
        let timelines = Timelines::new(view.trace().view(), &map, &Bar::job()).map_err(input)?;
        let system = &view.definitions().system;
        let processes = analysis.ranks.iter().map(|id| system.process(*id));
        let rows = match processes.collect::<BTreeSet<_>>().len() {
            1 => GroupBy::Location,
            _ => GroupBy::Process,
        };
        let groups = pictures::in_blocks(Groups::by(&timelines, rows));
        let params = Folder::params().columns(columns);
        let params = params.check().map_err(input)?;
        let folder = Folder::new(&timelines, groups, params).map_err(input)?;
        let window = analysis.activities.range();
        let window =
            window.and_then(|(start, end)| TimeRange::new(start, Ticks(end.0.saturating_add(1))));
        let window = window.unwrap_or(timelines.range());
        let fold = folder.fold(window, &Job::default()).map_err(input)?;
        Ok(WaitTimeline {
            folder,
            fold,
            overlay: analysis.overlay(),
        })
    }

    /// Returns the coloured table of efficiencies, if there are any, and the timeline as sections.
    fn sections(&self, analysis: &Analysis, name: &str) -> Result<Vec<Section>, Failure> {
        let mut sections = Vec::new();
        if let Some(efficiencies) = &analysis.efficiencies {
            let runs = [efficiencies.clone()];
            let series = Series::of(&runs, Scaling::Strong).map_err(input)?;
            let table = |theme| grades(&series, &[name]).theme(theme).scene();
            let words = "POP efficiencies: each is the product of those below it; 100 % is ideal.";
            let grades = Section::picture("efficiencies", "Efficiencies", table, words);
            sections.push(grades.map_err(failed)?);
        }
        let (light, dark) = (
            self.scene("", Theme::light())?,
            self.scene("", Theme::dark())?,
        );
        sections.push(timeline_section(light, dark)?);
        Ok(sections)
    }

    /// Draws the timeline.
    fn scene(&self, title: &str, theme: Theme) -> Result<Scene, Failure> {
        let picture = timeline::Picture::new(&self.folder, &self.fold).map_err(failed)?;
        let picture = picture.titled(title).theme(theme);
        Ok(picture.overlay(&self.overlay).scene())
    }
}

impl Analysis {
    /// Returns the waits, the causes of the longest waits, and the critical path, for drawing over a timeline.
    pub(crate) fn overlay(&self) -> timeline::Overlay {
        let mut overlay = timeline::Overlay::default();
        let end = |state: &WaitState| Ticks(state.start.0.saturating_add(state.ticks));
        let waiting = self.waits.states().iter();
        let waiting = waiting.filter(|it| it.pattern.is_waiting());
        let mut longest: Vec<&WaitState> = Vec::new();
        for state in waiting {
            overlay.hatch(state.call.location, state.start, end(state));
            longest.push(state);
        }
        longest.sort_by_key(|it| (std::cmp::Reverse(it.ticks), it.call));
        for state in longest.into_iter().take(MAX_ARROWS) {
            if let Some(cause) = state.cause.filter(|it| it.location != state.call.location) {
                let at = end(state);
                overlay.arrow((cause.location, at), (state.call.location, at));
            }
        }
        for segment in self.path.segments() {
            overlay.route(segment.location, segment.start, segment.end);
        }
        overlay
    }
}
