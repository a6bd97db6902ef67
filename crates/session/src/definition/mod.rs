//! From the syntax of CREATE and ALTER TABLE to the descriptor of a table, with MySQL's checks.
//!
//! Both statements make a `TableDraft`, in which indexes still name their columns; `TableDraft::finish` checks it
//! as a whole and turns it into a `TableDef`. Nothing here touches the catalog or the engine.
mod alter;
mod column;
mod conditions;
mod create;
mod data_type;
mod draft;
mod index;
mod options;
mod text;

pub use alter::{AlterContext, apply_alterations};
pub use conditions::ER_DB_DOES_NOT_EXIST;
pub use create::draft_of_create;
pub use data_type::choose_collation;
pub use draft::{ColumnDraft, ColumnSource, DefinitionContext, TableDraft};
