//! INSERT, REPLACE and LOAD DATA: the plans of the query that gives the rows, and of subqueries among the values. Called by
//! `statement`.
use crate::planner::Planner;
use binder::{BoundDuplicates, BoundInsert, BoundRowSubquery, BoundSource};
use datum::SqlError;
use plan::{DuplicateRule, InsertPlan, InsertSource, RowSubquery};

impl Planner<'_> {
    pub fn build_insert(&mut self, insert: BoundInsert) -> Result<InsertPlan, SqlError> {
        let source = match insert.source {
            BoundSource::Rows(rows) => InsertSource::Rows(rows),
            BoundSource::Query(query) => InsertSource::Query(Box::new(self.build_logical(*query)?)),
        };
        let duplicates = match insert.duplicates {
            BoundDuplicates::Fail => DuplicateRule::Fail,
            BoundDuplicates::Replace => DuplicateRule::Replace,
            BoundDuplicates::Update { assignments, subqueries } => {
                let build = |subquery: BoundRowSubquery| {
                    let BoundRowSubquery { assignment, reads, initialiser } = subquery;
                    let initialiser = self.build_initialiser(initialiser)?;
                    Ok(RowSubquery { assignment, reads, initialiser })
                };
                let subqueries = subqueries.into_iter().map(build).collect::<Result<_, SqlError>>()?;
                DuplicateRule::Update { assignments, subqueries }
            }
        };
        let rows = insert.row_initialisers.into_iter();
        let row_initialisers = rows.map(|(row, initialiser)| Ok((row, self.build_initialiser(initialiser)?)));
        let row_initialisers = row_initialisers.collect::<Result<_, SqlError>>()?;
        Ok(InsertPlan {
            table: insert.table,
            view: insert.view,
            columns: insert.columns,
            omitted: insert.omitted,
            source,
            reads_target: insert.reads_target,
            duplicates,
            initialisers: self.build_initialisers(insert.initialisers)?,
            row_initialisers,
            rules: insert.rules,
            ignore: insert.ignore,
        })
    }
}
