//! The syntax tree of one statement: plain data in an arena, a file for each statement family.
//!
//! Every node is `Copy`, borrows from the arena (or from the statement's text) and is never dropped one by one,
//! so a tree of any depth is freed in one step. Nothing here is resolved: names are as written.
//! The parser builds it; the binder, the session and the account code read it.
mod account;
mod admin;
mod alter;
mod constraint;
mod create;
mod data_type;
mod dml;
mod expression;
mod function;
mod load;
mod name;
mod operator;
mod partition;
mod program;
mod query;
mod set;
mod show;
mod statement;
mod stored;
mod table_reference;
mod transaction;
mod walk;

pub use account::{
    AccountName, AccountOption, AlterUser, AuthenticationClause, CreateRole, CreateUser, DropUser, Grant,
    GrantRole, GrantTarget, ObjectKind, Privilege, PrivilegeKind, ResourceLimit, ResourceLimitKind, Revoke,
    RevokeRole, SetDefaultRole, SetPassword, SetRole, TlsRequirement, User, UserDefinition,
};
pub use admin::{
    AdminTable, ChangeReplicationFilter, ChangeReplicationSource, Diagnostics, DiagnosticsItem, Explain,
    ExplainFormat, ExplainTarget, Flush, FlushTarget, Handler, HandlerAction, HandlerRead, Histogram, Kill,
    MaintainTable, MaintenanceKind, PreparedSource, PurgeBinaryLogs, ReplicaControl, ReplicationFilterValues,
    RestoreMoment, RestoreTable, SignalItem, SignalStatement, UntilOption,
};
pub use alter::{
    AlgorithmOption, AlterDatabase, AlterSpecification, AlterTable, ColumnPosition, LockOption,
    PartitionChange, PartitionSelection, RenameTable, TableRename,
};
pub use constraint::{
    CheckConstraint, ForeignKey, IndexDefinition, IndexKind, IndexOption, IndexPart, IndexPartTarget,
    IndexType, MatchKind, References, ReferentialAction,
};
pub use create::{
    ColumnAttribute, ColumnDefinition, CreateDatabase, CreateIndex, CreateTable, DatabaseOption,
    DropDatabase, DropIndex, DropTable, DuplicateHandling, SchemaChangeOption, TableElement, TableOption,
    TableOptionName, TableOptionValue, TruncateTable,
};
pub use data_type::{CastTarget, CastType, DataType, TypeName};
pub use dml::{Assignment, Delete, DeleteTarget, Insert, InsertSource, Priority, RowAlias, Update};
pub use expression::{
    Case, ColumnReference, DateArithmetic, Expr, ExprKind, IsTest, JsonExtract, Literal, LiteralOrdinal,
    LiteralValue, ParameterIndex, Quantified, Quantifier, SystemVariable, TemporalKind, VariableScope,
    WhenThen,
};
pub use function::{
    Aggregate, AggregateKind, CharFunction, FrameBound, FrameUnit, FullTextMatch, FullTextModifier,
    FunctionCall, JsonBehaviour, JsonValue, NullTreatment, Trim, TrimSide, WeightString, WindowCall,
    WindowFrame, WindowFunction, WindowName, WindowSpecification,
};
pub use load::{FieldOptions, LineOptions, LoadColumn, LoadData};
pub use name::{Ident, ObjectName, Span};
pub use operator::{BinaryOperator, IntervalUnit, LogicalOperator, UnaryOperator};
pub use partition::{
    PartitionDefinition, PartitionMethod, PartitionValues, Partitioning, SubPartitionDefinition,
};
pub use program::{
    AlterEvent, AlterRoutine, BarredInside, Body, Branch, Characteristics, Code, CodeKind, ConditionValue,
    CreateProgram, Cursor, DataAccess, EventHead, EventStatus, HandledCondition, HandlerDeclaration, LabelId,
    Local, Parameter, ParameterMode, ProgramStatement, Returns, RowColumn, Schedule, Scope, TriggerEvent,
    TriggerHead, TriggerOrder, Variable, VisibleVariable,
};
pub use query::{
    CommonTable, GroupBy, Into, Limit, LockStrength, LockWait, Locking, OrderItem, Query, QueryBody, Select,
    SelectItem, SelectOptions, SetBranch, SetChain, SetOperator, With,
};
pub use set::{SetStatement, SetValue, VariableAssignment, VariableTarget};
pub use show::{Show, ShowFilter};
pub use statement::{InstanceAction, Statement, StatementKind, Unsupported};
pub use stored::{CreateView, Definer, DropStored, RoutineKind, SqlSecurity, ViewAlgorithm, ViewCheck};
pub use table_reference::{
    DerivedTable, IndexHint, IndexHintAction, IndexHintScope, Join, JoinConstraint, JoinKind, JsonTable,
    JsonTableColumn, NamedTable, TableReference,
};
pub use transaction::{
    IsolationLevel, LockTable, LockTableKind, TransactionCharacteristic, TransactionEnd, XaStatement, Xid,
};
