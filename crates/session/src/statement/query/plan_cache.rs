//! Kept plans of texts: found by digest, and used where the session is as it was when they were made. Called before a text is
//! parsed, and by prepared statements and programs for the plans that they keep.
use std::sync::Arc;

use datum::Value;
use expression::ReadParameter;
use parser::{Digest, digest};

use crate::session::Session;
use instance::{PlanEnvironment, PreparedPlan, count, literal_value};

impl Session {
    /// The digest of a text that may have a kept plan.
    pub(crate) fn digest_of(&mut self, text: &[u8]) -> Option<Digest> {
        // A kept plan takes literals as the text has them, and a trace tells of one that is made.
        if self.settings.optimizer_trace || self.settings.recodes_literals() && !text.is_ascii() {
            return None;
        }
        let mode = self.settings.parser_mode(self.connection.capabilities.ignore_space);
        digest(text, mode, self.instance.digest_seed(), &mut self.digest)
    }

    /// The kept plan for a text, with the text's literals as its parameters.
    pub(crate) fn cached_plan(
        &mut self,
        text: &[u8],
        digest: Digest,
    ) -> Option<(Arc<PreparedPlan>, Vec<Value>)> {
        let environment = self.plan_environment();
        let kept = &self.instance.plan_cache;
        let first = kept.get(digest, &environment)?;
        let mut parameters = self.literal_values(text)?;
        let literal_count = parameters.len();
        let mut suits = |prepared: &PreparedPlan| {
            parameters.truncate(literal_count);
            self.means_the_same(prepared)
                && ReadParameter::extend(&prepared.plan.readings, &mut parameters)
                && self.suits(&prepared.plan, &parameters)
        };
        let prepared = match suits(&first) {
            true => first,
            false => {
                let mut others = kept.others(digest, &environment).into_iter();
                others.find(|other| suits(other))?
            }
        };
        count(&self.process.counters.plan_cache_hits);
        Some((prepared, parameters))
    }

    pub(super) fn literal_values(&self, text: &[u8]) -> Option<Vec<Value>> {
        let escapes = !self.settings.sql_mode.contains(datum::SqlMode::NO_BACKSLASH_ESCAPES);
        self.digest.literals.iter().map(|literal| literal_value(text, literal, escapes)).collect()
    }

    pub(in crate::statement) fn plan_environment(&self) -> PlanEnvironment {
        PlanEnvironment {
            database: self.database.clone(),
            sql_mode: self.settings.sql_mode.0,
            connection_collation: self.settings.connection_collation.number(),
            results_collation: self.results_collation(),
            locks_source_rows: self.locks_source_rows(),
            foreign_key_checks: self.settings.foreign_key_checks,
            division_precision_increment: self.settings.division_precision_increment,
            switches: self.switches.bits(),
        }
    }

    /// The same as a comparison with `plan_environment`, without making one.
    fn is_in(&self, environment: &PlanEnvironment) -> bool {
        let PlanEnvironment {
            database,
            sql_mode,
            connection_collation,
            results_collation,
            locks_source_rows,
            foreign_key_checks,
            division_precision_increment,
            switches,
        } = environment;
        let settings = &self.settings;
        *sql_mode == settings.sql_mode.0
            && *connection_collation == settings.connection_collation.number()
            && *results_collation == self.results_collation()
            && *locks_source_rows == self.locks_source_rows()
            && *foreign_key_checks == settings.foreign_key_checks
            && *division_precision_increment == settings.division_precision_increment
            && *switches == self.switches.bits()
            && *database == self.database
    }

    /// 0 when results are sent as stored.
    fn results_collation(&self) -> u16 {
        self.settings.results_charset.map_or(0, |_| self.settings.results_collation.number())
    }

    /// Whether a plan that was kept may still run in this session.
    pub(crate) fn is_current(&self, prepared: &PreparedPlan) -> bool {
        self.is_in(&prepared.environment) && self.means_the_same(prepared)
    }
}
