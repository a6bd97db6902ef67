//! A tree to a program of the thread machine in `matcher`.
use super::RegexpError;
use super::parse::{Assertion, Tree};
use super::set::Set;

/// Bounds the memory and time of one pattern: counted repetition writes its inside again and again.
const PROGRAM_LENGTH_MAX: usize = 20_000;
/// Each instruction may have a thread with a place for the start and the end of each group.
const PLACES_MAX: usize = 4 << 20;

#[derive(Clone, Debug)]
pub enum Instruction {
    Set(Set),
    Any {
        includes_newline: bool,
    },
    Assertion(Assertion),
    /// Notes the position as the start (even) or end (odd) of a group.
    Save(usize),
    Jump(usize),
    /// Two threads, the first preferred.
    Split(usize, usize),
    Match,
}

#[derive(Debug)]
pub struct Program {
    pub instructions: Vec<Instruction>,
    pub group_count: usize,
}

pub fn compile(tree: &Tree, group_count: usize) -> Result<Program, RegexpError> {
    let mut compiler = Compiler { instructions: Vec::new() };
    compiler.push(Instruction::Save(0))?;
    compiler.emit(tree)?;
    compiler.push(Instruction::Save(1))?;
    compiler.push(Instruction::Match)?;
    if compiler.instructions.len() * group_count * 2 > PLACES_MAX {
        return Err(RegexpError::TooBig);
    }
    Ok(Program { instructions: compiler.instructions, group_count })
}

struct Compiler {
    instructions: Vec<Instruction>,
}

impl Compiler {
    fn push(&mut self, instruction: Instruction) -> Result<usize, RegexpError> {
        if self.instructions.len() >= PROGRAM_LENGTH_MAX {
            return Err(RegexpError::TooBig);
        }
        self.instructions.push(instruction);
        Ok(self.instructions.len() - 1)
    }

    fn next(&self) -> usize {
        self.instructions.len()
    }

    fn emit(&mut self, tree: &Tree) -> Result<(), RegexpError> {
        match tree {
            Tree::Empty => {}
            Tree::Set(set) => {
                self.push(Instruction::Set(set.clone()))?;
            }
            Tree::Any { includes_newline } => {
                self.push(Instruction::Any { includes_newline: *includes_newline })?;
            }
            Tree::Assertion(assertion) => {
                self.push(Instruction::Assertion(*assertion))?;
            }
            Tree::Group(index, inner) => {
                self.push(Instruction::Save(index * 2))?;
                self.emit(inner)?;
                self.push(Instruction::Save(index * 2 + 1))?;
            }
            Tree::Sequence(items) => items.iter().try_for_each(|item| self.emit(item))?,
            Tree::Alternatives(branches) => self.alternatives(branches)?,
            Tree::Repeat { inner, minimum, maximum, is_lazy } => {
                self.repeat(inner, *minimum, *maximum, *is_lazy)?;
            }
        }
        Ok(())
    }

    fn alternatives(&mut self, branches: &[Tree]) -> Result<(), RegexpError> {
        let mut jumps = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            if index + 1 == branches.len() {
                self.emit(branch)?;
                break;
            }
            let split = self.push(Instruction::Split(0, 0))?;
            self.emit(branch)?;
            jumps.push(self.push(Instruction::Jump(0))?);
            self.instructions[split] = Instruction::Split(split + 1, self.next());
        }
        let end = self.next();
        for jump in jumps {
            self.instructions[jump] = Instruction::Jump(end);
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        inner: &Tree,
        minimum: u32,
        maximum: Option<u32>,
        is_lazy: bool,
    ) -> Result<(), RegexpError> {
        for _ in 0..minimum {
            self.emit(inner)?;
        }
        let choice = |enter: usize, leave: usize| {
            if is_lazy { Instruction::Split(leave, enter) } else { Instruction::Split(enter, leave) }
        };
        let Some(maximum) = maximum else {
            let split = self.push(Instruction::Split(0, 0))?;
            self.emit(inner)?;
            self.push(Instruction::Jump(split))?;
            self.instructions[split] = choice(split + 1, self.next());
            return Ok(());
        };
        let mut splits = Vec::new();
        for _ in minimum..maximum {
            splits.push(self.push(Instruction::Split(0, 0))?);
            self.emit(inner)?;
        }
        let end = self.next();
        for split in splits {
            self.instructions[split] = choice(split + 1, end);
        }
        Ok(())
    }
}
