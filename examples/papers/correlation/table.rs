//! Table 1: the sizes of three codes, and a pattern that is planted in views of their shapes.

use super::comparison::Compared;
use super::{correlations, spectra_of};
use perfkit::core::Job;
use perfkit::spectral::{AxisFilter, Result as Spectral, Spectra};
use std::f64::consts::TAU;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Row of Table 1; sizes as printed, in units of 1024.
pub(super) struct Code {
    /// Name of the code.
    name: &'static str,
    /// Lengths of the axes.
    dims: &'static [usize],
    /// Axis along which the planted pattern varies; the known effect varies along axis 0.
    along: usize,
    /// Number of views.
    views: usize,
    /// Number of points, as printed.
    points: &'static str,
    raw_gib: &'static str,
    overhead: &'static str,
    seconds: &'static str,
}

pub(super) const CODES: [Code; 3] = [
    Code {
        name: "NEKBONE",
        dims: &[28, 8, 8, 8, 2, 16, 4],
        along: 5,
        views: 624,
        points: "1 835 008",
        raw_gib: "8.531",
        overhead: "638 976",
        seconds: "52.3",
    },
    Code {
        name: "psOpen",
        dims: &[4, 4, 4, 8, 2, 16, 4],
        along: 5,
        views: 2031,
        points: "65 384",
        raw_gib: "0.992",
        overhead: "2 079 744",
        seconds: "1.8",
    },
    Code {
        name: "Sweep3D",
        dims: &[32, 32, 64],
        along: 2,
        views: 850,
        points: "65 384",
        raw_gib: "0.415",
        overhead: "54 400",
        seconds: "0.6",
    },
];

/// Number of generated views: the reference and views with a planted correlation each.
const MADE: usize = 12;

/// Returns the correlation that is planted in view `k` along the axis of the pattern: `1 - 0.08 k`,
/// negative if `k` is a multiple of 3.
fn planted(k: usize) -> f64 {
    let sign = if k.is_multiple_of(3) { -1.0 } else { 1.0 };
    sign * (1.0 - 0.08 * k as f64)
}

/// Generates a view: a known effect along axis 0, ten times as strong as two waves along another
/// axis. The second wave has twice the frequency of the first one and is uncorrelated with it.
fn made(code: &Code, r: f64) -> Vec<f64> {
    let shape = code.dims;
    let stride: usize = shape[code.along + 1..].iter().product();
    let (first, len) = (shape[0], shape[code.along]);
    let rest: usize = shape[1..].iter().product();
    let points = shape.iter().product();
    let value = |cell: usize| {
        let known = TAU * (cell / rest) as f64 / first as f64;
        let x = TAU * (cell / stride % len) as f64 / len as f64;
        10.0 * known.cos() + r * x.cos() + (1.0 - r * r).sqrt() * (2.0 * x).cos()
    };
    (0..points).map(value).collect()
}

pub(super) fn table_1(code: &Code, times: bool) -> Spectral<Compared> {
    let points: usize = code.dims.iter().product();
    let (count, axes) = (code.views, code.dims.len());
    let dims: Vec<String> = code.dims.iter().map(usize::to_string).collect();
    let title = format!(
        "Table 1: {}, {} views over {}",
        code.name,
        count,
        dims.join(" x ")
    );
    let mut table = Compared::new(title, "published");
    table.row(
        "points",
        code.points,
        points,
        match code.points {
            "65 384" => "surely a misprint: only 65 536 fits the sizes in the same line",
            _ => "",
        },
    );
    let gib = (count * points * 8) as f64 / f64::from(1 << 30);
    table.row("views as they are, GiB", code.raw_gib, (gib, 3), "");
    let views: Vec<Vec<f64>> = std::iter::once(1.0)
        .chain((1..=MADE).map(planted))
        .map(|r| made(code, r))
        .collect();
    let begin = Instant::now();
    let spectra = spectra_of(code.dims, &views)?;
    let forward = begin.elapsed().as_secs_f64() / views.len() as f64;
    let reals = spectra
        .spectrum(0)?
        .map_or(points, |spectrum| spectrum.len());
    let packed = "published: 2^axes values for each view; here a spectrum is packed into as many reals as there are points";
    table.row(
        "spectra beyond that, bytes",
        code.overhead,
        (reals - points) * 8 * count,
        packed,
    );
    let mut f = vec![1.0; axes];
    let unfiltered = correlations(&spectra, &f)?;
    let least = unfiltered.iter().map(|r| r[0]).fold(1.0, f64::min);
    let why = format!(
        "{MADE} generated views: what is known is the same in all, a pattern behind it is not"
    );
    table.row(
        "least Pearson of the generated views",
        "not published",
        (least, 3),
        why,
    );
    f[0] = 0.0;
    let filter = AxisFilter::new(&f)?;
    let list = spectra.rank(0, &filter, &Default::default(), &Job::default())?;
    let in_order = list.matches.iter().enumerate();
    let in_order = in_order.filter(|(at, found)| found.view == at + 1);
    table.row(
        "views where the filtered list should have them",
        MADE.to_string(),
        in_order.count(),
        "planted, not printed",
    );
    let off = list
        .matches
        .iter()
        .map(|found| (found.r() - planted(found.view)).abs());
    let off = off.fold(0.0, f64::max);
    table.row(
        "largest |r - planted r|",
        "0.000000",
        (off, 6),
        "planted, not printed",
    );
    if times {
        let seconds = against_all(&spectra, &filter, count)?;
        let why = format!("other machines, and here {MADE} spectra are used over and over");
        table.row("one view against all, s", code.seconds, (seconds, 2), why);
        let what = "transform of a view beforehand, s";
        table.row(what, "not published", (forward, 4), "");
    }
    Ok(table)
}

/// Measures the seconds for correlating one view with as many as the paper has, on all processors:
/// product, inverse transform and extremes. Each correlation is computed separately, because a list
/// would detect equal views.
fn against_all(spectra: &Spectra<f64>, filter: &AxisFilter, count: usize) -> Spectral<f64> {
    let Some(reference) = spectra.reference(0, filter, &Job::default())? else {
        return Ok(f64::NAN);
    };
    let next = AtomicUsize::new(0);
    let lane = || -> Spectral<()> {
        loop {
            let view = next.fetch_add(1, Ordering::Relaxed);
            if view >= count {
                return Ok(());
            }
            spectra.correlate(&reference, 1 + view % MADE, &Job::default())?;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..threads).map(|_| scope.spawn(lane)).collect();
        let done = |lane: std::thread::ScopedJoinHandle<'_, Spectral<()>>| match lane.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        lanes.into_iter().try_for_each(done)
    })?;
    Ok(begin.elapsed().as_secs_f64())
}
