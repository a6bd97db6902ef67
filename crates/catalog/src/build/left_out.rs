//! Rows that a statement with IGNORE leaves out, because an earlier row has their key.
//!
//! Invariant: all of them are known by their numbers, a bit for each row of the statement; the errors of the first ones are kept,
//! at least as many as a client can ask for. Made by `fill`.
use datum::SqlError;

#[derive(Default)]
pub struct LeftOut {
    rows: u64,
    /// One bit for each number.
    numbers: Vec<u64>,
    errors: Vec<(u64, SqlError)>,
}

impl LeftOut {
    /// More conditions are never kept for a client (`max_error_count`).
    pub const ERRORS_MAX: usize = 65_535;

    pub fn add(&mut self, number: u64, error: SqlError) {
        debug_assert!(!self.contains(number), "a row is left out once");
        let (word, bit) = place_of(number);
        if self.numbers.len() <= word {
            self.numbers.resize(word + 1, 0);
        }
        self.numbers[word] |= bit;
        self.rows += 1;
        self.errors.push((number, error));
        if self.errors.len() >= 2 * Self::ERRORS_MAX {
            self.keep_first();
        }
        debug_assert!(self.errors.len() < 2 * Self::ERRORS_MAX, "memory for errors is bounded");
    }

    pub fn contains(&self, number: u64) -> bool {
        let (word, bit) = place_of(number);
        self.numbers.get(word).is_some_and(|bits| bits & bit != 0)
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Why, in the order in which the rows came; not all if there are very many.
    pub fn into_errors(mut self) -> impl Iterator<Item = SqlError> {
        self.keep_first();
        self.errors.into_iter().map(|(_, error)| error)
    }

    fn keep_first(&mut self) {
        self.errors.sort_by_key(|(number, _)| *number);
        self.errors.truncate(Self::ERRORS_MAX);
    }
}

fn place_of(number: u64) -> (usize, u64) {
    ((number / 64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datum::error_code;

    #[test]
    fn the_first_errors_stay_in_their_order() {
        let mut left_out = LeftOut::default();
        let rows = 3 * LeftOut::ERRORS_MAX as u64;
        for number in (1..=rows).rev() {
            left_out.add(number, error_code::ER_UNKNOWN_ERROR.with(&[&number]));
        }
        assert_eq!(left_out.rows(), rows);
        assert!(
            left_out.contains(1)
                && left_out.contains(rows)
                && !left_out.contains(0)
                && !left_out.contains(rows + 1)
        );
        let errors: Vec<SqlError> = left_out.into_errors().collect();
        assert_eq!(errors.len(), LeftOut::ERRORS_MAX);
        assert_eq!(errors[0], error_code::ER_UNKNOWN_ERROR.with(&[&1]));
    }
}
