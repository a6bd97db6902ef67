//! The same query gives the same rows whichever index it is forced to use.
//!
//! Queries over two tables with many indexes are made from a seed.
use crate::random::Random;
use crate::support::{Client, new_server};

const INDEXES: [&str; 7] = ["PRIMARY", "a", "ab", "bc", "s", "d", "cb"];

/// Behind the verb, whose length follows.
const HINTS: [&str; 9] = [
    "INDEX_MERGE(t)",
    "INDEX_MERGE(t a, bc, s)",
    "NO_INDEX_MERGE(t) NO_ICP(t) NO_SKIP_SCAN(t)",
    "SKIP_SCAN(t)",
    "SKIP_SCAN(t ab) MRR(t)",
    "MRR(t) INDEX(t a, ab, bc, cb)",
    "NO_RANGE_OPTIMIZATION(t)",
    "NO_INDEX(t) SET_VAR(optimizer_switch='index_merge=off')",
    "ORDER_INDEX(t cb) GROUP_INDEX(t ab) JOIN_INDEX(t bc)",
];
const VERB: usize = "SELECT".len();

impl Random {
    fn condition(&mut self, table: &str, depth: u32) -> String {
        let column = format!("{table}.{}", self.of(&["id", "a", "b", "c"]));
        match self.below(if depth == 0 { 11 } else { 14 }) {
            0 | 1 => format!("{column} = {}", self.number()),
            2 => format!("{column} {} {}", self.of(&["<", "<=", ">", ">=", "<>", "<=>"]), self.number()),
            3 => format!("{column} BETWEEN {} AND {}", self.number(), self.number()),
            4 => format!("{column} {}IN ({})", self.of(&["", "NOT "]), self.list(24, Random::number)),
            5 => format!("{column} IS {}NULL", self.of(&["", "NOT "])),
            6 => format!("{table}.s LIKE '{}'", self.of(&["a%", "B%", "%b", "_a%", "ab"])),
            7 => format!("{table}.s {} {}", self.of(&["=", "<", ">=", "<>"]), self.text()),
            8 => format!("{table}.s {}IN ({})", self.of(&["", "NOT "]), self.list(20, Random::text)),
            9 => {
                let pair = |random: &mut Random| format!("({}, {})", random.number(), random.number());
                format!("({table}.a, {table}.b) IN ({})", self.list(20, pair))
            }
            10 => format!("{column} IN (SELECT u.{} FROM u WHERE u.a < 9)", self.of(&["a", "b", "id"])),
            11 => format!("({} OR {})", self.condition(table, depth - 1), self.condition(table, depth - 1)),
            12 => format!("({} AND {})", self.condition(table, depth - 1), self.condition(table, depth - 1)),
            _ => format!("NOT ({})", self.condition(table, depth - 1)),
        }
    }

    /// The text before and behind the hint, and whether the order of the rows is told.
    fn query(&mut self) -> (String, String, bool) {
        let condition = self.condition("t", 2);
        match self.below(10) {
            6 => (
                "SELECT t.c, MIN(t.b), MAX(t.b) FROM t".into(),
                format!(" WHERE {condition} GROUP BY t.c"),
                false,
            ),
            7 => {
                let filter =
                    self.of(&["", " WHERE t.a IN (3, 5, NULL, 7)", " WHERE t.a IS NULL", " WHERE t.a > 12"]);
                ("SELECT t.a, MIN(t.b), MAX(t.b) FROM t".into(), format!("{filter} GROUP BY t.a"), false)
            }
            8 => {
                let columns = self.of(&["t.a", "t.c, t.b", "t.b", "t.a, t.b"]);
                (format!("SELECT DISTINCT {columns} FROM t"), String::new(), false)
            }
            9 => (
                "SELECT MIN(t.b), MAX(t.b), MIN(t.a), COUNT(DISTINCT t.c) FROM t".into(),
                String::new(),
                false,
            ),
            0 => (
                "SELECT t.a, COUNT(*), MIN(t.c) FROM t".into(),
                format!(" WHERE {condition} GROUP BY t.a"),
                false,
            ),
            1 => ("SELECT MIN(t.b), MAX(t.c), COUNT(*) FROM t".into(), format!(" WHERE {condition}"), false),
            2 => ("SELECT DISTINCT t.b FROM t".into(), format!(" WHERE {condition}"), false),
            3 => {
                let order = self.of(&["t.a, t.id", "t.b DESC, t.id DESC", "t.id", "t.c, t.b, t.id"]);
                (
                    "SELECT t.id, t.s FROM t".into(),
                    format!(" WHERE {condition} ORDER BY {order} LIMIT 7"),
                    true,
                )
            }
            4 => {
                let on = self.of(&["u.a = t.a", "u.id = t.b", "u.b = t.c AND u.a = t.a", "u.a = t.id"]);
                let kind = self.of(&["JOIN", "LEFT JOIN"]);
                let behind = format!(" {kind} u ON {on} WHERE {condition}");
                ("SELECT t.id, u.id FROM t".into(), behind, false)
            }
            _ => ("SELECT t.* FROM t".into(), format!(" WHERE {condition}"), false),
        }
    }
}

async fn fill(client: &mut Client, random: &mut Random) {
    let create = "(id int primary key, a int, b int, c smallint, s varchar(10), d date, key a (a), key ab (a, b), \
                  key bc (b desc, c), key s (s, a), key d (d), unique key cb (c, b, id))";
    for (table, rows) in [("t", 400), ("u", 60)] {
        client.query(&format!("create table {table} {create}")).await;
        let row = |random: &mut Random, id: u64| {
            let mut small = |bound| match random.below(9) {
                0 => "NULL".to_owned(),
                _ => random.below(bound).to_string(),
            };
            let numbers = format!("{id}, {}, {}, {}", small(20), small(30), small(8));
            format!("({numbers}, {}, '2024-01-{:02}')", random.text(), 1 + random.below(28))
        };
        let rows: Vec<String> = (0..rows).map(|id| row(random, id)).collect();
        client.query(&format!("insert into {table} values {}", rows.join(", "))).await;
    }
}

pub async fn check(seed: u64) {
    let server = new_server().await;
    let mut client = Client::connect(&server).await;
    client.query("create database oracle").await;
    client.query("use oracle").await;
    let mut random = Random::new(seed);
    fill(&mut client, &mut random).await;
    if random.below(2) == 0 {
        client.query("analyze table t, u").await;
    }
    let mut errors = 0;
    for _ in 0..60 {
        let (before, behind, is_ordered) = random.query();
        let mut first: Option<(String, Vec<String>)> = None;
        let forced = INDEXES.iter().map(|index| format!(" FORCE INDEX ({index})"));
        let without = " IGNORE INDEX (a, ab, bc, s, d, cb)".to_owned();
        let behind_table =
            [String::new(), without].into_iter().chain(forced).map(|text| (String::new(), text));
        let in_comment = HINTS.iter().map(|hint| (format!(" /*+ {hint} */"), String::new()));
        for (comment, hint) in behind_table.chain(in_comment) {
            let text = format!("{}{comment}{}{hint}{behind}", &before[..VERB], &before[VERB..]);
            let answer = client.query(&text).await;
            let mut lines: Vec<String> = answer.lines().map(str::to_owned).collect();
            lines.retain(|line| !line.ends_with("warnings)"));
            if !is_ordered {
                lines.sort();
            }
            match &first {
                None => {
                    errors += usize::from(answer.starts_with("ERROR"));
                    first = Some((text, lines));
                }
                Some((known, expected)) => assert_eq!(*expected, lines, "seed {seed}:\n{known}\n{text}"),
            }
        }
    }
    assert!(errors < 10, "seed {seed}: {errors} of 60 queries are refused");
}
