//! A seed's script on two servers, statement by statement, and the smallest programs that still differ.
use mysql::Conn;
use mysql::prelude::Queryable;

use super::argued::KINDS;
use super::script::{CLEAN, Script};
use crate::random::Random;
use crate::scripts::answer;

/// The first statement of a script that two servers answer differently.
#[derive(Clone, Debug)]
pub struct ProgramDifference {
    pub seed: u64,
    /// What was sent before it, cut down, and itself.
    pub statements: Vec<String>,
    pub reference: String,
    pub tested: String,
    /// The kind of oddity of the reference that it is, if it is one.
    pub argued: Option<&'static str>,
}

impl ProgramDifference {
    /// The first lines that are not the same.
    fn first_lines(&self) -> (Option<&str>, Option<&str>) {
        let lines = self.reference.lines().map(Some).chain(std::iter::repeat(None));
        let others = self.tested.lines().map(Some).chain(std::iter::repeat(None));
        lines.zip(others).find(|(one, other)| one != other || one.is_none()).unwrap_or_default()
    }

    /// What differences have in common: the first lines that are not the same, without numbers.
    pub fn class(&self) -> String {
        let (one, other) = self.first_lines();
        let shown = |line: Option<&str>| {
            let line = line.unwrap_or("nothing");
            let end = line.find(':').filter(|_| line.starts_with("ERROR")).unwrap_or(line.len().min(60));
            line.chars()
                .take(end)
                .map(
                    |letter| if letter.is_ascii_digit() && !line.starts_with("ERROR") { '9' } else { letter },
                )
                .collect::<String>()
        };
        format!("{} / {}", shown(one), shown(other))
    }
}

/// Runs a seed; a difference is cut down.
pub fn compare_programs(seed: u64, reference: &mut Conn, tested: &mut Conn) -> Option<ProgramDifference> {
    let mut script = Script::new(&mut Random::new(seed));
    let mut difference = play(seed, &script, reference, tested)?;
    let class = difference.class();
    loop {
        let smaller = smaller_scripts(&script).find_map(|smaller| {
            let found = play(seed, &smaller, reference, tested)?;
            (found.class() == class).then_some((smaller, found))
        });
        let Some(smaller) = smaller else { break };
        (script, difference) = smaller;
    }
    difference.argued = KINDS.iter().find_map(|kind| {
        let without = (kind.without)(&difference.statements)?;
        differing(&without, reference, tested).is_none().then_some(kind.name)
    });
    Some(difference)
}

/// Each without one thing: a statement at the end, a whole program, a statement of one.
fn smaller_scripts(script: &Script) -> impl Iterator<Item = Script> + '_ {
    let calls = (0..script.statements.len()).map(|at| {
        let mut smaller = script.clone();
        smaller.statements.remove(at);
        smaller
    });
    let routines = (0..script.routines.len()).map(|at| {
        let mut smaller = script.clone();
        smaller.routines.remove(at);
        smaller
    });
    let inside = script.routines.iter().enumerate().flat_map(move |(at, routine)| {
        (0..routine.count()).map(move |number| {
            let mut smaller = script.clone();
            smaller.routines[at] = routine.without(number);
            smaller
        })
    });
    calls.chain(routines).chain(inside)
}

fn play(seed: u64, script: &Script, reference: &mut Conn, tested: &mut Conn) -> Option<ProgramDifference> {
    let statements = script.all();
    let (at, answers) = differing(&statements, reference, tested)?;
    Some(ProgramDifference {
        seed,
        statements: statements[..=at].to_vec(),
        reference: answers.0,
        tested: answers.1,
        argued: None,
    })
}

/// The first statement that is answered differently, and the answers.
fn differing(
    statements: &[String],
    reference: &mut Conn,
    tested: &mut Conn,
) -> Option<(usize, (String, String))> {
    for server in [&mut *reference, &mut *tested] {
        clean(server);
    }
    statements.iter().enumerate().find_map(|(at, statement)| {
        let answers = (answer(reference, statement), answer(tested, statement));
        (compared(&answers.0) != compared(&answers.1)).then_some((at, answers))
    })
}

/// What of an answer is compared. Not, since servers differ there for reasons of their own (docs/limits.md): which row is counted
/// where a value does not fit, and what else a statement that failed has told.
fn compared(answer: &str) -> String {
    let has_error = answer.lines().any(|line| line.starts_with("Error\t"));
    let mut text = String::new();
    for line in answer.lines().filter(|line| !has_error || line.starts_with("Error\t")) {
        let line = line.split(" at row ").next().unwrap_or(line);
        text.push_str(line);
        text.push('\n');
        if has_error {
            // The first is what ended it.
            break;
        }
    }
    text
}

/// Leaves nothing of the script before. Whatever fails here shows in the script.
fn clean(server: &mut Conn) {
    for statement in CLEAN {
        let _ = server.query_drop(statement);
    }
}
