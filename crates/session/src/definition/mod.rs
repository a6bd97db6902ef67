//! From the syntax of CREATE and ALTER TABLE to the descriptor of a table, with MySQL's checks.
//!
//! Both statements make a `TableDraft`, in which indexes still name their columns; `TableDraft::finish` checks it
//! as a whole and turns it into a `TableDef`. Nothing here touches the catalog or the engine.
mod conditions;
mod text;
mod data_type;
mod column;
mod index;
mod options;
mod draft;
mod create;
mod alter;

pub use alter::{AlterContext, apply_alterations};
pub use conditions::ER_DB_DOES_NOT_EXIST;
pub use create::draft_of_create;
pub use data_type::choose_collation;
pub use draft::{ColumnSource, DefinitionContext, TableDraft};
