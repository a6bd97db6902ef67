//! What a source is asked before it sends events: who it is, and which form of events it may send.
use binlog::{Checksum, MariaDbPosition};
use client::{Connection, Error};

/// What a source says of itself.
pub(crate) struct Source {
    pub server_id: u32,
    /// Empty for one that has none.
    pub uuid: String,
    pub is_mariadb: bool,
    /// It is told what is applied (semi-synchronous replication), and has been told so.
    pub is_told: bool,
    /// Of the events, until a format description says otherwise.
    pub checksum: Checksum,
}

/// What a replica wants of its source.
#[derive(Clone, Copy)]
pub(crate) struct Wishes {
    pub heartbeat_ms: u64,
    /// It would tell what it has applied.
    pub confirms: bool,
}

/// `@slave_connect_state`: a source that is MariaDB sends what is behind it.
pub(crate) async fn connect_by_domains(
    connection: &mut Connection,
    applied: &MariaDbPosition,
) -> Result<(), Error> {
    for sql in [
        format!("SET @slave_connect_state = '{applied}'"),
        "SET @slave_gtid_strict_mode = 0".to_owned(),
        "SET @slave_gtid_ignore_duplicates = 0".to_owned(),
    ] {
        connection.ask(&sql).await?;
    }
    Ok(())
}

/// Why a source cannot be followed: an error number of replicas with its text.
pub(crate) struct Refusal {
    pub number: u16,
    pub message: String,
}

const ER_REPLICA_FATAL_ERROR: u16 = 13117;
const ER_UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;

async fn one_value(connection: &mut Connection, sql: &str) -> Result<String, Error> {
    let answer = connection.ask(sql).await?;
    Ok(if answer.rows() > 0 && answer.columns() > 0 { answer.cell(0, 0).text() } else { String::new() })
}

/// Whether the source has semi-synchronous replication, whatever it is called there.
async fn knows_semi_sync(connection: &mut Connection) -> Result<bool, Error> {
    for name in ["rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled"] {
        match one_value(connection, &format!("SELECT @@GLOBAL.{name}")).await {
            Ok(_) => return Ok(true),
            Err(Error::Server { code: ER_UNKNOWN_SYSTEM_VARIABLE, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Asks the source; `own` is this server's id and UUID.
pub(crate) async fn greet(
    connection: &mut Connection,
    own: (u32, &str),
    wishes: Wishes,
) -> Result<Result<Source, Refusal>, Error> {
    let is_mariadb = connection.version().contains("MariaDB");
    let server_id = one_value(connection, "SELECT @@GLOBAL.server_id").await?.parse().unwrap_or(0);
    let uuid = match is_mariadb {
        true => String::new(),
        false => one_value(connection, "SELECT @@GLOBAL.server_uuid").await?,
    };
    if server_id == own.0 {
        let message = format!(
            "Fatal error: The replica I/O thread stops because source and replica have equal MySQL server ids ({server_id}); \
             these ids must be different for replication to work (or the --replicate-same-server-id option must be \
             used on replica but this does not always make sense; please check the manual before using it)."
        );
        return Ok(Err(Refusal { number: ER_REPLICA_FATAL_ERROR, message }));
    }
    if !uuid.is_empty() && uuid.eq_ignore_ascii_case(own.1) {
        let message = "Fatal error: The replica I/O thread stops because source and replica have equal MySQL server UUIDs; \
                       these UUIDs must be different for replication to work."
            .to_owned();
        return Ok(Err(Refusal { number: ER_REPLICA_FATAL_ERROR, message }));
    }
    if is_mariadb {
        let format = one_value(connection, "SELECT @@GLOBAL.binlog_format").await?;
        if format != "ROW" {
            let message = format!(
                "The replica I/O thread stops because the source is MariaDB with binlog_format = {format}: only rows can be applied. \
                 SET GLOBAL binlog_format = ROW there, and begin behind what was logged before."
            );
            return Ok(Err(Refusal { number: ER_REPLICA_FATAL_ERROR, message }));
        }
    }
    let mut settings = vec![
        format!("SET @source_heartbeat_period = {0}, @master_heartbeat_period = {0}", wishes.heartbeat_ms * 1_000_000),
        "SET @source_binlog_checksum = @@GLOBAL.binlog_checksum, @master_binlog_checksum = @@GLOBAL.binlog_checksum"
            .to_owned(),
    ];
    settings.push(match is_mariadb {
        true => "SET @mariadb_slave_capability = 4".to_owned(),
        false => format!("SET @replica_uuid = '{0}', @slave_uuid = '{0}'", own.1),
    });
    let is_told = wishes.confirms && knows_semi_sync(connection).await?;
    if is_told {
        settings.push("SET @rpl_semi_sync_replica = 1, @rpl_semi_sync_slave = 1".to_owned());
    }
    for sql in &settings {
        connection.ask(sql).await?;
    }
    let checksum = match one_value(connection, "SELECT @@GLOBAL.binlog_checksum").await?.as_str() {
        "CRC32" => Checksum::Crc32,
        _ => Checksum::None,
    };
    Ok(Ok(Source { server_id, uuid, is_mariadb, is_told, checksum }))
}
