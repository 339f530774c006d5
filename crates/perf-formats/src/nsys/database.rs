//! [`Database`]: read-only access to an untrusted SQLite database, which lists its tables and
//! columns and passes on the requested columns of each [`Row`].

use crate::read_context::ReadContext;
use crate::{Error, Result};
use perf_core::Place;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// An open database.
#[derive(Debug)]
pub(super) struct Database {
    /// Connection to SQLite.
    connection: Connection,
    /// Name of the file, for diagnostics.
    pub(super) file: Arc<str>,
    /// Size of the file in bytes, an upper bound on the rows of a table.
    length: u64,
    /// Columns of each plain table.
    tables: BTreeMap<String, BTreeSet<String>>,
    /// SQLite's message for a damaged database that it can only read with integrity checks
    /// disabled.
    pub(super) damage: Option<String>,
}

/// Reason for which a table ended.
#[derive(Debug)]
pub(super) enum End {
    /// The last row was read.
    Whole,
    /// Damage, with the message of SQLite.
    Damaged(String),
}

/// A row with the values of the requested columns.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// Row of SQLite.
    row: &'a rusqlite::Row<'a>,
    /// Names of the requested columns.
    columns: &'a [&'a str],
}

/// A column with an unexpected value: its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bad<'a>(pub(super) &'a str);

impl<'a> Row<'a> {
    /// Returns the number of the row.
    pub(super) fn id(&self) -> i64 {
        match self.row.get_ref(0) {
            Ok(ValueRef::Integer(id)) => id,
            _ => 0,
        }
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.row.get_ref(column + 1).unwrap_or(ValueRef::Null)
    }

    fn bad(&self, column: usize) -> Bad<'a> {
        Bad(self.columns[column])
    }

    /// Returns a required number.
    pub(super) fn number(&self, column: usize) -> Result<i64, Bad<'a>> {
        self.optional(column)?.ok_or_else(|| self.bad(column))
    }

    /// Returns an optional number.
    pub(super) fn optional(&self, column: usize) -> Result<Option<i64>, Bad<'a>> {
        match self.value(column) {
            ValueRef::Integer(number) => Ok(Some(number)),
            ValueRef::Null => Ok(None),
            _ => Err(self.bad(column)),
        }
    }

    /// Returns an optional text.
    pub(super) fn text(&self, column: usize) -> Result<Option<&[u8]>, Bad<'a>> {
        match self.value(column) {
            ValueRef::Text(text) => Ok(Some(text)),
            ValueRef::Null => Ok(None),
            _ => Err(self.bad(column)),
        }
    }
}

impl Database {
    /// Opens a file and lists its tables.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file: Arc<str> = path.to_string_lossy().into();
        let place = || Place::file(Arc::clone(&file));
        let failed = |source| Error::Io {
            place: place(),
            source,
        };
        // Report a folder or a missing file as a system error, not as a format error.
        let length = std::fs::File::open(path).and_then(|file| Ok(file.metadata()?.len()));
        let length = length.map_err(failed)?;
        let path = std::path::absolute(path).map_err(failed)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let is_none = |error: rusqlite::Error| Error::Malformed {
            place: place().record("sqlite_master"),
            expected: "an SQLite database".into(),
            got: said(&error),
        };
        let connection = Connection::open_with_flags(uri(&path), flags).map_err(is_none)?;
        let distrust = "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;";
        connection.execute_batch(distrust).map_err(is_none)?;
        let (tables, damage) = match tables(&connection) {
            Ok(tables) => (tables, None),
            Err(error) => {
                // A truncated database has fewer pages than it declares. With this pragma, SQLite
                // reads the available ones.
                let salvage = connection.execute_batch("PRAGMA writable_schema=ON;");
                let tables = salvage.and_then(|()| tables(&connection));
                (tables.map_err(is_none)?, Some(said(&error)))
            }
        };
        Ok(Database {
            connection,
            file,
            length,
            tables,
            damage,
        })
    }

    /// Returns `true` if the table exists.
    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Returns `true` if the name of a table begins with `start`.
    pub(super) fn has_like(&self, start: &str) -> bool {
        self.tables.keys().any(|table| table.starts_with(start))
    }

    /// Returns `true` if the table has the column.
    pub(super) fn has_column(&self, table: &str, column: &str) -> bool {
        let columns = self.tables.get(table);
        columns.is_some_and(|columns| columns.contains(column))
    }

    /// Iterates over the names of all tables.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Returns a place in the database.
    pub(super) fn place(&self, record: impl Into<Arc<str>>) -> Place {
        Place::file(Arc::clone(&self.file)).record(record)
    }

    /// Returns the number of rows of a table, or 0 if it is unknown. It is at most the number of
    /// bytes of the file, because shared or cyclic pages can simulate any number of rows.
    pub(super) fn count(&self, table: &str) -> u64 {
        let from = quoted(table);
        let question = format!("SELECT count(*) FROM (SELECT 1 FROM {from} LIMIT ?)");
        let most = i64::try_from(self.length).unwrap_or(i64::MAX);
        let count = self
            .connection
            .query_row(&question, (most,), |row| row.get(0));
        let count: i64 = count.unwrap_or(0);
        u64::try_from(count).unwrap_or(0)
    }

    /// Passes the rows of a table to `tell`, in storage order. A missing column has no values, and
    /// a missing table has no rows.
    pub(super) fn rows(
        &self,
        table: &str,
        columns: &[&str],
        options: &ReadContext,
        mut tell: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<End> {
        if !self.has(table) {
            return Ok(End::Whole);
        }
        let listed = columns.iter().map(|column| {
            if self.has_column(table, column) {
                quoted(column)
            } else {
                "NULL".into()
            }
        });
        let listed = listed.collect::<Vec<_>>().join(", ");
        let from = quoted(table);
        let prepare = |id: &str| {
            self.connection
                .prepare(&format!("SELECT {id}, {listed} FROM {from}"))
        };
        let damaged = |error: rusqlite::Error| Ok(End::Damaged(said(&error)));
        // A table may be declared without row ids.
        let mut statement = match prepare("rowid").or_else(|_| prepare("NULL")) {
            Ok(statement) => statement,
            Err(error) => return damaged(error),
        };
        let mut rows = match statement.query(()) {
            Ok(rows) => rows,
            Err(error) => return damaged(error),
        };
        let mut count = 0u64;
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(End::Whole),
                Err(error) => return damaged(error),
            };
            count += 1;
            if count > self.length {
                // Pages can refer to each other in a cycle.
                return Ok(End::Damaged("more rows than the file can hold".into()));
            }
            if count.is_multiple_of(4096) {
                options.advance(0, 0)?;
            }
            tell(&Row { row, columns })?;
        }
    }
}

/// Returns the message of an error without the SQL statement.
fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => {
            message.clone().unwrap_or_else(|| code.to_string())
        }
        other => other.to_string(),
    }
}

/// Quotes a name for SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Converts a path to a URI that marks the database as immutable.
fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?mode=ro&immutable=1"
}

/// Returns the plain tables with their columns. Views and virtual tables are excluded, because
/// reading them would execute code from the file.
fn tables(connection: &Connection) -> rusqlite::Result<BTreeMap<String, BTreeSet<String>>> {
    let mut names = connection.prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' LIMIT 4096",
    )?;
    let names = names.query_map((), |row| row.get::<_, String>(0))?;
    let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?)")?;
    let mut tables = BTreeMap::new();
    for name in names {
        let name = name?;
        let own = columns.query_map([&name], |row| row.get::<_, String>(0))?;
        let own = own.collect::<rusqlite::Result<BTreeSet<_>>>()?;
        tables.insert(name, own);
    }
    Ok(tables)
}
