//! The options of CHANGE REPLICATION SOURCE TO.
//!
//! Invariant: an option is obeyed, or its value says that it is not used, or it is refused.
use datum::{SqlError, Value, error_code};
use instance::replication::SourceSettings;

use super::FIRST_POSITION;
use super::errors::{ER_DELAY_OUT_OF_RANGE, ER_HEARTBEAT_OUT_OF_RANGE};

const DELAY_SECONDS_MAX: u64 = 2_147_483_647;
const HEARTBEAT_SECONDS_MAX: f64 = 4_294_967.0;

/// What CHANGE REPLICATION SOURCE TO gives.
pub(super) struct Change {
    pub(super) settings: SourceSettings,
    pub(super) file: Option<String>,
    pub(super) position: Option<u64>,
    pub(super) names_connection: bool,
    pub(super) names_account: bool,
    pub(super) names_delay: bool,
}

/// An option's value.
pub(super) struct Given<'v> {
    pub(super) name: &'v str,
    pub(super) value: &'v Value,
}

impl Given<'_> {
    fn wrong(&self) -> SqlError {
        error_code::ER_WRONG_ARGUMENTS.with(&[&self.name.to_uppercase()])
    }

    pub(super) fn text(&self) -> Result<String, SqlError> {
        match self.value {
            Value::Bytes(bytes) => String::from_utf8(bytes.clone()).map_err(|_| self.wrong()),
            Value::Null => Ok(String::new()),
            _ => Err(self.wrong()),
        }
    }

    pub(super) fn number(&self) -> Result<u64, SqlError> {
        match self.value {
            Value::Int(number) => u64::try_from(*number).map_err(|_| self.wrong()),
            Value::UInt(number) => Ok(*number),
            _ => Err(self.wrong()),
        }
    }

    fn flag(&self) -> Result<bool, SqlError> {
        Ok(self.number()? != 0)
    }

    fn seconds(&self) -> Result<f64, SqlError> {
        match self.value {
            Value::Decimal(number) => Ok(number.to_f64()),
            Value::Double(number) => Ok(*number),
            _ => Ok(self.number()? as f64),
        }
    }

    /// Of an option that this server does not have: whether its value says that it is not used. `None` for one that there is not.
    fn is_unused(&self) -> Result<Option<bool>, SqlError> {
        let is_unused = match self.name {
            "source_bind"
            | "source_tls_version"
            | "source_public_key_path"
            | "source_ssl_capath"
            | "source_ssl_cert"
            | "source_ssl_key"
            | "source_ssl_cipher"
            | "source_ssl_crl"
            | "source_ssl_crlpath"
            | "source_tls_ciphersuites"
            | "network_namespace"
            | "relay_log_file"
            | "privilege_checks_user" => self.text()?.is_empty(),
            "relay_log_pos" => false,
            "source_compression_algorithms" => self.text()?.eq_ignore_ascii_case("uncompressed"),
            // Of a compression that is refused.
            "source_zstd_compression_level" => true,
            "source_connection_auto_failover" | "gtid_only" | "require_row_format" => !self.flag()?,
            "require_table_primary_key_check" => self.text()?.eq_ignore_ascii_case("stream"),
            "assign_gtids_to_anonymous_transactions" => self.text()?.eq_ignore_ascii_case("off"),
            _ => return Ok(None),
        };
        Ok(Some(is_unused))
    }
}

impl Change {
    pub(super) fn of(settings: SourceSettings) -> Change {
        Change {
            settings,
            file: None,
            position: None,
            names_connection: false,
            names_account: false,
            names_delay: false,
        }
    }

    /// False for an option that there is not.
    pub(super) fn set(&mut self, given: &Given<'_>) -> Result<bool, SqlError> {
        let settings = &mut self.settings;
        self.names_connection |= !given.name.ends_with("delay");
        match given.name {
            "source_host" => {
                settings.host = given.text()?;
                if settings.host.is_empty() {
                    return Err(given.wrong());
                }
            }
            "source_user" => {
                settings.user = given.text()?;
                self.names_account = true;
            }
            "source_password" => {
                settings.password = given.text()?;
                self.names_account = true;
            }
            "source_port" => settings.port = u32::try_from(given.number()?).map_err(|_| given.wrong())?,
            "source_auto_position" => settings.auto_position = given.flag()?,
            "source_log_file" => self.file = Some(given.text()?),
            "source_log_pos" => self.position = Some(given.number()?.max(FIRST_POSITION)),
            "source_connect_retry" => settings.connect_retry = given.number()?,
            "source_retry_count" => settings.retry_count = given.number()?,
            "source_heartbeat_period" => {
                let seconds = given.seconds()?;
                if !(0.0..=HEARTBEAT_SECONDS_MAX).contains(&seconds) {
                    return Err(ER_HEARTBEAT_OUT_OF_RANGE.plain());
                }
                settings.heartbeat_ms = (seconds * 1000.0) as u64;
            }
            "source_delay" => {
                settings.delay = given.number()?;
                if settings.delay > DELAY_SECONDS_MAX {
                    return Err(ER_DELAY_OUT_OF_RANGE.with(&[&settings.delay, &DELAY_SECONDS_MAX]));
                }
                self.names_delay = true;
            }
            _ => return self.set_rarer(given),
        }
        Ok(true)
    }

    fn set_rarer(&mut self, given: &Given<'_>) -> Result<bool, SqlError> {
        let settings = &mut self.settings;
        match given.name {
            "source_ssl" => settings.ssl = given.flag()?,
            "source_ssl_ca" => settings.ssl_ca = given.text()?,
            "source_ssl_verify_server_cert" => settings.ssl_verify = given.flag()?,
            "get_source_public_key" => settings.get_public_key = given.flag()?,
            _ => match given.is_unused()? {
                None => return Ok(false),
                Some(true) => {}
                Some(false) => {
                    let what = given.name.to_uppercase();
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
                }
            },
        }
        Ok(true)
    }
}
