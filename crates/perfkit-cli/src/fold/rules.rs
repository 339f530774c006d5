//! [`Rules`]: options of `fold` and `serve` for the parameters of a fold, such as ties, absent
//! streams and states at transitions.

use crate::options::words;
use clap::Args;
use perfkit::fold::{AbsentRule, Boundary, FoldParams, Folder, Nesting, Ties};

/// Rules of a fold.
#[derive(Args, Clone, Debug)]
pub struct Rules {
    /// Fold the folded members of a group instead of its streams: the majority of majorities
    #[arg(long, help_heading = HEADING)]
    nested: bool,
    /// State that is shown if several are equally frequent
    #[arg(long, value_name = "RULE", default_value = "stream", help_heading = HEADING, value_parser = words(&[
        ("stream", Ties::StreamOrder, "that of the first stream"),
        ("state", Ties::LowestStateId, "that of the lowest number"),
        ("previous", Ties::KeepPrevious, "that of the previous column"),
    ]))]
    ties: Ties,
    /// Streams that are not recorded at a time
    #[arg(long, value_name = "RULE", default_value = "idle", help_heading = HEADING, value_parser = words(&[
        ("idle", AbsentRule::AsIdle, "count as idle"),
        ("skip", AbsentRule::LeaveOut, "do not count"),
    ]))]
    absent: AbsentRule,
    /// State at the time of a transition
    #[arg(long, value_name = "RULE", default_value = "new", help_heading = HEADING, value_parser = words(&[
        ("new", Boundary::AtOrBefore, "the state after it"),
        ("old", Boundary::Strict, "the state before it"),
    ]))]
    boundary: Boundary,
    /// Skip idle streams with the operation min
    #[arg(long, help_heading = HEADING)]
    ignore_idle: bool,
}

const HEADING: &str = "Rules of the fold";

impl Rules {
    /// Returns the parameters of a fold with these rules.
    pub(crate) fn params(&self) -> FoldParams {
        let nesting = if self.nested {
            Nesting::Nested
        } else {
            Nesting::Flat
        };
        Folder::params()
            .instants(true)
            .nesting(nesting)
            .ties(self.ties)
            .absent(self.absent)
            .boundary(self.boundary)
            .ignore_idle(self.ignore_idle)
    }

    /// Returns the parameters of a fold, or `None` if all rules are the default.
    pub(crate) fn changed(&self) -> Option<FoldParams> {
        let is_changed = self.given().any(|(_, is_given)| is_given);
        is_changed.then(|| self.params())
    }

    /// Returns each option, and `true` if it is not the default.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let given = [
            ("--nested", self.nested),
            ("--ties", self.ties != Ties::default()),
            ("--absent", self.absent != AbsentRule::default()),
            ("--boundary", self.boundary != Boundary::default()),
            ("--ignore-idle", self.ignore_idle),
        ];
        given.into_iter()
    }
}
