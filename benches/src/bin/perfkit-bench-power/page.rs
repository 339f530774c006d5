//! [`text`]: page `docs/power.md` with the measured recall and false alarms of each detector as
//! tables.

use crate::Row;
use crate::detectors::{DETECTORS, Entry};
use perf_testdata::run_times::Planted;
use std::fmt::Write as _;

/// Name of a shape, and for each number of calls the false alarms among all calls and among those that
/// follow.
pub(crate) type Heavy<'a> = (&'a str, [[f64; 2]; 3]);

/// Returns the page; `programs` is the section about programs of many functions.
pub(crate) fn text(rows: &[Row], heavy: &[Heavy<'_>], programs: &str, runs: u64) -> String {
    let mut page = format!(
        "# Power of the detectors

Recall of planted calls and false alarms of the default detector, of the three detectors of Chimbuko, of ECOD
(Li et al., 2022) and of an isolation forest. `cargo run --release -p perfkit-benches --features forest --bin
perfkit-bench-power -- {runs} docs` measures them and writes this page and its pictures. Only the columns of the
isolation forest change a little from run to run, because its library has no seed. [methods.md](methods.md#anomalies)
describes the detector, and has a table of functions that change.

A detector learns 200, 2,000 or 20,000 calls of a function in each of {runs} runs. It then judges 2,000 further
normal calls and calls that are planted. Chimbuko's detectors have their default parameters; SSTD, which labels calls
beyond 6 deviations, is also measured with 5 and 3. ECOD labels a call if at most one call in a thousand is as far out.
The isolation forest has 100 trees of 256 calls and labels scores above 0.5, as scikit-learn does.

## At the threshold of each detector

Share of the planted calls that are found, and false alarms in a million normal calls, of which the default detector
allows 10. Planted calls are 10, 7 and 6 deviations above the mean after 200, 2,000 and 20,000 calls, or have a
probability of 1e-7, or take the stated time. The constant time is 1,234 us, where buckets are 16 us wide.

"
    );
    table(&mut page, rows);
    page += "
## At equal numbers of false alarms

Share of the planted calls that each detector finds at its threshold, then the share that the default detector finds if
the threshold of its score is set to the same number of false alarms, or at its own threshold if that has no more false
alarms.

";
    let lower = equal(&mut page, rows);
    // Writing to a string does not fail.
    let _ = write!(
        page,
        "
The default detector finds fewer planted calls in {lower} of the {} cells. After few calls of a skewed or heavy tail, a
fixed number of deviations happens to separate calls of this probability, whereas the default detector does not exclude
a heavier tail.
",
        rows.len() * (DETECTORS.len() - 1)
    );
    page += programs;
    stationary(&mut page, heavy);
    page += "
## Recall against false alarms

![Recall against false alarms](pictures/power-alarms.svg)

Planted calls are smaller than in the tables: 5 deviations, a probability of 1e-5, or half of the stated time. The
number of false alarms follows from the threshold of the score. A panel has one shape only, so that a number of
deviations (SSTD) that suits it can be chosen. This number differs between shapes: at 6 deviations SSTD has no false
alarms in normal times and 1,900 to 6,900 in a million in heavy tails, while the default detector has about its stated
rate in all shapes of these tables.

## Recall by size

![Recall by size of the planted call](pictures/power-sizes.svg)

The threshold of the score of each detector is set to 10 false alarms in a million calls. Sizes are deviations, negative
decimal logarithms of probabilities, or microseconds.
";
    page
}

/// Writes the section about functions on which the stated rate does not hold.
fn stationary(page: &mut String, heavy: &[Heavy<'_>]) {
    *page += "
## Functions on which the stated rate does not hold

False alarms of the default detector in a million calls of functions that do not change and whose calls are
independent: among all calls of a function from the first one on, then among a tenth as many calls that follow.

| run times | 200 calls | 2,000 calls | 20,000 calls |
|---|---|---|---|
";
    for (name, rates) in heavy {
        let _ = write!(page, "| {name} |");
        for [all, next] in rates {
            let _ = write!(page, " {all:.0}, {next:.0} |");
        }
        *page += "\n";
    }
    *page += "
One alarm of a function is 5,000, 500 and 50 in a million of its calls. There are two reasons for more alarms than stated:

* Few calls do not show that a tail is heavy (Student's t, two deviations). With more weight of heavy tails, the
  detector finds fewer than 99 % of the calls of 10 deviations after 200 lognormal calls.
* Slow calls of a kind that a function did not have before cannot be told from faults. They are alarms until the function
  has 16 of them, and they are 0.5 % of its calls, or 0.05 % if they take about the same time. Rarer ones remain
  alarms, such as interrupts in one of 1,000 calls; faults are as rare.

`perfkit detect` lists the functions with at least four slow calls that are ten times as many as the stated rate
explains, because it cannot tell interrupts from faults. If such alarms are of no interest, `--ignore GLOB` excludes a function. With a lower rate, such as `--false-alarms 0.1`
or `--threshold GLOB=0.1` for some functions, heavy tails cause a fifth of the alarms, and rare interrupts nine tenths.
Library users may set `TailParams::mode_share` to 0.0005: among the first 20,000 calls, interrupts in one of 100 calls
then cause fewer than half of the alarms.
";
}

/// Writes the head of a table with columns for these detectors.
fn head(page: &mut String, names: &[Entry]) {
    *page += "| run times | planted | calls |";
    for (name, _) in names {
        let _ = write!(page, " {name} |");
    }
    *page += "\n|---|---|---|";
    *page += &"---|".repeat(names.len());
    *page += "\n";
}

fn begin(page: &mut String, row: &Row) {
    let size = row.shape.usual(row.calls);
    let planted = match row.shape.planted {
        Planted::Deviations { .. } => format!("{size} deviations"),
        Planted::Probability(_) => format!("1e-{size}"),
        Planted::Micros { .. } => format!("{size} us"),
        Planted::Nothing => String::new(),
    };
    let _ = write!(page, "| {} | {planted} | {} |", row.shape.name, row.calls);
}

fn table(page: &mut String, rows: &[Row]) {
    head(page, &DETECTORS);
    for row in rows {
        begin(page, row);
        for one in &row.each {
            let (recall, alarms) = (one.recall(row.usual()), one.false_alarms());
            let _ = write!(page, " {recall:.2} ({alarms:.0}) |");
        }
        *page += "\n";
    }
}

/// Writes the table of equal numbers of false alarms, and returns the number of cells where the
/// default detector finds fewer calls.
fn equal(page: &mut String, rows: &[Row]) -> usize {
    head(page, &DETECTORS[1..]);
    let mut lower = 0;
    for row in rows {
        begin(page, row);
        let [own, peers @ ..] = row.each.as_slice() else {
            continue;
        };
        for peer in peers {
            let theirs = peer.recall(row.usual());
            // With fewer false alarms than those of the other detector, its labels count as well.
            let labels = if own.alarms <= peer.alarms {
                own.recall(row.usual())
            } else {
                0.0
            };
            let ours = own.recall_at(row.usual(), peer.alarms).max(labels);
            let _ = write!(page, " {theirs:.2}, {ours:.2} |");
            lower += usize::from(ours < theirs);
        }
        *page += "\n";
    }
    lower
}
