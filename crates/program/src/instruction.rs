//! What a program is made of.
//!
//! Invariant: every number in an instruction names something of the same program, and every target is an instruction; the
//! last one is `End`.
use datum::ColumnType;
use parser::ProgramNames;
use parser::ast::{
    BarredInside, CodeKind, ConditionValue, HandledCondition, ParameterMode, RoutineKind, RowColumn, Scope,
    Span, VisibleVariable,
};

#[derive(Debug)]
pub struct Program {
    pub kind: RoutineKind,
    /// What all spans point into.
    pub text: String,
    /// How the text is read.
    pub mode: parser::SqlMode,
    /// One for each of the first slots.
    pub parameters: Vec<ParameterMode>,
    pub slots: Vec<Slot>,
    pub returns: Option<ColumnType>,
    /// Why no function or trigger may call it.
    pub barred_inside: Option<BarredInside>,
    pub row_columns: Vec<RowSlot>,
    pub pieces: Vec<PiecePlace>,
    pub names: Vec<PieceNames>,
    pub cursors: Vec<CursorPlace>,
    pub handlers: Vec<HandlerPlace>,
    pub blocks: Vec<BlockPlace>,
    pub instructions: Vec<Instruction>,
    /// By instruction: the block whose handlers are asked first for its conditions.
    pub asked: Vec<Option<usize>>,
}

/// A variable, parameter or column of the changed row.
#[derive(Debug)]
pub struct Slot {
    pub name: String,
    /// `None`: the type of the value that it is given, or of the row's column.
    pub column_type: Option<ColumnType>,
}

/// OLD.name or NEW.name of a trigger.
#[derive(Debug)]
pub struct RowSlot {
    pub is_new: bool,
    pub name: String,
    pub slot: usize,
    pub is_assigned: bool,
    pub is_read: bool,
}

/// A piece of SQL.
#[derive(Debug)]
pub struct PiecePlace {
    pub kind: CodeKind,
    pub span: Span,
    /// What is visible there.
    pub names: usize,
}

#[derive(Debug, Default)]
pub struct PieceNames {
    pub variables: Vec<NamedSlot>,
    pub conditions: Vec<(String, ConditionValue)>,
}

/// A variable by the name that is visible, as the parser has it.
#[derive(Debug)]
pub struct NamedSlot {
    pub name: String,
    pub slot: u32,
    pub place: u32,
}

#[derive(Debug)]
pub struct CursorPlace {
    pub name: String,
    pub piece: usize,
}

#[derive(Debug)]
pub struct HandlerPlace {
    pub exits: bool,
    pub conditions: Vec<HandledCondition>,
    /// Where its body begins.
    pub body: usize,
    /// Where the block ends that an EXIT handler leaves.
    pub block_end: usize,
}

/// A block with handlers or cursors.
#[derive(Debug)]
pub struct BlockPlace {
    /// The block that is asked after it: the one around it, or around the block whose handler it is in.
    pub outer: Option<usize>,
    pub handlers: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    Run(usize),
    Assign {
        slot: usize,
        piece: usize,
    },
    /// The operand of a CASE; after a handler that continues, the program goes on at `after`.
    Operand {
        slot: usize,
        piece: usize,
        after: usize,
    },
    /// A variable without a default begins as NULL.
    Clear(usize),
    Jump(usize),
    /// Goes on at `otherwise` when the piece is not true (or not equal to the slot); after a handler that continues, at
    /// `after`.
    JumpUnless {
        piece: usize,
        equals: Option<usize>,
        otherwise: usize,
        after: usize,
    },
    /// A block with handlers or cursors begins.
    Enter,
    /// So many of them end.
    Leave(usize),
    Handler(usize),
    /// The body of a handler ends.
    HandlerEnd,
    Cursor(usize),
    Open(usize),
    Fetch {
        cursor: usize,
        targets: Vec<usize>,
    },
    Close(usize),
    /// No branch of a CASE without ELSE was right.
    CaseNotFound,
    Return(usize),
    End,
}

impl Program {
    /// The text of a piece.
    pub fn piece_text(&self, piece: usize) -> &[u8] {
        self.pieces[piece].span.of(self.text.as_bytes())
    }

    /// What the parser needs to read a piece again.
    pub fn piece_names<'a>(&'a self, piece: usize, arena: &'a bumpalo::Bump) -> ProgramNames<'a> {
        let names = &self.names[self.pieces[piece].names];
        let variables = names.variables.iter().map(|one| VisibleVariable {
            name: &one.name,
            slot: one.slot,
            place: one.place,
        });
        let conditions = names.conditions.iter().map(|(name, value)| (name.as_str(), *value));
        let scope = Scope {
            variables: arena.alloc_slice_fill_iter(variables.collect::<Vec<_>>()),
            conditions: arena.alloc_slice_fill_iter(conditions.collect::<Vec<_>>()),
        };
        let columns: Vec<RowColumn<'a>> = self
            .row_columns
            .iter()
            .map(|column| RowColumn {
                is_new: column.is_new,
                name: &column.name,
                slot: column.slot as u32,
                is_assigned: column.is_assigned,
                is_read: column.is_read,
            })
            .collect();
        ProgramNames::of_piece(self.kind, &scope, &columns)
    }
}
