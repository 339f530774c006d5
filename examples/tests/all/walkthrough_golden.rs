//! Tests that the walkthrough of one event agrees with the program. `cargo xtask golden` rewrites
//! its numbers and its references to lines.

use perfkit::core::{Event, LocationId, Ticks, TimeRange};
use perfkit::fold::{Boundary, State};
use perfkit::prelude::*;
use perfkit::view::Mark;
use perfkit::view::timeline::Picture;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Page with the walkthrough.
const PAGE: &str = "docs/walkthrough.md";

/// Recording, its file with the events of rank 0, and the byte range of the record: a timestamp of
/// 9 bytes and an enter record of 3.
const RECORDING: &str = "data/recordings/jacobi-4";
const EVENTS: &str = "eztrace_log/0.evt";
const RECORD: std::ops::Range<usize> = 67..79;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Follows the record and returns one line for each step.
fn facts() -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    let bytes = std::fs::read(root().join(RECORDING).join(EVENTS))?;
    let record = &bytes[RECORD];
    let hex: Vec<String> = record.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, last) = (RECORD.start, RECORD.end - 1);
    writeln!(
        text,
        "file        {EVENTS}, bytes {first} to {last}: {}",
        hex.join(" ")
    )?;
    let ticks = u64::from_le_bytes(record[1..9].try_into()?);
    writeln!(
        text,
        "record      time {ticks}, enter of region {} of the file",
        record[11]
    )?;

    let trace = open_trace(root().join(RECORDING))?;
    let definitions = trace.definitions();
    let locations = definitions.system.locations();
    let at = locations
        .iter()
        .position(|location| location.key == 0)
        .ok_or("no rank 0")?;
    let location = LocationId::from_index(at).ok_or("too many locations")?;
    let events = trace
        .view()
        .location(location)
        .ok_or("no events of rank 0")?
        .all();
    let index = events
        .times()
        .iter()
        .position(|time| time.0 == ticks)
        .ok_or("no such time")?;
    let Some(Event::Enter { region }) = events.event(index) else {
        return Err("the event is no enter".into());
    };
    let label = definitions.system.label(location);
    let name = &definitions.regions[region.index()].name;
    let time = definitions.clock.nanos(Ticks(ticks)).ok_or("no time")?;
    writeln!(
        text,
        "event       number {index} of location {at} (`{label}`): enter of region {} (`{name}`)",
        region.0
    )?;

    let job = Job::default();
    let timelines = Timelines::new(trace.view(), &RegionMap::by_name(definitions)?, &job)?;
    let streams = 0..u32::try_from(timelines.len())?;
    let stream = streams
        .into_iter()
        .find(|stream| timelines.location(*stream) == Some(location));
    let stream = stream.ok_or("no stream of rank 0")?;
    let class = |at: u64| match timelines.state(stream, Ticks(at), Boundary::AtOrBefore) {
        State::Class(class) => timelines.classes().name(class).to_owned(),
        other => format!("{other:?}").to_lowercase(),
    };
    writeln!(
        text,
        "transition  at {time}, from `{}` to `{}`",
        class(ticks - 1),
        class(ticks)
    )?;

    let window = TimeRange::new(Ticks(0), Ticks(10_000_000)).ok_or("no window")?;
    let params = Folder::params().columns(1000).check()?;
    let folder = Folder::new(&timelines, Groups::by(&timelines, GroupBy::Process), params)?;
    let fold = folder.fold(window, &job)?;
    let row = fold
        .rows()
        .position(|row| row.group().streams.contains(&stream));
    let row = row.ok_or("no row of rank 0")?;
    let column = fold.centres().partition_point(|centre| centre.0 < ticks);
    let cell = fold.cell(row, column).ok_or("no cell")?;
    let painted = cell
        .picture()
        .map(|class| timelines.classes().name(class).to_owned());
    writeln!(
        text,
        "cell        row {row}, column {column} of 1000, sampled at {}: `{}`",
        fold.time(column).ok_or("no time")?,
        painted.ok_or("nothing is painted")?
    )?;

    let scene = Picture::new(&folder, &fold)?.scene();
    let rows = scene.marks.iter().filter_map(|mark| match mark {
        Mark::Cells(place, colours) => Some((place, colours)),
        _ => None,
    });
    let (place, colours) = rows.into_iter().nth(row).ok_or("no row is drawn")?;
    let [left, top, width, height] = *place;
    let (x, y) = (left + (column as f64 + 0.5) * width, top + height / 2.0);
    let pixel = scene.canvas()?.pixel(x as u32, y as u32);
    assert_eq!(
        pixel,
        Some(colours[column]),
        "the pixel has the colour of the cell"
    );
    writeln!(
        text,
        "pixel       {} from the left, {} from the top, of colour {}",
        x as u32, y as u32, colours[column]
    )?;
    Ok(text)
}

/// Returns the number of the only line of a file that contains `code`.
fn line_of(path: &str, code: &str) -> usize {
    let text = read(&root().join(path));
    let lines = text.lines().enumerate();
    let found: Vec<usize> = lines
        .filter(|(_, line)| line.contains(code))
        .map(|(at, _)| at + 1)
        .collect();
    match found[..] {
        [line] => line,
        _ => panic!("{path} has `{code}` {} times", found.len()),
    }
}

/// Updates the references of a page: lines of the form ``* [`PATH:LINE`](../PATH#LLINE): `CODE` ``.
fn with_lines(page: &str) -> (String, usize) {
    let mut count = 0;
    let lines = page.lines().map(|line| {
        let reference = line.strip_prefix("* [`").and_then(|rest| {
            let (path, rest) = rest.split_once(':')?;
            let (_, code) = rest.split_once("): `")?;
            Some((path, code.strip_suffix('`')?))
        });
        let Some((path, code)) = reference else {
            return format!("{line}\n");
        };
        count += 1;
        let at = line_of(path, code);
        format!("* [`{path}:{at}`](../{path}#L{at}): `{code}`\n")
    });
    (lines.collect(), count)
}

#[test]
fn walkthrough_shows_the_lines_and_figures_of_the_program() {
    let page = root().join(PAGE);
    let before = read(&page);
    let (mut text, count) = with_lines(&before);
    assert!(count >= 8, "{count} references");
    let fence = "```text\n";
    let begin = text.find(fence).expect("the figures have a block") + fence.len();
    let end = begin + text[begin..].find("```\n").expect("the block ends");
    text.replace_range(begin..end, &facts().expect("the event can be followed"));
    if std::env::var_os("PERFKIT_GOLDEN").is_some_and(|mode| mode == "overwrite") {
        // Other tests read the page at the same time.
        if text != before {
            std::fs::write(&page, text).expect("the page can be written");
        }
        return;
    }
    for (number, (is, shown)) in text.lines().zip(before.lines()).enumerate() {
        let line = number + 1;
        assert_eq!(
            shown, is,
            "{PAGE}:{line} is stale: run `cargo xtask golden`"
        );
    }
}
