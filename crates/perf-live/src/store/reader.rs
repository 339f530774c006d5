//! [`DatabaseReader`]: queries of steps, functions, records and models in a database, during or
//! after a run.

use super::failed;
use super::query::{Axis, Filter, Order, Table};
use super::schema::{MODELS, bound};
use super::writer::{self, Stored};
use crate::Result;
use perf_anomaly::Loss;
use perf_anomaly::server::{FunctionName, FunctionStats, StepStats};
use perf_core::Nanos;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params_from_iter};
use serde_json::Value as Json;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Database opened for reading.
#[derive(Debug)]
pub(crate) struct DatabaseReader {
    /// Path of the database.
    path: PathBuf,
    /// Connection.
    database: Connection,
    /// `true` if the database has no tables of a server, so that a recorder wrote it.
    is_plain: bool,
    /// `true` if the database has the table of model positions.
    has_bodies: bool,
}

const STEPS: &[&str] = &[
    "program", "rank", "step", "slow", "fast", "time", "first", "last",
];

/// Time lost in the calls of a group. A damaged line is no JSON: its call counts as lost.
const LOST: &str =
    "sum(case when json_valid(body) then iif(body ->> 'waits', 0, severity) else severity end)";

/// Time of the calls of a group that wait for others.
const WAITING: &str =
    "sum(case when json_valid(body) then iif(body ->> 'waits', severity, 0) else 0 end)";

/// Returns the steps with recorded anomalies, in the form in which the server writes them.
fn recorded() -> String {
    format!(
        "(select program, rank, step, sum(label in ('too slow', 'beyond experience')) slow,
        sum(label = 'too fast') fast, {LOST} time, min(entry) first, max(entry + runtime) last,
        sum(label = 'beyond experience') beyond, {WAITING} waiting
        from call join entry using (id) where kind = 'anomaly' group by program, rank, step)"
    )
}

/// Columns of the table of time lost by function and step.
pub(crate) const STACKED: [&str; 4] = ["program", "function", "step", "time"];

impl DatabaseReader {
    /// Opens an existing database.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        // Without this check the first query would fail with an obscure message if the file does
        // not exist.
        std::fs::metadata(path).map_err(|error| failed(path, error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |uri: Option<String>| -> rusqlite::Result<(Connection, i64, [bool; 2])> {
            let database = match uri {
                Some(uri) => Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?,
                None => Connection::open_with_flags(path, flags)?,
            };
            let whose = database.query_row("pragma application_id", [], |row| row.get(0))?;
            let has = |table: &str| {
                let sql = "select count(*) > 0 from sqlite_schema where name = ?";
                database.query_row(sql, [table], |row| row.get::<_, bool>(0))
            };
            let tables = [has("live_fact")?, has("live_body")?];
            Ok((database, whose, tables))
        };
        let opened = match (open(None), unchanging(path)) {
            (Err(_), Some(uri)) => open(Some(uri)),
            (opened, _) => opened,
        };
        let (database, whose, [has_facts, has_bodies]) =
            opened.map_err(|error| failed(path, error))?;
        if whose != i64::from(u32::from_be_bytes(*b"PKAN")) {
            return Err(failed(
                path,
                "the database has no provenance records; open one that `live serve` or `detect --provenance` has written",
            ));
        }
        let stranger = distrust(&database).map_err(|error| failed(path, error))?;
        if let Some(name) = stranger {
            let what = format!("{name:?} is not a table of a server or of a detector");
            return Err(failed(path, what));
        }
        Ok(DatabaseReader {
            path: path.into(),
            database,
            is_plain: !has_facts,
            has_bodies,
        })
    }

    /// Returns `true` if no server wrote the database.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    fn fail<T>(&self, outcome: rusqlite::Result<T>) -> Result<T> {
        outcome.map_err(|error| failed(&self.path, error))
    }

    /// Loads all stored data except the log.
    pub(crate) fn load(&self) -> Result<Stored> {
        self.fail(writer::load(&self.database))
    }

    /// Calls `take` with each logged delta, in order.
    pub(crate) fn each_logged(&self, mut take: impl FnMut(&[u8])) -> Result<()> {
        self.fail(writer::each_logged(&self.database, &mut take))
    }

    /// Calls `take` with the program, rank and number, the anomalies and the time lost of each stored
    /// step of a rank.
    pub(crate) fn each_step(&self, mut take: impl FnMut((u32, u32, u64), u64, i64)) -> Result<()> {
        self.fail(writer::each_step(&self.database, &mut take))
    }

    /// Returns the loss of a rank, given by program and number, in the slow calls of some steps.
    pub(crate) fn in_steps(
        &self,
        (program, rank): (u32, u32),
        steps: &RangeInclusive<u64>,
    ) -> Result<Loss> {
        let sql = "select total(slow), total(time) from live_step
             where program = ? and rank = ? and step between ? and ?";
        let range = (bound(*steps.start()), bound(*steps.end()));
        self.fail((|| {
            let mut statement = self.database.prepare_cached(sql)?;
            statement.query_row((program, rank, range.0, range.1), |row| {
                // Sums are numbers with a fraction, which cannot overflow; the conversions saturate.
                Ok(Loss {
                    too_slow: row.get::<_, f64>(0)? as u64,
                    time: Nanos(row.get::<_, f64>(1)? as i64),
                    ..Loss::default()
                })
            })
        })())
    }

    /// Returns the program, rank and step of the recorded call of a function with the most time lost.
    pub(crate) fn longest(&self, name: &FunctionName) -> Result<Option<(u32, u32, u64)>> {
        let sql = "select program, rank, step from call where function = ? and program = ?
             and kind = 'anomaly' and severity > 0 order by severity desc limit 1";
        self.fail((|| {
            let mut statement = self.database.prepare_cached(sql)?;
            let found = statement.query_row((&*name.name, name.program), |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get::<_, i64>(2)?.cast_unsigned(),
                ))
            });
            found.optional()
        })())
    }

    fn rows(&self, sql: &str, values: &[Value], width: usize) -> Result<Vec<Vec<Json>>> {
        self.fail((|| {
            let mut statement = self.database.prepare_cached(sql)?;
            let rows = statement.query_map(params_from_iter(values), |row| {
                (0..width).map(|at| Ok(json(row.get_ref(at)?))).collect()
            })?;
            rows.collect()
        })())
    }

    /// Returns at most `most` steps with anomalies of some ranks, sorted by rank and step.
    pub(crate) fn steps(
        &self,
        ranks: &[(u32, u32)],
        steps: &RangeInclusive<u64>,
        most: usize,
    ) -> Result<Table> {
        let recorded = recorded();
        let from = if self.is_plain {
            &recorded
        } else {
            "live_step"
        };
        let sql = format!(
            "select program, rank, step, slow, fast, time, first, last from {from}
             where program = ? and rank = ? and step between ? and ? order by step desc limit ?"
        );
        let mut rows = Vec::new();
        for (program, rank) in ranks {
            let values = [
                Value::from(i64::from(*program)),
                i64::from(*rank).into(),
                bound(*steps.start()).into(),
                bound(*steps.end()).into(),
                bound((most - rows.len().min(most)) as u64).into(),
            ];
            let mut found = self.rows(&sql, &values, STEPS.len())?;
            found.reverse();
            rows.append(&mut found);
        }
        Ok(Table {
            columns: STEPS,
            rows,
        })
    }

    /// Returns the totals of steps of programs in order. If there are more than `most` steps, the
    /// last steps are returned.
    pub(crate) fn totals(
        &self,
        program: Option<u32>,
        steps: &RangeInclusive<u64>,
        most: usize,
    ) -> Result<Table> {
        let of_ranks =
            "(select program, step, sum(slow + fast) calls, sum(slow) slow, sum(fast) fast,
            sum(time) time from recorded group by program, step)";
        let recorded = of_ranks.replace("recorded", &recorded());
        let from = if self.is_plain {
            &recorded
        } else {
            "live_total"
        };
        let which = program.map_or("", |_| "and program = ?");
        let sql = format!(
            "select program, step, calls, slow, fast, time from {from}
             where step between ? and ? {which} order by step desc, program desc limit ?"
        );
        let range = [*steps.start(), *steps.end()].map(|step| Value::from(bound(step)));
        let mut values = range.to_vec();
        values.extend(program.map(|program| Value::from(i64::from(program))));
        values.push(bound(most as u64).into());
        let mut rows = self.rows(&sql, &values, 6)?;
        rows.reverse();
        Ok(Table {
            columns: &["program", "step", "calls", "slow", "fast", "time"],
            rows,
        })
    }

    /// Returns functions of recorded anomalies, in descending order of time lost.
    pub(crate) fn functions(&self, filter: &Filter, most: usize) -> Result<Table> {
        let (conditions, mut values) = filter.sql();
        let sql = format!(
            "select program, function, count(*), sum(label = 'too fast'), sum(severity), max(score)
             from call where {conditions} group by program, function
             order by 5 desc, 3 desc, 2 limit ?"
        );
        values.push(bound(most as u64).into());
        Ok(Table {
            columns: &["program", "function", "anomalies", "fast", "time", "score"],
            rows: self.rows(&sql, &values, 6)?,
        })
    }

    /// Returns the time lost in recorded anomalies, or that of those that wait for others, by function and groups of `group` consecutive
    /// steps, which are named by their first step, in descending order of time lost.
    pub(crate) fn stacked(&self, group: u64, waits: bool, most: usize) -> Result<Table> {
        let time = if waits { WAITING } else { LOST };
        let sql = format!(
            "select program, function, step / ?1 * ?1, {time} from call join entry using (id)
             where kind = 'anomaly' and severity > 0 group by 1, 2, 3 having {time} > 0
             order by 4 desc, 3, 2 limit ?2"
        );
        let values = [Value::from(bound(group)), bound(most as u64).into()];
        Ok(Table {
            columns: &STACKED,
            rows: self.rows(&sql, &values, 4)?,
        })
    }

    /// Returns records with the columns of queries.
    pub(crate) fn records(&self, filter: &Filter, order: Order, most: usize) -> Result<Table> {
        let (conditions, mut values) = filter.sql();
        let sql = format!(
            "select id, kind, label, program, rank, thread, function, step, entry, runtime, score,
             severity from call where {conditions} order by {} limit ?",
            order.sql()
        );
        values.push(bound(most as u64).into());
        Ok(Table {
            columns: &[
                "id", "kind", "label", "program", "rank", "thread", "function", "step", "entry",
                "runtime", "score", "severity",
            ],
            rows: self.rows(&sql, &values, 12)?,
        })
    }

    /// Returns records with two of their quantities, latest first.
    pub(crate) fn samples(&self, filter: &Filter, [x, y]: [Axis; 2], most: usize) -> Result<Table> {
        let (conditions, mut values) = filter.sql();
        let sql = format!(
            "select id, kind, label, program, rank, step, {}, {} from call join entry using (id)
             where {conditions} order by id desc limit ?",
            x.sql(),
            y.sql()
        );
        values.push(bound(most as u64).into());
        Ok(Table {
            columns: &["id", "kind", "label", "program", "rank", "step", "x", "y"],
            rows: self.rows(&sql, &values, 8)?,
        })
    }

    /// Returns the stored line of an entry, or `None` if there is no such entry.
    pub(crate) fn entry(&self, id: i64) -> Result<Option<String>> {
        let sql = "select body from entry where id = ?";
        self.fail(
            self.database
                .query_row(sql, [id], |row| row.get(0))
                .optional(),
        )
    }

    /// Returns the line of the model that a record refers to. This is the last model with the
    /// number `number` before the record.
    pub(crate) fn model(&self, number: u64, record: i64) -> Result<Option<String>> {
        let from = if self.has_bodies { "live_body" } else { MODELS };
        let sql = format!(
            "select body from {from} found join entry on entry.id = found.entry
             where number = ? order by entry.id < ? desc, entry.id desc limit 1"
        );
        let ask = || {
            let mut statement = self.database.prepare_cached(&sql)?;
            let values = [bound(number), record];
            statement.query_row(values, |row| row.get(0)).optional()
        };
        self.fail(ask())
    }

    /// Calls `take` with each step of a rank with recorded anomalies.
    pub(crate) fn each_recorded_step(&self, mut take: impl FnMut(StepStats)) -> Result<()> {
        self.fail((|| {
            let mut statement = self
                .database
                .prepare(&format!("select * from {}", recorded()))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let count = |at| Ok::<u64, rusqlite::Error>(row.get::<_, i64>(at)?.cast_unsigned());
                let mut step = StepStats::default();
                (step.program, step.rank) = (row.get(0)?, row.get(1)?);
                step.step = count(2)?;
                (step.loss.too_slow, step.loss.too_fast) = (count(3)?, count(4)?);
                step.loss.calls = step.loss.anomalies();
                step.loss.time = Nanos(row.get(5)?);
                (step.start, step.end) = (Nanos(row.get(6)?), Nanos(row.get(7)?));
                step.loss.beyond_experience = count(8)?;
                step.loss.waiting = Nanos(row.get(9)?);
                take(step);
            }
            Ok(())
        })())
    }

    /// Returns the functions of recorded anomalies.
    pub(crate) fn recorded_functions(&self) -> Result<Vec<(FunctionName, FunctionStats)>> {
        let sql = format!(
            "select program, function, sum(label in ('too slow', 'beyond experience')),
            sum(label = 'too fast'), {LOST}, min(step), max(step),
            sum(label = 'beyond experience'), {WAITING} from call join entry using (id)
            where kind = 'anomaly' group by program, function order by 5 desc, 9 desc"
        );
        self.fail((|| {
            let mut statement = self.database.prepare(&sql)?;
            let rows = statement.query_map([], |row| {
                let count = |at| Ok::<u64, rusqlite::Error>(row.get::<_, i64>(at)?.cast_unsigned());
                let name = FunctionName {
                    program: row.get(0)?,
                    name: row.get::<_, String>(1)?.into(),
                };
                let mut stats = FunctionStats::default();
                (stats.loss.too_slow, stats.loss.too_fast) = (count(2)?, count(3)?);
                stats.loss.calls = stats.loss.anomalies();
                stats.loss.time = Nanos(row.get(4)?);
                stats.steps = Some((count(5)?, count(6)?));
                stats.loss.beyond_experience = count(7)?;
                stats.loss.waiting = Nanos(row.get(8)?);
                Ok((name, stats))
            })?;
            rows.collect()
        })())
    }
}

/// Checks that an untrusted database cannot make queries run for an unlimited time. A view in place
/// of a table or a trigger may never terminate. Returns the name of such an object, if there is
/// one.
fn distrust(database: &Connection) -> rusqlite::Result<Option<String>> {
    database.execute_batch(
        "pragma trusted_schema = off; pragma cell_size_check = on; pragma mmap_size = 0;",
    )?;
    let sql = r"select name from sqlite_schema where type <> 'index'
        and (tbl_name collate nocase in ('entry', 'call') or tbl_name like 'live\_%' escape '\')
        and (type <> 'table' or sql not like 'create table %') limit 1";
    database.query_row(sql, [], |row| row.get(0)).optional()
}

/// Returns the URI of a database that is not being written and has no separate log, otherwise
/// `None`. In a read-only folder, a database in log mode can only be read in this way.
fn unchanging(path: &Path) -> Option<String> {
    let mut log = path.as_os_str().to_os_string();
    log.push("-wal");
    if std::fs::metadata(log).is_ok_and(|log| log.len() > 0) {
        return None;
    }
    let path = std::path::absolute(path).ok()?;
    let mut uri = String::from("file:");
    for byte in path.to_str()?.bytes() {
        match byte {
            b'%' | b'?' | b'#' | 0x80.. => uri.push_str(&format!("%{byte:02x}")),
            _ => uri.push(char::from(byte)),
        }
    }
    uri.push_str("?immutable=1");
    Some(uri)
}

/// Converts a value to JSON.
fn json(value: ValueRef<'_>) -> Json {
    match value {
        ValueRef::Null | ValueRef::Blob(_) => Json::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_anomaly::provenance::Sqlite;

    #[test]
    fn an_unchanging_database_has_an_address() {
        let folder = std::env::temp_dir().join("perf-live 50%#?\u{e4}");
        std::fs::create_dir_all(&folder).expect("tests may write here");
        let path = folder.join("run.sqlite");
        drop(Sqlite::create(&path).expect("tests may write here"));
        let uri = unchanging(&path).expect("nothing is beside it");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let database = Connection::open_with_flags(uri, flags).expect("it is there");
        let count = database.query_row("select count(*) from call", [], |row| row.get::<_, i64>(0));
        assert_eq!(count.ok(), Some(0));
        std::fs::write(folder.join("run.sqlite-wal"), "a").expect("tests may write here");
        assert_eq!(unchanging(&path), None);
        // It is in the temporary folder, so a failure to remove it is harmless.
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn a_view_in_place_of_a_table_is_not_asked() {
        let path = std::env::temp_dir().join("perf-live-view-for-a-table.sqlite");
        let _ = std::fs::remove_file(&path);
        let mut store = Sqlite::create(&path).expect("tests may write here");
        // Additional objects of a user are allowed.
        let own = "create view mine as select id from call; create table notes (text)";
        store
            .within(|database| database.execute_batch(own))
            .expect("it is sound");
        drop(store);
        assert!(DatabaseReader::open(&path).is_ok());
        let endless = "drop table call; create view call as with recursive n(id) as
            (select 1 union all select id + 1 from n) select id from n";
        let database = Connection::open(&path).expect("it is there");
        database.execute_batch(endless).expect("it is sound");
        drop(database);
        let refused = DatabaseReader::open(&path).expect_err("its questions would not end");
        assert!(refused.to_string().contains("\"call\""), "{refused}");
        let _ = std::fs::remove_file(&path);
    }
}
