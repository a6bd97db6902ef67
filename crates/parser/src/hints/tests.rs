//! What MySQL reads and where it stops.
use super::*;

fn read(comment: &str) -> (Vec<Hint>, Option<(String, u32)>) {
    let text = format!("{comment}*/ id FROM t1");
    let text = HintText { block: 1, text: &text, length: comment.len(), line: 1 };
    let read = read_hints(&text, false);
    (read.hints, read.error.map(|error| (format!("{} near '{}'", error.what, error.near), error.line)))
}

fn error(comment: &str) -> String {
    read(comment).1.map_or_else(String::new, |(text, _)| text)
}

fn table(name: &str) -> HintTable {
    HintTable { name: name.to_owned(), block: None }
}

#[test]
fn hints_are_read_one_after_the_other() {
    let (hints, error) =
        read(" index(t1 a, `b c`) NO_bnl(@qb t1, t2)\nSET_VAR(sort_buffer_size=16K) qb_name(x) ");
    assert_eq!(error, None);
    let keys = vec!["a".to_owned(), "b c".to_owned()];
    let index = Hint::Index { scope: ScopeHint::All, on: true, block: None, table: table("t1"), keys };
    let tables = vec![table("t1"), table("t2")];
    let switch = TableSwitch::BlockNestedLoop;
    let nested = Hint::Table { switch, on: false, block: Some("qb".to_owned()), tables };
    let set = Hint::SetVariable { name: "sort_buffer_size".to_owned(), value: HintValue::Number(16384) };
    assert_eq!(hints, [index, nested, set, Hint::QueryBlockName("x".to_owned())]);
}

#[test]
fn what_cannot_be_read_ends_the_hints() {
    assert_eq!(error(" FOO "), "Optimizer hint syntax error near 'FOO */ id FROM t1'");
    assert_eq!(error(" "), "Optimizer hint syntax error near '*/'");
    assert_eq!(error(" INDEX(t1 a "), "Optimizer hint syntax error near '*/'");
    assert_eq!(error(" INDEX(\"t1\" a) "), "Optimizer hint syntax error near '\"t1\" a) */ id FROM t1'");
    assert_eq!(error(" NO_ICP() "), "Optimizer hint syntax error near ') */ id FROM t1'");
    assert_eq!(error(" SEMIJOIN(FOO) "), "Optimizer hint syntax error near 'FOO) */ id FROM t1'");
    assert_eq!(error(" JOIN_FIXED_ORDER(t1) "), "Optimizer hint syntax error near 't1) */ id FROM t1'");
    assert_eq!(error(" SET_VAR(@@a=1) "), "Optimizer hint syntax error near '@a=1) */ id FROM t1'");
    assert_eq!(
        error(" MAX_EXECUTION_TIME(99999999999) "),
        "Unsupported MAX_EXECUTION_TIME near ') */ id FROM t1'"
    );
    let (hints, error) = read(" BKA(t1)\n, ");
    assert_eq!((hints.len(), error.map(|(_, line)| line)), (1, Some(2)));
}
