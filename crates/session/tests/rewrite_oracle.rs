//! The same query gives the same rows with and without rewrites: merging, conditions handed into queries, semijoins,
//! antijoins and hash joins, each of which `optimizer_switch` turns off.
//!
//! Joins and subqueries over small tables full of NULLs and duplicates are made from a seed: `REWRITE_SEED=n` replays one,
//! `REWRITE_SEEDS=n` runs more, `REWRITE_QUERIES=n` asks more of each.
mod support;

use support::{Client, new_server};

const TABLES: [&str; 5] = ["t0", "t1", "t2", "t3", "none"];

/// Everything is evaluated as written.
const PLAIN: &str = "semijoin=off,materialization=off,firstmatch=off,loosescan=off,duplicateweedout=off,derived_merge=off,\
                     derived_condition_pushdown=off,block_nested_loop=off,hash_join=off,subquery_to_derived=off";

const SETTINGS: [&str; 6] = [
    "",
    "block_nested_loop=off",
    "semijoin=off",
    "materialization=off,loosescan=off,duplicateweedout=off",
    "derived_merge=off",
    "subquery_to_derived=on,derived_condition_pushdown=off",
];

struct Random {
    state: u64,
    aliases: usize,
}

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % bound
    }

    fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn table(&mut self) -> &'static str {
        if self.below(30) == 0 { TABLES[4] } else { TABLES[self.below(4) as usize] }
    }

    fn one<'a>(&mut self, aliases: &'a [String]) -> &'a str {
        &aliases[self.below(aliases.len() as u64) as usize]
    }

    fn column(&mut self, aliases: &[String]) -> String {
        let alias = self.one(aliases).to_owned();
        format!("{alias}.{}", self.of(&["id", "a", "b", "a", "b"]))
    }

    fn number(&mut self) -> String {
        if self.below(10) == 0 { "NULL".to_owned() } else { self.below(13).to_string() }
    }

    /// A member of FROM and its alias.
    fn member(&mut self, depth: u32) -> (String, String) {
        self.aliases += 1;
        let alias = format!("x{}", self.aliases);
        let (table, other) = (self.table(), self.table());
        let text = match self.below(if depth == 0 { 12 } else { 20 }) {
            12..=15 => format!("({})", self.block(depth - 1)),
            16 => format!("(SELECT a id, MAX(b) a, COUNT(*) b FROM {table} GROUP BY a)"),
            17 => format!("(SELECT DISTINCT a id, a, b FROM {table})"),
            18 => {
                let all = self.of(&["", " ALL"]);
                format!("(SELECT id, a, b FROM {table} UNION{all} SELECT b, a, id FROM {other})")
            }
            19 => {
                format!("(SELECT id, a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY id) b FROM {table})")
            }
            _ => table.to_owned(),
        };
        (format!("{text} {alias}"), alias)
    }

    fn block(&mut self, depth: u32) -> String {
        let (from, aliases) = self.from(depth);
        let (id, a) = (self.one(&aliases).to_owned(), self.one(&aliases).to_owned());
        let third = match self.below(5) {
            0 => "3".to_owned(),
            1 => format!("COALESCE({a}.a, -1)"),
            2 => format!("{id}.b + 1"),
            _ => format!("{a}.b"),
        };
        let filter = if self.below(3) > 0 { self.conditions(&aliases, depth) } else { "1".to_owned() };
        format!("SELECT {id}.id id, {a}.a a, {third} b FROM {from} WHERE {filter}")
    }

    fn from(&mut self, depth: u32) -> (String, Vec<String>) {
        let (mut text, alias) = self.member(depth);
        let mut aliases = vec![alias];
        for _ in 0..[0, 0, 1, 1, 2][self.below(5) as usize] {
            let (member, alias) = self.member(depth);
            let kind = self.of(&["JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "JOIN", "STRAIGHT_JOIN"]);
            let (left, right) = (self.column(&aliases), self.column(std::slice::from_ref(&alias)));
            let mut on = format!("{left} {} {right}", self.of(&["=", "=", "=", "=", "=", "=", "=", "<"]));
            aliases.push(alias);
            match self.below(12) {
                0..=3 => on = format!("{on} AND {}", self.condition(&aliases, 0, &[])),
                4 | 5 => on = format!("({on} OR {})", self.condition(&aliases, 0, &[])),
                6 if depth > 0 => on = format!("{on} AND {}", self.subquery(&aliases, 1, &[])),
                _ => {}
            }
            text = format!("{text} {kind} {member} ON {on}");
        }
        (text, aliases)
    }

    fn conditions(&mut self, aliases: &[String], depth: u32) -> String {
        let count = 1 + self.below(3);
        let all: Vec<String> = (0..count).map(|_| self.condition(aliases, depth, &[])).collect();
        all.join(" AND ")
    }

    fn condition(&mut self, aliases: &[String], depth: u32, outer: &[String]) -> String {
        let column = self.column(aliases);
        let others = [aliases, outer].concat();
        match self.below(if depth == 0 { 12 } else { 20 }) {
            0..=2 => format!("{column} {} {}", self.of(&["=", "<", ">=", "<>", "<=>"]), self.number()),
            3..=6 => format!("{column} {} {}", self.of(&["=", "=", "<", "<=>"]), self.column(&others)),
            7 => format!("{column} IS {}NULL", self.of(&["", "NOT "])),
            8 => format!("{column} IN ({}, {}, {})", self.number(), self.number(), self.number()),
            9 => format!("({column} = {} OR {} = {column})", self.number(), self.column(&others)),
            10 => {
                let shared = format!("{column} = {}", self.column(&others));
                let (left, right) = (self.condition(aliases, 0, outer), self.condition(aliases, 0, outer));
                format!("({shared} AND {left} OR {shared} AND {right})")
            }
            11 => format!("{column} > {}", self.number()),
            _ => self.subquery(aliases, depth, outer),
        }
    }

    fn subquery(&mut self, aliases: &[String], depth: u32, outer: &[String]) -> String {
        let column = self.column(aliases);
        let others = [aliases, outer].concat();
        let (from, inner) = self.from(depth - 1);
        let mut filter = "1".to_owned();
        for _ in 0..self.below(3) {
            let condition = if self.below(5) < 3 {
                format!("{} {} {}", self.column(&inner), self.of(&["=", "=", "=", "<"]), self.column(&others))
            } else {
                self.condition(&inner, depth - 1, &others)
            };
            filter = format!("{filter} AND {condition}");
        }
        let (not, own, second) = (self.of(&["", "NOT "]), self.column(&inner), self.column(&inner));
        match self.below(12) {
            0..=3 => format!("{not}EXISTS (SELECT 1 FROM {from} WHERE {filter})"),
            4..=6 => format!("{column} {not}IN (SELECT {own} FROM {from} WHERE {filter})"),
            7 => {
                let other = self.column(&others);
                format!("({column}, {other}) {not}IN (SELECT {own}, {second} FROM {from} WHERE {filter})")
            }
            8 | 9 => {
                let aggregate = self.of(&["MAX", "MIN", "COUNT", "SUM"]);
                let operator = self.of(&["=", "<", ">"]);
                format!("{column} {operator} (SELECT {aggregate}({own}) FROM {from} WHERE {filter})")
            }
            10 => {
                let test = self.of(&["< ANY", "> ALL", "<> ALL", "= ANY"]);
                format!("{column} {test} (SELECT {own} FROM {from} WHERE {filter})")
            }
            _ => {
                format!("({not}EXISTS (SELECT 1 FROM {from} WHERE {filter}) OR {column} = {})", self.number())
            }
        }
    }

    /// An aggregate over the rows that belong to one of the others.
    fn value(&mut self, aliases: &[String]) -> String {
        let (from, inner) = self.from(0);
        let own = self.column(&inner);
        let mut filter = format!("{} = {}", self.column(&inner), self.column(aliases));
        if self.below(2) == 0 {
            filter = format!("{filter} AND {}", self.condition(&inner, 0, &[]));
        }
        let results = [
            "MAX(?)",
            "COUNT(?)",
            "COUNT(*)",
            "COALESCE(SUM(?), 0)",
            "MIN(?) + COUNT(*)",
            "COUNT(DISTINCT ?)",
        ];
        format!("(SELECT {} FROM {from} WHERE {filter})", self.of(&results).replace('?', &own))
    }

    fn query(&mut self) -> String {
        self.aliases = 0;
        let depth = 1 + u32::from(self.below(3) == 0);
        let (from, aliases) = self.from(depth);
        let mut filter = self.conditions(&aliases, depth);
        if self.below(2) == 0 {
            filter = format!("{filter} AND {}", self.subquery(&aliases, depth, &[]));
        }
        let (first, second) = (self.column(&aliases), self.column(&aliases));
        let ids: Vec<String> = aliases.iter().map(|alias| format!("{alias}.id")).collect();
        match self.below(10) {
            8 => {
                let (value, other) = (self.value(&aliases), self.value(&aliases));
                format!("SELECT {}, {value} v, {other} w FROM {from} WHERE {filter}", ids.join(", "))
            }
            9 => {
                let (value, other) = (self.value(&aliases), self.value(&aliases));
                let limit = "ORDER BY v, w LIMIT 9";
                format!("SELECT {value} v, COALESCE({other}, -1) w FROM {from} WHERE {filter} {limit}")
            }
            0 => {
                format!("SELECT {first}, COUNT(*), MAX({second}) FROM {from} WHERE {filter} GROUP BY {first}")
            }
            1 => format!("SELECT COUNT(*), SUM({first}) FROM {from} WHERE {filter}"),
            2 => format!("SELECT DISTINCT {first}, {second} FROM {from} WHERE {filter}"),
            3 => format!(
                "WITH w AS ({}) SELECT p.id, q.a, q.b FROM w p LEFT JOIN w q ON p.id = q.{} WHERE p.a > 2",
                self.block(1),
                self.of(&["a", "b", "id"])
            ),
            _ => format!("SELECT {}, {first} FROM {from} WHERE {filter}", ids.join(", ")),
        }
    }
}

async fn fill(client: &mut Client, random: &mut Random) {
    for (table, rows) in TABLES.into_iter().zip([40, 25, 60, 8, 0]) {
        let columns = "id int primary key, a int, b int not null, key a (a), key ba (b, a)";
        client.query(&format!("create table {table} ({columns})")).await;
        for id in 1..=rows {
            let a = if random.below(7) == 0 { "NULL".to_owned() } else { random.below(12).to_string() };
            let row = format!("({id}, {a}, {})", random.below(12));
            client.query(&format!("insert into {table} values {row}")).await;
        }
        if random.below(3) > 0 {
            client.query(&format!("analyze table {table}")).await;
        }
    }
}

async fn rows_of(client: &mut Client, switches: &str, query: &str) -> Vec<String> {
    client.query("set optimizer_switch = default").await;
    if !switches.is_empty() {
        client.query(&format!("set optimizer_switch = '{switches}'")).await;
    }
    let answer = client.query(query).await;
    let mut lines: Vec<String> = answer.lines().map(str::to_owned).collect();
    lines.retain(|line| !line.ends_with("warnings)"));
    lines.sort();
    lines
}

async fn check(seed: u64, queries: u64) {
    let server = new_server().await;
    let mut client = Client::connect(&server).await;
    client.query("create database oracle").await;
    client.query("use oracle").await;
    let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = Random { state, aliases: 0 };
    fill(&mut client, &mut random).await;
    let mut refused = 0;
    for _ in 0..queries {
        let query = random.query();
        let expected = rows_of(&mut client, PLAIN, &query).await;
        refused += u64::from(expected.iter().any(|line| line.starts_with("ERROR")));
        for switches in SETTINGS {
            let rows = rows_of(&mut client, switches, &query).await;
            assert_eq!(expected, rows, "seed {seed}, '{switches}':\n{query}");
        }
    }
    assert!(refused * 5 < queries, "seed {seed}: {refused} of {queries} queries are refused");
}

#[test]
fn rewritten_queries_give_the_same_rows() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("REWRITE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + number("REWRITE_SEEDS").unwrap_or(2),
    };
    let queries = number("REWRITE_QUERIES").unwrap_or(50);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    for seed in seeds {
        runtime.block_on(check(seed, queries));
    }
}
