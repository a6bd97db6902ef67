//! Views, and the DROP of stored objects.
use super::{Ident, ObjectName, Query, User};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoutineKind {
    Procedure,
    Function,
    Trigger,
    Event,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqlSecurity {
    Definer,
    Invoker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViewCheck {
    Cascaded,
    Local,
}

/// `DEFINER = user`
#[derive(Debug, Clone, Copy)]
pub struct Definer<'a>(pub User<'a>);

/// CREATE VIEW and ALTER VIEW.
#[derive(Debug, Clone, Copy)]
pub struct CreateView<'a> {
    pub alter: bool,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub algorithm: Option<ViewAlgorithm>,
    pub definer: Option<Definer<'a>>,
    pub security: Option<SqlSecurity>,
    pub name: ObjectName<'a>,
    pub columns: &'a [Ident<'a>],
    pub query: &'a Query<'a>,
    pub check: Option<ViewCheck>,
}

/// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
#[derive(Debug, Clone, Copy)]
pub struct DropStored<'a> {
    pub kind: RoutineKind,
    pub if_exists: bool,
    pub name: ObjectName<'a>,
}
