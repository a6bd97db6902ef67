//! What may stand in which program: the rules that MySQL's parser checks.
use crate::ast::{
    BarredInside, Diagnostics, MaintenanceKind, Query, RoutineKind, Show, Statement, StatementKind,
    TriggerEvent,
};
use crate::grammar::core::{Parser, Result};

impl<'a> Parser<'a> {
    /// A program neither creates nor drops programs.
    pub fn refuse_definition_inside(&mut self, kind: RoutineKind, creates: bool) -> Result<()> {
        if self.program.is_none() {
            return Ok(());
        }
        let word = match kind {
            RoutineKind::Procedure => "PROCEDURE",
            RoutineKind::Function => "FUNCTION",
            // A trigger is dropped as tables are.
            RoutineKind::Trigger if !creates => return Ok(()),
            RoutineKind::Trigger => "TRIGGER",
            // Events are made and dropped as tables are.
            RoutineKind::Event if !creates => return Ok(()),
            RoutineKind::Event => {
                let message =
                    "Recursion of EVENT DDL statements is forbidden when body is present".to_owned();
                return Err(self.program_error(1576, message));
            }
        };
        if creates {
            let message = format!("Can't create a {word} from within another stored routine");
            return Err(self.program_error(1303, message));
        }
        let message = format!("Can't drop or alter a {word} from within another stored routine");
        Err(self.program_error(1357, message))
    }

    /// OLD and NEW exist for some triggers, and NEW is changed before the row is.
    pub fn check_row_column(&mut self, is_new: bool, assigns: bool) -> Result<()> {
        let Some((is_before, event)) = self.names().trigger else { return Ok(()) };
        let row = if is_new { "NEW" } else { "OLD" };
        if assigns && !is_new {
            let message = "Updating of OLD row is not allowed in trigger".to_owned();
            return Err(self.program_error(1362, message));
        }
        let absent = match event {
            TriggerEvent::Insert if !is_new => Some("on INSERT"),
            TriggerEvent::Delete if is_new => Some("on DELETE"),
            _ => None,
        };
        if let Some(which) = absent {
            return Err(self.program_error(1363, format!("There is no {row} row in {which} trigger")));
        }
        if assigns && !is_before {
            let message = "Updating of NEW row is not allowed in after trigger".to_owned();
            return Err(self.program_error(1362, message));
        }
        Ok(())
    }

    pub fn check_in_body(&mut self, kind: &StatementKind<'a>) -> Result<()> {
        let refused = |what: &str| format!("{what} is not allowed in stored procedures");
        use StatementKind::*;
        let banned = match kind {
            Use(_) => Some("USE"),
            LockTables(_) => Some("LOCK"),
            UnlockTables => Some("UNLOCK"),
            LoadData(_) => Some("LOAD DATA"),
            Handler(_) => Some("HANDLER"),
            CreateView(view) if view.alter => Some("ALTER VIEW"),
            MaintainTable(maintain) if maintain.kind == MaintenanceKind::Check => Some("CHECK"),
            Help(_) => Some("HELP"),
            _ => None,
        };
        if let Some(what) = banned {
            return Err(self.program_error(1314, refused(what)));
        }
        let Some(barred) = barred_inside(kind) else { return Ok(()) };
        let names = self.names();
        if !names.is_inside_statement() {
            // A function or trigger that calls it is told.
            names.barred_inside = Some(names.barred_inside.map_or(barred, |known| known.min(barred)));
            return Ok(());
        }
        let (errno, message) = barred.refusal(match names.kind {
            RoutineKind::Trigger => "trigger",
            _ => "function",
        });
        if errno == 1336 {
            return Err(self.rule_error(self.start(), errno, "0A000", message));
        }
        Err(self.program_error(errno, message))
    }
}

impl BarredInside {
    /// The error's number and text; `what` is a function or a trigger.
    pub fn refusal(self, what: &str) -> (u16, String) {
        let barred =
            |statement: &str| (1336, format!("{statement} is not allowed in stored function or trigger"));
        match self {
            BarredInside::DynamicSql => barred("Dynamic SQL"),
            BarredInside::Flush => barred("FLUSH"),
            BarredInside::Reset => barred("RESET"),
            BarredInside::ResultSet => (1415, format!("Not allowed to return a result set from a {what}")),
            BarredInside::Autocommit => {
                (1445, "Not allowed to set autocommit from a stored function or trigger".to_owned())
            }
            BarredInside::Commit => {
                (1422, "Explicit or implicit commit is not allowed in stored function or trigger.".to_owned())
            }
        }
    }
}

fn barred_inside(kind: &StatementKind<'_>) -> Option<BarredInside> {
    use StatementKind::*;
    match kind {
        Set(set) if set.sets("autocommit") => Some(BarredInside::Autocommit),
        Prepare { .. } | Execute { .. } | Deallocate(_) => Some(BarredInside::DynamicSql),
        Flush(_) => Some(BarredInside::Flush),
        ResetBinaryLogs(_) => Some(BarredInside::Reset),
        _ if returns_rows(kind) => Some(BarredInside::ResultSet),
        _ if commits(kind) => Some(BarredInside::Commit),
        _ => None,
    }
}

fn returns_rows(kind: &StatementKind<'_>) -> bool {
    match kind {
        StatementKind::Query(Query { into, .. }) => into.is_none(),
        StatementKind::Show(Show::ParseTree(Statement { .. })) => true,
        StatementKind::Show(_) | StatementKind::Explain(_) | StatementKind::MaintainTable(_) => true,
        StatementKind::GetDiagnostics(Diagnostics { .. }) => false,
        _ => false,
    }
}

/// Statements that end a transaction, by their word or by what they are.
fn commits(kind: &StatementKind<'_>) -> bool {
    use StatementKind::*;
    match kind {
        CreateTable(create) => !create.temporary,
        DropTable(drop) => !drop.temporary,
        Query(_)
        | Insert(_)
        | Update(_)
        | Delete(_)
        | Do(_)
        | Call { .. }
        | Set(_)
        | Signal(_)
        | GetDiagnostics(_)
        | Savepoint(_)
        | RollbackToSavepoint(_)
        | ReleaseSavepoint(_)
        | Kill(_)
        | SetRole(_)
        | Help(_)
        | PurgeBinaryLogs(_)
        | Empty
        | Unsupported(_) => false,
        SetTransaction(_) => false,
        _ => true,
    }
}
