//! All families of statements that stand above `session`: those of this crate, which treat tables as wholes, and those of
//! `administration`.
//!
//! The program hands [`Statements`] to each session (decision 0064). `tables` and `programs` have data definition, `statistics` table maintenance, and
//! `files` moves rows from and to files; `handler` reads open tables, `explain` shows plans.
#![forbid(unsafe_code)]

mod caller;
mod explain;
mod files;
mod handler;
mod programs;
mod statistics;
mod tables;

use administration::Administration;
use parser::ast::{ExplainTarget, Into, StatementKind};
use session::{Done, Families, FamilyFuture, Request, ResultSink, Session, Shield};

use caller::Caller;
pub use programs::{EventRun, schedule_events};

/// The families of both crates.
pub struct Statements;

impl Families for Statements {
    fn claim<'a>(
        &'static self,
        session: &'a mut Session,
        request: Request<'a>,
        shield: &'a Shield,
    ) -> FamilyFuture<'a, Option<Done>> {
        Administration.claim(session, request, shield)
    }

    fn carry_out<'a>(
        &'static self,
        session: &'a mut Session,
        request: Request<'a>,
        shield: &'a Shield,
        sink: &'a mut dyn ResultSink,
    ) -> FamilyFuture<'a, Done> {
        match request.statement.kind {
            StatementKind::LoadData(load) => {
                Box::pin(async move { Caller(session).load_data(load, request, shield, sink).await })
            }
            StatementKind::Query(query) => Box::pin(async move {
                match query.into {
                    Some(into @ (Into::OutFile { .. } | Into::DumpFile { .. })) => {
                        Caller(session).select_into_file(query, into, request, shield).await
                    }
                    _ => Administration.carry_out(session, request, shield, sink).await,
                }
            }),
            StatementKind::Handler(handler) => {
                Box::pin(async move { Caller(session).handler(handler, request, shield, sink).await })
            }
            StatementKind::Explain(explain) => Box::pin(async move {
                let format = Caller(session).explain_form(explain)?;
                match explain.target {
                    ExplainTarget::Table { .. } => {
                        Administration.carry_out(session, request, shield, sink).await
                    }
                    _ => Caller(session).explain(explain, &format, request, shield).await,
                }
            }),
            StatementKind::MaintainTable(maintain) => {
                Box::pin(async move { Caller(session).maintain_tables(maintain, shield).await })
            }
            StatementKind::TruncateTable(truncated) if session.names_system_table(truncated.table) => {
                Administration.carry_out(session, request, shield, sink)
            }
            ref kind if session::is_schema_change(kind) => {
                Box::pin(async move { Caller(session).change_schema(request, shield, sink).await })
            }
            _ => Administration.carry_out(session, request, shield, sink),
        }
    }
}
