//! Slow ranks, slow phases and new modes as tables.

use super::{Accepted, Beginning, NewMode, SlowPhase, SlowRank};
use crate::calls::Calls;
use perf_core::Table;

impl SlowRank {
    /// Returns slow ranks as a table with the columns `program`, `rank`, `peer` (the other rank of two), `function`, `first step`, `last
    /// step`, `always` ([`SlowRank::always`]), `usual` ([`SlowRank::usual`]), `factor`, `function factor`, `score`,
    /// `time lost` and `lost in function`. `calls` provides the names.
    pub fn table(slow: &[SlowRank], calls: &Calls) -> Table {
        let all = || slow.iter();
        let name = |it: &SlowRank| calls.function_name(it.function);
        Table::new("slow ranks", "Ranks that are slower than their peers.")
            .unsigned("program", "", all().map(|it| it.program))
            .unsigned("rank", "", all().map(|it| it.rank))
            .unsigned("peer", "", all().map(|it| it.peer))
            .text("function", all().map(name))
            .unsigned("first step", "", all().map(|it| it.first))
            .unsigned("last step", "", all().map(|it| it.last))
            .flags("always", all().map(|it| it.always))
            .floats("usual", "", all().map(|it| it.usual))
            .floats("factor", "", all().map(|it| it.factor))
            .floats("function factor", "", all().map(|it| it.function_factor))
            .floats("score", "", all().map(|it| it.score))
            .times("time lost", all().map(|it| it.lost))
            .times("lost in function", all().map(|it| it.function_lost))
    }
}

impl SlowPhase {
    /// Returns slow phases as a table with the columns `program`, `function`, `first step`, `last step`,
    /// `slow steps` (their number), `factor`, `score` and `time lost`. `calls` provides the names.
    pub fn table(slow: &[SlowPhase], calls: &Calls) -> Table {
        let all = || slow.iter();
        let programs = all().map(|it| calls.function_program(it.function));
        let name = |it: &SlowPhase| calls.function_name(it.function);
        let steps = |it: &SlowPhase| {
            it.steps
                .unwrap_or(it.last.saturating_sub(it.first).saturating_add(1))
        };
        Table::new("slow phases", "Functions that are slower in some steps.")
            .unsigned("program", "", programs)
            .text("function", all().map(name))
            .unsigned("first step", "", all().map(|it| it.first))
            .unsigned("last step", "", all().map(|it| it.last))
            .unsigned("slow steps", "", all().map(steps))
            .floats("factor", "", all().map(|it| it.factor))
            .floats("score", "", all().map(|it| it.score))
            .times("time lost", all().map(|it| it.lost))
    }
}

impl NewMode {
    /// Returns new modes as a table with the columns `program`, `function`, `first step`, `last step`,
    /// `beginning` (`start`, `appeared` or `unknown`), `usual run time`, `factor`, `calls`, `ranks`, `time lost`, `in alarms` (the part lost by calls
    /// that are alarms), `accepted` (the reason for which the mode is normal) and `waits` (whether the function waits for
    /// others, so that the time was lost elsewhere). `calls` provides the names.
    pub fn table(modes: &[&NewMode], calls: &Calls) -> Table {
        let all = || modes.iter().copied();
        let programs = all().map(|it| calls.function_program(it.function));
        let name = |it: &NewMode| calls.function_name(it.function);
        let accepted = |it: &NewMode| it.accepted.as_ref().map(Accepted::reason);
        let beginning = |it: &NewMode| match it.beginning() {
            Beginning::Start => "start",
            Beginning::Appeared => "appeared",
            Beginning::Unknown => "unknown",
        };
        Table::new("new modes", "Slow run times that repeat.")
            .unsigned("program", "", programs)
            .text("function", all().map(name))
            .unsigned("first step", "", all().map(|it| it.first))
            .unsigned("last step", "", all().map(|it| it.last))
            .text("beginning", all().map(beginning))
            .times("usual run time", all().map(|it| it.usual))
            .floats("factor", "", all().map(NewMode::factor))
            .unsigned("calls", "", all().map(|it| it.calls))
            .unsigned("ranks", "", all().map(|it| it.ranks as u64))
            .times("time lost", all().map(|it| it.lost))
            .times("in alarms", all().map(|it| it.alarmed))
            .text("accepted", all().map(accepted))
            .flags("waits", all().map(|it| calls.waits(it.function)))
    }
}
