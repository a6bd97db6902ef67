//! Window functions in a block's plan: sorts, as few as the windows' orders allow, and a node for each window.
use crate::planner::Planner;
use crate::queries::nodes::sort;
use binder::block::{Block, BlockWindow};
use binder::bound::BoundSelect;
use binder::bound_exprs::function_exprs;
use binder::starts_with;
use binder::walk::{any, has_window, replace, window_number};
use expression::Expr;
use plan::{Node, NodeKind, SortKey, Window, WindowColumn, window_keys};

/// The block's windows with the frame positions of their functions.
pub struct PlacedWindows {
    windows: Vec<BlockWindow>,
    columns: Vec<(usize, WindowColumn)>,
}

/// Takes the window functions of a block; they still have to be placed.
pub fn take_windows(block: &mut Block) -> PlacedWindows {
    let calls = std::mem::take(&mut block.window_calls);
    let columns = calls.into_iter().enumerate().map(|(position, call)| {
        (call.window, WindowColumn { function: call.function, frame: call.frame, position })
    });
    PlacedWindows { columns: columns.collect(), windows: std::mem::take(&mut block.windows) }
}

impl Planner<'_> {
    /// Rows that windows run over are those of a temporary table.
    pub fn keep_before_windows(&self, bound: &mut BoundSelect, windows: &mut PlacedWindows) {
        if windows.is_empty() {
            return;
        }
        let items = bound.items.iter_mut().map(|item| &mut item.expr).filter(|expr| !has_window(expr));
        for expr in items.chain(windows.exprs_mut()) {
            let own = std::mem::replace(expr, Expr::null());
            *expr = self.context.bind.kept(own);
        }
    }
}

impl PlacedWindows {
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Gives the functions positions from `first` on and puts them into the select list and ORDER BY.
    pub fn place(&mut self, bound: &mut BoundSelect, first: usize) {
        self.columns.iter_mut().for_each(|(_, column)| column.position += first);
        let mut replacement = |part: &Expr| {
            let number = window_number(part)?;
            let mut value = Expr::column(first + number, part.ty.column.clone());
            value.ty = part.ty.clone();
            Some(value)
        };
        bound.items.iter_mut().for_each(|item| replace(&mut item.expr, &mut replacement));
        bound.order_by.iter_mut().for_each(|key| replace(&mut key.expr, &mut replacement));
    }

    /// How many positions they take.
    pub fn count(&self) -> usize {
        self.columns.len()
    }

    /// Every expression of the windows and their functions.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        let mut exprs = Vec::new();
        for window in &mut self.windows {
            exprs.extend(&mut window.partition_by);
            exprs.extend(window.order_by.iter_mut().map(|key| &mut key.expr));
        }
        exprs.extend(
            self.columns
                .iter_mut()
                .flat_map(|(_, column)| function_exprs(&mut column.function, &mut column.frame)),
        );
        exprs
    }

    /// The order that the window which is evaluated first wants.
    pub fn first_keys(&self) -> Vec<SortKey> {
        let used = |number: usize| self.columns.iter().any(|(window, _)| *window == number);
        let first = (0..self.windows.len())
            .filter(|number| used(*number))
            .min_by_key(|number| self.windows[*number].rank);
        first.map_or_else(Vec::new, |number| {
            window_keys(&self.windows[number].partition_by, &self.windows[number].order_by)
        })
    }

    /// No window wants an order, and ORDER BY needs none of their results: rows are then sorted before, as in MySQL, which
    /// shows in frames that count rows.
    pub fn follow_order_by(&self, bound: &BoundSelect) -> bool {
        let unordered = |window: &BlockWindow| window.partition_by.is_empty() && window.order_by.is_empty();
        let positions: Vec<usize> = self.columns.iter().map(|(_, column)| column.position).collect();
        let is_result = |part: &Expr| part.as_column().is_some_and(|position| positions.contains(&position));
        !self.is_empty()
            && self.columns.iter().all(|(window, _)| unordered(&self.windows[*window]))
            && !bound.order_by.iter().any(|key| any(&key.expr, &is_result))
    }

    /// Stacks the windows on a node whose rows come ordered by `ordering`, and tells the order of the result.
    pub fn stack(self, mut node: Node, mut ordering: Vec<SortKey>) -> (Node, Vec<SortKey>) {
        let mut numbers: Vec<usize> = (0..self.windows.len()).collect();
        numbers.sort_by_key(|number| self.windows[*number].rank);
        let numbers = equal_sorts_together(numbers, &self.windows);
        for number in numbers {
            let columns: Vec<WindowColumn> = self
                .columns
                .iter()
                .filter(|(window, _)| *window == number)
                .map(|(_, column)| column.clone())
                .collect();
            if columns.is_empty() {
                continue;
            }
            let BlockWindow { partition_by, order_by, .. } = self.windows[number].clone();
            let keys = window_keys(&partition_by, &order_by);
            if !starts_with(&ordering, &keys) {
                node = sort(node, keys.clone(), None);
                ordering = keys;
            }
            let (width, rows) = (node.width, node.estimate.rows);
            let window = Window { input: Box::new(node), partition_by, order_by, columns };
            node = Node::new(NodeKind::Window(Box::new(window)), width, rows);
        }
        (node, ordering)
    }
}

/// Windows with one order follow each other, so that they share a sort; else their order stays.
fn equal_sorts_together(mut numbers: Vec<usize>, windows: &[BlockWindow]) -> Vec<usize> {
    let keys = |number: usize| window_keys(&windows[number].partition_by, &windows[number].order_by);
    let mut sorted = Vec::with_capacity(numbers.len());
    while !numbers.is_empty() {
        let first = numbers.remove(0);
        let wanted = keys(first);
        let is_same = |number: &usize| {
            let other = keys(*number);
            other.len() == wanted.len() && starts_with(&wanted, &other)
        };
        let (same, rest) = numbers.into_iter().partition(is_same);
        let same: Vec<usize> = same;
        sorted.push(first);
        sorted.extend(same);
        numbers = rest;
    }
    sorted
}
