//! Which sorts of triggers a table has: six bits, so that a row that fires none costs one test.

/// What changes the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

impl TriggerEvent {
    pub fn word(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriggerSet(u8);

impl TriggerSet {
    fn bit(is_before: bool, event: TriggerEvent) -> u8 {
        1 << (event as u8 * 2 + u8::from(is_before))
    }

    pub fn add(&mut self, is_before: bool, event: TriggerEvent) {
        self.0 |= TriggerSet::bit(is_before, event);
    }

    #[inline]
    pub fn has(self, is_before: bool, event: TriggerEvent) -> bool {
        self.0 & TriggerSet::bit(is_before, event) != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}
