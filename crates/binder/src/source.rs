//! The sources of a query block: what its FROM reads, each with its columns and where it came from.
use crate::bound::{BoundCommon, Logical};
use crate::catalog_view::TableStatistics;
use crate::hints::IndexHints;
use crate::same_name::{same_database, same_table};
use datum::ColumnType;
use expression::Expr;
use plan::{JsonPath, JsonTableColumn, Node};
use schema::{TableDef, ViewDef, VirtualTable};
use std::rc::Rc;
use std::sync::Arc;

#[derive(Clone)]
pub struct SourceColumn {
    pub name: String,
    pub column_type: ColumnType,
    /// A later copy of a USING column: only its qualified name finds it.
    pub hidden: bool,
    /// Not part of `*`.
    pub invisible: bool,
}

#[derive(Clone)]
pub enum SourceKind {
    Stored {
        table: Arc<TableDef>,
        statistics: TableStatistics,
        hints: Box<IndexHints>,
    },
    Virtual(Arc<dyn VirtualTable>),
    /// A query in FROM, until the block is built.
    Query(Box<QuerySource>),
    /// The plan of the derived table; taken when the block's own plan is made.
    Derived(Option<Box<Node>>),
    /// A table of WITH.
    Common(Rc<BoundCommon>),
    /// The round before of a recursive table, by its number.
    Round(usize),
    /// A query that reads what is outside of it.
    Lateral(Option<Box<LateralSource>>),
    JsonTable(Box<JsonTableSource>),
}

/// A query in FROM before its plan is made.
#[derive(Clone)]
pub struct QuerySource {
    pub query: Logical,
    /// What it takes of the tables before it (LATERAL).
    pub correlation: Vec<(usize, Expr)>,
    /// All slots from outside that it reads.
    pub slots: Vec<usize>,
    /// It becomes part of the block.
    pub merges: bool,
}

#[derive(Clone)]
pub struct LateralSource {
    pub node: Node,
    pub correlation: Vec<(usize, Expr)>,
    pub slots: Vec<usize>,
    /// The sources of its own FROM that it reads.
    pub needs: u64,
}

#[derive(Clone)]
pub struct Source {
    pub alias: String,
    /// Empty for derived tables.
    pub database: String,
    pub columns: Vec<SourceColumn>,
    pub kind: SourceKind,
    /// On the inner side of an outer join: its columns may be NULL.
    pub optional: bool,
    /// Rows read are locked.
    pub lock: Option<plan::LockClause>,
    /// Result columns have its columns' names, however they are written.
    pub names_results: bool,
    /// Columns whose texts were mixed of several collations, none of which binds.
    pub mixed: Vec<usize>,
    /// The place of what the statement needs on the table; none for derived tables.
    pub need: Option<usize>,
    pub origin: Origin,
}

/// How the statement came to a source.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The statement gives it an alias.
    pub is_renamed: bool,
    /// A view that is changed brought it: names of the statement do not reach it.
    pub is_inner: bool,
    /// The view that it is.
    pub view: Option<Arc<ViewDef>>,
}

/// A JSON_TABLE until it is placed.
#[derive(Clone)]
pub struct JsonTableSource {
    pub document: Expr,
    pub path: JsonPath,
    pub columns: Vec<JsonTableColumn>,
    /// The sources that the document reads.
    pub needs: u64,
    /// Positions of the frame that the document reads and nothing else; the planner notes them.
    pub read_here_alone: Vec<usize>,
}

impl Source {
    /// Rows that the statement makes by itself: of no table, and told apart by the alias alone.
    pub fn made(alias: String, columns: Vec<SourceColumn>, kind: SourceKind) -> Source {
        Source {
            alias,
            database: String::new(),
            columns,
            kind,
            optional: false,
            lock: None,
            names_results: false,
            mixed: Vec::new(),
            need: None,
            origin: Origin::default(),
        }
    }

    /// A column's name as error messages show it.
    pub fn full_name(&self, column: usize) -> Arc<str> {
        let (database, table, column) = (&self.database, &self.alias, &self.columns[column].name);
        match database.as_str() {
            "" => format!("`{table}`.`{column}`").into(),
            database => format!("`{database}`.`{table}`.`{column}`").into(),
        }
    }

    /// The same without quotes.
    pub fn dotted_name(&self, column: usize) -> String {
        format!("{}.{}.{}", self.database, self.alias, self.columns[column].name)
    }

    pub fn is_named(&self, database: Option<&str>, table: Option<&str>) -> bool {
        !self.origin.is_inner
            && table.is_none_or(|table| same_table(&self.alias, table))
            && database.is_none_or(|database| same_database(&self.database, database))
    }
}
