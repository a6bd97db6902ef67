//! From the nodes of a plan to the operators that EXPLAIN shows.
//!
//! Subqueries that are run for rows stand below the condition that reads their values, or beside the select list.
use super::json_text::Json;
use super::operator::Operator;
use super::shapes::{filter, hash_join, limit, located, materialize, sort, temporary};
use super::tables::{names_of, table_operator};
use super::words::{call_text, kind_text, window_texts};
use crate::access::TableAccess;
use crate::aggregate::Aggregate;
use crate::common::CommonTable;
use crate::join::NestedLoop;
use crate::measure::Measure;
use crate::node::{Node, NodeKind};
use crate::statement::{Plan, PlanKind};
use schema::TableDef;
use std::sync::Arc;

pub struct Walk<'p> {
    cost: &'p dyn Fn(&Node) -> f64,
    last_id: u64,
    /// Tables of WITH whose plan has been shown.
    common: Vec<usize>,
    /// Subqueries for each row whose place is not found yet: number, whether it depends on the row, plan.
    pending: Vec<(u64, bool, Operator)>,
}

/// The whole plan.
pub fn operators(plan: &Plan, cost: &dyn Fn(&Node) -> f64) -> Operator {
    let mut walk = Walk { cost, last_id: 1, common: Vec::new(), pending: Vec::new() };
    match &plan.kind {
        PlanKind::Query(query) => walk.block(&query.root),
        PlanKind::Insert(insert) => {
            let replaces = insert.duplicates_replace();
            let word = if replaces { "Replace into" } else { "Insert into" };
            let input = match &insert.source {
                crate::InsertSource::Query(node) => walk.block(node),
                crate::InsertSource::Rows(_) => {
                    Operator::plain("Rows fetched before execution", "rows_fetched_before_execution", vec![])
                }
            };
            let is_query = matches!(insert.source, crate::InsertSource::Query(_));
            let access = match (replaces, is_query) {
                (true, false) => "replace_values",
                (true, true) => "replace_select",
                (false, false) => "insert_values",
                (false, true) => "insert_select",
            };
            change(word, access, &[&insert.table], input)
                .with("used_columns", names_of(&insert.table, insert.columns.iter().copied()))
        }
        PlanKind::Update(update) => {
            let tables: Vec<&TableDef> = update.targets.iter().map(|target| &*target.table).collect();
            change("Update", "update", &tables, walk.block(&update.input))
        }
        PlanKind::Delete(delete) => {
            let tables: Vec<&TableDef> = delete.targets.iter().map(|target| &*target.table).collect();
            change("Delete from", "delete_rows", &tables, walk.block(&delete.input))
        }
    }
}

fn change(word: &str, access_type: &'static str, tables: &[&TableDef], input: Operator) -> Operator {
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let operator = Operator::plain(format!("{word} {}", names.join(", ")), access_type, vec![input]);
    match tables {
        [table] => operator
            .with("table_name", Json::text(table.name.as_str()))
            .with("schema_name", Json::text(table.database.as_str())),
        _ => operator,
    }
}

impl Walk<'_> {
    /// A query block with what is left of its subqueries.
    fn block(&mut self, node: &Node) -> Operator {
        let outer = std::mem::take(&mut self.pending);
        let mut operator = self.node(node, None);
        for subquery in std::mem::replace(&mut self.pending, outer) {
            operator.selected.push(located(subquery, "projection"));
        }
        operator
    }

    fn node(&mut self, node: &Node, measure: Option<&Arc<Measure>>) -> Operator {
        let (cost, rows) = ((self.cost)(node), node.estimate.rows);
        let operator = match &node.kind {
            NodeKind::Measured { input, measure } => return self.node(input, Some(measure)),
            NodeKind::Project { input, .. } => return self.projected(input, measure),
            NodeKind::Table(access) => return self.table(access, node, measure),
            NodeKind::Apply(apply) => {
                let input = self.node(&apply.input, measure);
                let id = self.next_id();
                let query = self.block(&apply.query);
                self.pending.push((id, !apply.correlation.is_empty(), query));
                return input;
            }
            NodeKind::Initialise(initialise) => return self.initialised(initialise, measure),
            NodeKind::Dual | NodeKind::Values { .. } => {
                let kind = "rows_fetched_before_execution";
                Operator::plain("Rows fetched before execution", kind, vec![]).costing(0.0, rows).at_once()
            }
            NodeKind::Nothing => Operator::plain("Zero rows (Impossible WHERE)", "zero_rows", vec![])
                .with("zero_rows_cause", Json::text("Impossible WHERE"))
                .costing(0.0, 0.0)
                .at_once(),
            NodeKind::Filter { input, predicates } => {
                let before = self.pending.len();
                let mut inputs = vec![self.node(input, None)];
                let subqueries = self.pending.split_off(before);
                inputs.extend(subqueries.into_iter().map(|subquery| located(subquery, "condition")));
                filter(predicates, inputs).costing(cost, node.rows_passing())
            }
            NodeKind::Sort { input, keys, limit } => {
                sort(keys, limit.as_ref(), self.node(input, None)).costing(cost, rows).at_once()
            }
            NodeKind::Limit { input, count, offset } => {
                limit(count, offset.as_ref(), self.node(input, None)).costing(cost, rows)
            }
            NodeKind::Distinct { input, .. } => self.distinct(input, cost, rows),
            NodeKind::Aggregate(aggregate) => self.aggregate(aggregate, cost, rows),
            NodeKind::Window(window) => {
                let texts = window_texts(window);
                let text = format!("Window aggregate: {}", texts.join(", "));
                Operator::plain(text, "window", vec![self.node(&window.input, None)])
                    .with("functions", Json::texts(texts))
                    .costing(cost, rows)
            }
            NodeKind::NestedLoop(join) => self.nested_loop(join).costing(cost, rows),
            NodeKind::HashJoin(join) => {
                let inputs = vec![self.node(&join.outer, None), self.node(&join.inner, None).headed("Hash")];
                hash_join(join, inputs).costing(cost, rows)
            }
            NodeKind::UnionAll { inputs } => {
                Operator::plain("Append", "append", self.blocks(inputs)).costing(cost, rows)
            }
            NodeKind::SetDifference { left, right, intersect, all, .. } => {
                let (word, name) = if *intersect { ("Intersect", "intersect") } else { ("Except", "except") };
                let inputs = vec![self.block(left), self.block(right)];
                let members = vec![(name, Json::Bool(true))];
                temporary(name, materialize(word, !all, inputs, members), cost, rows)
            }
            _ => return self.made_rows(node, measure),
        };
        operator.measured(measure)
    }

    fn nested_loop(&mut self, join: &NestedLoop) -> Operator {
        let kind = kind_text(join.kind);
        let outer = self.node(&join.outer, None);
        let mut inner = self.node(&join.inner, None);
        if !join.on.is_empty() {
            let (cost, rows) = ((self.cost)(&join.inner), join.inner.rows_passing());
            inner = filter(&join.on, vec![inner]).costing(cost, rows);
        }
        Operator::plain(format!("Nested loop {kind}"), "join", vec![outer, inner])
            .with("join_type", Json::text(kind))
            .with("join_algorithm", Json::text("nested_loop"))
    }

    /// Rows that are computed or kept, with their conditions.
    fn made_rows(&mut self, node: &Node, measure: Option<&Arc<Measure>>) -> Operator {
        let (cost, rows) = ((self.cost)(node), node.estimate.rows);
        let scan = |alias: &str, input: Vec<Operator>| {
            Operator::plain(format!("Table scan on {alias}"), "table", input)
                .with("table_name", Json::text(alias))
        };
        let (operator, conditions) = match &node.kind {
            NodeKind::Virtual(access) => (scan(&access.alias, vec![]), &access.filter),
            NodeKind::JsonTable(table) => {
                let kind = "materialized_table_function";
                (Operator::plain("Materialize table function", kind, vec![]), &table.filter)
            }
            NodeKind::Round(round) => {
                let text = format!("Scan new records on {}", round.alias);
                let operator = Operator::plain(text, "scan_new_records", vec![]);
                (operator.with("table_name", Json::text(round.alias.as_str())), &round.filter)
            }
            NodeKind::Derived { input, alias, filter, .. } => {
                self.next_id();
                let made = self.materialized(input, "Materialize", false);
                (scan(alias, vec![made]), filter)
            }
            NodeKind::Lateral(lateral) => {
                self.next_id();
                let made = self.materialized(&lateral.input, "Materialize (invalidate on row change)", false);
                (scan(&lateral.alias, vec![made]), &lateral.filter)
            }
            NodeKind::Common(table) => (scan(&table.alias, vec![self.common(table)]), &table.filter),
            NodeKind::Recursive(recursive) => {
                let mut inputs = vec![self.block(&recursive.seed)];
                for branch in &recursive.branches {
                    self.next_id();
                    inputs.push(self.block(&branch.query).headed("Repeat until convergence"));
                }
                let text = format!("Materialize recursive CTE {}", recursive.name);
                let operator = Operator::plain(text, "materialize", inputs)
                    .with("cte", Json::Bool(true))
                    .with("recursive", Json::Bool(true));
                return operator.costing(cost, rows).at_once().measured(measure);
            }
            other => unreachable!("shown by `node`: {other:?}"),
        };
        let operator = operator.costing(cost, rows);
        if conditions.is_empty() {
            return operator.measured(measure);
        }
        filter(conditions, vec![operator]).costing(cost, node.rows_passing()).measured(measure)
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn blocks(&mut self, nodes: &[Node]) -> Vec<Operator> {
        nodes.iter().map(|node| self.block(node)).collect()
    }

    fn projected(&mut self, input: &Node, measure: Option<&Arc<Measure>>) -> Operator {
        let before = self.pending.len();
        let mut operator = self.node(input, measure);
        for subquery in self.pending.split_off(before) {
            operator.selected.push(located(subquery, "projection"));
        }
        operator
    }

    fn initialised(
        &mut self,
        initialise: &crate::subquery::Initialise,
        measure: Option<&Arc<Measure>>,
    ) -> Operator {
        let mut operator = self.node(&initialise.input, measure);
        for initialiser in initialise.shown() {
            let id = self.next_id();
            let query = self.block(&initialiser.query);
            let is_condition = reads_slot(&operator, initialiser.slot);
            let place = if is_condition { "condition" } else { "projection" };
            let left = operator.place(initialiser.slot, located((id, false, query), place));
            operator.selected.extend(left);
        }
        operator
    }

    fn table(&mut self, access: &TableAccess, node: &Node, measure: Option<&Arc<Measure>>) -> Operator {
        let cost = (self.cost)(node);
        let operator = table_operator(access).costing(cost, node.estimate.rows);
        let mut conditions = access.gate.clone();
        conditions.extend(access.filter.iter().cloned());
        if conditions.is_empty() {
            return operator.measured(measure);
        }
        filter(&conditions, vec![operator]).costing(cost, node.rows_passing()).measured(measure)
    }

    fn distinct(&mut self, input: &Node, cost: f64, rows: f64) -> Operator {
        if let NodeKind::UnionAll { inputs } = &unmeasured(input).kind {
            let inputs = self.blocks(inputs);
            let made = materialize("Union", true, inputs, vec![("union", Json::Bool(true))]);
            return temporary("union", made, cost, rows);
        }
        let input = self.node(input, None);
        let made = Operator::plain("Temporary table with deduplication", "materialize", vec![input])
            .with("temp_table", Json::Bool(true))
            .with("deduplication", Json::Bool(true));
        temporary("", made, cost, rows)
    }

    fn aggregate(&mut self, aggregate: &Aggregate, cost: f64, rows: f64) -> Operator {
        let input = self.node(&aggregate.input, None);
        if !(aggregate.ordered || aggregate.single) {
            let text = "Aggregate using temporary table";
            let made = Operator::plain(text, "temp_table_aggregate", vec![input]);
            return temporary("", made, cost, rows);
        }
        let calls: Vec<String> = aggregate.aggregates.iter().map(|column| call_text(&column.call)).collect();
        let word = match (aggregate.single, aggregate.rollup) {
            (true, _) => "Aggregate",
            (false, true) => "Group aggregate with rollup",
            (false, false) => "Group aggregate",
        };
        let text = match calls.is_empty() {
            true => "Group (no aggregates)".to_owned(),
            false => format!("{word}: {}", calls.join(", ")),
        };
        let mut operator =
            Operator::plain(text, "aggregate", vec![input]).with("functions", Json::texts(calls));
        if !aggregate.single {
            operator = operator.with("group_by", Json::Bool(true));
        }
        if aggregate.rollup {
            operator = operator.with("rollup", Json::Bool(true));
        }
        operator.costing(cost, rows)
    }

    /// Rows that are kept; a recursive table says so itself.
    fn materialized(&mut self, input: &Node, text: &str, is_common: bool) -> Operator {
        let is_recursive = matches!(unmeasured(input).kind, NodeKind::Recursive(_));
        let (cost, rows) = ((self.cost)(input), input.estimate.rows);
        let input = self.block(input);
        if is_recursive {
            return input;
        }
        let operator = Operator::plain(text, "materialize", vec![input]).costing(cost, rows).at_once();
        if is_common { operator.with("cte", Json::Bool(true)) } else { operator }
    }

    /// The first reference shows how the rows are made.
    fn common(&mut self, table: &CommonTable) -> Operator {
        let text = format!("Materialize CTE {} if needed", table.alias);
        if self.common.contains(&table.number) {
            let text = format!("{text} (query plan printed elsewhere)");
            return Operator::plain(text, "materialize", vec![]).with("cte", Json::Bool(true));
        }
        self.common.push(table.number);
        self.next_id();
        self.materialized(&table.input, &text, true)
    }
}

fn unmeasured(node: &Node) -> &Node {
    match &node.kind {
        NodeKind::Measured { input, .. } => unmeasured(input),
        _ => node,
    }
}

fn reads_slot(operator: &Operator, slot: usize) -> bool {
    operator.slots.contains(&slot) || operator.inputs.iter().any(|input| reads_slot(input, slot))
}
