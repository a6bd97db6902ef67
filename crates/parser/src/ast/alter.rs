//! ALTER TABLE, ALTER DATABASE and RENAME TABLE.
use super::{
    CheckConstraint, ColumnDefinition, DatabaseOption, Expr, ForeignKey, Ident, IndexDefinition, ObjectName,
    OrderItem, PartitionDefinition, Partitioning, SchemaChangeOption, TableElement, TableOption,
};

#[derive(Debug, Clone, Copy)]
pub struct AlterTable<'a> {
    pub table: ObjectName<'a>,
    pub specifications: &'a [AlterSpecification<'a>],
    pub change: SchemaChangeOption,
    /// `WITH VALIDATION` is true, `WITHOUT VALIDATION` false.
    pub validation: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlgorithmOption {
    Default,
    Instant,
    InPlace,
    Copy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockOption {
    Default,
    None,
    Shared,
    Exclusive,
}

#[derive(Debug, Clone, Copy)]
pub enum ColumnPosition<'a> {
    Last,
    First,
    After(Ident<'a>),
}

#[derive(Debug, Clone, Copy)]
pub enum AlterSpecification<'a> {
    AddColumn {
        column: ColumnDefinition<'a>,
        position: ColumnPosition<'a>,
    },
    /// `ADD (a INT, KEY (a), ..)`
    AddElements(&'a [TableElement<'a>]),
    AddIndex(IndexDefinition<'a>),
    AddForeignKey(ForeignKey<'a>),
    AddCheck(CheckConstraint<'a>),
    DropColumn(Ident<'a>),
    DropPrimaryKey,
    DropIndex(Ident<'a>),
    DropForeignKey(Ident<'a>),
    DropCheck(Ident<'a>),
    /// `DROP CONSTRAINT`: whichever kind has this name.
    DropConstraint(Ident<'a>),
    ModifyColumn {
        column: ColumnDefinition<'a>,
        position: ColumnPosition<'a>,
    },
    ChangeColumn {
        old_name: Ident<'a>,
        column: ColumnDefinition<'a>,
        position: ColumnPosition<'a>,
    },
    AlterColumnSetDefault {
        column: Ident<'a>,
        expr: Expr<'a>,
        parenthesized: bool,
    },
    AlterColumnDropDefault(Ident<'a>),
    AlterColumnVisible {
        column: Ident<'a>,
        visible: bool,
    },
    AlterIndexVisible {
        index: Ident<'a>,
        visible: bool,
    },
    /// `ALTER CHECK` and `ALTER CONSTRAINT`.
    AlterCheckEnforced {
        constraint: Ident<'a>,
        enforced: bool,
    },
    RenameTable(ObjectName<'a>),
    RenameColumn {
        from: Ident<'a>,
        to: Ident<'a>,
    },
    RenameIndex {
        from: Ident<'a>,
        to: Ident<'a>,
    },
    Options(&'a [TableOption<'a>]),
    ConvertTo {
        /// `None` is DEFAULT.
        charset: Option<Ident<'a>>,
        collation: Option<Ident<'a>>,
    },
    DisableKeys,
    EnableKeys,
    DiscardTablespace,
    ImportTablespace,
    Force,
    OrderBy(&'a [OrderItem<'a>]),
    SecondaryLoad,
    SecondaryUnload,
    PartitionBy(&'a Partitioning<'a>),
    RemovePartitioning,
    Partition(PartitionChange<'a>),
}

#[derive(Debug, Clone, Copy)]
pub enum PartitionSelection<'a> {
    All,
    Names(&'a [Ident<'a>]),
}

#[derive(Debug, Clone, Copy)]
pub enum PartitionChange<'a> {
    Add(&'a [PartitionDefinition<'a>]),
    /// `ADD PARTITION PARTITIONS n`
    AddCount(u64),
    Drop(&'a [Ident<'a>]),
    Discard(PartitionSelection<'a>),
    Import(PartitionSelection<'a>),
    Truncate(PartitionSelection<'a>),
    Coalesce(u64),
    /// Without INTO both lists are empty.
    Reorganize {
        names: &'a [Ident<'a>],
        into: &'a [PartitionDefinition<'a>],
    },
    Exchange {
        partition: Ident<'a>,
        table: ObjectName<'a>,
        /// `WITHOUT VALIDATION` is false.
        validation: bool,
    },
    Analyze(PartitionSelection<'a>),
    Check(PartitionSelection<'a>),
    Optimize(PartitionSelection<'a>),
    Rebuild(PartitionSelection<'a>),
    Repair(PartitionSelection<'a>),
}

#[derive(Debug, Clone, Copy)]
pub struct AlterDatabase<'a> {
    /// `None` is the current database.
    pub name: Option<Ident<'a>>,
    pub options: &'a [DatabaseOption<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct RenameTable<'a> {
    pub renames: &'a [TableRename<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct TableRename<'a> {
    pub from: ObjectName<'a>,
    pub to: ObjectName<'a>,
}
