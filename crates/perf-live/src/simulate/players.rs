//! [`Players`]: simulated ranks of one thread, which send the messages of a tape at their times
//! over some connections and measure the response times.

use super::connection::{Answered, Connection};
use super::run::{Figures, Load};
use super::tape::Tape;
use super::update::UpdateMessages;
use crate::client::{Target, fresh};
use crate::wire::{self, Answer, Hello, NO_VIEW, Welcome};
use crate::{Error, Result};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Simulated ranks of one thread. A rank always uses the same connection, so that its messages stay
/// in order.
#[derive(Debug)]
pub(super) struct Players {
    /// Ranks.
    ranks: Vec<Player>,
    /// Connections.
    lanes: Vec<Lane>,
}

/// Simulated rank.
#[derive(Debug)]
struct Player {
    /// Rank.
    rank: u32,
    /// Client number of the rank.
    client: u64,
    /// Number of the last bundle of records.
    bundle: u64,
}

/// Connection with its request.
#[derive(Debug)]
struct Lane {
    /// Connection.
    pipe: Connection,
    /// Request in flight.
    in_flight: Option<InFlight>,
}

/// Request in flight.
#[derive(Debug)]
struct InFlight {
    /// Number of the delta that the answer must contain, if a delta was sent.
    delta: Option<u64>,
    /// Number of the bundle that the answer must contain, if a bundle was sent.
    bundle: Option<u64>,
    /// Time of the request.
    at: Instant,
    /// Next message of the rank with its bundle number and number of entries, if there is one.
    then: Option<(Vec<u8>, u64, u64)>,
    /// Number of entries in the request.
    entries: u64,
}

/// Pause between two checks without progress.
const NAP: Duration = Duration::from_micros(500);

/// Number of pauses after which another connection is checked.
const TURNS: u64 = 8;

impl Players {
    /// Registers ranks over some connections.
    pub(super) fn open(
        target: &Target,
        program: u32,
        ranks: impl Iterator<Item = u32>,
        connections: usize,
    ) -> Result<Self> {
        let player = |rank| Player {
            rank,
            client: fresh(),
            bundle: 0,
        };
        let ranks: Vec<Player> = ranks.map(player).collect();
        let lane = |_| {
            let pipe = Connection::new(target)?;
            Ok(Lane {
                pipe,
                in_flight: None,
            })
        };
        let count = connections.clamp(1, ranks.len().max(1));
        let mut lanes = (0..count).map(lane).collect::<Result<Vec<Lane>>>()?;
        for players in ranks.chunks(count) {
            for (player, lane) in players.iter().zip(&mut lanes) {
                let hello = Hello {
                    client: player.client,
                    program,
                    rank: player.rank,
                    name: "simulated".into(),
                    host: String::new(),
                };
                lane.pipe.ask("POST", wire::HELLO, &hello.encode());
            }
            for (_, lane) in players.iter().zip(&mut lanes) {
                let answered = lane.pipe.wait()?;
                let body = accepted(&lane.pipe, answered)?;
                Welcome::decode(&body)?;
            }
        }
        Ok(Players { ranks, lanes })
    }

    /// Plays the tape. Each rank sends its updates at their times, but not before its previous
    /// update was answered.
    pub(super) fn play(mut self, tape: &Tape, load: &Load, begin: Instant) -> Result<Figures> {
        let mut figures = Figures::default();
        let mut turn = UpdateMessages::new(tape, load.program);
        // Busy connections. The connection that has been busy longest comes first.
        let mut busy: VecDeque<usize> = VecDeque::new();
        let total = load.updates.saturating_mul(self.ranks.len() as u64);
        let (mut next, mut naps) = (0, 0_u64);
        while next < total || !busy.is_empty() {
            let mut is_idle = true;
            if next < total
                && let Some(lane) = self.begin(next, &mut turn, tape, load, begin, &mut figures)?
            {
                busy.push_back(lane);
                next += 1;
                is_idle = false;
            }
            // Only the first connection is checked: answers arrive about in order, and checking all
            // connections would take most of the time.
            if let Some(lane) = busy.front().copied() {
                let heard = self.listen(lane, &mut figures)?;
                if !matches!(heard, Heard::Nothing) {
                    busy.pop_front();
                    is_idle = false;
                }
                if matches!(heard, Heard::Part) {
                    busy.push_back(lane);
                }
            }
            if is_idle {
                std::thread::sleep(self.pause(next, total, load, begin));
                naps += 1;
                // A request that is being repeated must not delay the connections behind it for
                // long.
                if naps % TURNS == 0
                    && let Some(first) = busy.pop_front()
                {
                    busy.push_back(first);
                }
            }
        }
        Ok(figures)
    }

    /// Returns the time at which an update of a rank is due.
    fn due(&self, next: u64, load: &Load) -> Duration {
        let count = self.ranks.len() as u64;
        let rank = self.ranks.get((next % count) as usize);
        let rank = rank.map_or(0, |player| player.rank);
        let share = f64::from(rank) / f64::from(load.ranks.max(1));
        load.period.mul_f64((next / count) as f64 + share)
    }

    fn pause(&self, next: u64, total: u64, load: &Load, begin: Instant) -> Duration {
        if next >= total {
            return NAP;
        }
        let until = self.due(next, load).saturating_sub(begin.elapsed());
        // A late update waits until its connection is free.
        if until.is_zero() { NAP } else { until.min(NAP) }
    }

    /// Begins the next update if it is due and its connection is free, and returns the connection.
    fn begin(
        &mut self,
        next: u64,
        turn: &mut UpdateMessages,
        tape: &Tape,
        load: &Load,
        begin: Instant,
        figures: &mut Figures,
    ) -> Result<Option<usize>> {
        let count = self.ranks.len() as u64;
        let (update, at) = (next / count, (next % count) as usize);
        let (due, now) = (self.due(next, load), begin.elapsed());
        let place = at % self.lanes.len().max(1);
        let (Some(lane), Some(player)) = (self.lanes.get_mut(place), self.ranks.get_mut(at)) else {
            return Ok(None);
        };
        if now < due || lane.in_flight.is_some() {
            return Ok(None);
        }
        let Some(message) = turn.message(tape, player.rank, update) else {
            return Ok(None);
        };
        let lag = now - due;
        if !load.period.is_zero() {
            figures.lag = figures.lag.max(lag);
            figures.late += u64::from(lag > load.period);
        }
        let asks = load.views > 0 && (update + u64::from(player.rank)).is_multiple_of(load.views);
        let view = if asks { 0 } else { NO_VIEW };
        let bytes = message.push(player.rank, player.client, view);
        let entries = message.entries() as u64;
        let then = (load.records && entries > 0).then(|| {
            player.bundle += 1;
            let records = message.records(player.rank, player.client, player.bundle);
            (records, player.bundle, entries)
        });
        figures.calls += message.calls;
        figures.anomalies += message.anomalies;
        figures.time += message.time;
        figures.sent += bytes.len() as u64;
        lane.in_flight = Some(InFlight {
            delta: Some(update + 1),
            bundle: None,
            at: Instant::now(),
            then,
            entries: 0,
        });
        lane.pipe.ask("POST", wire::PUSH, &bytes);
        Ok(Some(place))
    }

    /// Checks whether a connection has received its answer, and sends the next message of the rank
    /// if there is one.
    fn listen(&mut self, lane: usize, figures: &mut Figures) -> Result<Heard> {
        let Some(Lane { pipe, in_flight }) = self.lanes.get_mut(lane) else {
            return Ok(Heard::All);
        };
        let Some(answered) = pipe.poll()? else {
            return Ok(Heard::Nothing);
        };
        let Some(done) = in_flight.take() else {
            return Ok(Heard::All);
        };
        let body = accepted(pipe, answered)?;
        figures.received += body.len() as u64;
        let answer = Answer::decode(&body)?;
        // `true` if the server has stored each part of the message that was sent.
        let is_there = done.delta.is_none_or(|number| answer.delta == number)
            && done.bundle.is_none_or(|number| answer.records == number);
        figures.missing += u64::from(!is_there);
        if done.delta.is_some() {
            figures.updates += 1;
            figures.latencies.push(done.at.elapsed().as_micros() as u32);
            figures.views += u64::from(answer.view.is_some());
        }
        figures.records += done.entries;
        let Some((message, bundle, entries)) = done.then else {
            return Ok(Heard::All);
        };
        figures.sent += message.len() as u64;
        pipe.ask("POST", wire::PUSH, &message);
        *in_flight = Some(InFlight {
            delta: None,
            bundle: Some(bundle),
            at: Instant::now(),
            then: None,
            entries,
        });
        Ok(Heard::Part)
    }
}

/// Result of a check for an answer.
#[derive(Clone, Copy, Debug)]
enum Heard {
    /// There is no answer yet.
    Nothing,
    /// A further request was sent.
    Part,
    /// All messages of the update are answered.
    All,
}

/// Returns the body of a successful answer, or [`Error::Refused`] for another status.
pub(super) fn accepted(pipe: &Connection, (status, body): Answered) -> Result<Vec<u8>> {
    match status {
        200 => Ok(body),
        status => Err(Error::Refused {
            url: pipe.url().into(),
            status,
            what: String::from_utf8_lossy(&body).trim().to_string(),
        }),
    }
}
