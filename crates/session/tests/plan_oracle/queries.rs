//! Random joins: inner, left, right, nested, semi, anti, derived, with groups, orders and limits.
//!
//! What a query returns does not depend on the order in which rows are met: a LIMIT stands behind an order by all that is
//! selected, and texts that are equal but not the same are neither grouped nor made distinct.
use crate::random::Random;

/// A member of FROM.
#[derive(Clone)]
pub struct Member {
    pub alias: String,
    /// The number of its table; `None` for a query in FROM, which has the columns `id`, `a`, `b` and `c` only.
    pub table: Option<usize>,
}

/// A query as the text up to its first hint and the rest.
pub struct Query {
    pub before: String,
    pub behind: String,
    pub is_ordered: bool,
    pub members: Vec<Member>,
    /// Which members a condition connects.
    pub edges: Vec<(usize, usize)>,
}

impl Query {
    pub fn text(&self, hints: &str) -> String {
        match hints {
            "" => format!("{}{}", self.before, self.behind),
            hints => format!("{} /*+ {hints} */{}", self.before, self.behind),
        }
    }
}

/// FROM, and the conditions that belong to WHERE.
struct From {
    text: String,
    conditions: Vec<String>,
    members: Vec<Member>,
    edges: Vec<(usize, usize)>,
}

pub struct Maker<'r> {
    pub random: &'r mut Random,
    pub table_count: u64,
    alias_count: usize,
    common: Vec<String>,
}

impl Maker<'_> {
    pub fn new(random: &mut Random, table_count: u64) -> Maker<'_> {
        Maker { random, table_count, alias_count: 0, common: Vec::new() }
    }

    fn alias(&mut self) -> String {
        self.alias_count += 1;
        format!("x{}", self.alias_count)
    }

    fn table(&mut self) -> usize {
        self.random.below(self.table_count) as usize
    }

    /// The text of a member.
    fn member(&mut self, depth: u32) -> (String, Member) {
        let alias = self.alias();
        let (table, other) = (self.table(), self.table());
        let random = &mut *self.random;
        let query = match random.below(if depth == 0 { 14 } else { 22 }) {
            14 | 15 => format!("(SELECT id, a, b, c FROM t{table} WHERE {})", self.filter_of("")),
            16 => format!("(SELECT a id, MAX(b) a, COUNT(*) b, MIN(c) c FROM t{table} GROUP BY a)"),
            17 => format!("(SELECT DISTINCT a id, a, c b, c FROM t{table})"),
            18 => {
                let on = random.of(&["y.a = z.id", "y.a = z.a", "y.id = z.id", "y.a = z.id AND y.c < z.c"]);
                format!("(SELECT y.id, z.a, y.b, z.c FROM t{table} y JOIN t{other} z ON {on})")
            }
            19 => {
                let all = random.of(&["", " ALL"]);
                format!("(SELECT id, a, b, c FROM t{table} UNION{all} SELECT a, id, c, b FROM t{other})")
            }
            20 => format!("(SELECT id, a, b, c FROM t{table} ORDER BY id DESC LIMIT {})", random.below(30)),
            21 => {
                if self.common.len() < 2 {
                    let filter = self.filter_of("");
                    self.common.push(format!("SELECT id, a, b, c FROM t{table} WHERE {filter}"));
                }
                format!("w{}", self.common.len())
            }
            _ => return (format!("t{table} {alias}"), Member { alias, table: Some(table) }),
        };
        (format!("{query} {alias}"), Member { alias, table: None })
    }

    /// A condition on one member; without an alias the columns stand alone.
    fn filter_of(&mut self, alias: &str) -> String {
        let dot = if alias.is_empty() { String::new() } else { format!("{alias}.") };
        let random = &mut *self.random;
        let column = random.of(&["id", "a", "b", "c"]);
        match random.below(9) {
            0 | 1 => format!("{dot}{column} = {}", random.number()),
            2 => format!("{dot}{column} {} {}", random.of(&["<", ">", "<>", "<=>", ">="]), random.number()),
            3 => format!("{dot}{column} BETWEEN {} AND {}", random.below(9), 5 + random.below(30)),
            4 => format!("{dot}{column} IN ({})", random.list(6, Random::number)),
            5 => format!("{dot}{column} IS {}NULL", random.of(&["", "NOT "])),
            6 => format!("{dot}c < {}", 1 + random.below(5)),
            7 => format!("({dot}a < {} OR {dot}b = {})", random.below(12), random.below(12)),
            _ => format!("{dot}id > {}", random.below(40)),
        }
    }

    /// An equality between two members, now and then with more.
    fn joined(&mut self, left: &Member, right: &Member) -> String {
        let (l, r) = (&left.alias, &right.alias);
        let has_texts = left.table.is_some() && right.table.is_some();
        let random = &mut *self.random;
        let first = match random.below(24) {
            0..=5 => format!("{l}.a = {r}.id"),
            6..=10 => format!("{l}.id = {r}.a"),
            11 | 12 => format!("{l}.id = {r}.id"),
            13 | 14 => format!("{l}.a = {r}.a"),
            15 => format!("{l}.b = {r}.b AND {l}.c = {r}.c"),
            16 => format!("{l}.a = {r}.b"),
            17 if has_texts => format!("{l}.s = {r}.s AND {l}.a = {r}.a"),
            18 if has_texts => format!("{l}.d = {r}.d AND {l}.c >= {r}.c"),
            19 if has_texts => format!("{l}.s = {r}.a"),
            20 => format!("{l}.a + 1 = {r}.id"),
            21 => format!("{l}.id <=> {r}.a"),
            22 => format!("({l}.a = {r}.id OR {l}.b = {r}.id AND {r}.c = 2)"),
            _ => format!("{r}.id = {l}.b"),
        };
        match random.below(8) {
            0 => format!("{first} AND {l}.c <= {r}.c"),
            1 => format!("{first} AND {}", self.filter_of(&right.alias.clone())),
            _ => first,
        }
    }

    /// A test with a subquery.
    fn test(&mut self, member: &Member) -> String {
        let x = &member.alias;
        let (inner, other) = (self.alias(), self.alias());
        let (table, second) = (self.table(), self.table());
        let extra = self.filter_of(&inner);
        let random = &mut *self.random;
        let not = random.of(&["", "", "NOT "]);
        let column = random.of(&["id", "a", "a", "b"]);
        let own = random.of(&["id", "a", "a", "b"]);
        match random.below(8) {
            0 | 1 => {
                format!("{x}.{column} {not}IN (SELECT {inner}.{own} FROM t{table} {inner} WHERE {extra})")
            }
            2 => format!(
                "{x}.{column} {not}IN (SELECT {inner}.{own} FROM t{table} {inner} JOIN t{second} {other} ON \
                 {inner}.a = {other}.id WHERE {extra} AND {other}.c < 4)"
            ),
            3 | 4 => format!(
                "{not}EXISTS (SELECT 1 FROM t{table} {inner} WHERE {inner}.{own} = {x}.{column} AND {extra})"
            ),
            5 => format!(
                "{not}EXISTS (SELECT 1 FROM t{table} {inner} JOIN t{second} {other} ON {inner}.a = {other}.a \
                 WHERE {inner}.{own} = {x}.{column} AND {other}.c <> {x}.c)"
            ),
            6 => format!(
                "{x}.b {} (SELECT {}({inner}.b) FROM t{table} {inner} WHERE {inner}.{own} = {x}.{column})",
                random.of(&["<", ">=", "="]),
                random.of(&["MAX", "MIN", "COUNT"])
            ),
            _ => format!(
                "({x}.c, {x}.{column}) {not}IN (SELECT {inner}.c, {inner}.{own} FROM t{table} {inner})"
            ),
        }
    }

    /// So many members, each connected with one before.
    fn from(&mut self, count: usize) -> From {
        let is_inner = self.random.below(5) < 2;
        let shape = self.random.below(3);
        let (mut text, first) = self.member(1);
        let mut members = vec![first];
        let (mut edges, mut conditions) = (Vec::new(), Vec::new());
        while members.len() < count {
            let place = match shape {
                0 => members.len() - 1,
                1 => 0,
                _ => self.random.below(members.len() as u64) as usize,
            };
            let place = if self.random.below(6) == 0 { members.len() / 2 } else { place };
            let (member_text, member) = self.member(1);
            let mut on = self.joined(&members[place].clone(), &member);
            edges.push((place, members.len()));
            if is_inner {
                if self.random.below(2) == 0 {
                    text = format!("{text} JOIN {member_text} ON {on}");
                } else {
                    text = format!("{text} CROSS JOIN {member_text}");
                    conditions.push(on);
                }
                members.push(member);
                continue;
            }
            if members.len() + 1 < count && self.random.below(6) == 0 {
                let (second_text, second) = self.member(0);
                let inner_on = self.joined(&member, &second);
                edges.push((members.len(), members.len() + 1));
                let kind = self.random.of(&["LEFT JOIN", "LEFT JOIN", "JOIN", "RIGHT JOIN"]);
                let inner = self.random.of(&["JOIN", "JOIN", "LEFT JOIN"]);
                text = format!("{text} {kind} ({member_text} {inner} {second_text} ON {inner_on}) ON {on}");
                members.extend([member, second]);
                continue;
            }
            let kinds = ["JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"];
            let kind = self.random.of(&kinds);
            if self.random.below(9) == 0 {
                on = format!("{on} AND {}", self.test(&member));
            }
            if kind == "LEFT JOIN" && self.random.below(5) == 0 {
                conditions.push(format!("{}.id IS NULL", member.alias));
            }
            text = format!("{text} {kind} {member_text} ON {on}");
            members.push(member);
        }
        From { text, conditions, members, edges }
    }

    pub fn query(&mut self) -> Query {
        (self.alias_count, self.common) = (0, Vec::new());
        let count = 2 + self.random.below(5) as usize;
        let From { text: from, mut conditions, members, edges } = self.from(count);
        for _ in 0..1 + self.random.below(3) {
            let alias = self.random.one(&members).alias.clone();
            conditions.push(self.filter_of(&alias));
        }
        if self.random.below(3) == 0 {
            let member = self.random.one(&members).clone();
            conditions.push(self.test(&member));
        }
        if self.random.below(6) == 0 && members.len() > 2 {
            // A circle.
            let (left, right) = (members[0].clone(), members[members.len() - 1].clone());
            conditions.push(self.joined(&left, &right));
        }
        let filter = conditions.join(" AND ");
        let random = &mut *self.random;
        let ids: Vec<String> = members.iter().map(|member| format!("{}.id", member.alias)).collect();
        let (one, two) = (random.one(&members).alias.clone(), random.one(&members).alias.clone());
        let column = format!("{one}.{}", random.of(&["a", "b", "c", "id"]));
        let (items, behind, is_ordered) = match random.below(10) {
            0 => {
                let items = format!("{column} g, COUNT(*), SUM({two}.b), MIN({two}.id), MAX({two}.a)");
                (items, format!(" GROUP BY {column}"), false)
            }
            1 => {
                let items = format!("{column} g, COUNT(DISTINCT {two}.a) n");
                (items, format!(" GROUP BY {column} HAVING n > 1 ORDER BY g, n LIMIT 7"), true)
            }
            2 => (format!("COUNT(*), SUM({column}), MAX({two}.b), MIN({one}.c)"), String::new(), false),
            3 => (format!("DISTINCT {column}, {two}.c"), String::new(), false),
            4 | 5 => {
                let direction = random.of(&["", " DESC"]);
                let order =
                    format!(" ORDER BY {column}{direction}, {} LIMIT {}", ids.join(", "), random.below(12));
                (format!("{}, {column} v", ids.join(", ")), order, true)
            }
            6 => (format!("{column}, {two}.b"), format!(" ORDER BY {column}, {two}.b"), true),
            _ => (format!("{}, {column} v, {two}.c", ids.join(", ")), String::new(), false),
        };
        let common: Vec<String> =
            self.common.iter().enumerate().map(|(at, query)| format!("w{} AS ({query})", at + 1)).collect();
        let with = if common.is_empty() { String::new() } else { format!("WITH {} ", common.join(", ")) };
        Query {
            before: format!("{with}SELECT"),
            behind: format!(" {items} FROM {from} WHERE {filter}{behind}"),
            is_ordered,
            members,
            edges,
        }
    }
}
