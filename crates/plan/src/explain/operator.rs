//! What EXPLAIN's tree and its JSON of version 2 show: an operator for each line of the tree, in MySQL's words.
//!
//! A node of a plan is one operator or several (a table with conditions is a filter over an access). Names and their
//! meaning are MySQL's; costs are the planner's own. Made by `walk`, printed by `tree` and `json`.
use super::json_text::Json;
use super::words::figure;
use crate::measure::Measure;
use std::sync::Arc;

pub type Members = Vec<(&'static str, Json)>;

pub struct Operator {
    pub operation: String,
    pub members: Members,
    pub figures: Option<Figures>,
    /// What stands before the operator: `Hash`, or which subquery it is.
    pub heading: Option<String>,
    pub inputs: Vec<Operator>,
    /// Subqueries of the select list.
    pub selected: Vec<Operator>,
    /// Values of subqueries that its condition reads, by their slots.
    pub slots: Vec<usize>,
}

pub struct Figures {
    pub cost: f64,
    pub rows: f64,
    /// No row comes before all are known.
    pub comes_at_once: bool,
    /// EXPLAIN ANALYZE.
    pub measure: Option<Arc<Measure>>,
}

impl Operator {
    pub fn new(operation: impl Into<String>, members: Members, inputs: Vec<Operator>) -> Operator {
        let operation = operation.into();
        Operator {
            operation,
            members,
            figures: None,
            heading: None,
            inputs,
            selected: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// An operator whose `access_type` is all that there is to tell.
    pub fn plain(operation: impl Into<String>, access_type: &'static str, inputs: Vec<Operator>) -> Operator {
        Operator::new(operation, vec![("access_type", Json::text(access_type))], inputs)
    }

    pub fn with(mut self, name: &'static str, value: Json) -> Operator {
        self.members.push((name, value));
        self
    }

    pub fn headed(mut self, heading: impl Into<String>) -> Operator {
        self.heading = Some(heading.into());
        self
    }

    pub fn costing(mut self, cost: f64, rows: f64) -> Operator {
        self.figures = Some(Figures { cost, rows, comes_at_once: false, measure: None });
        self
    }

    pub fn at_once(mut self) -> Operator {
        if let Some(figures) = &mut self.figures {
            figures.comes_at_once = true;
        }
        self
    }

    pub fn measured(mut self, measure: Option<&Arc<Measure>>) -> Operator {
        if let (Some(figures), Some(measure)) = (&mut self.figures, measure) {
            figures.measure = Some(measure.clone());
        }
        self
    }

    /// Puts a subquery below the operator whose condition reads its value; gives it back if there is none.
    pub fn place(&mut self, slot: usize, subquery: Operator) -> Option<Operator> {
        if self.slots.contains(&slot) {
            self.inputs.push(subquery);
            return None;
        }
        let mut left = Some(subquery);
        for input in &mut self.inputs {
            left = left.and_then(|subquery| input.place(slot, subquery));
        }
        left
    }
}

impl Figures {
    /// `  (cost=0.55 rows=3) (actual time=0.1..0.2 rows=3 loops=1)`
    pub fn text(&self) -> String {
        let cost = figure(self.cost);
        let cost = if self.comes_at_once { format!("{cost}..{cost}") } else { cost };
        let actual = self.measure.as_ref().map_or(String::new(), |measure| measure.text());
        format!("  (cost={cost} rows={}){actual}", figure(self.rows))
    }
}
