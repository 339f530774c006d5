//! Recordings: opening them, and where the bundled ones are.

use crate::cli::{Failure, input};
use crate::progress::Bar;
use perfkit::core::{Clock, Diagnostics, Nanos, Ticks, TimeRange, Trace};
use perfkit::formats::{Content, OpenOptions};
use std::path::{Path, PathBuf};

/// A trace with what its reader said about it.
#[derive(Debug)]
pub struct Recording {
    /// What happened.
    pub trace: Trace,
    /// Name of the format.
    pub format: &'static str,
    /// What was repaired.
    pub diagnostics: Diagnostics,
}

/// Opens any recording that has a trace, with a progress bar on a terminal.
///
/// # Errors
/// [`Failure::Input`] with the place and cause.
pub fn open(path: &Path) -> Result<Recording, Failure> {
    let bar = Bar::new();
    let options = OpenOptions::new().progress(&bar);
    let opened = perfkit::formats::open(path, &options).map_err(input)?;
    let format = opened.format;
    let diagnostics = opened.diagnostics;
    match opened.content {
        Content::Trace(trace) => Ok(Recording {
            trace,
            format,
            diagnostics,
        }),
        _ => Err(Failure::Input(format!(
            "{}: holds no trace",
            path.display()
        ))),
    }
}

/// The folder of a bundled recording.
pub fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../data/recordings")
        .join(name)
}

/// A time as people write it: `1.5s`, `20ms`, `7us`, `12ns`; a bare number is in seconds.
///
/// # Errors
/// [`Failure::Usage`] for anything else.
pub fn parse_time(text: &str) -> Result<Nanos, Failure> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("", 1e9)];
    let wrong = || {
        Failure::Usage(format!(
            "`{text}` is no time, write 1.5s, 20ms, 7us or 12ns"
        ))
    };
    let (number, scale) = units
        .iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
        .ok_or_else(wrong)?;
    // Whole numbers stay whole: a float has 53 bits.
    if let (Ok(whole), true) = (number.trim().parse::<i64>(), *scale >= 1.0) {
        let nanos = whole.checked_mul(*scale as i64).ok_or_else(wrong)?;
        return Ok(Nanos(nanos));
    }
    let value: f64 = number.trim().parse().map_err(|_| wrong())?;
    let nanos = (value * scale).round();
    if nanos.abs() < 9.2e18 {
        Ok(Nanos(nanos as i64))
    } else {
        Err(wrong())
    }
}

/// The part of `all` between two times of the clock; each end that is not given stays.
///
/// # Errors
/// [`Failure::Usage`] if nothing lies between them.
pub fn window(
    all: TimeRange,
    clock: Clock,
    from: Option<Nanos>,
    to: Option<Nanos>,
) -> Result<TimeRange, Failure> {
    let tick = |at: Option<Nanos>, otherwise: Ticks| match at {
        Some(at) => clock.ticks(at).unwrap_or(Ticks(0)),
        None => otherwise,
    };
    let range = TimeRange::new(tick(from, all.start), tick(to, all.end));
    range.filter(|range| !range.is_empty()).ok_or_else(|| {
        let text = |at: Ticks| {
            clock
                .nanos(at)
                .map_or_else(String::new, |at| at.to_string())
        };
        let (start, end) = (text(all.start), text(all.end));
        Failure::Usage(format!(
            "nothing lies in that window; the recording runs from {start} to {end}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, nanos) in [
            ("1.5s", 1_500_000_000),
            ("2", 2_000_000_000),
            ("20ms", 20_000_000),
            ("-7us", -7_000),
            ("12ns", 12),
        ] {
            assert!(
                matches!(parse_time(text), Ok(Nanos(parsed)) if parsed == nanos),
                "{text}"
            );
        }
        for text in ["", "ms", "1 h", "1e30s", "nan"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
