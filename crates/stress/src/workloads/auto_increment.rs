//! Sessions insert one to five rows into a table whose numbers the server gives. A number is given once, also beside
//! transactions that are rolled back; a statement's numbers are in one piece; those of one session rise; and the row of
//! an acknowledged number is its session's.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::Report;
use crate::load::Load;
use crate::session::{Commit, Session, Stop};

pub struct AutoIncrement {
    sessions: Vec<Mutex<Given>>,
}

/// What a session has got.
#[derive(Default)]
struct Given {
    last: u64,
    /// First number, how many, and what became of their transaction.
    pieces: Vec<(u64, u64, Fate)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Committed,
    RolledBack,
    Unknown,
}

const ROWS_MAX: u32 = 5;

impl AutoIncrement {
    pub fn new(sessions: u32) -> AutoIncrement {
        AutoIncrement { sessions: (0..sessions).map(|_| Mutex::default()).collect() }
    }

    /// The numbers of the statement that has just run.
    fn take(given: &mut Given, session: &Session, count: u64) -> Result<(), Stop> {
        let first = session.last_insert_id();
        if first <= given.last {
            return Err(Stop::Fault(format!("session {} got {first} after {}", session.number, given.last)));
        }
        given.last = first + count - 1;
        given.pieces.push((first, count, Fate::RolledBack));
        Ok(())
    }
}

impl Load for AutoIncrement {
    fn set_up(&self, client: &mut Session) -> Result<(), Stop> {
        client.execute_all(&[
            "CREATE TABLE numbered (id BIGINT AUTO_INCREMENT PRIMARY KEY, session INT NOT NULL)",
        ])
    }

    fn step(&self, session: &mut Session) -> Result<(), Stop> {
        let mut given =
            self.sessions[session.number as usize].lock().expect("no thread panics while it holds this");
        let in_transaction = session.random.one_in(2);
        let statements = if in_transaction { 1 + session.random.below(3) } else { 1 };
        if in_transaction {
            session.execute("BEGIN")?;
        }
        let first_piece = given.pieces.len();
        for _ in 0..statements {
            let count = 1 + session.random.below(ROWS_MAX);
            let rows = vec![format!("({})", session.number); count as usize].join(", ");
            // The numbers of a lost statement are not known; the final check passes over its rows.
            session.execute(format!("INSERT INTO numbered (session) VALUES {rows}"))?;
            Self::take(&mut given, session, u64::from(count))?;
        }
        let fate = if in_transaction && session.random.one_in(4) {
            session.roll_back()?;
            Fate::RolledBack
        } else if in_transaction {
            match session.commit()? {
                Commit::Done => Fate::Committed,
                Commit::Unknown => Fate::Unknown,
            }
        } else {
            Fate::Committed
        };
        given.pieces[first_piece..].iter_mut().for_each(|piece| piece.2 = fate);
        Ok(())
    }

    fn finish(&self, client: &mut Session, report: &mut Report) -> Result<(), Stop> {
        let rows: Vec<(u64, u32)> = client.rows("SELECT id, session FROM numbered")?;
        let owners: HashMap<u64, u32> = rows.into_iter().collect();
        let mut pieces = Vec::new();
        for (number, given) in self.sessions.iter().enumerate() {
            let given = given.lock().expect("no thread panics while it holds this");
            pieces.extend(
                given.pieces.iter().map(|(first, count, fate)| (*first, *count, *fate, number as u32)),
            );
        }
        pieces.sort_by_key(|(first, ..)| *first);
        for pair in pieces.windows(2) {
            let (first, count, _, session) = pair[0];
            report.expect(first + count <= pair[1].0, || {
                format!("{count} numbers from {first} of session {session} overlap {}", pair[1].0)
            });
        }
        for (first, count, fate, session) in &pieces {
            for id in *first..first + count {
                let owner = owners.get(&id);
                let holds = match fate {
                    Fate::Committed => owner == Some(session),
                    Fate::RolledBack => owner.is_none(),
                    Fate::Unknown => owner.is_none_or(|owner| owner == session),
                };
                report.expect(holds, || {
                    format!("the row of number {id} is {owner:?}'s, not session {session}'s")
                });
            }
        }
        let last = pieces.last().map_or(0, |(first, count, ..)| first + count - 1);
        report.row("rows, statements, last number", format!("{}, {}, {last}", owners.len(), pieces.len()));
        Ok(())
    }
}
