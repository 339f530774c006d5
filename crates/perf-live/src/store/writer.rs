//! [`Writer`]: stores clients, deltas, state and records of a server in its database, drops old
//! records, and loads the [`Stored`] contents after a restart.

use super::failed;
use super::schema::{MODELS, TABLES, VERSION, bits, bound};
use crate::Result;
use crate::wire::Hello;
use perf_anomaly::provenance::{Entry, Record, Sqlite, Store};
use perf_anomaly::server::StepStats;
use rusqlite::{Connection, OptionalExtension, Params, params};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Database opened for writing. A lock file ensures that there is only one writer.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Path of the database.
    path: PathBuf,
    /// Store of the entries.
    store: Sqlite,
    /// Number of the last model.
    models: u64,
    /// Size of the records of calls in bytes.
    kept: u64,
    /// Step of each program before which all records were dropped.
    from: BTreeMap<u32, u64>,
    /// Lock file. The lock is released when the writer is dropped or the process ends.
    _lock: File,
}

/// Stored state of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Client {
    /// Program.
    pub(crate) program: u32,
    /// Rank.
    pub(crate) rank: u32,
    /// Number of the last delta.
    pub(crate) delta: u64,
    /// Number of the last bundle of records.
    pub(crate) records: u64,
}

/// Calls and anomalies of a program in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    /// Number of calls.
    pub(crate) calls: u64,
    /// Number of calls that were too slow.
    pub(crate) slow: u64,
    /// Number of calls that were too fast.
    pub(crate) fast: u64,
    /// Time lost in nanoseconds.
    pub(crate) time: i64,
}

/// Contents of the database of a server.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// Session of the database.
    pub(crate) session: u64,
    /// Last stored state, encoded; `None` if no state was stored yet.
    pub(crate) state: Option<Vec<u8>>,
    /// Size in bytes of the deltas that were logged after the state was stored.
    pub(crate) log: u64,
    /// Clients by number.
    pub(crate) clients: Vec<(u64, Client)>,
    /// Names of programs.
    pub(crate) programs: BTreeMap<u32, String>,
    /// Last step of each program.
    pub(crate) steps: BTreeMap<u32, u64>,
    /// Number of dropped records.
    pub(crate) dropped: u64,
}

/// Upper bound on model numbers. Larger numbers in a database are invalid.
const NUMBERS: i64 = 1 << 53;

/// Size of a part of the state in bytes.
const PART: usize = 4 << 20;

impl Writer {
    /// Opens an existing database, or creates a new one.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        // This returns an error for a database of another application, and leaves no lock file beside it.
        let has_database = || std::fs::metadata(path).is_ok_and(|found| found.len() > 0);
        if has_database() {
            drop(Sqlite::open(path)?);
        }
        let lock = lock(path)?;
        if !has_database() {
            Sqlite::create(path)?;
        }
        prepare(path).map_err(|error| failed(path, error))?;
        let mut writer = Writer {
            path: path.into(),
            store: Sqlite::open(path)?,
            models: 0,
            kept: 0,
            from: BTreeMap::new(),
            _lock: lock,
        };
        let version = writer.store.within(|database| {
            let sql = "select value from live_fact where name = 'schema'";
            database.query_row(sql, [], |row| row.get::<_, i64>(0))
        })?;
        if version != VERSION {
            let what =
                format!("the tables of the server are of version {version}, expected {VERSION}");
            return Err(failed(path, what));
        }
        writer.commit()?;
        Ok(writer)
    }

    /// Loads all stored data except the log.
    pub(crate) fn load(&mut self) -> Result<Stored> {
        let stored = self.store.within(load);
        let models = self.store.within(|database| {
            let sql = "select coalesce(max(number), 0) from live_body";
            database.query_row(sql, [], |row| row.get::<_, i64>(0))
        });
        let kept = self.store.within(|database| {
            let sql =
                "select coalesce(sum(octet_length(body) + 1), 0) from call join entry using (id)";
            database.query_row(sql, [], |row| row.get::<_, i64>(0))
        });
        self.store.commit()?;
        self.models = models?.cast_unsigned();
        self.kept = kept?.cast_unsigned();
        self.from.clear();
        Ok(stored?)
    }

    /// Calls `take` with each logged delta, in order.
    pub(crate) fn each_logged(&mut self, mut take: impl FnMut(&[u8])) -> Result<()> {
        let walked = self
            .store
            .within(|database| each_logged(database, &mut take));
        self.store.commit()?;
        Ok(walked?)
    }

    /// Calls `take` with the program, rank and number, the anomalies and the time lost of each stored
    /// step of a rank.
    pub(crate) fn each_step(
        &mut self,
        mut take: impl FnMut((u32, u32, u64), u64, i64),
    ) -> Result<()> {
        let walked = self.store.within(|database| each_step(database, &mut take));
        self.store.commit()?;
        Ok(walked?)
    }

    fn run(&mut self, sql: &str, values: impl Params) -> Result<()> {
        let done = self
            .store
            .within(|database| database.prepare_cached(sql)?.execute(values).map(drop));
        Ok(done?)
    }

    /// Stores the identity of a client.
    pub(crate) fn hello(&mut self, hello: &Hello) -> Result<()> {
        let (program, client) = (hello.program, bits(hello.client));
        let sql = "insert into live_client values (?, ?, ?, ?, 0, 0)
            on conflict do update set program = excluded.program, rank = excluded.rank, host = excluded.host";
        self.run(sql, params![client, program, hello.rank, hello.host])?;
        if hello.name.is_empty() {
            return Ok(());
        }
        let sql = "insert or replace into live_program values (?, ?)";
        self.run(sql, params![program, hello.name])
    }

    /// Stores a client that did not say hello.
    pub(crate) fn client(&mut self, number: u64, client: &Client) -> Result<()> {
        let sql = "insert or ignore into live_client values (?, ?, ?, '', 0, 0)";
        self.run(sql, params![bits(number), client.program, client.rank])
    }

    /// Returns `true` if a record of the same call exists.
    pub(crate) fn has(&mut self, record: &Record) -> Result<bool> {
        let sql = "select count(*) > 0 from call where program = ? and rank = ? and thread = ?
            and entry = ? and function = ? and step = ?";
        let values = params![
            record.program,
            record.rank,
            record.thread,
            record.call.entry.0,
            record.function,
            bound(record.step)
        ];
        let found = self.store.within(|database| {
            let mut statement = database.prepare_cached(sql)?;
            statement.query_row(values, |row| row.get::<_, bool>(0))
        });
        Ok(found?)
    }

    /// Stores an entry of a client. Models get the numbers of this store.
    pub(crate) fn entry(&mut self, client: u64, mut entry: Entry) -> Result<()> {
        match &mut entry {
            Entry::Model(model) => {
                let number = self.models + 1;
                let own = std::mem::replace(&mut model.id, number);
                self.models = number;
                self.store.put(&entry)?;
                let sql = "insert into live_body values (?, last_insert_rowid())";
                self.run(sql, [bits(number)])?;
                let sql = "insert or replace into live_model
                    select ?, ?, number, entry from live_body where number = ?";
                return self.run(sql, params![bits(client), bits(own), bits(number)]);
            }
            Entry::Call(record) if record.model > 0 => {
                let sql = "select number from live_model where client = ? and id = ?";
                let number = self.store.within(|database| {
                    let mut statement = database.prepare_cached(sql)?;
                    let values = params![bits(client), bits(record.model)];
                    statement
                        .query_row(values, |row| row.get::<_, i64>(0))
                        .optional()
                })?;
                record.model = number.unwrap_or_default().cast_unsigned();
            }
            _ => {}
        }
        let bytes = self.store.put(&entry)?;
        if let Entry::Call(_) = entry {
            self.kept += bytes;
        }
        Ok(())
    }

    /// Drops the last numbers of a client. The numbers of its models are kept in case the client
    /// returns.
    pub(crate) fn forget(&mut self, client: u64) -> Result<()> {
        self.run("delete from live_client where client = ?", [bits(client)])
    }

    /// Drops records of calls if their size exceeds `most` bytes. Of the older half of the records,
    /// normal calls are dropped first, then the least severe anomalies, until a tenth of the limit
    /// is free. Returns the number of dropped records.
    pub(crate) fn drop_beyond(&mut self, most: u64) -> Result<u64> {
        if self.kept <= most {
            return Ok(0);
        }
        let goal = self.kept - (most - most / 10);
        let (mut freed, mut going) = (0, Vec::new());
        self.store.within(|database| {
            let sql = "select id, octet_length(body) + 1 from call join entry using (id)
                where id <= (select id from call order by id limit 1
                    offset (select count(*) / 2 from call))
                order by kind = 'anomaly', severity, id";
            let mut statement = database.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            while freed < goal
                && let Some(row) = rows.next()?
            {
                going.push(row.get::<_, i64>(0)?);
                freed += row.get::<_, i64>(1)?.cast_unsigned();
            }
            Ok(())
        })?;
        self.remove(&going)?;
        self.kept = self.kept.saturating_sub(freed);
        self.dropped(going.len() as u64)
    }

    /// Drops records and steps of ranks that are older than the last `most` steps of their program,
    /// as soon as more than `most / 10` further steps are too old. Returns the number of dropped
    /// records.
    pub(crate) fn drop_older(&mut self, last: &BTreeMap<u32, u64>, most: u64) -> Result<u64> {
        let mut dropped = 0;
        for (program, last) in last {
            let from = last.saturating_add(1).saturating_sub(most);
            // A program of which nothing was deleted begins at step 0.
            let before = self.from.get(program).copied().unwrap_or_default();
            if from <= before.saturating_add(most / 10) {
                continue;
            }
            let which = params![program, bound(from)];
            let (mut bytes, mut going) = (0, Vec::new());
            self.store.within(|database| {
                let sql = "select id, octet_length(body) + 1 from call join entry using (id)
                    where program = ? and step < ?";
                let mut statement = database.prepare_cached(sql)?;
                let mut rows = statement.query(which)?;
                while let Some(row) = rows.next()? {
                    going.push(row.get::<_, i64>(0)?);
                    bytes += row.get::<_, i64>(1)?.cast_unsigned();
                }
                Ok(())
            })?;
            self.remove(&going)?;
            let sql = "delete from live_step where program = ? and step < ?";
            self.run(sql, which)?;
            self.kept = self.kept.saturating_sub(bytes);
            self.from.insert(*program, from);
            dropped += going.len() as u64;
        }
        self.dropped(dropped)
    }

    /// Removes records. The rows that refer to their entries are removed first.
    fn remove(&mut self, records: &[i64]) -> Result<()> {
        for id in records {
            self.run("delete from call where id = ?", [id])?;
            self.run("delete from entry where id = ?", [id])?;
        }
        Ok(())
    }

    /// Adds to the number of dropped records.
    fn dropped(&mut self, count: u64) -> Result<u64> {
        if count > 0 {
            let sql = "insert into live_fact values ('dropped', ?)
                on conflict do update set value = value + excluded.value";
            self.run(sql, [bound(count)])?;
        }
        Ok(count)
    }

    /// Stores the number of the last bundle of records of a client.
    pub(crate) fn bundle(&mut self, client: u64, sequence: u64) -> Result<()> {
        let sql = "update live_client set records = ? where client = ?";
        self.run(sql, params![bits(sequence), bits(client)])
    }

    /// Stores a step of a rank that had an anomaly, or adds a further part of the step.
    pub(crate) fn step(&mut self, step: &StepStats) -> Result<()> {
        let loss = &step.loss;
        let sql = "insert into live_step values (?, ?, ?, ?, ?, ?, ?, ?)
            on conflict do update set first = min(first, excluded.first), last = max(last, excluded.last),
            slow = slow + excluded.slow, fast = fast + excluded.fast, time = time + excluded.time";
        let values = params![
            step.program,
            step.rank,
            bound(step.step),
            step.start.0,
            step.end.0,
            bound(loss.too_slow),
            bound(loss.too_fast),
            loss.time.0
        ];
        self.run(sql, values)
    }

    /// Adds to the totals of a step of a program.
    pub(crate) fn total(&mut self, (program, step): (u32, u64), total: &Total) -> Result<()> {
        let sql = "insert into live_total values (?, ?, ?, ?, ?, ?)
            on conflict do update set calls = calls + excluded.calls, slow = slow + excluded.slow,
            fast = fast + excluded.fast, time = time + excluded.time";
        let (calls, slow, fast) = (bound(total.calls), bound(total.slow), bound(total.fast));
        let values = params![program, bound(step), calls, slow, fast, total.time];
        self.run(sql, values)
    }

    /// Logs deltas, each preceded by its length.
    pub(crate) fn log(&mut self, blocks: &[u8]) -> Result<()> {
        self.run("insert into live_log (body) values (?)", params![blocks])
    }

    /// Stores the complete state and clears the log.
    pub(crate) fn state<'a>(
        &mut self,
        bytes: &[u8],
        clients: impl Iterator<Item = (u64, &'a Client)>,
    ) -> Result<()> {
        self.run("delete from live_log", [])?;
        self.run("delete from live_state", [])?;
        for (part, body) in bytes.chunks(PART).enumerate() {
            let sql = "insert into live_state values (?, ?)";
            self.run(sql, params![part as u32, body])?;
        }
        for (number, client) in clients {
            let sql = "update live_client set delta = ? where client = ? and delta <> ?1";
            self.run(sql, params![bits(client.delta), bits(number)])?;
        }
        self.commit()
    }

    /// Commits all changes to the disk.
    pub(crate) fn commit(&mut self) -> Result<()> {
        Ok(self.store.commit()?)
    }

    /// Undoes all changes since the last commit.
    pub(crate) fn roll_back(&mut self) -> Result<()> {
        Ok(self.store.roll_back()?)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks the database. Two writers of a database would not see the clients of the other writer.
fn lock(path: &Path) -> Result<File> {
    let mut name = path.as_os_str().to_os_string();
    name.push(".lock");
    let file = File::options().create(true).append(true).open(&name);
    let file = file.map_err(|error| failed(path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(failed(
            path,
            "another server uses this database; stop it or choose another file",
        )),
        Err(std::fs::TryLockError::Error(error)) => Err(failed(path, error)),
    }
}

/// Enables write-ahead logging, so that the database can be read while it is written, and creates
/// the tables. Tables of an earlier version are upgraded.
fn prepare(path: &Path) -> rusqlite::Result<()> {
    let database = Connection::open(path)?;
    database.query_row("pragma journal_mode = wal", [], |_| Ok(()))?;
    database.execute_batch("begin")?;
    database.execute_batch(TABLES)?;
    let sql = "select value from live_fact where name = 'schema'";
    let version = database.query_row(sql, [], |row| row.get::<_, i64>(0));
    if version.optional()?.is_none_or(|version| version == 1) {
        // New numbers must follow all numbers that records refer to, including those of a recorder.
        let sql =
            format!("insert into live_body select * from {MODELS} where number between 1 and ?");
        database.execute(&sql, [NUMBERS])?;
        let sql = "insert or replace into live_fact values ('schema', ?)";
        database.execute(sql, [VERSION])?;
    }
    let sql = "insert or ignore into live_fact values ('session', ?)";
    database.execute(sql, [bound(fresh())])?;
    database.execute_batch("commit")
}

/// Loads all stored data except the log.
pub(super) fn load(database: &Connection) -> rusqlite::Result<Stored> {
    let sql = "select value from live_fact where name = 'session'";
    let session = database.query_row(sql, [], |row| row.get::<_, i64>(0))?;
    let mut stored = Stored {
        session: session.cast_unsigned(),
        ..Stored::default()
    };
    let sql = "select value from live_fact where name = 'dropped'";
    let dropped = database.query_row(sql, [], |row| row.get::<_, i64>(0));
    stored.dropped = dropped.optional()?.unwrap_or_default().cast_unsigned();
    let mut statement = database.prepare("select body from live_state order by part")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let state = stored.state.get_or_insert_default();
        state.extend_from_slice(row.get_ref(0)?.as_blob()?);
    }
    let sql = "select coalesce(sum(length(body)), 0) from live_log";
    stored.log = database
        .query_row(sql, [], |row| row.get::<_, i64>(0))?
        .cast_unsigned();
    let sql = "select client, program, rank, delta, records from live_client";
    let mut statement = database.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let client = Client {
            program: row.get(1)?,
            rank: row.get(2)?,
            delta: row.get::<_, i64>(3)?.cast_unsigned(),
            records: row.get::<_, i64>(4)?.cast_unsigned(),
        };
        let number = row.get::<_, i64>(0)?.cast_unsigned();
        stored.clients.push((number, client));
    }
    let mut statement = database.prepare("select program, name from live_program")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        stored.programs.insert(row.get(0)?, row.get(1)?);
    }
    let sql = "select program, max(step) from live_total group by program";
    let mut statement = database.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let step = row.get::<_, i64>(1)?.cast_unsigned();
        stored.steps.insert(row.get(0)?, step);
    }
    Ok(stored)
}

/// Returns a number that no earlier start of the server had. It is the number of nanoseconds since
/// 1970, which fits in 64 bits for five centuries.
pub(crate) fn fresh() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| since.as_nanos() as u64).max(1)
}

/// Appends a delta to a block of the log.
pub(crate) fn append_block(to: &mut Vec<u8>, delta: &[u8]) {
    to.extend_from_slice(&(delta.len() as u32).to_le_bytes());
    to.extend_from_slice(delta);
}

/// Calls `take` with each logged delta, in order.
pub(super) fn each_logged(
    database: &Connection,
    take: &mut impl FnMut(&[u8]),
) -> rusqlite::Result<()> {
    let mut statement = database.prepare("select body from live_log order by id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each_block(row.get_ref(0)?.as_blob()?, take);
    }
    Ok(())
}

/// Calls `take` with the program, rank and number, the anomalies and the time lost of each stored
/// step of a rank.
pub(super) fn each_step(
    database: &Connection,
    take: &mut impl FnMut((u32, u32, u64), u64, i64),
) -> rusqlite::Result<()> {
    let sql = "select program, rank, step, slow + fast, time from live_step";
    let mut statement = database.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let count = |at| Ok::<u64, rusqlite::Error>(row.get::<_, i64>(at)?.cast_unsigned());
        let key = (row.get(0)?, row.get(1)?, count(2)?);
        take(key, count(3)?, row.get(4)?);
    }
    Ok(())
}

/// Calls `take` with each delta of a block. A truncated delta is dropped.
fn each_block(mut body: &[u8], take: &mut impl FnMut(&[u8])) {
    while let Some((length, rest)) = body.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((block, rest)) = rest.split_at_checked(length) else {
            return;
        };
        take(block);
        body = rest;
    }
}
