//! Stored programs as sessions run them: instructions with what their pieces have become, shared by all.
//!
//! Invariant: a program stands under the number of the definition that it was made of, which no changed definition has;
//! whether a plan may run in a session is for that session to say, as with every kept plan.
use std::sync::Arc;

use datum::ColumnType;
use foldhash::HashMap;
use parking_lot::RwLock;
use plan::Plan;
use program::Program;
use schema::TableDef;

use crate::piece_rows::{IntoTarget, PieceRows};
use crate::plan_cache::PreparedPlan;
use catalog::{LiveProgram, LockMode, LockName};

/// So many are kept; beyond, all are made anew as they are needed.
const PROGRAMS_MAX: usize = 4096;

#[derive(Debug)]
pub struct SharedProgram {
    pub live: Arc<LiveProgram>,
    pub program: Program,
    /// Of a trigger: the table whose columns its row has, and the column of each `RowSlot`.
    pub table: Option<Arc<TableDef>>,
    pub row_positions: Vec<usize>,
    /// By slot; `None` is for the value to say.
    pub types: Vec<Option<ColumnType>>,
    kept: Vec<RwLock<Option<Arc<KeptPiece>>>>,
}

/// What a piece of SQL has become. A piece without is read anew each time.
#[derive(Debug)]
pub enum KeptPiece {
    Plan(PiecePlan),
    Call(CallPiece),
    Execute(ExecutePiece),
}

/// The plan of a query, a change of rows or expressions.
#[derive(Debug)]
pub struct PiecePlan {
    pub prepared: Arc<PreparedPlan>,
    /// The slots that its parameters come from.
    pub used: Box<[usize]>,
    pub rows: PieceRows,
    /// It is one expression that needs neither a table nor a program nor the time.
    pub is_of_numbers: bool,
    /// Which of `used` is a text that is read as a number without a word: the operand of a CASE beside a number.
    pub read_as_number: Option<usize>,
}

/// CALL of a procedure with arguments that need no table and no waiting.
#[derive(Debug)]
pub struct CallPiece {
    /// The number of the definition whose parameters the arguments are for.
    pub procedure: u64,
    pub database: String,
    pub name: String,
    pub lock: [(LockName, LockMode); 1],
    pub arguments: Box<[CallArgument]>,
}

#[derive(Debug)]
pub struct CallArgument {
    /// `None` for an OUT parameter.
    pub input: Option<CallInput>,
    /// What takes the value of an OUT or INOUT parameter.
    pub output: Option<IntoTarget>,
}

#[derive(Debug)]
pub enum CallInput {
    Slot(usize),
    Value(PiecePlan),
}

/// EXECUTE.
#[derive(Debug)]
pub struct ExecutePiece {
    pub name: String,
    /// User variables, in lower case.
    pub using: Box<[String]>,
}

impl KeptPiece {
    pub fn plan(&self) -> Option<&PiecePlan> {
        match self {
            KeptPiece::Plan(plan) => Some(plan),
            KeptPiece::Call(_) | KeptPiece::Execute(_) => None,
        }
    }
}

impl SharedProgram {
    pub fn new(
        live: Arc<LiveProgram>,
        program: Program,
        table: Option<Arc<TableDef>>,
        row_positions: Vec<usize>,
        types: Vec<Option<ColumnType>>,
    ) -> SharedProgram {
        let kept = program.pieces.iter().map(|_| RwLock::new(None)).collect();
        SharedProgram { live, program, table, row_positions, types, kept }
    }

    /// Whether the column of the trigger's table numbers its rows by itself.
    pub fn generates(&self, position: usize) -> bool {
        self.table.as_ref().is_some_and(|table| table.columns[position].auto_increment)
    }

    pub fn kept(&self, piece: usize) -> Option<Arc<KeptPiece>> {
        self.kept[piece].read().clone()
    }

    pub fn keep(&self, piece: usize, kept: Arc<KeptPiece>) {
        *self.kept[piece].write() = Some(kept);
    }

    /// Whether a plan of a piece may be kept: it depends on nothing but what is compared before it runs.
    pub fn keeps(&self, plan: &Plan, used: &[usize]) -> bool {
        plan.shareable && used.iter().all(|slot| self.types[*slot].is_some())
    }
}

#[derive(Default)]
pub struct ProgramCache {
    by_id: RwLock<HashMap<u64, Arc<SharedProgram>>>,
}

impl ProgramCache {
    pub fn get(&self, id: u64) -> Option<Arc<SharedProgram>> {
        self.by_id.read().get(&id).cloned()
    }

    pub fn put(&self, program: Arc<SharedProgram>) {
        let mut by_id = self.by_id.write();
        if by_id.len() >= PROGRAMS_MAX {
            by_id.clear();
        }
        by_id.insert(program.live.id, program);
    }

    /// The program is no more.
    pub fn forget(&self, id: u64) {
        self.by_id.write().remove(&id);
    }
}
