//! The dependency graph and its strongly connected components.
//!
//! Invariant: an edge leads from the transaction that has to come first to the one that comes later; no transaction
//! has an edge to itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::history::Key;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The second overwrote what the first wrote.
    WriteWrite,
    /// The second read what the first wrote.
    WriteRead,
    /// The second overwrote what the first read.
    ReadWrite,
    /// The second changed what a condition of the first found.
    PredicateReadWrite,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::WriteWrite => "ww",
            Kind::WriteRead => "wr",
            Kind::ReadWrite => "rw",
            Kind::PredicateReadWrite => "prw",
        }
    }

    pub fn is_anti_dependency(self) -> bool {
        matches!(self, Kind::ReadWrite | Kind::PredicateReadWrite)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    pub to: usize,
    pub kind: Kind,
    /// What it is about, for the reader of a witness.
    pub key: Key,
}

#[derive(Debug, Default)]
pub struct Graph {
    edges: Vec<Vec<Edge>>,
}

impl Graph {
    pub fn new(transactions: usize) -> Graph {
        Graph { edges: vec![Vec::new(); transactions] }
    }

    pub fn add(&mut self, from: usize, to: usize, kind: Kind, key: Key) {
        let edge = Edge { to, kind, key };
        let is_new = |edges: &[Edge]| !edges.iter().any(|known| known.to == to && known.kind == kind);
        if from != to && is_new(&self.edges[from]) {
            self.edges[from].push(edge);
        }
    }

    pub fn len(&self) -> usize {
        self.edges.len()
    }

    pub fn edges(&self, from: usize) -> &[Edge] {
        &self.edges[from]
    }

    /// The number of each transaction's strongly connected component by the edges that `uses` takes. Components are
    /// numbered in reverse order: an edge between two leads to the lower number.
    pub fn components(&self, uses: impl Fn(Kind) -> bool) -> Vec<usize> {
        let mut search = Search {
            graph: self,
            order: vec![UNSEEN; self.len()],
            low: vec![0; self.len()],
            component: vec![UNSEEN; self.len()],
            stack: Vec::new(),
            next_order: 0,
            next_component: 0,
        };
        for start in 0..self.len() {
            if search.order[start] == UNSEEN {
                search.visit(start, &uses);
            }
        }
        search.component
    }

    /// The position of each transaction's component in an order that every edge that `uses` takes follows. Of those
    /// that may come next the one that began first does, so what is near in time is near in the order.
    pub fn positions(&self, uses: impl Fn(Kind) -> bool) -> Vec<usize> {
        let component = self.components(&uses);
        let count = component.iter().max().map_or(0, |last| last + 1);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut waits_for = vec![0_usize; count];
        let leaves = |from: usize, edge: &Edge| uses(edge.kind) && component[edge.to] != component[from];
        for node in 0..self.len() {
            members[component[node]].push(node);
            for edge in self.edges[node].iter().filter(|edge| leaves(node, edge)) {
                waits_for[component[edge.to]] += 1;
            }
        }
        let free = (0..count).filter(|&number| waits_for[number] == 0);
        let mut ready: BinaryHeap<Reverse<(usize, usize)>> =
            free.map(|number| Reverse((members[number][0], number))).collect();
        let mut position = vec![0; count];
        let mut next_position = 0;
        while let Some(Reverse((_, number))) = ready.pop() {
            position[number] = next_position;
            next_position += 1;
            for &node in &members[number] {
                for edge in self.edges[node].iter().filter(|edge| leaves(node, edge)) {
                    let behind = component[edge.to];
                    waits_for[behind] -= 1;
                    if waits_for[behind] == 0 {
                        ready.push(Reverse((members[behind][0], behind)));
                    }
                }
            }
        }
        component.into_iter().map(|number| position[number]).collect()
    }
}

const UNSEEN: usize = usize::MAX;

/// Tarjan's algorithm with a stack of its own, since histories are long.
struct Search<'g> {
    graph: &'g Graph,
    order: Vec<usize>,
    low: Vec<usize>,
    component: Vec<usize>,
    stack: Vec<usize>,
    next_order: usize,
    next_component: usize,
}

impl Search<'_> {
    fn enter(&mut self, node: usize) {
        self.order[node] = self.next_order;
        self.low[node] = self.next_order;
        self.next_order += 1;
        self.stack.push(node);
    }

    fn visit(&mut self, start: usize, uses: &impl Fn(Kind) -> bool) {
        self.enter(start);
        let mut path = vec![(start, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some(edge) = self.graph.edges[node].get(*next) else {
                path.pop();
                self.leave(node, path.last().map(|(parent, _)| *parent));
                continue;
            };
            *next += 1;
            if !uses(edge.kind) {
                continue;
            }
            if self.order[edge.to] == UNSEEN {
                self.enter(edge.to);
                path.push((edge.to, 0));
            } else if self.component[edge.to] == UNSEEN {
                self.low[node] = self.low[node].min(self.order[edge.to]);
            }
        }
    }

    fn leave(&mut self, node: usize, parent: Option<usize>) {
        if self.low[node] == self.order[node] {
            while let Some(member) = self.stack.pop() {
                self.component[member] = self.next_component;
                if member == node {
                    break;
                }
            }
            self.next_component += 1;
        }
        if let Some(parent) = parent {
            self.low[parent] = self.low[parent].min(self.low[node]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_cycles_and_numbered_backwards() {
        let mut graph = Graph::new(5);
        for (from, to) in [(0, 1), (1, 2), (2, 1), (2, 3), (3, 4)] {
            graph.add(from, to, Kind::WriteWrite, 0);
        }
        let component = graph.components(|_| true);
        assert_eq!(component[1], component[2]);
        assert!(component[0] > component[1] && component[1] > component[3] && component[3] > component[4]);
        let position = graph.positions(|_| true);
        assert_eq!(position, [0, 1, 1, 2, 3]);
        let apart = graph.components(|kind| kind == Kind::ReadWrite);
        assert_eq!(apart.iter().collect::<std::collections::HashSet<_>>().len(), 5);
    }
}
