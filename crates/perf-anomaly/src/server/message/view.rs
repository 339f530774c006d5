//! [`View`]: message from the server to a client with new names and the merged model of all ranks,
//! or its changes since an earlier view.

use crate::format_version::{Reader, Writer};
use crate::server::FunctionName;
use crate::{Model, Result};
use std::sync::{Arc, OnceLock};

/// First bytes of an encoded view.
const MAGIC: u32 = u32::from_le_bytes(*b"PKAV");
const VERSION: u16 = 3;

/// Merged knowledge of all ranks. Functions that did not change since the last view of the client
/// are omitted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct View {
    /// Session of the server. Function numbers are only valid within it.
    pub session: u64,
    /// Number of the last delta of the client that is in the model; 0 for none.
    pub merged: u64,
    /// Number of the view, ascending.
    pub number: u64,
    /// Number of the view that this view extends; 0 for a complete view. Functions that are not in
    /// the model are unchanged since then.
    pub since: u64,
    /// Number of the first of [`names`](Self::names): the number of names that the client knew.
    pub first: u32,
    /// Names of functions that the client did not know, in order of their numbers.
    pub names: Vec<FunctionName>,
    /// Model.
    model: Arc<Shared>,
}

/// Model that many views share, and its bytes once they are computed.
#[derive(Debug)]
pub(in crate::server) struct Shared {
    /// Model.
    model: Model,
    /// Encoded model.
    bytes: OnceLock<Box<[u8]>>,
}

impl Shared {
    pub(in crate::server) fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the memory in bytes.
    pub(in crate::server) fn memory(&self) -> usize {
        self.model.memory() + self.bytes.get().map_or(0, |bytes| bytes.len())
    }

    pub(in crate::server) fn new(model: Model) -> Arc<Self> {
        Arc::new(Shared {
            model,
            bytes: OnceLock::new(),
        })
    }
}

impl View {
    pub(in crate::server) fn new(
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

    /// Returns the merged model of all ranks with the function numbers of the server, without the
    /// functions that did not change after view [`since`](Self::since).
    pub fn model(&self) -> &Model {
        &self.model.model
    }

    /// Encodes the view: a magic number, a version, and the fields in order. The model, which is
    /// the largest field, is encoded once for all clients.
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

    /// Decodes the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// Returns [`Error::Decode`](crate::Error::Decode) with the offset of the invalid bytes. No
    /// number in the bytes can cause an allocation larger than their content justifies.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        if from.u32("the signature of a view")? != MAGIC {
            return Err(from.error(4, "the signature of a view").into());
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
