//! `evenkeel restore-table`: one table as it was at a moment, of a backup and the archive, as a new table of a running server.
//!
//! The backup is restored into a working directory, which is opened inside of this process, and the rows go to the server as any
//! client's would. Invariant: the new table has its name only when it is whole; the working directory goes at the end, however that
//! comes but by a kill. Called by `main`.
use std::path::PathBuf;

use archive::Restored;
use client::{Connection, Dsn};

use super::table_copy::{SETTINGS, Source, TableCopy, TableName, Target};
use crate::options::name_and_value;
use crate::restore::{RestorePlan, make, moment_of};

/// What was asked for.
#[derive(Debug, PartialEq)]
pub struct RestoreTablePlan {
    restore: RestorePlan,
    dsn: Dsn,
    table: TableName,
    new: TableName,
}

fn parse_name(text: &str) -> Result<TableName, String> {
    match text.split_once('.') {
        Some((database, table)) if !database.is_empty() && !table.is_empty() => {
            Ok(TableName { database: database.to_owned(), table: table.to_owned() })
        }
        _ => Err(format!("restore-table: '{text}' is not DATABASE.TABLE")),
    }
}

impl RestoreTablePlan {
    /// The arguments behind `restore-table`.
    pub fn parse(arguments: &[String]) -> Result<RestoreTablePlan, String> {
        let (mut dsn, mut table, mut new, mut work) = (None, None, None, PathBuf::from("."));
        let mut of_restore = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (name, value) = name_and_value("restore-table", word, &mut words)?;
            match name {
                "--dsn" => dsn = Some(Dsn::parse(value).map_err(|error| error.to_string())?),
                "--table" => table = Some(parse_name(value)?),
                "--as" => new = Some(parse_name(value)?),
                "--work" => work = PathBuf::from(value),
                "--from" | "--increment" | "--key-file" | "--archive" | "--until" => {
                    of_restore.extend([name.to_owned(), value.to_owned()]);
                }
                _ => {
                    return Err(format!(
                        "restore-table takes --dsn, --table, --as, --work and what restore takes but --to, not '{name}'"
                    ));
                }
            }
        }
        let (Some(dsn), Some(table), Some(new)) = (dsn, table, new) else {
            return Err(
                "restore-table needs --dsn DSN, --table DATABASE.TABLE and --as DATABASE.TABLE".to_owned()
            );
        };
        let to = work.join(format!("evenkeel-restore-table-{}", std::process::id()));
        of_restore.extend(["--to".to_owned(), to.display().to_string()]);
        Ok(RestoreTablePlan { restore: RestorePlan::parse(&of_restore)?, dsn, table, new })
    }
}

/// Does it and says what came out.
pub fn restore_table(plan: &RestoreTablePlan) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("restore-table: {error}"))?;
    // Before the long part.
    runtime.block_on(refuse_existing(plan))?;
    let restored = make(&plan.restore)?;
    let copied = runtime.block_on(copy(plan));
    let removed = std::fs::remove_dir_all(&plan.restore.to);
    let rows = copied?;
    println!("{}", describe(plan, rows, &restored));
    removed.map_err(|error| format!("cannot remove {}: {error}", plan.restore.to.display()))
}

fn describe(plan: &RestoreTablePlan, rows: u64, restored: &Restored) -> String {
    format!(
        "{} has the {rows} rows of {} as of {}",
        plan.new.quoted(),
        plan.table.quoted(),
        moment_of(restored)
    )
}

async fn connect(plan: &RestoreTablePlan) -> Result<Connection, String> {
    let connected = Connection::connect(&plan.dsn).await;
    let mut target = connected.map_err(|error| format!("cannot connect to {}: {error}", plan.dsn))?;
    for statement in SETTINGS {
        target.ask(statement).await.map_err(|error| error.to_string())?;
    }
    Ok(target)
}

async fn refuse_existing(plan: &RestoreTablePlan) -> Result<(), String> {
    let mut target = connect(plan).await?;
    let new = plan.new.quoted();
    match target.ask(&format!("SELECT 1 FROM {new} LIMIT 0")).await {
        Ok(_) => Err(format!("{new} is there already: name a new table with --as")),
        Err(client::Error::Server { code: NO_SUCH_TABLE, .. }) => {
            target.quit().await;
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// ER_NO_SUCH_TABLE.
const NO_SUCH_TABLE: u16 = 1146;

/// Answers how many rows there are.
async fn copy(plan: &RestoreTablePlan) -> Result<u64, String> {
    let mut source = Source::open(&plan.restore.to).await.map_err(|error| error.message)?;
    let copied = copy_from(plan, &mut source).await;
    source.close().await;
    copied
}

async fn copy_from(plan: &RestoreTablePlan, source: &mut Source) -> Result<u64, String> {
    source.look_at(&plan.table).await.map_err(|error| error.message)?;
    let mut target = Target::Client(Box::new(connect(plan).await?));
    let loading = TableName { table: format!("{}_restoring", plan.new.table), ..plan.new.clone() };
    let copying = TableCopy { table: &plan.table, new: &plan.new, loading: &loading, progress: &|_| Ok(()) };
    let copied = copying.run(source, &mut target).await.map_err(|error| error.message);
    target.close().await;
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            RestoreTablePlan::parse(&words)
        };
        let whole =
            ["--dsn=mysql://u@h", "--table", "a.b", "--as=c.d", "--from", "x", "--work=/w", "--until=7"];
        let plan = parse(&whole).expect("valid");
        assert_eq!(plan.new.quoted(), "`c`.`d`");
        assert_eq!(plan.restore.from, PathBuf::from("x"));
        assert!(plan.restore.to.starts_with("/w"));
        for left_out in [0, 1, 3, 4] {
            let mut words = whole.to_vec();
            words.remove(left_out);
            assert!(parse(&words).is_err(), "{words:?}");
        }
        assert!(parse(&[&whole[..], &["--to=z"]].concat()).is_err());
        assert!(parse(&["--dsn=mysql://u@h", "--table=a", "--as=c.d", "--from=x"]).is_err());
    }
}
