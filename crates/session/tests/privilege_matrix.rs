//! Who may do what: every statement of `privileges/statements.txt` by every holder of `privileges/holders.txt`, with the
//! answer of MySQL 9.7 beside it.
//!
//! `answers.txt` lists for each statement which answer goes to which holders. `known.txt` has the cells that differ on
//! purpose, each with its reason. `RECORD_PRIVILEGES=mysql://root@host:port cargo test -p session --test
//! privilege_matrix` asks a MySQL anew; `SHOW_PRIVILEGES=1` prints every difference.
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instance::Instance;
use mysql::prelude::Queryable;
use support::{Client, new_server};

const ACCOUNT: &str = "mu";

/// One server with an administrator and the holder of the privileges.
trait Subject {
    async fn administer(&mut self, statement: &str);
    async fn log_in(&mut self);
    async fn log_out(&mut self);
    /// `ok` with rows where asked for, or the error's number and message.
    async fn ask(&mut self, statement: &str, with_rows: bool) -> String;
}

struct Evenkeel {
    server: Arc<Instance>,
    root: Client,
    holder: Option<Client>,
}

impl Subject for Evenkeel {
    async fn administer(&mut self, statement: &str) {
        let answer = self.root.query(statement).await;
        assert!(!answer.starts_with("ERROR"), "{statement}: {answer}");
    }

    async fn log_in(&mut self) {
        self.holder = Some(Client::connect_account(&self.server, ACCOUNT, "%").await);
    }

    async fn log_out(&mut self) {
        if let Some(holder) = self.holder.take() {
            holder.session.close().await;
        }
    }

    async fn ask(&mut self, statement: &str, with_rows: bool) -> String {
        let answer = self.holder.as_mut().expect("logged in").query(statement).await;
        let Some(place) = answer.find("ERROR ") else {
            let rows = answer.lines().skip(1).collect::<Vec<_>>().join("|");
            return if with_rows { format!("ok {rows}") } else { "ok".to_owned() };
        };
        let error = &answer[place + 6..];
        let (number, message) = error.split_once(' ').unwrap_or((error, ""));
        let message =
            message.split_once("): ").or(message.split_once(": ")).map_or(message, |(_, text)| text);
        general(number, message.trim_end())
    }
}

struct MySql {
    options: mysql::Opts,
    root: mysql::Conn,
    holder: Option<mysql::Conn>,
}

impl Subject for MySql {
    async fn administer(&mut self, statement: &str) {
        self.root.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    async fn log_in(&mut self) {
        let options =
            mysql::OptsBuilder::from_opts(self.options.clone()).user(Some(ACCOUNT)).pass(None::<&str>);
        self.holder = Some(mysql::Conn::new(options).expect("the holder logs in"));
    }

    async fn log_out(&mut self) {
        self.holder = None;
    }

    async fn ask(&mut self, statement: &str, with_rows: bool) -> String {
        let holder = self.holder.as_mut().expect("logged in");
        match holder.query::<mysql::Row, _>(statement) {
            Ok(rows) if with_rows => {
                let texts: Vec<String> = rows
                    .into_iter()
                    .map(|row| row.get::<Option<String>, _>(0).flatten().unwrap_or("NULL".to_owned()))
                    .collect();
                format!("ok {}", texts.join("|"))
            }
            Ok(_) => "ok".to_owned(),
            Err(mysql::Error::MySqlError(error)) => general(&error.code.to_string(), &error.message),
            Err(error) => panic!("{statement}: {error}"),
        }
    }
}

/// The host that a server calls the client by is no part of the answer.
fn general(number: &str, message: &str) -> String {
    format!("{number} {}", message.replace("'127.0.0.1'", "'host'").replace("'localhost'", "'host'"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/privileges")
}

fn lines(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder().join(name)).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Name and statements.
fn holders() -> Vec<(String, Vec<String>)> {
    let holder = |line: String| {
        let (name, grants) = line.split_once(':').expect("a name and its grants");
        let grants = grants.split(';').map(str::trim).filter(|grant| !grant.is_empty());
        let grants = grants.map(|grant| match grant.split_once(" with ") {
            Some((what, option)) => format!("grant {what} to {ACCOUNT} with {option}"),
            None => format!("grant {grant} to {ACCOUNT}"),
        });
        (name.to_owned(), grants.collect())
    };
    lines("holders.txt").into_iter().map(holder).collect()
}

/// Which part of the setup a statement that was carried out makes necessary again: nothing, what it changed, or a new
/// session.
fn part_to_reset(statement: &str) -> Option<&'static str> {
    let starts = |words: &[&str]| words.iter().any(|word| statement.starts_with(word));
    let of_accounts = [" user", " role", "grant", "revoke", "set password", "set default"];
    let without_effect = [
        "select", "show", "explain", "describe", "with", "table", "check", "xa", "kill", "analyze",
        "optimize", "repair",
    ];
    if is_row_change(statement) || starts(&without_effect) {
        None
    } else if starts(&["set global", "set persist"]) {
        Some("[variables]")
    } else if starts(&["set role", "set session", "use", "lock", "flush"]) {
        Some("[session]")
    } else if of_accounts.iter().any(|word| statement.contains(word)) {
        Some("[accounts]")
    } else {
        Some("[databases]")
    }
}

/// Is undone by a rollback.
fn is_row_change(statement: &str) -> bool {
    let words = ["insert", "replace", "update", "delete"];
    words.iter().any(|word| statement.starts_with(word)) || statement.ends_with("for update")
}

/// The statements of one part of the setup.
fn part(setup: &[String], name: &str) -> Vec<String> {
    let after = setup.iter().skip_while(|line| *line != name).skip(1);
    after.take_while(|line| !line.starts_with('[')).cloned().collect()
}

type Answers = BTreeMap<(String, String), String>;

async fn answers_of(subject: &mut impl Subject) -> Answers {
    let (setup, statements) = (lines("setup.sql"), lines("statements.txt"));
    let mut answers = Answers::new();
    for step in part(&setup, "[databases]") {
        subject.administer(&step).await;
    }
    for (holder, grants) in holders() {
        let mut stale = Some("[accounts]");
        for statement in &statements {
            if let Some(name) = stale {
                subject.log_out().await;
                for step in part(&setup, name) {
                    subject.administer(&step).await;
                }
                if name == "[accounts]" {
                    for grant in &grants {
                        subject.administer(grant).await;
                    }
                }
                subject.log_in().await;
            }
            let (text, with_rows) = match statement.strip_prefix('?') {
                Some(text) => (text, true),
                None => (statement.as_str(), false),
            };
            if is_row_change(text) {
                subject.ask("begin", false).await;
            }
            let answer = subject.ask(text, with_rows).await;
            if is_row_change(text) {
                subject.ask("rollback", false).await;
            }
            stale = if answer.starts_with("ok") { part_to_reset(text) } else { None };
            answers.insert((statement.clone(), holder.clone()), answer);
        }
        subject.log_out().await;
        // The next holder finds everything as this one did.
        for step in part(&setup, "[variables]").iter().chain(&part(&setup, "[databases]")) {
            subject.administer(step).await;
        }
    }
    answers
}

/// For each statement, in its order: answers, and the holders that get them.
fn written(answers: &Answers) -> String {
    let names: Vec<String> = holders().into_iter().map(|(name, _)| name).collect();
    let mut text = "# MySQL 9.7's answers, recorded by the test.\n".to_owned();
    for statement in lines("statements.txt") {
        let _ = writeln!(text, "\n{statement}");
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for name in &names {
            let answer = &answers[&(statement.clone(), name.clone())];
            match groups.iter_mut().find(|(known, _)| known == answer) {
                Some((_, list)) => list.push(name),
                None => groups.push((answer, vec![name])),
            }
        }
        for (answer, list) in groups {
            let _ = writeln!(text, "  {answer}\n    {}", list.join("; "));
        }
    }
    text
}

fn recorded() -> Answers {
    let mut answers = Answers::new();
    let (mut statement, mut answer) = (String::new(), String::new());
    for line in lines("answers.txt") {
        match (line.strip_prefix("    "), line.strip_prefix("  ")) {
            (Some(list), _) => {
                for name in list.split("; ") {
                    answers.insert((statement.clone(), name.to_owned()), answer.clone());
                }
            }
            (None, Some(text)) => answer = text.to_owned(),
            (None, None) => statement = line,
        }
    }
    answers
}

#[test]
fn every_account_may_do_what_it_may_on_mysql() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    if let Ok(url) = std::env::var("RECORD_PRIVILEGES") {
        let options = mysql::Opts::from_url(&url).expect("a URL");
        let root = mysql::Conn::new(options.clone()).expect("a server");
        let mut subject = MySql { options, root, holder: None };
        let answers = runtime.block_on(answers_of(&mut subject));
        std::fs::write(folder().join("answers.txt"), written(&answers)).expect("a writable folder");
        return;
    }
    let ours = runtime.block_on(async {
        let server = new_server().await;
        let root = Client::connect(&server).await;
        answers_of(&mut Evenkeel { server, root, holder: None }).await
    });
    let theirs = recorded();
    assert_eq!(ours.len(), theirs.len(), "every cell is recorded");
    // Statement, and the beginning of our answer.
    let known: BTreeSet<String> = lines("known.txt").into_iter().collect();
    let mut groups: BTreeMap<(String, String, String), Vec<String>> = BTreeMap::new();
    for ((statement, holder), answer) in &ours {
        let expected = &theirs[&(statement.clone(), holder.clone())];
        if answer != expected && !known.contains(&format!("{statement} => {answer}")) {
            let key = (statement.clone(), expected.clone(), answer.clone());
            groups.entry(key).or_default().push(holder.clone());
        }
    }
    let count: usize = groups.values().map(Vec::len).sum();
    let mut report = String::new();
    for ((statement, expected, answer), list) in &groups {
        let _ =
            writeln!(report, "{statement}\n  MySQL: {expected}\n  here:  {answer}\n    {}", list.join("; "));
    }
    assert!(groups.is_empty(), "{count} of {} cells differ:\n{report}", ours.len());
}
