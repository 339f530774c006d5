//! [`View`]: what the server tells a rank.

use super::FunctionName;
use crate::encode::{Reader, Writer};
use crate::{Model, Result};
use std::sync::{Arc, OnceLock};

/// First bytes of an encoded view.
const MAGIC: u32 = u32::from_le_bytes(*b"PKAV");
const VERSION: u16 = 3;

/// What all ranks know, as far as the server had heard of it, and what is new in it for the client:
/// functions that did not change since the last view the client has are left out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct View {
    /// The session of the server. Numbers of functions mean nothing in another one.
    pub session: u64,
    /// The last delta of the client that is in the model; 0 for none.
    pub merged: u64,
    /// The number of the view, which grows.
    pub number: u64,
    /// The view that this one completes: what is not in its model is as it was there. 0 if all is there.
    pub since: u64,
    /// The number of the first of [`names`](Self::names): as many as the client knew.
    pub first: u32,
    /// Names of functions from there on.
    pub names: Vec<FunctionName>,
    model: Arc<Shared>,
}

/// A model that many views share, and its bytes once somebody asked for them.
#[derive(Debug)]
pub(super) struct Shared {
    model: Model,
    bytes: OnceLock<Box<[u8]>>,
}

impl Shared {
    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// Bytes in use.
    pub(super) fn memory(&self) -> usize {
        self.model.memory() + self.bytes.get().map_or(0, |bytes| bytes.len())
    }

    pub(super) fn new(model: Model) -> Arc<Self> {
        Arc::new(Shared {
            model,
            bytes: OnceLock::new(),
        })
    }
}

impl View {
    pub(super) fn new(
        session: u64,
        merged: u64,
        (number, since): (u64, u64),
        (first, names): (u32, Vec<FunctionName>),
        model: Arc<Shared>,
    ) -> Self {
        View {
            session,
            merged,
            number,
            since,
            first,
            names,
            model,
        }
    }

    /// What all ranks know, by the server's numbers of functions; of those that did not change since
    /// [`since`](Self::since), nothing.
    pub fn model(&self) -> &Model {
        &self.model.model
    }

    /// As bytes: a magic number, a version, and the fields in order. The model, which is most of it,
    /// is turned into bytes once for all clients.
    pub fn encode(&self) -> Vec<u8> {
        let model = self
            .model
            .bytes
            .get_or_init(|| self.model.model.encode().into());
        let mut to = Writer(Vec::with_capacity(model.len() + 64 + 32 * self.names.len()));
        to.u32(MAGIC);
        to.u16(VERSION);
        to.u64(self.session);
        to.u64(self.merged);
        to.u64(self.number);
        to.u64(self.since);
        to.u32(self.first);
        FunctionName::write(&self.names, &mut to);
        to.bytes(model);
        to.0
    }

    /// From the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// [`Error::Decode`](crate::Error::Decode) with the place of what is wrong. No number in the bytes
    /// makes room for more than the bytes can hold.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        if from.u32("a view")? != MAGIC {
            return Err(from.error(4, "a view").into());
        }
        if from.u16("a version")? != VERSION {
            return Err(from.error(2, "version 3 of a view").into());
        }
        let session = from.u64("a session")?;
        let merged = from.u64("the last delta")?;
        let number = from.u64("the number of a view")?;
        let since = from.u64("the number of a view")?;
        let first = from.u32("the first new name")?;
        let names = FunctionName::read(&mut from)?;
        let model = Model::read(&mut from)?;
        from.end()?;
        Ok(View::new(
            session,
            merged,
            (number, since),
            (first, names),
            Shared::new(model),
        ))
    }
}

impl PartialEq for View {
    fn eq(&self, other: &Self) -> bool {
        let fields = |one: &View| (one.session, one.merged, one.number, one.since, one.first);
        fields(self) == fields(other) && self.names == other.names && self.model() == other.model()
    }
}
