//! What a statement may do, asked before it runs: the session's [`Privileges`] against what each kind of statement needs.
//!
//! `refusal` has the errors, `variable` knows what SET needs, `plan` compares a plan's needs, `statement` those of every other statement, `viewer` tells
//! virtual tables who looks at them.
mod accounts;
mod plan;
mod refusal;
mod statement;
mod variable;
mod viewer;

pub use refusal::listed;
pub use session_state::privileges::Privileges;
pub use variable::changes_accounts;
pub use viewer::column_privileges;
pub(crate) use viewer::is_open_to_all;
