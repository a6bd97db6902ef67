//! Runs the SQL scripts of `tests/sql` against a session over an engine in memory and compares what it answers
//! with what was recorded.
//!
//! A script is a list of statements, each followed by `----` and its recorded answer, up to an empty line. A
//! statement may start with `[name]` to run in another session of the same server, with
//! `[user@host]` in one of that account. `UPDATE_SQL_TESTS=1` writes
//! the present answers into the scripts; `SQL_TESTS=part` runs only the files whose name holds `part`.
mod support;

use std::path::{Path, PathBuf};
use support::{Client, new_server};

struct Step {
    comment: String,
    session: String,
    statement: String,
    expected: String,
}

#[test]
fn scripts_answer_as_recorded() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .expect("the script directory exists")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "test"))
        .collect();
    files.sort();
    let chosen = std::env::var("SQL_TESTS").unwrap_or_default();
    let mut failures = Vec::new();
    for file in files.iter().filter(|file| file.to_string_lossy().contains(&chosen)) {
        if let Err(failure) = run_file(file) {
            failures.push(failure);
        }
    }
    assert!(failures.is_empty(), "{} scripts differ:\n{}", failures.len(), failures.join("\n"));
}

fn run_file(file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).expect("a readable script");
    let steps = parse(&text);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let answers = runtime.block_on(async {
        let server = new_server().await;
        let mut clients: Vec<(String, Client)> = Vec::new();
        let mut answers = Vec::new();
        for step in &steps {
            let position = match clients.iter().position(|(name, _)| *name == step.session) {
                Some(position) => position,
                None => {
                    let client = match step.session.split_once('@') {
                        Some((user, host)) => Client::connect_account(&server, user, host).await,
                        None => Client::connect(&server).await,
                    };
                    clients.push((step.session.clone(), client));
                    clients.len() - 1
                }
            };
            answers.push(clients[position].1.query(&step.statement).await);
        }
        answers
    });
    if std::env::var_os("UPDATE_SQL_TESTS").is_some() {
        std::fs::write(file, render(&steps, &answers)).expect("a writable script");
        return Ok(());
    }
    let mut differences = String::new();
    for (step, answer) in steps.iter().zip(&answers) {
        if step.expected.trim_end() != answer.trim_end() {
            differences.push_str(&format!(
                "{}: {}\n--- recorded\n{}\n--- answered\n{}\n",
                file.file_name().expect("a file name").to_string_lossy(),
                step.statement,
                step.expected.trim_end(),
                answer.trim_end()
            ));
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

fn parse(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines().peekable();
    while lines.peek().is_some() {
        let mut comment = String::new();
        while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with('#')) {
            comment.push_str(line);
            comment.push('\n');
        }
        let mut statement = String::new();
        while let Some(line) = lines.next_if(|line| *line != "----" && !line.is_empty()) {
            statement.push_str(line);
            statement.push('\n');
        }
        let mut expected = String::new();
        if lines.next_if(|line| *line == "----").is_some() {
            while let Some(line) = lines.next_if(|line| !line.is_empty()) {
                expected.push_str(line);
                expected.push('\n');
            }
        }
        if statement.is_empty() {
            continue;
        }
        let statement = statement.trim_end();
        let (session, statement) = match statement.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, rest)) => (name.to_owned(), rest.trim_start().to_owned()),
            None => (String::new(), statement.to_owned()),
        };
        steps.push(Step { comment, session, statement, expected });
    }
    steps
}

fn render(steps: &[Step], answers: &[String]) -> String {
    let mut text = String::new();
    for (step, answer) in steps.iter().zip(answers) {
        text.push_str(step.comment.trim_start_matches('\n'));
        if !step.session.is_empty() {
            text.push_str(&format!("[{}] ", step.session));
        }
        text.push_str(&format!("{}\n----\n{}\n\n", step.statement, answer.trim_end()));
    }
    text
}
