//! [`StateThread`]: thread that applies batches of messages to the state, stores each in one
//! transaction, and drops silent clients and old records.

use super::params::HubParams;
use super::queue::Queue;
use super::state::{Batch, State};
use super::{Hooks, HubAnswer, Message, Request, lock};
use crate::store::Writer;
use crate::{Error, Result};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Owner of the state and writer of the database.
pub(super) struct StateThread {
    /// Queue of messages.
    queue: Arc<Queue<Request>>,
    /// State of the server.
    state: Arc<Mutex<State>>,
    /// Callbacks after each batch.
    stored: Hooks,
    /// Parameters.
    params: HubParams,
    /// Database.
    writer: Writer,
    /// Size in bytes of the deltas since the state was stored.
    logged: u64,
    /// Size in bytes of the stored state.
    state_bytes: u64,
    /// `true` if the state may contain changes that the database does not contain.
    is_lost: bool,
    /// Time of the last check for silent clients.
    looked: Instant,
}

/// Delay after which clients repeat messages that could not be stored.
const RECOVERY: Duration = Duration::from_secs(1);

/// Time for which more messages are collected after a batch with several messages.
const GATHER: Duration = Duration::from_millis(2);

/// Largest interval between the checks for silent clients.
const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(60);

impl StateThread {
    pub(super) fn new(
        (queue, state): (Arc<Queue<Request>>, Arc<Mutex<State>>),
        stored: Hooks,
        params: HubParams,
        (writer, logged): (Writer, u64),
    ) -> Self {
        StateThread {
            queue,
            state,
            stored,
            params,
            writer,
            logged,
            state_bytes: 0,
            is_lost: false,
            looked: Instant::now(),
        }
    }

    pub(super) fn run(mut self) {
        while let Some(jobs) = self.queue.take(self.params.batch) {
            let is_crowded = jobs.len() > 1;
            let (messages, replies): (Vec<_>, Vec<_>) =
                jobs.into_iter().map(|job| (job.message, job.reply)).unzip();
            match self.batch(messages) {
                Ok(answers) => replies
                    .into_iter()
                    .zip(answers)
                    .for_each(|(reply, answer)| reply(answer)),
                Err(_) => {
                    for reply in replies {
                        reply(Err(Error::Busy { again: RECOVERY }));
                    }
                }
            }
            lock(&self.stored).retain(|hook| (hook.0)());
            self.store_state();
            self.tidy();
            if is_crowded {
                std::thread::sleep(GATHER);
            }
        }
        // Loading a complete state is faster than replaying a log.
        if self.logged > 0 && !self.is_lost {
            self.logged = u64::MAX;
            self.store_state();
        }
    }

    /// Applies messages and stores them together. If an error is returned, none of the messages has
    /// an effect.
    fn batch(&mut self, messages: Vec<Message>) -> Result<Vec<Result<HubAnswer>>> {
        let began = Instant::now();
        let state = Arc::clone(&self.state);
        let mut state = lock(&state);
        let count = messages.len() as u64;
        if self.is_lost
            && let Err(error) = self.reload(&mut state)
        {
            state.counts.unstored += count;
            state.failure = Some(error.to_string());
            return Err(error);
        }
        let mut batch = Batch::default();
        let mut answers = Vec::with_capacity(messages.len());
        for message in messages {
            let outcome = state.take(message, &mut batch, &mut self.writer);
            // A database error concerns the whole batch, not this message.
            if let Err(error @ Error::Anomaly(perf_anomaly::Error::Store { .. })) = &outcome {
                state.counts.unstored += count;
                self.lose(&mut state, error);
                return Err(Error::Busy { again: RECOVERY });
            }
            answers.push(outcome);
        }
        let stored = batch.store(&mut self.writer);
        let stored = stored.and_then(|()| self.writer.commit());
        if let Err(error) = &stored {
            state.counts.unstored += count;
            self.lose(&mut state, error);
        } else {
            state.failure = None;
            self.logged += batch.bytes();
            let counts = &mut state.counts;
            counts.logged += batch.bytes();
            counts.batches += 1;
            counts.storing += began.elapsed().as_micros() as u64;
        }
        stored.map(|()| answers)
    }

    fn lose(&mut self, state: &mut State, why: &Error) {
        self.is_lost = true;
        state.counts.failures += 1;
        state.failure = Some(why.to_string());
        state.revision += 1;
        // The state is reloaded later, even if the rollback fails.
        let _ = self.writer.roll_back();
    }

    fn reload(&mut self, state: &mut State) -> Result<()> {
        let (mut stored, logged) = State::load(&self.params, &mut self.writer)?;
        stored.counts = state.counts;
        // The failure is kept until a batch succeeds.
        stored.failure = state.failure.take();
        *state = stored;
        self.logged = logged;
        self.is_lost = false;
        Ok(())
    }

    /// Forgets silent clients, and drops records that are too many or too old.
    fn tidy(&mut self) {
        if self.is_lost {
            return;
        }
        let state = Arc::clone(&self.state);
        let mut state = lock(&state);
        // After an error this is tried again later.
        if let Err(error) = self.tidied(&mut state) {
            self.lose(&mut state, &error);
        }
    }

    fn tidied(&mut self, state: &mut State) -> Result<()> {
        if self.looked.elapsed() >= MAX_CHECK_INTERVAL.min(self.params.forget / 2) {
            self.looked = Instant::now();
            state.forget(self.params.forget, &mut self.writer)?;
        }
        let mut dropped = 0;
        if let Some(most) = self.params.keep_bytes {
            dropped += self.writer.drop_beyond(most)?;
        }
        if let Some(most) = self.params.keep_steps {
            dropped += self.writer.drop_older(&state.steps, most)?;
        }
        self.writer.commit()?;
        if dropped > 0 {
            state.dropped += dropped;
            state.revision += 1;
        }
        Ok(())
    }

    /// Stores the complete state if the log has become long.
    fn store_state(&mut self) {
        if self.is_lost || self.logged <= self.params.log.max(2 * self.state_bytes) {
            return;
        }
        let state = Arc::clone(&self.state);
        let mut state = lock(&state);
        let bytes = state.server.encode();
        let clients = state.clients.iter();
        let clients = clients.map(|(number, known)| (*number, &known.stored));
        match self.writer.state(&bytes, clients) {
            Ok(()) => {
                state.counts.states += 1;
                self.logged = 0;
                self.state_bytes = bytes.len() as u64;
            }
            // The log is unchanged, so no data is lost.
            Err(error) => self.lose(&mut state, &error),
        }
    }
}
