//! Variables of the program as a whole: network, limits, files, logs, replication.
//!
//! Each row: name, scope, default (and limits), then what the server does with it. Rows without a word at the
//! end are accepted and shown but change no result.
use super::super::definition::Scope::{Both, Global, Session};
use super::super::definition::{Definition, boolean, choice, double, text, unsigned};

pub(super) const SERVER: &[Definition] = &[
    boolean("activate_all_roles_on_login", Global, false)
        .obeyed("All granted roles are active after login, not the default roles only."),
    text("authentication_policy", Global, "*,,").fixed(),
    text("audit_log_exclude_accounts", Global, "").obeyed("Accounts that are not in the audit log."),
    text("audit_log_exclude_commands", Global, "")
        .obeyed("Kinds of statements that are not in the audit log."),
    text("audit_log_file", Global, "audit.log").obeyed("The file of the audit log."),
    text("audit_log_include_accounts", Global, "").obeyed("The only accounts in the audit log."),
    text("audit_log_include_commands", Global, "").obeyed("The only kinds of statements in the audit log."),
    choice("audit_log_policy", Global, "NONE", &["ALL", "LOGINS", "QUERIES", "NONE"])
        .obeyed("What the audit log has."),
    boolean("auto_generate_certs", Global, true).read_only(),
    boolean("automatic_sp_privileges", Global, true)
        .obeyed("Whether who creates a routine may run and change it, and its grants go with it."),
    unsigned("back_log", Global, 151, 0, 65535).read_only(),
    text("basedir", Global, "/usr/").read_only(),
    text("bind_address", Global, "127.0.0.1").read_only(),
    unsigned("binlog_cache_size", Global, 32768, 4096, 18446744073709547520),
    choice("binlog_checksum", Global, "CRC32", &["NONE", "CRC32"]).fixed(),
    boolean("binlog_expire_logs_auto_purge", Global, true),
    unsigned("binlog_expire_logs_seconds", Global, 2592000, 0, 4294967295)
        .obeyed("Files of the binary log whose last transaction is older are removed."),
    choice("binlog_format", Both, "ROW", &["MIXED", "STATEMENT", "ROW"]).fixed(),
    boolean("binlog_order_commits", Global, true),
    choice("binlog_row_image", Both, "FULL", &["MINIMAL", "NOBLOB", "FULL"])
        .obeyed("Which columns the binary log has of a changed row."),
    choice("binlog_row_metadata", Global, "MINIMAL", &["MINIMAL", "FULL"])
        .obeyed("What the binary log says of the columns of a table."),
    boolean("binlog_rows_query_log_events", Both, false)
        .obeyed("Whether the binary log has the texts of statements beside their rows."),
    unsigned("binlog_stmt_cache_size", Global, 32768, 4096, 18446744073709547520),
    boolean("binlog_transaction_compression", Both, false),
    unsigned("binlog_transaction_dependency_history_size", Global, 10_000_000, 1, 100_000_000).obeyed(
        "How many keys of rows the binary log remembers to tell which transactions depend on others.",
    ),
    choice(
        "block_encryption_mode",
        Both,
        "aes-128-ecb",
        &[
            "aes-128-ecb",
            "aes-192-ecb",
            "aes-256-ecb",
            "aes-128-cbc",
            "aes-192-cbc",
            "aes-256-cbc",
            "aes-128-cfb1",
            "aes-192-cfb1",
            "aes-256-cfb1",
            "aes-128-cfb8",
            "aes-192-cfb8",
            "aes-256-cfb8",
            "aes-128-cfb128",
            "aes-192-cfb128",
            "aes-256-cfb128",
            "aes-128-ofb",
            "aes-192-ofb",
            "aes-256-ofb",
        ],
    )
    .obeyed("The mode of AES_ENCRYPT and AES_DECRYPT."),
    unsigned("bulk_insert_buffer_size", Both, 8388608, 0, u64::MAX),
    boolean("caching_sha2_password_auto_generate_rsa_keys", Global, true).read_only(),
    unsigned("caching_sha2_password_digest_rounds", Global, 10000, 5000, 4095000),
    boolean("check_proxy_users", Global, false),
    choice("concurrent_insert", Global, "AUTO", &["NEVER", "AUTO", "ALWAYS"]),
    unsigned("connect_timeout", Global, 10, 2, 31536000).obeyed("Seconds to wait for the handshake."),
    text("datadir", Global, "").read_only(),
    unsigned("ddl_lock_step", Both, 50, 1, 31536000000).obeyed(
        "Milliseconds for which a definition that waits for a table first keeps later statements waiting.",
    ),
    choice("delay_key_write", Global, "ON", &["OFF", "ON", "ALL"]),
    text("disabled_storage_engines", Global, "").read_only().fixed(),
    boolean("disconnect_on_expired_password", Global, true).read_only(),
    choice("enforce_gtid_consistency", Global, "OFF", &["OFF", "ON", "WARN"]).fixed(),
    unsigned("eq_range_index_dive_limit", Both, 200, 0, 4294967295),
    choice("event_scheduler", Global, "ON", &["OFF", "ON", "DISABLED"])
        .obeyed("Whether events are executed; DISABLED is for the whole life of the server."),
    text("external_user", Session, "").read_only(),
    boolean("flush", Global, false).fixed(),
    unsigned("flush_time", Global, 0, 0, 31536000),
    text("ft_boolean_syntax", Global, "+ -><()~*:\"\"&|").fixed(),
    unsigned("ft_max_word_len", Global, 84, 10, 84).read_only(),
    unsigned("ft_min_word_len", Global, 4, 1, 84).read_only().fixed(),
    text("ft_stopword_file", Global, "(built-in)").read_only(),
    boolean("general_log", Global, false).obeyed("Whether commands of clients are logged as they arrive."),
    text("general_log_file", Global, "").obeyed("The file of the general log."),
    unsigned("generated_random_password_length", Both, 20, 5, 255)
        .obeyed("Characters of passwords that the server makes."),
    text("gtid_executed", Global, "").read_only(),
    choice("gtid_mode", Global, "OFF", &["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]).at_start(),
    text("gtid_next", Session, "AUTOMATIC").obeyed("The identifier of the session's next transaction."),
    text("gtid_slave_pos", Global, "")
        .obeyed("Of each domain of a MariaDB source the transaction behind which replication goes on."),
    text("gtid_purged", Global, "").obeyed("Transactions of other servers whose dumps were loaded."),
    text("have_compress", Global, "NO").read_only(),
    text("have_dynamic_loading", Global, "NO").read_only(),
    text("have_geometry", Global, "NO").read_only(),
    text("have_openssl", Global, "YES").read_only(),
    text("have_profiling", Global, "YES").read_only(),
    text("have_query_cache", Global, "NO").read_only(),
    text("have_rtree_keys", Global, "NO").read_only(),
    text("have_ssl", Global, "YES").read_only(),
    text("have_statement_timeout", Global, "YES").read_only(),
    text("have_symlink", Global, "DISABLED").read_only(),
    unsigned("host_cache_size", Global, 0, 0, 65536),
    text("hostname", Global, "localhost").read_only(),
    text("init_file", Global, "").read_only(),
    unsigned("interactive_timeout", Both, 28800, 1, 31536000)
        .obeyed("Seconds an idle interactive client may stay."),
    text("internal_tmp_mem_storage_engine", Both, "TempTable"),
    unsigned("join_buffer_size", Both, 262144, 128, 18446744073709551488)
        .obeyed("What a hash join holds in memory before rows go to tmpdir, if tmp_table_size is not more."),
    boolean("keep_files_on_create", Both, false),
    unsigned("key_buffer_size", Global, 8388608, 0, 18446744073709547520),
    boolean("large_files_support", Global, true).read_only(),
    boolean("large_pages", Global, true)
        .read_only()
        .obeyed("Whether memory pages of 2 MB are asked for, for the program's code and the buffer pool."),
    text("license", Global, "Apache-2.0").read_only().obeyed("The licence of this program."),
    boolean("local_infile", Global, false)
        .obeyed("Clients may be asked for files of their own: LOAD DATA LOCAL."),
    unsigned("lock_wait_timeout", Both, 31536000, 1, 31536000).obeyed("Seconds to wait for a metadata lock."),
    boolean("log_bin", Global, false).read_only().at_start(),
    boolean("log_bin_trust_function_creators", Global, false),
    text("log_error", Global, "stderr").read_only(),
    choice(
        "log_error_services",
        Global,
        "log_filter_internal; log_sink_internal",
        &["log_filter_internal; log_sink_internal", "log_filter_internal; log_sink_json"],
    )
    .obeyed("The form of the error log: text, or lines of JSON."),
    text("log_error_suppression_list", Global, "").fixed(),
    unsigned("log_error_verbosity", Global, 2, 1, 3)
        .obeyed("1 errors, 2 warnings too, 3 notes too, in the error log."),
    text("log_output", Global, "FILE")
        .obeyed("Where the general log and the slow log go: FILE, TABLE, NONE."),
    boolean("log_queries_not_using_indexes", Global, false)
        .obeyed("The slow log has statements that read a table whole, too."),
    boolean("log_replica_updates", Global, false).read_only().fixed(),
    boolean("log_slow_admin_statements", Global, false)
        .obeyed("The slow log has ALTER, ANALYZE, OPTIMIZE and the like, too."),
    boolean("log_slow_extra", Global, false).obeyed("The slow log tells handler counters and times, too."),
    unsigned("log_slow_rate_limit", Global, 1, 1, 1000)
        .obeyed("The slow log has one of so many sessions or statements."),
    choice("log_slow_rate_type", Global, "session", &["session", "query"])
        .obeyed("What log_slow_rate_limit counts."),
    choice("log_slow_verbosity", Global, "standard", &["standard", "full"])
        .obeyed("full: the slow log tells plans and waits, too."),
    unsigned("log_throttle_queries_not_using_indexes", Global, 0, 0, u64::MAX).fixed(),
    choice("log_timestamps", Global, "UTC", &["UTC", "SYSTEM"]).fixed(),
    double("long_query_time", Both, 10.0, 0.0, 4.7e18)
        .obeyed("Statements that take more seconds are slow: counted, and logged with slow_query_log."),
    boolean("low_priority_updates", Both, false),
    text("mandatory_roles", Global, "").obeyed("Roles that every account is granted."),
    unsigned("connection_memory_chunk_size", Both, 8192, 1, 536870912)
        .obeyed("The steps in which Global_connection_memory counts a session."),
    unsigned("connection_memory_limit", Both, u64::MAX, 2097152, u64::MAX)
        .obeyed("What a session without CONNECTION_ADMIN may hold in memory before it is closed."),
    unsigned("global_connection_memory_limit", Global, u64::MAX, 16777216, u64::MAX).obeyed(
        "What the sessions that are tracked may hold in memory before the one that asks for more is closed.",
    ),
    boolean("global_connection_memory_tracking", Both, false)
        .obeyed("Whether the session counts in Global_connection_memory and its limit."),
    unsigned("max_allowed_packet", Both, 67108864, 1024, 1073741824)
        .obeyed("The largest statement or parameter that a client may send."),
    unsigned("max_binlog_cache_size", Global, 18446744073709547520, 4096, 18446744073709547520)
        .obeyed("The most bytes of events of one transaction; a quarter of the redo log at most."),
    unsigned("max_binlog_size", Global, 1073741824, 4096, 1073741824)
        .obeyed("A file of the binary log that is longer is followed by the next one."),
    unsigned("max_connect_errors", Global, 100, 1, u64::MAX),
    unsigned("max_connections", Global, 151, 1, 100000).obeyed("How many clients may be connected."),
    unsigned("max_delayed_threads", Both, 20, 0, 16384),
    unsigned("max_digest_length", Global, 1024, 0, 1048576).read_only(),
    unsigned("max_heap_table_size", Both, 16777216, 16384, 18446744073709550592),
    unsigned("max_insert_delayed_threads", Both, 20, 0, 16384),
    unsigned("max_join_size", Both, u64::MAX, 1, u64::MAX).fixed(),
    unsigned("max_length_for_sort_data", Both, 4096, 4, 8388608),
    unsigned("max_prepared_stmt_count", Global, 16382, 0, 4194304)
        .obeyed("How many prepared statements may exist in all sessions."),
    unsigned("max_seeks_for_key", Both, u64::MAX, 1, u64::MAX),
    unsigned("max_sort_length", Both, 1024, 4, 8388608).fixed(),
    unsigned("max_sp_recursion_depth", Both, 0, 0, 255),
    unsigned("max_user_connections", Both, 0, 0, 4294967295)
        .obeyed("Sessions of one account at a time; 0 is without a limit."),
    unsigned("max_write_lock_count", Global, u64::MAX, 1, u64::MAX),
    unsigned("min_examined_row_limit", Both, 0, 0, u64::MAX)
        .obeyed("Statements that look at fewer rows are not in the slow log."),
    unsigned("myisam_sort_buffer_size", Both, 8388608, 4096, u64::MAX),
    unsigned("net_buffer_length", Both, 16384, 1024, 1048576),
    unsigned("net_read_timeout", Both, 30, 1, 31536000).obeyed("Seconds to wait for the rest of a packet."),
    unsigned("net_retry_count", Both, 10, 1, u64::MAX),
    unsigned("net_write_timeout", Both, 60, 1, 31536000)
        .obeyed("Seconds to wait for a client that does not read."),
    unsigned("ngram_token_size", Global, 2, 1, 10).read_only(),
    boolean("offline_mode", Global, false).fixed(),
    boolean("old_alter_table", Both, false),
    boolean("partial_revokes", Global, false)
        .obeyed("REVOKE ON a database takes from what is granted on *.* too."),
    unsigned("password_history", Global, 0, 0, 4294967295)
        .obeyed("How many of the last passwords may not come again."),
    boolean("password_require_current", Global, false)
        .obeyed("Changing the own password takes the present one."),
    unsigned("password_reuse_interval", Global, 0, 0, 4294967295)
        .obeyed("Days for which a password may not come again."),
    boolean("performance_schema", Global, true).read_only(),
    text("pid_file", Global, "").read_only(),
    text("plugin_dir", Global, "").read_only(),
    boolean("print_identified_with_as_hex", Both, false)
        .obeyed("SHOW CREATE USER writes hashes that cannot be printed in hexadecimal digits."),
    unsigned("port", Global, 3306, 0, 65535).read_only(),
    unsigned("preload_buffer_size", Both, 32768, 1024, 1073741824),
    text("protocol_compression_algorithms", Global, "zlib,zstd,uncompressed"),
    unsigned("protocol_version", Global, 10, 0, 4294967295).read_only().fixed(),
    text("proxy_user", Session, "").read_only(),
    unsigned("query_alloc_block_size", Both, 8192, 1024, 4294966272),
    unsigned("query_cache_size", Global, 0, 0, 0).read_only(),
    text("query_cache_type", Global, "OFF").read_only(),
    unsigned("query_prealloc_size", Both, 8192, 8192, 18446744073709550592),
    unsigned("range_alloc_block_size", Both, 4096, 4096, 4294966272),
    unsigned("range_optimizer_max_mem_size", Both, 8388608, 0, u64::MAX),
    unsigned("read_buffer_size", Both, 131072, 8192, 2147479552),
    boolean("read_only", Global, false).obeyed("Whether only administrators may change data."),
    unsigned("read_rnd_buffer_size", Both, 262144, 1, 2147483647),
    unsigned("regexp_stack_limit", Global, 8000000, 0, 2147483647),
    boolean("relay_log_purge", Global, true).fixed(),
    choice("replica_exec_mode", Global, "STRICT", &["STRICT", "IDEMPOTENT"])
        .obeyed("Whether a row that is there, or is missing, against what a source says stops replication."),
    unsigned("replica_net_timeout", Global, 60, 1, 31536000)
        .obeyed("Seconds without a sign of a source after which it is asked anew."),
    unsigned("replica_parallel_workers", Global, 4, 0, 1024)
        .obeyed("How many transactions of a source may be applied side by side, from the next start of the applier on."),
    boolean("replica_preserve_commit_order", Global, true).fixed(),
    unsigned("replica_read_ahead_size", Global, 4 << 20, 0, 64 << 20)
        .obeyed("Bytes of received events whose pages are read before they are applied; 0 reads none ahead."),
    text("replica_skip_errors", Global, "OFF")
        .read_only()
        .obeyed("Errors of a source's changes that do not stop replication."),
    unsigned("replica_transaction_retries", Global, 10, 0, u64::MAX)
        .obeyed("How often a transaction of a source is tried again after a deadlock."),
    boolean("rpl_semi_sync_replica_enabled", Global, false)
        .obeyed("Whether a source is told how far its transactions are applied and durable here."),
    boolean("rpl_semi_sync_source_enabled", Global, false)
        .obeyed("Whether commits wait until replicas have confirmed their events."),
    unsigned("rpl_semi_sync_source_timeout", Global, 10000, 0, 4294967295)
        .obeyed("Milliseconds that a commit waits for replicas at most."),
    unsigned("rpl_semi_sync_source_wait_for_replica_count", Global, 1, 1, 65535)
        .obeyed("How many replicas have to confirm a commit."),
    boolean("rpl_semi_sync_source_wait_no_replica", Global, true)
        .obeyed("Whether commits wait also while fewer replicas are connected."),
    choice("rpl_semi_sync_source_wait_point", Global, "AFTER_SYNC", &["AFTER_SYNC", "AFTER_COMMIT"])
        .obeyed("Whether a commit that waits for replicas is hidden from others."),
    boolean("require_secure_transport", Global, false).fixed(),
    choice("resultset_metadata", Session, "FULL", &["NONE", "FULL"]).fixed(),
    text("secure_file_priv", Global, "NULL")
        .read_only()
        .obeyed("The folder in which statements may read and write files: NULL for none, empty for all."),
    unsigned("select_into_buffer_size", Both, 131072, 8192, 2147479552)
        .obeyed("What SELECT INTO OUTFILE gathers before it writes."),
    boolean("select_into_disk_sync", Both, false)
        .obeyed("Whether SELECT INTO OUTFILE makes each piece durable before the next."),
    unsigned("select_into_disk_sync_delay", Both, 0, 0, 31536000),
    unsigned("server_id", Global, 1, 0, 4294967295)
        .obeyed("Tells servers that replicate from each other apart."),
    unsigned("server_id_bits", Global, 32, 0, 32).fixed(),
    text("server_uuid", Global, "").read_only(),
    boolean("sha256_password_proxy_users", Global, false),
    boolean("skip_external_locking", Global, true).read_only().fixed(),
    boolean("skip_name_resolve", Global, true).read_only().fixed(),
    boolean("skip_networking", Global, false).read_only().fixed(),
    boolean("skip_show_database", Global, false).read_only().fixed(),
    boolean("skip_replica_start", Global, false).at_start(),
    unsigned("slow_launch_time", Global, 2, 0, 31536000),
    boolean("slow_query_log", Global, false).obeyed("Whether slow statements are logged."),
    text("slow_query_log_file", Global, "").obeyed("The file of the slow log."),
    text("socket", Global, "").read_only(),
    unsigned("sort_buffer_size", Both, 262144, 32768, u64::MAX)
        .obeyed("What a sort holds in memory before it writes sorted runs to tmpdir."),
    boolean("source_verify_checksum", Global, false),
    text("ssl_ca", Global, "")
        .obeyed("Whose certificates clients may show; read at the start and by ALTER INSTANCE RELOAD TLS."),
    text("ssl_capath", Global, "").obeyed("A directory of more of them."),
    text("ssl_cert", Global, "").obeyed("The certificate of the server."),
    text("ssl_cipher", Global, ""),
    text("ssl_crl", Global, "").obeyed("Revoked certificates of clients."),
    text("ssl_crlpath", Global, "").obeyed("A directory of more of them."),
    text("ssl_fips_mode", Global, "OFF").read_only(),
    text("ssl_key", Global, "").obeyed("The key of the certificate of the server."),
    unsigned("stored_program_cache", Global, 256, 16, 524288),
    boolean("super_read_only", Global, false).obeyed("Whether nobody may change data; includes read_only."),
    unsigned("sync_binlog", Global, 1, 0, 4294967295),
    unsigned("sync_relay_log", Global, 10000, 0, 4294967295),
    unsigned("table_definition_cache", Global, 2000, 400, 524288),
    unsigned("table_open_cache", Global, 4000, 1, 524288),
    unsigned("table_open_cache_instances", Global, 16, 1, 64).read_only(),
    unsigned("tablespace_definition_cache", Global, 256, 256, 524288),
    text("terminology_use_previous", Both, "NONE"),
    unsigned("thread_cache_size", Global, 9, 0, 16384),
    text("thread_handling", Global, "one-thread-per-connection").read_only(),
    unsigned("thread_stack", Global, 1048576, 131072, 18446744073709550592).read_only(),
    text("tls_ciphersuites", Global, ""),
    text("tls_version", Global, "TLSv1.2,TLSv1.3"),
    unsigned("tmp_table_size", Both, 16777216, 1024, u64::MAX)
        .obeyed("What groups and other kept rows hold in memory before they go to tmpdir."),
    text("tmpdir", Global, "/tmp").read_only().obeyed("Where temporary files are."),
    text("version", Global, "").read_only(),
    text("version_comment", Global, "").read_only(),
    text("version_compile_machine", Global, "x86_64").read_only(),
    text("version_compile_os", Global, "Linux").read_only(),
    text("version_compile_zlib", Global, "").read_only(),
    unsigned("wait_timeout", Both, 28800, 1, 31536000).obeyed("Seconds an idle client may stay."),
];
