//! Subqueries that run once before their block: their values go into slots.
use super::{Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use datum::{SqlError, Value, error_code};
use plan::{Initialise, Initialiser, InitialiserKind};
use schema::LocalFuture;

pub struct InitialiseRows<'p> {
    input: Box<dyn Operator + 'p>,
    initialisers: &'p [Initialiser],
    base: Vec<Value>,
    started: bool,
}

impl<'p> InitialiseRows<'p> {
    pub fn new(initialise: &'p Initialise) -> InitialiseRows<'p> {
        InitialiseRows {
            input: build(&initialise.input),
            initialisers: &initialise.initialisers,
            base: Vec::new(),
            started: false,
        }
    }
}

impl Operator for InitialiseRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.base = base.to_vec();
        self.started = false;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            if !self.started {
                run_initialisers(self.initialisers, context).await?;
                self.input.start(&self.base);
                self.started = true;
            }
            self.input.next_batch(context, wanted, out).await
        })
    }
}

/// Runs each subquery and sets its slot.
pub async fn run_initialisers(
    initialisers: &[Initialiser],
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    for initialiser in initialisers {
        let mut query = build(&initialiser.query);
        query.start(&[]);
        let mut rows = RowBatch::new(initialiser.query.width);
        let enough = match initialiser.kind {
            InitialiserKind::Scalar | InitialiserKind::Call => 2,
            InitialiserKind::Exists => 1,
        };
        while rows.len() < enough && query.next_batch(context, enough, &mut rows).await? {
            context.interrupt.check()?;
        }
        let value = match initialiser.kind {
            InitialiserKind::Exists => Value::boolean(!rows.is_empty()),
            InitialiserKind::Scalar if rows.len() > 1 => {
                return Err(error_code::ER_SUBQUERY_NO_1_ROW.plain());
            }
            InitialiserKind::Scalar | InitialiserKind::Call if rows.is_empty() => Value::Null,
            InitialiserKind::Scalar | InitialiserKind::Call => rows.row(0)[0].clone(),
        };
        context.eval.slots[initialiser.slot] = value;
    }
    Ok(())
}
