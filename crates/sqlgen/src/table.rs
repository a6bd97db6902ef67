//! A random table: some columns of all types, an index on some of them, and rows of values that are near each other's
//! borders.
//!
//! Invariant: both servers accept its statements; values that a type does not take are left to `INSERT IGNORE`.
use crate::random::Random;

/// A column's type and the values that are put into it, as SQL writes them.
struct Kind {
    sql: &'static str,
    values: &'static [&'static str],
    is_indexable: bool,
}

const fn kind(sql: &'static str, values: &'static [&'static str]) -> Kind {
    Kind { sql, values, is_indexable: true }
}

const fn large(sql: &'static str, values: &'static [&'static str]) -> Kind {
    Kind { sql, values, is_indexable: false }
}

const TEXTS: &[&str] = &["''", "'a'", "'A'", "'ab'", "'é'", "'1'", "'10'", "'2.5x'", "'2020-01-01'", "'zz '"];
const DATES: &[&str] = &["'2020-01-01'", "'1999-12-31'", "'2020-02-29'", "'2038-01-01'", "'1970-01-02'"];
const MOMENTS: &[&str] =
    &["'2020-01-01'", "'2020-01-01 10:11:12.5'", "'1999-12-31 23:59:59'", "'1980-05-06 07:08:09'"];

const KINDS: &[Kind] = &[
    kind("TINYINT", &["0", "1", "-1", "127", "-128"]),
    kind("TINYINT UNSIGNED", &["0", "1", "255", "10"]),
    kind("SMALLINT", &["0", "2", "-32768", "300"]),
    kind("INT", &["0", "1", "-1", "2147483647", "10"]),
    kind("INT UNSIGNED", &["0", "1", "4294967295", "2020"]),
    kind("BIGINT", &["0", "1", "-9223372036854775808", "9007199254740993", "20200101"]),
    kind("BIGINT UNSIGNED", &["0", "1", "18446744073709551615", "9007199254740993"]),
    kind("DECIMAL(10,3)", &["0", "1.5", "-2.500", "9999999.999", "10"]),
    kind("DECIMAL(20,0) UNSIGNED", &["0", "1", "99999999999999999999", "10"]),
    kind("FLOAT", &["0", "1.5", "-0.25", "1e10"]),
    kind("DOUBLE", &["0", "1.5", "-1e100", "10"]),
    kind("CHAR(5)", TEXTS),
    kind("VARCHAR(12)", TEXTS),
    kind("VARCHAR(12) COLLATE utf8mb4_bin", TEXTS),
    kind("VARCHAR(12) COLLATE utf8mb4_unicode_ci", TEXTS),
    kind("VARCHAR(12) COLLATE utf8mb4_general_ci", TEXTS),
    kind("VARCHAR(12) CHARACTER SET latin1", TEXTS),
    kind("BINARY(3)", &["''", "'a'", "'ab'", "'A'", "'1'"]),
    kind("VARBINARY(8)", &["''", "'a'", "'ab'", "'A'", "'1'"]),
    large("TEXT", TEXTS),
    large("BLOB", &["''", "'a'", "'ab'", "'A'", "'1'"]),
    kind("DATE", DATES),
    kind("TIME", &["'00:00:00'", "'10:11:12'", "'-01:00:00'", "'838:59:59'"]),
    kind("TIME(2)", &["'00:00:00'", "'10:11:12.25'", "'-01:00:00.5'"]),
    kind("DATETIME", MOMENTS),
    kind("DATETIME(3)", MOMENTS),
    kind("TIMESTAMP NULL", MOMENTS),
    kind("YEAR", &["1999", "2020", "0", "2155"]),
    kind("ENUM('a','B','10','')", &["'a'", "'B'", "'10'", "''"]),
    kind("SET('a','b','1')", &["''", "'a'", "'a,b'", "'1'"]),
    kind("BIT(9)", &["0", "1", "b'101010101'"]),
    large("JSON", &["'1'", "'\"a\"'", "'[1,2]'", "'null'", "'{\"a\": 1.5}'", "'true'"]),
];

/// Types whose values can meet without a conversion that says more about the types than about the statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    Number,
    Text,
    Bytes,
    Moment,
    Time,
    Document,
}

impl Family {
    fn of(kind: &Kind) -> Family {
        let name: String = kind.sql.chars().take_while(char::is_ascii_alphabetic).collect();
        match name.as_str() {
            "CHAR" | "VARCHAR" | "TEXT" | "ENUM" | "SET" => Family::Text,
            "BINARY" | "VARBINARY" | "BLOB" => Family::Bytes,
            "DATE" | "DATETIME" | "TIMESTAMP" => Family::Moment,
            "TIME" => Family::Time,
            "JSON" => Family::Document,
            _ => Family::Number,
        }
    }

    pub fn literals(self) -> &'static [&'static str] {
        match self {
            Family::Number => &["0", "1", "-1", "10", "1.5", "2.50", "1e1", "NULL", "255"],
            Family::Text => &["'a'", "'A'", "''", "'ab'", "'10'", "NULL"],
            Family::Bytes => &["x'41'", "_binary'a'", "_binary''", "NULL"],
            Family::Moment => &["DATE'2020-01-01'", "TIMESTAMP'2020-01-01 10:11:12.5'", "NULL"],
            Family::Time => &["TIME'10:11:12'", "TIME'-01:00:00'", "NULL"],
            Family::Document => &["CAST('1' AS JSON)", "CAST('[1, 2]' AS JSON)", "NULL"],
        }
    }
}

/// A table of one seed.
pub struct Table {
    /// The columns' names.
    pub columns: Vec<String>,
    /// What each column holds.
    pub families: Vec<Family>,
    /// What makes the table and fills it.
    pub statements: Vec<String>,
}

const COLUMNS: usize = 7;
const ROWS: usize = 6;

impl Table {
    pub fn new(random: &mut Random) -> Table {
        let kinds: Vec<&Kind> = (0..COLUMNS).map(|_| random.pick(KINDS)).collect();
        let columns: Vec<String> = (0..COLUMNS).map(|number| format!("c{number}")).collect();
        let mut parts = vec!["id INT PRIMARY KEY".to_owned()];
        parts.extend(columns.iter().zip(&kinds).map(|(name, kind)| format!("{name} {}", kind.sql)));
        for (name, kind) in columns.iter().zip(&kinds) {
            if kind.is_indexable && random.one_in(3) {
                parts.push(format!("KEY ({name})"));
            }
        }
        let mut statements =
            vec!["DROP TABLE IF EXISTS t".to_owned(), format!("CREATE TABLE t ({})", parts.join(", "))];
        for row in 0..ROWS {
            let mut values = vec![row.to_string()];
            for kind in &kinds {
                let value = if random.one_in(6) { "NULL" } else { random.pick(kind.values) };
                values.push(value.to_owned());
            }
            statements.push(format!("INSERT IGNORE INTO t VALUES ({})", values.join(", ")));
        }
        let families = kinds.iter().map(|kind| Family::of(kind)).collect();
        Table { columns, families, statements }
    }
}
