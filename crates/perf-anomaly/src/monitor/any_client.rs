//! [`Shared`]: object-safe interface through which a monitor uses a [`Client`] of a parameter
//! server with any [`Exchange`].

use crate::calls::Calls;
use crate::lost_time::Lasting;
use crate::server::{Client, Exchange, Synced};
use crate::{Change, Detector, Judgement, Result};
use std::ops::Range;

/// Object-safe interface of a client with any exchange.
pub(super) trait Shared: std::fmt::Debug + Send {
    fn count(&mut self, calls: &Calls, judged: &[Judgement], lasting: &mut Lasting);
    fn add_changes(&mut self, calls: &Calls, changes: &[Change]);
    fn sync_if_due(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<Synced>;
    fn merged_rows(&mut self, calls: &Calls) -> Vec<Range<usize>>;
    fn catch_up(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<()>;
    fn learn_apart(&mut self, own: &mut dyn Detector, is_over: bool) -> Result<()>;
    fn receive(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<bool>;
    fn finish(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<Synced>;
}

impl<E: Exchange> Shared for Client<E> {
    fn count(&mut self, calls: &Calls, judged: &[Judgement], lasting: &mut Lasting) {
        Client::count_lasting(self, calls, judged, lasting);
    }

    fn add_changes(&mut self, calls: &Calls, changes: &[Change]) {
        Client::add_changes(self, calls, changes);
    }

    fn sync_if_due(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<Synced> {
        Client::sync_if_due(self, calls, own)
    }

    fn merged_rows(&mut self, calls: &Calls) -> Vec<Range<usize>> {
        Client::merged_rows(self, calls)
    }

    fn catch_up(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<()> {
        Client::catch_up(self, calls, own)
    }

    fn learn_apart(&mut self, own: &mut dyn Detector, is_over: bool) -> Result<()> {
        Client::learn_apart(self, own, is_over)
    }

    fn receive(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<bool> {
        Client::receive(self, calls, own)
    }

    fn finish(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<Synced> {
        Client::finish(self, calls, own)
    }
}
