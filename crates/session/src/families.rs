//! The door from the life of a statement to the families of statements that stand in crates above this one.
//!
//! The program hands a [`Families`] to each session when it is made. The dispatch has done by then what every statement
//! needs: counters, privileges by kind, the implicit commit, locks that stop a kind of statement. Invariant: a family ends
//! in a [`Done`] or an error and writes its rows to the sink only where they are too many to be kept.
use std::future::Future;
use std::pin::Pin;

use datum::SqlError;

use crate::session::Session;
use crate::statement::{Done, Request, Shield};
use session_state::sink::ResultSink;

/// What a family is doing; a family's state is large beside that of a query, so it is boxed.
pub type FamilyFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, SqlError>> + 'a>>;

/// The statements that the dispatch does not carry out itself.
pub trait Families: Sync {
    /// A change of a system table whose rows stand for something else (accounts, switches): asked before the implicit
    /// commit, as it is a change of rows to the client. `None`: it is a statement like any other.
    fn claim<'a>(
        &'static self,
        session: &'a mut Session,
        request: Request<'a>,
        shield: &'a Shield,
    ) -> FamilyFuture<'a, Option<Done>>;

    /// Carries out a statement of a family; error 1235 for one that nobody knows.
    fn carry_out<'a>(
        &'static self,
        session: &'a mut Session,
        request: Request<'a>,
        shield: &'a Shield,
        sink: &'a mut dyn ResultSink,
    ) -> FamilyFuture<'a, Done>;
}
