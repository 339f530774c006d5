//! [`open`]: opens the arguments of a report as [`Source`]s, traces or profiles; files that are the
//! ranks of one job become one recording.

use super::{Remark, Report};
use crate::clocks::{self, Clocks};
use crate::failure::Failure;
use crate::options::Window;
use crate::pictures;
use crate::recording::{self, Any, Profiled, Reading, Recording};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Formats in which several files are the ranks of one job.
const RANK_FORMATS: [&str; 3] = ["chrome", "rocprof", "nsys"];

/// Subcommands that take several files as the ranks of one job.
const SEVERAL_FILES: [&str; 3] = ["fold", "utilisation", "wait"];

/// Subcommands that take the option `--clocks`.
const WITH_CLOCKS: [&str; 6] = ["bursts", "convert", "detect", "fold", "inspect", "wait"];

/// Opened recording.
#[derive(Debug)]
pub(super) struct Source {
    /// Name for output, unique among the recordings.
    pub(super) name: String,
    /// Files; several files are the ranks of one job.
    pub(super) paths: Vec<PathBuf>,
    /// Content of the recording.
    pub(super) content: Content,
    /// Window that is analysed.
    pub(super) window: Window,
}

/// Content of a recording.
#[derive(Debug)]
pub(super) enum Content {
    /// Trace with the findings of its reader.
    Trace(Box<Recording>),
    /// Profile with the findings of its reader.
    Profile(Profiled),
}

impl Source {
    /// Returns a `perfkit` command on the files of the recording. `before` has the words before the
    /// files, such as the subcommand, and `after` the words after them. If there are several files, a
    /// subcommand that takes only one file is replaced by `fold`.
    pub(super) fn command(&self, before: &[&str], after: &[&str]) -> String {
        let takes_several = before.iter().any(|word| SEVERAL_FILES.contains(word));
        if self.paths.len() > 1 && !takes_several {
            return self.command(&["fold"], &["--by", "process", "--html", "closer.html"]);
        }
        let files = self.paths.iter().map(|path| path.to_string_lossy());
        let files: Vec<_> = files.collect();
        let words = before.iter().copied();
        let words = words.chain(files.iter().map(AsRef::as_ref));
        let window = self.window.outside_of(after);
        let takes_clocks = before.iter().any(|word| WITH_CLOCKS.contains(word));
        let clocks: &[&str] = if self.is_corrected() && takes_clocks && !after.contains(&"--clocks")
        {
            &["--clocks", "correct"]
        } else {
            &[]
        };
        pictures::shell(
            std::iter::once("perfkit")
                .chain(words)
                .chain(after.iter().copied())
                .chain(window.iter().map(String::as_str))
                .chain(clocks.iter().copied()),
        )
    }

    /// Returns `true` if the times were corrected when the recording was opened.
    pub(super) fn is_corrected(&self) -> bool {
        let trace = self.trace();
        trace.is_some_and(|trace| clocks::correction(&trace.diagnostics).is_some())
    }

    /// Returns the trace with its first path; empty for a profile.
    pub(super) fn opened(&self) -> Vec<(&Path, &Recording)> {
        let path = self.paths.first().map(PathBuf::as_path);
        path.zip(self.trace()).into_iter().collect()
    }

    /// Returns the trace; `None` for a profile.
    pub(super) fn trace(&self) -> Option<&Recording> {
        match &self.content {
            Content::Trace(recording) => Some(recording),
            Content::Profile(_) => None,
        }
    }
}

/// Opens recordings in their order. Files that cannot be opened are reported as remarks.
pub(super) fn open(paths: &[PathBuf], reading: Reading, report: &mut Report) -> Vec<Source> {
    let format = |path: &PathBuf| perfkit::formats::probe(path).ok().map(|format| format.name);
    let mut groups: Vec<(Option<&str>, Vec<PathBuf>)> = Vec::new();
    for path in paths {
        let of_ranks = format(path).filter(|name| RANK_FORMATS.contains(name));
        let same = groups
            .iter_mut()
            .find(|(name, _)| of_ranks.is_some() && *name == of_ranks);
        match same {
            Some((_, files)) => files.push(path.clone()),
            None => groups.push((of_ranks, vec![path.clone()])),
        }
    }
    // A window is a part of the corrected times, because each rank would have another window otherwise.
    let reading = match reading.clocks {
        Clocks::Keep if reading.window.is_given() => Reading {
            clocks: Clocks::Auto,
            ..reading
        },
        _ => reading,
    };
    let mut sources = Vec::new();
    for (_, files) in groups {
        if files.len() > 1 {
            match recording::open_ranks_by(&files, reading) {
                Ok(opened) => {
                    let content = Content::Trace(Box::new(opened));
                    sources.push(source(files, content, reading.window));
                    continue;
                }
                Err(failure) => report.skipped.push(Remark {
                    recording: crate::options::file_names(&files),
                    analysis: "one job".into(),
                    text: format!("analysed one by one: {}", text(&failure)),
                }),
            }
        }
        for file in files {
            let content = match recording::any_by(&file, reading) {
                Ok(Any::Trace(opened)) => Content::Trace(opened),
                Ok(Any::Profile(opened)) => Content::Profile(opened),
                Err(failure) => {
                    let (recording, text) = (file.display().to_string(), text(&failure));
                    let reason = text.strip_prefix(&format!("{recording}: "));
                    report.skipped.push(Remark {
                        text: reason.unwrap_or(&text).into(),
                        recording,
                        analysis: "opening".into(),
                    });
                    report.unreadable += 1;
                    continue;
                }
            };
            sources.push(source(vec![file], content, reading.window));
        }
    }
    distinct(&mut sources);
    sources
}

fn source(paths: Vec<PathBuf>, content: Content, window: Window) -> Source {
    let name = paths
        .first()
        .map_or_else(String::new, |first| pictures::name(first));
    let name = match paths.len() {
        1 => name,
        more => format!("{name} and {} more", more - 1),
    };
    Source {
        name,
        paths,
        content,
        window,
    }
}

/// Replaces names that are not unique by paths.
fn distinct(sources: &mut [Source]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources.iter() {
        *counts.entry(source.name.clone()).or_default() += 1;
    }
    for source in sources {
        if counts.get(&source.name).is_some_and(|count| *count > 1) {
            source.name = crate::options::file_names(&source.paths);
        }
    }
}

/// Returns the message of a failure on one line.
pub(super) fn text(failure: &Failure) -> String {
    let text = match failure {
        Failure::Usage(text)
        | Failure::Input(text)
        | Failure::Found(text)
        | Failure::Help(text)
        | Failure::MissingSubcommand(text) => text.clone(),
        Failure::Output(error) => error.to_string(),
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}
