//! Wait states drawn: the timeline of the ranks with waits and critical path, and the coloured table of efficiencies.

use super::output::Document;
use super::series::grades;
use super::{Analysis, Statement};
use crate::failure::{Failure, Outcome, input};
use crate::pictures::{self, Files, failed};
use crate::progress::Bar;
use perfkit::core::{Job, TimeRange, TraceView};
use perfkit::fold::{Folder, GroupBy, Groups, Op, RegionGroups, Timelines};
use perfkit::view::{Item, Scene, Section, Theme, timeline};
use perfkit::wait::efficiency::{Scaling, Series};

/// Pixels of the timeline.
const COLUMNS: usize = 1200;
/// Longest waits that have an arrow from their cause.
const MAX_ARROWS: usize = 24;

/// Draws what the options ask for.
///
/// # Errors
/// What folding and drawing fail with, and [`Failure::Input`] for files that cannot be written.
pub(super) fn write(
    files: &Files,
    name: &str,
    view: TraceView<'_>,
    analysis: &Analysis,
    document: &Document,
) -> Outcome {
    let title = format!("{name}: waits and critical path");
    let scene = || scene(view, analysis, &title, Theme::light());
    files.write(&format!("{name}: wait states"), scene, || {
        let mut all = vec![items(&document.findings)];
        all.extend(sections(view, analysis, name)?);
        for (id, heading, table) in [
            ("waits", "Wait states", &document.wait_states),
            ("wait-ranks", "Ranks", &document.ranks),
            ("causes", "Root causes", &document.root_causes),
            ("critical", "Critical path", &document.critical_path),
        ] {
            all.push(Section::table(id, heading, table));
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
        Item::new(it.kind, text).place(window).command(&it.command)
    };
    let items: Vec<Item> = findings.iter().map(item).collect();
    let words = match items.is_empty() {
        true => "Nothing would save 1 % of the run time or more.",
        false => "By the run time that a fix would save.",
    };
    Section::items("findings", "Findings", words, &items)
}

/// Returns the coloured table of efficiencies and the timeline with waits and critical path as sections of a page.
///
/// # Errors
/// What folding and drawing fail with.
pub(crate) fn sections(
    view: TraceView<'_>,
    analysis: &Analysis,
    name: &str,
) -> Result<Vec<Section>, Failure> {
    let runs = [analysis.efficiencies.clone()];
    let series = Series::of(&runs, Scaling::Strong).map_err(input)?;
    let table = |theme| grades(&series, &[name]).theme(theme).scene();
    let words = "Efficiencies of the POP methodology. Each is the product of those below it; 100 % is ideal.";
    let grades = Section::picture("efficiencies", "Efficiencies", table, words);
    let heading = "Waits and critical path";
    let light = scene(view, analysis, "", Theme::light())?;
    let dark = scene(view, analysis, "", Theme::dark())?;
    let draw = |theme: Theme| match theme == Theme::dark() {
        true => dark.clone(),
        false => light.clone(),
    };
    let words = "Hatched: the rank waits for others. Arrows lead from the cause to the longest waits. Line: the critical path.";
    let timeline = Section::picture("waits-timeline", heading, draw, words);
    Ok(vec![grades.map_err(failed)?, timeline.map_err(failed)?])
}

/// Draws the timeline of all ranks with their waits, the causes of the longest ones and the critical path.
fn scene(
    view: TraceView<'_>,
    analysis: &Analysis,
    title: &str,
    theme: Theme,
) -> Result<Scene, Failure> {
    let map = RegionGroups::new()
        .mpi("MPI")
        .plan(view.definitions())
        .map_err(input)?;
    let timelines = Timelines::new(view.trace().view(), &map, &Bar::job()).map_err(input)?;
    let groups = Groups::by(&timelines, GroupBy::Process);
    let params = Folder::params().columns(COLUMNS).op(Op::Max);
    let folder = Folder::new(&timelines, groups, params.check().map_err(input)?).map_err(input)?;
    let window = analysis.activities.range();
    let window = window.and_then(|(start, end)| {
        TimeRange::new(start, perfkit::core::Ticks(end.0.saturating_add(1)))
    });
    let window = window.unwrap_or(timelines.range());
    let fold = folder.fold(window, &Job::default()).map_err(input)?;
    let overlay = overlay(analysis);
    let picture = timeline::Picture::new(&folder, &fold).map_err(pictures::failed)?;
    Ok(picture.titled(title).theme(theme).overlay(&overlay).scene())
}

/// Returns the waits, the causes of the longest ones, and the critical path.
fn overlay(analysis: &Analysis) -> timeline::Overlay {
    let mut overlay = timeline::Overlay::default();
    let waiting = analysis
        .waits
        .states()
        .iter()
        .filter(|it| it.pattern.is_waiting());
    let mut longest: Vec<_> = waiting.clone().collect();
    longest.sort_by_key(|it| (std::cmp::Reverse(it.ticks), it.call));
    for state in waiting {
        let end = perfkit::core::Ticks(state.start.0.saturating_add(state.ticks));
        overlay.hatch(state.call.location, state.start, end);
    }
    for state in longest.into_iter().take(MAX_ARROWS) {
        let end = perfkit::core::Ticks(state.start.0.saturating_add(state.ticks));
        if let Some(cause) = state.cause.filter(|it| it.location != state.call.location) {
            overlay.arrow((cause.location, end), (state.call.location, end));
        }
    }
    for segment in analysis.path.segments() {
        overlay.route(segment.location, segment.start, segment.end);
    }
    overlay
}
