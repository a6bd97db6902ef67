//! Which nodes of a document a path selects.
use datum::SqlError;

use super::document::{Document, Kind};
use super::path::{Axis, Nodes};
use crate::xpath::evaluation::Evaluation;

/// A selected node, and its number among those that were selected with it, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    pub node: usize,
    pub position: usize,
    /// How many were selected with it.
    pub count: usize,
}

fn fits(document: &Document<'_>, node: usize, name: &[u8]) -> bool {
    name == b"*" || document.bytes(node) == name
}

impl Evaluation<'_, '_> {
    pub(crate) fn select(&self, nodes: &Nodes, current: Option<Selected>) -> Result<Vec<Selected>, SqlError> {
        let root = Selected { node: 0, position: 0, count: 1 };
        match nodes {
            Nodes::Root => Ok(vec![root]),
            Nodes::Current => Ok(vec![current.unwrap_or(root)]),
            Nodes::Named { of, axis, name } => Ok(self.along(*axis, name, &self.select(of, current)?)),
            Nodes::Where { of, condition } => {
                let mut kept = Vec::new();
                let all = self.select(of, current)?;
                for selected in self.counted(&all) {
                    if self.truth(condition, Some(selected))? {
                        kept.push(Selected { position: kept.len(), ..selected });
                    }
                }
                Ok(kept)
            }
            Nodes::At { of, index } => {
                let mut kept = Vec::new();
                let all = self.select(of, current)?;
                for selected in self.counted(&all) {
                    let number = self.integer(index, Some(selected))?;
                    if number.is_some_and(|number| number > 0 && number as usize == selected.position + 1) {
                        kept.push(Selected { position: kept.len(), ..selected });
                    }
                }
                Ok(kept)
            }
            Nodes::Union(left, right) => {
                let mut all: Vec<usize> =
                    self.select(left, current)?.iter().map(|selected| selected.node).collect();
                all.extend(self.select(right, current)?.iter().map(|selected| selected.node));
                all.sort_unstable();
                all.dedup();
                Ok(numbered(all))
            }
        }
    }

    /// Those that are asked a condition know how many they are.
    fn counted<'s>(&self, all: &'s [Selected]) -> impl Iterator<Item = Selected> + use<'s> {
        let count = all.len();
        all.iter().map(move |selected| {
            env::tick(1);
            Selected { count, ..*selected }
        })
    }

    fn along(&self, axis: Axis, name: &[u8], from: &[Selected]) -> Vec<Selected> {
        let document = self.document;
        let fits = |node: &usize| fits(document, *node, name);
        let is_tag = |node: &usize| document.nodes[*node].kind == Kind::Tag;
        match axis {
            Axis::Ancestor | Axis::AncestorOrSelf => {
                let mut found = Vec::new();
                for selected in from {
                    found.extend(
                        Some(selected.node).filter(|node| axis == Axis::AncestorOrSelf && fits(node)),
                    );
                    let mut node = document.nodes[selected.node].parent;
                    while node != 0 {
                        found.extend(Some(node).filter(fits));
                        node = document.nodes[node].parent;
                    }
                }
                ordered(found)
            }
            Axis::Parent => {
                let parents = from.iter().map(|selected| document.nodes[selected.node].parent);
                ordered(parents.filter(fits).collect())
            }
            Axis::Own => numbered(from.iter().map(|selected| selected.node).filter(fits).collect()),
            _ => {
                let mut all = Vec::new();
                for selected in from {
                    let is_child = |node: &usize| document.nodes[*node].parent == selected.node;
                    let own = Some(selected.node).filter(|node| axis == Axis::DescendantOrSelf && fits(node));
                    let inside = document.inside(selected.node).filter(|node| match axis {
                        Axis::Attribute => {
                            is_child(node) && document.nodes[*node].kind == Kind::Attribute && fits(node)
                        }
                        Axis::Child => is_child(node) && is_tag(node) && fits(node),
                        _ => is_tag(node) && fits(node),
                    });
                    env::tick(1);
                    all.extend(numbered(own.into_iter().chain(inside).collect()));
                }
                all
            }
        }
    }
}

fn numbered(nodes: Vec<usize>) -> Vec<Selected> {
    let count = nodes.len();
    nodes.into_iter().enumerate().map(|(position, node)| Selected { node, position, count }).collect()
}

/// In the order of the document, each once.
fn ordered(mut nodes: Vec<usize>) -> Vec<Selected> {
    nodes.sort_unstable();
    nodes.dedup();
    numbered(nodes)
}
