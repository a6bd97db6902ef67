//! The grammar: recursive descent over the tokens of one statement, a file for each family.
//!
//! Invariants: the parser never reads past the `End` token; every recursion passes through `Parser::nested`, so its
//! depth is bounded; a literal token that is not kept as an `ast::Literal` marks the statement as structural.
mod account;
mod account_option;
mod alter;
mod argument_count;
mod cast;
mod column;
mod core;
mod create;
mod database;
mod delete;
mod explain;
mod expression;
mod function;
mod grant;
mod handler;
mod index;
mod insert;
mod instance;
mod into;
mod json;
mod keyword_function;
pub mod literal;
mod load;
mod maintenance;
mod name;
mod partition;
mod predicate;
mod prepared;
mod primary;
mod program;
mod query;
mod replication;
mod restore_table;
mod select;
mod set;
mod set_transaction;
mod show;
mod show_logs;
mod statement;
mod table_option;
mod table_reference;
mod transaction;
mod unsupported;
mod update;
mod user;
mod variable;
mod view;
mod window;

pub use self::core::Parser;
pub use self::literal::unescape_string;
pub use self::program::ProgramNames;
