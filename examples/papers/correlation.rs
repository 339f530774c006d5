//! Compares with Fig. 1 and Table 1 of Vierjahn et al., "Correlating sub-phenomena in performance
//! data in the frequency domain", and applies the method to a recording with a planted hidden
//! pattern.
//!
//! `cargo run --release --example correlation -- --times`

#[path = "comparison.rs"]
mod comparison;
#[path = "correlation/recorded.rs"]
mod recorded;
#[path = "correlation/table.rs"]
mod table;

use comparison::{Compared, Options};
use perfkit::core::Job;
use perfkit::spectral::{AxisFilter, Result as Spectral, Spectra};
use perfkit::topology::{Grid, Shape};
use perfkit::view::topology::Picture;
use perfkit::view::{Scene, Theme};
use perfkit_cli::failure::{self, Failure, Outcome, input};
use perfkit_cli::pictures::{self, failed};
use std::f64::consts::TAU;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

const WHAT: &str =
    "Redoes Fig. 1 and Table 1 of the paper on correlation in the frequency domain, and finds a
pattern that is planted in a recording of 64 ranks.";

fn main() -> ExitCode {
    failure::main(command(), run)
}

fn command() -> clap::Command {
    comparison::command("correlation", WHAT)
}

/// Runs the experiment with these arguments and writes its tables.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let options = Options::parse(command(), args)?;
    let mut tables = vec![Some(figure_1().map_err(input)?)];
    for code in &table::CODES {
        tables.push(Some(table::table_1(code, options.times).map_err(input)?));
    }
    tables.push(Some(recorded::hidden()?));
    let corpus = options.corpus("cube/cube3/experiment1.cube");
    tables.push(corpus.as_deref().map(recorded::recorded).transpose()?);
    let skipped = corpus.is_none().then(|| "corpus absent".to_string());
    let title = "Three views over 8 x 8 points";
    options
        .files
        .write(title, || picture(title), || Ok(vec![recorded::page()?]))?;
    comparison::write(&tables, skipped.as_slice(), options.json, out)
}

/// Returns the three views of Fig. 1 over x1 and x2. The paper only draws them; these values
/// reproduce all published numbers.
fn three_views() -> [Vec<f64>; 3] {
    let p = [6.5, 3.5, 0.5, 3.5, 6.5, 3.5, 0.5, 3.5];
    let e = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
    let view = |of: fn(f64, f64) -> f64| p.iter().flat_map(|p| e.map(|e| of(*p, e))).collect();
    [view(|p, e| p * e), view(|p, _| p), view(|_, e| e)]
}

fn spectra_of(dims: &[usize], views: &[Vec<f64>]) -> Spectral<Spectra<f64>> {
    let mut builder = Spectra::<f64>::builder(dims)?;
    builder.extend(views, &Job::default())?;
    Ok(builder.finish())
}

/// Returns the correlation of each view with view 0 under a filter: without shift, and the largest
/// over all shifts.
fn correlations(spectra: &Spectra<f64>, f: &[f64]) -> Spectral<Vec<[f64; 2]>> {
    let reference = spectra.reference(0, &AxisFilter::new(f)?, &Job::default())?;
    let of = |view| match &reference {
        Some(reference) => spectra
            .correlate(reference, view, &Job::default())
            .map(|found| [found.zero, found.best().r]),
        None => Ok([0.0; 2]),
    };
    (0..spectra.views().len()).map(of).collect()
}

fn figure_1() -> Spectral<Compared> {
    const WHY: &str =
        "the views are drawn, not printed: their values are those that give what is printed";
    let views = three_views();
    let spectra = spectra_of(&[8, 8], &views)?;
    let (all, first) = (
        correlations(&spectra, &[1.0, 1.0])?,
        correlations(&spectra, &[1.0, 0.0])?,
    );
    let mut table = Compared::new("Fig. 1: three views over 8 x 8 points", "published");
    table.row("Pearson, v0 and v1", "0.46", (all[1][0], 4), WHY);
    table.row("Pearson, v0 and v2", "0.76", (all[2][0], 4), "");
    table.row("along x1 alone, v0 and v1", "0.9", (first[1][1], 4), "");
    table.row("along x1 alone, v0 and v2", "0.0", (first[2][1], 4), "");
    let second = correlations(&spectra, &[0.0, 1.0])?;
    table.row(
        "along x2 alone, v0 and v2",
        "not published",
        (second[2][1], 4),
        "",
    );
    // The paper prints the scale of its spectra only: all values of 4 |V| are integers.
    let mut heights: Vec<String> = (0..64)
        .map(|k| 4.0 * magnitude(&views[0], k))
        .filter(|v| *v > 1e-9)
        .map(|value| format!("{value:.3}"))
        .collect();
    heights.sort();
    heights.dedup();
    table.row(
        "heights in the spectrum of v0, times 4",
        "integers",
        heights.join(", "),
        "",
    );
    Ok(table)
}

/// Returns |V| at one frequency of 8 x 8 points, by the definition of the transform.
fn magnitude(view: &[f64], k: usize) -> f64 {
    let angle = |x: usize| -TAU / 8.0 * ((x / 8) * (k / 8) + (x % 8) * (k % 8)) as f64;
    let (mut re, mut im) = (0.0, 0.0);
    for (x, value) in view.iter().enumerate() {
        re += value * angle(x).cos();
        im += value * angle(x).sin();
    }
    re.hypot(im) / view.len() as f64
}

/// Draws Fig. 1: the three views and their correlations.
fn picture(title: &str) -> Result<Scene, Failure> {
    let (views, mut scenes) = (three_views(), Vec::new());
    let spectra = spectra_of(&[8, 8], &views).map_err(input)?;
    let all = correlations(&spectra, &[1.0, 1.0]).map_err(input)?;
    let first = correlations(&spectra, &[1.0, 0.0]).map_err(input)?;
    for (number, view) in views.into_iter().enumerate() {
        let shape = Shape::of(&[8, 8]).map_err(input)?;
        let grid = Grid::new(shape, view, vec![true; 64]).map_err(input)?;
        let name = match number {
            0 => "v0, the reference".into(),
            _ => format!(
                "v{number}: Pearson {:.2}, r along x1 {:.2}",
                all[number][0], first[number][1]
            ),
        };
        let picture = Picture::new(&grid).map_err(failed)?;
        scenes.push(picture.titled(name).side(340).scene());
    }
    let head = pictures::headed(title, 1116, Theme::light());
    Ok(pictures::together(title, &head, &scenes, Theme::light()))
}
