//! [`Formats`]: list of the known formats, which detects the format of a path and opens it as a
//! [`Recording`]: a trace or profile with its diagnostics.

use crate::{Error, OpenOptions, Result};
use perf_core::{Diagnostics, Job, Place, Profile, Trace};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// A recording: its content, its format and its diagnostics.
///
///
/// ```
/// use perf_formats::{Content, Recording};
/// let trace = perf_core::samples::cosmo::trace();
/// let recording = Recording::new(Content::Trace(trace), "made", Default::default());
/// assert!(recording.profile().is_none() && recording.diagnostics.is_empty());
/// assert_eq!(recording.into_trace().map(|trace| trace.len()), Some(19_280));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recording {
    /// Trace or profile.
    pub content: Content,
    /// Name of the format.
    pub format: &'static str,
    /// Repairs, losses and notes of the reader.
    pub diagnostics: Diagnostics,
}

/// Content of a recording.
#[allow(
    clippy::large_enum_variant,
    reason = "one exists for each recording, and a box would complicate every use"
)]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Individual events.
    Trace(Trace),
    /// Summed metrics for each call path.
    Profile(Profile),
}

impl Recording {
    /// Creates a recording of `content`.
    pub fn new(content: Content, format: &'static str, diagnostics: Diagnostics) -> Self {
        Recording {
            content,
            format,
            diagnostics,
        }
    }

    /// Returns the trace, or `None` for a profile.
    pub fn trace(&self) -> Option<&Trace> {
        match &self.content {
            Content::Trace(trace) => Some(trace),
            Content::Profile(_) => None,
        }
    }

    /// Converts into the trace, or `None` for a profile.
    pub fn into_trace(self) -> Option<Trace> {
        match self.content {
            Content::Trace(trace) => Some(trace),
            Content::Profile(_) => None,
        }
    }

    /// Returns the profile, or `None` for a trace.
    pub fn profile(&self) -> Option<&Profile> {
        match &self.content {
            Content::Trace(_) => None,
            Content::Profile(profile) => Some(profile),
        }
    }

    /// Converts into the profile, or `None` for a trace.
    ///
    ///
    /// ```
    /// use perf_core::{Job, Profile};
    /// use perf_formats::{Content, Recording};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
    /// let recording = Recording::new(Content::Profile(profile.clone()), "made", Default::default());
    /// assert!(recording.trace().is_none());
    /// assert_eq!(recording.into_profile(), Some(profile));
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    pub fn into_profile(self) -> Option<Profile> {
        match self.content {
            Content::Trace(_) => None,
            Content::Profile(profile) => Some(profile),
        }
    }
}

/// Part of an input that a format examines in order to recognise it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Input {
    /// Path of the input.
    pub path: PathBuf,
    /// Names of the files in the folder, ascending, if the input is a folder.
    pub folder: Option<Vec<String>>,
    /// First bytes of the file, at most 512, if the input is a file.
    pub head: Vec<u8>,
}

impl Input {
    /// Reads the first bytes of a file or the names in a folder.
    ///
    /// A path without a file is not an error here: a format may recognise it by the files next to
    /// it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read the path.
    pub fn look(path: &Path) -> Result<Self> {
        // Normalises the path: a trailing slash would make opening a plain file fail.
        let path: PathBuf = path.components().collect();
        let failed = |source| Error::Io {
            place: Place::file(path.to_string_lossy().into_owned()),
            source,
        };
        let mut input = Input {
            path: path.clone(),
            folder: None,
            head: Vec::new(),
        };
        if path.is_dir() {
            let mut names = Vec::new();
            for entry in std::fs::read_dir(&path).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
            names.sort_unstable();
            input.folder = Some(names);
            return Ok(input);
        }
        match File::open(&path) {
            Ok(file) => {
                let read = file.take(512).read_to_end(&mut input.head);
                read.map_err(failed)?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        Ok(input)
    }

    /// Returns `true` if the name of the input ends in `.extension`.
    pub fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|own| own == extension)
    }
}

/// A format: functions that recognise it and open it.
///
///
/// ```
/// use perf_core::{Job, Place};
/// use perf_formats::{Error, Format, Formats, Input, OpenOptions, Recording};
/// use std::path::Path;
/// fn is_mine(input: &Input) -> u8 {
///     if input.head.starts_with(b"MINE") { 100 } else { 0 }
/// }
/// fn open(path: &Path, _: &OpenOptions, _: &Job) -> Result<Recording, Error> {
///     let place = Place::file(path.to_string_lossy()).at(4);
///     Err(Error::Malformed { place, expected: "events".into(), got: "nothing".into() })
/// }
/// let mine = Format::new("mine", &["mine"], "an example", is_mine, open);
/// let formats = Formats::default().with(mine);
/// # let file = std::env::temp_dir().join(format!("perf-formats-{}.mine", std::process::id()));
/// # std::fs::write(&file, "MINE")?;
/// assert_eq!(formats.probe(&file)?.name, "mine");
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Format {
    /// Short name, such as `otf2`.
    pub name: &'static str,
    /// Usual extensions, without the dot.
    pub extensions: &'static [&'static str],
    /// One-line description for users.
    pub describe: &'static str,
    /// Function that returns the confidence that an input is in this format, from 0 (excluded) to
    /// 100 (certain).
    pub probe: fn(&Input) -> u8,
    /// Function that opens a path.
    pub open: fn(&Path, &OpenOptions, &Job) -> Result<Recording>,
    /// Function that opens several paths as ranks of one recording, for formats with one file for
    /// each rank.
    pub ranks: Option<Ranks>,
}

/// Function that opens several paths, one for each rank, as one recording.
pub type Ranks = fn(&[&Path], &OpenOptions, &Job) -> Result<Recording>;

impl Format {
    /// Creates a format that can be [added](Formats::with) to those of this crate.
    pub fn new(
        name: &'static str,
        extensions: &'static [&'static str],
        describe: &'static str,
        probe: fn(&Input) -> u8,
        open: fn(&Path, &OpenOptions, &Job) -> Result<Recording>,
    ) -> Self {
        Format {
            name,
            extensions,
            describe,
            probe,
            open,
            ranks: None,
        }
    }

    /// Returns the same format with a function that opens several paths as ranks of one recording.
    pub fn with_ranks(self, ranks: Ranks) -> Self {
        Format {
            ranks: Some(ranks),
            ..self
        }
    }
}

/// A list of formats that an input is compared with.
///
///
/// ```
/// use perf_formats::Formats;
/// let known: Vec<_> = Formats::default().iter().map(|format| format.name).collect();
/// # #[cfg(feature = "otf2")]
/// assert!(known.contains(&"otf2"));
/// assert!(Formats::none().iter().next().is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Formats(Vec<Format>);

impl Default for Formats {
    /// Returns the formats of this crate that its enabled features include.
    fn default() -> Self {
        Formats(vec![
            #[cfg(feature = "otf2")]
            crate::otf2::FORMAT,
            #[cfg(feature = "paraver")]
            crate::paraver::FORMAT,
            #[cfg(feature = "cube")]
            crate::cube::FORMAT,
            #[cfg(feature = "tau")]
            crate::tau::FORMAT,
            #[cfg(feature = "streams")]
            crate::streams::FORMAT,
            #[cfg(feature = "adios")]
            crate::adios::FORMAT,
            #[cfg(feature = "chrome")]
            crate::chrome::FORMAT,
            #[cfg(feature = "rocprof")]
            crate::rocprof::FORMAT,
            #[cfg(feature = "nsys")]
            crate::nsys::FORMAT,
        ])
    }
}

impl Formats {
    /// Returns an empty list, as the start of a custom one.
    pub fn none() -> Self {
        Formats(Vec::new())
    }

    /// Returns the same list with one more format. It replaces a format of the same name.
    pub fn with(mut self, format: Format) -> Self {
        self.0.retain(|known| known.name != format.name);
        self.0.push(format);
        self
    }

    /// Iterates over the formats, in the order in which they are tried.
    pub fn iter(&self) -> impl Iterator<Item = &Format> {
        self.0.iter()
    }

    /// Returns the format with the highest confidence for a path; of several equal ones, the first.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read the path, [`Error::Foreign`] for files of
    /// other tools and of formats that were not compiled in, and [`Error::UnknownFormat`] for any
    /// other file that no format recognises.
    pub fn probe(&self, path: &Path) -> Result<&Format> {
        let input = Input::look(path)?;
        let sure = self.0.iter().map(|format| ((format.probe)(&input), format));
        let best = sure.rev().max_by_key(|(score, _)| *score);
        if let Some((1.., format)) = best {
            return Ok(format);
        }
        let place = Place::file(path.to_string_lossy().into_owned());
        if let Err(source) = std::fs::metadata(&input.path) {
            return Err(Error::Io { place, source });
        }
        if let Some((kind, remedy)) = crate::unsupported::kind(&input) {
            return Err(Error::Foreign {
                place,
                kind,
                remedy,
            });
        }
        let names: Vec<_> = self.0.iter().map(|format| format.name).collect();
        Err(Error::UnknownFormat {
            place,
            tried: names.join(", "),
        })
    }

    /// Opens a path in the format with the highest confidence.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`probe`](Self::probe) and those of the format.
    pub fn open(&self, path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
        (self.probe(path)?.open)(path, options, job)
    }

    /// Opens several paths, one for each rank, as one recording. A single path is opened as by
    /// [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`open`](Self::open). Returns [`Error::Usage`] if there is no path, if
    /// the paths are in several formats, or if one recording of their format holds all ranks.
    pub fn open_ranks(
        &self,
        paths: &[&Path],
        options: &OpenOptions,
        job: &Job,
    ) -> Result<Recording> {
        let usage = |what: String| Err(Error::Usage { what });
        let (first, rest) = match paths {
            [] => return usage("no path was given".into()),
            [only] => return self.open(only, options, job),
            [first, rest @ ..] => (first, rest),
        };
        let format = self.probe(first)?;
        for path in rest {
            let other = self.probe(path)?;
            if other.name != format.name {
                return usage(format!(
                    "{} has the format {}, but {} has {}; all files of a recording must have the same format",
                    first.display(),
                    format.name,
                    path.display(),
                    other.name
                ));
            }
        }
        match format.ranks {
            Some(ranks) => ranks(paths, options, job),
            None => usage(format!(
                "the format {} stores all ranks in one file; open a single file",
                format.name
            )),
        }
    }
}

/// Returns the format of this crate with the highest confidence for a path.
///
/// ```
/// # #[cfg(feature = "paraver")]
/// # {
/// # let file = std::env::temp_dir().join(format!("perf-formats-probe-{}.prv", std::process::id()));
/// std::fs::write(&file, "#Paraver (22/11/2026 at 10:00):90_ns:1(1):1:1(1:1)\n")?;
/// assert_eq!(perf_formats::probe(&file)?.name, "paraver");
/// # std::fs::remove_file(&file).ok();
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`Formats::probe`].
pub fn probe(path: impl AsRef<Path>) -> Result<Format> {
    Formats::default().probe(path.as_ref()).copied()
}

/// Opens a recording in any format of this crate.
///
/// Progress is reported in bytes of the phase `read`.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, open};
/// let recording = open("run/traces.otf2", &OpenOptions::new(), &Job::default())?;
/// println!("{}", recording.diagnostics);
/// if let Some(trace) = recording.trace() {
///     println!("{} events", trace.len());
/// }
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`Formats::open`].
pub fn open(path: impl AsRef<Path>, options: &OpenOptions, job: &Job) -> Result<Recording> {
    Formats::default().open(path.as_ref(), options, job)
}

/// Opens several paths, one for each rank, as one recording: Chrome JSON, JSON of rocprofv3, or
/// SQLite exports of Nsight Systems. Their clocks are aligned; if that is not possible, the
/// disagreement is counted.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, open_ranks};
/// let recording = open_ranks(&["rank-0.json.gz", "rank-1.json.gz"], &OpenOptions::new(), &Job::default())?;
/// println!("{}", recording.diagnostics);
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`Formats::open_ranks`].
pub fn open_ranks<P: AsRef<Path>>(
    paths: &[P],
    options: &OpenOptions,
    job: &Job,
) -> Result<Recording> {
    let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
    Formats::default().open_ranks(&paths, options, job)
}
