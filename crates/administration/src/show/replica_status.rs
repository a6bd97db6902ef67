//! SHOW REPLICA STATUS: every field of MySQL 9.7, a row for each channel.
use std::sync::Arc;

use binlog::GtidSet;
use datum::{SqlError, Value};
use instance::replication::{
    Channel, ChannelStatus, Failure, FilterKind, FilterRule, Part, ReceiverState, SourceSettings,
};
use instance::unix_now_us;

use crate::caller::Caller;
use crate::replication::ER_REPLICA_CHANNEL_DOES_NOT_EXIST;
use session::settle_applied;
use session::{MadeColumn, MadeRows};

const FIELDS: [&str; 59] = [
    "Replica_IO_State",
    "Source_Host",
    "Source_User",
    "Source_Port",
    "Connect_Retry",
    "Source_Log_File",
    "Read_Source_Log_Pos",
    "Relay_Log_File",
    "Relay_Log_Pos",
    "Relay_Source_Log_File",
    "Replica_IO_Running",
    "Replica_SQL_Running",
    "Replicate_Do_DB",
    "Replicate_Ignore_DB",
    "Replicate_Do_Table",
    "Replicate_Ignore_Table",
    "Replicate_Wild_Do_Table",
    "Replicate_Wild_Ignore_Table",
    "Last_Errno",
    "Last_Error",
    "Skip_Counter",
    "Exec_Source_Log_Pos",
    "Relay_Log_Space",
    "Until_Condition",
    "Until_Log_File",
    "Until_Log_Pos",
    "Source_SSL_Allowed",
    "Source_SSL_CA_File",
    "Source_SSL_CA_Path",
    "Source_SSL_Cert",
    "Source_SSL_Cipher",
    "Source_SSL_Key",
    "Seconds_Behind_Source",
    "Source_SSL_Verify_Server_Cert",
    "Last_IO_Errno",
    "Last_IO_Error",
    "Last_SQL_Errno",
    "Last_SQL_Error",
    "Replicate_Ignore_Server_Ids",
    "Source_Server_Id",
    "Source_UUID",
    "Source_Info_File",
    "SQL_Delay",
    "SQL_Remaining_Delay",
    "Replica_SQL_Running_State",
    "Source_Retry_Count",
    "Source_Bind",
    "Last_IO_Error_Timestamp",
    "Last_SQL_Error_Timestamp",
    "Source_SSL_Crl",
    "Source_SSL_Crlpath",
    "Retrieved_Gtid_Set",
    "Executed_Gtid_Set",
    "Auto_Position",
    "Replicate_Rewrite_DB",
    "Channel_Name",
    "Source_TLS_Version",
    "Source_public_key_path",
    "Get_Source_public_key",
];

/// The rules that stand beside each other.
const SHOWN_FILTERS: [FilterKind; 6] = [
    FilterKind::DoDatabase,
    FilterKind::IgnoreDatabase,
    FilterKind::DoTable,
    FilterKind::IgnoreTable,
    FilterKind::WildDoTable,
    FilterKind::WildIgnoreTable,
];

fn shown_filter(channel: &Channel, kind: FilterKind) -> String {
    channel.filters.lock().rule(kind).map_or_else(String::new, FilterRule::shown)
}

impl Caller<'_> {
    pub(super) async fn show_replica_status(&self, channel: Option<&str>) -> Result<MadeRows, SqlError> {
        let mut columns: Vec<MadeColumn> =
            FIELDS.iter().map(|name| MadeColumn::NullableText(name, 512)).collect();
        columns.push(MadeColumn::NullableText("Network_Namespace", 64));
        let mut rows = MadeRows::new(&columns);
        let channels = match channel {
            None => self.instance().replication.channels(),
            Some(name) => match self.instance().replication.channel(name) {
                Some(channel) => vec![channel],
                None if name.is_empty() => Vec::new(),
                None => return Err(ER_REPLICA_CHANNEL_DOES_NOT_EXIST.with(&[&name])),
            },
        };
        let mut executed = self.instance().replication.executed();
        if let Some(log) = self.instance().binary_log() {
            executed.add_all(&log.executed());
        }
        for channel in channels {
            rows.push(self.channel_row(&channel, &executed));
        }
        settle_applied(self.instance()).await;
        Ok(rows)
    }

    fn channel_row(&self, channel: &Arc<Channel>, executed: &GtidSet) -> Vec<Value> {
        let settings = channel.settings.lock().clone();
        let status = channel.status.lock().clone();
        let applied = channel.applied();
        let until = channel.until.lock().clone();
        let applier = &status.applier_failure;
        let receives = match status.receiver {
            ReceiverState::On => "Yes",
            ReceiverState::Connecting => "Connecting",
            ReceiverState::Off => "No",
        };
        let applies = channel.is_running(Part::Applier);
        let mut row = vec![
            text(status.receiver_doing),
            text(&settings.host),
            text(&settings.user),
            number(u64::from(settings.port)),
            number(settings.connect_retry),
            text(if status.read_file.is_empty() { &applied.file } else { &status.read_file }),
            number(if status.read_position == 0 { applied.position } else { status.read_position }),
            none(),
            number(0),
            text(&applied.file),
            text(receives),
            yes(applies),
        ];
        row.extend(SHOWN_FILTERS.map(|kind| text(&shown_filter(channel, kind))));
        row.extend([
            number(u64::from(applier.number)),
            text(&applier.message),
            number(0),
            number(applied.position),
            number(channel.relay.bytes() as u64),
            text(until.name()),
            text(until.place().0),
            number(until.place().1),
            yes(settings.ssl),
            text(&settings.ssl_ca),
        ]);
        row.extend((0..4).map(|_| none()));
        row.extend(self.state_cells(&settings, &status, applies));
        row.extend([
            text(&executed.to_string()),
            number(u64::from(settings.auto_position)),
            text(&shown_filter(channel, FilterKind::RewriteDatabase)),
            text(&channel.name),
            none(),
            none(),
            number(u64::from(settings.get_public_key)),
            none(),
        ]);
        row
    }

    /// From the seconds behind the source to the identifiers that were retrieved.
    fn state_cells(&self, settings: &SourceSettings, status: &ChannelStatus, applies: bool) -> Vec<Value> {
        let (receiver, applier) = (&status.receiver_failure, &status.applier_failure);
        let ids: Vec<String> = settings.ignore_server_ids.iter().map(u64::to_string).collect();
        let now = unix_now_us() / 1_000_000;
        let behind = match (applies, status.receiver, status.event_second) {
            (true, ReceiverState::On, 0) => number(0),
            (true, _, second) if second > 0 => number(now.saturating_sub(u64::from(second))),
            _ => Value::Null,
        };
        let remaining = match status.delayed_until {
            0 => Value::Null,
            until => number(until.saturating_sub(now)),
        };
        vec![
            behind,
            yes(settings.ssl_verify),
            number(u64::from(receiver.number)),
            text(&receiver.message),
            number(u64::from(applier.number)),
            text(&applier.message),
            text(&ids.join(",")),
            number(u64::from(status.source_id)),
            text(&status.source_uuid),
            text("mysql.slave_master_info"),
            number(settings.delay),
            remaining,
            text(status.applier_doing),
            number(settings.retry_count),
            none(),
            self.failure_moment(receiver),
            self.failure_moment(applier),
            none(),
            none(),
            text(&status.retrieved.to_string()),
        ]
    }

    /// As the error log has moments in MySQL: `yymmdd hh:mm:ss`.
    fn failure_moment(&self, failure: &Failure) -> Value {
        let moment = i64::try_from(failure.at_us / 1_000_000 * 1_000_000).ok();
        let instant = moment.filter(|us| *us > 0).and_then(datum::Timestamp::from_unix_micros);
        let Some(instant) = instant else { return Value::bytes("") };
        let shown = Value::DateTime(instant.in_zone(&self.settings().time_zone));
        let mut text = Vec::new();
        shown.write_text(&datum::ColumnType::new(datum::TypeKind::DateTime { fsp: 0 }), &mut text);
        let digits: Vec<u8> = text.iter().copied().skip(2).filter(|byte| *byte != b'-').collect();
        Value::Bytes(digits)
    }
}

fn text(text: &str) -> Value {
    Value::bytes(text)
}

fn number(number: u64) -> Value {
    Value::bytes(number.to_string())
}

fn yes(set: bool) -> Value {
    Value::bytes(if set { "Yes" } else { "No" })
}

fn none() -> Value {
    Value::bytes("")
}
