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
    let reaction = frame.reaction(&made, raised).expect("there are three");
    assert_eq!(reaction.handler, 2, "a number is the best fit");
    assert_eq!(made.instructions[frame.begin(&made, &reaction, 7)], Instruction::Run(2));
    let outer = frame.reaction(&made, raised).expect("the outer one is not hidden");
    assert_eq!(outer.handler, 0);
    assert_eq!(frame.end(&made).map(|(next, _)| next), Some(7));
}
