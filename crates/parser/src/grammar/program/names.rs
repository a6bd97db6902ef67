//! What the names in a program's body mean while it is read.
//!
//! Invariant: slots are given out in the order of the text and never twice, so a body that is read again has the same.
use crate::ast::{
    BarredInside, ConditionValue, Cursor, LabelId, RoutineKind, RowColumn, Scope, TriggerEvent, Variable,
    VisibleVariable,
};
use bumpalo::Bump;

pub struct ProgramNames<'a> {
    pub kind: RoutineKind,
    pub trigger: Option<(bool, TriggerEvent)>,
    /// Visible names, inner ones later.
    pub visible: Vec<VisibleVariable<'a>>,
    pub conditions: Vec<(&'a str, ConditionValue)>,
    pub visible_cursors: Vec<(&'a str, u32)>,
    /// Open labels: name, number, whether a loop has it.
    pub labels: Vec<(Option<&'a str>, LabelId, bool)>,
    pub label_count: u32,
    pub variables: Vec<Variable<'a>>,
    /// How many variables have a name.
    named_count: u32,
    pub cursors: Vec<Cursor<'a>>,
    pub row_columns: Vec<RowColumn<'a>>,
    /// The slots that the piece of SQL at hand reads, by the index of its parameter.
    pub used: Vec<u32>,
    /// What a procedure does that nothing inside of a statement may do.
    pub barred_inside: Option<BarredInside>,
    /// A RETURN has been read.
    pub has_return: bool,
    /// The piece of SQL at hand stands alone: what it declares is known from before.
    pub is_piece: bool,
    scope: Option<&'a Scope<'a>>,
}

impl<'a> ProgramNames<'a> {
    pub fn new(kind: RoutineKind) -> ProgramNames<'a> {
        ProgramNames {
            kind,
            trigger: None,
            visible: Vec::new(),
            conditions: Vec::new(),
            visible_cursors: Vec::new(),
            labels: Vec::new(),
            label_count: 0,
            variables: Vec::new(),
            named_count: 0,
            cursors: Vec::new(),
            row_columns: Vec::new(),
            used: Vec::new(),
            barred_inside: None,
            has_return: false,
            is_piece: false,
            scope: None,
        }
    }

    /// The names of a piece of SQL that is read again.
    pub fn of_piece(kind: RoutineKind, scope: &Scope<'a>, row_columns: &[RowColumn<'a>]) -> ProgramNames<'a> {
        ProgramNames {
            visible: scope.variables.to_vec(),
            conditions: scope.conditions.to_vec(),
            row_columns: row_columns.to_vec(),
            is_piece: true,
            ..ProgramNames::new(kind)
        }
    }

    /// Functions and triggers, which run inside a statement.
    pub fn is_inside_statement(&self) -> bool {
        matches!(self.kind, RoutineKind::Function | RoutineKind::Trigger)
    }

    pub fn variable(&self, name: &str) -> Option<VisibleVariable<'a>> {
        self.visible.iter().rev().find(|known| is_same(known.name, name)).copied()
    }

    pub fn slot(&self, name: &str) -> Option<u32> {
        self.variable(name).map(|variable| variable.slot)
    }

    pub fn condition(&self, name: &str) -> Option<ConditionValue> {
        self.conditions.iter().rev().find(|(known, _)| is_same(known, name)).map(|(_, value)| *value)
    }

    pub fn cursor(&self, name: &str) -> Option<u32> {
        self.visible_cursors.iter().rev().find(|(known, _)| is_same(known, name)).map(|(_, number)| *number)
    }

    pub fn label(&self, name: &str) -> Option<(LabelId, bool)> {
        let named =
            |label: &&(Option<&str>, LabelId, bool)| label.0.is_some_and(|known| is_same(known, name));
        self.labels.iter().rev().find(named).map(|(_, id, is_loop)| (*id, *is_loop))
    }

    pub fn declare(&mut self, variable: Variable<'a>) -> u32 {
        let slot = self.variables.len() as u32;
        self.variables.push(variable);
        self.visible.push(VisibleVariable { name: variable.name, slot, place: self.named_count });
        self.named_count += 1;
        self.scope = None;
        slot
    }

    /// A slot without a name.
    pub fn hidden(&mut self) -> u32 {
        self.variables.push(Variable { name: "", data_type: None });
        self.variables.len() as u32 - 1
    }

    pub fn declare_condition(&mut self, name: &'a str, value: ConditionValue) {
        self.conditions.push((name, value));
        self.scope = None;
    }

    /// Leaves a block: back to the names that were visible before.
    pub fn leave(&mut self, mark: Mark) {
        self.visible.truncate(mark.visible);
        self.conditions.truncate(mark.conditions);
        self.visible_cursors.truncate(mark.cursors);
        self.scope = None;
    }

    pub fn mark(&self) -> Mark {
        Mark {
            visible: self.visible.len(),
            conditions: self.conditions.len(),
            cursors: self.visible_cursors.len(),
        }
    }

    /// OLD.name or NEW.name.
    pub fn row_column(&mut self, is_new: bool, name: &'a str, assigns: bool) -> u32 {
        let known =
            self.row_columns.iter_mut().find(|column| column.is_new == is_new && is_same(column.name, name));
        if let Some(column) = known {
            column.is_assigned |= assigns;
            column.is_read |= !assigns;
            return column.slot;
        }
        let slot = self.hidden();
        self.row_columns.push(RowColumn { is_new, name, slot, is_assigned: assigns, is_read: !assigns });
        slot
    }

    /// The parameter by which the piece of SQL at hand reads the slot.
    pub fn use_slot(&mut self, slot: u32) -> u32 {
        let known = self.used.iter().position(|used| *used == slot);
        let index = known.unwrap_or_else(|| {
            self.used.push(slot);
            self.used.len() - 1
        });
        index as u32
    }

    pub fn scope(&mut self, arena: &'a Bump) -> &'a Scope<'a> {
        let (visible, conditions) = (&self.visible, &self.conditions);
        self.scope.get_or_insert_with(|| {
            arena.alloc(Scope {
                variables: arena.alloc_slice_copy(visible),
                conditions: arena.alloc_slice_copy(conditions),
            })
        })
    }

    pub fn new_label(&mut self) -> LabelId {
        self.label_count += 1;
        LabelId(self.label_count - 1)
    }
}

/// The names that were visible at some place.
#[derive(Clone, Copy)]
pub struct Mark {
    pub visible: usize,
    pub conditions: usize,
    pub cursors: usize,
}

/// Names in programs ignore letter case.
pub fn is_same(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || left.to_lowercase() == right.to_lowercase()
}
