//! How many leaves a tree has and which share of them is in memory, judged by some of them.
//!
//! Invariant: nothing here waits, reads from the disk or latches a leaf: whether a leaf is in memory is known by its
//! number, which stands in the node above it.

use crate::node::Node;
use crate::tree::Tree;
use buffer::{Access, BufferPool, Stop};

/// Ways down, spread over the tree.
const PATHS: usize = 8;
/// Leaves that are looked at below the node at the end of one.
const LEAVES_OF_PATH: usize = 16;

/// The leaves of a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leaves {
    pub count: f64,
    /// The share of them that would have to be read, from 0 to 1.
    pub absent: f64,
}

impl Tree {
    /// `None` when what is in memory does not tell.
    pub fn leaves(&self, pool: &BufferPool) -> Option<Leaves> {
        let (mut count, mut absent, mut known) = (0.0, 0.0, 0.0);
        for path in 0..PATHS {
            let place = (path as f64 + 0.5) / PATHS as f64;
            match self.leaves_below(pool, place) {
                Ok(leaves) => {
                    count += leaves.count;
                    absent += leaves.absent;
                    known += 1.0;
                }
                // The nodes above the leaves go later than those: none of these is there.
                Err(Stop::Miss(_)) => absent += 1.0,
                Err(_) => return None,
            }
        }
        debug_assert!(absent <= PATHS as f64, "no more leaves are absent than there are");
        (known > 0.0).then(|| Leaves { count: count / known, absent: absent / PATHS as f64 })
    }

    /// As if the whole tree were like the way down to `place`, which is from 0 to 1.
    fn leaves_below(&self, pool: &BufferPool, mut place: f64) -> Result<Leaves, Stop> {
        debug_assert!((0.0..1.0).contains(&place), "a place is a share of the tree");
        let mut count = 1.0;
        let mut guard = self.read_node(pool, self.root, None, Access::Scan)?;
        loop {
            let node = Node::new(&guard);
            let Some(below) = node.level().checked_sub(1) else {
                return Ok(Leaves { count, absent: 0.0 });
            };
            let children = node.count() + 1;
            count *= children as f64;
            if below == 0 {
                let at = |number: usize| {
                    let share = (number as f64 + place) / LEAVES_OF_PATH as f64;
                    node.child(((share * children as f64) as usize).min(node.count()))
                };
                let absent = (0..LEAVES_OF_PATH).filter(|number| !pool.is_in_memory(at(*number))).count();
                return Ok(Leaves { count, absent: absent as f64 / LEAVES_OF_PATH as f64 });
            }
            let exact = place * children as f64;
            let index = (exact as usize).min(node.count());
            place = exact - index as f64;
            let child = node.child(index);
            guard = self.read_node(pool, child, Some(below), Access::Scan)?;
        }
    }
}
