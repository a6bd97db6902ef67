//! SHOW CREATE TABLE, DATABASE and USER.
use catalog::LockMode;
use datum::{SqlError, Value, error_code};
use parser::ast::{ObjectName, User};
use schema::{create_table_text, quote_identifier};

use crate::result::{MadeColumn, MadeRows};
use crate::session::Session;

impl Session {
    pub(super) fn show_create_table(&self, table: ObjectName<'_>) -> Result<MadeRows, SqlError> {
        let definition = self.shown_table(table)?;
        let handle = self.instance.catalog().table(&definition.database, &definition.name);
        if handle.is_some() {
            let lock = self.table_name(table)?.lock();
            self.check_locked_tables(&[(lock, LockMode::Shared)])?;
        }
        let next = handle.map(|handle| match handle.if_ready() {
            Some(ready) => ready.auto_increment().peek(),
            // Its definition is just being changed.
            None => definition.auto_increment_start,
        });
        let mut rows = MadeRows::new(&[MadeColumn::Text("Table", 64), MadeColumn::LongText("Create Table")]);
        rows.push(vec![Value::bytes(&definition.name), Value::bytes(create_table_text(&definition, next))]);
        Ok(rows)
    }

    pub(super) fn show_create_database(&self, name: &str, if_not_exists: bool) -> Result<MadeRows, SqlError> {
        let definition = self.instance.catalog().require_database(name)?;
        if !self.sees_database(&definition.name) {
            return Err(self.database_denied(name));
        }
        let collation = definition.collation;
        let condition = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
        let collate = match collation.collation().is_default && collation.charset().name() != "utf8mb4" {
            true => String::new(),
            false => format!(" COLLATE {}", collation.name()),
        };
        let text = format!(
            "CREATE DATABASE {condition}{} /*!40100 DEFAULT CHARACTER SET {}{collate} */ \
             /*!80016 DEFAULT ENCRYPTION='N' */",
            quote_identifier(&definition.name),
            collation.charset().name(),
        );
        let mut rows =
            MadeRows::new(&[MadeColumn::Text("Database", 64), MadeColumn::LongText("Create Database")]);
        rows.push(vec![Value::bytes(&definition.name), Value::bytes(text)]);
        Ok(rows)
    }

    pub(super) fn show_create_user(&self, user: User<'_>) -> Result<MadeRows, SqlError> {
        let name = self.named_account(user);
        let account = self
            .instance
            .accounts()
            .get(&name)
            .ok_or_else(|| error_code::ER_CANNOT_USER.with(&[&"SHOW CREATE USER", &name]))?;
        let plugin = account.credential.plugin().name();
        let stored = String::from_utf8_lossy(account.credential.stored()).into_owned();
        let secret =
            if stored.is_empty() { String::new() } else { format!(" AS {}", schema::quote_text(&stored)) };
        let require = if account.requires_tls { "SSL" } else { "NONE" };
        let lock = if account.locked { "LOCK" } else { "UNLOCK" };
        let text = format!(
            "CREATE USER {name} IDENTIFIED WITH '{plugin}'{secret} REQUIRE {require} PASSWORD EXPIRE DEFAULT \
             ACCOUNT {lock} PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT \
             DEFAULT"
        );
        let mut rows = MadeRows::new(&[MadeColumn::LongText("CREATE USER")])
            .with_name(0, format!("CREATE USER for {name}"));
        rows.push(vec![Value::bytes(text)]);
        Ok(rows)
    }

    pub(super) fn show_grants(&self, user: Option<User<'_>>) -> Result<MadeRows, SqlError> {
        let name =
            user.map_or_else(|| self.privileges.account_name().clone(), |user| self.named_account(user));
        let account = self
            .instance
            .accounts()
            .get(&name)
            .ok_or_else(|| error_code::ER_NONEXISTING_GRANT.with(&[&name.user, &name.host.as_str()]))?;
        if name != *self.privileges.account_name() {
            self.require_database(auth::Privilege::Select, "mysql")?;
        }
        let shown = format!("Grants for {}@{}", name.user, name.host.as_str());
        let mut rows = MadeRows::new(&[MadeColumn::Text("Grants", 1024)]).with_name(0, shown);
        for line in account.show_grants() {
            rows.push(vec![Value::bytes(line)]);
        }
        Ok(rows)
    }

    fn named_account(&self, user: User<'_>) -> auth::AccountName {
        match user {
            User::Named(name) => auth::AccountName::new(name.user, name.host),
            User::Current => self.privileges.account_name().clone(),
        }
    }
}
