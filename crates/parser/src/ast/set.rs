//! SET of variables, NAMES and CHARACTER SET.
use super::{Expr, Ident, Statement, VariableScope};

#[derive(Debug, Clone, Copy)]
pub struct SetStatement<'a> {
    /// In the order written; all are applied or none.
    pub assignments: &'a [VariableAssignment<'a>],
    /// The statement of MariaDB's `SET STATEMENT a = 1 FOR statement`.
    pub for_statement: Option<&'a Statement<'a>>,
}

impl SetStatement<'_> {
    /// Whether it gives a system variable of the name a value.
    pub fn sets(&self, name: &str) -> bool {
        self.assignments.iter().any(|assignment| match assignment {
            VariableAssignment::Variable {
                target: VariableTarget::System { instance, name: set, .. },
                ..
            } => instance.is_none() && set.name.eq_ignore_ascii_case(name),
            _ => false,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub enum VariableAssignment<'a> {
    Variable {
        target: VariableTarget<'a>,
        value: SetValue<'a>,
    },
    /// `SET NAMES charset [COLLATE collation]`; `None` is DEFAULT.
    Names {
        charset: Option<&'a str>,
        collation: Option<&'a str>,
    },
    /// `SET CHARACTER SET charset`; `None` is DEFAULT.
    CharacterSet(Option<&'a str>),
}

#[derive(Debug, Clone, Copy)]
pub enum VariableTarget<'a> {
    User(Ident<'a>),
    /// `name = ..`, `SESSION name = ..`, `@@global.name = ..`. A bare name may also be a stored program's variable.
    System {
        scope: VariableScope,
        instance: Option<Ident<'a>>,
        name: Ident<'a>,
        /// Written as `@@name`, which for a transaction's characteristics means the next transaction.
        has_at_signs: bool,
    },
}

#[derive(Debug, Clone, Copy)]
pub enum SetValue<'a> {
    /// A bare word such as `utf8mb4` or `STRICT_ALL_TABLES` arrives as a column reference: take its name as text.
    Expr(Expr<'a>),
    Default,
    /// `ON`, `ALL`, `BINARY`, `ROW`, `SYSTEM`: keywords that stand for their own text.
    Keyword(&'a str),
}
