//! From the syntax of CREATE and ALTER TABLE to the descriptor of a table, with MySQL's checks.
//!
//! Both statements make a `TableDraft`, in which indexes still name their columns; `TableDraft::finish` checks it
//! as a whole and turns it into a `TableDef`. Nothing here touches the catalog or the engine.
#![forbid(unsafe_code)]

mod alter;
mod column;
mod conditions;
mod create;
mod data_type;
mod draft;
mod foreign_key;
mod index;
mod options;
mod text;

pub use alter::{AlterContext, apply_alterations};
pub use conditions::{
    ER_DB_DOES_NOT_EXIST, ER_DROP_INDEX_FK, ER_FK_NO_UNIQUE_INDEX_PARENT, ER_FOREIGN_KEY_WITH_CREATE_SELECT,
    ER_WARN_FK_REFERS_TO_NON_STANDARD_KEY, ER_WARN_RESTRICT_FK_DEPRECATED, ER_WARN_RESTRICT_FK_OFF,
};
pub use create::draft_of_create;
pub use data_type::choose_collation;
pub use draft::{ColumnDraft, ColumnSource, DefinitionContext, TableDraft};
