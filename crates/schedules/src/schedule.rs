//! The text form of schedules, and the families that a few lines of it stand for.
//!
//! ```text
//! setup: CREATE TABLE t (id INT PRIMARY KEY, v INT)
//! == a dirty read
//! with level: RU | RC | RR | S
//! with lock: none => | share => FOR SHARE
//! s1: BEGIN
//! s1: UPDATE t SET v = 2 WHERE id = 1
//! s2: SELECT v FROM t WHERE id = 1 {lock}
//! wait: s2
//! s1: COMMIT
//! ```
//!
//! Lines before the first `==` belong to every schedule of the file. `with` makes one schedule for each combination of
//! its values; `{name}` stands for the value. The variable `level` also sets every session's isolation level.
//! `alone: yes` is for schedules that stop other sessions of the server; nothing else runs beside them.
//! `{s2}` in a step is the connection number of that session. A backslash at the end of a line joins the next one.

/// What one line of a schedule does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Query(String),
    /// Waits until the session's step has ended, for what time ends.
    Await,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// 1 for `s1`.
    pub session: usize,
    pub action: Action,
}

/// One schedule without variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    pub name: String,
    /// It stops sessions of other schedules too: no other may run at the same time.
    pub alone: bool,
    /// Run one after the other in a database of its own, before the sessions begin.
    pub setup: Vec<String>,
    /// Run by every session before the first step.
    pub prelude: Vec<String>,
    pub steps: Vec<Step>,
}

impl Schedule {
    pub fn session_count(&self) -> usize {
        self.steps.iter().map(|step| step.session).max().unwrap_or(0)
    }
}

/// The isolation level that a short name stands for.
pub fn level(short: &str) -> Option<&'static str> {
    match short {
        "RU" => Some("READ UNCOMMITTED"),
        "RC" => Some("READ COMMITTED"),
        "RR" => Some("REPEATABLE READ"),
        "S" => Some("SERIALIZABLE"),
        _ => None,
    }
}

struct Variable {
    name: String,
    /// How the value shows in the schedule's name, and what stands for `{name}`.
    values: Vec<(String, String)>,
}

#[derive(Default)]
struct Family {
    name: String,
    variables: Vec<Variable>,
    /// Kind and text of each line, in order.
    lines: Vec<(String, String)>,
}

/// The schedules of a file; an error names the line.
pub fn parse(text: &str) -> Result<Vec<Schedule>, String> {
    let mut common = Family::default();
    let mut families: Vec<Family> = Vec::new();
    for (number, line) in joined_lines(text) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("== ") {
            families.push(Family { name: name.trim().to_owned(), ..Family::default() });
            continue;
        }
        let family = families.last_mut().unwrap_or(&mut common);
        let (kind, rest) = line.split_once(':').ok_or(format!("line {number}: no colon"))?;
        match kind.strip_prefix("with ") {
            Some(name) => family.variables.push(variable(name, rest)),
            None if is_kind(kind) => family.lines.push((kind.to_owned(), rest.trim().to_owned())),
            None => return Err(format!("line {number}: {kind}: is no session, setup or wait")),
        }
    }
    let mut schedules = Vec::new();
    for family in &families {
        expand(&common, family, &mut Vec::new(), &mut schedules);
    }
    Ok(schedules)
}

fn is_kind(kind: &str) -> bool {
    matches!(kind, "setup" | "wait" | "alone") || session_number(kind).is_some()
}

fn session_number(name: &str) -> Option<usize> {
    name.strip_prefix('s')?.parse().ok().filter(|number| (1..=4).contains(number))
}

/// Numbered lines, those that end with a backslash joined to the next.
fn joined_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut joins = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let (part, goes_on) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        match lines.last_mut() {
            Some((_, before)) if joins => before.push_str(part),
            _ => lines.push((index + 1, part.to_owned())),
        }
        joins = goes_on;
    }
    lines
}

fn variable(name: &str, values: &str) -> Variable {
    let values = values.split(" | ").map(|value| match value.split_once("=>") {
        Some((shown, text)) => (shown.trim().to_owned(), text.trim().to_owned()),
        None => (value.trim().to_owned(), value.trim().to_owned()),
    });
    Variable { name: name.trim().to_owned(), values: values.collect() }
}

/// Adds a schedule for each combination of the variables that are not chosen yet.
fn expand(common: &Family, family: &Family, chosen: &mut Vec<(String, String)>, out: &mut Vec<Schedule>) {
    let mut variables = common.variables.iter().chain(&family.variables);
    if let Some(variable) = variables.nth(chosen.len()) {
        for value in &variable.values {
            chosen.push(value.clone());
            expand(common, family, chosen, out);
            chosen.pop();
        }
        return;
    }
    let names = common.variables.iter().chain(&family.variables).map(|variable| &variable.name);
    let pairs: Vec<(&String, &(String, String))> = names.zip(chosen.iter()).collect();
    let fill = |text: &str| {
        let mut text = text.to_owned();
        // Twice, since a value may itself hold a variable.
        for _ in 0..2 {
            for (name, (_, value)) in &pairs {
                text = text.replace(&format!("{{{name}}}"), value);
            }
        }
        text.trim().to_owned()
    };
    let mut schedule = Schedule { name: family.name.clone(), ..Schedule::default() };
    if !pairs.is_empty() {
        let shown: Vec<&str> = pairs.iter().map(|(_, (shown, _))| shown.as_str()).collect();
        schedule.name = format!("{} [{}]", family.name, shown.join(", "));
    }
    for (name, (_, value)) in &pairs {
        if name.as_str() == "level"
            && let Some(level) = level(value)
        {
            schedule.prelude.push(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        }
    }
    for (kind, text) in common.lines.iter().chain(&family.lines) {
        let text = fill(text);
        match session_number(kind) {
            _ if text.is_empty() => {}
            Some(session) => schedule.steps.push(Step { session, action: Action::Query(text) }),
            None if kind == "setup" => schedule.setup.push(text),
            None if kind == "alone" => schedule.alone = true,
            None => {
                let session = session_number(&text).expect("wait names a session");
                schedule.steps.push(Step { session, action: Action::Await });
            }
        }
    }
    out.push(schedule);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_makes_every_combination() {
        let text = "setup: CREATE TABLE t (id INT)\nwith level: RC | RR\n== reads\nwith lock: plain => | share => \
                    FOR SHARE\ns1: SELECT 1 \\\n  FROM t {lock}\nwait: s1\n== other\ns2: KILL {s1}\n";
        let schedules = parse(text).expect("the text is well formed");
        let names: Vec<&str> = schedules.iter().map(|schedule| schedule.name.as_str()).collect();
        let expected = ["reads [RC, plain]", "reads [RC, share]", "reads [RR, plain]", "reads [RR, share]"];
        assert_eq!(names[..4], expected);
        assert_eq!(names[4..], ["other [RC]", "other [RR]"]);
        let query = |text: &str| Action::Query(text.to_owned());
        assert_eq!(schedules[1].steps[0], Step { session: 1, action: query("SELECT 1 FROM t FOR SHARE") });
        assert_eq!(schedules[1].steps[1], Step { session: 1, action: Action::Await });
        assert_eq!(schedules[2].prelude, ["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"]);
        assert_eq!(schedules[4].steps[0].action, query("KILL {s1}"));
        assert_eq!(schedules[4].session_count(), 2);
    }

    #[test]
    fn an_error_names_the_line() {
        assert_eq!(
            parse("== a\ns1: BEGIN\ns9: BEGIN").unwrap_err(),
            "line 3: s9: is no session, setup or wait"
        );
    }
}
