//! Subcommand `correlate`: correlates the severity views of a profile with one of them, for its
//! output and for other commands; finds the call path that an option names.

mod axes;
mod cube;
pub(crate) mod detected;
mod grid;
mod list;
mod options;
mod pictures;
mod relations;
mod scales;
#[cfg(feature = "serve")]
mod served;
mod views;

pub use options::{Options, ViewsBy};
#[cfg(feature = "serve")]
pub(crate) use served::ServedViews;

use crate::failure::{self, Failure, Outcome};
use crate::findings::{self, Findings};
use crate::messages;
use crate::output;
use crate::recording;
use crate::suggest::near;
use list::List;
use perfkit::core::{CallPathId, Profile};
use perfkit::view::{Scene, Section, Theme};
use std::io::Write;

/// Correlates the views of a profile and prints the list.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    for written in options
        .csv
        .iter()
        .chain(&options.cube)
        .chain(&options.write_topology)
        .chain(options.files.all())
    {
        for read in std::iter::once(&options.file).chain(&options.more) {
            failure::spare(read, written)?;
        }
    }
    if !options.more.is_empty() {
        return scales::run(options, out);
    }
    let opened = recording::profile_by(&options.file, options.window)?;
    findings::print(&opened.diagnostics, &opened.counts);
    if let Some(path) = &options.write_topology {
        detected::write_topology(options, &opened, path)?;
    }
    if options.path.is_none() {
        return relations::run(options, &opened, out);
    }
    let list = List::of(&opened.profile, options)?;
    // The text has them too.
    for note in list
        .notes(options.top)
        .iter()
        .filter(|_| options.general.json)
    {
        messages::say(&format!("note: {note}"));
    }
    output::csv(options.csv.as_ref(), || list.table())?;
    if let Some(path) = &options.cube {
        let archive = (opened.format == "cube").then_some(options.file.as_path());
        output::whole(path, |to| {
            let lost = cube::write(&opened.profile, &list, archive, to)?;
            findings::print(&lost, &Default::default());
            Ok(())
        })?;
    }
    let title = list.title(&crate::pictures::name(&options.file));
    let scene = || list.scene(&title, Theme::light());
    let sections = || {
        let chances = list.chances_section(pictures::TOP)?;
        Ok([list.section(&title)?].into_iter().chain(chances).collect())
    };
    options.files.write(&title, scene, sections)?;
    if options.general.json {
        let findings = Findings::new(&opened.diagnostics, opened.counts);
        output::json(out, &list.json(options.top, findings)?)?;
    } else {
        writeln!(out, "{}", options.file.display())?;
        list.text(options.top, out)?;
    }
    Ok(())
}

/// Returns the section of a page, with a heading.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn section(options: &Options, heading: &str) -> Result<Section, Failure> {
    let opened = recording::profile_by(&options.file, options.window)?;
    List::of(&opened.profile, options)?.section(heading)
}

/// Returns the section of a page about an opened profile.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the profile.
pub(crate) fn section_of(
    profile: &Profile,
    options: &Options,
    heading: &str,
) -> Result<Section, Failure> {
    List::of(profile, options)?.section(heading)
}

/// View that correlates with the reference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Related {
    /// Call path.
    pub(crate) id: CallPathId,
    /// Name of the call path.
    pub(crate) path: String,
    /// Correlation, in `-1.0..=1.0`.
    pub(crate) r: f64,
    /// Shift of the correlation, with one offset for each axis.
    pub(crate) shift: String,
    /// Probability that the strongest of all views reaches `r` by chance; `None` without
    /// `--surrogates`.
    pub(crate) chance: Option<f64>,
}

/// Returns the views of an opened profile in the order of their correlation with the reference.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the profile.
pub(crate) fn related(profile: &Profile, options: &Options) -> Result<Vec<Related>, Failure> {
    Ok(List::of(profile, options)?.related())
}

/// Returns the picture on light and on dark paper.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn scenes(options: &Options, title: &str) -> Result<[Scene; 2], Failure> {
    let opened = recording::profile_by(&options.file, options.window)?;
    let list = List::of(&opened.profile, options)?;
    Ok([
        list.scene(title, Theme::light())?,
        list.scene(title, Theme::dark())?,
    ])
}

/// Finds the call path of an option by its number or by the names of its regions.
///
/// # Errors
/// Returns [`Failure::Input`] if there is no such call path, or several end in the names.
pub(crate) fn call_path(
    profile: &Profile,
    text: &str,
    option: &str,
) -> Result<CallPathId, Failure> {
    let count = profile.calls().paths().len();
    let ids = || (0..count).filter_map(CallPathId::from_index);
    let name = |at| profile.calls().name(at, profile.regions());
    let labels = profile.call_path_labels();
    if let Ok(number) = text.parse::<u32>() {
        let known = (number as usize) < count;
        return known.then_some(CallPathId(number)).ok_or_else(|| {
            let what = match count.checked_sub(1) {
                Some(last) => format!("numbers go from 0 to {last}"),
                None => "the profile has none".into(),
            };
            Failure::Input(format!("{option} {number}: no such call path; {what}"))
        });
    }
    let same: Vec<_> = ids().filter(|path| name(*path) == text).take(3).collect();
    match same.as_slice() {
        [path] => return Ok(*path),
        [] => {}
        [path, others @ ..] => {
            // A file may have several call paths with the same names.
            let others: Vec<_> = others.iter().map(|path| path.0.to_string()).collect();
            let (first, others) = (path.0, others.join(", "));
            messages::say(&format!(
                "note: {option} {text} is call path {first}, and {others} is of that name too"
            ));
            return Ok(*path);
        }
    }
    if let Some(path) = ids().find(|path| labels.label(*path) == text) {
        return Ok(path);
    }
    let names: Vec<String> = ids().map(name).collect();
    // The innermost functions suffice if no other path ends with them.
    let end = format!(" > {text}");
    let ends: Vec<_> = ids()
        .filter(|path| names[path.index()].ends_with(&end))
        .collect();
    if let [path] = ends.as_slice() {
        return Ok(*path);
    }
    let alike = alike(text, &names);
    let shown = alike.iter().filter_map(|alike| {
        let at = names.iter().position(|name| name == alike)?;
        Some(format!("{at} `{alike}`"))
    });
    let first = names.first().map_or("", String::as_str);
    let hint = if alike.is_empty() {
        format!("there are {count}, numbered from 0 on, where 0 is `{first}`")
    } else {
        format!("did you mean {}?", shown.collect::<Vec<_>>().join(" or "))
    };
    let what = match ends.len() {
        0 => "no such call path".into(),
        count => format!("{count} call paths end in it"),
    };
    Err(Failure::Input(format!("{option} {text}: {what}; {hint}")))
}

/// Returns up to three paths that a user may have meant: those to the same function that pass all
/// functions of the text, else whole paths that contain the text or resemble it, else paths that end
/// with a similar function.
fn alike<'a>(text: &str, names: &'a [String]) -> Vec<&'a str> {
    let last = text.rsplit(" > ").next().unwrap_or(text);
    let names = || names.iter().map(String::as_str);
    let end = |name: &'a str| name.rsplit(" > ").next().unwrap_or(name);
    let passes = |name: &&'a str| {
        let mut functions = name.split(" > ");
        let mut parts = text.split(" > ");
        end(name) == last && parts.all(|part| functions.any(|function| function == part))
    };
    let mut alike: Vec<&str> = names().filter(passes).take(3).collect();
    for part in [text, last] {
        if alike.is_empty() {
            alike = near(part, names(), 3);
        }
    }
    if alike.is_empty() {
        // A function of C++ without its type and arguments is enough.
        let bare = |name: &'a str| {
            let name = end(name);
            let name = name.split_once('(').map_or(name, |(name, _)| name);
            name.rsplit(' ').next().unwrap_or(name)
        };
        let ends = near(last, names().map(end).chain(names().map(bare)), 1);
        let is_end = |name: &&'a str| {
            ends.iter()
                .any(|part| name.ends_with(part) || bare(name) == *part)
        };
        alike = names().filter(is_end).take(3).collect();
    }
    alike
}
