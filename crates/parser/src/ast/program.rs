//! Stored programs: CREATE and ALTER of procedures, functions, triggers and events, and the language of their bodies.
//!
//! Invariant: names of variables, conditions, cursors and labels are resolved here already: a body speaks of slots and
//! numbers. SQL inside a body is kept as a piece of text with the names that are visible there (`Code`), so that whoever
//! runs it reads it again when a plan is due. The parser builds it; crate `program` makes instructions of it.
use super::{
    DataType, Definer, Expr, Ident, IntervalUnit, ObjectName, ParameterIndex, RoutineKind, Span, SqlSecurity,
};

/// CREATE PROCEDURE, FUNCTION, TRIGGER and EVENT.
#[derive(Debug, Clone, Copy)]
pub struct CreateProgram<'a> {
    pub kind: RoutineKind,
    pub if_not_exists: bool,
    pub definer: Option<Definer<'a>>,
    pub name: ObjectName<'a>,
    pub parameters: &'a [Parameter<'a>],
    /// The text between the parentheses.
    pub parameter_span: Span,
    /// RETURNS of a function.
    pub returns: Option<Returns<'a>>,
    pub characteristics: Characteristics<'a>,
    pub trigger: Option<TriggerHead<'a>>,
    pub event: Option<&'a EventHead<'a>>,
    pub body: Body<'a>,
}

#[derive(Debug, Clone, Copy)]
pub struct Returns<'a> {
    pub data_type: DataType<'a>,
    pub span: Span,
}

/// What CREATE and ALTER say of a routine beside its body.
#[derive(Debug, Clone, Copy, Default)]
pub struct Characteristics<'a> {
    pub comment: Option<&'a str>,
    pub deterministic: Option<bool>,
    pub access: Option<DataAccess>,
    pub security: Option<SqlSecurity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataAccess {
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
}

/// ALTER PROCEDURE and ALTER FUNCTION.
#[derive(Debug, Clone, Copy)]
pub struct AlterRoutine<'a> {
    pub kind: RoutineKind,
    pub name: ObjectName<'a>,
    pub characteristics: Characteristics<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParameterMode {
    In,
    Out,
    InOut,
}

#[derive(Debug, Clone, Copy)]
pub struct Parameter<'a> {
    pub mode: ParameterMode,
    pub name: Ident<'a>,
    pub data_type: DataType<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

#[derive(Debug, Clone, Copy)]
pub struct TriggerHead<'a> {
    pub is_before: bool,
    pub event: TriggerEvent,
    pub table: ObjectName<'a>,
    pub order: Option<TriggerOrder<'a>>,
}

/// FOLLOWS and PRECEDES.
#[derive(Debug, Clone, Copy)]
pub struct TriggerOrder<'a> {
    pub follows: bool,
    pub other: Ident<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventStatus {
    Enabled,
    Disabled,
    DisabledOnReplica,
}

#[derive(Debug, Clone, Copy)]
pub enum Schedule<'a> {
    At(Expr<'a>),
    Every { amount: Expr<'a>, unit: IntervalUnit, starts: Option<Expr<'a>>, ends: Option<Expr<'a>> },
}

/// What CREATE EVENT and ALTER EVENT say beside the body.
#[derive(Debug, Clone, Copy)]
pub struct EventHead<'a> {
    pub schedule: Option<Schedule<'a>>,
    pub preserves: Option<bool>,
    pub status: Option<EventStatus>,
    /// DISABLE ON SLAVE, the old words.
    pub says_slave: bool,
    pub comment: Option<&'a str>,
}

#[derive(Debug, Clone, Copy)]
pub struct AlterEvent<'a> {
    pub definer: Option<Definer<'a>>,
    pub name: ObjectName<'a>,
    pub head: EventHead<'a>,
    pub rename: Option<ObjectName<'a>>,
    pub body: Option<Body<'a>>,
}

/// The body of a program with everything that it declares.
#[derive(Debug, Clone, Copy)]
pub struct Body<'a> {
    pub statement: &'a ProgramStatement<'a>,
    pub span: Span,
    /// By slot: first the parameters.
    pub variables: &'a [Variable<'a>],
    pub cursors: &'a [Cursor<'a>],
    /// How many labels there are, those of blocks and loops without a name included.
    pub label_count: u32,
    /// OLD and NEW columns of a trigger's row that the body names.
    pub row_columns: &'a [RowColumn<'a>],
    /// Why a function or trigger may not call it.
    pub barred_inside: Option<BarredInside>,
}

/// What nothing inside of a statement may do. Of several in one procedure the first is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BarredInside {
    DynamicSql,
    ResultSet,
    Autocommit,
    Commit,
    Reset,
    Flush,
}

#[derive(Debug, Clone, Copy)]
pub struct Variable<'a> {
    pub name: &'a str,
    /// `None`: of whatever type the value has (the operand of CASE), or the type of a row's column.
    pub data_type: Option<DataType<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    pub name: &'a str,
    pub query: Code<'a>,
}

#[derive(Debug, Clone, Copy)]
pub struct RowColumn<'a> {
    pub is_new: bool,
    pub name: &'a str,
    pub slot: u32,
    /// SET NEW.x stands in the body.
    pub is_assigned: bool,
    /// Its value is used.
    pub is_read: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeKind {
    Statement,
    Expression,
    /// One assignment of SET.
    Assignment,
}

/// A piece of SQL in a body.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    pub kind: CodeKind,
    pub span: Span,
    pub scope: &'a Scope<'a>,
}

/// A parameter or variable that a piece of SQL may name.
#[derive(Debug, Clone, Copy)]
pub struct VisibleVariable<'a> {
    pub name: &'a str,
    pub slot: u32,
    /// How many others the program declares before it, which errors tell.
    pub place: u32,
}

/// A variable or a column of the changed row in an expression.
#[derive(Debug, Clone, Copy)]
pub struct Local<'a> {
    /// The parameter that its value comes in through.
    pub index: ParameterIndex,
    /// What errors call it: `x@0`, `NEW.a`.
    pub shown: &'a str,
}

/// What names mean at a place of a body; the last entry of a name hides those before it.
#[derive(Clone, Copy, Default)]
pub struct Scope<'a> {
    pub variables: &'a [VisibleVariable<'a>],
    pub conditions: &'a [(&'a str, ConditionValue)],
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} names", self.variables.len() + self.conditions.len())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConditionValue {
    Errno(u16),
    SqlState([u8; 5]),
}

/// What a handler is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandledCondition {
    Value(ConditionValue),
    Warning,
    NotFound,
    Exception,
}

/// A place that LEAVE and ITERATE name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LabelId(pub u32);

#[derive(Debug, Clone, Copy)]
pub enum ProgramStatement<'a> {
    Sql(Code<'a>),
    Block {
        label: LabelId,
        statements: &'a [ProgramStatement<'a>],
    },
    /// DECLARE of variables.
    Declare {
        slots: &'a [u32],
        default: Option<Code<'a>>,
    },
    DeclareCursor(u32),
    DeclareHandler(&'a HandlerDeclaration<'a>),
    /// SET of a variable, a parameter or NEW.column.
    Assign {
        slot: u32,
        value: Code<'a>,
    },
    If {
        branches: &'a [Branch<'a>],
        otherwise: Option<&'a [ProgramStatement<'a>]>,
    },
    /// Conditions of CASE with an operand compare with its slot.
    Case {
        operand: Option<(u32, Code<'a>)>,
        branches: &'a [Branch<'a>],
        otherwise: Option<&'a [ProgramStatement<'a>]>,
    },
    Loop {
        label: LabelId,
        statements: &'a [ProgramStatement<'a>],
    },
    While {
        label: LabelId,
        condition: Code<'a>,
        statements: &'a [ProgramStatement<'a>],
    },
    Repeat {
        label: LabelId,
        statements: &'a [ProgramStatement<'a>],
        until: Code<'a>,
    },
    Leave(LabelId),
    Iterate(LabelId),
    Return(Code<'a>),
    Open(u32),
    Fetch {
        cursor: u32,
        targets: &'a [u32],
    },
    Close(u32),
}

#[derive(Debug, Clone, Copy)]
pub struct Branch<'a> {
    pub condition: Code<'a>,
    pub statements: &'a [ProgramStatement<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct HandlerDeclaration<'a> {
    pub exits: bool,
    pub conditions: &'a [HandledCondition],
    pub body: ProgramStatement<'a>,
}
