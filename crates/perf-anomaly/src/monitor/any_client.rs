//! [`Shared`]: object-safe interface through which a monitor uses a [`Client`] of a parameter
//! server with any [`Exchange`].

use crate::calls::Calls;
use crate::server::{Client, Exchange, Synced};
use crate::{Detector, Judgement, Result};
use std::ops::Range;

/// Object-safe interface of a client with any exchange.
pub(super) trait Shared: std::fmt::Debug + Send {
    fn step(
        &mut self,
        calls: &Calls,
        judged: &[Judgement],
        own: &mut dyn Detector,
    ) -> Result<Synced>;
    fn count(&mut self, calls: &Calls, judged: &[Judgement]);
    fn merged_rows(&mut self, calls: &Calls) -> Vec<Range<usize>>;
    fn catch_up(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<()>;
    fn learn_apart(&mut self, own: &mut dyn Detector, is_over: bool) -> Result<()>;
    fn receive(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<bool>;
    fn finish(&mut self, calls: &Calls, own: &mut dyn Detector) -> Result<Synced>;
}

impl<E: Exchange> Shared for Client<E> {
    fn step(
        &mut self,
        calls: &Calls,
        judged: &[Judgement],
        own: &mut dyn Detector,
    ) -> Result<Synced> {
        Client::step(self, calls, judged, own)
    }

    fn count(&mut self, calls: &Calls, judged: &[Judgement]) {
        Client::count(self, calls, judged);
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
