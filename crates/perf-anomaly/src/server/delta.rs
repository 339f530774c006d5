//! [`Delta`]: what a rank tells the server.

use super::{FunctionName, FunctionStats, StepStats};
use crate::detect::Functions;
use crate::encode::{Reader, Writer};
use crate::{Model, Result};

/// First bytes of an encoded delta.
const MAGIC: u32 = u32::from_le_bytes(*b"PKAD");
const VERSION: u16 = 4;
/// The version before, in which losses had no count of calls beyond experience.
const WITHOUT_BEYOND: u16 = 3;

/// What a client learned and saw since the delta before.
///
/// Functions have the numbers of the server as far as the client knows them, that is below
/// [`known`](Self::known); from there on they are those of [`names`](Self::names), in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Delta {
    /// The session of the server that gave out the numbers; 0 before the first answer.
    pub session: u64,
    /// Who sends: no two clients of a server have one number.
    pub client: u64,
    /// Counts the deltas of a client from 1. One that comes again is not taken again.
    pub sequence: u64,
    /// The number of the last view the client has; 0 before the first one.
    pub view: u64,
    /// How many names of the server the client knows.
    pub known: u32,
    /// Functions the server may not know.
    pub names: Vec<FunctionName>,
    /// What was learned.
    pub model: Model,
    /// What the calls of each function were.
    pub functions: Functions<FunctionStats>,
    /// What the steps were.
    pub steps: Vec<StepStats>,
}

impl Delta {
    /// As bytes: a magic number, a version, and the fields in order. The same delta gives the same
    /// bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.u32(MAGIC);
        to.u16(VERSION);
        for number in [self.session, self.client, self.sequence, self.view] {
            to.u64(number);
        }
        to.u32(self.known);
        FunctionName::write(&self.names, &mut to);
        self.model.write(&mut to);
        self.functions.write(&mut to, FunctionStats::write);
        StepStats::write(&self.steps, &mut to);
        to.0
    }

    /// From the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// [`Error::Decode`](crate::Error::Decode) with the place of what is wrong. No number in the bytes
    /// makes room for more than the bytes can hold.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        if from.u32("a delta")? != MAGIC {
            return Err(from.error(4, "a delta").into());
        }
        from.context.has_beyond_experience = match from.u16("a version")? {
            VERSION => true,
            WITHOUT_BEYOND => false,
            _ => return Err(from.error(2, "version 3 or 4 of a delta").into()),
        };
        let [session, client, sequence, view] = [0; 4].map(|_| from.u64("a number"));
        let known = from.u32("how many names are known")?;
        let names = FunctionName::read(&mut from)?;
        let model = Model::read(&mut from)?;
        let functions = Functions::read(&mut from, FunctionStats::LEAST, FunctionStats::read)?;
        let steps = StepStats::read(&mut from)?;
        from.end()?;
        Ok(Delta {
            session: session?,
            client: client?,
            sequence: sequence?,
            view: view?,
            known,
            names,
            model,
            functions,
            steps,
        })
    }
}
