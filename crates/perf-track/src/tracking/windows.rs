//! [`windows`]: splits the bursts of one recording by time into a series of experiments, by a rule
//! ([`Windows`]).

use crate::{Bursts, Error, Result};
use perf_core::Nanos;

/// Rule for splitting a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Windows {
    /// This many windows of equal length.
    Count(usize),
    /// Windows of this length in nanoseconds; the last one may be shorter.
    Width(Nanos),
}

/// Largest number of windows of a recording. The limit bounds memory, because each window has a name
/// and storage for each metric.
const MAX_WINDOWS: u64 = 1 << 16;

/// Splits the time from the first begin to the last end of bursts into windows, and returns the
/// bursts of each window with their indices in `bursts`. A burst belongs to the window in which it
/// begins. Windows share all threads and chains, so that ids stay valid. Without bursts there are no
/// windows.
///
/// ```
/// use perf_core::Nanos;
/// use perf_track::{Burst, Bursts, Thread};
/// use perf_track::tracking::{Windows, windows};
/// let mut bursts = Bursts::new(["instructions"]);
/// let thread = bursts.add_thread(Thread::default())?;
/// for begin in [0, 40, 90] {
///     let (begin, end) = (Nanos(begin), Nanos(begin + 10));
///     bursts.push(Burst { thread, begin, end, ..Burst::default() }, &[1.0])?;
/// }
/// let cut = windows(&bursts, Windows::Count(2))?;
/// assert_eq!(cut.iter().map(|(_, rows)| rows.clone()).collect::<Vec<_>>(), [vec![0, 1], vec![2]]);
/// assert_eq!(windows(&bursts, Windows::Width(Nanos(30)))?.len(), 4);
/// # Ok::<(), perf_track::Error>(())
/// ```
///
/// # Errors
/// Returns an error for 0 windows, windows of length 0, or more than 2^16 of them.
pub fn windows(bursts: &Bursts, how: Windows) -> Result<Vec<(Bursts, Vec<u32>)>> {
    let rows = bursts.rows();
    let (Some(start), Some(end)) = (
        rows.iter().map(|burst| burst.begin.0).min(),
        rows.iter().map(|burst| burst.end.0).max(),
    ) else {
        return Ok(Vec::new());
    };
    let span = (i128::from(end) - i128::from(start)).max(1) as u128;
    let wrong = |name, value: String| Error::Parameter {
        name,
        value,
        range: "at least 1, for at most 2^16 windows",
    };
    let count = match how {
        Windows::Count(count) => count as u128,
        Windows::Width(Nanos(width)) => {
            let whole = u128::try_from(width).ok().filter(|&width| width > 0);
            span.div_ceil(whole.ok_or_else(|| wrong("width of a window", width.to_string()))?)
        }
    };
    if count == 0 || count > u128::from(MAX_WINDOWS) {
        return Err(wrong("number of windows", count.to_string()));
    }
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count as usize];
    for (row, burst) in rows.iter().enumerate() {
        let since = (i128::from(burst.begin.0) - i128::from(start)) as u128;
        let window = match how {
            Windows::Count(_) => since * count / span,
            Windows::Width(Nanos(width)) => since / width as u128,
        };
        // A zero-length burst at the very end belongs to the last window.
        if let Some(list) = members.get_mut(window.min(count - 1) as usize) {
            list.push(row as u32);
        }
    }
    let cut = |rows: Vec<u32>| (bursts.part(&rows), rows);
    Ok(members.into_iter().map(cut).collect())
}
