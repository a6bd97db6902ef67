//! The stored form of a stored program: versioned JSON, as that of a table.
use super::{Json, Read, StoredFormError, error, field, flag, json, number, text};
use crate::program::{EventDef, EventState, ProgramAccess, ProgramDef, ProgramKind, TriggerDef};
use crate::trigger_set::TriggerEvent;
use datum::SqlMode;

const FORMAT_VERSION: u64 = 1;
const KINDS: [ProgramKind; 4] =
    [ProgramKind::Procedure, ProgramKind::Function, ProgramKind::Trigger, ProgramKind::Event];
const ACCESSES: [ProgramAccess; 4] = [
    ProgramAccess::ContainsSql,
    ProgramAccess::NoSql,
    ProgramAccess::ReadsSqlData,
    ProgramAccess::ModifiesSqlData,
];
const EVENTS: [TriggerEvent; 3] = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];
const STATES: [EventState; 3] = [EventState::Enabled, EventState::Disabled, EventState::DisabledOnReplica];

impl ProgramDef {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut form = json!({
            "version": FORMAT_VERSION,
            "kind": self.kind.word(),
            "database": self.database,
            "name": self.name,
            "definer_user": self.definer_user,
            "definer_host": self.definer_host,
            "parameters": self.parameters,
            "returns": self.returns,
            "body": self.body,
            "sql_mode": self.sql_mode.0,
            "charset_client": self.charset_client,
            "collation_connection": self.collation_connection,
            "collation_database": self.collation_database,
            "comment": self.comment,
            "as_invoker": self.as_invoker,
            "is_deterministic": self.is_deterministic,
            "access": self.access.words(),
            "created_us": self.created_us,
            "altered_us": self.altered_us,
        });
        if let Some(trigger) = &self.trigger {
            form["trigger"] = json!({
                "table": trigger.table,
                "is_before": trigger.is_before,
                "event": trigger.event.word(),
                "order": trigger.order,
            });
        }
        if let Some(event) = &self.event {
            form["event"] = json!({
                "at_us": event.at_us,
                "every": event.every,
                "starts_us": event.starts_us,
                "ends_us": event.ends_us,
                "state": event.state.word(),
                "preserves": event.preserves,
                "time_zone": event.time_zone,
                "last_executed_us": event.last_executed_us,
            });
        }
        form.to_string().into_bytes()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<ProgramDef, StoredFormError> {
        let form: Json = serde_json::from_slice(bytes).map_err(|cause| error(cause.to_string()))?;
        let version = number(&form, "version")?;
        if version != FORMAT_VERSION {
            return Err(error(format!("format version {version} of a stored program is not known")));
        }
        let program = ProgramDef {
            kind: named(&form, "kind", &KINDS, ProgramKind::word)?,
            database: text(&form, "database")?,
            name: text(&form, "name")?,
            definer_user: text(&form, "definer_user")?,
            definer_host: text(&form, "definer_host")?,
            parameters: text(&form, "parameters")?,
            returns: text(&form, "returns")?,
            body: text(&form, "body")?,
            sql_mode: SqlMode(number(&form, "sql_mode")?),
            charset_client: text(&form, "charset_client")?,
            collation_connection: text(&form, "collation_connection")?,
            collation_database: text(&form, "collation_database")?,
            comment: text(&form, "comment")?,
            as_invoker: flag(&form, "as_invoker"),
            is_deterministic: flag(&form, "is_deterministic"),
            access: named(&form, "access", &ACCESSES, ProgramAccess::words)?,
            created_us: moment(&form, "created_us")?.unwrap_or(0),
            altered_us: moment(&form, "altered_us")?.unwrap_or(0),
            trigger: form.get("trigger").map(read_trigger).transpose()?,
            event: form.get("event").map(read_event).transpose()?,
        };
        let is_whole = (program.kind == ProgramKind::Trigger) == program.trigger.is_some()
            && (program.kind == ProgramKind::Event) == program.event.is_some();
        if is_whole { Ok(program) } else { Err(error("a stored program of two kinds")) }
    }
}

fn read_trigger(form: &Json) -> Read<TriggerDef> {
    Ok(TriggerDef {
        table: text(form, "table")?,
        is_before: flag(form, "is_before"),
        event: named(form, "event", &EVENTS, TriggerEvent::word)?,
        order: super::small(form, "order")?,
    })
}

fn read_event(form: &Json) -> Read<EventDef> {
    let every = match field(form, "every")? {
        Json::Null => None,
        Json::Array(pair) => match pair.as_slice() {
            [Json::String(value), Json::String(unit)] => Some((value.clone(), unit.clone())),
            _ => return Err(error("an interval is not a value and a unit")),
        },
        _ => return Err(error("an interval is not a list")),
    };
    Ok(EventDef {
        at_us: moment(form, "at_us")?,
        every,
        starts_us: moment(form, "starts_us")?,
        ends_us: moment(form, "ends_us")?,
        state: named(form, "state", &STATES, EventState::word)?,
        preserves: flag(form, "preserves"),
        time_zone: text(form, "time_zone")?,
        last_executed_us: moment(form, "last_executed_us")?,
    })
}

fn moment(form: &Json, name: &str) -> Read<Option<i64>> {
    match field(form, name)? {
        Json::Null => Ok(None),
        value => value.as_i64().map(Some).ok_or_else(|| error(format!("'{name}' is no moment"))),
    }
}

fn named<T: Copy>(form: &Json, name: &str, all: &[T], word: fn(T) -> &'static str) -> Read<T> {
    let text = text(form, name)?;
    let found = all.iter().copied().find(|one| word(*one) == text);
    found.ok_or_else(|| error(format!("unknown {name} '{text}'")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> ProgramDef {
        ProgramDef {
            kind: ProgramKind::Event,
            database: "d".to_owned(),
            name: "é".to_owned(),
            definer_user: "u".to_owned(),
            definer_host: "%".to_owned(),
            parameters: String::new(),
            returns: String::new(),
            body: "BEGIN END".to_owned(),
            sql_mode: SqlMode::DEFAULT,
            charset_client: "utf8mb4".to_owned(),
            collation_connection: "utf8mb4_0900_ai_ci".to_owned(),
            collation_database: "utf8mb4_0900_ai_ci".to_owned(),
            comment: "c".to_owned(),
            as_invoker: true,
            is_deterministic: false,
            access: ProgramAccess::NoSql,
            created_us: 7,
            altered_us: -8,
            trigger: None,
            event: Some(EventDef {
                at_us: None,
                every: Some(("1".to_owned(), "DAY".to_owned())),
                starts_us: Some(5),
                ends_us: None,
                state: EventState::DisabledOnReplica,
                preserves: true,
                time_zone: "SYSTEM".to_owned(),
                last_executed_us: None,
            }),
        }
    }

    #[test]
    fn a_program_reads_back_as_it_was_written() {
        let event = program();
        assert_eq!(ProgramDef::from_bytes(&event.to_bytes()), Ok(event.clone()));
        let trigger =
            TriggerDef { table: "t".to_owned(), is_before: true, event: TriggerEvent::Delete, order: 2 };
        let trigger = ProgramDef { kind: ProgramKind::Trigger, trigger: Some(trigger), event: None, ..event };
        assert_eq!(ProgramDef::from_bytes(&trigger.to_bytes()), Ok(trigger));
    }

    #[test]
    fn bytes_of_any_content_are_refused() {
        let bytes = program().to_bytes();
        for end in 0..bytes.len() {
            assert!(ProgramDef::from_bytes(&bytes[..end]).is_err());
        }
        for (from, to) in [("NO SQL", "NO"), ("\"EVENT\"", "\"TRIGGER\""), ("\"version\":1", "\"version\":9")]
        {
            let changed = String::from_utf8_lossy(&bytes).replace(from, to);
            assert!(ProgramDef::from_bytes(changed.as_bytes()).is_err(), "{from}");
        }
    }
}
