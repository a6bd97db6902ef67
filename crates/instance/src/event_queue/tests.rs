//! The queue against events that recur, end and are over.
use super::*;
use schema::{EventDef, ProgramAccess, ProgramDef, ProgramKind};

fn event(id: u64, form: EventDef) -> Arc<LiveProgram> {
    let definition = ProgramDef {
        kind: ProgramKind::Event,
        database: "d".to_owned(),
        name: format!("e{id}"),
        definer_user: "root".to_owned(),
        definer_host: "localhost".to_owned(),
        parameters: String::new(),
        returns: String::new(),
        body: "SELECT 1".to_owned(),
        sql_mode: datum::SqlMode::DEFAULT,
        charset_client: "utf8mb4".to_owned(),
        collation_connection: "utf8mb4_0900_ai_ci".to_owned(),
        collation_database: "utf8mb4_0900_ai_ci".to_owned(),
        comment: String::new(),
        as_invoker: false,
        is_deterministic: false,
        access: ProgramAccess::ContainsSql,
        created_us: 0,
        altered_us: 0,
        trigger: None,
        event: Some(form),
    };
    Arc::new(LiveProgram { id, definition })
}

fn form(at_s: Option<i64>, every_s: Option<i64>) -> EventDef {
    EventDef {
        at_us: at_s.map(|second| second * 1_000_000),
        every: every_s.map(|seconds| (seconds.to_string(), "SECOND".to_owned())),
        starts_us: every_s.map(|_| 100_000_000),
        ends_us: None,
        state: EventState::Enabled,
        preserves: false,
        time_zone: "UTC".to_owned(),
        last_executed_us: None,
    }
}

#[test]
fn events_come_in_the_order_of_their_moments() {
    let queue = EventQueue::default();
    queue.add(&event(1, form(None, Some(10))), 90_000_000);
    queue.add(&event(2, form(Some(105), None)), 90_000_000);
    assert_eq!(queue.next_moment(), Some(100));
    assert!(queue.take_due(99_999_999).is_none());
    let due = queue.take_due(100_400_000).expect("the first is due");
    assert_eq!((due.event.id, due.state, due.ends), (1, EventState::Enabled, false));
    assert_eq!(queue.next_moment(), Some(105));
    // Late: once, and at its next moment after that.
    let once = queue.take_due(131_000_000).expect("due");
    assert_eq!((once.event.id, once.state, once.ends), (2, EventState::Disabled, true));
    assert_eq!(queue.take_due(131_000_000).map(|due| due.event.id), Some(1));
    assert!(queue.take_due(131_000_000).is_none());
    assert_eq!(queue.next_moment(), Some(140));
    queue.forget(1);
    assert_eq!(queue.next_moment(), None);
}

#[test]
fn what_is_over_at_the_start_only_goes() {
    let queue = EventQueue::default();
    let ended = EventDef { ends_us: Some(200_000_000), ..form(None, Some(10)) };
    let kept = EventDef { preserves: true, ..ended.clone() };
    let missed = form(Some(150), None);
    let events = vec![event(1, ended), event(2, kept), event(3, missed)];
    let stale = queue.fill(events, 300_000_000);
    assert_eq!(stale.iter().map(|due| (due.event.id, due.is_stale)).collect::<Vec<_>>(), [(1, true)]);
    // A single one that was missed is executed.
    assert_eq!(queue.take_due(300_000_000).map(|due| due.event.id), Some(3));
}
