//! What hints and switches can force a query's plan to.
use crate::queries::Query;
use crate::random::Random;

/// Flags of `optimizer_switch` that are turned from how a server begins.
const SWITCHES: [&str; 17] = [
    "block_nested_loop=off,hash_join=off",
    "semijoin=off",
    "materialization=off,loosescan=off,duplicateweedout=off",
    "firstmatch=off,materialization=off",
    "firstmatch=off,loosescan=off,duplicateweedout=off",
    "derived_merge=off",
    "derived_condition_pushdown=off,derived_merge=off",
    "subquery_to_derived=on",
    "mrr=off,index_condition_pushdown=off",
    "mrr_cost_based=off",
    "index_merge=off,skip_scan=off",
    "use_index_extensions=off,prefer_ordering_index=off",
    "condition_fanout_filter=off",
    "batched_key_access=on,mrr_cost_based=off",
    "materialization=off,semijoin=off,derived_merge=off",
    "block_nested_loop=off,hash_join=off,semijoin=off,materialization=off,derived_merge=off",
    "semijoin=off,subquery_to_derived=on,derived_merge=off",
];

pub fn switched(flags: &str) -> String {
    format!("SET_VAR(optimizer_switch='{flags}')")
}

/// The members in an order in which each is connected with one before.
fn connected_order(query: &Query, random: &mut Random) -> Vec<usize> {
    let mut order = vec![random.below(query.members.len() as u64) as usize];
    while order.len() < query.members.len() {
        let reach = |member: &usize| {
            !order.contains(member)
                && query.edges.iter().any(|(left, right)| {
                    left == member && order.contains(right) || right == member && order.contains(left)
                })
        };
        let next: Vec<usize> = (0..query.members.len()).filter(reach).collect();
        order.push(*random.one(&next));
    }
    order
}

/// Hints for the query; `indexes` are the names of each table's indexes.
pub fn forces(query: &Query, indexes: &[Vec<String>], random: &mut Random) -> Vec<String> {
    let alias = |member: usize| query.members[member].alias.as_str();
    let mut forces: Vec<String> = SWITCHES.iter().map(|flags| switched(flags)).collect();
    forces.push("SET_VAR(optimizer_max_subgraph_pairs=1)".to_owned());
    forces.push("SET_VAR(eq_range_index_dive_limit=1)".to_owned());
    for _ in 0..4 {
        let order: Vec<&str> = connected_order(query, random).into_iter().map(alias).collect();
        forces.push(format!("JOIN_ORDER({})", order.join(", ")));
        let last = order[order.len() - 1];
        match random.below(3) {
            0 => forces.push(format!("JOIN_PREFIX({})", order[..2].join(", "))),
            1 => forces.push(format!("JOIN_SUFFIX({last})")),
            _ => forces.push(format!("JOIN_ORDER({}) NO_BNL()", order.join(", "))),
        }
    }
    for _ in 0..5 {
        let member = random.one(&query.members);
        let alias = &member.alias;
        let Some(table) = member.table else {
            forces.push(format!("{}({alias})", random.of(&["MERGE", "NO_MERGE", "NO_BNL"])));
            continue;
        };
        let index = random.one(&indexes[table]);
        forces.push(match random.below(8) {
            0 | 1 => format!("INDEX({alias} {index})"),
            2 => format!("NO_INDEX({alias})"),
            3 => format!("NO_INDEX({alias} {index})"),
            4 => format!("JOIN_INDEX({alias} {index}) NO_ICP({alias})"),
            5 => format!("NO_BNL({alias}) MRR({alias})"),
            6 => format!("BKA({alias}) NO_RANGE_OPTIMIZATION({alias})"),
            _ => format!("INDEX_MERGE({alias}) SKIP_SCAN({alias})"),
        });
    }
    let all: Vec<String> = query
        .members
        .iter()
        .filter(|member| member.table.is_some())
        .map(|member| format!("NO_INDEX({})", member.alias))
        .collect();
    if !all.is_empty() {
        forces.push(all.join(" "));
    }
    forces
}
