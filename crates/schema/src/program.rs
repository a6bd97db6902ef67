//! The descriptor of a stored program: a procedure, function, trigger or event.
//!
//! Invariant: the texts are what the program is. Whoever runs it reads them again, under the mode they were written in;
//! nothing that was made of them is ever stored.
use crate::trigger_set::TriggerEvent;
use crate::{quote_identifier, quote_text};
use datum::SqlMode;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProgramKind {
    Procedure,
    Function,
    Trigger,
    Event,
}

impl ProgramKind {
    pub fn word(self) -> &'static str {
        match self {
            ProgramKind::Procedure => "PROCEDURE",
            ProgramKind::Function => "FUNCTION",
            ProgramKind::Trigger => "TRIGGER",
            ProgramKind::Event => "EVENT",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramAccess {
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
}

impl ProgramAccess {
    pub fn words(self) -> &'static str {
        match self {
            ProgramAccess::ContainsSql => "CONTAINS SQL",
            ProgramAccess::NoSql => "NO SQL",
            ProgramAccess::ReadsSqlData => "READS SQL DATA",
            ProgramAccess::ModifiesSqlData => "MODIFIES SQL DATA",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramDef {
    pub kind: ProgramKind,
    pub database: String,
    pub name: String,
    pub definer_user: String,
    pub definer_host: String,
    /// The text between the parentheses of a routine.
    pub parameters: String,
    /// What a function returns, as written.
    pub returns: String,
    pub body: String,
    pub sql_mode: SqlMode,
    pub charset_client: String,
    pub collation_connection: String,
    pub collation_database: String,
    pub comment: String,
    pub as_invoker: bool,
    pub is_deterministic: bool,
    pub access: ProgramAccess,
    /// Microseconds since 1970.
    pub created_us: i64,
    pub altered_us: i64,
    pub trigger: Option<TriggerDef>,
    pub event: Option<EventDef>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerDef {
    pub table: String,
    pub is_before: bool,
    pub event: TriggerEvent,
    /// Among the triggers of the same sort on the table, from 1.
    pub order: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventState {
    Enabled,
    Disabled,
    DisabledOnReplica,
}

impl EventState {
    pub fn word(self) -> &'static str {
        match self {
            EventState::Enabled => "ENABLED",
            EventState::Disabled => "DISABLED",
            EventState::DisabledOnReplica => "REPLICA_SIDE_DISABLED",
        }
    }
}

/// Times are microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventDef {
    /// Of an event that happens once.
    pub at_us: Option<i64>,
    /// The value of the interval as it is shown, and its unit.
    pub every: Option<(String, String)>,
    pub starts_us: Option<i64>,
    pub ends_us: Option<i64>,
    pub state: EventState,
    pub preserves: bool,
    pub time_zone: String,
    pub last_executed_us: Option<i64>,
}

impl ProgramDef {
    /// A statement that creates the program, which a parser reads under the program's mode: the body is behind `offset`.
    pub fn source(&self) -> (String, usize) {
        let quote = |name: &str| quote_identifier(name);
        let head = match self.kind {
            ProgramKind::Procedure => format!("CREATE PROCEDURE {}({}) ", quote(&self.name), self.parameters),
            ProgramKind::Function => format!(
                "CREATE FUNCTION {}({}) RETURNS {} ",
                quote(&self.name),
                self.parameters,
                self.returns
            ),
            ProgramKind::Trigger => {
                let trigger = self.trigger.as_ref();
                let time = if trigger.is_some_and(|trigger| trigger.is_before) { "BEFORE" } else { "AFTER" };
                let event = trigger.map_or("INSERT", |trigger| trigger.event.word());
                let table = trigger.map_or("", |trigger| trigger.table.as_str());
                format!(
                    "CREATE TRIGGER {} {time} {event} ON {} FOR EACH ROW ",
                    quote(&self.name),
                    quote(table)
                )
            }
            ProgramKind::Event => format!("CREATE EVENT {} ON SCHEDULE EVERY 1 DAY DO ", quote(&self.name)),
        };
        (format!("{head}{}", self.body), head.len())
    }

    /// `user@host` between quotes.
    pub fn definer_text(&self) -> String {
        format!("{}@{}", quote_identifier(&self.definer_user), quote_identifier(&self.definer_host))
    }

    /// SHOW CREATE of a routine.
    pub fn create_routine_text(&self) -> String {
        let mut text = format!(
            "CREATE DEFINER={} {} {}({})",
            self.definer_text(),
            self.kind.word(),
            quote_identifier(&self.name),
            self.parameters
        );
        if self.kind == ProgramKind::Function {
            text += " RETURNS ";
            text += &self.returns;
        }
        text.push('\n');
        if self.access != ProgramAccess::ContainsSql {
            text += &format!("    {}\n", self.access.words());
        }
        if self.is_deterministic {
            text += "    DETERMINISTIC\n";
        }
        if self.as_invoker {
            text += "    SQL SECURITY INVOKER\n";
        }
        if !self.comment.is_empty() {
            text += &format!("    COMMENT {}\n", quote_text(&self.comment));
        }
        text + &self.body
    }

    /// SHOW CREATE TRIGGER.
    pub fn create_trigger_text(&self) -> String {
        let Some(trigger) = &self.trigger else { return String::new() };
        format!(
            "CREATE DEFINER={} TRIGGER {} {} {} ON {} FOR EACH ROW {}",
            self.definer_text(),
            quote_identifier(&self.name),
            if trigger.is_before { "BEFORE" } else { "AFTER" },
            trigger.event.word(),
            quote_identifier(&trigger.table),
            self.body
        )
    }

    /// SHOW CREATE EVENT; `local` shows a moment in the event's time zone.
    pub fn create_event_text(&self, local: &dyn Fn(i64) -> String) -> String {
        let Some(event) = &self.event else { return String::new() };
        let mut text = format!(
            "CREATE DEFINER={} EVENT {} ON SCHEDULE ",
            self.definer_text(),
            quote_identifier(&self.name)
        );
        if let Some((value, unit)) = &event.every {
            text += &format!("EVERY {value} {unit}");
            if let Some(starts) = event.starts_us {
                text += &format!(" STARTS '{}'", local(starts));
            }
            if let Some(ends) = event.ends_us {
                text += &format!(" ENDS '{}'", local(ends));
            }
        } else if let Some(at) = event.at_us {
            text += &format!("AT '{}'", local(at));
        }
        text += if event.preserves { " ON COMPLETION PRESERVE" } else { " ON COMPLETION NOT PRESERVE" };
        text += match event.state {
            EventState::Enabled => " ENABLE",
            EventState::Disabled => " DISABLE",
            EventState::DisabledOnReplica => " DISABLE ON REPLICA",
        };
        if !self.comment.is_empty() {
            text += &format!(" COMMENT {}", quote_text(&self.comment));
        }
        text + " DO " + &self.body
    }
}
