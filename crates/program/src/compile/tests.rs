//! Instructions of small programs, and which handler takes what.
use super::*;
use crate::{Frame, RaisedCondition};
use bumpalo::Bump;
use datum::{Severity, TypeKind, error_code};
use parser::ast::StatementKind;
use parser::{ParseOptions, parse};

fn program(text: &str) -> Program {
    let arena = Bump::new();
    let parsed = parse(text.as_bytes(), ParseOptions::default(), &arena).expect("it parses");
    let StatementKind::CreateProgram(create) = parsed.statement.kind else { panic!("a program") };
    let type_of = |_: &DataType<'_>, _: &str| Ok(ColumnType::new(TypeKind::Long));
    compile(create, text, ParseOptions::default().mode, &type_of).expect("it compiles")
}

#[test]
fn loops_become_jumps() {
    let made = program("CREATE PROCEDURE p(a INT) l: WHILE a DO SET a = a - 1; ITERATE l; END WHILE");
    use Instruction::*;
    assert_eq!(
        made.instructions,
        [
            JumpUnless { piece: 0, equals: None, otherwise: 4, after: 4 },
            Assign { slot: 0, piece: 1 },
            Jump(0),
            Jump(0),
            End
        ]
    );
    assert_eq!(made.piece_text(1), b"a - 1");
}

#[test]
fn the_innermost_block_with_a_handler_takes_the_condition() {
    let made = program(
        "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SET @a = 1; BEGIN \
         DECLARE CONTINUE HANDLER FOR SQLSTATE '42S02' SET @a = 2; DECLARE CONTINUE HANDLER FOR 1146 SET @a = 3; \
         SELECT 1; END; END",
    );
    let missing = error_code::ER_NO_SUCH_TABLE.with(&[&"d", &"t"]);
    let raised = RaisedCondition { error: &missing, severity: Severity::Error };
    let mut frame = Frame::default();
    frame.enter();
    frame.add_handler(0);
    frame.enter();
    frame.add_handler(1);
    frame.add_handler(2);
    let at = |instruction| made.instructions.iter().position(|one| *one == instruction).expect("it is there");
    let inner = made.handler(at(Instruction::Run(3)), raised).expect("there are three");
    assert_eq!(inner, 2, "a number is the best fit");
    let mut undeclared = Frame::default();
    undeclared.enter();
    undeclared.add_handler(0);
    assert!(undeclared.reaction(inner).is_none(), "it is not declared yet, and hides the outer one");
    let reaction = frame.reaction(inner).expect("it is declared");
    let body = frame.begin(&made, &reaction, 7);
    assert_eq!(made.instructions[body], Instruction::Run(2));
    assert_eq!(made.handler(body, raised), Some(0), "the outer one is not hidden");
    assert_eq!(frame.end(&made).map(|end| end.next), Some(7));
}
