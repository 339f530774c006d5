//! The formats this crate knows, and which of them an input is in.

use crate::{Error, OpenOptions, Result};
use perf_core::{Diagnostics, Job, Place, Profile, Trace};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// A recording: what is in it, which format it came in, and what was wrong with it.
///
/// ```
/// use perf_formats::{Content, Recording};
/// let trace = perf_testdata::cosmo::trace();
/// let recording = Recording::new(Content::Trace(trace), "made", Default::default());
/// assert!(recording.profile().is_none() && recording.diagnostics.is_empty());
/// assert_eq!(recording.into_trace().map(|trace| trace.len()), Some(19_280));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recording {
    /// What is in it.
    pub content: Content,
    /// Name of the format.
    pub format: &'static str,
    /// What was repaired, lost or noted while it was read.
    pub diagnostics: Diagnostics,
}

/// What is in a recording.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one of it a recording, and a box would be in everyone's way"
)]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// What happened, event by event.
    Trace(Trace),
    /// How much there was of what, call path by call path.
    Profile(Profile),
}

impl Recording {
    /// A recording of `content`.
    pub fn new(content: Content, format: &'static str, diagnostics: Diagnostics) -> Self {
        Recording {
            content,
            format,
            diagnostics,
        }
    }

    /// The trace, if it is one.
    pub fn trace(&self) -> Option<&Trace> {
        match &self.content {
            Content::Trace(trace) => Some(trace),
            Content::Profile(_) => None,
        }
    }

    /// The trace, if it is one.
    pub fn into_trace(self) -> Option<Trace> {
        match self.content {
            Content::Trace(trace) => Some(trace),
            Content::Profile(_) => None,
        }
    }

    /// The profile, if it is one.
    pub fn profile(&self) -> Option<&Profile> {
        match &self.content {
            Content::Trace(_) => None,
            Content::Profile(profile) => Some(profile),
        }
    }

    /// The profile itself, if it is one.
    ///
    /// ```
    /// use perf_core::{Job, Profile};
    /// use perf_formats::{Content, Recording};
    /// let trace = perf_testdata::cosmo::trace();
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

/// What a format sees of an input before it says whether it is its own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Input {
    /// The path.
    pub path: PathBuf,
    /// Names of the files in it, ascending, if it is a folder.
    pub folder: Option<Vec<String>>,
    /// Its first bytes, 512 at most, if it is a file.
    pub head: Vec<u8>,
}

impl Input {
    /// Looks at a path.
    ///
    /// A path to a file that is not there is no error yet: a format may know what to make of the
    /// files beside it.
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot read.
    pub fn look(path: &Path) -> Result<Self> {
        // Without a slash at the end, which only folders may have.
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

    /// Whether the name of the input ends in `.extension`.
    pub fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|own| own == extension)
    }
}

/// A format: how it is recognised, and how it is opened.
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
    /// One line for people.
    pub describe: &'static str,
    /// How sure the format is that an input is its own: 0 not at all, 100 entirely.
    pub probe: fn(&Input) -> u8,
    /// Opens a path.
    pub open: fn(&Path, &OpenOptions, &Job) -> Result<Recording>,
    /// Opens several paths, a rank each, as one recording, where the format is one of a file a rank.
    pub ranks: Option<Ranks>,
}

/// Opens several paths, a rank each, as one recording.
pub type Ranks = fn(&[&Path], &OpenOptions, &Job) -> Result<Recording>;

impl Format {
    /// A format of one's own, to be [added](Formats::with) to those of this crate.
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

    /// The same format, which opens several paths as ranks of one recording.
    pub fn with_ranks(self, ranks: Ranks) -> Self {
        Format {
            ranks: Some(ranks),
            ..self
        }
    }
}

/// The formats an input is tried with.
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
    /// The formats of this crate, as far as its features have them.
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
    /// No format, to begin a list of one's own.
    pub fn none() -> Self {
        Formats(Vec::new())
    }

    /// The same list with one more; it replaces one of the same name.
    pub fn with(mut self, format: Format) -> Self {
        self.0.retain(|known| known.name != format.name);
        self.0.push(format);
        self
    }

    /// The formats, in the order in which they are tried.
    pub fn iter(&self) -> impl Iterator<Item = &Format> {
        self.0.iter()
    }

    /// The format that is surest of a path; the first of those equally sure.
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot read, [`Error::Foreign`] for files of other tools and of formats
    /// that were not compiled in, [`Error::UnknownFormat`] for any other file that no format takes.
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
        if let Some((kind, remedy)) = crate::foreign::kind(&input) {
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

    /// Opens a path in the format that is surest of it.
    ///
    /// # Errors
    /// As [`probe`](Self::probe), and those of the format.
    pub fn open(&self, path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
        (self.probe(path)?.open)(path, options, job)
    }

    /// Opens several paths, a rank each, as one recording; one path as [`open`](Self::open) does.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Error::Usage`] without a path, for paths of several formats, and
    /// for formats in which one recording holds all ranks.
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
                    "{} is of the format {}, {} of {}: ranks of one job are of one format",
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
                "several files of the format {} are not one recording: it has all ranks in one",
                format.name
            )),
        }
    }
}

/// The format that is surest of a path, of those of this crate.
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
/// As [`Formats::probe`].
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
/// As [`Formats::open`].
pub fn open(path: impl AsRef<Path>, options: &OpenOptions, job: &Job) -> Result<Recording> {
    Formats::default().open(path.as_ref(), options, job)
}

/// Opens several paths, a rank each, as one recording: Chrome JSON, JSON of rocprofv3, or SQLite
/// exports of Nsight Systems. Their clocks are aligned, or counted as not in agreement.
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
/// As [`Formats::open_ranks`].
pub fn open_ranks<P: AsRef<Path>>(
    paths: &[P],
    options: &OpenOptions,
    job: &Job,
) -> Result<Recording> {
    let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
    Formats::default().open_ranks(&paths, options, job)
}
