//! From the syntax of CREATE, ALTER and RENAME to the descriptors of tables, with MySQL's checks.
//!
//! CREATE and ALTER TABLE make a `TableDraft`, in which indexes still name their columns; `TableDraft::finish` checks it
//! as a whole and turns it into a `TableDef`. `ForeignKeys` checks it against the tables that keys join to it.
//! Nothing here changes the catalog or touches the engine: that is for the session, under its locks.
#![forbid(unsafe_code)]

mod added_virtual;
mod alter;
mod alteration;
mod altered_table;
mod check;
mod column;
mod comment;
mod conditions;
mod conversion;
mod create;
mod data_type;
mod database;
mod dependence;
mod draft;
mod draft_of_table;
mod finish;
mod foreign_key;
mod foreign_key_check;
mod index;
mod index_part;
mod method;
mod options;
mod query_columns;
mod relatives;
mod rename;
mod row_expression;
mod row_maker;
mod same_value;
mod table_name;
mod text;

pub use alter::{AlterContext, apply_alterations};
pub use alteration::{
    Converter, adds_lacking_dates, check_algorithm, computes_values, copied_keys, is_only_named,
    needs_rebuild, newly_enforced, old_and_new,
};
pub use altered_table::Alteration;
pub use conditions::{
    ER_CHECK_CONSTRAINT_DUP_NAME, ER_DB_DOES_NOT_EXIST, ER_FOREIGN_KEY_WITH_CREATE_SELECT,
    ER_WARN_RESTRICT_FK_DEPRECATED, ER_WARN_RESTRICT_FK_OFF,
};
pub use conversion::Conversion;
pub use create::draft_of_create;
pub use data_type::{TypeContext, column_type};
pub use database::database_collation;
pub use draft::{ColumnSource, DefinitionContext, RowExpressionType, TableDraft};
pub use foreign_key_check::{Definer, Followers, ForeignKeys};
pub use method::{Concurrency, Means, Method, check_options, choose_means, heed_validation};
pub use query_columns::{SourceColumns, add_query_columns};
pub use relatives::referenced_by;
pub use rename::{Names, checks_like, follow_renames};
pub use row_maker::RowMaker;
pub use same_value::is_same_value;
pub use table_name::TableName;
