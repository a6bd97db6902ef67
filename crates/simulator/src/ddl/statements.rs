//! Makes up statements that fit what exists at the moment. Most succeed; some fail, and then have to leave no trace.
//!
//! Called by the rehearsal only: the performance repeats the texts.

use crate::ddl::databases::{ACCOUNTS, DATABASES, ROWS_DATABASE};
use datum::TypeKind;
use env::sim::SeededRandom;
use instance::Instance;
use schema::{ColumnDef, TableDef};
use std::sync::Arc;

const TABLES: usize = 6;

/// One thing that becomes visible as a whole: mostly one statement, else a transaction.
pub type Texts = Vec<String>;

pub struct Author<'a> {
    pub server: &'a Arc<Instance>,
    pub random: &'a SeededRandom,
}

/// What the session of definitions starts with.
pub fn first_definitions() -> Vec<Texts> {
    let table = "CREATE TABLE d0.t0 (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(80), KEY a_key (a))";
    ["CREATE DATABASE d0", "CREATE DATABASE d1", table].map(|text| vec![text.to_owned()]).to_vec()
}

/// What the session of rows starts with: two tables that always hold the same numbers, and one that triggers of the first keep.
pub fn first_rows() -> Vec<Texts> {
    let columns = "(id INT PRIMARY KEY, a INT, b VARCHAR(200), KEY (a), UNIQUE (b))";
    let texts = [
        format!("CREATE DATABASE {ROWS_DATABASE}"),
        format!("CREATE TABLE {ROWS_DATABASE}.x {columns}"),
        format!("CREATE TABLE {ROWS_DATABASE}.y {columns}"),
        format!("CREATE TABLE {ROWS_DATABASE}.z (id INT PRIMARY KEY, a INT, n INT, KEY (a))"),
        // What a foreign key that comes and goes refers to: every `a` of the others.
        format!(
            "CREATE TABLE {ROWS_DATABASE}.beside_parents (id INT PRIMARY KEY) WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL \
             SELECT i + 1 FROM n WHERE i < 399) SELECT i AS id FROM n"
        ),
        format!(
            "CREATE TRIGGER {ROWS_DATABASE}.x_added AFTER INSERT ON {ROWS_DATABASE}.x FOR EACH ROW INSERT INTO \
             {ROWS_DATABASE}.z VALUES (NEW.id, NEW.a, 1) ON DUPLICATE KEY UPDATE a = NEW.a, n = n + 1"
        ),
        format!(
            "CREATE TRIGGER {ROWS_DATABASE}.x_gone BEFORE DELETE ON {ROWS_DATABASE}.x FOR EACH ROW BEGIN IF OLD.id % 5 \
             THEN DELETE FROM {ROWS_DATABASE}.z WHERE id = OLD.id; ELSE UPDATE {ROWS_DATABASE}.z SET a = NULL WHERE \
             id = OLD.id; END IF; END"
        ),
    ];
    texts.map(|text| vec![text]).to_vec()
}

impl Author<'_> {
    pub fn below(&self, limit: usize) -> usize {
        self.random.below(limit)
    }

    pub fn one<'t, T>(&self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    /// All tables whose definitions change.
    pub fn tables(&self) -> Vec<Arc<TableDef>> {
        let tables = DATABASES.iter().flat_map(|database| self.server.catalog().tables(database));
        tables.map(|table| table.definition().clone()).collect()
    }

    pub fn database(&self) -> String {
        let exists = |name: &&&str| self.server.catalog().database(name).is_some();
        let present: Vec<&&str> = DATABASES.iter().filter(exists).collect();
        if present.is_empty() { DATABASES[0].to_owned() } else { (**self.one(&present)).to_owned() }
    }

    fn new_name(&self) -> String {
        let used = self.tables();
        for _ in 0..20 {
            let (database, table) = (self.database(), format!("t{}", self.below(TABLES)));
            if !used.iter().any(|other| other.database == database && other.name == table) {
                return format!("{database}.{table}");
            }
        }
        format!("{}.t0", self.database())
    }

    fn new_column(&self) -> String {
        format!("c{}", self.below(1000))
    }

    pub fn definition(&self) -> Texts {
        let tables = self.tables();
        if tables.len() < 2 {
            return vec![self.create_table()];
        }
        let table = self.one(&tables).clone();
        let text = match self.below(35) {
            34 => self.fill(&tables),
            0..=2 => self.create_table(),
            3 => format!("CREATE TABLE {} LIKE {}", self.new_name(), name(&table)),
            4 => format!("CREATE TABLE {} AS SELECT * FROM {}", self.new_name(), name(&table)),
            5 => {
                let first = &table.columns[0].name;
                let source = name(&table);
                format!("CREATE TABLE {} (PRIMARY KEY ({first})) AS SELECT * FROM {source}", self.new_name())
            }
            6 => format!("DROP TABLE {}", name(&table)),
            7 => self.drop_several(&tables),
            8 => format!("RENAME TABLE {} TO {}", name(&table), self.new_name()),
            9 => self.rename_several(&tables),
            10 => format!("TRUNCATE TABLE {}", name(&table)),
            11..=15 => self.alter(&table),
            16 => self.create_index(&table),
            17 => match table.indexes.is_empty() {
                true => self.create_index(&table),
                false => format!("DROP INDEX `{}` ON {}", self.one(&table.indexes).name, name(&table)),
            },
            18 => self.database_statement(),
            19 => self.account_statement(),
            20 => return self.transaction(&table),
            21 => format!("OPTIMIZE TABLE {}", name(&table)),
            22..=28 => return self.object(&table),
            29 | 30 => return self.temporary(&table),
            _ => self.insert(&table),
        };
        vec![text]
    }

    fn create_table(&self) -> String {
        let mut parts = Vec::new();
        let key = match self.below(4) {
            0 => "id INT",
            1 => "id INT PRIMARY KEY",
            _ => "id INT AUTO_INCREMENT PRIMARY KEY",
        };
        parts.push(key.to_owned());
        let names: Vec<String> = (0..1 + self.below(3)).map(|_| self.new_column()).collect();
        parts.extend(names.iter().map(|name| format!("{name} {}", self.column_type())));
        parts.push("a INT".to_owned());
        if self.below(2) == 0 {
            parts.push("KEY (a)".to_owned());
        }
        if self.below(3) == 0 {
            parts.push("UNIQUE u (id, a)".to_owned());
        }
        if self.below(3) == 0 {
            parts.push(self.computed());
        }
        if self.below(4) == 0 {
            let (column, unique) = (self.new_column(), self.one(&["", "UNIQUE "]));
            parts.push(format!("{column} JSON"));
            parts.push(format!("{unique}KEY ((CAST({column} AS UNSIGNED ARRAY)))"));
        }
        if self.below(4) == 0 {
            parts.push(self.expression_index());
        }
        if self.below(5) == 0 {
            parts.push(format!("{} INT DEFAULT 7 INVISIBLE", self.new_column()));
        }
        if self.below(3) == 0 {
            parts.push(format!("CONSTRAINT {} CHECK (a <> {})", self.new_column(), self.below(300)));
        }
        let tables = self.tables();
        if self.below(3) == 0 && !tables.is_empty() {
            parts.push(self.foreign_key(self.one(&tables[..])));
        }
        format!("CREATE TABLE {} ({})", self.new_name(), parts.join(", "))
    }

    /// So many rows for an empty table that it is filled beside itself; with IGNORE some of them have keys of others.
    fn fill(&self, tables: &[Arc<TableDef>]) -> String {
        let is_empty = |table: &&Arc<TableDef>| {
            let found = self.server.catalog().table(&table.database, &table.name);
            found.and_then(|table| table.if_ready()).is_some_and(|table| table.estimated_rows() == 0)
        };
        let table = match tables.iter().find(is_empty) {
            Some(table) => table,
            None => return format!("TRUNCATE TABLE {}", name(self.one::<Arc<TableDef>>(tables))),
        };
        let order = *self.one(&["", " ORDER BY y.i DESC, x.i"]);
        let (ignore, id) = *self.one(&[("", "x.i * 50 + y.i + 1"), ("IGNORE ", "x.i * 50 + y.i DIV 2 + 1")]);
        format!(
            "INSERT {ignore}INTO {} (id, a) WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 49) \
             SELECT {id}, y.i FROM n x JOIN n y WHERE x.i < 42{order}",
            name(table)
        )
    }

    fn foreign_key(&self, parent: &Arc<TableDef>) -> String {
        let action = self.one(&["", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE"]);
        format!("FOREIGN KEY (a) REFERENCES {} (id){action}", name(parent))
    }

    /// A column computed from others, which may have an index.
    fn computed(&self) -> String {
        let kind = *self.one(&["VIRTUAL", "STORED", "VIRTUAL UNIQUE"]);
        format!("{} BIGINT AS (COALESCE(a, 0) * 2 + id) {kind}", self.new_column())
    }

    /// An index of an expression, which keeps a hidden column.
    fn expression_index(&self) -> String {
        let kind = *self.one(&["KEY", "UNIQUE KEY", "KEY"]);
        let part = *self.one(&["(COALESCE(a, 0) + id * 1000) DESC", "(CONCAT('e', id)), id"]);
        format!("{kind} i{} ({part})", self.below(100))
    }

    fn column_type(&self) -> &'static str {
        const TYPES: [&str; 5] = [
            "INT",
            "BIGINT NOT NULL DEFAULT 5",
            "VARCHAR(80)",
            "VARCHAR(20) CHARACTER SET latin1",
            "LONGTEXT",
        ];
        TYPES[self.below(TYPES.len())]
    }

    fn drop_several(&self, tables: &[Arc<TableDef>]) -> String {
        let count = 2 + self.below(2);
        let start = self.below(tables.len());
        let names = tables.iter().cycle().skip(start).take(count.min(tables.len()));
        format!("DROP TABLE {}", names.map(|table| name(table)).collect::<Vec<_>>().join(", "))
    }

    /// A swap, or several tables that get new names.
    fn rename_several(&self, tables: &[Arc<TableDef>]) -> String {
        let start = self.below(tables.len());
        let (left, right) = (name(&tables[start]), name(&tables[(start + 1) % tables.len()]));
        let between = self.new_name();
        if self.below(2) == 0 {
            return format!("RENAME TABLE {left} TO {between}, {right} TO {left}, {between} TO {right}");
        }
        format!("RENAME TABLE {left} TO {between}, {right} TO {left}")
    }

    fn alter(&self, table: &TableDef) -> String {
        let count = if self.below(4) == 0 { 2 } else { 1 };
        let parts: Vec<String> = (0..count).map(|_| self.alteration(table)).collect();
        format!("ALTER TABLE {} {}", name(table), parts.join(", "))
    }

    fn alteration(&self, table: &TableDef) -> String {
        let column = &self.one(&table.columns).name;
        match self.below(22) {
            0..=2 => {
                let place = if self.below(2) == 0 { " FIRST" } else { "" };
                format!("ADD COLUMN {} {}{place}", self.new_column(), self.column_type())
            }
            3 => format!("DROP COLUMN {column}"),
            4 | 5 => format!("ADD INDEX i{} ({column}({}))", self.below(100), 10)
                .replace("(10)", if is_text(self.column(table, column)) { "(10)" } else { "" }),
            6 => format!("ADD UNIQUE i{} (a)", self.below(100)),
            7 if !table.indexes.is_empty() => format!("DROP INDEX `{}`", self.one(&table.indexes).name),
            8 => format!("RENAME COLUMN {column} TO {}", self.new_column()),
            9 => format!("RENAME TO {}", self.new_name()),
            10 => {
                let tables = self.tables();
                format!("ADD CONSTRAINT f{} {}", self.below(100), self.foreign_key(self.one(&tables[..])))
            }
            11 if !table.foreign_keys.is_empty() => {
                format!("DROP FOREIGN KEY `{}`", self.one(&table.foreign_keys).name)
            }
            14 => format!("ADD COLUMN {}", self.computed()),
            15 => format!("ADD CONSTRAINT {} CHECK (a < {})", self.new_column(), 200 + self.below(300)),
            16 if !table.checks.is_empty() => {
                let check = &self.one(&table.checks).name;
                let change = *self.one(&["DROP CHECK", "ALTER CHECK"]);
                let rest = if change == "DROP CHECK" { "" } else { " NOT ENFORCED" };
                format!("{change} `{check}`{rest}")
            }
            17 => format!("ADD {}", self.expression_index()),
            18 => format!("ADD COLUMN {} {} INVISIBLE", self.new_column(), self.column_type()),
            19 => format!("ALTER COLUMN {column} SET {}", self.one(&["VISIBLE", "INVISIBLE"])),
            20 if !table.indexes.is_empty() => {
                let visible = self.one(&["VISIBLE", "INVISIBLE"]);
                format!("ALTER INDEX `{}` {visible}", self.one(&table.indexes).name)
            }
            12 => "MODIFY a BIGINT".to_owned(),
            13 => "CONVERT TO CHARACTER SET latin1".to_owned(),
            _ => format!("AUTO_INCREMENT = {}", self.below(1000)),
        }
    }

    fn column<'t>(&self, table: &'t TableDef, name: &str) -> &'t ColumnDef {
        table.columns.iter().find(|column| column.name == name).expect("the name was taken from it")
    }

    fn create_index(&self, table: &TableDef) -> String {
        let column = self.one(&table.columns);
        let length = if is_text(column) { "(12)" } else { "" };
        let unique = if self.below(3) == 0 { "UNIQUE " } else { "" };
        format!("CREATE {unique}INDEX i{} ON {} ({}{length})", self.below(100), name(table), column.name)
    }

    fn database_statement(&self) -> String {
        let database = self.one(&DATABASES);
        let exists = self.server.catalog().database(database).is_some();
        match self.below(3) {
            _ if !exists => format!("CREATE DATABASE {database}"),
            0 => format!("ALTER DATABASE {database} CHARACTER SET {}", self.one(&["latin1", "utf8mb4"])),
            _ => format!("DROP DATABASE {database}"),
        }
    }

    fn account_statement(&self) -> String {
        let account = |number: usize| format!("'{}'@'localhost'", ACCOUNTS[number % ACCOUNTS.len()]);
        let number = self.below(ACCOUNTS.len());
        let (one, next) = (account(number), account(number + 1));
        match self.below(6) {
            0 | 1 => format!("CREATE USER IF NOT EXISTS {one} IDENTIFIED BY 'secret', {next}"),
            2 => format!("GRANT SELECT, INSERT ON d0.* TO {one}, {next}"),
            3 => format!("REVOKE INSERT ON d0.* FROM {one}"),
            4 => format!("RENAME USER {one} TO {next}"),
            _ => format!("DROP USER IF EXISTS {one}, {next}"),
        }
    }

    fn insert(&self, table: &TableDef) -> String {
        let given: Vec<&ColumnDef> =
            table.columns.iter().filter(|column| column.generated.is_none() && !column.hidden).collect();
        let columns: Vec<&str> = given.iter().map(|column| column.name.as_str()).collect();
        let list = columns.join(", ");
        if self.below(4) == 0 {
            let others = columns.iter().map(|name| if *name == "id" { "id + 300" } else { name });
            let others = others.collect::<Vec<_>>().join(", ");
            return format!("INSERT INTO {0} ({list}) SELECT {others} FROM {0}", name(table));
        }
        let rows = (0..1 + self.below(30)).map(|_| {
            let values: Vec<String> = given.iter().map(|column| self.value(column)).collect();
            format!("({})", values.join(", "))
        });
        let rows = rows.collect::<Vec<_>>().join(", ");
        format!("INSERT IGNORE INTO {} ({list}) VALUES {rows}", name(table))
    }

    fn value(&self, column: &ColumnDef) -> String {
        if column.auto_increment && self.below(2) == 0 {
            return "NULL".to_owned();
        }
        if is_text(column) {
            let is_long = column.column_type.kind == TypeKind::LongText && self.below(8) == 0;
            let count = if is_long { 2000 } else { 1 };
            return format!("REPEAT('v{:02}', {count})", self.below(100));
        }
        if column.column_type.kind == TypeKind::Json {
            let elements: Vec<String> = (0..self.below(5)).map(|_| self.below(400).to_string()).collect();
            return format!("'[{}]'", elements.join(", "));
        }
        if column.name == "a" && self.below(3) == 0 {
            return "NULL".to_owned();
        }
        self.below(300).to_string()
    }

    fn transaction(&self, table: &TableDef) -> Texts {
        let mut texts = vec!["BEGIN".to_owned()];
        for _ in 0..1 + self.below(3) {
            let text = match self.below(3) {
                0 => format!("DELETE FROM {} WHERE id % {} = 0", name(table), 2 + self.below(5)),
                1 => format!("UPDATE {} SET a = a + 1 WHERE id > {}", name(table), self.below(200)),
                _ => self.insert(table),
            };
            texts.push(text);
        }
        texts.push(if self.below(4) == 0 { "ROLLBACK" } else { "COMMIT" }.to_owned());
        texts
    }

    /// A change of rows in both tables of the other session.
    pub fn rows(&self) -> Texts {
        let database = ROWS_DATABASE;
        let number = self.below(400);
        let mut texts = vec!["BEGIN".to_owned()];
        for table in ["x", "y"] {
            texts.push(match number % 4 {
                0 | 1 => {
                    let rows =
                        (number..number + 5).map(|id| format!("({id}, {}, REPEAT('{id:03}', 30))", id % 7));
                    format!("REPLACE INTO {database}.{table} VALUES {}", rows.collect::<Vec<_>>().join(", "))
                }
                2 => format!(
                    "DELETE FROM {database}.{table} WHERE id BETWEEN {} AND {number}",
                    number.saturating_sub(40)
                ),
                _ => format!("UPDATE {database}.{table} SET a = {number} WHERE id > {number}"),
            });
        }
        texts.push(if number.is_multiple_of(9) { "ROLLBACK" } else { "COMMIT" }.to_owned());
        texts
    }
}

pub fn name(table: &TableDef) -> String {
    format!("{}.{}", table.database, table.name)
}

fn is_text(column: &ColumnDef) -> bool {
    matches!(column.column_type.kind, TypeKind::VarChar | TypeKind::LongText)
}
