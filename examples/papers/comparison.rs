//! Tables of published and measured results, for the experiments of the papers.

use clap::{Args, Command, FromArgMatches};
use perfkit::core::Column;
use perfkit_cli::failure::{Failure, Outcome};
use perfkit_cli::output;
use perfkit_cli::pictures::Files;
use perfkit_cli::table;
use serde::Serialize;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// Options of an experiment.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Measure times, too; they differ from run to run and from machine to machine
    #[arg(long)]
    pub(crate) times: bool,
    /// Folder of the recordings by others; parts that need them are skipped where they are absent [default: the
    /// folder that PERFKIT_CORPUS names]
    #[arg(long, value_name = "DIR")]
    pub(crate) corpus: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) files: Files,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Returns the command line of an experiment.
pub(crate) fn command(name: &'static str, what: &'static str) -> Command {
    Options::augment_args(Command::new(name).about(what))
}

impl Options {
    /// Parses the arguments of a command line.
    ///
    /// # Errors
    ///
    /// - Returns [`Failure::Usage`] if an argument is wrong.
    /// - Returns [`Failure::Input`] if the corpus is not a folder.
    pub(crate) fn parse(command: Command, args: &[OsString]) -> Result<Self, Failure> {
        let matches = command.no_binary_name(true).try_get_matches_from(args)?;
        let mut options = Options::from_arg_matches(&matches)?;
        let folder = || std::env::var_os("PERFKIT_CORPUS").map(PathBuf::from);
        options.corpus = options.corpus.or_else(folder);
        match &options.corpus {
            Some(folder) if !folder.is_dir() => Err(Failure::Input(format!(
                "{}: the folder of the corpus is not there",
                folder.display()
            ))),
            _ => Ok(options),
        }
    }

    /// Returns the path of a file or folder of the corpus, if it exists.
    pub(crate) fn corpus(&self, relative: &str) -> Option<PathBuf> {
        let path = self.corpus.as_ref()?.join(relative);
        path.exists().then_some(path)
    }
}

/// Measured result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measured {
    /// Number, with its number of decimal places.
    Number(f64, usize),
    /// Any other result.
    Text(String),
}

impl From<(f64, usize)> for Measured {
    fn from((value, digits): (f64, usize)) -> Self {
        Measured::Number(value, digits)
    }
}

impl From<usize> for Measured {
    fn from(count: usize) -> Self {
        Measured::Number(count as f64, 0)
    }
}

impl From<String> for Measured {
    fn from(text: String) -> Self {
        Measured::Text(text)
    }
}

impl From<&str> for Measured {
    fn from(text: &str) -> Self {
        Measured::Text(text.into())
    }
}

impl Measured {
    fn text(&self) -> String {
        match self {
            Measured::Number(value, digits) => format!("{value:.digits$}"),
            Measured::Text(text) => text.clone(),
        }
    }
}

/// Row of a table.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    what: String,
    published: String,
    measured: Measured,
    why: String,
}

impl Row {
    fn published(&self) -> Option<f64> {
        self.published.replace(' ', "").parse().ok()
    }

    /// Returns half of the last digit that was published. Results that are closer are considered
    /// equal.
    fn rounding(&self) -> f64 {
        let digits = self
            .published
            .split_once('.')
            .map_or(0, |(_, rest)| rest.len());
        0.5 * 0.1_f64.powi(digits as i32) * (1.0 + 1e-6)
    }

    /// Returns the difference of measured and published result relative to the published one; for a
    /// published 0 the difference itself.
    ///
    /// Returns `None` if one of them is not a number, and 0 if they are equal to the published
    /// precision.
    fn deviation(&self) -> Option<f64> {
        match (self.published(), &self.measured) {
            (Some(published), Measured::Number(measured, _)) => {
                let by = measured - published;
                Some(match by.abs() <= self.rounding() {
                    true => 0.0,
                    false if published == 0.0 => by,
                    false => by / published.abs(),
                })
            }
            (_, measured) => (self.published == measured.text()).then_some(0.0),
        }
    }

    fn deviation_text(&self) -> String {
        match (self.deviation(), self.published()) {
            (None, _) => String::new(),
            (Some(0.0), _) => "=".into(),
            (Some(by), Some(0.0)) => format!("{by:+.2}"),
            (Some(by), _) if by >= 0.995 => format!("x {:.1}", 1.0 + by),
            (Some(by), _) if by.abs() < 5e-4 => "< 0.1 %".into(),
            (Some(by), _) => format!("{:+.1} %", 100.0 * by),
        }
    }
}

/// Table of published and measured results.
///
/// ```
/// use super::comparison::Compared;
/// let mut table = Compared::new("Circles", "published");
/// table.row("circumference of a unit circle", "3.14", (std::f64::consts::PI, 4), "");
/// table.row("its area", "3.5", (std::f64::consts::PI, 1), "a square was measured");
/// let mut out = Vec::new();
/// table.text(&mut out)?;
/// assert_eq!(
///     String::from_utf8(out).expect("text"),
///     "Circles\n  what                            published  measured  deviation  note\n  \
///      circumference of a unit circle  3.14       3.1416    =          -\n  \
///      its area                        3.5        3.1       -10.2 %    [1]\n  \
///      [1] a square was measured\n",
/// );
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    title: String,
    against: &'static str,
    rows: Vec<Row>,
}

impl Compared {
    /// Creates a table. `against` describes the reference values, such as `published`, `planted`,
    /// or the name of a tool.
    pub(crate) fn new(title: impl Into<String>, against: &'static str) -> Self {
        Compared {
            title: title.into(),
            against,
            rows: Vec::new(),
        }
    }

    /// Adds a row: description, reference value as printed, measured result, and an explanation of
    /// the difference or another remark, which may be empty.
    pub(crate) fn row(
        &mut self,
        what: impl Into<String>,
        published: impl Into<String>,
        measured: impl Into<Measured>,
        why: impl Into<String>,
    ) {
        self.rows.push(Row {
            what: what.into(),
            published: published.into(),
            measured: measured.into(),
            why: why.into(),
        });
    }

    /// Writes the table as text, followed by the explanations.
    ///
    /// # Errors
    ///
    /// Returns the errors of `out`.
    pub(crate) fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "{}", self.title)?;
        let mut reasons: Vec<&str> = Vec::new();
        let notes = self.rows.iter().map(|row| {
            let known = reasons.iter().position(|known| *known == row.why);
            (!row.why.is_empty()).then(|| {
                let number = known.unwrap_or_else(|| {
                    reasons.push(&row.why);
                    reasons.len() - 1
                });
                format!("[{}]", number + 1)
            })
        });
        let notes = Column::text("note", notes);
        let rows = || self.rows.iter();
        let table = perfkit::core::Table::new("comparison", self.title.clone())
            .text("what", rows().map(|row| row.what.as_str()))
            .text(self.against, rows().map(|row| row.published.as_str()))
            .text("measured", rows().map(|row| row.measured.text()))
            .text("deviation", rows().map(Row::deviation_text))
            .with(notes);
        table::print(out, &table, 60)?;
        for (number, reason) in reasons.iter().enumerate() {
            writeln!(out, "  [{}] {reason}", number + 1)?;
        }
        Ok(())
    }

    fn json(&self) -> TableJson<'_> {
        let rows = self.rows.iter().map(|row| RowJson {
            what: &row.what,
            published: match row.published() {
                Some(number) => Figure::Number(number),
                None => Figure::Text(&row.published),
            },
            measured: match &row.measured {
                Measured::Number(number, _) => Figure::Number(*number),
                Measured::Text(text) => Figure::Text(text),
            },
            deviation: row.deviation(),
            why: (!row.why.is_empty()).then_some(row.why.as_str()),
        });
        TableJson {
            title: &self.title,
            against: self.against,
            rows: rows.collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Figure<'a> {
    Number(f64),
    Text(&'a str),
}

#[derive(Serialize)]
struct RowJson<'a> {
    what: &'a str,
    published: Figure<'a>,
    measured: Figure<'a>,
    deviation: Option<f64>,
    why: Option<&'a str>,
}

#[derive(Serialize)]
struct TableJson<'a> {
    title: &'a str,
    against: &'a str,
    rows: Vec<RowJson<'a>>,
}

/// Output of an experiment with `--json`.
#[derive(Serialize)]
struct Document<'a> {
    tables: Vec<TableJson<'a>>,
    skipped: &'a [String],
}

/// Prints the tables of an experiment, and the skipped parts.
///
/// # Errors
///
/// Returns the errors of `out`.
pub(crate) fn write(
    tables: &[Option<Compared>],
    skipped: &[String],
    as_json: bool,
    out: &mut dyn Write,
) -> Outcome {
    let tables = tables.iter().flatten();
    if as_json {
        let tables = tables.map(Compared::json).collect();
        return output::json(out, &Document { tables, skipped });
    }
    for (number, table) in tables.enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        table.text(out)?;
    }
    for what in skipped {
        writeln!(out, "\nskipped: {what}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(published: &str, measured: impl Into<Measured>) -> String {
        let row = Row {
            what: String::new(),
            published: published.into(),
            measured: measured.into(),
            why: String::new(),
        };
        row.deviation_text()
    }

    #[test]
    fn the_same_with_the_digits_that_were_printed() {
        assert_eq!(row("0.46", (0.4602, 4)), "=");
        assert_eq!(row("0.46", (0.465, 4)), "=");
        assert_eq!(row("0.46", (0.466, 4)), "+1.3 %");
        assert_eq!(row("1 835 008", 1_835_008_usize), "=");
        assert_eq!(row("0.0", (0.2, 1)), "+0.20");
        assert_eq!(row("2", (61.0, 0)), "x 30.5");
        assert_eq!(row("98.8337", (98.83, 2)), "< 0.1 %");
        assert_eq!(row("-4", (-5.0, 0)), "-25.0 %");
        assert_eq!(
            (row("3, 7", "3, 7"), row("grows", "no")),
            ("=".into(), String::new())
        );
    }
}
