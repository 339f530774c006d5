//! `Serialize` implementations for types whose derived form would lose names or produce invalid JSON keys.

use crate::calls::CallFlags;
use crate::lost_time::NewMode;
use crate::provenance::Reduction;
use crate::server::{RankSummary, Ranking, Ranks};
use crate::{Change, Drift, FunctionId, Functions, Loss, Losses, Report};
use serde::Serializer;
use serde::ser::{Serialize, SerializeStruct};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Serializes a shared text.
pub(crate) fn text<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

/// Serializes the number of a call, `null` for none.
pub(crate) fn caller<S: Serializer>(caller: &u64, to: S) -> Result<S::Ok, S::Error> {
    let is_known = *caller != crate::calls::Call::NOBODY;
    is_known.then_some(*caller).serialize(to)
}

/// Serializes losses of ranks as a list, because keys of a JSON map are strings.
pub(crate) fn by_rank<S: Serializer>(
    ranks: &BTreeMap<(u32, u32), Loss>,
    to: S,
) -> Result<S::Ok, S::Error> {
    #[derive(serde::Serialize)]
    struct Rank<'a> {
        /// Program.
        program: u32,
        /// Rank.
        rank: u32,
        /// Loss.
        #[serde(flatten)]
        loss: &'a Loss,
    }
    to.collect_seq(ranks.iter().map(|((program, rank), loss)| Rank {
        program: *program,
        rank: *rank,
        loss,
    }))
}

/// Serializes the table as a list of pairs in ascending order of function number.
impl<T: Serialize> Serialize for Functions<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let pairs: Vec<(FunctionId, &T)> = self.iter().collect();
        to.collect_seq(pairs)
    }
}

/// Serializes one flag for each kind of end of a call.
impl Serialize for CallFlags {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut flags = to.serialize_struct("CallFlags", 6)?;
        flags.serialize_field("is_open", &self.is_open())?;
        flags.serialize_field("is_first", &self.is_first())?;
        flags.serialize_field("closed_by_outer", &self.closed_by_outer())?;
        flags.serialize_field("closed_by_other_name", &self.closed_by_other_name())?;
        flags.serialize_field("closed_at_end", &self.closed_at_end())?;
        flags.serialize_field("is_correlated", &self.is_correlated())?;
        flags.end()
    }
}

/// Serializes the summaries of the ranks in the order of program and rank.
impl Serialize for Ranks {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut ranks: Vec<RankSummary> = self.ranked(Ranking::Total);
        ranks.sort_by_key(|rank| (rank.program, rank.rank));
        to.collect_seq(ranks)
    }
}

/// Serializes the changes and the number of dropped changes.
impl Serialize for Drift {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut drift = to.serialize_struct("Drift", 2)?;
        drift.serialize_field("changes", self.changes())?;
        drift.serialize_field("left_out", &self.left_out())?;
        drift.end()
    }
}

/// Serializes the name of the detector and all results, but neither the calls nor the store.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let changes: Option<&[Change]> = self.drift.as_ref().map(Drift::changes);
        let reduction: Option<&Reduction> = self.store.as_ref().map(|(_, reduction)| reduction);
        let losses: &Losses = &self.losses;
        let mut report = to.serialize_struct("Report", 12)?;
        report.serialize_field("detector", self.detector.name())?;
        report.serialize_field("losses", losses)?;
        let (modes, peers) = (self.lasting.modes(), self.lasting.peers());
        let modes: Vec<&NewMode> = modes.all().collect();
        report.serialize_field("lost_time", &self.lost_time())?;
        report.serialize_field("new_modes", &modes)?;
        report.serialize_field("slow_ranks", &peers.slow_ranks())?;
        report.serialize_field("slow_phases", &peers.slow_phases())?;
        report.serialize_field("ranks", &self.ranks)?;
        report.serialize_field("changes", &changes)?;
        report.serialize_field("counters", &self.counters())?;
        report.serialize_field("health", &self.calls.health())?;
        report.serialize_field("left_out", &self.left_out)?;
        report.serialize_field("reduction", &reduction)?;
        report.end()
    }
}
