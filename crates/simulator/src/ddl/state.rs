//! What exists, as a client sees it: databases, definitions, what the information schema says of them, rows, accounts.
//!
//! Called by the performance, in the rehearsal after each unit and after each recovery. Each view is read once for all
//! databases: it makes its rows for the whole server whatever it is asked for.

use super::builder::without_builds;
use super::server::{Answer, Client};
use crate::ddl::databases::{ACCOUNTS, DATABASES, ROWS_DATABASE, SPILLS_DATABASE};
use instance::Instance;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::TableHandle;

/// Read from the information schema, each beside the column with the database.
const VIEWS: [(&str, &str, &str); 12] = [
    ("tables", "table_schema", "table_name, engine, row_format, table_collation, table_comment"),
    (
        "columns",
        "table_schema",
        "table_name, ordinal_position, column_name, column_default, is_nullable, column_type, column_key, extra, \
         generation_expression",
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
    ("check_constraints", "constraint_schema", "constraint_name, check_clause"),
    (
        "views",
        "table_schema",
        "table_name, view_definition, check_option, is_updatable, definer, security_type",
    ),
    (
        "triggers",
        "trigger_schema",
        "trigger_name, event_manipulation, event_object_table, action_order, action_timing, action_statement, definer",
    ),
    (
        "routines",
        "routine_schema",
        "routine_name, routine_type, dtd_identifier, routine_definition, is_deterministic, routine_comment",
    ),
    ("parameters", "specific_schema", "specific_name, ordinal_position, parameter_name, dtd_identifier"),
    (
        "events",
        "event_schema",
        "event_name, event_definition, event_type, interval_value, interval_field, status",
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

/// What each of the sessions has changed.
pub struct States {
    pub definitions: State,
    pub rows: State,
    pub spills: State,
}

impl States {
    pub async fn read(server: &Arc<Instance>) -> Result<States, String> {
        let views = Views::read(server, &[&DATABASES[..], &[ROWS_DATABASE]].concat()).await?;
        Ok(States {
            definitions: State::definitions_beside(server, &views).await?,
            rows: State::rows_beside(server, &views).await?,
            spills: State::of_spills(server).await?,
        })
    }
}

/// Lines of the information schema, each with its database.
struct Views(Vec<(String, String)>);

impl Views {
    async fn read(server: &Arc<Instance>, databases: &[&str]) -> Result<Views, String> {
        let mut client = Client::connect(server);
        let list = databases.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let mut lines = Vec::new();
        for (view, schema, columns) in VIEWS {
            let text = format!(
                "SELECT {schema}, {columns} FROM information_schema.{view} WHERE {schema} IN ({list})"
            );
            let mut found = read(&mut client, &text).await?;
            found.rows.sort_unstable();
            let parts = found.rows.iter().filter_map(|row| row.split_once('\t'));
            lines.extend(parts.map(|(name, row)| (name.to_owned(), format!("{name} {view}: {row}"))));
        }
        Ok(Views(lines))
    }
}

impl State {
    /// The definitions, their rows, and the accounts.
    pub async fn of_definitions(server: &Arc<Instance>) -> Result<State, String> {
        State::definitions_beside(server, &Views::read(server, &DATABASES).await?).await
    }

    async fn definitions_beside(server: &Arc<Instance>, views: &Views) -> Result<State, String> {
        let mut state = State::default();
        let mut client = Client::connect(server);
        for database in DATABASES {
            state.read_database(&mut client, database).await?;
            state.add_views(views, database);
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
        State::rows_beside(server, &Views::read(server, &[ROWS_DATABASE]).await?).await
    }

    async fn rows_beside(server: &Arc<Instance>, views: &Views) -> Result<State, String> {
        let mut state = State::default();
        state.read_database(&mut Client::connect(server), ROWS_DATABASE).await?;
        state.add_views(views, ROWS_DATABASE);
        state.lines = state.lines.iter().filter_map(|line| without_builds(line)).collect();
        Ok(state)
    }

    /// What is made by way of temporary files.
    pub async fn of_spills(server: &Arc<Instance>) -> Result<State, String> {
        let mut state = State::default();
        state.read_database(&mut Client::connect(server), SPILLS_DATABASE).await?;
        Ok(state)
    }

    async fn read_database(&mut self, client: &mut Client, database: &str) -> Result<(), String> {
        let created = client.query(&format!("SHOW CREATE DATABASE {database}")).await;
        self.add(database, &created);
        if created.is_error {
            return Ok(());
        }
        let all = read(client, &format!("SHOW FULL TABLES FROM {database}")).await?;
        self.add(database, &all);
        for (name, kind) in all.rows.iter().filter_map(|row| row.split_once('\t')) {
            if kind == "VIEW" {
                self.read_view(client, &format!("{database}.{name}")).await;
            }
        }
        let tables = all.rows.iter().filter_map(|row| row.split_once('\t'));
        for table in tables.filter(|(_, kind)| *kind == "BASE TABLE").map(|(table, _)| table) {
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
        Ok(())
    }

    fn add_views(&mut self, views: &Views, database: &str) {
        let own = views.0.iter().filter(|(name, _)| name == database);
        self.lines.extend(own.map(|(_, line)| line.clone()));
    }

    /// Its tables may be gone: then the answer is the error.
    async fn read_view(&mut self, client: &mut Client, name: &str) {
        let definition = client.query(&format!("SHOW CREATE VIEW {name}")).await;
        self.add(name, &definition);
        let mut rows = client.query(&format!("SELECT * FROM {name}")).await;
        rows.rows.sort_unstable();
        self.add(name, &rows);
    }

    /// By looking at each table as its first use after a start does.
    async fn read_kept_counters(&mut self, server: &Arc<Instance>, database: &str) -> Result<(), String> {
        let engine = server.catalog().engine();
        for table in server.catalog().tables(database) {
            let definition = table.definition();
            if definition.auto_increment_column().is_some() {
                let found =
                    Arc::new(TableHandle::new(definition.clone(), Arc::default(), catalog::bind_columns));
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
