//! Transfers between accounts. The sum of all balances is the same for every reader: a snapshot, a statement at READ
//! COMMITTED, a reader that locks all rows. No balance is negative, and one snapshot never changes.

use crate::Report;
use crate::load::Load;
use crate::session::{Session, Stop};

pub struct Bank;

const ACCOUNTS: u32 = 100;
const OPENING_BALANCE: i64 = 1000;
const SUM: i64 = ACCOUNTS as i64 * OPENING_BALANCE;
const TRANSFER_MAX: u32 = 200;

/// A level and a reader that sees one moment at this level.
const READERS: [(&str, &str); 6] = [
    ("REPEATABLE READ", ""),
    ("READ COMMITTED", ""),
    ("REPEATABLE READ", " FOR UPDATE"),
    ("READ COMMITTED", " FOR UPDATE"),
    ("READ COMMITTED", " LOCK IN SHARE MODE"),
    ("SERIALIZABLE", ""),
];

impl Load for Bank {
    fn set_up(&self, client: &mut Session) -> Result<(), Stop> {
        client.execute(
            "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, KEY balance (balance))",
        )?;
        let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, {OPENING_BALANCE})")).collect();
        client.execute(format!("INSERT INTO accounts VALUES {}", rows.join(", "))).map(drop)
    }

    fn step(&self, session: &mut Session) -> Result<(), Stop> {
        if session.random.one_in(16) { read(session) } else { transfer(session) }
    }

    fn check(&self, client: &mut Session) -> Result<(), Stop> {
        read(client)
    }

    fn finish(&self, client: &mut Session, _report: &mut Report) -> Result<(), Stop> {
        for index in ["PRIMARY", "balance"] {
            let sum: i64 = client.row(format!("SELECT SUM(balance) FROM accounts FORCE INDEX ({index})"))?;
            expect_sum(sum, index)?;
        }
        Ok(())
    }
}

fn expect_sum(sum: i64, reader: &str) -> Result<(), Stop> {
    if sum == SUM { Ok(()) } else { Err(Stop::Fault(format!("{reader} sees {sum}, not {SUM}"))) }
}

fn read(session: &mut Session) -> Result<(), Stop> {
    let (level, lock) = READERS[session.random.below(READERS.len() as u32) as usize];
    session.execute(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))?;
    session.execute("BEGIN")?;
    let sql = format!("SELECT balance FROM accounts ORDER BY id{lock}");
    let balances: Vec<i64> = session.rows(&sql)?;
    expect_sum(balances.iter().sum(), &format!("{level}{lock}"))?;
    if let Some(negative) = balances.iter().find(|balance| **balance < 0) {
        return Err(Stop::Fault(format!("{level}{lock} sees a balance of {negative}")));
    }
    // All but READ COMMITTED without locks see the same again.
    let again: Vec<i64> = session.rows(&sql)?;
    expect_sum(again.iter().sum(), &format!("{level}{lock}, again,"))?;
    if again != balances && (level, lock) != ("READ COMMITTED", "") {
        return Err(Stop::Fault(format!("{level}{lock} sees other balances when it reads again")));
    }
    session.commit()?;
    Ok(())
}

fn transfer(session: &mut Session) -> Result<(), Stop> {
    let random = &mut session.random;
    let (from, amount) = (random.below(ACCOUNTS), random.below(TRANSFER_MAX));
    let to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
    let (locks_first, gives_up) = (random.one_in(3), random.one_in(10));
    let level = if random.one_in(2) { "READ COMMITTED" } else { "REPEATABLE READ" };
    session.execute(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))?;
    session.execute("BEGIN")?;
    if locks_first {
        session.rows::<i64>(format!(
            "SELECT balance FROM accounts WHERE id IN ({from}, {to}) ORDER BY id FOR UPDATE"
        ))?;
    }
    let taken = session.execute(format!(
        "UPDATE accounts SET balance = balance - {amount} WHERE id = {from} AND balance >= {amount}"
    ))?;
    if taken == 0 && amount > 0 {
        return session.roll_back();
    }
    session.execute(format!("UPDATE accounts SET balance = balance + {amount} WHERE id = {to}"))?;
    if gives_up {
        return session.roll_back();
    }
    session.commit().map(drop)
}
