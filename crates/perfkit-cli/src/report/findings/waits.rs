//! [`Waits`]: analysis of the waiting in a recording, with its findings for the report: ranks, call
//! paths and steps that delay others, and the saving of a fix.

use super::{Finding, Kind};
use crate::clocks::{self, Clocks};
use crate::failure::Failure;
use crate::recording::Recording;
use crate::report::Part;
use crate::report::sources::Source;
use crate::wait::{self, Analysed, Analysis, Command, LATE_LAUNCHES, Statement};
use perfkit::view::Section;

/// Largest number of findings of a recording.
const MAX_FINDINGS: usize = 5;
/// Smallest factor between slow and other ranks at which a statement is classified as load imbalance.
const MIN_FACTOR: f64 = 1.05;
/// Denominator of the shares.
const RUN_TIME: &str = "run time";

/// Results of the analysis of waiting.
#[derive(Debug, Default)]
pub(in crate::report) struct Waits {
    /// Findings with their sections.
    pub(in crate::report) part: Part,
    /// Description of the clock correction, if one was necessary.
    pub(in crate::report) correction: Option<String>,
}

/// Analyses the waiting of a recording after correcting clocks that disagree.
pub(in crate::report) fn waits(
    source: &Source,
    recording: &Recording,
    clocks: Clocks,
) -> Result<Waits, Failure> {
    let trace = &recording.trace;
    let is_wrong = clocks::are_many(&clocks::violations(trace)?);
    let correction = if is_wrong {
        clocks::correct(trace)?
    } else {
        None
    };
    let view = correction.as_ref().map_or(trace, |it| &it.trace).view();
    let files = source
        .paths
        .iter()
        .map(|path| path.to_string_lossy().into_owned());
    let is_corrected = is_wrong || clocks == Clocks::Correct || source.is_corrected();
    let command = Command::new(files.collect(), is_corrected).within(source.window);
    let mut waits = Waits::default();
    match Analysis::of(view, MAX_FINDINGS, is_corrected)? {
        Analysed::Nothing { reason, .. } => waits.part.skip("waiting", &reason),
        Analysed::Training(training) => {
            let statements = training.statements(&command);
            let findings = statements.iter().map(|it| finding(source, it));
            waits.part.findings.extend(findings);
        }
        Analysed::Found(analysis) => {
            // The part about accelerators reports their idle time.
            let mut statements = analysis.statements(&command);
            statements.retain(|it| it.kind != LATE_LAUNCHES);
            if statements.is_empty() {
                waits.part.pass(format!(
                    "no location, call path or transfer whose repair would save 1 % of the run time; ranks wait for {:.1} % of it",
                    100.0 * analysis.waiting_share()
                ));
            }
            let findings = statements.iter().map(|it| finding(source, it));
            waits.part.findings.extend(findings);
            let words = correction
                .as_ref()
                .map(|it| format!("Clocks: corrected {}.", it.words));
            waits.part.sections =
                wait::sections(view, &analysis, &source.name, wait::HALF_COLUMNS)?;
            let words = words.iter().map(String::as_str).collect::<Vec<_>>();
            if !words.is_empty() {
                waits.part.sections.push(Section::text(
                    "wait-clocks",
                    "Clock correction of the wait states",
                    &words,
                ));
            }
            waits.correction = correction.map(|it| it.words);
        }
    }
    Ok(waits)
}

/// Returns a statement as a finding of the report.
fn finding(source: &Source, statement: &Statement) -> Finding {
    let kind = match statement.kind {
        "load imbalance" if statement.factor.is_none_or(|it| it >= MIN_FACTOR) => {
            Kind::LoadImbalance
        }
        "serial section" => Kind::SerialSection,
        "slow step" => Kind::SlowStep,
        "transfers" => Kind::Transfers,
        "training job" => Kind::TrainingJob,
        _ => Kind::Delay,
    };
    let sentence = match statement.evidence.as_str() {
        "" => format!("{}.", statement.sentence),
        evidence => format!("{}. Evidence: {evidence}.", statement.sentence),
    };
    let figure = ("possible saving", statement.saved.0 as f64, "ns");
    let share = Some(statement.share.clamp(0.0, 1.0));
    let finding = Finding::new(kind, &source.name, share, RUN_TIME, figure, sentence);
    finding.next(statement.command.clone()).at(|place| {
        let rank = statement.location.as_deref();
        let rank = rank.and_then(|label| label.strip_prefix("rank ")?.parse().ok());
        place.rank = rank;
        place.location = statement.location.clone();
        place.call_path = statement.call_path.clone();
        place.from_ns = statement.window.map(|window| window.0.0);
        place.to_ns = statement.window.map(|window| window.1.0);
    })
}

/// Returns `true` if one of the findings `waits` about waiting covers `finding`, which is from another
/// analysis, and adds its cause and its cost.
pub(in crate::report) fn repeats(finding: &Finding, waits: &[Finding]) -> bool {
    let has = |kinds: &[Kind]| waits.iter().any(|it| kinds.contains(&it.kind));
    let causes = [Kind::Delay, Kind::LoadImbalance, Kind::SerialSection];
    match finding.kind {
        Kind::LoadImbalance => has(&causes),
        Kind::UnevenCallPath => waits
            .iter()
            .any(|it| causes.contains(&it.kind) && it.place.call_path == finding.place.call_path),
        _ => false,
    }
}
