//! ALTER TABLE, CREATE INDEX and DROP INDEX.
use datum::{SqlError, error_code};
use parser::ast::{AlterTable, CreateIndex, DropIndex};

use super::guard::Shield;
use super::{Done, Request};
use crate::session::Session;

impl Session {
    pub(super) async fn alter_table(
        &mut self,
        statement: &AlterTable<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let _ = (statement, request, shield);
        Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"ALTER TABLE"]))
    }

    pub(super) async fn create_index(
        &mut self,
        statement: &CreateIndex<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let _ = (statement, request, shield);
        Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"CREATE INDEX"]))
    }

    pub(super) async fn drop_index(
        &mut self,
        statement: &DropIndex<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let _ = (statement, request, shield);
        Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"DROP INDEX"]))
    }
}
