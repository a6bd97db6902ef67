//! The SQL scripts of the session's tests on a server of MySQL's, which is the specification of their answers.
//!
//! Each statement is sent and its answer compared with the recorded one. A comment `# MySQL: reason` above a statement
//! says why the server may answer otherwise, `# MySQL is not asked: reason` why it is not sent. Invariant: a script finds the server without the databases and accounts
//! of others, and leaves it so. Called by `sqlgen scripts HOST:PORT FOLDER [PART]`.
use std::path::{Path, PathBuf};
use std::time::Duration;

use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Value};

/// A statement that waits longer is given up, as the server would do with its locks.
const PATIENCE: Duration = Duration::from_secs(10);

/// A statement, the session it runs in, and what is recorded.
struct Step {
    session: String,
    statement: String,
    expected: String,
    is_excused: bool,
    is_left_out: bool,
}

/// A recorded answer that the server does not give.
pub struct ScriptDifference {
    pub script: String,
    pub statement: String,
    pub recorded: String,
    pub answered: String,
}

/// The differences of all scripts of a folder whose names hold `part`, and how many statements were compared.
pub fn play_scripts(at: &str, folder: &Path, part: &str) -> Result<(Vec<ScriptDifference>, usize), String> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "test"))
        .filter(|path| path.to_string_lossy().contains(part))
        .collect();
    files.sort();
    let (mut differences, mut count) = (Vec::new(), 0);
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let steps = parse(&text);
        clean(at)?;
        count += steps.len();
        let script = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        differences.extend(play(at, &script, &steps)?);
        clean(at)?;
    }
    Ok((differences, count))
}

fn play(at: &str, script: &str, steps: &[Step]) -> Result<Vec<ScriptDifference>, String> {
    let mut connections: Vec<(&str, Conn)> = Vec::new();
    let mut differences = Vec::new();
    for step in steps.iter().filter(|step| !step.is_left_out) {
        let place = match connections.iter().position(|(name, _)| *name == step.session) {
            Some(place) => place,
            None => {
                let user = step.session.split_once('@').map_or("root", |(user, _)| user);
                connections.push((&step.session, connect_as(at, user)?));
                connections.len() - 1
            }
        };
        let answered = answer(&mut connections[place].1, &step.statement).replace(LOCAL_HOST.0, LOCAL_HOST.1);
        if outcome_of(&answered) != outcome_of(&step.expected) && !step.is_excused {
            differences.push(ScriptDifference {
                script: script.to_owned(),
                statement: step.statement.clone(),
                recorded: step.expected.clone(),
                answered,
            });
        }
    }
    Ok(differences)
}

/// A server that looks no names up knows the client by its address.
const LOCAL_HOST: (&str, &str) = ("127.0.0.1", "localhost");

/// What is compared: of a statement that fails only the error, for it is up to the server when it finds that out.
fn outcome_of(answer: &str) -> &str {
    let answer = answer.trim_end();
    let error = answer.rfind("\nERROR ").map(|at| &answer[at + 1..]);
    error.filter(|error| !error.contains('\n')).unwrap_or(answer)
}

fn connect_as(at: &str, user: &str) -> Result<Conn, String> {
    let (host, port) = at.rsplit_once(':').ok_or(format!("{at} is not host:port"))?;
    let port = port.parse().map_err(|_| format!("{at} is not host:port"))?;
    let options = OptsBuilder::new().ip_or_hostname(Some(host)).tcp_port(port).user(Some(user));
    let options = options.prefer_socket(false).read_timeout(Some(PATIENCE)).init(vec!["set names utf8mb4"]);
    Conn::new(options).map_err(|error| error.to_string())
}

/// Drops what scripts make.
fn clean(at: &str) -> Result<(), String> {
    let mut connection = connect_as(at, "root")?;
    // Scripts make functions without saying what they read; a server without a binary log does not ask.
    let trusts = connection.query_drop("set global log_bin_trust_function_creators = on");
    trusts.map_err(|error| error.to_string())?;
    let own = "'mysql', 'sys', 'information_schema', 'performance_schema'";
    let asked = [
        format!("select concat('drop database `', schema_name, '`') from information_schema.schemata where schema_name not in ({own})"),
        "select concat('drop user ', quote(user), '@', quote(host)) from mysql.user where user not in ('root', '') and user not like 'mysql.%'".to_owned(),
    ];
    for query in asked {
        let drops: Vec<String> = connection.query(query).map_err(|error| error.to_string())?;
        for statement in drops {
            connection.query_drop(statement).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// The answer as scripts have it: names and rows, or what OK and ERR say.
pub(crate) fn answer(connection: &mut Conn, statement: &str) -> String {
    let mut text = String::new();
    // Warnings about rows are known when all are read.
    let mut has_rows = false;
    let outcome = (|| {
        let mut result = connection.query_iter(statement)?;
        while let Some(mut set) = result.iter() {
            let columns = set.columns().as_ref().to_vec();
            has_rows = !columns.is_empty();
            if columns.is_empty() {
                let (rows, id) = (set.affected_rows(), set.last_insert_id().unwrap_or(0));
                let (warnings, info) = (set.warnings(), set.info_str().into_owned());
                // An error after other results comes as a result without columns.
                if let Some(Err(error)) = set.by_ref().next() {
                    return Err(error);
                }
                text.push_str("ok");
                push_if(&mut text, rows > 0, &format!(" {rows} rows"));
                push_if(&mut text, id > 0, &format!(" id {id}"));
                push_if(&mut text, warnings > 0, &format!(" {warnings} warnings"));
                push_if(&mut text, !info.is_empty(), &format!(" ({info})"));
                text.push('\n');
                continue;
            }
            let names: Vec<_> = columns.iter().map(|column| column.name_str().into_owned()).collect();
            text.push_str(&names.join("\t"));
            text.push('\n');
            for row in set.by_ref() {
                let row = row?.unwrap();
                let values =
                    row.iter().zip(&columns).map(|(value, column)| shown(value, column.column_type()));
                let values: Vec<String> = values.collect();
                text.push_str(&values.join("\t"));
                text.push('\n');
            }
        }
        Ok::<(), mysql::Error>(())
    })();
    match outcome {
        Ok(()) => {
            let warnings = connection.warnings();
            push_if(&mut text, has_rows && warnings > 0, &format!("({warnings} warnings)\n"));
        }
        Err(mysql::Error::MySqlError(error)) => {
            text.push_str(&format!("ERROR {} ({}): {}\n", error.code, error.state, error.message));
        }
        Err(error) => text.push_str(&format!("{error}\n")),
    }
    text
}

fn push_if(text: &mut String, condition: bool, more: &str) {
    if condition {
        text.push_str(more);
    }
}

/// A value as scripts have it: with escapes, in hexadecimal digits where it is no UTF-8, and BIT in binary ones.
fn shown(value: &Value, kind: ColumnType) -> String {
    let Value::Bytes(bytes) = value else { return "NULL".to_owned() };
    if kind == ColumnType::MYSQL_TYPE_BIT {
        let bits = bytes.iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        return format!("b'{bits:b}'");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\0', "\\0"),
        Err(_) => bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
    }
}

fn parse(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines().peekable();
    while lines.peek().is_some() {
        let (mut is_excused, mut is_left_out) = (false, false);
        while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with('#')) {
            is_excused |= line.starts_with("# MySQL:");
            is_left_out |= line.starts_with("# MySQL is not asked:");
        }
        let mut taken = |until: fn(&str) -> bool| {
            let mut taken = Vec::new();
            while let Some(line) = lines.next_if(|line| !until(line)) {
                taken.push(line);
            }
            taken.join("\n")
        };
        let statement = taken(|line| line == "----" || line.is_empty());
        taken(|line| line != "----");
        let expected = taken(str::is_empty);
        if statement.is_empty() {
            continue;
        }
        let named = statement.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (session, statement) =
            named.map_or(("", statement.as_str()), |(name, rest)| (name, rest.trim_start()));
        steps.push(Step {
            session: session.to_owned(),
            statement: statement.to_owned(),
            expected,
            is_excused,
            is_left_out,
        });
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read() {
        let steps =
            parse("# all\n\nselect 1\n----\n1\n1\n\n# MySQL: a reason\n[b] select\n  2\n----\n2\n2\n");
        assert_eq!(steps.len(), 2);
        assert_eq!((steps[0].session.as_str(), steps[0].expected.as_str()), ("", "1\n1"));
        assert_eq!((steps[1].session.as_str(), steps[1].statement.as_str()), ("b", "select\n  2"));
        assert!(steps[1].is_excused && !steps[0].is_excused);
    }
}
