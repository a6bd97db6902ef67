//! CREATE and DROP of stored programs.
//!
//! Invariant: what is stored has been compiled once, so it can be again; the text of its body is stored as it was written.
use std::sync::Arc;

use catalog::{LiveProgram, LockMode, LockName};
use datum::{SqlError, error_code};
use parser::ast::{CreateProgram, DataAccess, Definer, DropStored, RoutineKind, SqlSecurity, User};
use schema::{ProgramAccess, ProgramDef, ProgramKind};

use crate::caller::Caller;
use session::{Done, Request, Shield};
use session::{program_kind, shared_of};

impl Caller<'_> {
    /// CREATE PROCEDURE and its kin.
    pub async fn create_program(
        &mut self,
        create: &CreateProgram<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let kind = program_kind(create.kind);
        let (database, name) = self.program_name(create.name)?;
        if name.is_empty() || name.ends_with(' ') {
            return Err(ER_SP_WRONG_NAME.with(&[&name]));
        }
        self.require_changeable(&database)?;
        self.require_create_program(create, &database)?;
        if kind == ProgramKind::Trigger {
            self.require_trusted_creator()?;
        }
        self.instance().catalog().require_database(&database)?;
        let mut event = None;
        if let Some(head) = create.event {
            event = self.new_event(head, request, shield).await?;
            if event.is_none() {
                return Ok(Done::ok());
            }
        }
        let mut locks = vec![
            (LockName::Database(database.as_str().into()), LockMode::Shared),
            (session::Session::program_lock(kind, &database, &name), LockMode::Exclusive),
        ];
        if let Some(head) = &create.trigger {
            let table = self.trigger_table(head.table, &database)?;
            locks.push((table.lock(), LockMode::Exclusive));
        }
        let _locks = self.lock_for_change(locks).await?;
        self.instance().catalog().require_database(&database)?;
        if self.program_exists(create, kind, &database, &name)? {
            return Ok(Done::ok());
        }
        let mut definition = self.definition_of_program(create, request, database, name)?;
        if kind == ProgramKind::Function {
            self.require_safe_function(&definition)?;
            self.require_trusted_creator()?;
        }
        definition.event = event;
        self.check_compiles(create, request, &definition)?;
        let mut change = self.instance().catalog().begin_change();
        let mut stored = None;
        match &create.trigger {
            Some(head) => self.put_trigger(&mut change, head, definition).await?,
            None => {
                stored = Some(change.put_program(definition).await?);
            }
        }
        self.commit_change(change, shield).await?;
        if let Some(stored) = stored {
            if kind == ProgramKind::Event {
                self.plan_event(&stored);
            }
            let definition = &stored.definition;
            self.grant_created(kind, &definition.database, &definition.name, shield).await?;
        }
        Ok(Done::ok())
    }

    /// Error for an existing program, a note with IF NOT EXISTS.
    fn program_exists(
        &self,
        create: &CreateProgram<'_>,
        kind: ProgramKind,
        database: &str,
        name: &str,
    ) -> Result<bool, SqlError> {
        if self.instance().catalog().program(kind, database, name).is_none() {
            return Ok(false);
        }
        let error = match kind {
            ProgramKind::Trigger => error_code::ER_TRG_ALREADY_EXISTS.plain(),
            ProgramKind::Event => error_code::ER_EVENT_ALREADY_EXISTS.with(&[&name]),
            _ => error_code::ER_SP_ALREADY_EXISTS.with(&[&kind.word(), &name]),
        };
        if !create.if_not_exists {
            return Err(error);
        }
        self.shared().note(error);
        Ok(true)
    }

    fn definition_of_program(
        &self,
        create: &CreateProgram<'_>,
        request: Request<'_>,
        database: String,
        name: String,
    ) -> Result<ProgramDef, SqlError> {
        let part = |span: parser::ast::Span| String::from_utf8_lossy(span.of(request.text)).into_owned();
        let (definer_user, definer_host) = self.definer_of(create.definer)?;
        let characteristics = &create.characteristics;
        let text = |name: &'static str| self.variables().by_name(name).as_text().to_owned();
        let collation = self.instance().catalog().require_database(&database)?.collation;
        let now = self.now_utc_micros();
        if create.kind == RoutineKind::Function && functions::is_function(&name.to_lowercase()) {
            self.shared().note(ER_NATIVE_FCT_NAME_COLLISION.with(&[&name]));
        }
        Ok(ProgramDef {
            kind: program_kind(create.kind),
            database,
            name,
            definer_user,
            definer_host,
            parameters: part(create.parameter_span),
            returns: create
                .returns
                .map(|returns| self.returns_text(&returns, &collation))
                .transpose()?
                .unwrap_or_default(),
            body: part(create.body.span),
            sql_mode: self.settings().sql_mode,
            charset_client: text("character_set_client"),
            collation_connection: text("collation_connection"),
            collation_database: collation.name().to_owned(),
            comment: characteristics
                .comment
                .or(create.event.and_then(|event| event.comment))
                .unwrap_or_default()
                .to_owned(),
            as_invoker: characteristics.security == Some(SqlSecurity::Invoker),
            is_deterministic: characteristics.deterministic == Some(true),
            access: characteristics.access.map_or(ProgramAccess::ContainsSql, access_of),
            created_us: now,
            altered_us: now,
            trigger: create.trigger.as_ref().map(super::trigger::trigger_of),
            event: None,
        })
    }

    /// A function's type as MySQL stores it: written out, with the character set of a text.
    fn returns_text(
        &self,
        returns: &parser::ast::Returns<'_>,
        collation: &collation::CollationId,
    ) -> Result<String, SqlError> {
        let mut conditions = Vec::new();
        let mut context = definition::TypeContext {
            column: "",
            table_collation: *collation,
            is_strict: true,
            conditions: &mut conditions,
        };
        let column_type = definition::column_type(&returns.data_type, &mut context)?;
        let mut text = schema::type_text(&column_type);
        if column_type.is_text() {
            text += &format!(" CHARSET {}", column_type.collation.charset().name());
            if !column_type.collation.collation().is_default {
                text += &format!(" COLLATE {}", column_type.collation.name());
            }
        }
        Ok(text)
    }

    /// The account in whose name a program runs; a note when there is none of the name.
    pub(super) fn definer_of(&self, definer: Option<Definer<'_>>) -> Result<(String, String), SqlError> {
        let own = self.privileges().account_name();
        let own = (own.user.clone(), own.host.as_str().to_owned());
        let Some(Definer(User::Named(name))) = definer else { return Ok(own) };
        let named = (name.user.to_owned(), name.host.to_lowercase());
        session::check_account_length(&auth::AccountName::new(&named.0, &named.1))?;
        if named != own {
            self.require_super_or(&[auth::DynamicPrivilege::SetAnyDefiner], "SUPER or SET_ANY_DEFINER")?;
            let account = auth::AccountName::new(&named.0, &named.1);
            if self.instance().accounts().get(&account).is_none() {
                self.require_super_or(
                    &[auth::DynamicPrivilege::AllowNonexistentDefiner],
                    "SUPER or ALLOW_NONEXISTENT_DEFINER",
                )?;
                self.shared().note(error_code::ER_NO_SUCH_USER.with(&[&named.0, &named.1]));
            }
        }
        Ok(named)
    }

    /// Compiles the program for its errors.
    fn check_compiles(
        &self,
        create: &CreateProgram<'_>,
        request: Request<'_>,
        definition: &ProgramDef,
    ) -> Result<(), SqlError> {
        let text = String::from_utf8_lossy(request.text);
        let mode = self.parse_options(false).mode;
        let program = self.compile_program(create, &text, mode, &definition.collation_database)?;
        let table = match &definition.trigger {
            Some(trigger) => {
                let table = self.instance().catalog().require_table(&definition.database, &trigger.table)?;
                Some(table.definition().clone())
            }
            None => None,
        };
        let live = Arc::new(LiveProgram { id: 0, definition: definition.clone() });
        shared_of(live, program, table).map(|_| ())
    }

    /// DROP PROCEDURE and its kin.
    pub async fn drop_program(
        &mut self,
        dropped: &DropStored<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let kind = program_kind(dropped.kind);
        let (database, name) = self.program_name(dropped.name)?;
        let catalog = self.instance().catalog().clone();
        if kind == ProgramKind::Trigger && !dropped.if_exists && catalog.database(&database).is_none() {
            return Err(error_code::ER_BAD_DB_ERROR.with(&[&database]));
        }
        let mut locks = vec![
            (LockName::Database(database.as_str().into()), LockMode::Shared),
            (session::Session::program_lock(kind, &database, &name), LockMode::Exclusive),
        ];
        if kind != ProgramKind::Trigger {
            self.require_alter_program(kind, &database, &name)?;
        }
        let known = catalog.program(kind, &database, &name);
        if let Some(trigger) = known.as_ref().and_then(|program| program.definition.trigger.as_ref()) {
            self.require_table(auth::Privilege::Trigger.into(), &database, &trigger.table)?;
            let table = definition::TableName { database: database.clone(), name: trigger.table.clone() };
            locks.push((table.lock(), LockMode::Exclusive));
        }
        let _locks = self.lock_for_change(locks).await?;
        let Some(program) = catalog.program(kind, &database, &name) else {
            return self.drop_absent(dropped, &database, &name);
        };
        let mut change = catalog.begin_change();
        change.remove_program(&program).await?;
        if let Some(trigger) = &program.definition.trigger
            && let Some(table) = catalog.table(&database, &trigger.table)
        {
            change.renew_table(&table).await?;
        }
        self.commit_change(change, shield).await?;
        self.instance().programs.forget(program.id);
        self.instance().events.forget(program.id);
        self.revoke_dropped(kind, &database, &name, shield).await?;
        Ok(Done::ok())
    }

    /// DROP of a program that does not exist.
    fn drop_absent(&self, dropped: &DropStored<'_>, database: &str, name: &str) -> Result<Done, SqlError> {
        let absent =
            |what: &str| error_code::ER_SP_DOES_NOT_EXIST.with(&[&what, &format!("{database}.{name}")]);
        let error = match (dropped.kind, dropped.if_exists) {
            (RoutineKind::Procedure, _) => absent("PROCEDURE"),
            (RoutineKind::Function, _) => absent("FUNCTION"),
            (RoutineKind::Trigger, _) => error_code::ER_TRG_DOES_NOT_EXIST.plain(),
            (RoutineKind::Event, true) => error_code::ER_SP_DOES_NOT_EXIST.with(&[&"Event", &name]),
            (RoutineKind::Event, false) => error_code::ER_EVENT_DOES_NOT_EXIST.with(&[&name]),
        };
        if !dropped.if_exists {
            return Err(error);
        }
        self.shared().note(error);
        Ok(Done::ok())
    }
}

pub(super) fn access_of(access: DataAccess) -> ProgramAccess {
    match access {
        DataAccess::ContainsSql => ProgramAccess::ContainsSql,
        DataAccess::NoSql => ProgramAccess::NoSql,
        DataAccess::ReadsSqlData => ProgramAccess::ReadsSqlData,
        DataAccess::ModifiesSqlData => ProgramAccess::ModifiesSqlData,
    }
}

const ER_SP_WRONG_NAME: datum::ErrorCode =
    datum::ErrorCode::new(1458, "42000", "Incorrect routine name '%s'");
const ER_NATIVE_FCT_NAME_COLLISION: datum::ErrorCode =
    datum::ErrorCode::new(1585, "HY000", "This function '%s' has the same name as a native function");
