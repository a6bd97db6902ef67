//! Nesting: what is too deep is an error on a worker's stack of 2 MB, and what is allowed parses there.
use bumpalo::Bump;
use parser::{NESTING_MAX, ParseErrorKind, ParseOptions, parse};

/// A worker's stack; some of it belongs to its callers.
const STACK_BYTES: usize = 2 * 1024 * 1024 - 256 * 1024;

type Shape = fn(usize) -> String;

/// Each makes a statement that nests `depth` times.
const SHAPES: &[(&str, Shape)] = &[
    ("parentheses", |depth| format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth))),
    ("not", |depth| format!("SELECT {} 1", "NOT ".repeat(depth))),
    ("bang", |depth| format!("SELECT {}1", "!".repeat(depth))),
    ("minus", |depth| format!("SELECT {}1", "- ".repeat(depth))),
    ("binary", |depth| format!("SELECT {}1", "BINARY ".repeat(depth))),
    ("plus chain", |depth| format!("SELECT 1{}", "+1".repeat(depth))),
    ("comparison chain", |depth| format!("SELECT 1{}", "=1".repeat(depth))),
    ("is null chain", |depth| format!("SELECT 1{}", " IS NULL".repeat(depth))),
    ("collate chain", |depth| format!("SELECT a{}", " COLLATE utf8mb4_bin".repeat(depth))),
    ("case", |depth| format!("SELECT {}1{}", "CASE WHEN ".repeat(depth), " THEN 1 END".repeat(depth))),
    ("case operand", |depth| {
        format!("SELECT {}1{}", "CASE ".repeat(depth), " WHEN 1 THEN 2 END".repeat(depth))
    }),
    ("subquery", |depth| format!("SELECT {}1{}", "(SELECT ".repeat(depth), ")".repeat(depth))),
    ("exists", |depth| format!("SELECT {}1{}", "EXISTS (SELECT ".repeat(depth), ")".repeat(depth))),
    ("in subquery", |depth| format!("SELECT {}1{}", "1 IN (SELECT ".repeat(depth), ")".repeat(depth))),
    ("in list", |depth| format!("SELECT {}1{}", "1 IN (2, ".repeat(depth), ")".repeat(depth))),
    ("between", |depth| format!("SELECT 1{}", " BETWEEN 1 AND 2".repeat(depth))),
    ("function", |depth| format!("SELECT {}1{}", "f(".repeat(depth), ")".repeat(depth))),
    ("aggregate", |depth| format!("SELECT {}1{}", "SUM(".repeat(depth), ")".repeat(depth))),
    ("window", |depth| format!("SELECT {}1{}", "SUM(1) OVER (ORDER BY ".repeat(depth), ")".repeat(depth))),
    ("cast", |depth| format!("SELECT {}1{}", "CAST(".repeat(depth), " AS CHAR)".repeat(depth))),
    ("interval", |depth| format!("SELECT {}1{}", "INTERVAL ".repeat(depth), " DAY + 1".repeat(depth))),
    ("row", |depth| format!("SELECT {}1{}", "ROW(1, ".repeat(depth), ")".repeat(depth))),
    ("assignment", |depth| format!("SELECT {}1", "@a := ".repeat(depth))),
    ("odbc", |depth| format!("SELECT {}1{}", "{fn ".repeat(depth), "}".repeat(depth))),
    ("derived table", |depth| {
        format!("SELECT 1 FROM {}t{}", "(SELECT 1 FROM ".repeat(depth), ") AS x".repeat(depth))
    }),
    ("table parentheses", |depth| format!("SELECT 1 FROM {}t{}", "(".repeat(depth), ")".repeat(depth))),
    ("joins", |depth| format!("SELECT 1 FROM t{}", " JOIN t".repeat(depth))),
    ("nested joins", |depth| {
        format!("SELECT 1 FROM {}t{}", "t JOIN (".repeat(depth), ") ON 1".repeat(depth))
    }),
    ("joins with late conditions", |depth| {
        format!("SELECT 1 FROM t{}{}", " LEFT JOIN t".repeat(depth), " ON 1".repeat(depth))
    }),
    ("query parentheses", |depth| format!("{}SELECT 1{}", "(".repeat(depth), ")".repeat(depth))),
    ("with", |depth| format!("{}SELECT 1{}", "WITH c AS (".repeat(depth), ") SELECT 1".repeat(depth))),
    ("explain", |depth| format!("{}SELECT 1", "EXPLAIN FORMAT=JSON ".repeat(depth))),
    ("set statement", |depth| format!("{}SELECT 1", "SET STATEMENT a=1 FOR ".repeat(depth))),
    ("json table", |depth| {
        format!(
            "SELECT 1 FROM JSON_TABLE(a, '$' {}COLUMNS (a FOR ORDINALITY){}) AS x",
            "COLUMNS (NESTED PATH '$' ".repeat(depth),
            ")".repeat(depth)
        )
    }),
];

fn with_worker_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(test)
        .expect("a thread")
        .join()
        .expect("no panic");
}

#[test]
fn ten_thousand_levels_are_an_error() {
    with_worker_stack(|| {
        for (name, shape) in SHAPES {
            let text = shape(10_000);
            let error = parse(text.as_bytes(), ParseOptions::default(), &Bump::new()).expect_err(name);
            let known = matches!(error.kind, ParseErrorKind::TooDeep | ParseErrorKind::Syntax { .. });
            assert!(known, "{name}: {error}");
            if *name != "explain" {
                assert_eq!(error.kind, ParseErrorKind::TooDeep, "{name}: {error}");
                assert_eq!(error.errno(), 1436);
            }
        }
    });
}

#[test]
fn levels_that_are_not_closed_are_an_error() {
    with_worker_stack(|| {
        for start in ["(", "SELECT (", "SELECT f(", "SELECT CASE ", "SELECT 1 FROM (", "SELECT NOT "] {
            let text = start.to_owned() + &start.trim_start_matches("SELECT ").repeat(50_000);
            parse(text.as_bytes(), ParseOptions::default(), &Bump::new()).expect_err(start);
        }
    });
}

#[test]
fn a_hundred_levels_parse() {
    with_worker_stack(|| {
        for (name, shape) in SHAPES {
            let text = shape(100);
            let arena = Bump::new();
            let outcome = parse(text.as_bytes(), ParseOptions::default(), &arena);
            if *name == "explain" {
                continue;
            }
            outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

/// Just under the limit, the recursion is as deep as it gets: it must fit the stack.
#[test]
fn the_deepest_allowed_nesting_fits_the_stack() {
    with_worker_stack(|| {
        for (name, shape) in SHAPES {
            let (mut low, mut high) = (1, NESTING_MAX as usize + 1);
            while low + 1 < high {
                let middle = (low + high) / 2;
                match parse(shape(middle).as_bytes(), ParseOptions::default(), &Bump::new()) {
                    Ok(_) => low = middle,
                    Err(_) => high = middle,
                }
            }
            assert!(low >= NESTING_MAX as usize / 8 || *name == "explain", "{name} allows {low} levels");
        }
    });
}

#[test]
fn long_flat_statements_are_no_nesting() {
    with_worker_stack(|| {
        for operator in ["AND", "OR", "XOR"] {
            let text = format!("SELECT 1 FROM t WHERE a = 0{}", format!(" {operator} a = 1").repeat(20_000));
            parse(text.as_bytes(), ParseOptions::default(), &Bump::new()).expect(operator);
        }
        for operator in ["UNION ALL", "INTERSECT", "EXCEPT"] {
            let text = format!("SELECT 1{}", format!(" {operator} SELECT 1").repeat(20_000));
            parse(text.as_bytes(), ParseOptions::default(), &Bump::new()).expect(operator);
        }
        let text = format!("INSERT INTO t VALUES (1, 'x'){}", ", (1, 'x')".repeat(20_000));
        parse(text.as_bytes(), ParseOptions::default(), &Bump::new()).expect("rows");
    });
}
