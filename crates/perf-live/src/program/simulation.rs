//! [`simulate()`]: load generator behind the command `simulate`, which lets many simulated ranks
//! play a recording to a server and writes the statistics of the run.

use super::{Outcome, VARIABLE, read_token};
use crate::client::Target;
use crate::simulate::{Figures, Load, Tape, run};
use std::io::Write;
use std::path::PathBuf;

/// Options of [`simulate`].
#[derive(Clone, Debug)]
pub struct SimulateOptions {
    /// Recording that the ranks play.
    pub recording: PathBuf,
    /// File with the token of writers.
    pub token_file: Option<PathBuf>,
    /// Number of steps of the recording.
    pub steps: u64,
    /// Numbers of ranks, updates and connections.
    pub load: Load,
}

/// Plays a recording to a server with many simulated ranks, and writes statistics of the run.
///
/// # Errors
/// Returns an error if the recording cannot be read, if the server does not answer, or if it has
/// not stored each update exactly once.
pub fn simulate(url: &str, options: &SimulateOptions, out: &mut dyn Write) -> Outcome {
    let token =
        match (std::env::var(VARIABLE), &options.token_file) {
            (Ok(token), _) => token,
            (Err(_), Some(file)) => read_token(file)?,
            (Err(_), None) => return Err(format!(
                "the token of the server is missing; set --token-file or the variable {VARIABLE}"
            )
            .into()),
        };
    let from = &options.recording;
    let recording = perf_formats::open(
        from,
        &perf_formats::OpenOptions::new(),
        &perf_core::Job::default(),
    )?;
    let trace = recording.into_trace();
    let trace = trace.ok_or_else(|| format!("{}: holds no events", from.display()))?;
    let target = Target::new(url)?.token(token);
    let tape = Tape::record(trace.view(), options.steps, &target)?;
    let figures = run(&tape, &options.load, &target)?;
    write_figures(&tape, &figures, out)
}

fn write_figures(tape: &Tape, figures: &Figures, out: &mut dyn Write) -> Outcome {
    writeln!(out, "{} ranks were recorded", tape.ranks())?;
    writeln!(
        out,
        "updates {}, calls {}, anomalies {}, lost {} ns, records {}",
        figures.updates, figures.calls, figures.anomalies, figures.time, figures.records
    )?;
    let seconds = figures.seconds.max(1e-9);
    writeln!(
        out,
        "in {:.1} s: {:.0} updates a second; begun at most {:.1} ms late, {} by more than a period",
        seconds,
        figures.updates as f64 / seconds,
        figures.lag.as_secs_f64() * 1e3,
        figures.late
    )?;
    let [half, most, last] = [0.5, 0.99, 1.0].map(|share| figures.latency(share));
    writeln!(
        out,
        "an update took {half} us, 1 in 100 over {most} us, none over {last} us"
    )?;
    let each = |bytes: u64| bytes as f64 / figures.updates.max(1) as f64;
    writeln!(
        out,
        "an update sent {:.0} bytes and heard {:.0}, {} views in all",
        each(figures.sent),
        each(figures.received),
        figures.views
    )?;
    if figures.is_accounted() {
        Ok(writeln!(out, "the server has each update once")?)
    } else {
        let (calls, anomalies, time) = figures.stored;
        let (lost, missing) = (figures.time, figures.missing);
        Err(format!(
                "the server has {calls} calls, {anomalies} anomalies, {time} ns more than before, of {}, {}, {lost} ns; \
                 {missing} answers did not name what was told",
                figures.calls, figures.anomalies
            )
            .into())
    }
}
