//! What a statement of a program can name where it stands.
use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Procedure,
    Function,
    Trigger,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Text,
    Decimal,
}

#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub kind: Kind,
    pub is_assignable: bool,
}

#[derive(Clone, Debug)]
pub struct Label {
    pub name: String,
    pub is_loop: bool,
}

/// A procedure that exists: for each parameter whether it gives a value back.
#[derive(Clone, Debug)]
pub struct Procedure {
    pub name: String,
    pub outs: Vec<bool>,
}

#[derive(Clone, Debug)]
pub struct Scope {
    pub sort: Sort,
    pub variables: Vec<Variable>,
    pub labels: Vec<Label>,
    pub cursors: Vec<String>,
    pub conditions: Vec<String>,
    pub procedures: Vec<Procedure>,
    /// Of one INTEGER each.
    pub functions: Vec<String>,
    pub is_in_handler: bool,
    /// How many blocks and loops are around.
    pub depth: usize,
}

impl Scope {
    pub fn new(sort: Sort) -> Scope {
        Scope {
            sort,
            variables: Vec::new(),
            labels: Vec::new(),
            cursors: Vec::new(),
            conditions: Vec::new(),
            procedures: Vec::new(),
            functions: Vec::new(),
            is_in_handler: false,
            depth: 0,
        }
    }

    pub fn declare(&mut self, name: impl Into<String>, kind: Kind, is_assignable: bool) {
        self.variables.push(Variable { name: name.into(), kind, is_assignable });
    }

    /// A variable of the kind, if there is one.
    pub fn variable(&self, random: &mut Random, kind: Kind) -> Option<&str> {
        self.pick(random, |variable| variable.kind == kind)
    }

    /// What a value of the kind can be put into.
    pub fn target(&self, random: &mut Random, kind: Kind) -> Option<&str> {
        self.pick(random, |variable| variable.kind == kind && variable.is_assignable)
    }

    /// As `target`, without columns of the changed row, which may stand in SET alone.
    pub fn local(&self, random: &mut Random, kind: Kind) -> Option<&str> {
        self.pick(random, |one| one.kind == kind && one.is_assignable && !one.name.contains('.'))
    }

    fn pick(&self, random: &mut Random, fits: impl Fn(&Variable) -> bool) -> Option<&str> {
        let found: Vec<&Variable> = self.variables.iter().filter(|variable| fits(variable)).collect();
        (!found.is_empty()).then(|| random.pick(&found).name.as_str())
    }
}
