//! The numbers of one statement and their sums, in the order of the columns of `events_statements_summary_..`.

macro_rules! figures {
    ($($(#[$doc:meta])* $field:ident;)*) => {
        /// What one statement did.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct StatementFigures { $($(#[$doc])* pub $field: u64,)* }

        impl StatementFigures {
            /// Adds those of another statement. No sum of 64 bits overflows; without the check the additions are a few wide ones.
            pub fn add(&mut self, other: &StatementFigures) {
                $(self.$field = self.$field.wrapping_add(other.$field);)*
            }

            /// In the order of the columns, from ERRORS on.
            pub fn counts(&self) -> impl Iterator<Item = u64> + use<> {
                [$(self.$field,)*].into_iter().skip(TIMES)
            }
        }
    };
}

/// Those that are times come first, and have columns elsewhere.
const TIMES: usize = 2;

figures! {
    /// Nanoseconds spent waiting for locks of rows, tables and definitions.
    lock_time_ns;
    /// Nanoseconds that it had a worker's thread, if that is measured.
    cpu_time_ns;
    errors;
    warnings;
    rows_affected;
    rows_sent;
    rows_examined;
    created_tmp_disk_tables;
    created_tmp_tables;
    select_full_join;
    select_full_range_join;
    select_range;
    select_range_check;
    select_scan;
    sort_merge_passes;
    sort_range;
    sort_rows;
    sort_scan;
    no_index_used;
    no_good_index_used;
}

/// How often and how long something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    pub count: u64,
    pub sum_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
}

impl Timings {
    pub fn add(&mut self, elapsed_ns: u64) {
        self.min_ns = if self.count == 0 { elapsed_ns } else { self.min_ns.min(elapsed_ns) };
        self.max_ns = self.max_ns.max(elapsed_ns);
        self.count += 1;
        self.sum_ns += elapsed_ns;
    }

    pub fn merge(&mut self, other: &Timings) {
        if other.count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }

    pub fn average_ns(&self) -> u64 {
        self.sum_ns.checked_div(self.count).unwrap_or(0)
    }
}

/// Statements of one kind, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementTotals {
    pub timings: Timings,
    pub figures: StatementFigures,
}

impl StatementTotals {
    pub fn add(&mut self, elapsed_ns: u64, figures: &StatementFigures) {
        self.timings.add(elapsed_ns);
        self.figures.add(figures);
    }

    pub fn merge(&mut self, other: &StatementTotals) {
        self.timings.merge(&other.timings);
        self.figures.add(&other.figures);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_timings_are_those_of_all() {
        let mut left = Timings::default();
        let mut right = Timings::default();
        left.merge(&right);
        assert_eq!(left, Timings::default());
        right.add(5);
        right.add(3);
        left.merge(&right);
        left.add(10);
        assert_eq!(left, Timings { count: 3, sum_ns: 18, min_ns: 3, max_ns: 10 });
        assert_eq!(left.average_ns(), 6);
    }
}
