//! What exists, as a client sees it: databases, definitions, what the information schema says of them, rows, accounts.
//!
//! Called by the performance, in the rehearsal after each unit and after each recovery.

use super::builder::without_builds;
use super::server::{Answer, Client};
use instance::Instance;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::TableHandle;

/// The databases whose definitions change.
pub const DATABASES: [&str; 3] = ["d0", "d1", "d2"];
/// The database whose rows change meanwhile.
pub const ROWS_DATABASE: &str = "w";
pub const ACCOUNTS: [&str; 4] = ["u0", "u1", "u2", "u3"];

/// Read from the information schema, each beside the column with the database.
const VIEWS: [(&str, &str, &str); 6] = [
    ("tables", "table_schema", "table_name, engine, row_format, table_collation, table_comment"),
    (
        "columns",
        "table_schema",
        "table_name, ordinal_position, column_name, column_default, is_nullable, column_type, column_key, extra",
    ),
    (
        "statistics",
        "table_schema",
        "table_name, non_unique, index_name, seq_in_index, column_name, sub_part, nullable",
    ),
    ("table_constraints", "table_schema", "table_name, constraint_name, constraint_type"),
    (
        "key_column_usage",
        "table_schema",
        "table_name, constraint_name, column_name, ordinal_position, referenced_table_schema, \
         referenced_table_name, referenced_column_name",
    ),
    (
        "referential_constraints",
        "constraint_schema",
        "table_name, constraint_name, referenced_table_name, unique_constraint_name, update_rule, delete_rule",
    ),
];

/// Everything that a crash may not halve.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub lines: Vec<String>,
    /// The next AUTO_INCREMENT value of each table that tells it.
    pub counters: BTreeMap<String, u64>,
    /// What that value would be after a restart: values that no row was written with are given again.
    pub kept_counters: BTreeMap<String, u64>,
}

impl State {
    /// The definitions, their rows, and the accounts.
    pub async fn of_definitions(server: &Arc<Instance>) -> Result<State, String> {
        let mut state = State::default();
        let mut client = Client::connect(server);
        for database in DATABASES {
            state.read_database(&mut client, database).await?;
            state.read_kept_counters(server, database).await?;
        }
        for account in ACCOUNTS {
            let grants = client.query(&format!("SHOW GRANTS FOR '{account}'@'localhost'")).await;
            state.add(account, &grants);
        }
        Ok(state)
    }

    /// The rows that are changed beside.
    pub async fn of_rows(server: &Arc<Instance>) -> Result<State, String> {
        let mut state = State::default();
        state.read_database(&mut Client::connect(server), ROWS_DATABASE).await?;
        state.lines = state.lines.iter().filter_map(|line| without_builds(line)).collect();
        Ok(state)
    }

    async fn read_database(&mut self, client: &mut Client, database: &str) -> Result<(), String> {
        let created = client.query(&format!("SHOW CREATE DATABASE {database}")).await;
        self.add(database, &created);
        if created.is_error {
            return Ok(());
        }
        let tables = read(client, &format!("SHOW TABLES FROM {database}")).await?;
        self.add(database, &tables);
        for table in &tables.rows {
            let name = format!("{database}.{table}");
            let mut definition = read(client, &format!("SHOW CREATE TABLE {name}")).await?;
            if let Some(counter) = definition.rows.iter_mut().find_map(take_counter) {
                self.counters.insert(name.clone(), counter);
            }
            self.add(&name, &definition);
            let mut rows = read(client, &format!("SELECT * FROM {name}")).await?;
            rows.rows.sort_unstable();
            self.add(&name, &rows);
        }
        for (view, schema, columns) in VIEWS {
            let text =
                format!("SELECT {columns} FROM information_schema.{view} WHERE {schema} = '{database}'");
            let mut found = read(client, &text).await?;
            found.rows.sort_unstable();
            self.add(&format!("{database} {view}"), &found);
        }
        Ok(())
    }

    /// By looking at each table as its first use after a start does.
    async fn read_kept_counters(&mut self, server: &Arc<Instance>, database: &str) -> Result<(), String> {
        let engine = server.catalog().engine();
        for table in server.catalog().tables(database) {
            let definition = table.definition();
            if definition.auto_increment_column().is_some() {
                let found = Arc::new(TableHandle::new(definition.clone(), Arc::default()));
                let found = found.ready(engine).await.map_err(|error| error.to_string())?;
                let name = format!("{database}.{}", definition.name);
                self.kept_counters.insert(name, found.auto_increment().peek());
            }
        }
        Ok(())
    }

    /// Whether these are the counters after a crash in this state: none is lower than what is certain, and none higher than
    /// this or the next state has it, as what was on its way may have used values.
    pub fn check_counters(
        &self,
        certain: &BTreeMap<String, u64>,
        next: &State,
        found: &State,
    ) -> Result<(), String> {
        let of = |counters: &BTreeMap<String, u64>, table: &String| counters.get(table).copied().unwrap_or(1);
        for (table, counter) in &found.kept_counters {
            let least = of(certain, table);
            let most = of(&self.kept_counters, table).max(of(&next.kept_counters, table));
            if !(least..=most).contains(counter) {
                return Err(format!("the next value of {table} is {counter}, not {least} to {most}"));
            }
        }
        Ok(())
    }

    fn add(&mut self, what: &str, answer: &Answer) {
        self.lines.extend(answer.rows.iter().map(|row| format!("{what}: {row}")));
        if answer.is_error {
            self.lines.push(format!("{what}: {}", answer.end));
        }
    }

    /// What the other has and this has not, and the reverse; a few lines for people.
    pub fn difference(&self, other: &State) -> String {
        let lacks = |left: &State, right: &State, sign: &str| -> Vec<String> {
            let missing = left.lines.iter().filter(|line| !right.lines.contains(line));
            missing
                .take(6)
                .map(|line| format!("  {sign} {}", line.chars().take(300).collect::<String>()))
                .collect()
        };
        let lines = [lacks(self, other, "missing:"), lacks(other, self, "unexpected:")].concat();
        if lines.is_empty() { "  the same lines in another number".to_owned() } else { lines.join("\n") }
    }
}

async fn read(client: &mut Client, text: &str) -> Result<Answer, String> {
    let answer = client.query(text).await;
    if answer.is_error { Err(format!("{text}: {}", answer.end)) } else { Ok(answer) }
}

/// The counter in a definition, which may be lower after a restart and is compared by itself.
fn take_counter(definition: &mut String) -> Option<u64> {
    const WORD: &str = " AUTO_INCREMENT=";
    let start = definition.find(WORD)?;
    let digits: String = definition[start + WORD.len()..].chars().take_while(char::is_ascii_digit).collect();
    definition.replace_range(start..start + WORD.len() + digits.len(), "");
    digits.parse().ok()
}
