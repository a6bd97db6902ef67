//! System variables of the logs: what may be set, and telling the logs; FLUSH LOGS.
//!
//! Invariant: a file that a variable names has been opened, or the SET was an error (1231).
use std::path::PathBuf;

use datum::{SqlError, error_code};
use variables::{Setting, VariableId};

use super::{LogFile, log_output_text};
use crate::instance::Instance;

/// Which log a variable names the file of.
fn file_of(name: &str) -> Option<LogFile> {
    match name {
        "general_log_file" => Some(LogFile::General),
        "slow_query_log_file" => Some(LogFile::Slow),
        "audit_log_file" => Some(LogFile::Audit),
        _ => None,
    }
}

impl Instance {
    /// Error 1231 for a list of outputs that is none, and for a file that cannot be written; else the value to be set.
    pub fn check_log_variable(&self, name: &str, setting: Setting) -> Result<Setting, SqlError> {
        let wrong = || error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&name, &setting.as_text()]);
        if name == "log_output" {
            return log_output_text(setting.as_text()).map(|text| Setting::text(&text)).ok_or_else(wrong);
        }
        if let (Some(log), Some(writer)) = (file_of(name), self.logs.writer()) {
            let path = setting.as_text();
            if path.is_empty() {
                return Err(wrong());
            }
            writer.open(log, writer.directory().join(PathBuf::from(path))).map_err(|_| wrong())?;
        }
        Ok(setting)
    }

    /// Tells the logs of a new value; false for a variable that is not theirs.
    pub(crate) fn obey_logs(&self, name: &str, setting: &Setting) -> bool {
        match name {
            "log_error_verbosity" => {
                if let Some(writer) = self.logs.writer() {
                    writer.set_error_verbosity(setting.as_unsigned());
                }
                true
            }
            "log_error_services" => {
                if let Some(writer) = self.logs.writer() {
                    writer.set_error_json(setting.as_text().ends_with("json"));
                }
                true
            }
            name => self.logs.settings.obey(name, setting),
        }
    }

    /// Opens the files that variables name, those of logs that are off too, as their names may be wrong. At start, when the
    /// program has supplied the writer.
    pub fn open_logs(&self) -> Result<(), SqlError> {
        let defaults = [("general_log_file", "general_log"), ("slow_query_log_file", "slow_query_log")];
        for (name, switch) in defaults.into_iter().chain([("audit_log_file", "audit_log_policy")]) {
            let id = VariableId::known(name);
            let is_on = match self.globals.by_name(switch) {
                Setting::Boolean(truth) => truth,
                policy => policy.as_text() != "NONE",
            };
            if is_on {
                self.check_log_variable(name, self.globals.get(id))?;
            }
        }
        for name in ["log_error_verbosity", "log_error_services"] {
            self.obey_logs(name, &self.globals.by_name(name));
        }
        Ok(())
    }

    /// Opens the files of all logs by their names again, after somebody has renamed them: FLUSH LOGS, SIGHUP.
    pub fn reopen_logs(&self) {
        let Some(writer) = self.logs.writer() else { return };
        for log in [LogFile::General, LogFile::Slow, LogFile::Audit] {
            writer.reopen(log);
        }
        writer.reopen_error_log();
    }

    /// Makes sure that the file of a log that is switched on is there.
    pub fn open_switched_log(&self, name: &str, setting: &Setting) -> Result<(), SqlError> {
        let file = match name {
            "general_log" => "general_log_file",
            "slow_query_log" => "slow_query_log_file",
            "audit_log_policy" => "audit_log_file",
            _ => return Ok(()),
        };
        let is_on = setting.as_boolean() || (name == "audit_log_policy" && setting.as_text() != "NONE");
        if is_on {
            self.check_log_variable(file, self.globals.by_name(file))?;
        }
        Ok(())
    }
}
