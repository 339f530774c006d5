//! [`Watched`]: child process that runs the cases of a recording, started again after each crash;
//! [`Report`]: counts of the results by format.

use crate::Options;
use perfkit_mutate::recordings::Recording;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Time limit of a case, which detects endless loops.
const PATIENCE: Duration = Duration::from_secs(120);

/// Results of the cases of a format.
#[derive(Clone, Debug, Default)]
struct Counts {
    files: u64,
    cases: u64,
    values: u64,
    repairs: u64,
    errors: u64,
    panics: u64,
    unlocated: u64,
    memory: u64,
    died: u64,
}

/// Results of all cases.
pub(crate) struct Report {
    formats: BTreeMap<String, Counts>,
    left_out: usize,
}

impl Report {
    pub(crate) fn new(left_out: usize) -> Self {
        Report {
            formats: BTreeMap::new(),
            left_out,
        }
    }

    pub(crate) fn faults(&self) -> u64 {
        let faults = |one: &Counts| one.panics + one.unlocated + one.memory + one.died;
        self.formats.values().map(faults).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            "files",
            "cases",
            "values",
            "repairs",
            "errors",
            "panics",
            "unlocated",
            "memory",
            "died",
        ];
        write!(f, "{:<11}", "format")?;
        for name in names {
            write!(f, "{name:>10}")?;
        }
        writeln!(f)?;
        let mut sum = [0; 9];
        for (format, one) in &self.formats {
            let counts = [
                one.files,
                one.cases,
                one.values,
                one.repairs,
                one.errors,
                one.panics,
                one.unlocated,
                one.memory,
                one.died,
            ];
            write!(f, "{format:<11}")?;
            for (count, sum) in counts.into_iter().zip(&mut sum) {
                write!(f, "{count:>10}")?;
                *sum += count;
            }
            writeln!(f)?;
        }
        write!(f, "{:<11}", "all")?;
        for sum in sum {
            write!(f, "{sum:>10}")?;
        }
        writeln!(f, "\n{} larger recordings left out", self.left_out)
    }
}

/// Child process with its output.
pub(crate) struct Watched {
    child: Child,
    lines: Receiver<String>,
}

impl Watched {
    /// Runs all cases of a recording, with a new process after each crash.
    pub(crate) fn run(
        recording: &Recording,
        options: &Options,
        report: &mut Report,
    ) -> io::Result<()> {
        let counts = report.formats.entry(recording.format.clone()).or_default();
        counts.files += 1;
        let mut from = 0;
        loop {
            let mut child = Watched::start(recording, options, from)?;
            match child.follow(recording, counts)? {
                None => return Ok(()),
                Some(last) => from = last + 1,
            }
        }
    }

    fn start(recording: &Recording, options: &Options, from: usize) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let path = recording.root.join(&recording.open);
        command.arg("--child").arg(path).arg(from.to_string());
        for (option, number) in [
            ("--seed", options.seed),
            ("--random", options.random as u64),
            ("--budget", options.budget),
            ("--most", options.most),
            ("--boundaries", options.boundaries as u64),
            ("--files", options.files as u64),
        ] {
            command.arg(option).arg(number.to_string());
        }
        if let Some(made) = &options.made {
            command.arg("--made").arg(made);
        }
        // Many cases run at the same time, so that each uses one thread.
        command.env("RAYON_NUM_THREADS", "1");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (send, lines) = channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    let _ = send.send(line);
                }
            });
        }
        Ok(Watched { child, lines })
    }

    /// Counts the results that the child reports. Returns the number of the case in which it
    /// crashed.
    fn follow(&mut self, recording: &Recording, counts: &mut Counts) -> io::Result<Option<usize>> {
        let path = recording.root.join(&recording.open);
        let mut case: Option<(usize, String)> = None;
        loop {
            let line = match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(why) => {
                    self.child.kill()?;
                    let status = self.child.wait()?;
                    let Some((number, what)) = case else {
                        return if status.success() {
                            Ok(None)
                        } else {
                            Err(io::Error::other(format!(
                                "{}: the child ended before its first case: {status}",
                                path.display()
                            )))
                        };
                    };
                    let why = match why {
                        RecvTimeoutError::Timeout => "does not end".to_string(),
                        RecvTimeoutError::Disconnected => format!("dies: {status}"),
                    };
                    println!("{} case {number}: {why}\n    {what}", path.display());
                    counts.died += 1;
                    return Ok(Some(number));
                }
            };
            if let Some(begun) = line.strip_prefix("case ") {
                let (number, what) = begun.split_once(' ').unwrap_or((begun, ""));
                case = number.parse().ok().map(|number| (number, what.to_string()));
                counts.cases += 1;
                continue;
            }
            let (number, what) = case.take().unwrap_or_default();
            let (kind, text) = line.split_once(' ').unwrap_or((&line, ""));
            let count = match kind {
                "value" => &mut counts.values,
                "repair" => &mut counts.repairs,
                "error" => &mut counts.errors,
                "panic" => &mut counts.panics,
                "memory" => &mut counts.memory,
                _ => &mut counts.unlocated,
            };
            *count += 1;
            if matches!(kind, "panic" | "memory" | "unlocated") {
                println!(
                    "{} case {number}: {kind}: {text}\n    {what}",
                    path.display()
                );
            }
        }
    }
}
