//! From the tree of a program to instructions.
use crate::instruction::{
    BlockPlace, CursorPlace, HandlerPlace, Instruction, NamedSlot, PieceNames, PiecePlace, Program, RowSlot,
    Slot,
};
use datum::{ColumnType, SqlError};
use parser::ast::{
    Body, Branch, Code, CreateProgram, DataType, HandlerDeclaration, LabelId, Parameter, ProgramStatement,
    Scope,
};

/// Turns types as they are written into types of columns.
pub type TypeOf<'a> = dyn Fn(&DataType<'_>, &str) -> Result<ColumnType, SqlError> + 'a;

/// `text` is what the tree was read from, under `mode`.
pub fn compile(
    create: &CreateProgram<'_>,
    text: &str,
    mode: parser::SqlMode,
    type_of: &TypeOf<'_>,
) -> Result<Program, SqlError> {
    let body = &create.body;
    let mut maker = Maker::new(create, body, text, mode, type_of)?;
    maker.statement(body.statement);
    maker.emit(Instruction::End);
    let mut program = maker.program;
    for instruction in &mut program.instructions {
        match instruction {
            Instruction::Jump(target) | Instruction::Operand { after: target, .. } => {
                *target = maker.places[*target];
            }
            Instruction::JumpUnless { otherwise, after, .. } => {
                *otherwise = maker.places[*otherwise];
                *after = maker.places[*after];
            }
            _ => {}
        }
    }
    for handler in &mut program.handlers {
        handler.block_end = maker.places[handler.block_end];
    }
    Ok(program)
}

/// A place that is named before it is known.
type Place = usize;

struct Maker<'a> {
    program: Program,
    places: Vec<usize>,
    /// By label: where LEAVE and ITERATE go, and how many blocks with handlers or cursors are open there.
    labels: Vec<Option<Label>>,
    open_blocks: usize,
    /// The scope of the last piece and its number, since neighbours share it.
    last_scope: Option<(*const Scope<'a>, usize)>,
    /// Where the innermost block with handlers ends.
    block_end: Place,
    /// The block whose handlers are asked first.
    asked: Option<usize>,
}

#[derive(Clone, Copy)]
struct Label {
    leave: Place,
    iterate: Place,
    blocks: usize,
}

impl<'a> Maker<'a> {
    fn new(
        create: &CreateProgram<'a>,
        body: &Body<'a>,
        text: &str,
        mode: parser::SqlMode,
        type_of: &TypeOf<'_>,
    ) -> Result<Maker<'a>, SqlError> {
        let mut slots = Vec::with_capacity(body.variables.len());
        for variable in body.variables {
            let column_type =
                variable.data_type.map(|data_type| type_of(&data_type, variable.name)).transpose()?;
            slots.push(Slot { name: variable.name.to_owned(), column_type });
        }
        let returns = create.returns.map(|returns| type_of(&returns.data_type, "")).transpose()?;
        let row_slot = |column: &parser::ast::RowColumn<'_>| RowSlot {
            is_new: column.is_new,
            name: column.name.to_owned(),
            slot: column.slot as usize,
            is_assigned: column.is_assigned,
            is_read: column.is_read,
        };
        let program = Program {
            kind: create.kind,
            text: text.to_owned(),
            mode,
            parameters: create.parameters.iter().map(|parameter: &Parameter<'_>| parameter.mode).collect(),
            slots,
            returns,
            barred_inside: body.barred_inside,
            row_columns: body.row_columns.iter().map(row_slot).collect(),
            pieces: Vec::new(),
            names: Vec::new(),
            cursors: Vec::new(),
            handlers: Vec::new(),
            blocks: Vec::new(),
            instructions: Vec::new(),
            asked: Vec::new(),
        };
        let mut maker = Maker {
            program,
            places: Vec::new(),
            labels: vec![None; body.label_count as usize],
            open_blocks: 0,
            last_scope: None,
            block_end: 0,
            asked: None,
        };
        for cursor in body.cursors {
            let piece = maker.piece(&cursor.query);
            maker.program.cursors.push(CursorPlace { name: cursor.name.to_owned(), piece });
        }
        Ok(maker)
    }

    fn emit(&mut self, instruction: Instruction) {
        self.program.instructions.push(instruction);
        self.program.asked.push(self.asked);
    }

    fn new_place(&mut self) -> Place {
        self.places.push(0);
        self.places.len() - 1
    }

    /// The place is here.
    fn set(&mut self, place: Place) {
        self.places[place] = self.program.instructions.len();
    }

    fn piece(&mut self, code: &Code<'a>) -> usize {
        let scope = std::ptr::from_ref(code.scope);
        let names = match self.last_scope {
            Some((last, names)) if std::ptr::eq(last, scope) => names,
            _ => {
                let variables = code.scope.variables.iter();
                let conditions = code.scope.conditions.iter();
                self.program.names.push(PieceNames {
                    variables: variables
                        .map(|one| NamedSlot { name: one.name.to_owned(), slot: one.slot, place: one.place })
                        .collect(),
                    conditions: conditions.map(|(name, value)| ((*name).to_owned(), *value)).collect(),
                });
                self.program.names.len() - 1
            }
        };
        self.last_scope = Some((scope, names));
        self.program.pieces.push(PiecePlace { kind: code.kind, span: code.span, names });
        self.program.pieces.len() - 1
    }

    fn statements(&mut self, statements: &[ProgramStatement<'a>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &ProgramStatement<'a>) {
        match statement {
            ProgramStatement::Sql(code) => {
                let piece = self.piece(code);
                self.emit(Instruction::Run(piece));
            }
            ProgramStatement::Block { label, statements } => self.block(*label, statements),
            ProgramStatement::Declare { slots, default } => self.declare(slots, default.as_ref()),
            ProgramStatement::DeclareCursor(cursor) => self.emit(Instruction::Cursor(*cursor as usize)),
            ProgramStatement::DeclareHandler(handler) => self.handler(handler),
            ProgramStatement::Assign { slot, value } => {
                let piece = self.piece(value);
                self.emit(Instruction::Assign { slot: *slot as usize, piece });
            }
            ProgramStatement::If { branches, otherwise } => {
                let end = self.new_place();
                self.branches(branches, None, end);
                self.statements(otherwise.unwrap_or_default());
                self.set(end);
            }
            ProgramStatement::Case { operand, branches, otherwise } => {
                let end = self.new_place();
                if let Some((slot, value)) = operand {
                    let piece = self.piece(value);
                    self.emit(Instruction::Operand { slot: *slot as usize, piece, after: end });
                }
                self.branches(branches, operand.map(|(slot, _)| slot as usize), end);
                match otherwise {
                    Some(statements) => self.statements(statements),
                    None => self.emit(Instruction::CaseNotFound),
                }
                self.set(end);
            }
            ProgramStatement::Loop { label, statements } => {
                let (begin, end) = self.open(*label);
                self.statements(statements);
                self.emit(Instruction::Jump(begin));
                self.set(end);
            }
            ProgramStatement::While { label, condition, statements } => {
                let (begin, end) = self.open(*label);
                self.unless(condition, None, end, end);
                self.statements(statements);
                self.emit(Instruction::Jump(begin));
                self.set(end);
            }
            ProgramStatement::Repeat { label, statements, until } => {
                let (begin, end) = self.open(*label);
                self.statements(statements);
                self.unless(until, None, begin, end);
                self.set(end);
            }
            ProgramStatement::Leave(label) => self.go(*label, true),
            ProgramStatement::Iterate(label) => self.go(*label, false),
            ProgramStatement::Return(value) => {
                let piece = self.piece(value);
                self.emit(Instruction::Return(piece));
            }
            ProgramStatement::Open(cursor) => self.emit(Instruction::Open(*cursor as usize)),
            ProgramStatement::Fetch { cursor, targets } => {
                let targets = targets.iter().map(|slot| *slot as usize).collect();
                self.emit(Instruction::Fetch { cursor: *cursor as usize, targets });
            }
            ProgramStatement::Close(cursor) => self.emit(Instruction::Close(*cursor as usize)),
        }
    }

    fn unless(&mut self, condition: &Code<'a>, equals: Option<usize>, otherwise: Place, after: Place) {
        let piece = self.piece(condition);
        self.emit(Instruction::JumpUnless { piece, equals, otherwise, after });
    }

    fn branches(&mut self, branches: &[Branch<'a>], equals: Option<usize>, end: Place) {
        for branch in branches {
            let next = self.new_place();
            self.unless(&branch.condition, equals, next, end);
            self.statements(branch.statements);
            self.emit(Instruction::Jump(end));
            self.set(next);
        }
    }

    /// A loop begins: its label is known.
    fn open(&mut self, label: LabelId) -> (Place, Place) {
        let (begin, end) = (self.new_place(), self.new_place());
        self.set(begin);
        self.labels[label.0 as usize] = Some(Label { leave: end, iterate: begin, blocks: self.open_blocks });
        (begin, end)
    }

    fn go(&mut self, label: LabelId, leaves: bool) {
        let Some(label) = self.labels[label.0 as usize] else { return };
        if self.open_blocks > label.blocks {
            self.emit(Instruction::Leave(self.open_blocks - label.blocks));
        }
        self.emit(Instruction::Jump(if leaves { label.leave } else { label.iterate }));
    }

    fn block(&mut self, label: LabelId, statements: &[ProgramStatement<'a>]) {
        let declares = |statement: &ProgramStatement<'_>| {
            matches!(statement, ProgramStatement::DeclareCursor(_) | ProgramStatement::DeclareHandler(_))
        };
        let is_framed = statements.iter().any(declares);
        let (_, end) = self.open(label);
        if !is_framed {
            self.statements(statements);
            return self.set(end);
        }
        self.emit(Instruction::Enter);
        self.open_blocks += 1;
        let block_end = self.new_place();
        let outer_end = std::mem::replace(&mut self.block_end, block_end);
        self.program.blocks.push(BlockPlace { outer: self.asked, handlers: Vec::new() });
        let outer = self.asked.replace(self.program.blocks.len() - 1);
        self.statements(statements);
        self.block_end = outer_end;
        self.open_blocks -= 1;
        self.set(block_end);
        self.emit(Instruction::Leave(1));
        self.asked = outer;
        self.set(end);
    }

    fn declare(&mut self, slots: &[u32], default: Option<&Code<'a>>) {
        for &slot in slots {
            match default {
                Some(value) => {
                    let piece = self.piece(value);
                    self.emit(Instruction::Assign { slot: slot as usize, piece });
                }
                None => self.emit(Instruction::Clear(slot as usize)),
            }
        }
    }

    /// The body stands behind the declaration, which jumps over it.
    fn handler(&mut self, declaration: &HandlerDeclaration<'a>) {
        let number = self.program.handlers.len();
        let over = self.new_place();
        let own = self.asked;
        if let Some(own) = own {
            self.program.blocks[own].handlers.push(number);
            // In the body the handlers beside it are not asked.
            self.asked = self.program.blocks[own].outer;
        }
        self.emit(Instruction::Handler(number));
        self.emit(Instruction::Jump(over));
        self.program.handlers.push(HandlerPlace {
            exits: declaration.exits,
            conditions: declaration.conditions.to_vec(),
            body: self.program.instructions.len(),
            block_end: self.block_end,
        });
        self.statement(&declaration.body);
        self.emit(Instruction::HandlerEnd);
        self.asked = own;
        self.set(over);
    }
}

#[cfg(test)]
mod tests;
