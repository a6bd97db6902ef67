//! All that a seed makes, in the order in which it is sent.
use super::scope::{Kind, Procedure, Scope, Sort};
use super::statement::Maker;
use super::tree::{Piece, Routine};
use super::value::integer;
use crate::random::Random;

/// Programs and what is sent around them.
#[derive(Clone, Debug)]
pub struct Script {
    pub setup: Vec<String>,
    pub routines: Vec<Routine>,
    pub statements: Vec<String>,
}

/// Undoes what a script has made; the tables stay.
pub const CLEAN: &[&str] = &[
    "ROLLBACK",
    "DROP TRIGGER IF EXISTS tr",
    "DROP PROCEDURE IF EXISTS p1",
    "DROP PROCEDURE IF EXISTS p2",
    "DROP PROCEDURE IF EXISTS p3",
    "DROP FUNCTION IF EXISTS f1",
    "DROP FUNCTION IF EXISTS f2",
    "DELETE FROM t",
    "DELETE FROM u",
    "DELETE FROM l",
    "SET @u = NULL, @o = NULL",
];

const TABLES: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS t (id INT NOT NULL PRIMARY KEY, a INT, b VARCHAR(10), c DECIMAL(6,2))",
    "CREATE TABLE IF NOT EXISTS u (id INT NOT NULL PRIMARY KEY, a INT NOT NULL, b VARCHAR(5), c DECIMAL(6,2), UNIQUE (a))",
    "CREATE TABLE IF NOT EXISTS l (n INT NOT NULL AUTO_INCREMENT PRIMARY KEY, w VARCHAR(20))",
    "INSERT INTO t VALUES (1, 10, 'one', 1.5), (2, 20, 'two', NULL), (3, NULL, 'three', -3)",
    "INSERT INTO u VALUES (1, 1, 'x', 0), (2, 5, NULL, 2.25)",
];

impl Script {
    pub fn new(random: &mut Random) -> Script {
        let mode = if random.one_in(3) { "''" } else { "DEFAULT" };
        let mut setup = vec![format!("SET sql_mode = {mode}")];
        setup.extend(TABLES.iter().map(|&table| table.to_owned()));
        setup.push("SET @u = 1".to_owned());
        let mut script = Script { setup, routines: Vec::new(), statements: Vec::new() };
        let mut known = Scope::new(Sort::Procedure);
        let mut maker = Maker::new(random);
        for number in 1..=2 {
            script.function(&mut maker, &mut known, number);
            script.procedure(&mut maker, &mut known, number);
        }
        script.trigger(&mut maker, &known);
        script.procedure(&mut maker, &mut known, 3);
        script.calls(&mut maker, &known);
        script
    }

    /// Everything, in order.
    pub fn all(&self) -> Vec<String> {
        let routines = self.routines.iter().map(Routine::sql);
        self.setup.iter().cloned().chain(routines).chain(self.statements.iter().cloned()).collect()
    }

    fn function(&mut self, maker: &mut Maker<'_>, known: &mut Scope, number: usize) {
        let mut scope = Scope { sort: Sort::Function, ..known.clone() };
        scope.declare("x", Kind::Integer, true);
        let mut body = maker.block(&scope, 3);
        let result = integer(maker.random, &scope, 1);
        if let Some(part) = body.parts.first_mut() {
            part.pieces.push(Piece::plain(format!("RETURN {result}")));
        }
        // One RETURN always stays, so that whatever is left out is still a function.
        body.end = format!("RETURN x; {}", body.end);
        self.routines.push(Routine { head: format!("CREATE FUNCTION f{number}(x INT) RETURNS INT"), body });
        known.functions.push(format!("f{number}"));
    }

    fn procedure(&mut self, maker: &mut Maker<'_>, known: &mut Scope, number: usize) {
        let mut scope = Scope { sort: Sort::Procedure, ..known.clone() };
        scope.declare("x", Kind::Integer, true);
        scope.declare("y", Kind::Integer, true);
        let mode = *maker.random.pick(&["OUT", "INOUT"]);
        let body = maker.block(&scope, 5);
        let head = format!("CREATE PROCEDURE p{number}(x INT, {mode} y INT)");
        self.routines.push(Routine { head, body });
        known.procedures.push(Procedure { name: format!("p{number}"), outs: vec![false, true] });
    }

    fn trigger(&mut self, maker: &mut Maker<'_>, known: &Scope) {
        let time = *maker.random.pick(&["BEFORE", "AFTER"]);
        let event = *maker.random.pick(&["INSERT", "UPDATE", "DELETE"]);
        let mut scope = Scope { sort: Sort::Trigger, ..known.clone() };
        for row in ["NEW", "OLD"] {
            if (row == "NEW" && event == "DELETE") || (row == "OLD" && event == "INSERT") {
                continue;
            }
            let is_assignable = row == "NEW" && time == "BEFORE";
            scope.declare(format!("{row}.a"), Kind::Integer, is_assignable);
            scope.declare(format!("{row}.b"), Kind::Text, is_assignable);
            scope.declare(format!("{row}.c"), Kind::Decimal, is_assignable);
        }
        let body = maker.block(&scope, 3);
        let head = format!("CREATE TRIGGER tr {time} {event} ON u FOR EACH ROW");
        self.routines.push(Routine { head, body });
    }

    fn calls(&mut self, maker: &mut Maker<'_>, known: &Scope) {
        let none = Scope::new(Sort::Procedure);
        for _ in 0..5 {
            let value = integer(maker.random, &none, 0);
            let statement = match maker.random.below(7) {
                0 => format!("SELECT {}({value})", maker.random.pick(&known.functions)),
                1 => format!(
                    "SELECT id, {}(id) FROM t WHERE id <> {value} ORDER BY id",
                    maker.random.pick(&known.functions)
                ),
                2 => format!("INSERT INTO u VALUES (7, {value}, 'seven', 7), (8, 80, 'eight', 8)"),
                3 => format!("UPDATE u SET a = a + 1, b = 'y' WHERE id > {value} ORDER BY id DESC"),
                4 => format!("DELETE FROM u WHERE id = {value} OR id = 2"),
                _ => format!("CALL {}({value}, @o)", maker.random.pick(&known.procedures).name),
            };
            let query_only = statement.starts_with("SELECT");
            self.statements.push(statement);
            self.statements.push("SHOW WARNINGS".to_owned());
            if !query_only {
                self.statements.push("SELECT @o, @u".to_owned());
            }
        }
        for table in
            ["SELECT * FROM t ORDER BY id", "SELECT * FROM u ORDER BY id", "SELECT w FROM l ORDER BY n"]
        {
            self.statements.push(table.to_owned());
        }
        self.statements.push("ROLLBACK".to_owned());
        self.statements.push(
            "SELECT (SELECT COUNT(*) FROM t), (SELECT SUM(a) FROM u), (SELECT COUNT(*) FROM l)".to_owned(),
        );
    }
}
