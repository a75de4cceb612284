//! SQLite.
use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, params};

use super::Round;
use crate::{
    meter::Meter,
    workload::{HEAD, Workload},
};

/// Records of one transaction.
const BATCH: u64 = 8_192;

pub(super) fn measure(workload: &Workload, records: u64, home: &Path) -> Result<Round> {
    let meter = Meter::start()?;
    let mut database = open(&home.join("records"))?;
    database
        .execute("CREATE TABLE records(number INTEGER PRIMARY KEY, stream INTEGER, arrival INTEGER, body BLOB)", [])?;
    let mut record = vec![0; workload.size()];
    let mut next = 0;
    while next < records {
        let transaction = database.transaction()?;
        let mut insert = transaction.prepare("INSERT INTO records VALUES(?, 1, 1, ?)")?;
        for number in next..records.min(next + BATCH) {
            let (head, body) = record.split_at_mut(HEAD.min(workload.size()));
            head.copy_from_slice(&workload.head(number)[..head.len()]);
            body.copy_from_slice(workload.body(number));
            insert.execute(params![number as i64, record])?;
        }
        drop(insert);
        transaction.commit()?;
        next = records.min(next + BATCH);
    }
    let append = meter.spent()?;

    // What a killed process would leave: the log is there, and the index of it, which was in memory, is not.
    for (from, to) in [("records", "left"), ("records-wal", "left-wal")] {
        fs::copy(home.join(from), home.join(to))?;
    }
    drop(database);
    let meter = Meter::start()?;
    let database = open(&home.join("left"))?;
    let found: i64 = database.query_row("SELECT max(number) FROM records", [], |row| row.get(0))?;
    let recover = meter.spent()?;
    ensure!(found + 1 == records as i64, "not everything was recovered");

    let meter = Meter::start()?;
    let mut select = database.prepare("SELECT number, body FROM records ORDER BY number")?;
    let mut rows = select.query([])?;
    let (mut read, mut wrong) = (0, 0);
    while let Some(row) = rows.next()? {
        let (number, body) = (row.get_ref(0)?.as_i64()?, row.get_ref(1)?.as_blob()?);
        wrong += u64::from(number != read as i64 || !workload.is_record(read, body));
        read += 1;
    }
    Ok(Round { records, append, read: meter.spent()?, recover, errors: wrong + records.abs_diff(read) })
}

fn open(path: &Path) -> Result<Connection> {
    let database = Connection::open(path).context("SQLite does not open")?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    Ok(database)
}
