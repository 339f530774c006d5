//! [`Sqlite`]: store of entries in an SQLite database, with indices for queries of records.

mod query;

use super::lines::failed;
use super::{Query, Revision, Store};
use crate::Result;
use crate::provenance::json::{read, write};
use crate::provenance::record::{Entry, Record};
use perf_core::Cancelled;
use query::{bound, kind, sql};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use std::path::{Path, PathBuf};

/// SQLite database. Table `entry` holds each entry as the text that [`Lines`](super::Lines) writes.
/// Table `call` holds the columns that queries select by. It has indices on program, rank, thread,
/// function and step, and in descending order of score and of severity.
///
/// ```sql
/// select function, count(*), sum(severity) / 1e9 from call
/// where kind = 'anomaly' group by function order by 3 desc;
/// ```
#[derive(Debug)]
pub struct Sqlite {
    /// Path of the database.
    path: PathBuf,
    /// Connection.
    connection: Connection,
    /// Number of unreadable entries, and the first error; `None` if all were readable.
    unreadable: Option<(u64, String)>,
}

/// `PKAN`: application id of the database.
const APPLICATION: i64 = 0x504b_414e;
const VERSION: i64 = 1;

const SCHEMA: &str = "
create table entry (id integer primary key, body text not null);
create table call (
  id integer primary key references entry (id),
  kind text not null, label text not null,
  program integer not null, rank integer not null, thread integer not null,
  function text not null, step integer not null,
  entry integer not null, runtime integer not null,
  score real, severity integer not null);
create index call_place on call (program, rank, thread);
create index call_rank on call (rank, thread);
create index call_thread on call (thread);
create index call_function on call (function, severity);
create index call_step on call (step);
create index call_score on call (score desc, severity desc);
create index call_severity on call (severity desc, score desc);
";

impl Sqlite {
    /// Creates a new database, and replaces an existing database of this kind.
    ///
    /// # Errors
    /// Returns [`Error::Store`](crate::Error::Store) if the database cannot be created, or if a
    /// file exists that is neither empty nor a database of this kind.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let is_empty = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.len() == 0);
        if path.exists() {
            // A file of another application must not be overwritten.
            if !is_empty(path) {
                Self::open(path)?;
            }
            std::fs::remove_file(path).map_err(|error| failed(path, &error))?;
        }
        let store = Self::connect(path)?;
        let made = store.connection.execute_batch(&format!(
            "pragma application_id = {APPLICATION}; pragma user_version = {VERSION}; {SCHEMA}"
        ));
        made.map_err(|error| failed(path, &error))?;
        Ok(store)
    }

    /// Opens an existing database, to read or to append.
    ///
    /// # Errors
    /// Returns [`Error::Store`](crate::Error::Store) if the database does not exist, belongs to
    /// another application, or has a view or trigger on its tables, whose queries may never
    /// terminate.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        std::fs::File::open(path).map_err(|error| failed(path, &error))?;
        let store = Self::connect(path)?;
        let pragma = |name: &str| {
            let found = store
                .connection
                .query_row(&format!("pragma {name}"), [], |row| row.get::<_, i64>(0));
            found.map_err(|error| failed(path, &error))
        };
        let refused = |what: String| Err(failed(path, &std::io::Error::other(what)));
        match (pragma("application_id")?, pragma("user_version")?) {
            (APPLICATION, VERSION) => {}
            (APPLICATION, version) => {
                return refused(format!(
                    "the database is of version {version}, expected {VERSION}"
                ));
            }
            _ => return refused("the database holds no provenance".into()),
        }
        match store.fail(stranger(&store.connection))? {
            Some(name) => refused(format!("{name:?} is not the table that a recorder makes")),
            None => Ok(store),
        }
    }

    /// Runs `work` on the connection to the database, in the transaction of [`put`](Store::put),
    /// for additional tables. Changes of these tables are stored by the next
    /// [`commit`](Store::commit). Their names must differ from `entry` and `call`.
    ///
    /// ```
    /// use perf_anomaly::provenance::{Sqlite, Store};
    /// # let file = std::env::temp_dir().join(format!("perf-anomaly-within-{}.sqlite", std::process::id()));
    /// let mut store = Sqlite::create(&file)?;
    /// store.within(|database| database.execute_batch("create table mine (number integer)"))?;
    /// store.within(|database| database.execute("insert into mine values (?)", [7]))?;
    /// store.commit()?;
    /// store.within(|database| database.execute("insert into mine values (?)", [8]))?;
    /// store.roll_back()?;
    /// let sum = |database: &rusqlite::Connection| {
    ///     database.query_row("select sum(number) from mine", [], |row| row.get::<_, i64>(0))
    /// };
    /// assert_eq!(store.within(sum)?, 7);
    /// # drop(store);
    /// # std::fs::remove_file(&file).ok();
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns errors of `work` as [`Error::Store`](crate::Error::Store).
    pub fn within<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.begin()?;
        self.fail(work(&self.connection))
    }

    /// Undoes all changes since the last [`commit`](Store::commit).
    ///
    /// # Errors
    /// Returns [`Error::Store`](crate::Error::Store) if that fails.
    pub fn roll_back(&mut self) -> Result<()> {
        if self.is_writing() {
            self.fail(self.connection.execute_batch("rollback"))
        } else {
            Ok(())
        }
    }

    fn connect(path: &Path) -> Result<Self> {
        let connection = Connection::open(path).map_err(|error| failed(path, &error))?;
        Ok(Sqlite {
            path: path.into(),
            connection,
            unreadable: None,
        })
    }

    fn fail<T>(&self, outcome: rusqlite::Result<T>) -> Result<T> {
        outcome.map_err(|error| failed(&self.path, &error))
    }

    /// Returns `true` if a transaction is open. The database is asked because some errors end a
    /// transaction.
    fn is_writing(&self) -> bool {
        !self.connection.is_autocommit()
    }

    fn begin(&self) -> Result<()> {
        if self.is_writing() {
            Ok(())
        } else {
            self.fail(self.connection.execute_batch("begin"))
        }
    }

    fn put_columns(&self, id: i64, record: &Record) -> Result<()> {
        let sql = "insert or replace into call values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.fail((|| {
            let mut statement = self.connection.prepare_cached(sql)?;
            let columns: [Value; 12] = [
                id.into(),
                kind(record.kind).to_string().into(),
                record.label.name().to_string().into(),
                i64::from(record.program).into(),
                i64::from(record.rank).into(),
                i64::from(record.thread).into(),
                record.function.clone().into(),
                bound(record.step).into(),
                record.call.entry.0.into(),
                record.runtime.0.into(),
                if record.score.is_finite() {
                    record.score.into()
                } else {
                    Value::Null
                },
                record.severity.0.into(),
            ];
            statement.execute(params_from_iter(columns)).map(drop)
        })())
    }

    /// Returns number and text of the entries that a statement selects.
    fn select(&self, sql: &str, values: &[Value]) -> Result<Vec<(i64, String)>> {
        self.fail((|| {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map(params_from_iter(values), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
            rows.collect()
        })())
    }

    fn parse(&mut self, id: i64, body: &str) -> Option<Entry> {
        match read(body) {
            Ok(entry) => Some(entry),
            Err(what) => {
                let place = format!("entry {id}: {what}");
                let (count, _) = self.unreadable.get_or_insert((0, place));
                *count += 1;
                None
            }
        }
    }

    fn page(&self, after: i64) -> Result<Vec<(i64, String)>> {
        let sql = "select id, body from entry where id > ? order by id limit 1000";
        self.select(sql, &[after.into()])
    }
}

/// Returns the name of an object, such as a view or trigger, that replaces or acts on a table of
/// the store; `None` if there is none. The database may come from an untrusted source, and queries
/// must take time only for rows.
fn stranger(database: &Connection) -> rusqlite::Result<Option<String>> {
    database.execute_batch("pragma trusted_schema = off; pragma cell_size_check = on;")?;
    let sql = "select name from sqlite_schema where type <> 'index'
        and tbl_name collate nocase in ('entry', 'call')
        and (type <> 'table' or sql not like 'create table %') limit 1";
    database.query_row(sql, [], |row| row.get(0)).optional()
}

impl Store for Sqlite {
    fn put(&mut self, entry: &Entry) -> Result<u64> {
        self.begin()?;
        let mut body = String::new();
        write(entry, &mut body);
        let sql = "insert into entry (body) values (?)";
        let put = self.connection.prepare_cached(sql);
        self.fail(put.and_then(|mut statement| statement.execute([&body])))?;
        if let Entry::Call(record) = entry {
            self.put_columns(self.connection.last_insert_rowid(), record)?;
        }
        // Returns the size of a line, so that budgets have the same meaning as for a file of lines.
        Ok(body.len() as u64 + 1)
    }

    fn commit(&mut self) -> Result<()> {
        if self.is_writing() {
            self.fail(self.connection.execute_batch("commit"))
        } else {
            Ok(())
        }
    }

    fn each(&mut self, take: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()> {
        self.unreadable = None;
        let mut last = i64::MIN;
        loop {
            let page = self.page(last)?;
            let Some((end, _)) = page.last() else {
                return Ok(());
            };
            last = *end;
            for (id, body) in &page {
                if let Some(entry) = self.parse(*id, body) {
                    take(entry)?;
                }
            }
        }
    }

    fn query(&mut self, query: &Query) -> Result<Vec<Record>> {
        self.unreadable = None;
        let (sql, values) = sql(query);
        let mut records = Vec::new();
        for (id, body) in self.select(&sql, &values)? {
            if let Some(Entry::Call(record)) = self.parse(id, &body) {
                records.push(*record);
            }
        }
        Ok(records)
    }

    fn revise(&mut self, judge: &mut dyn FnMut(&Record) -> Revision) -> Result<u64> {
        self.commit()?;
        self.begin()?;
        let outcome = self.revise_all(judge);
        if outcome.is_err() {
            // The first error is reported.
            let _ = self.roll_back();
            return outcome;
        }
        self.commit()?;
        outcome
    }

    fn unreadable(&self) -> Option<(u64, String)> {
        self.unreadable.clone()
    }
}

impl Sqlite {
    fn revise_all(&mut self, judge: &mut dyn FnMut(&Record) -> Revision) -> Result<u64> {
        let (mut last, mut removed) = (i64::MIN, 0);
        loop {
            let page = self.page(last)?;
            let Some((end, _)) = page.last() else {
                return Ok(removed);
            };
            last = *end;
            for (id, body) in &page {
                let Some(Entry::Call(record)) = self.parse(*id, body) else {
                    continue;
                };
                match judge(&record) {
                    Revision::Keep => {}
                    Revision::Stop => return Err(Cancelled.into()),
                    Revision::Remove => {
                        removed += 1;
                        for sql in [
                            "delete from call where id = ?",
                            "delete from entry where id = ?",
                        ] {
                            self.fail(self.connection.execute(sql, [id]))?;
                        }
                    }
                    Revision::Replace(record) => {
                        let mut body = String::new();
                        write(&Entry::Call(record.clone()), &mut body);
                        let sql = "update entry set body = ? where id = ?";
                        let values: [Value; 2] = [body.into(), (*id).into()];
                        let updated = self.connection.execute(sql, params_from_iter(values));
                        self.fail(updated)?;
                        self.put_columns(*id, &record)?;
                    }
                }
            }
        }
    }
}
