//! Finds the rank that delays the others, and the time that a fix saves.

use perfkit::prelude::*;
use perfkit::wait::clocks::{ClockEstimate, ClockModel, Repair};
use perfkit::wait::delay::DelayCosts;
use perfkit::wait::efficiency::{Efficiencies, IdealNetwork};
use perfkit::wait::findings::FindingsPlan;
use perfkit::wait::whatif::{Change, Dependency, WhatIf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (recorded, job) = (open_trace("data/recordings/jacobi-4")?, Job::default());

    // Times of two ranks are compared, so their clocks must agree. Those of this recording do not.
    let clocks = ClockEstimate::of(recorded.view(), ClockModel::Auto, &job)?;
    let messages = clocks.violations.messages;
    let (wrong, all) = (messages.violated, messages.checked);
    println!("{wrong} of {all} messages arrive before they are sent");
    let corrected = clocks.correct(&recorded, Repair::Logical, &job)?;
    let left = corrected.violations.messages.violated;
    println!("{left} of them after the correction of the clocks\n");
    let trace = corrected.trace;

    // Time in MPI that is spent waiting for another rank.
    let activities = Activities::of(trace.view(), &job)?;
    let waits = WaitStates::of_activities(&activities, &job)?;
    println!("{}", waits.table(&activities).to_text());

    // The causes, by the run time that a fix would save.
    let delays = DelayCosts::of(trace.view(), &activities, &waits, &job)?;
    let plan = FindingsPlan::default();
    let found = plan.find(trace.view(), &activities, &waits, &delays, &job)?;
    for finding in &found.findings {
        println!("{}", finding.text(trace.definitions(), &activities));
    }

    // The run time if all ranks had equal work in `microphysics`.
    let none: &[Dependency] = &[];
    let replay = WhatIf::of(trace.view(), &activities, none, &job)?;
    let ranks = Change::ranks(&activities);
    let change = Change::parse("region microphysics = mean", &ranks)?;
    let answer = replay.ask(&[change], &job)?;
    let (now, then) = (answer.recorded, answer.runtime);
    println!("\nbalanced, the run takes {then} instead of {now}\n");

    let network = IdealNetwork::default();
    let found = Efficiencies::of_activities(trace.view(), &activities, &network, &job)?;
    print!("{}", found.table().to_text());
    Ok(())
}
