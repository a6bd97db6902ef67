//! Functions over literal text, with results as MySQL 9.7 gives them.
use std::cell::Cell;

use datum::{ColumnType, Value};

use expression::Arguments;
use expression::BindContext;
use expression::EvalContext;
use expression::{Coercibility, Expr, ExprType};

fn context() -> EvalContext {
    EvalContext::of_constants(&BindContext::default())
}

/// Stands for NULL among the arguments below.
const NULL: &str = "\0null";

fn argument(bind: &BindContext, text: &str) -> Expr {
    match text.parse::<i64>() {
        _ if text == NULL => Expr::null(),
        Ok(number) => Expr::literal(Value::Int(number), ColumnType::bigint()),
        Err(_) => bind.text_literal(text.trim_matches('"').as_bytes()),
    }
}

/// Evaluates `name(arguments)`; a number is an integer literal unless it stands in double quotes.
fn call(name: &str, arguments: &[&str]) -> Option<String> {
    let bind = BindContext { functions: crate::MYSQL, ..BindContext::default() };
    let mut exprs: Vec<Expr> = arguments.iter().map(|text| argument(&bind, text)).collect();
    let function = crate::MYSQL.by_name(name).expect("the function is registered");
    let ty = (function.infer)(&bind, function.name, &mut exprs).expect("the arguments are valid");
    let context = context();
    let value = (function.evaluate)(&Arguments {
        exprs: &exprs,
        row: &[],
        context: &context,
        ty: &ty,
        overflowed: Cell::new(false),
    });
    match value.expect("no error") {
        Value::Null => None,
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => panic!("unexpected {other:?}"),
    }
}

fn check(name: &str, arguments: &[&str], expected: &str) {
    let expected = (expected != NULL).then(|| expected.to_string());
    assert_eq!(call(name, arguments), expected, "{name}({arguments:?})");
}

#[test]
fn cutting() {
    check("substring", &["Quadratically", "5"], "ratically");
    check("substring", &["Quadratically", "5", "6"], "ratica");
    check("substring", &["Sakila", "-3"], "ila");
    check("substring", &["Sakila", "-5", "3"], "aki");
    check("substring", &["abc", "0"], "");
    check("substring", &["héllo", "2", "1"], "é");
    check("left", &["foobarbar", "5"], "fooba");
    check("right", &["foobarbar", "4"], "rbar");
    check("left", &["x", "-1"], "");
    check("substring_index", &["www.mysql.com", ".", "2"], "www.mysql");
    check("substring_index", &["www.mysql.com", ".", "-2"], "mysql.com");
    check("substring_index", &["abc", "x", "1"], "abc");
    check("trim", &["  bar  "], "bar");
    check("trim_leading", &["xxxbarxxx", "x"], "barxxx");
    check("trim_trailing", &["barxxyz", "xyz"], "barx");
    check("trim", &["x", NULL], NULL);
}

#[test]
fn building() {
    check("concat", &["My", "S", "QL"], "MySQL");
    check("concat", &["My", NULL], NULL);
    check("concat_ws", &[",", "First", NULL, "Last"], "First,Last");
    check("repeat", &["MySQL", "3"], "MySQLMySQLMySQL");
    check("repeat", &["x", "-1"], "");
    check("repeat", &["x", "100000000"], NULL);
    check("lpad", &["hi", "4", "??"], "??hi");
    check("lpad", &["hi", "1", "??"], "h");
    check("rpad", &["hi", "5", "?!"], "hi?!?");
    check("lpad", &["hi", "-1", "?"], NULL);
    check("replace", &["www.mysql.com", "w", "Ww"], "WwWwWw.mysql.com");
    check("insert", &["Quadratic", "3", "4", "What"], "QuWhattic");
    check("insert", &["Quadratic", "-1", "4", "What"], "Quadratic");
    check("insert", &["Quadratic", "3", "100", "What"], "QuWhat");
    check("reverse", &["aé€"], "€éa");
    check("quote", &["Don't!"], "'Don\\'t!'");
    check("quote", &[NULL], "NULL");
    check("elt", &["4", "Aa", "Bb", "Cc", "Dd"], "Dd");
    check("elt", &["5", "Aa"], NULL);
    check("make_set", &["5", "hello", "nice", "world"], "hello,world");
    check("char", &["77", "121", "83", "81", "\"76\""], "MySQL");
}

#[test]
fn measuring() {
    check("length", &["é"], "2");
    check("char_length", &["é"], "1");
    check("ord", &["€"], "14844588");
    check("ascii", &[""], "0");
    check("locate", &["bar", "foobarbar"], "4");
    check("locate", &["bar", "foobarbar", "5"], "7");
    check("locate", &["BAR", "foobarbar"], "4");
    check("locate", &["", "abc"], "1");
    check("instr", &["foobarbar", "xbar"], "0");
    check("field", &["Bb", "Aa", "bb"], "2");
    check("field", &[NULL, "x"], "0");
    check("find_in_set", &["b", "a,b,c"], "2");
    check("find_in_set", &["b", ""], "0");
    check("strcmp", &["text", "text2"], "-1");
    check("upper", &["straße é"], "STRAßE É");
    check("lower", &["ÀB"], "àb");
}

#[test]
fn encoding() {
    check("hex", &["abc"], "616263");
    check("hex", &["255"], "FF");
    check("unhex", &["4D7953514C"], "MySQL");
    check("unhex", &["GG"], NULL);
    check("bin", &["12"], "1100");
    check("conv", &["a", "16", "2"], "1010");
    check("conv", &["6E", "18", "8"], "172");
    check("conv", &["-17", "10", "-18"], "-H");
    check("conv", &["\"-17\"", "10", "18"], "2D3FGB0B9CG4BD1H");
    check("to_base64", &["abc"], "YWJj");
    check("to_base64", &["ab"], "YWI=");
    check("from_base64", &["YWI="], "ab");
    check("from_base64", &["YW"], NULL);
    check("md5", &["testing"], "ae2b1fca515949e5d54fb22b8ed95575");
    check("sha1", &["abc"], "a9993e364706816aba3e25717850c26c9cd0d89d");
    check("sha2", &["abc", "224"], "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
    check("sha2", &["abc", "1"], NULL);
    check("crc32", &["MySQL"], "3259397556");
    check("inet_aton", &["10.0.5.9"], "167773449");
    check("inet_ntoa", &["167773449"], "10.0.5.9");
    check("is_uuid", &["6ccd780c-baba-1026-9564-5b8c656024db"], "1");
    check("is_uuid", &["6ccd780c-baba-1026-9564-5b8c6560"], "0");
}

#[test]
fn uuids_round_trip_and_differ() {
    let id = call("uuid", &[]).expect("never NULL");
    assert_eq!(id.len(), 36);
    assert_eq!(&id[14..15], "1");
    assert_ne!(Some(id), call("uuid", &[]));
}

#[test]
fn a_text_function_keeps_the_arguments_collation() {
    let bind = BindContext { functions: crate::MYSQL, ..BindContext::default() };
    let column = ColumnType::varchar(10, collation::CollationId::UTF8MB4_BIN);
    let mut exprs = vec![Expr::column(0, column), bind.text_literal(b"x")];
    let ty: ExprType =
        (crate::MYSQL.by_name("concat").expect("registered").infer)(&bind, "concat", &mut exprs)
            .expect("valid");
    assert_eq!(ty.collation(), collation::CollationId::UTF8MB4_BIN);
    assert_eq!(ty.coercibility, Coercibility::Implicit);
    assert_eq!(ty.column.length, 11);
}
