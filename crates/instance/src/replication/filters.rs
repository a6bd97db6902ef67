//! The replication filters of a channel, asked in MySQL's order: the new name of a database, rules of databases, rules of tables.
//!
//! Invariant: where there is a rule of databases it has to let a change through before rules of tables are asked; of the rules of
//! tables the first that fits decides, and without one a change is applied unless there is a rule of what to apply.
use std::sync::Arc;

use super::filter::{FilterKind, FilterOrigin, FilterRule, FilterValue};

/// See the head of this file. Copies share their rules.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// At most one of each kind, in the order of the kinds.
    rules: Vec<Arc<FilterRule>>,
}

impl Filters {
    pub fn is_empty(&self) -> bool {
        self.rules().all(FilterRule::is_empty)
    }

    pub fn rules(&self) -> impl Iterator<Item = &FilterRule> {
        self.rules.iter().map(|rule| &**rule)
    }

    pub fn rule(&self, kind: FilterKind) -> Option<&FilterRule> {
        self.rules().find(|rule| rule.kind == kind)
    }

    /// Takes the place of an earlier rule of its kind.
    pub fn set(&mut self, rule: FilterRule) {
        self.rules.retain(|one| one.kind != rule.kind);
        let place = self.rules.partition_point(|one| one.kind < rule.kind);
        self.rules.insert(place, Arc::new(rule));
    }

    /// One value more, as each option gives one. What was copied from another origin makes room for it.
    pub fn add(&mut self, kind: FilterKind, origin: FilterOrigin, value: FilterValue) {
        let rule = match self.rule(kind).filter(|rule| rule.origin == origin) {
            Some(rule) => rule.with(value),
            None => FilterRule::new(kind, origin, vec![value]),
        };
        self.set(rule);
    }

    /// For another channel: its uses are counted by themselves.
    pub fn copied(&self) -> Filters {
        Filters { rules: self.rules().map(|rule| Arc::new(rule.copied())).collect() }
    }

    /// The rule of a kind, if it says anything.
    fn said(&self, kind: FilterKind) -> Option<&FilterRule> {
        self.rule(kind).filter(|rule| !rule.is_empty())
    }

    /// Whether a rule of the kind fits; that is a use of it.
    fn decides(&self, kind: FilterKind, name: &str) -> bool {
        let fits = self.said(kind).filter(|rule| rule.fits(name));
        fits.inspect(|rule| rule.count()).is_some()
    }

    /// The name that the database has here.
    pub fn renamed(&self, database: &str) -> Option<String> {
        let rule = self.said(FilterKind::RewriteDatabase)?;
        let name = rule.renamed(database)?;
        rule.count();
        Some(name.to_owned())
    }

    /// Whether changes in the database are applied, as far as it alone tells.
    pub fn takes_database(&self, database: &str) -> bool {
        if self.said(FilterKind::DoDatabase).is_some() {
            return self.decides(FilterKind::DoDatabase, database);
        }
        !self.decides(FilterKind::IgnoreDatabase, database)
    }

    /// The same for CREATE, ALTER and DROP of the database, which is no further use of a rule: where there are no rules of databases,
    /// patterns of tables that fit all of its tables decide.
    pub fn takes_definition_of(&self, database: &str) -> bool {
        let has = |kind| self.said(kind).is_some();
        if let Some(rule) = self.said(FilterKind::DoDatabase) {
            return rule.fits(database);
        }
        if let Some(rule) = self.said(FilterKind::IgnoreDatabase) {
            return !rule.fits(database);
        }
        let start = format!("{database}.");
        let fits = |kind| self.said(kind).is_some_and(|rule| rule.fits(&start));
        fits(FilterKind::WildDoTable) || !fits(FilterKind::WildIgnoreTable) && !has(FilterKind::WildDoTable)
    }

    pub fn has_table_rules(&self) -> bool {
        use FilterKind::{DoTable, IgnoreTable, WildDoTable, WildIgnoreTable};
        [DoTable, IgnoreTable, WildDoTable, WildIgnoreTable].into_iter().any(|kind| self.said(kind).is_some())
    }

    /// Whether a change of these tables is applied, as far as rules of tables tell; the first table with a rule decides.
    pub fn takes_tables<'t>(&self, tables: impl IntoIterator<Item = (&'t str, &'t str)>) -> bool {
        if !self.has_table_rules() {
            return true;
        }
        let mut is_about_tables = false;
        for (database, table) in tables {
            is_about_tables = true;
            let name = format!("{database}.{table}");
            for (kind, takes) in [
                (FilterKind::DoTable, true),
                (FilterKind::IgnoreTable, false),
                (FilterKind::WildDoTable, true),
                (FilterKind::WildIgnoreTable, false),
            ] {
                if self.decides(kind, &name) {
                    return takes;
                }
            }
        }
        let has_do = self.said(FilterKind::DoTable).or_else(|| self.said(FilterKind::WildDoTable)).is_some();
        !is_about_tables || !has_do
    }
}

/// A rule of an option file or the command line: `[channel:]value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterOption {
    pub kind: FilterKind,
    pub channel: Option<String>,
    pub value: FilterValue,
}

impl FilterOption {
    /// `None` for a value that the kind cannot have.
    pub fn parse(kind: FilterKind, text: &str) -> Option<FilterOption> {
        let (channel, text) = match text.split_once(':') {
            Some((channel, rest)) => (Some(channel.trim().to_lowercase()), rest),
            None => (None, text),
        };
        let text = text.trim();
        let value = match kind {
            FilterKind::RewriteDatabase => {
                let (from, to) = text.split_once("->")?;
                let (from, to) = (from.trim(), to.trim());
                if from.is_empty() || to.is_empty() {
                    return None;
                }
                FilterValue::Renamed(from.to_owned(), to.to_owned())
            }
            FilterKind::DoDatabase | FilterKind::IgnoreDatabase if text.is_empty() => return None,
            FilterKind::DoDatabase | FilterKind::IgnoreDatabase => FilterValue::Name(text.to_owned()),
            _ if !text.contains('.') => return None,
            _ => FilterValue::Name(text.to_owned()),
        };
        Some(FilterOption { kind, channel, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(options: &[(&str, &str)]) -> Filters {
        let mut filters = Filters::default();
        for (name, text) in options {
            let kind = FilterKind::by_name(name).unwrap();
            let option = FilterOption::parse(kind, text).unwrap();
            filters.add(kind, FilterOrigin::Options, option.value);
        }
        filters
    }

    #[test]
    fn databases_to_apply_go_before_those_to_ignore() {
        let both =
            filters(&[("replicate-do-db", "a"), ("replicate-do-db", "b"), ("replicate-ignore-db", "b")]);
        assert!(both.takes_database("a") && both.takes_database("b"));
        assert!(!both.takes_database("c") && !both.takes_database(""));
        assert_eq!(both.rule(FilterKind::DoDatabase).unwrap().shown(), "a,b");
        assert_eq!(both.rule(FilterKind::DoDatabase).unwrap().uses(), 2);
        let ignored = filters(&[("replicate_ignore_db", "b")]);
        assert!(ignored.takes_database("a") && !ignored.takes_database("b") && ignored.takes_database(""));
        assert!(filters(&[]).takes_database(""));
    }

    #[test]
    fn the_first_rule_of_a_table_decides() {
        let rules = filters(&[
            ("replicate-do-table", "d.t1"),
            ("replicate-ignore-table", "d.i"),
            ("replicate-wild-do-table", "d.t%"),
            ("replicate-wild-ignore-table", "d.t\\_%"),
        ]);
        let takes = |table| rules.takes_tables([("d", table)]);
        assert!(takes("t1") && takes("T2") && takes("t_1") && !takes("i") && !takes("other"));
        assert!(rules.takes_tables([]), "a statement about no table");
        assert!(
            rules.takes_tables([("d", "other"), ("d", "t1")])
                && !rules.takes_tables([("d", "i"), ("d", "t1")])
        );
        let ignored = filters(&[("replicate-wild-ignore-table", "d_.%")]);
        assert!(!ignored.takes_tables([("dx", "t")]) && ignored.takes_tables([("d", "t")]));
        assert!(!ignored.takes_definition_of("dx") && ignored.takes_definition_of("d"));
        assert!(!filters(&[("replicate-wild-do-table", "d.%")]).takes_definition_of("e"));
        assert!(!filters(&[("replicate-wild-do-table", "d.t%")]).takes_definition_of("d"));
    }

    #[test]
    fn an_option_names_a_channel_and_is_checked() {
        let parse = |name: &str, text| FilterOption::parse(FilterKind::by_name(name).unwrap(), text);
        let rewrite = parse("replicate-rewrite-db", "Ch1:a -> b").unwrap();
        assert_eq!(rewrite.channel.as_deref(), Some("ch1"));
        assert_eq!(rewrite.value, FilterValue::Renamed("a".to_owned(), "b".to_owned()));
        for (name, text) in [
            ("replicate-do-db", ""),
            ("replicate-do-table", "t"),
            ("replicate-wild-ignore-table", ""),
            ("replicate-rewrite-db", "a"),
            ("replicate-rewrite-db", "->b"),
        ] {
            assert_eq!(parse(name, text), None, "{name}={text}");
        }
        let renames = filters(&[("replicate-rewrite-db", "a->b"), ("replicate-rewrite-db", "c->d")]);
        assert_eq!(renames.renamed("c").as_deref(), Some("d"));
        assert_eq!(renames.renamed("b"), None);
        assert_eq!(renames.rule(FilterKind::RewriteDatabase).unwrap().shown(), "(a,b),(c,d)");
    }
}
