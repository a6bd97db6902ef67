//! What a source is asked before it sends events: who it is, and which form of events it may send.
use binlog::Checksum;
use client::{Connection, Error};

/// What a source says of itself.
pub(crate) struct Source {
    pub server_id: u32,
    /// Empty for one that has none.
    pub uuid: String,
    pub is_mariadb: bool,
    /// Of the events, until a format description says otherwise.
    pub checksum: Checksum,
}

/// Why a source cannot be followed: an error number of replicas with its text.
pub(crate) struct Refusal {
    pub number: u16,
    pub message: String,
}

const ER_REPLICA_FATAL_ERROR: u16 = 13117;

async fn one_value(connection: &mut Connection, sql: &str) -> Result<String, Error> {
    let answer = connection.ask(sql).await?;
    Ok(if answer.rows() > 0 && answer.columns() > 0 { answer.cell(0, 0).text() } else { String::new() })
}

/// Asks the source; `own` is this server's id and UUID.
pub(crate) async fn greet(
    connection: &mut Connection,
    own: (u32, &str),
    heartbeat_ms: u64,
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
    let mut settings = vec![
        format!("SET @source_heartbeat_period = {0}, @master_heartbeat_period = {0}", heartbeat_ms * 1_000_000),
        "SET @source_binlog_checksum = @@GLOBAL.binlog_checksum, @master_binlog_checksum = @@GLOBAL.binlog_checksum"
            .to_owned(),
    ];
    settings.push(match is_mariadb {
        true => "SET @mariadb_slave_capability = 4".to_owned(),
        false => format!("SET @replica_uuid = '{0}', @slave_uuid = '{0}'", own.1),
    });
    for sql in &settings {
        connection.ask(sql).await?;
    }
    let checksum = match one_value(connection, "SELECT @@GLOBAL.binlog_checksum").await?.as_str() {
        "CRC32" => Checksum::Crc32,
        _ => Checksum::None,
    };
    Ok(Ok(Source { server_id, uuid, is_mariadb, checksum }))
}
