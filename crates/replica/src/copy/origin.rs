//! The server that is copied: whether it can be, its moment, and what it is asked.
//!
//! Invariant: all that is read of it after `hold` is of one moment, whose place in its binary log is known; only the moment itself
//! waits for the changes that are under way there.
use client::{Answer, Connection, Dsn, Error};

const ER_PARSE_ERROR: u16 = 1064;
/// The oldest version whose events and definitions are read.
const OLDEST_MAJOR: u32 = 8;

/// What a source says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// As it greets.
    pub version: String,
    /// Its own.
    pub server_id: u32,
    /// Its transactions have identifiers.
    pub has_gtids: bool,
}

/// Where the copy's moment is in the source's binary log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    pub file: String,
    pub position: u64,
    /// What was executed.
    pub gtids: String,
}

/// A connection to the source, with its answers as texts.
pub(super) struct Origin {
    pub connection: Connection,
    place: String,
}

impl Origin {
    pub async fn connect(dsn: &Dsn) -> Result<Origin, String> {
        let place = dsn.to_string();
        let connection = Connection::connect(dsn).await.map_err(|error| match error {
            Error::Connect { .. } => format!("the source cannot be reached: {error}"),
            other => format!("the source {place}: {other}"),
        })?;
        Ok(Origin { connection, place })
    }

    pub fn failed(&self, error: &Error) -> String {
        format!("the source {}: {error}", self.place)
    }

    /// Runs a statement, with the error as a text.
    pub async fn ask(&mut self, sql: &str) -> Result<Answer, String> {
        self.connection.ask(sql).await.map_err(|error| format!("{} ({sql})", self.failed(&error)))
    }

    /// The rows of a query as texts; NULL is empty.
    pub async fn rows(&mut self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let answer = self.ask(sql).await?;
        let row = |row| (0..answer.columns()).map(|column| answer.cell(row, column).text()).collect();
        Ok((0..answer.rows()).map(row).collect())
    }

    async fn value(&mut self, sql: &str) -> Result<String, String> {
        Ok(self.rows(sql).await?.into_iter().flatten().next().unwrap_or_default())
    }

    /// The value of a variable; empty for one that the source does not have.
    async fn variable(&mut self, name: &str) -> Result<String, String> {
        let rows = self.rows(&format!("SHOW GLOBAL VARIABLES LIKE '{name}'")).await?;
        Ok(rows.into_iter().next().and_then(|mut row| row.pop()).unwrap_or_default())
    }

    /// Asks whether it can be followed.
    pub async fn look(&mut self) -> Result<Facts, String> {
        let version = self.connection.version().to_owned();
        let place = self.place.clone();
        let refuse = |why: &str| Err(format!("the source {place} {why}"));
        if version.contains("MariaDB") {
            return refuse(&format!(
                "is MariaDB ({version}), which is not copied by this command: load a dump \
                 (mariadb-dump --single-transaction --gtid --master-data=2 --routines --events --all-databases), set \
                 gtid_slave_pos, and follow it with CHANGE REPLICATION SOURCE TO"
            ));
        }
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok()).unwrap_or(0);
        if major < OLDEST_MAJOR {
            return refuse(&format!(
                "has the version {version}: sources are MySQL 8.0 and later, and Evenkeel"
            ));
        }
        if self.value("SELECT @@GLOBAL.log_bin").await? != "1" {
            return refuse("writes no binary log: start it with --log-bin");
        }
        let format = self.variable("binlog_format").await?;
        if !format.is_empty() && format != "ROW" {
            return refuse(&format!("has binlog_format={format}: SET GLOBAL binlog_format = ROW there"));
        }
        if self.variable("lower_case_table_names").await? == "1" {
            return refuse("has lower_case_table_names=1; this server has 0 alone");
        }
        let server_id = self.value("SELECT @@GLOBAL.server_id").await?.parse().unwrap_or(0);
        let has_gtids = self.variable("gtid_mode").await? == "ON";
        Ok(Facts { version, server_id, has_gtids })
    }

    /// Holds the moment: from here on this connection reads what was committed then. The second answer is whether definitions are
    /// held too.
    pub async fn hold(&mut self) -> Result<(Moment, bool), String> {
        for sql in [
            "SET NAMES utf8mb4",
            "SET SESSION sql_mode = '', SESSION time_zone = '+00:00', SESSION net_write_timeout = 3600, \
             SESSION wait_timeout = 86400, SESSION max_execution_time = 0, SESSION sql_quote_show_create = 1",
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        ] {
            self.ask(sql).await?;
        }
        // Absent in some versions, and only for how definitions and sizes are told.
        for sql in [
            "SET SESSION information_schema_stats_expiry = 0",
            "SET SESSION print_identified_with_as_hex = ON",
            "SET SESSION show_gipk_in_create_table_and_information_schema = ON",
        ] {
            let _ = self.connection.ask(sql).await;
        }
        // Without the right to it a table that is altered meanwhile ends the copy.
        let holds_definitions = self.connection.ask("LOCK INSTANCE FOR BACKUP").await.is_ok();
        self.ask("FLUSH TABLES WITH READ LOCK").await?;
        self.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").await?;
        let status = match self.connection.ask("SHOW BINARY LOG STATUS").await {
            Err(error) if error.code() == Some(ER_PARSE_ERROR) => self.ask("SHOW MASTER STATUS").await?,
            other => other.map_err(|error| self.failed(&error))?,
        };
        if status.rows() == 0 {
            return Err(format!("the source {} does not say where its binary log ends", self.place));
        }
        let moment = Moment {
            file: status.cell(0, 0).text(),
            position: status.cell(0, 1).int() as u64,
            gtids: status.cell(0, 4).text().replace(['\n', ' '], ""),
        };
        self.ask("UNLOCK TABLES").await?;
        Ok((moment, holds_definitions))
    }
}
