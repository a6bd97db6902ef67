//! The variables a session obeys, as typed values: made anew after each SET, read by every statement.
use std::sync::Arc;
use std::time::Duration;

use collation::{Charset, CollationId};
use datum::{Locale, SqlMode, TimeZone};
use engine::{AccessMode, Isolation};
use expression::{BindContext, StatementSettings};

use super::store::SessionVariables;

#[derive(Clone, Debug)]
pub struct Settings {
    pub sql_mode: SqlMode,
    pub autocommit: bool,
    pub isolation: Isolation,
    pub access: AccessMode,
    pub client_charset: Charset,
    /// `None` sends text as it is stored.
    pub results_charset: Option<Charset>,
    /// The number that result columns carry.
    pub results_collation: CollationId,
    pub connection_collation: CollationId,
    pub time_zone: TimeZone,
    pub lock_wait_timeout_s: u64,
    pub ddl_lock_step_ms: u64,
    pub row_lock_wait_timeout_s: u64,
    pub snapshot_isolation: bool,
    pub max_execution_time_ms: u64,
    /// Statements that take longer are counted as slow.
    pub long_query_time: Duration,
    /// The slow log has statements that looked at as many rows at least.
    pub min_examined_rows: u64,
    /// `optimizer_trace` is enabled.
    pub optimizer_trace: bool,
    pub profiling: bool,
    pub profiling_history_size: usize,
    pub select_limit: u64,
    /// How often a recursive table expression may iterate.
    pub recursion_depth_max: u64,
    /// How often a procedure may call itself.
    pub program_recursion_max: u64,
    pub auto_increment_increment: u64,
    pub auto_increment_offset: u64,
    pub group_concat_max_len: u64,
    pub default_week_format: u8,
    pub division_precision_increment: u8,
    pub block_encryption_mode: Arc<str>,
    pub locale: &'static Locale,
    pub max_allowed_packet: u64,
    pub max_error_count: usize,
    pub tracks_state_change: bool,
    pub keeps_notes: bool,
    pub safe_updates: bool,
    pub require_primary_key: bool,
    pub foreign_key_checks: bool,
    /// New foreign keys reference unique keys only.
    pub restricts_foreign_keys: bool,
    pub default_engine: Arc<str>,
    /// COMMIT and ROLLBACK: 0 nothing, 1 chain, 2 release.
    pub completion: Completion,
    pub server_collation: CollationId,
    /// `SET timestamp`: microseconds; 0 follows the clock.
    pub fixed_timestamp_us: i64,
    /// What a sort, a kept set of rows and the table of a hash join hold in memory before rows go to disk.
    pub sort_buffer_bytes: u64,
    pub tmp_table_bytes: u64,
    pub join_buffer_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Completion {
    #[default]
    Nothing,
    Chain,
    Release,
}

impl Settings {
    pub fn of(variables: &SessionVariables) -> Settings {
        let text = |name| variables.by_name(name).as_text();
        let number = |name| variables.by_name(name).as_unsigned();
        let truth = |name| variables.by_name(name).as_boolean();
        let results_charset = Charset::by_name(text("character_set_results"));
        Settings {
            sql_mode: SqlMode::parse(text("sql_mode")).unwrap_or(SqlMode::DEFAULT),
            autocommit: truth("autocommit"),
            isolation: isolation_named(text("transaction_isolation")),
            access: if truth("transaction_read_only") { AccessMode::ReadOnly } else { AccessMode::ReadWrite },
            client_charset: Charset::by_name(text("character_set_client")).unwrap_or(Charset::Utf8mb4),
            results_charset,
            results_collation: results_charset.unwrap_or(Charset::Utf8mb4).default_collation(),
            connection_collation: collation_named(text("collation_connection")),
            time_zone: TimeZone::parse(text("time_zone")).unwrap_or_else(TimeZone::utc),
            lock_wait_timeout_s: number("lock_wait_timeout"),
            ddl_lock_step_ms: number("ddl_lock_step"),
            row_lock_wait_timeout_s: number("innodb_lock_wait_timeout"),
            snapshot_isolation: truth("innodb_snapshot_isolation"),
            max_execution_time_ms: number("max_execution_time"),
            long_query_time: seconds(variables.by_name("long_query_time").as_double()),
            min_examined_rows: number("min_examined_row_limit"),
            optimizer_trace: variables.by_name("optimizer_trace").as_text().starts_with("enabled=on"),
            profiling: truth("profiling"),
            profiling_history_size: number("profiling_history_size") as usize,
            select_limit: number("sql_select_limit"),
            recursion_depth_max: number("cte_max_recursion_depth"),
            program_recursion_max: number("max_sp_recursion_depth"),
            auto_increment_increment: number("auto_increment_increment"),
            auto_increment_offset: number("auto_increment_offset"),
            group_concat_max_len: number("group_concat_max_len"),
            default_week_format: number("default_week_format") as u8,
            division_precision_increment: number("div_precision_increment") as u8,
            block_encryption_mode: Arc::from(text("block_encryption_mode")),
            locale: Locale::by_name(text("lc_time_names")).unwrap_or_else(Locale::english),
            max_allowed_packet: number("max_allowed_packet"),
            max_error_count: number("max_error_count") as usize,
            tracks_state_change: truth("session_track_state_change"),
            keeps_notes: truth("sql_notes"),
            safe_updates: truth("sql_safe_updates"),
            require_primary_key: truth("sql_require_primary_key"),
            foreign_key_checks: truth("foreign_key_checks"),
            restricts_foreign_keys: truth("restrict_fk_on_non_standard_key"),
            default_engine: Arc::from(text("default_storage_engine")),
            completion: match text("completion_type") {
                "CHAIN" => Completion::Chain,
                "RELEASE" => Completion::Release,
                _ => Completion::Nothing,
            },
            server_collation: collation_named(text("collation_server")),
            fixed_timestamp_us: 0,
            sort_buffer_bytes: number("sort_buffer_size"),
            tmp_table_bytes: number("tmp_table_size"),
            join_buffer_bytes: number("join_buffer_size"),
        }
    }

    /// The bits of `sql_mode` that the parser reads text by.
    pub fn parser_mode(&self, ignore_space: bool) -> parser::SqlMode {
        let mode = self.sql_mode;
        parser::SqlMode {
            ansi_quotes: mode.contains(SqlMode::ANSI_QUOTES),
            pipes_as_concat: mode.contains(SqlMode::PIPES_AS_CONCAT),
            no_backslash_escapes: mode.contains(SqlMode::NO_BACKSLASH_ESCAPES),
            high_not_precedence: mode.contains(SqlMode::HIGH_NOT_PRECEDENCE),
            ignore_space: ignore_space || mode.contains(SqlMode::IGNORE_SPACE),
            real_as_float: mode.contains(SqlMode::REAL_AS_FLOAT),
        }
    }

    /// The character set of statements once they are read: UTF-8, except that `binary` says nothing of what it holds.
    pub fn text_charset(&self) -> Charset {
        if self.client_charset == Charset::Binary { Charset::Binary } else { Charset::Utf8mb4 }
    }

    /// Whether literals may have other bytes than the statement's text has for them.
    pub fn recodes_literals(&self) -> bool {
        !self.client_charset.is_unicode() || !self.connection_collation.charset().is_unicode()
    }

    pub fn bind_context(&self) -> BindContext {
        BindContext {
            sql_mode: self.sql_mode,
            connection_collation: self.connection_collation,
            text_charset: self.text_charset(),
            client_charset: self.client_charset,
            max_allowed_packet: self.max_allowed_packet,
            division_precision_increment: self.division_precision_increment,
            functions: functions::MYSQL,
            ..BindContext::default()
        }
    }

    /// What expressions of one statement see; the caller fills in who and where.
    pub fn statement_settings(&self, now_utc_micros: i64) -> StatementSettings {
        StatementSettings {
            now_utc_micros,
            time_zone: self.time_zone.clone(),
            sql_mode: self.sql_mode,
            connection_collation: self.connection_collation,
            max_allowed_packet: self.max_allowed_packet,
            group_concat_max_len: self.group_concat_max_len,
            default_week_format: self.default_week_format,
            division_precision_increment: self.division_precision_increment,
            block_encryption_mode: self.block_encryption_mode.clone(),
            locale: self.locale,
            ..StatementSettings::default()
        }
    }
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX)
}

pub fn isolation_named(name: &str) -> Isolation {
    match name {
        "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        "READ-COMMITTED" => Isolation::ReadCommitted,
        "SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

pub fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        Isolation::ReadCommitted => "READ-COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE-READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

fn collation_named(name: &str) -> CollationId {
    CollationId::by_name(name).unwrap_or(CollationId::UTF8MB4_0900_AI_CI)
}
