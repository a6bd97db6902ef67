//! ALTER INSTANCE: the certificate is read again, a damaged page is repaired; keys and logs that this server does not have are refused.
use auth::DynamicPrivilege;
use datum::{ErrorCode, SqlError, error_code};
use parser::ast::InstanceAction;

use crate::caller::Caller;
use session::{Done, Session, transaction_error};

impl Caller<'_> {
    pub(crate) async fn alter_instance(&mut self, action: InstanceAction<'_>) -> Result<Done, SqlError> {
        match action {
            InstanceAction::ReloadTls { channel, no_rollback } => {
                self.require_super_or(&[DynamicPrivilege::ConnectionAdmin], "SUPER or CONNECTION_ADMIN")?;
                if channel.is_some_and(|channel| !channel.name.eq_ignore_ascii_case("mysql_main")) {
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"a TLS channel but mysql_main"]));
                }
                match self.instance().tls.reload() {
                    Ok(()) => Ok(Done::ok()),
                    Err(reason) if no_rollback => {
                        self.shared().warning(ER_SSL_LIBRARY_ERROR.with(&[&reason]));
                        Ok(Done::ok())
                    }
                    Err(reason) => Err(ER_SSL_LIBRARY_ERROR.with(&[&reason])),
                }
            }
            InstanceAction::ReloadKeyring => {
                let needed = [DynamicPrivilege::EncryptionKeyAdmin];
                self.require_super_or(&needed, "SUPER or ENCRYPTION_KEY_ADMIN")?;
                Err(ER_RELOAD_KEYRING_FAILURE.plain())
            }
            InstanceAction::RotateInnodbKey => {
                let needed = [DynamicPrivilege::EncryptionKeyAdmin];
                self.require_super_or(&needed, "SUPER or ENCRYPTION_KEY_ADMIN")?;
                Err(ER_CANNOT_FIND_KEY_IN_KEYRING.plain())
            }
            InstanceAction::RotateBinlogKey => {
                Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"ALTER INSTANCE ROTATE BINLOG MASTER KEY"]))
            }
            InstanceAction::RepairPage(page) => {
                if !self.privileges().has_dynamic(DynamicPrivilege::BackupAdmin) {
                    return Err(Session::privilege_missing(DynamicPrivilege::BackupAdmin.name()));
                }
                let engine = self.instance().engine();
                let cannot = |error: SqlError| match error.is(&error_code::ER_INDEX_CORRUPT) {
                    true if !engine.has_page_repairer() => ER_NO_BACKUPS.with(&[&page]),
                    _ => error,
                };
                let repaired = engine.repair_page(page).await;
                let repaired = repaired.map_err(|error| cannot(transaction_error(error)))?;
                repaired.map(|()| Done::ok()).ok_or_else(|| ER_NO_PAGE.with(&[&page]))
            }
            InstanceAction::RedoLog { enable } => {
                let needed = [DynamicPrivilege::InnodbRedoLogEnable];
                self.require_super_or(&needed, "SUPER or INNODB_REDO_LOG_ENABLE")?;
                match enable {
                    true => Ok(Done::ok()),
                    false => {
                        let what = "ALTER INSTANCE DISABLE INNODB REDO_LOG";
                        Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]))
                    }
                }
            }
        }
    }
}

const ER_NO_BACKUPS: ErrorCode = ErrorCode::new(
    1105,
    "HY000",
    "Page %s is damaged and cannot be made again: the server was started without the option backup-dir",
);
const ER_NO_PAGE: ErrorCode = ErrorCode::new(1105, "HY000", "There is no page %s");
const ER_CANNOT_FIND_KEY_IN_KEYRING: ErrorCode = ErrorCode::new(
    3185,
    "HY000",
    "Can't find master key from keyring, please check in the server log if a keyring is loaded and initialized successfully.",
);
const ER_SSL_LIBRARY_ERROR: ErrorCode =
    ErrorCode::new(3888, "HY000", "Failed to set up SSL because of the following SSL library error: %s");
const ER_RELOAD_KEYRING_FAILURE: ErrorCode =
    ErrorCode::new(4035, "HY000", "Keyring reload failed. Please check error log for more details.");
