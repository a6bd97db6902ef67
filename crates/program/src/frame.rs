//! The blocks that one run of a program is in, with their handlers.
//!
//! Invariant: the handler of a condition is chosen by where the instruction stands in the text: of the innermost block that
//! declares one that fits. While that one is not declared yet, nobody takes the condition, as in MySQL.
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

impl Program {
    /// The handler for a condition of the instruction at `at`: of the innermost block that declares one, the one that fits
    /// best.
    pub fn handler(&self, at: usize, condition: RaisedCondition<'_>) -> Option<usize> {
        let mut asked = self.asked[at];
        while let Some(number) = asked {
            let place = &self.blocks[number];
            let fits = place.handlers.iter().filter_map(|&handler| {
                let handled = self.handlers[handler].conditions.iter();
                let best = handled.filter_map(|handled| condition.fit(*handled)).min()?;
                Some((best, handler))
            });
            if let Some((_, handler)) = fits.min() {
                return Some(handler);
            }
            asked = place.outer;
        }
        None
    }
}

/// What the end of a handler's body leads to.
#[derive(Debug, PartialEq, Eq)]
pub struct HandlerEnd {
    /// The next instruction.
    pub next: usize,
    /// The cursors of the blocks that it leaves.
    pub cursors: Vec<usize>,
    /// How many handlers end.
    pub count: usize,
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

    /// What a handler does now, if its declaration has been reached.
    pub fn reaction(&self, handler: usize) -> Option<Reaction> {
        let block = self.blocks.iter().rposition(|block| block.handlers.contains(&handler))?;
        Some(Reaction { handler, block })
    }

    /// The handler's body begins; `after` is where one that continues goes on. Gives the instruction.
    pub fn begin(&mut self, program: &Program, reaction: &Reaction, after: usize) -> usize {
        let depth = self.blocks.len();
        self.active.push(Active { handler: reaction.handler, block: reaction.block, depth, after });
        program.handlers[reaction.handler].body
    }

    /// The handler's body has ended. With it end those that run in blocks it leaves.
    pub fn end(&mut self, program: &Program) -> Option<HandlerEnd> {
        let active = self.active.pop()?;
        let handler = &program.handlers[active.handler];
        if !handler.exits {
            return Some(HandlerEnd { next: active.after, cursors: self.leave_to(active.depth), count: 1 });
        }
        let before = self.active.len();
        while self.active.last().is_some_and(|other| other.block > active.block) {
            self.active.pop();
        }
        let count = 1 + before - self.active.len();
        Some(HandlerEnd { next: handler.block_end, cursors: self.leave_to(active.block + 1), count })
    }
}
