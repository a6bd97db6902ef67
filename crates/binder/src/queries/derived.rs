//! Queries in FROM. One sees the queries around its own; a LATERAL one the tables before it as well.
use crate::binder::Binder;
use crate::block::{QuerySource, Source, SourceColumn, SourceKind};
use crate::bound::BoundQuery;
use crate::queries::common_table::named_columns;
use crate::queries::from::Joined;
use crate::queries::temporary;
use datum::SqlError;
use expression::{Coercibility, Expr};
use parser::ast;

/// The columns of a query whose texts have no collation.
pub fn mixed_columns(strengths: &[Coercibility]) -> Vec<usize> {
    let is_mixed = |(_, strength): &(usize, &Coercibility)| **strength == Coercibility::NoCollation;
    strengths.iter().enumerate().filter(is_mixed).map(|(column, _)| column).collect()
}

/// What a query takes from outside.
struct Outside {
    correlation: Vec<(usize, Expr)>,
    slots: Vec<usize>,
}

impl<'p> Binder<'p> {
    pub fn bind_query_source(&mut self, derived: &ast::DerivedTable<'p>) -> Result<Joined, SqlError> {
        let query = derived.query;
        let (mut bound, outside) = self.bind_derived_query(query, derived.lateral)?;
        let merges = outside.correlation.is_empty() && self.merges(&bound.logical, derived.alias.name);
        if !merges {
            let mut reads = outside.slots.clone();
            reads.extend(outside.correlation.iter().map(|(slot, _)| *slot));
            temporary::keep_computed(&mut bound.columns, &bound.logical, &reads);
            temporary::keep_bytes(&mut bound.columns);
            temporary::cut_constants(&self.context.bind, &mut bound.logical);
        }
        let mixed = mixed_columns(&bound.strengths);
        let columns = named_columns(bound.columns, derived.columns)?.into_iter();
        let columns = columns.map(|(name, column_type)| SourceColumn {
            name,
            column_type,
            hidden: false,
            invisible: false,
        });
        let Outside { correlation, slots } = outside;
        let source = QuerySource { query: bound.logical, correlation, slots, merges };
        self.add_source(Source {
            names_results: merges,
            mixed,
            ..Source::made(
                derived.alias.name.to_owned(),
                columns.collect(),
                SourceKind::Query(Box::new(source)),
            )
        })
    }

    fn bind_derived_query(
        &mut self,
        query: &'p ast::Query<'p>,
        lateral: bool,
    ) -> Result<(BoundQuery, Outside), SqlError> {
        let block_count = self.blocks.len();
        let first = self.outer_references.len();
        let block = self.block();
        if lateral {
            block.correlations.push(Vec::new());
        } else {
            block.hidden = true;
        }
        self.derived_depth += 1;
        let named_windows = std::mem::take(&mut self.named_windows);
        let bound = self.bind_query(query);
        self.named_windows = named_windows;
        self.derived_depth -= 1;
        let block = self.block();
        let mut correlation = Vec::new();
        if lateral {
            correlation = block.correlations.pop().expect("pushed above");
        } else {
            block.hidden = false;
        }
        Ok((bound?, Outside { correlation, slots: self.slots_since(first, block_count) }))
    }

    /// The slots of blocks below `block_count` that were read since so many references had been met.
    pub fn slots_since(&self, first: usize, block_count: usize) -> Vec<usize> {
        let references = self.outer_references[first..].iter();
        let mut slots: Vec<usize> =
            references.filter(|(block, _)| *block < block_count).map(|(_, slot)| *slot).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}
