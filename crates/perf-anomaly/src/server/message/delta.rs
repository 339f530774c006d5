//! [`Delta`]: message from a client to the server with new knowledge and statistics.

use crate::counters::Counters;
use crate::detect::Functions;
use crate::format_version::{Format, Reader, Writer};
use crate::lost_time::{FunctionSteps, ModeTimes, StepTimes};
use crate::server::{FunctionName, FunctionStats, StepStats};
use crate::{Change, Model, Result};

/// First bytes of an encoded delta.
const MAGIC: u32 = u32::from_le_bytes(*b"PKAD");
const VERSION: u16 = 10;
/// Earlier version without the slow calls outside of modes.
const WITHOUT_SLOW_CALLS: u16 = 9;
/// Earlier version without counters.
const WITHOUT_COUNTERS: u16 = 8;
/// Earlier version without changes of functions, in which waiting was time lost.
const WITHOUT_CHANGES: u16 = 7;
/// Earlier version without the calls of new modes.
const WITHOUT_MODE_CALLS: u16 = 6;
/// Earlier version without the time lost in new modes, and by function and step.
const WITHOUT_MODES: u16 = 5;
/// Earlier version without run times by step.
const WITHOUT_TIMES: u16 = 4;
/// Earlier version, in which losses had no count of calls beyond experience.
const WITHOUT_BEYOND: u16 = 3;

/// Knowledge and statistics of a client since its previous delta.
///
/// Function numbers below [`known`](Self::known) are those of the server. The functions in
/// [`names`](Self::names) have the numbers from `known` on, in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Delta {
    /// Session of the server that assigned the numbers; 0 before the first answer.
    pub session: u64,
    /// Number of the client, unique for each server.
    pub client: u64,
    /// Number of the delta among those of this client, from 1. A repeated delta is not merged
    /// again.
    pub sequence: u64,
    /// Number of the last view that the client combined; 0 to request a complete view.
    pub view: u64,
    /// Number of names of the server that the client knows.
    pub known: u32,
    /// Functions that the server may not know.
    pub names: Vec<FunctionName>,
    /// New knowledge of the detector.
    pub model: Model,
    /// Statistics of the calls of each function.
    pub functions: Functions<FunctionStats>,
    /// Statistics of the steps.
    pub steps: Vec<StepStats>,
    /// Run times of the steps, for the comparison of ranks.
    pub times: StepTimes,
    /// Changes of the time that new modes lost.
    pub modes: ModeTimes,
    /// Time lost in abnormal calls by function and step.
    pub losses: FunctionSteps,
    /// Changes of functions.
    pub changes: Vec<Change>,
    /// Statistics of counters, whose numbers are those of names.
    pub counters: Counters,
}

impl Delta {
    /// Encodes the delta: a magic number, a version, and the fields in order. Equal deltas give
    /// equal bytes.
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
        self.times.write(&mut to);
        self.modes.write(&mut to);
        self.losses.write(&mut to);
        to.u32(self.changes.len() as u32);
        self.changes.iter().for_each(|change| change.write(&mut to));
        self.counters.write(&mut to);
        self.modes.write_slow(&mut to);
        to.0
    }

    /// Decodes the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// Returns [`Error::Decode`](crate::Error::Decode) with the offset of the invalid bytes. No
    /// number in the bytes can cause an allocation larger than their content justifies.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        if from.u32("the signature of a delta")? != MAGIC {
            return Err(from.error(4, "the signature of a delta").into());
        }
        let version = from.u16("a version")?;
        if !(WITHOUT_BEYOND..=VERSION).contains(&version) {
            return Err(from.error(2, "version 3 to 10 of a delta").into());
        }
        from.context = Format {
            has_beyond_experience: version >= WITHOUT_TIMES,
            has_times: version >= WITHOUT_MODES,
            has_modes: version >= WITHOUT_MODE_CALLS,
            has_mode_calls: version >= WITHOUT_CHANGES,
            has_changes: version > WITHOUT_CHANGES,
            has_counters: version > WITHOUT_COUNTERS,
            has_slow_calls: version > WITHOUT_SLOW_CALLS,
            has_reports: false,
            ..Format::default()
        };
        let [session, client, sequence, view] = [0; 4].map(|_| from.u64("a number"));
        let known = from.u32("the number of known names")?;
        let names = FunctionName::read(&mut from)?;
        let model = Model::read(&mut from)?;
        let functions = Functions::read(&mut from, FunctionStats::LEAST, FunctionStats::read)?;
        let steps = StepStats::read(&mut from)?;
        let times = StepTimes::read_if_present(&mut from)?;
        let mut modes = ModeTimes::read_if_present(&mut from)?;
        let losses = FunctionSteps::read_if_present(&mut from)?;
        let mut changes = Vec::new();
        if from.context.has_changes {
            let expected = "a number of changes that fits the remaining bytes";
            for _ in 0..from.count(Change::LEAST, expected)? {
                changes.push(Change::read(&mut from)?);
            }
        }
        let counters = Counters::read_if_present(&mut from)?;
        modes.read_slow_if_present(&mut from)?;
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
            times,
            modes,
            losses,
            changes,
            counters,
        })
    }
}
