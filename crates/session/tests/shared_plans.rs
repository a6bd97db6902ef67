//! A statement answers the same whether it is planned for itself or runs the plan of another one that differs in its
//! literals only: rows, metadata, warnings and errors.
//!
//! Every template is run with every pair of literals: the first one leaves a plan, the second one may use it. A
//! versioned comment makes the reference, because a text with one is always planned for itself.
mod support;

use support::{Client, new_server};

const SCHEMA: &str = "create database d; use d;
    create table t (id int primary key, n int, u bigint unsigned, m decimal(10,2), f double, s varchar(20),
        l varchar(20) character set latin1, d date, dt datetime(3), ts timestamp null, ti time, y year,
        e enum('a','b','5'), st set('a','b','c'), bt bit(8), j json, key (n), key (s), key (d), key (dt), key (ti));
    insert into t values
        (1, 5, 5, 5.00, 5, '5', '5', '2024-01-01', '2024-01-01 00:00:00', '2024-01-01 00:00:00', '05:00:00', 2005, 'a',
            'a', 5, '{\"a\": 5}'),
        (2, -1, 18446744073709551615, 0.33, 0.333, 'abc', 'abc', '2005-12-31', '2005-12-31 23:59:59.5', null,
            '-10:00:00', 1999, 'b', 'a,b', 0, '[1, 2]'),
        (3, 20240101, 10, 12.50, 1e10, '2024-01-01', '', '0001-01-01', '2024-01-01 05:00:00', null, '00:00:05', 2024,
            '5', '', 255, 'null'),
        (4, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null)";

const NUMBERS: [&str; 22] = [
    "0",
    "1",
    "2",
    "5",
    "05",
    "10",
    "255",
    "2005",
    "70101",
    "20240101",
    "20241301",
    "20240101050000",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "5.0",
    "5.5",
    "05.5",
    "0.3",
    "5e0",
    "1e999",
];

const TEXTS: [&str; 24] = [
    "''",
    "'0'",
    "'5'",
    "'5.0'",
    "' 5'",
    "'5x'",
    "'abc'",
    "'a'",
    "'%b%'",
    "'ab%'",
    "'a,b'",
    "'2024-01-01'",
    "'2024-01-01 05:00:00'",
    "'2024-01-01 05:00:00.5'",
    "'2024-01-01 00:00:00x'",
    "'2024-13-01'",
    "'garbage'",
    "'2024-01-01 00:00:00+02:00'",
    "'05:00:00'",
    "'5:x'",
    "'0000-00-00'",
    "'18446744073709551615'",
    "'it\\'s'",
    "'é'",
];

const COLUMNS: [&str; 15] = ["id", "n", "u", "m", "f", "s", "l", "d", "dt", "ts", "ti", "y", "e", "st", "bt"];

/// Conditions with one literal; `{}` is the literal and `{c}` a column.
const OF_COLUMN: [&str; 8] = [
    "{c} = {}",
    "{c} > {}",
    "{c} in ({}, 7)",
    "{c} in ({}, 'b')",
    "{c} between {} and {}",
    "{c} <=> {}",
    "coalesce({c}, {}) = {c}",
    "case {c} when {} then 1 else 0 end",
];

const CONDITIONS: [&str; 22] = [
    "{}",
    "n = -{}",
    "u = -{}",
    "m = {} / 3",
    "f = {} * 1.5",
    "round(m, {}) = 0.3",
    "round(m, -{}) = 0",
    "m + {} > 5",
    "u - {} >= 0",
    "n + {} > 0",
    "s like {}",
    "s not like {} escape '!'",
    "concat(s, {}) > 'b'",
    "dt = date_add({}, interval 1 day)",
    "date_add(d, interval {} day) > d",
    "addtime(ti, {}) > '06:00:00'",
    "str_to_date(s, {}) = d",
    "datediff(d, {}) < 0",
    "year({}) = 2024",
    "cast({} as decimal(5,2)) = m",
    "if(n, {}, s) = '5'",
    "(n, d) = (5, {})",
];

#[test]
fn queries_answer_alike_with_a_shared_plan() {
    run(async |client| {
        let mut conditions: Vec<String> = CONDITIONS.iter().map(|text| (*text).to_owned()).collect();
        for column in COLUMNS {
            conditions.extend(OF_COLUMN.iter().map(|text| text.replace("{c}", column)));
        }
        for condition in conditions {
            let template = format!("select * from t where {condition}");
            compare_pairs(client, &template, &NUMBERS, "").await;
            compare_pairs(client, &template, &TEXTS, "").await;
        }
    });
}

#[test]
fn clauses_answer_alike_with_a_shared_plan() {
    run(async |client| {
        let templates = [
            "select id, n from t order by id limit {}",
            "select id, n from t order by id limit 1 offset {}",
            "select id, n from t order by {}",
            "select count(*) from t group by {}",
            "select n + 1 from t group by n + {}",
            "select max(n) from t group by n having max(n) > {}",
            "select id from t union select n from t order by {}",
            "select {}",
            "select * from (select {} as a) x",
            "values row({})",
            "select a.id from t a left join t b on a.n = b.n and b.d = {} order by 1",
            "select id from t where exists (select {} from t x where x.d > {})",
            "select id from t where (select max(d) from t) > {}",
        ];
        for template in templates {
            compare_pairs(client, template, &NUMBERS, "").await;
            compare_pairs(client, template, &TEXTS, "").await;
        }
    });
}

#[test]
fn changes_answer_alike_with_a_shared_plan() {
    run(async |client| {
        for column in ["n", "u", "m", "f", "s", "l", "d", "dt", "ti", "y", "e", "st", "bt", "j"] {
            let templates = [
                format!("insert into t (id, {column}) values (9, {{}})"),
                format!("update t set {column} = {{}} where id < 3"),
                format!("update ignore t set {column} = {{}}"),
                format!("insert into t (id) values (1) on duplicate key update {column} = {{}}"),
            ];
            for template in templates {
                compare_pairs(client, &template, &NUMBERS, "t").await;
                compare_pairs(client, &template, &TEXTS, "t").await;
            }
        }
        for template in ["delete from t where d = {}", "update t set s = {} / 3", "update t set s = -{}"] {
            compare_pairs(client, template, &NUMBERS, "t").await;
            compare_pairs(client, template, &TEXTS, "t").await;
        }
    });
}

/// The same text twice, which is no moment, is refused, whatever bounds the plan was made for.
#[test]
fn the_same_bounds_are_refused_with_a_plan_for_others() {
    run(async |client| {
        for first in ["'2024-01-01' and '2024-12-31'", "'a' and 'b'", "'2024-01-01' and 'b'"] {
            client.query(&format!("select id from t where d between {first}")).await;
            for text in ["abc", "2024-13-01", "2024-00-00"] {
                let answer =
                    client.query(&format!("select id from t where d between '{text}' and '{text}'")).await;
                assert!(answer.contains("ERROR 1525"), "{text} after {first}: {answer}");
            }
        }
    });
}

/// Unlike a literal, the value of a `?` that is no moment is not refused: it equals none.
#[test]
fn parameters_that_are_no_moments_equal_none() {
    run(async |client| {
        client.query("prepare p from 'select id from t where d = ?'").await;
        let mut answers = Vec::new();
        for value in ["2024-01-01", "garbage", "2005-12-31", "2005-12-31x"] {
            client.query(&format!("set @v = '{value}'")).await;
            let answer = client.query("execute p using @v").await;
            answers.push(answer.lines().filter(|line| !line.starts_with('(')).collect::<Vec<_>>().join(" "));
        }
        assert_eq!(answers, ["id 1", "id", "id 2", "id 2"]);
    });
}

fn run(test: impl AsyncFnOnce(&mut Client)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let mut client = Client::connect(&new_server().await).await;
        let answer = client.query(SCHEMA).await;
        assert!(!answer.contains("ERROR"), "{answer}");
        test(&mut client).await;
    });
}

/// Each literal's own answer against its answers after each other literal.
async fn compare_pairs(client: &mut Client, template: &str, literals: &[&str], changed: &str) {
    let mut alone = Vec::new();
    for literal in literals {
        alone.push(answer(client, &format!("/*! */ {}", template.replace("{}", literal)), changed).await);
    }
    for (index, first) in literals.iter().enumerate() {
        // Each first literal begins with a text of its own, so without a plan.
        let own = format!("/* {index} */ {template}");
        answer(client, &own.replace("{}", first), changed).await;
        for (second, alone) in literals.iter().zip(&alone) {
            let after = answer(client, &own.replace("{}", second), changed).await;
            assert_eq!(&after, alone, "\n{template}: {second} after {first}");
        }
    }
}

/// The answer; a change is shown by its table and undone.
async fn answer(client: &mut Client, text: &str, changed: &str) -> String {
    if changed.is_empty() {
        return client.query_in_full(text).await;
    }
    client.query("begin").await;
    let mut answer = client.query_in_full(text).await;
    answer.push_str(&client.query(&format!("select * from {changed}")).await);
    client.query("rollback").await;
    answer
}
