//! What virtual tables learn of the session that looks at them, and which of them everybody may read.

use std::sync::Arc;

use auth::{Access, Privilege, PrivilegeSet};
use catalog::ProgramSight;
use schema::{ProgramDef, ProgramKind};

use crate::session::Session;

/// Tables of `performance_schema` that tell nothing of others, or show each account its own only.
const OPEN_TABLES: &[&str] = &[
    "global_status",
    "global_variables",
    "processlist",
    "session_status",
    "session_variables",
    "variables_metadata",
];

/// Whether everybody may read the table.
pub fn is_open_to_all(database: &str, table: &str) -> bool {
    let database = catalog::canonical_database(database);
    database == catalog::INFORMATION_SCHEMA
        || (database == "performance_schema"
            && OPEN_TABLES.iter().any(|open| open.eq_ignore_ascii_case(table)))
}

impl Session {
    /// What virtual tables learn of this session.
    pub fn viewer(&mut self) -> Arc<catalog::Viewer> {
        if let Some(viewer) = &self.viewer {
            return viewer.clone();
        }
        let viewer = Arc::new(self.make_viewer());
        self.viewer = Some(viewer.clone());
        viewer
    }

    pub(crate) fn make_viewer(&self) -> catalog::Viewer {
        let access = Arc::new(self.privileges.access().clone());
        let of_columns = access.clone();
        let lists_all = access.global.has(Privilege::ShowDatabases.into());
        let sees = move |database: &str, table: Option<&str>| {
            if access.is_full() || is_public(database) {
                return true;
            }
            match table {
                None => lists_all || access.knows_database(database),
                Some(table) => access.sees_table(database, table),
            }
        };
        let column_privileges = move |database: &str, table: &str, column: &str| {
            column_privileges(&of_columns, database, table, column)
        };
        let of_views = self.privileges.access().clone();
        let sees_query = move |database: &str, view: Option<&str>| {
            let needed = PrivilegeSet::of(&[Privilege::ShowView, Privilege::Select]);
            view.is_some_and(|view| of_views.table(database, view).has(needed))
        };
        let views = self.view_columns();
        let rights = ProgramRights {
            access: self.privileges.access().clone(),
            user: self.privileges.account_name().user.clone(),
            host: self.privileges.account_name().host.as_str().to_owned(),
        };
        catalog::Viewer {
            sees_query: Arc::new(sees_query),
            view_columns: Arc::new(move |view| views.columns_of(view)),
            program_sight: Arc::new(move |definition| rights.sight(definition)),
            sees: Arc::new(sees),
            column_privileges: Arc::new(column_privileges),
            user: self.connection.user.clone(),
            connection_id: u64::from(self.connection.id.0),
            time_zone: self.settings.time_zone.clone(),
            optimizer_traces: self.shared_traces(),
            sees_all_sessions: self.privileges.has_global(Privilege::Process),
            account: self.privileges.account_name().to_string(),
            active_roles: self
                .privileges
                .active_roles()
                .iter()
                .map(|role| (role.user.clone(), role.host.as_str().to_owned()))
                .collect(),
            sees_all_accounts: self.privileges.has_on_database(Privilege::Select, "mysql"),
        }
    }
}

/// What an account may do with stored programs.
pub(crate) struct ProgramRights {
    pub access: Access,
    pub user: String,
    pub host: String,
}

impl ProgramRights {
    pub fn sight(&self, definition: &ProgramDef) -> ProgramSight {
        let ProgramDef { database, name, .. } = definition;
        let is_own = self.user == definition.definer_user && self.host == definition.definer_host;
        let routine = |kind| {
            let rights = self.access.routine(kind, database, name);
            let any = [Privilege::Execute, Privilege::AlterRoutine, Privilege::CreateRoutine];
            let sees_all = self.access.global.has(Privilege::Select.into())
                || self.access.has_dynamic(auth::DynamicPrivilege::ShowRoutine);
            match (is_own || sees_all, rights.meets(PrivilegeSet::of(&any))) {
                (true, _) => ProgramSight::Whole,
                (false, true) => ProgramSight::Existence,
                (false, false) => ProgramSight::Nothing,
            }
        };
        let whole_if = |may: bool| if may { ProgramSight::Whole } else { ProgramSight::Nothing };
        match (definition.kind, &definition.trigger) {
            _ if self.access.is_full() => ProgramSight::Whole,
            (ProgramKind::Procedure, _) => routine(auth::RoutineKind::Procedure),
            (ProgramKind::Function, _) => routine(auth::RoutineKind::Function),
            (ProgramKind::Trigger, trigger) => {
                let table = trigger.as_ref().map_or("", |trigger| trigger.table.as_str());
                whole_if(self.access.table(database, table).has(Privilege::Trigger.into()))
            }
            (ProgramKind::Event, _) => whole_if(self.access.database(database).has(Privilege::Event.into())),
        }
    }
}

/// What a column may be used for, as SHOW FULL COLUMNS lists it.
pub fn column_privileges(access: &Access, database: &str, table: &str, column: &str) -> String {
    let held = match is_public(database) {
        true => Privilege::Select.into(),
        false => access.column(database, table, column),
    };
    let all = PrivilegeSet::all_column().iter().filter(|&privilege| held.has(privilege.into()));
    all.map(|privilege| privilege.name().to_lowercase()).collect::<Vec<_>>().join(",")
}

/// Databases that everybody sees.
fn is_public(database: &str) -> bool {
    database == catalog::INFORMATION_SCHEMA || database == "performance_schema"
}
