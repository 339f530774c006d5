//! Byte encoding of a [`Server`], which continues from it after a restart.

use super::parameter_server::MOST_VIEWS;
use super::params::CheckedServerParams;
use super::programs::Programs;
use super::ranking::Ranks;
use super::{FunctionName, FunctionStats, Position, Server};
use crate::counters::Counters;
use crate::detect::Functions;
use crate::format_version::{Format, Reader, Writer};
use crate::{Model, Result};

/// First bytes of an encoded server.
const MAGIC: u32 = u32::from_le_bytes(*b"PKAS");
const VERSION: u16 = 12;
/// Earlier version without the slow calls outside of modes.
const WITHOUT_SLOW_CALLS: u16 = 11;
/// Earlier version without counters.
const WITHOUT_COUNTERS: u16 = 10;
/// Earlier version without changes of functions, in which waiting was time lost.
const WITHOUT_CHANGES: u16 = 9;
/// Earlier version without the calls of new modes.
const WITHOUT_MODE_CALLS: u16 = 8;
/// Earlier version with the number of ranks that reported each step.
const WITH_REPORTS: u16 = 7;
/// Earlier version without the time lost in new modes.
const WITHOUT_MODES: u16 = 6;
/// Earlier version, in which slow ranks had the function with the most time lost in the whole run.
const WITHOUT_WORST: u16 = 5;
/// Earlier version without run times by step.
const WITHOUT_TIMES: u16 = 4;
/// Earlier version, in which losses had no count of calls beyond experience, and clients no
/// positions.
const WITHOUT_BEYOND: u16 = 3;

impl Server {
    /// Encodes the server, to continue after a restart. Equal servers give equal bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.u32(MAGIC);
        to.u16(VERSION);
        to.u64(self.params.session);
        to.u64(self.number);
        FunctionName::write(self.names.names(), &mut to);
        to.u8(u8::from(self.model.is_some()));
        if let Some(model) = &self.model {
            model.write(&mut to);
        }
        self.functions.write(&mut to, FunctionStats::write);
        self.ranks.write(&mut to);
        self.programs.write(&mut to);
        to.u32(self.clients.len() as u32);
        for (client, (merged, _)) in &self.clients {
            to.u64(*client);
            to.u64(*merged);
        }
        to.u32(self.positions.len() as u32);
        for (client, positions) in &self.positions {
            to.u64(*client);
            Position::write(positions, &mut to);
        }
        self.counters.write(&mut to);
        self.programs.write_slow(&mut to);
        to.0
    }

    /// Decodes the bytes of [`encode`](Self::encode). The session is taken from the bytes and not
    /// from `params`, so that clients continue without interruption.
    ///
    /// # Errors
    /// Returns [`Error::Decode`](crate::Error::Decode) with the offset of the invalid bytes.
    pub fn decode(params: CheckedServerParams, bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        if from.u32("the signature of a server state")? != MAGIC {
            return Err(from.error(4, "the signature of a server state").into());
        }
        let version = from.u16("a version")?;
        if !(WITHOUT_BEYOND..=VERSION).contains(&version) {
            return Err(from.error(2, "version 3 to 12 of a server").into());
        }
        from.context = Format {
            has_beyond_experience: version >= WITHOUT_TIMES,
            has_times: version >= WITHOUT_WORST,
            has_worst_functions: version >= WITHOUT_MODES,
            has_worst_times: version > WITHOUT_CHANGES,
            has_modes: version >= WITH_REPORTS,
            has_mode_calls: version > WITHOUT_MODE_CALLS,
            has_changes: version > WITHOUT_CHANGES,
            has_counters: version > WITHOUT_COUNTERS,
            has_slow_calls: version > WITHOUT_SLOW_CALLS,
            has_reports: version <= WITH_REPORTS,
        };
        let mut server = Server::new(params);
        server.params.session = from.u64("a session")?;
        // Recent changes are not stored, so each client receives one complete view.
        server.base = from.u64("the number of a view")?;
        if server.base > MOST_VIEWS {
            return Err(from.error(8, "the number of a view, at most 2^63").into());
        }
        for name in FunctionName::read(&mut from)? {
            server.names.number(&name, usize::MAX);
        }
        if from.u8("the flag for a model")? != 0 {
            server.model = Some(Model::read(&mut from)?);
        }
        server.functions = Functions::read(&mut from, FunctionStats::LEAST, FunctionStats::read)?;
        server.ranks = Ranks::read(&mut from, server.params.history)?;
        if from.context.has_times {
            server.programs = Programs::read(&mut from)?;
        }
        for _ in 0..from.count(16, "a number of clients that fits the remaining bytes")? {
            let client = from.u64("a client")?;
            server
                .clients
                .insert(client, (from.u64("the last delta")?, 0));
        }
        if from.context.has_beyond_experience {
            for _ in 0..from.count(12, "a number of clients that fits the remaining bytes")? {
                let client = from.u64("a client")?;
                let positions = Position::read(&mut from)?;
                server.positions.insert(client, positions);
            }
        }
        server.counters = Counters::read_if_present(&mut from)?;
        server.programs.read_slow_if_present(&mut from)?;
        from.end()?;
        server.publish();
        server.number = server.base;
        Ok(server)
    }
}
