//! The conditions of the last statement that had any: what SHOW WARNINGS lists.
//!
//! Invariant: at most `max_error_count` conditions are kept, but all are counted.
use datum::{Condition, Severity, SqlError};

/// What a condition tells beside its number, state and text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionItem {
    ClassOrigin,
    SubclassOrigin,
    ConstraintCatalog,
    ConstraintSchema,
    ConstraintName,
    CatalogName,
    SchemaName,
    TableName,
    ColumnName,
    CursorName,
}

impl ConditionItem {
    const NAMED: [(&str, ConditionItem); 10] = [
        ("CLASS_ORIGIN", ConditionItem::ClassOrigin),
        ("SUBCLASS_ORIGIN", ConditionItem::SubclassOrigin),
        ("CONSTRAINT_CATALOG", ConditionItem::ConstraintCatalog),
        ("CONSTRAINT_SCHEMA", ConditionItem::ConstraintSchema),
        ("CONSTRAINT_NAME", ConditionItem::ConstraintName),
        ("CATALOG_NAME", ConditionItem::CatalogName),
        ("SCHEMA_NAME", ConditionItem::SchemaName),
        ("TABLE_NAME", ConditionItem::TableName),
        ("COLUMN_NAME", ConditionItem::ColumnName),
        ("CURSOR_NAME", ConditionItem::CursorName),
    ];

    /// By its name in capitals.
    pub fn named(name: &str) -> Option<ConditionItem> {
        ConditionItem::NAMED.iter().find(|(known, _)| *known == name).map(|(_, item)| *item)
    }
}

/// The items that SIGNAL has set.
#[derive(Clone, Debug, Default)]
pub struct ConditionItems(Vec<(ConditionItem, String)>);

impl ConditionItems {
    pub fn set(&mut self, item: ConditionItem, text: String) {
        self.0.retain(|(known, _)| *known != item);
        self.0.push((item, text));
    }

    pub fn get(&self, item: ConditionItem) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == item).map(|(_, text)| text.as_str())
    }
}

/// Conditions apart from a session: what a handler was called for.
#[derive(Clone, Debug, Default)]
pub struct Area {
    pub conditions: Vec<Condition>,
    /// By the position of the condition.
    items: Vec<(usize, ConditionItems)>,
    fresh: u64,
    /// Which one a handler was called for, unless it is the last.
    handled: Option<usize>,
}

impl Area {
    pub fn items_of(&self, position: usize) -> Option<&ConditionItems> {
        self.items.iter().find(|(of, _)| *of == position).map(|(_, items)| items)
    }

    /// The same for a handler of the condition at that position.
    pub fn handled_at(self, position: usize) -> Area {
        Area { handled: Some(position), ..self }
    }

    fn handled(&self) -> Option<usize> {
        self.handled.or(self.conditions.len().checked_sub(1))
    }

    /// What a handler was called for.
    pub fn handled_condition(&self) -> Option<&Condition> {
        self.conditions.get(self.handled()?)
    }

    pub fn take_handled(&mut self) -> Option<(Condition, ConditionItems)> {
        let position = self.handled()?;
        let items = self.items_of(position).cloned().unwrap_or_default();
        self.items.retain(|(of, _)| *of != position);
        self.items.iter_mut().filter(|(of, _)| *of > position).for_each(|(of, _)| *of -= 1);
        (position < self.conditions.len()).then(|| (self.conditions.remove(position), items))
    }
}

#[derive(Debug)]
pub struct Diagnostics {
    conditions: Vec<Condition>,
    items: Vec<(usize, ConditionItems)>,
    /// Of the condition that comes next.
    next_items: Option<ConditionItems>,
    /// What follows the error that comes next.
    follower: Option<SqlError>,
    /// How many conditions there were since a statement, or a handler's begin or end, has settled them.
    fresh: u64,
    /// How often they were forgotten.
    epoch: u64,
    count: u64,
    error_count: u64,
    /// The counts of the statement before, which `@@warning_count` and `@@error_count` tell.
    previous: (u64, u64),
    kept_max: usize,
    keeps_notes: bool,
}

impl Default for Diagnostics {
    fn default() -> Diagnostics {
        Diagnostics {
            conditions: Vec::new(),
            items: Vec::new(),
            next_items: None,
            follower: None,
            fresh: 0,
            epoch: 0,
            count: 0,
            error_count: 0,
            previous: (0, 0),
            kept_max: 1024,
            keeps_notes: true,
        }
    }
}

impl Diagnostics {
    /// Forgets everything; limits apply to what follows.
    pub fn start(&mut self, kept_max: usize, keeps_notes: bool) {
        self.previous = (self.count, self.error_count);
        self.conditions.clear();
        self.items.clear();
        self.next_items = None;
        self.follower = None;
        self.fresh = 0;
        self.epoch += 1;
        self.count = 0;
        self.error_count = 0;
        self.kept_max = kept_max;
        self.keeps_notes = keeps_notes;
    }

    pub fn add(&mut self, condition: Condition) {
        if condition.severity == Severity::Note && !self.keeps_notes {
            return;
        }
        self.count += 1;
        self.fresh += 1;
        let items = self.next_items.take();
        if condition.severity == Severity::Error {
            self.error_count += 1;
        }
        if self.conditions.len() < self.kept_max {
            if let Some(items) = items {
                self.items.push((self.conditions.len(), items));
            }
            self.conditions.push(condition);
        }
    }

    /// The error that ended the statement is its last condition.
    pub fn add_error(&mut self, error: &SqlError) {
        self.add(Condition { severity: Severity::Error, error: error.clone() });
        if let Some(follower) = self.follower.take() {
            self.add(Condition { severity: Severity::Error, error: follower });
        }
    }

    /// The next error that ends something is followed by this one, which ends nothing.
    pub fn expect_follower(&mut self, error: SqlError) {
        self.follower = Some(error);
    }

    /// The next condition has these items.
    pub fn expect_items(&mut self, items: ConditionItems) {
        self.next_items = Some(items);
    }

    /// Whether a handler may be called for what is there.
    pub fn has_fresh(&self) -> bool {
        self.fresh > 0
    }

    /// No handler is called for what is there, until there is more.
    pub fn settle(&mut self) {
        self.fresh = 0;
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub fn area(&self) -> Area {
        Area {
            conditions: self.conditions.clone(),
            items: self.items.clone(),
            fresh: self.fresh,
            handled: None,
        }
    }

    /// Puts the conditions of an area in the place of those that are there.
    pub fn replace(&mut self, area: Area) {
        self.count = area.conditions.len() as u64;
        let errors = area.conditions.iter().filter(|one| one.severity == Severity::Error);
        self.error_count = errors.count() as u64;
        (self.conditions, self.items, self.fresh) = (area.conditions, area.items, area.fresh);
        self.epoch += 1;
    }

    /// Puts the conditions of an area, which a program has found, before those that it leaves.
    pub fn put_before(&mut self, area: Area) {
        if area.conditions.is_empty() {
            self.fresh = self.conditions.len() as u64;
            return;
        }
        let left = self.area();
        self.replace(area);
        for (position, condition) in left.conditions.iter().enumerate() {
            self.next_items = left.items_of(position).cloned();
            self.add(condition.clone());
        }
    }

    /// A handler has ended that began when there were `count` conditions: those it was called for are settled, unless
    /// they were forgotten since.
    pub fn forget_handled(&mut self, epoch: u64, count: usize) {
        if epoch != self.epoch {
            return;
        }
        let mut area = self.area();
        area.conditions.drain(..count.min(area.conditions.len()));
        area.items.retain_mut(|(of, _)| {
            let stays = *of >= count;
            *of = of.saturating_sub(count);
            stays
        });
        self.replace(area);
    }

    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn error_count(&self) -> u64 {
        self.error_count
    }

    pub fn previous_count(&self) -> u64 {
        self.previous.0
    }

    pub fn previous_error_count(&self) -> u64 {
        self.previous.1
    }

    /// What the OK packet has room for.
    pub fn warning_count(&self) -> u16 {
        u16::try_from(self.count).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datum::error_code;

    #[test]
    fn more_are_counted_than_kept() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.start(1, false);
        let error = error_code::ER_NO_DB_ERROR.plain();
        diagnostics.add(error.clone().into_note());
        assert_eq!(diagnostics.count(), 0);
        diagnostics.add(error.clone().into_warning());
        diagnostics.add_error(&error);
        assert_eq!(
            (diagnostics.conditions().len(), diagnostics.count(), diagnostics.error_count()),
            (1, 2, 1)
        );
    }
}
