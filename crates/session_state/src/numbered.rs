//! Values by their numbers, which ascend as they come: the prepared statements of a session.
//!
//! Invariant: the list is in the order of the numbers and has room for an eighth more than it holds, so that many small values take
//! little more than themselves. Used by `session` and by the server's connection, each for its part of a prepared statement.

#[derive(Debug)]
pub struct NumberedList<T> {
    entries: Vec<(u32, T)>,
}

impl<T> Default for NumberedList<T> {
    fn default() -> NumberedList<T> {
        NumberedList { entries: Vec::new() }
    }
}

impl<T> NumberedList<T> {
    fn place(&self, number: u32) -> Result<usize, usize> {
        // Numbers without gaps are where they would be if none had been removed.
        let first = self.entries.first().map_or(number, |(first, _)| *first);
        let likely = number.wrapping_sub(first) as usize;
        if self.entries.get(likely).is_some_and(|(found, _)| *found == number) {
            return Ok(likely);
        }
        self.entries.binary_search_by_key(&number, |(number, _)| *number)
    }

    /// Replaces the one with the same number.
    pub fn insert(&mut self, number: u32, value: T) {
        match self.place(number) {
            Ok(place) => self.entries[place].1 = value,
            Err(place) => {
                if self.entries.len() == self.entries.capacity() {
                    self.entries.reserve_exact((self.entries.len() / 8).max(4));
                }
                self.entries.insert(place, (number, value));
            }
        }
    }

    pub fn get(&self, number: u32) -> Option<&T> {
        self.place(number).ok().map(|place| &self.entries[place].1)
    }

    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.place(number).ok().map(|place| &mut self.entries[place].1)
    }

    pub fn remove(&mut self, number: u32) -> Option<T> {
        let (_, value) = self.entries.remove(self.place(number).ok()?);
        if self.entries.is_empty() {
            self.entries = Vec::new();
        }
        Some(value)
    }

    pub fn clear(&mut self) {
        self.entries = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_numbers() {
        let mut list = NumberedList::default();
        (1..=40).for_each(|number| list.insert(number, number * 2));
        assert_eq!((list.remove(1), list.remove(20), list.remove(20)), (Some(2), Some(40), None));
        list.insert(41, 82);
        list.insert(7, 0);
        let found = [1, 2, 7, 19, 20, 21, 40, 41, 42].map(|number| list.get(number).copied());
        assert_eq!(found, [None, Some(4), Some(0), Some(38), None, Some(42), Some(80), Some(82), None]);
        *list.get_mut(41).expect("it is there") = 1;
        assert_eq!(list.get(41), Some(&1));
        list.clear();
        assert_eq!(list.get(41), None);
    }
}
