//! A stored program as the catalog has it.
use schema::ProgramDef;

/// A program under the number that it has until the server stops.
#[derive(Debug)]
pub struct LiveProgram {
    pub id: u64,
    pub definition: ProgramDef,
}
