//! SET of system and user variables, NAMES and CHARACTER SET, and the reading of `@@name`.
//!
//! Variables are checked and their values computed one after the other, and changed together at the end: an error changes
//! none of them, and no value sees the change of another one.

use collation::{Charset, CollationId};
use datum::{SqlError, Value, error_code};
use expression::SessionServices;
use parser::ast::{
    Expr, ExprKind, SetStatement, SetValue, VariableAssignment, VariableScope, VariableTarget,
};

use crate::caller::Caller;
use definition::{ER_WARN_RESTRICT_FK_DEPRECATED, ER_WARN_RESTRICT_FK_OFF};
use session::Shield;
use session::StateChange;
use session::changes_accounts;
use session::{Done, Request};
use variables::{
    Definition, Effect, Scope, Setting, VariableId, from_value, is_flag_set, is_write_protection,
};

const TRANSACTION_ISOLATION: &str = "transaction_isolation";
const EVENT_SCHEDULER: &str = "event_scheduler";
const GTID_NEXT: &str = "gtid_next";
const GTID_PURGED: &str = "gtid_purged";
const GTID_SLAVE_POS: &str = "gtid_slave_pos";
const TRANSACTION_READ_ONLY: &str = "transaction_read_only";

/// A checked change of one system variable.
struct Change {
    id: VariableId,
    scope: VariableScope,
    setting: Setting,
    /// `SET @@transaction_isolation = ..` and its kin: for the next transaction only.
    is_for_next: bool,
    /// `SET .. = DEFAULT`.
    is_default: bool,
}

impl Caller<'_> {
    pub(crate) async fn set(
        &mut self,
        statement: SetStatement<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        if statement.for_statement.is_some() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"SET STATEMENT"]));
        }
        let (mut changes, mut assigned) = (Vec::new(), Vec::new());
        for assignment in statement.assignments {
            match *assignment {
                VariableAssignment::Variable { target: VariableTarget::User(name), value } => {
                    let name = name.name.to_lowercase();
                    let SetValue::Expr(expr) = value else {
                        return Err(error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&name, &"DEFAULT"]));
                    };
                    let (value, column_type) = self.evaluate_one(&expr, request, shield).await?;
                    assigned.push((name, value, column_type));
                }
                VariableAssignment::Variable {
                    target: VariableTarget::System { scope, instance, name, has_at_signs },
                    value,
                } => {
                    let name = match instance {
                        Some(instance) => format!("{}.{}", instance.name, name.name),
                        None => name.name.to_owned(),
                    };
                    let mut change = self.check_variable(scope, &name, value, request, shield).await?;
                    change.is_for_next = has_at_signs
                        && scope == VariableScope::Unspecified
                        && matches!(
                            change.id.definition().name,
                            TRANSACTION_ISOLATION | TRANSACTION_READ_ONLY
                        );
                    if change.is_for_next && self.has_open_transaction() {
                        return Err(error_code::ER_CANT_CHANGE_TX_CHARACTERISTICS.plain());
                    }
                    changes.push(change);
                }
                VariableAssignment::Names { charset, collation } => {
                    self.check_names(charset, collation, &mut changes)?;
                }
                VariableAssignment::CharacterSet(charset) => {
                    self.check_character_set(charset, &mut changes)?
                }
            }
        }
        for (name, value, column_type) in assigned {
            self.shared().set_user_variable(&name, value, column_type)?;
        }
        if !changes.is_empty() {
            for change in changes {
                self.apply_change(change, shield).await?;
            }
            self.refresh_settings();
        }
        self.track_state_change();
        Ok(Done::ok())
    }

    async fn check_variable(
        &mut self,
        scope: VariableScope,
        name: &str,
        value: SetValue<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Change, SqlError> {
        let id =
            VariableId::by_name(name).ok_or_else(|| error_code::ER_UNKNOWN_SYSTEM_VARIABLE.with(&[&name]))?;
        let definition = id.definition();
        self.check_scope(definition, scope)?;
        self.require_variable(definition, scope)?;
        let value = match value {
            SetValue::Default => None,
            SetValue::Keyword(word) => Some(Value::bytes(word)),
            SetValue::Expr(expr) => Some(match bare_word(&expr) {
                Some(word) => Value::bytes(word),
                None => self.evaluate_one(&expr, request, shield).await?.0,
            }),
        };
        let is_default = value.is_none();
        let setting = match value {
            None => self.default_setting(id, scope),
            Some(value) if is_flag_set(definition.name) => {
                let is_session = matches!(scope, VariableScope::Unspecified | VariableScope::Session);
                let globals = &self.instance().globals;
                let present = if is_session { self.variables().get(id).clone() } else { globals.get(id) };
                self.switched(id, &present, &value)?
            }
            Some(value) => {
                let converted = from_value(definition, &value)?;
                let mut warnings = Vec::from_iter(converted.warning);
                let setting = self.instance().adjust(definition.name, converted.setting, &mut warnings);
                for warning in warnings {
                    self.shared().diagnostics.lock().add(warning);
                }
                setting
            }
        };
        let setting = match definition.name {
            GTID_PURGED => self.purged(&setting)?,
            GTID_SLAVE_POS => self.checked_domains(&setting)?,
            GTID_NEXT => self.checked_identifier(&setting)?,
            name => self.instance().check_log_variable(name, setting)?,
        };
        self.check_scheduler(definition.name, &setting)?;
        self.instance().open_switched_log(definition.name, &setting)?;
        self.check_effect(id, scope, &setting)?;
        self.check_account_variable(definition.name, &setting)?;
        if let Some(warning) = deprecation(definition, &setting) {
            self.shared().warning(warning);
        }
        Ok(Change { id, scope, setting, is_for_next: false, is_default })
    }

    /// `event_scheduler` is DISABLED from the start to the end of a server, or never.
    fn check_scheduler(&self, name: &str, setting: &Setting) -> Result<(), SqlError> {
        if name != EVENT_SCHEDULER {
            return Ok(());
        }
        if self.instance().globals.by_name(EVENT_SCHEDULER).as_text() == "DISABLED" {
            let options = "--event-scheduler=DISABLED or --skip-grant-tables";
            return Err(error_code::ER_OPTION_PREVENTS_STATEMENT.with(&[&options]));
        }
        if setting.as_text() == "DISABLED" {
            return Err(error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&name, &"DISABLED"]));
        }
        Ok(())
    }

    fn check_scope(&self, definition: &Definition, scope: VariableScope) -> Result<(), SqlError> {
        let name = &definition.name;
        if definition.read_only {
            return Err(error_code::ER_INCORRECT_GLOBAL_LOCAL_VAR.with(&[name, &"read only"]));
        }
        let persists = matches!(scope, VariableScope::Persist | VariableScope::PersistOnly);
        if persists && matches!(definition.name, GTID_PURGED | GTID_SLAVE_POS) {
            return Err(error_code::ER_INCORRECT_GLOBAL_LOCAL_VAR.with(&[name, &"non persistent"]));
        }
        match scope {
            VariableScope::Unspecified | VariableScope::Session if !definition.has_session() => {
                Err(error_code::ER_GLOBAL_VARIABLE.with(&[name]))
            }
            VariableScope::Unspecified | VariableScope::Session => Ok(()),
            _ if !definition.has_global() => Err(error_code::ER_LOCAL_VARIABLE.with(&[name])),
            _ => Ok(()),
        }
    }

    /// SET x = DEFAULT: the session takes the global value, the global one what the program began with.
    fn default_setting(&self, id: VariableId, scope: VariableScope) -> Setting {
        let is_session = matches!(scope, VariableScope::Unspecified | VariableScope::Session);
        if is_session && id.definition().scope == Scope::Both {
            return self.instance().globals.get(id);
        }
        id.definition().default_setting()
    }

    fn check_effect(&self, id: VariableId, scope: VariableScope, setting: &Setting) -> Result<(), SqlError> {
        let definition = id.definition();
        if matches!(definition.effect, Effect::Obeyed | Effect::Accepted) {
            return Ok(());
        }
        let is_session = matches!(scope, VariableScope::Unspecified | VariableScope::Session);
        let present =
            if is_session { self.variables().get(id).clone() } else { self.instance().globals.get(id) };
        // Nothing is logged, in whatever format; tools that compare tables ask for theirs.
        let logs_nothing =
            is_session && definition.name == "binlog_format" && self.instance().binary_log().is_none();
        if present == *setting || logs_nothing {
            return Ok(());
        }
        let what = format!("{} = {}", definition.name, setting.display());
        Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]))
    }

    async fn apply_change(&mut self, change: Change, shield: &Shield) -> Result<(), SqlError> {
        let Change { id, scope, setting, is_for_next, is_default } = change;
        if is_for_next {
            self.set_next_characteristic(id.definition().name, &setting);
            return Ok(());
        }
        match scope {
            VariableScope::Unspecified | VariableScope::Session => {
                self.apply_session(id, setting, shield).await
            }
            VariableScope::Global if is_write_protection(id) => {
                Box::pin(self.set_write_protection(id, setting)).await
            }
            VariableScope::Global if id.definition().name == GTID_PURGED => {
                self.set_purged(id, setting, shield).await
            }
            VariableScope::Global if id.definition().name == GTID_SLAVE_POS => {
                self.set_domains(&setting, shield).await
            }
            VariableScope::Global => {
                self.set_global(id, setting, is_default);
                Ok(())
            }
            VariableScope::Persist | VariableScope::PersistOnly => {
                let name = id.definition().name;
                let mut stored = self.instance().catalog().begin_change();
                stored.put_variable(name, Some(&setting.display())).await?;
                shield.raise();
                let result = stored.commit().await;
                shield.lower();
                result?;
                self.instance().set_persisted(name, Some(setting.display()));
                match scope {
                    VariableScope::Persist if is_write_protection(id) => {
                        Box::pin(self.set_write_protection(id, setting)).await?;
                    }
                    VariableScope::Persist => {
                        self.set_global(id, setting, is_default);
                    }
                    _ => {}
                }
                Ok(())
            }
        }
    }

    fn set_global(&mut self, id: VariableId, setting: Setting, is_default: bool) {
        self.instance().obey(id, &setting, is_default);
        self.instance().globals.set(id, setting);
        if changes_accounts(id.definition().name) {
            self.instance().accounts_changed();
            self.look_at_privileges();
        }
    }

    /// Changes a session value together with the ones that follow it.
    async fn apply_session(
        &mut self,
        id: VariableId,
        setting: Setting,
        shield: &Shield,
    ) -> Result<(), SqlError> {
        let name = id.definition().name;
        match name {
            "autocommit" if setting.as_boolean() && !self.settings().autocommit => {
                self.commit_open(shield).await?;
            }
            "xa_detach_on_prepare" if self.is_in_branch() || self.has_open_transaction() => {
                return Err(error_code::ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION.with(&[&name]));
            }
            GTID_NEXT => Box::pin(self.take_identifier(&setting)).await?,
            TRANSACTION_ISOLATION | TRANSACTION_READ_ONLY => self.forget_next_characteristic(name),
            "optimizer_trace_offset" | "optimizer_trace_limit" => self.forget_traces(),
            "last_insert_id" => {
                self.shared().set_last_insert_id(setting.as_unsigned());
                return Ok(());
            }
            "timestamp" => {
                let seconds = if let Setting::Double(seconds) = setting { seconds } else { 0.0 };
                self.fix_timestamp((seconds * 1e6) as i64);
                return Ok(());
            }
            _ => {}
        }
        for (charset, collation) in [
            ("character_set_connection", "collation_connection"),
            ("character_set_server", "collation_server"),
            ("character_set_database", "collation_database"),
        ] {
            if name == charset
                && let Some(charset) = Charset::by_name(setting.as_text())
            {
                let default = Setting::text(charset.default_collation().name());
                self.variables_mut().set_by_name(collation, default);
            }
            if name == collation
                && let Some(of) = CollationId::by_name(setting.as_text())
            {
                self.variables_mut().set_by_name(charset, Setting::text(of.charset().name()));
            }
        }
        self.track_variable(name, &setting);
        self.variables_mut().set(id, setting);
        Ok(())
    }

    /// Tells the client of a changed variable that it asked to be told of.
    fn track_variable(&mut self, name: &str, setting: &Setting) {
        if !self.connection().capabilities.session_track {
            return;
        }
        let tracked = self.variables().by_name("session_track_system_variables").as_text();
        if tracked.split(',').map(str::trim).any(|word| word == "*" || word.eq_ignore_ascii_case(name)) {
            self.tell_change(StateChange::SystemVariable { name: name.to_owned(), value: setting.display() });
        }
    }

    fn check_names(
        &self,
        charset: Option<&str>,
        collation: Option<&str>,
        changes: &mut Vec<Change>,
    ) -> Result<(), SqlError> {
        let charset = match charset {
            Some(name) => charset_named(name)?,
            None => Charset::Utf8mb4,
        };
        let collation = match collation {
            Some(name) => {
                CollationId::by_name(name).ok_or_else(|| error_code::ER_UNKNOWN_COLLATION.with(&[&name]))?
            }
            None => charset.default_collation(),
        };
        if collation.charset() != charset {
            return Err(error_code::ER_COLLATION_CHARSET_MISMATCH.with(&[&collation.name(), &charset.name()]));
        }
        for name in ["character_set_client", "character_set_results", "character_set_connection"] {
            changes.push(session_change(name, charset.name()));
        }
        changes.push(session_change("collation_connection", collation.name()));
        Ok(())
    }

    /// Unlike SET NAMES, literals then have the character set of the current database.
    fn check_character_set(&self, charset: Option<&str>, changes: &mut Vec<Change>) -> Result<(), SqlError> {
        let charset = match charset {
            Some(name) => charset_named(name)?,
            None => Charset::Utf8mb4,
        };
        for name in ["character_set_client", "character_set_results"] {
            changes.push(session_change(name, charset.name()));
        }
        let collation = self.variables().by_name("collation_database").as_text();
        changes.push(session_change("collation_connection", collation));
        Ok(())
    }
}

/// What MySQL says whenever a variable that is to go is set.
fn deprecation(definition: &Definition, setting: &Setting) -> Option<SqlError> {
    let is_deprecated = definition.name == "restrict_fk_on_non_standard_key";
    is_deprecated.then(|| match setting {
        Setting::Boolean(false) => ER_WARN_RESTRICT_FK_OFF.plain(),
        _ => ER_WARN_RESTRICT_FK_DEPRECATED.plain(),
    })
}

fn session_change(name: &'static str, text: &str) -> Change {
    Change {
        id: VariableId::known(name),
        scope: VariableScope::Session,
        setting: Setting::text(text),
        is_for_next: false,
        is_default: false,
    }
}

fn charset_named(name: &str) -> Result<Charset, SqlError> {
    Charset::by_name(name).ok_or_else(|| error_code::ER_UNKNOWN_CHARACTER_SET.with(&[&name]))
}

/// `SET sql_mode = ANSI`: a lone word stands for its text.
fn bare_word<'a>(expr: &Expr<'a>) -> Option<&'a str> {
    match expr.kind {
        ExprKind::Column(column) if column.qualifier.is_none() => Some(column.name),
        _ => None,
    }
}
