//! The blocks that one run of a program is in, with their handlers.
//!
//! Invariant: while a handler runs, the handlers of its own block and of those inside are not asked; the blocks that its
//! body opens are.
use crate::condition::RaisedCondition;
use crate::instruction::Program;

#[derive(Debug, Default)]
pub struct Frame {
    blocks: Vec<Block>,
    active: Vec<Active>,
}

#[derive(Debug, Default)]
struct Block {
    handlers: Vec<usize>,
    cursors: Vec<usize>,
}

/// A handler that runs.
#[derive(Debug)]
struct Active {
    handler: usize,
    /// The block that declared it.
    block: usize,
    /// How many blocks were open when it began.
    depth: usize,
    /// Where a handler that continues goes on.
    after: usize,
}

/// A handler that takes a condition.
#[derive(Debug, PartialEq, Eq)]
pub struct Reaction {
    pub handler: usize,
    block: usize,
}

impl Frame {
    pub fn enter(&mut self) {
        self.blocks.push(Block::default());
    }

    pub fn add_handler(&mut self, handler: usize) {
        if let Some(block) = self.blocks.last_mut() {
            block.handlers.push(handler);
        }
    }

    pub fn add_cursor(&mut self, cursor: usize) {
        if let Some(block) = self.blocks.last_mut() {
            block.cursors.push(cursor);
        }
    }

    /// Leaves blocks; gives the cursors that end with them.
    pub fn leave(&mut self, count: usize) -> Vec<usize> {
        self.leave_to(self.blocks.len().saturating_sub(count))
    }

    fn leave_to(&mut self, depth: usize) -> Vec<usize> {
        let left = self.blocks.drain(depth.min(self.blocks.len())..);
        left.flat_map(|block| block.cursors).collect()
    }

    /// How many handlers run.
    pub fn active_count(&self) -> usize {
        self.active.len()
    }

    /// The handler for a condition: of the innermost block that has one, the one that fits best.
    pub fn reaction(&self, program: &Program, condition: RaisedCondition<'_>) -> Option<Reaction> {
        for (number, block) in self.blocks.iter().enumerate().rev() {
            if self.active.iter().any(|active| (active.block..active.depth).contains(&number)) {
                continue;
            }
            let fits = block.handlers.iter().filter_map(|&handler| {
                let handled = program.handlers[handler].conditions.iter();
                let best = handled.filter_map(|handled| condition.fit(*handled)).min()?;
                Some((best, handler))
            });
            if let Some((_, handler)) = fits.min() {
                return Some(Reaction { handler, block: number });
            }
        }
        None
    }

    /// The handler's body begins; `after` is where one that continues goes on. Gives the instruction.
    pub fn begin(&mut self, program: &Program, reaction: &Reaction, after: usize) -> usize {
        let depth = self.blocks.len();
        self.active.push(Active { handler: reaction.handler, block: reaction.block, depth, after });
        program.handlers[reaction.handler].body
    }

    /// The handler's body has ended. Gives the next instruction, and the cursors that end with blocks it leaves.
    pub fn end(&mut self, program: &Program) -> Option<(usize, Vec<usize>)> {
        let active = self.active.pop()?;
        let handler = &program.handlers[active.handler];
        if handler.exits {
            let cursors = self.leave_to(active.block + 1);
            return Some((handler.block_end, cursors));
        }
        Some((active.after, self.leave_to(active.depth)))
    }
}
