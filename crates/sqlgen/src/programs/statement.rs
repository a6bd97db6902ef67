//! The statements of programs: control flow, handlers, cursors, conditions, changes of tables, calls.
//!
//! Invariant: every program ends, because each loop counts its rounds before anything else, and programs call only those made before them.
use super::scope::{Kind, Label, Scope, Sort};
use super::tree::{Part, Piece};
use super::value::{condition, integer, of_kind, text};
use crate::random::Random;

const KINDS: [Kind; 3] = [Kind::Integer, Kind::Text, Kind::Decimal];
const DEPTH: usize = 2;

/// Makes statements; its numbers keep names apart.
pub struct Maker<'r> {
    pub random: &'r mut Random,
    next: usize,
}

impl<'r> Maker<'r> {
    pub fn new(random: &'r mut Random) -> Maker<'r> {
        Maker { random, next: 0 }
    }

    fn name(&mut self, letter: &str) -> String {
        self.next += 1;
        format!("{letter}{}", self.next)
    }

    /// A block with what it declares.
    pub fn block(&mut self, scope: &Scope, statements: usize) -> Piece {
        let mut inner = scope.clone();
        let label = self.name("b");
        inner.labels.push(Label { name: label.clone(), is_loop: false });
        inner.depth += 1;
        let mut begin = format!("{label}: BEGIN");
        for _ in 0..self.random.below(4) {
            begin.push_str(&self.variable(&mut inner));
        }
        if self.random.one_in(3) {
            let name = self.name("n");
            let value = *self.random.pick(&[
                "SQLSTATE '45000'",
                "SQLSTATE '02000'",
                "SQLSTATE '01000'",
                "1062",
                "SQLSTATE '23000'",
            ]);
            begin.push_str(&format!("\nDECLARE {name} CONDITION FOR {value};"));
            if value.starts_with("SQLSTATE") {
                inner.conditions.push(name);
            }
        }
        for _ in 0..usize::from(self.random.one_in(3)) {
            let name = self.name("c");
            let query =
                format!("SELECT id, b FROM t WHERE a <> {} ORDER BY id", integer(self.random, &inner, 1));
            begin.push_str(&format!("\nDECLARE {name} CURSOR FOR {query};"));
            inner.cursors.push(name);
        }
        let mut pieces = Vec::new();
        for _ in 0..self.random.below(3) {
            let handler = self.handler(&inner);
            pieces.push(handler);
        }
        pieces.extend(self.list(&inner, statements));
        Piece::around(begin, pieces, format!("END {label}"))
    }

    fn variable(&mut self, inner: &mut Scope) -> String {
        let kind = *self.random.pick(&KINDS);
        let (letter, types): (&str, &[&str]) = match kind {
            Kind::Integer => ("i", &["INT", "TINYINT", "BIGINT UNSIGNED"]),
            Kind::Text => ("s", &["VARCHAR(10)", "CHAR(3)", "TEXT"]),
            Kind::Decimal => ("d", &["DECIMAL(5,2)", "DECIMAL(10,3)"]),
        };
        let (name, of) = (self.name(letter), *self.random.pick(types));
        let default = match self.random.one_in(2) {
            true => format!(" DEFAULT {}", of_kind(self.random, inner, kind, 1)),
            false => String::new(),
        };
        inner.declare(&name, kind, true);
        format!("\nDECLARE {name} {of}{default};")
    }

    fn handler(&mut self, scope: &Scope) -> Piece {
        let mut inner = scope.clone();
        inner.is_in_handler = true;
        // LEAVE and ITERATE do not go out of a handler.
        inner.labels.clear();
        let sort = if self.random.one_in(2) { "CONTINUE" } else { "EXIT" };
        let mut of = vec![
            "SQLEXCEPTION",
            "SQLWARNING",
            "NOT FOUND",
            "1062",
            "1365",
            "SQLSTATE '45000'",
            "SQLSTATE '01000'",
            "SQLSTATE '22003'",
            "1172",
        ];
        of.extend(inner.conditions.iter().map(String::as_str));
        let of = (*self.random.pick(&of)).to_owned();
        let count = 1 + self.random.below(2);
        let pieces = self.list(&inner, count);
        Piece::around(format!("DECLARE {sort} HANDLER FOR {of} BEGIN"), pieces, "END")
    }

    pub fn list(&mut self, scope: &Scope, count: usize) -> Vec<Piece> {
        (0..count).map(|_| self.statement(scope)).collect()
    }

    fn statement(&mut self, scope: &Scope) -> Piece {
        let is_deep = scope.depth > 3;
        loop {
            let made = match self.random.below(26) {
                0..=2 => self.assignment(scope),
                3 => Some(Piece::plain(format!("SET @u = {}", integer(self.random, scope, DEPTH)))),
                4..=7 => Some(self.change(scope)),
                8 | 9 => self.select_into(scope),
                10 => (scope.sort == Sort::Procedure).then(|| self.result_set(scope)),
                11 if !is_deep => Some(self.branches(scope)),
                12 if !is_deep => Some(self.case(scope)),
                13 | 14 if !is_deep => Some(self.repeated(scope)),
                15 if !is_deep => {
                    let count = 1 + self.random.below(3);
                    Some(self.block(scope, count))
                }
                16 => Some(self.signal(scope)),
                17 => scope.is_in_handler.then(|| self.resignal()),
                18 => self.diagnostics(scope),
                19 | 20 => self.cursor(scope),
                21 | 22 => self.call(scope),
                23 => self.jump(scope),
                24 => (scope.sort == Sort::Procedure).then(|| self.of_procedures()),
                _ => Some(self.note(scope)),
            };
            if let Some(piece) = made {
                return piece;
            }
        }
    }

    fn assignment(&mut self, scope: &Scope) -> Option<Piece> {
        let kind = *self.random.pick(&KINDS);
        let target = scope.target(self.random, kind)?.to_owned();
        let mut text = format!("SET {target} = {}", of_kind(self.random, scope, kind, DEPTH));
        if self.random.one_in(4)
            && let Some(second) = scope.target(self.random, Kind::Integer)
        {
            let second = second.to_owned();
            text.push_str(&format!(", {second} = {}", integer(self.random, scope, 1)));
        }
        Some(Piece::plain(text))
    }

    /// Into the table that no trigger is on.
    fn note(&mut self, scope: &Scope) -> Piece {
        let value = match self.random.one_in(2) {
            true => text(self.random, scope, DEPTH),
            false => integer(self.random, scope, DEPTH),
        };
        Piece::plain(format!("INSERT INTO l (w) VALUES ({value})"))
    }

    fn change(&mut self, scope: &Scope) -> Piece {
        let table = if self.random.one_in(2) { "t" } else { "u" };
        let (key, number) = (integer(self.random, scope, 1), integer(self.random, scope, 1));
        let (word, part) = (text(self.random, scope, 1), of_kind(self.random, scope, Kind::Decimal, 1));
        Piece::plain(match self.random.below(8) {
            0 => format!("INSERT INTO {table} VALUES ({key}, {number}, {word}, {part})"),
            1 => {
                format!("INSERT IGNORE INTO {table} VALUES ({key}, {number}, {word}, {part}), (1, 2, 'k', 3)")
            }
            2 => format!("REPLACE INTO {table} VALUES ({key}, {number}, {word}, {part})"),
            3 => format!(
                "INSERT INTO {table} VALUES ({key}, {number}, {word}, {part}) ON DUPLICATE KEY UPDATE a = a + 1, b = {word}"
            ),
            4 => format!("DELETE FROM {table} WHERE id = {key}"),
            5 => format!("UPDATE {table} SET a = {number}, c = {part} WHERE id = {key}"),
            6 => format!("UPDATE {table} SET b = {word} WHERE a > {number} ORDER BY id LIMIT 2"),
            _ => format!("INSERT INTO {table} (id, a) VALUES ({key}, {number}), (4, {number})"),
        })
    }

    fn select_into(&mut self, scope: &Scope) -> Option<Piece> {
        let number = scope.local(self.random, Kind::Integer)?.to_owned();
        let key = integer(self.random, scope, 1);
        Some(Piece::plain(match (self.random.below(4), scope.local(self.random, Kind::Text)) {
            (0, Some(word)) => format!("SELECT a, b INTO {number}, {word} FROM t WHERE id = {key}"),
            (1, Some(word)) => format!("SELECT COUNT(*), MAX(b) INTO {number}, {word} FROM u"),
            (2, _) => format!("SELECT a INTO {number} FROM t WHERE id > {key} ORDER BY id LIMIT 2"),
            _ => format!("SELECT {} INTO {number}", integer(self.random, scope, DEPTH)),
        }))
    }

    fn result_set(&mut self, scope: &Scope) -> Piece {
        let value = of_kind(self.random, scope, Kind::Text, DEPTH);
        Piece::plain(match self.random.below(5) {
            0 => format!("SELECT {} AS n, {value} AS w", integer(self.random, scope, DEPTH)),
            1 => format!("SELECT * FROM t WHERE id >= {} ORDER BY id", integer(self.random, scope, 1)),
            2 => "SELECT ROW_COUNT() AS r".to_owned(),
            3 => "SHOW WARNINGS".to_owned(),
            _ => format!("SELECT id, {} AS n FROM u ORDER BY id LIMIT 3", integer(self.random, scope, 1)),
        })
    }

    fn branches(&mut self, scope: &Scope) -> Piece {
        let mut inner = scope.clone();
        inner.depth += 1;
        let mut piece = Piece { begin: String::new(), parts: Vec::new(), end: "END IF;".to_owned() };
        for number in 0..1 + self.random.below(2) {
            let word = if number == 0 { "IF" } else { "ELSEIF" };
            let lead = format!("{word} {} THEN", condition(self.random, scope, DEPTH));
            let count = 1 + self.random.below(2);
            piece.parts.push(Part { lead, pieces: self.list(&inner, count) });
        }
        if self.random.one_in(2) {
            piece.parts.push(Part { lead: "ELSE".to_owned(), pieces: self.list(&inner, 1) });
        }
        piece
    }

    fn case(&mut self, scope: &Scope) -> Piece {
        let mut inner = scope.clone();
        inner.depth += 1;
        let is_simple = self.random.one_in(2);
        let begin = match is_simple {
            true => format!("CASE {}", integer(self.random, scope, 1)),
            false => "CASE".to_owned(),
        };
        let mut piece = Piece { begin, parts: Vec::new(), end: "END CASE;".to_owned() };
        for _ in 0..1 + self.random.below(2) {
            let value = match is_simple {
                true => integer(self.random, scope, 1),
                false => condition(self.random, scope, 1),
            };
            piece.parts.push(Part { lead: format!("WHEN {value} THEN"), pieces: self.list(&inner, 1) });
        }
        if !self.random.one_in(3) {
            piece.parts.push(Part { lead: "ELSE".to_owned(), pieces: self.list(&inner, 1) });
        }
        piece
    }

    fn repeated(&mut self, scope: &Scope) -> Piece {
        let (counter, label) = (self.name("k"), self.name("l"));
        let mut inner = scope.clone();
        inner.depth += 1;
        inner.declare(&counter, Kind::Integer, false);
        inner.labels.push(Label { name: label.clone(), is_loop: true });
        let count = 1 + self.random.below(3);
        let pieces = self.list(&inner, count);
        let rounds = 1 + self.random.below(3);
        let declared = format!("BEGIN DECLARE {counter} INT DEFAULT 0; {label}:");
        let step = format!("SET {counter} = {counter} + 1;");
        match self.random.below(3) {
            0 => Piece::around(
                format!("{declared} WHILE {counter} < {rounds} DO {step}"),
                pieces,
                format!("END WHILE {label}; END"),
            ),
            1 => Piece::around(
                format!("{declared} LOOP {step} IF {counter} > {rounds} THEN LEAVE {label}; END IF;"),
                pieces,
                format!("END LOOP {label}; END"),
            ),
            _ => {
                // ITERATE goes to the beginning, past UNTIL.
                let stop = format!("IF {counter} > 9 THEN LEAVE {label}; END IF;");
                let until = format!(
                    "UNTIL {counter} >= {rounds} OR {} END REPEAT {label}; END",
                    condition(self.random, &inner, 1)
                );
                Piece::around(format!("{declared} REPEAT {step} {stop}"), pieces, until)
            }
        }
    }

    fn signal(&mut self, scope: &Scope) -> Piece {
        let mut of = vec!["SQLSTATE '45000'", "SQLSTATE '01000'", "SQLSTATE '02000'", "SQLSTATE '23000'"];
        of.extend(scope.conditions.iter().map(String::as_str));
        let of = (*self.random.pick(&of)).to_owned();
        let items = self.items(scope);
        Piece::plain(format!("SIGNAL {of}{items}"))
    }

    fn items(&mut self, scope: &Scope) -> String {
        let word = scope.variable(self.random, Kind::Text).unwrap_or("'told'").to_owned();
        match self.random.below(4) {
            0 => format!(" SET MESSAGE_TEXT = {word}"),
            1 => " SET MESSAGE_TEXT = 'by hand', MYSQL_ERRNO = 5000".to_owned(),
            2 => " SET TABLE_NAME = 'tt', COLUMN_NAME = 'cc'".to_owned(),
            _ => String::new(),
        }
    }

    fn resignal(&mut self) -> Piece {
        Piece::plain(*self.random.pick(&[
            "RESIGNAL",
            "RESIGNAL SET MESSAGE_TEXT = 'again'",
            "RESIGNAL SQLSTATE '45001' SET MESSAGE_TEXT = 'another', MYSQL_ERRNO = 5001",
            "RESIGNAL SQLSTATE '01001'",
        ]))
    }

    fn diagnostics(&mut self, scope: &Scope) -> Option<Piece> {
        let number = scope.local(self.random, Kind::Integer)?.to_owned();
        let area = if scope.is_in_handler && self.random.one_in(2) { "STACKED " } else { "" };
        Some(Piece::plain(match (self.random.below(4), scope.local(self.random, Kind::Text)) {
            (0, _) => format!("GET {area}DIAGNOSTICS {number} = NUMBER"),
            (1, _) => format!("GET {area}DIAGNOSTICS {number} = ROW_COUNT"),
            (2, Some(word)) => {
                format!("GET {area}DIAGNOSTICS CONDITION 1 {number} = MYSQL_ERRNO, {word} = MESSAGE_TEXT")
            }
            (_, Some(word)) => {
                format!("GET {area}DIAGNOSTICS CONDITION 1 {word} = RETURNED_SQLSTATE, @u = TABLE_NAME")
            }
            _ => format!("GET {area}DIAGNOSTICS CONDITION 1 {number} = MYSQL_ERRNO"),
        }))
    }

    fn cursor(&mut self, scope: &Scope) -> Option<Piece> {
        let name = scope.cursors.last()?.clone();
        Some(match self.random.below(4) {
            0 | 1 => Piece::plain(format!("OPEN {name}")),
            2 => {
                let number = scope.local(self.random, Kind::Integer)?.to_owned();
                let word = scope.local(self.random, Kind::Text).unwrap_or(&number).to_owned();
                Piece::plain(format!("FETCH {name} INTO {number}, {word}"))
            }
            _ => Piece::plain(format!("CLOSE {name}")),
        })
    }

    fn call(&mut self, scope: &Scope) -> Option<Piece> {
        if scope.procedures.is_empty() {
            return None;
        }
        let procedure = self.random.pick(&scope.procedures).clone();
        let mut arguments = Vec::new();
        for is_out in &procedure.outs {
            arguments.push(match is_out {
                false => integer(self.random, scope, 1),
                true => scope.local(self.random, Kind::Integer).unwrap_or("@u").to_owned(),
            });
        }
        Some(Piece::plain(format!("CALL {}({})", procedure.name, arguments.join(", "))))
    }

    fn jump(&mut self, scope: &Scope) -> Option<Piece> {
        if scope.sort == Sort::Function && self.random.one_in(2) {
            return Some(Piece::plain(format!("RETURN {}", integer(self.random, scope, 1))));
        }
        let labels: Vec<Label> = scope.labels.clone();
        if labels.is_empty() {
            return None;
        }
        let label = self.random.pick(&labels);
        let word = if label.is_loop && self.random.one_in(2) { "ITERATE" } else { "LEAVE" };
        let jump = Piece::plain(format!("{word} {}", label.name));
        Some(Piece::around(format!("IF {} THEN", condition(self.random, scope, 1)), vec![jump], "END IF"))
    }

    /// What functions and triggers may not do.
    fn of_procedures(&mut self) -> Piece {
        Piece::plain(match self.random.below(6) {
            0 => "START TRANSACTION".to_owned(),
            1 => "COMMIT".to_owned(),
            2 => "ROLLBACK".to_owned(),
            3 => "SAVEPOINT sp".to_owned(),
            4 => "ROLLBACK TO SAVEPOINT sp".to_owned(),
            _ => {
                let query = *self.random.pick(&[
                    "SELECT COUNT(*) FROM t",
                    "INSERT INTO l (w) VALUES (?)",
                    "UPDATE t SET a = ? WHERE id = 1",
                    "SELECT no_such FROM t",
                    "SET @u = ? + 1",
                    "SET @o = (SELECT MAX(id) FROM t WHERE a > @u)",
                    "SELECT a INTO @u FROM t WHERE id = ?",
                    "SELECT id, a INTO @o, @u FROM t WHERE id <> 2",
                    "DO @u := COALESCE(@u, 0) + 1",
                ]);
                let using = if query.contains('?') { " USING @u" } else { "" };
                format!("PREPARE ps FROM '{query}'; EXECUTE ps{using}; DEALLOCATE PREPARE ps")
            }
        })
    }
}
