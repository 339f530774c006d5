//! Tests of ranks that fail, leave, or disagree: no other rank may wait for them forever.

use crate::exchanges::{Watched, detector};
use crate::{Outcome, Test, equal};
use perf_anomaly::server::Server;
use perf_mpi::{Background, Error, Lockstep, Pace, Ranks};
use std::time::Duration;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("a_rank_that_leaves_ends_rounds_in_step", leaving),
    ("a_number_that_two_clients_have_is_an_error_on_all", twice),
    ("detectors_that_differ_are_told_to_their_clients", mixed),
    ("ranks_without_clients_take_part", nobody),
];

/// Tests a rank that returns an error between two rounds and drops its exchange.
fn leaving(ranks: &Ranks) -> Outcome {
    // Before the client of the rank is known to all ranks, and after.
    for (leaver, last) in (0..ranks.size()).flat_map(|rank| [(rank, 0), (rank, 3)]) {
        let outcome = until(ranks, leaver, last);
        match outcome {
            Err(Error::Background(what)) if ranks.rank() == leaver => {
                equal("its own error", &what.as_str(), &"planted")?;
            }
            Err(Error::Elsewhere { rank, .. }) if ranks.rank() != leaver => {
                equal("who left", &rank, &leaver)?;
            }
            other => return Err(format!("{other:?}").into()),
        }
    }
    Ok(())
}

fn until(ranks: &Ranks, leaver: usize, last: u64) -> perf_mpi::Result<()> {
    let mut lockstep = Lockstep::new(ranks, Server::params())?;
    let client = ranks.rank() as u64;
    let mut one = Watched::new(client, lockstep.mailbox(), detector("tail")?)?;
    for step in 0..5 {
        one.step(step)?;
        if step == last && ranks.rank() == leaver {
            return Err(Error::Background("planted".into()));
        }
        lockstep.round()?;
    }
    Ok(())
}

fn twice(ranks: &Ranks) -> Outcome {
    if ranks.size() == 1 {
        return Ok(());
    }
    let mut lockstep = Lockstep::new(ranks, Server::params())?;
    let mut one = Watched::new(7, lockstep.mailbox(), detector("tail")?)?;
    one.step(0)?;
    match lockstep.round() {
        Err(Error::Elsewhere { what, .. }) => {
            equal("what", &what.contains("7 on ranks 0 and"), &true)?;
        }
        other => return Err(format!("{other:?}").into()),
    }
    equal("over", &lockstep.round().is_err(), &true)?;
    equal("and said so", &one.step(1).is_err(), &true)?;
    // The same in the background.
    let background = Background::start(Server::params(), fast())?;
    let mut one = Watched::new(7, background.mailbox(), detector("tail")?)?;
    one.step(0)?;
    equal("ended", &background.finish().is_err(), &true)
}

fn fast() -> Pace {
    Pace::default().period(Duration::from_millis(1))
}

/// Tests that the detector of the first client decides.
fn mixed(ranks: &Ranks) -> Outcome {
    let mut lockstep = Lockstep::new(ranks, Server::params())?;
    let name = if ranks.is_root() { "tail" } else { "sstd" };
    let client = ranks.rank() as u64;
    let mut one = Watched::new(client, lockstep.mailbox(), detector(name)?)?;
    one.step(0)?;
    equal("deltas", &lockstep.round()?, &1)?;
    equal("told", &one.step(1).is_err(), &!ranks.is_root())?;
    let finished = lockstep.finish()?;
    equal("refused", &finished.refused, &(ranks.size() as u64 - 1))?;
    let model = finished.server.model().map(perf_anomaly::Model::name);
    equal("the model", &model, &Some("tail"))
}

fn nobody(ranks: &Ranks) -> Outcome {
    let mut lockstep = Lockstep::new(ranks, Server::params())?;
    equal("deltas", &lockstep.round()?, &0)?;
    let mut last = if ranks.rank() + 1 == ranks.size() {
        Some(Watched::new(3, lockstep.mailbox(), detector("tail")?)?)
    } else {
        None
    };
    if let Some(last) = &mut last {
        last.step(0)?;
    }
    equal("deltas", &lockstep.round()?, &1)?;
    let finished = lockstep.finish()?;
    equal("functions", &finished.server.names().len(), &3)?;
    let finished = Background::start(Server::params(), fast())?.finish()?;
    equal("nothing", &finished.deltas, &0)
}
