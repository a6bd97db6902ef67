//! JOIN_ORDER, JOIN_PREFIX, JOIN_SUFFIX and JOIN_FIXED_ORDER as what must stand before each table of a list of joins.
//!
//! Invariant: no table waits for itself, so some order always obeys: a hint that contradicts those before it is left out, as
//! MySQL leaves it out. Called by `join_order` once for each list; the search takes no table before those it waits for.
use binder::block::Block;
use binder::same_name;
use parser::hints::JoinOrderKind;

/// For each source of the block, those that come before it.
pub struct DemandedOrder(Vec<u64>);

impl DemandedOrder {
    /// What the block's hints demand of the sources of one list.
    pub fn of(block: &Block, sources: &[usize]) -> DemandedOrder {
        let mut order = DemandedOrder(Vec::new());
        let hints = block.hints.join_orders();
        if hints.is_empty() {
            return order;
        }
        order.0.resize(block.sources.len(), 0);
        let all = sources.iter().fold(0, |set, source| set | 1u64 << source);
        for hint in hints {
            let find = |name: &String| {
                sources.iter().copied().find(|source| same_name(&block.sources[*source].alias, name))
            };
            let named: Vec<usize> = hint.tables.iter().filter_map(find).collect();
            let set = named.iter().fold(0, |set, source| set | 1u64 << source);
            let mut tried = order.0.clone();
            let (mut before, rest) = match hint.kind {
                JoinOrderKind::Suffix => (all & !set, 0),
                JoinOrderKind::Prefix => (0, all & !set),
                JoinOrderKind::Order | JoinOrderKind::Fixed => (0, 0),
            };
            for &source in &named {
                tried[source] |= before;
                before |= 1 << source;
            }
            sources
                .iter()
                .filter(|source| rest >> **source & 1 == 1)
                .for_each(|source| tried[*source] |= set);
            close(&mut tried);
            if (0..tried.len()).all(|source| tried[source] >> source & 1 == 0) {
                order.0 = tried;
            }
        }
        order
    }

    /// Whether all are placed that come before the source.
    pub fn allows(&self, source: usize, placed: u64) -> bool {
        self.0.get(source).is_none_or(|before| before & !placed == 0)
    }
}

/// What comes before that which comes before a source comes before it too.
fn close(before: &mut [u64]) {
    for _ in 0..before.len() {
        for source in 0..before.len() {
            let direct = before[source];
            let further = (0..before.len()).filter(|other| direct >> other & 1 == 1);
            before[source] |= further.fold(0, |set, other| set | before[other]);
        }
    }
}
