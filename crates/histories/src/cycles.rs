//! Finds cycles and says which anomaly each is.
//!
//! A class is searched for completely where it decides something: cycles without anti-dependencies, then those with
//! exactly one, then those with more. Each search ends after a few witnesses: one is enough to break a promise.

use std::collections::{HashMap, VecDeque};

use crate::anomaly::{Anomaly, Class};
use crate::graph::{Edge, Graph, Kind};

/// Witnesses reported for each class.
const WITNESSES_MAX: usize = 3;

/// The anomalies that are cycles.
pub fn find(graph: &Graph) -> Vec<Anomaly> {
    let mut found = Found::default();
    let overwrites = graph.components(|kind| kind == Kind::WriteWrite);
    found.by_edges(graph, &overwrites, |kind| kind == Kind::WriteWrite, |kind| kind == Kind::WriteWrite);
    let informs = |kind: Kind| !kind.is_anti_dependency();
    let informed = graph.components(informs);
    found.by_edges(graph, &informed, |kind| kind == Kind::WriteRead, informs);
    // One anti-dependency, and back to its beginning by information alone: nothing behind it can be on the way, so most
    // edges need no search and no search leaves the neighbourhood, however much hangs together.
    let position = graph.positions(informs);
    let none_apart = vec![0; graph.len()];
    found.by_edges_in(
        graph,
        &none_apart,
        |edge, from| edge.kind.is_anti_dependency() && position[edge.to] <= position[from],
        |edge, from| informs(edge.kind) && position[edge.to] <= position[from],
    );
    let all = graph.components(|_| true);
    let by_items = graph.components(|kind| kind != Kind::PredicateReadWrite);
    found.by_edges(graph, &by_items, |kind| kind == Kind::ReadWrite, |kind| kind != Kind::PredicateReadWrite);
    found.by_edges(graph, &all, |kind| kind == Kind::PredicateReadWrite, |_| true);
    found.anomalies
}

#[derive(Default)]
struct Found {
    anomalies: Vec<Anomaly>,
    counts: HashMap<Class, usize>,
}

impl Found {
    /// Closes each edge of a kind that `starts` by a way back over edges of kinds that `uses`.
    fn by_edges(
        &mut self,
        graph: &Graph,
        component: &[usize],
        starts: impl Fn(Kind) -> bool,
        uses: impl Fn(Kind) -> bool,
    ) {
        self.by_edges_in(graph, component, |edge, _| starts(edge.kind), |edge, _| uses(edge.kind));
    }

    fn by_edges_in(
        &mut self,
        graph: &Graph,
        component: &[usize],
        starts: impl Fn(&Edge, usize) -> bool,
        uses: impl Fn(&Edge, usize) -> bool,
    ) {
        let mut reported = 0;
        for from in 0..graph.len() {
            for edge in graph.edges(from) {
                if !starts(edge, from) || component[edge.to] != component[from] {
                    continue;
                }
                let stays = |next: &Edge| component[next.to] == component[from] && uses(next, from);
                let Some(mut cycle) = shortest(graph, edge.to, from, stays) else { continue };
                cycle.insert(0, (from, Some(*edge)));
                reported += usize::from(self.report(cycle));
                if reported == WITNESSES_MAX {
                    return;
                }
            }
        }
    }

    /// False for a cycle that another search has found and for a class that has been seen often enough.
    fn report(&mut self, cycle: Vec<(usize, Option<Edge>)>) -> bool {
        let class = class_of(&cycle);
        if self.anomalies.iter().any(|known| known.cycle == cycle) {
            return false;
        }
        let count = self.counts.entry(class).or_default();
        *count += 1;
        if *count <= WITNESSES_MAX {
            self.anomalies.push(Anomaly { class, cycle, note: String::new() });
        }
        *count <= WITNESSES_MAX
    }
}

fn class_of(cycle: &[(usize, Option<Edge>)]) -> Class {
    let count = |kind: Kind| {
        cycle.iter().filter(|(_, edge)| edge.as_ref().is_some_and(|edge| edge.kind == kind)).count()
    };
    match (count(Kind::PredicateReadWrite), count(Kind::ReadWrite), count(Kind::WriteRead)) {
        (0, 0, 0) => Class::G0,
        (0, 0, _) => Class::G1c,
        (0, 1, _) => Class::GSingle,
        (0, _, _) => Class::G2Item,
        (1, 0, _) => Class::GSinglePredicate,
        (_, _, _) => Class::G2,
    }
}

/// The shortest way as the transactions on it, each with the edge it leaves by.
fn shortest(
    graph: &Graph,
    start: usize,
    end: usize,
    uses: impl Fn(&Edge) -> bool,
) -> Option<Vec<(usize, Option<Edge>)>> {
    let mut came_by: HashMap<usize, (usize, Edge)> = HashMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        if node == end {
            let mut way = Vec::new();
            let mut at = end;
            while at != start {
                let (before, edge) = came_by[&at];
                way.push((before, Some(edge)));
                at = before;
            }
            way.reverse();
            return Some(way);
        }
        for edge in graph.edges(node) {
            if uses(edge) && edge.to != start && !came_by.contains_key(&edge.to) {
                came_by.insert(edge.to, (node, *edge));
                queue.push_back(edge.to);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(edges: &[(usize, usize, Kind)]) -> Vec<Class> {
        let mut graph = Graph::new(6);
        for &(from, to, kind) in edges {
            graph.add(from, to, kind, 1);
        }
        let mut classes: Vec<Class> = find(&graph).iter().map(|anomaly| anomaly.class).collect();
        classes.sort();
        classes.dedup();
        classes
    }

    #[test]
    fn the_edges_of_a_cycle_name_its_class() {
        use Kind::{PredicateReadWrite, ReadWrite, WriteRead, WriteWrite};
        assert_eq!(classes(&[(0, 1, WriteWrite), (1, 2, WriteRead), (0, 2, ReadWrite)]), []);
        assert_eq!(classes(&[(0, 1, WriteWrite), (1, 2, WriteWrite), (2, 0, WriteWrite)]), [Class::G0]);
        assert_eq!(classes(&[(0, 1, WriteWrite), (1, 0, WriteRead)]), [Class::G1c]);
        assert_eq!(classes(&[(0, 1, WriteRead), (1, 2, WriteWrite), (2, 0, ReadWrite)]), [Class::GSingle]);
        assert_eq!(classes(&[(0, 1, ReadWrite), (1, 0, ReadWrite)]), [Class::G2Item]);
        assert_eq!(classes(&[(0, 1, PredicateReadWrite), (1, 0, WriteRead)]), [Class::GSinglePredicate]);
        assert_eq!(classes(&[(0, 1, PredicateReadWrite), (1, 0, ReadWrite)]), [Class::G2]);
    }

    #[test]
    fn a_witness_is_a_closed_walk() {
        let mut graph = Graph::new(4);
        graph.add(2, 0, Kind::WriteWrite, 5);
        graph.add(0, 3, Kind::WriteRead, 6);
        graph.add(3, 2, Kind::ReadWrite, 7);
        let found = find(&graph);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "G-single: T3 -rw(key 7)-> T2 -ww(key 5)-> T0 -wr(key 6)-> T3");
    }

    #[test]
    fn classes_do_not_hide_each_other() {
        use Kind::{ReadWrite, WriteRead, WriteWrite};
        let both = classes(&[
            (0, 1, ReadWrite),
            (1, 0, WriteRead),
            (2, 3, ReadWrite),
            (3, 2, ReadWrite),
            (4, 5, WriteWrite),
            (5, 4, WriteWrite),
        ]);
        assert_eq!(both, [Class::G0, Class::GSingle, Class::G2Item]);
    }
}
