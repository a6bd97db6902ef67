//! What SET of a system variable needs, and what a new value of those that accounts obey has to be.

use auth::DynamicPrivilege;
use datum::{ErrorCode, SqlError, error_code};
use parser::ast::VariableScope;

use crate::session::Session;
use instance::account_names;
use variables::{Definition, Setting};

/// Session variables that change what others see, or what the administrator decides.
const RESTRICTED: &[&str] = &[
    "binlog_format",
    "binlog_row_image",
    "binlog_rows_query_log_events",
    "binlog_transaction_compression",
    "bulk_insert_buffer_size",
    "character_set_database",
    "character_set_filesystem",
    "collation_database",
    "pseudo_thread_id",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_log_off",
    "sql_require_primary_key",
    "xa_detach_on_prepare",
];
/// As above; MySQL leaves SUPER out.
const RESTRICTED_WITHOUT_SUPER: &[&str] = &[
    "innodb_strict_mode",
    "internal_tmp_mem_storage_engine",
    "low_priority_updates",
    "max_delayed_threads",
    "max_error_count",
    "max_insert_delayed_threads",
    "min_examined_row_limit",
    "preload_buffer_size",
    "select_into_buffer_size",
];

impl Session {
    /// Error 1227 or 3630.
    pub fn require_variable(&self, definition: &Definition, scope: VariableScope) -> Result<(), SqlError> {
        use DynamicPrivilege::{
            PersistRoVariablesAdmin, ReplicationApplier, RoleAdmin, SessionVariablesAdmin,
            SystemVariablesAdmin,
        };
        if self.privileges.is_full() {
            return Ok(());
        }
        let name = definition.name;
        match scope {
            VariableScope::Unspecified | VariableScope::Session => {
                let admins = [SystemVariablesAdmin, SessionVariablesAdmin];
                if RESTRICTED.contains(&name) {
                    let needed = "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN";
                    return self.require_super_or(&admins, needed);
                }
                if name == "gtid_next" {
                    let needed =
                        "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or REPLICATION_APPLIER";
                    return self.require_super_or(&[admins[0], admins[1], ReplicationApplier], needed);
                }
                let is_restricted = RESTRICTED_WITHOUT_SUPER.contains(&name);
                match is_restricted && !admins.iter().any(|&admin| self.privileges.has_dynamic(admin)) {
                    true => Err(Self::privilege_missing("SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN")),
                    false => Ok(()),
                }
            }
            VariableScope::PersistOnly => {
                let both = [SystemVariablesAdmin, PersistRoVariablesAdmin];
                match both.iter().all(|&privilege| self.privileges.has_dynamic(privilege)) {
                    true => Ok(()),
                    false => Err(ER_PERSIST_ONLY_ACCESS_DENIED
                        .with(&[&"SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN"])),
                }
            }
            VariableScope::Global | VariableScope::Persist => {
                self.require_super_or(&[SystemVariablesAdmin], "SUPER or SYSTEM_VARIABLES_ADMIN")?;
                match name == "mandatory_roles" && !self.privileges.has_dynamic(RoleAdmin) {
                    true => Err(Self::privilege_missing("ROLE_ADMIN")),
                    false => Ok(()),
                }
            }
        }
    }

    /// Error 1231 for what is no list of roles, 3896 while partial revokes exist, 3628 for a protected role.
    pub fn check_account_variable(&self, name: &str, setting: &Setting) -> Result<(), SqlError> {
        match name {
            "mandatory_roles" => {
                let wrong = || error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&name, &setting.as_text()]);
                let roles = account_names(setting.as_text()).ok_or_else(wrong)?;
                let accounts = self.instance.accounts();
                let protected = roles.iter().find(|role| {
                    let system = DynamicPrivilege::SystemUser.into();
                    accounts.get(role).is_some_and(|account| account.grants.dynamic.has(system))
                });
                match protected {
                    Some(role) => Err(ER_MANDATORY_SYSTEM_USER.with(&[role])),
                    None => Ok(()),
                }
            }
            "partial_revokes" if !setting.as_boolean() => {
                let accounts = self.instance.accounts().all();
                match accounts.iter().any(|account| !account.grants.restrictions.is_empty()) {
                    true => Err(ER_PARTIAL_REVOKES_EXIST.with(&[&name])),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Whether what accounts may do depends on the variable.
pub fn changes_accounts(name: &str) -> bool {
    matches!(name, "mandatory_roles" | "partial_revokes")
}

const ER_PERSIST_ONLY_ACCESS_DENIED: ErrorCode =
    ErrorCode::new(3630, "42000", "Access denied; you need %s privileges for this operation");
const ER_PARTIAL_REVOKES_EXIST: ErrorCode = ErrorCode::new(
    3896,
    "HY000",
    "At least one partial revoke exists on a database. The system variable '@@%s' must be set to ON.",
);
const ER_MANDATORY_SYSTEM_USER: ErrorCode =
    ErrorCode::new(3617, "HY000", "Cannot set mandatory_roles: AuthId %s has 'SYSTEM_USER' privilege.");
