//! [`Players`]: ranks that share a thread and some connections.

use super::pipe::{Answered, Pipe};
use super::run::{Figures, Load};
use super::tape::Tape;
use super::turn::Turn;
use crate::client::{Target, fresh};
use crate::wire::{self, Answer, Hello, NO_VIEW, Welcome};
use crate::{Error, Result};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Ranks of a thread. Each has its place among the connections, so that what one says stays in order.
#[derive(Debug)]
pub(super) struct Players {
    ranks: Vec<Player>,
    lanes: Vec<Lane>,
}

/// A simulated rank.
#[derive(Debug)]
struct Player {
    rank: u32,
    client: u64,
    /// The last bundle of records.
    bundle: u64,
}

/// A connection, and what is asked over it.
#[derive(Debug)]
struct Lane {
    pipe: Pipe,
    asked: Option<Asked>,
}

/// What is on its way.
#[derive(Debug)]
struct Asked {
    /// The number that the answer must name: of a delta, or of a bundle.
    delta: Option<u64>,
    bundle: Option<u64>,
    at: Instant,
    /// The message that comes behind it, and its number and entries.
    then: Option<(Vec<u8>, u64, u64)>,
    entries: u64,
}

/// Between two looks where nothing happens.
const NAP: Duration = Duration::from_micros(500);

/// After how many of them another connection is looked at.
const TURNS: u64 = 8;

impl Players {
    /// Ranks that say hello over so many connections.
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
            let pipe = Pipe::new(target)?;
            Ok(Lane { pipe, asked: None })
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

    /// Plays the tape: each rank tells its updates at its times, as far as its last one was answered.
    pub(super) fn play(mut self, tape: &Tape, load: &Load, begin: Instant) -> Result<Figures> {
        let mut figures = Figures::default();
        let mut turn = Turn::new(tape, load.program);
        // Connections that are busy, the longest first.
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
            // Answers come about in order: who looks at all connections does little else.
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
                // One that has to come again holds those behind it up for a moment only.
                if naps % TURNS == 0
                    && let Some(first) = busy.pop_front()
                {
                    busy.push_back(first);
                }
            }
        }
        Ok(figures)
    }

    /// When an update of a rank is due.
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
        // One that is late waits for its connection.
        if until.is_zero() { NAP } else { until.min(NAP) }
    }

    /// Begins the next update if it is due and its connection is free, and gives the connection.
    fn begin(
        &mut self,
        next: u64,
        turn: &mut Turn,
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
        if now < due || lane.asked.is_some() {
            return Ok(None);
        }
        let Some(sheet) = turn.sheet(tape, player.rank, update) else {
            return Ok(None);
        };
        let lag = now - due;
        if !load.period.is_zero() {
            figures.lag = figures.lag.max(lag);
            figures.late += u64::from(lag > load.period);
        }
        let asks = load.views > 0 && (update + u64::from(player.rank)).is_multiple_of(load.views);
        let view = if asks { 0 } else { NO_VIEW };
        let message = sheet.push(player.rank, player.client, view);
        let entries = sheet.entries() as u64;
        let then = (load.records && entries > 0).then(|| {
            player.bundle += 1;
            let records = sheet.records(player.rank, player.client, player.bundle);
            (records, player.bundle, entries)
        });
        figures.calls += sheet.calls;
        figures.anomalies += sheet.anomalies;
        figures.time += sheet.time;
        figures.sent += message.len() as u64;
        lane.asked = Some(Asked {
            delta: Some(update + 1),
            bundle: None,
            at: Instant::now(),
            then,
            entries: 0,
        });
        lane.pipe.ask("POST", wire::PUSH, &message);
        Ok(Some(place))
    }

    /// Looks whether a connection has its answer.
    fn listen(&mut self, lane: usize, figures: &mut Figures) -> Result<Heard> {
        let Some(Lane { pipe, asked }) = self.lanes.get_mut(lane) else {
            return Ok(Heard::All);
        };
        let Some(answered) = pipe.poll()? else {
            return Ok(Heard::Nothing);
        };
        let Some(done) = asked.take() else {
            return Ok(Heard::All);
        };
        let body = accepted(pipe, answered)?;
        figures.received += body.len() as u64;
        let answer = Answer::decode(&body)?;
        // The server has it, or it was never told.
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
        *asked = Some(Asked {
            delta: None,
            bundle: Some(bundle),
            at: Instant::now(),
            then: None,
            entries,
        });
        Ok(Heard::Part)
    }
}

/// What was heard.
#[derive(Clone, Copy, Debug)]
enum Heard {
    Nothing,
    /// Something else is asked now.
    Part,
    All,
}

/// The body of an answer that is none of a refusal.
pub(super) fn accepted(pipe: &Pipe, (status, body): Answered) -> Result<Vec<u8>> {
    match status {
        200 => Ok(body),
        status => Err(Error::Refused {
            url: pipe.url().into(),
            status,
            what: String::from_utf8_lossy(&body).trim().to_string(),
        }),
    }
}
