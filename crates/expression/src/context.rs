//! What evaluation needs from outside the row: parameters, subquery slots, statement settings and the session.
//!
//! Evaluation takes `&EvalContext`; what it changes (warnings, user variables) goes through `SessionServices`,
//! which the session implements. Callers: every operator of the executor.
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use collation::CollationId;
use datum::{ColumnType, CompareMode, Condition, Locale, SqlError, SqlMode, Value, error_code};
use pattern::{Flags, Regexp, RegexpError};

use crate::build::BindContext;
use crate::case_operands::CaseOperands;
use crate::constant_set::{ConstantSet, ListId};
use crate::deferred::{Deferred, SessionRequest};
use crate::expr::{Expr, ExprKind};
use crate::parameter_moments::ParameterMoments;

/// Compiled patterns kept per statement.
const REGEXPS_MAX: usize = 64;

/// The session as expressions see it. Methods take `&self` because several operators of a plan share it.
pub trait SessionServices: Send + Sync {
    /// Takes a warning or note for SHOW WARNINGS; the session enforces max_error_count.
    fn warn(&self, condition: Condition);

    /// The same of what stays a warning, also where others become errors.
    fn warn_only(&self, condition: Condition) {
        self.warn(condition);
    }

    /// The value and type of `@name` (lower case), `None` when it was never set.
    fn user_variable(&self, name: &str) -> Option<(Value, ColumnType)>;
    /// Fails when the session has no memory for it.
    fn set_user_variable(&self, name: &str, value: Value, column_type: ColumnType) -> Result<(), SqlError>;

    /// LAST_INSERT_ID(): the first id the previous INSERT generated.
    fn last_insert_id(&self) -> u64;
    /// LAST_INSERT_ID(expr).
    fn set_last_insert_id(&self, id: u64);
    fn row_count(&self) -> i64;
    fn found_rows(&self) -> u64;

    /// Whether there is a connection of this number.
    fn has_connection(&self, _id: u64) -> bool {
        false
    }

    /// Whether the statement was killed or timed out; asked by functions that run long.
    fn check_interrupted(&self) -> Result<(), SqlError> {
        Ok(())
    }

    /// Answers a call that may have to wait. Dropping the future gives the wait up.
    fn answer(&self, _request: SessionRequest) -> AnswerFuture<'_> {
        Box::pin(async { Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"a call that waits"])) })
    }
}

/// Stays on its thread.
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, SqlError>> + 'a>>;

/// Settings and clock readings that stay the same during one statement.
#[derive(Clone, Debug)]
pub struct StatementSettings {
    /// The statement's clock reading, microseconds since 1970-01-01 UTC; NOW() is made from it.
    pub now_utc_micros: i64,
    pub time_zone: datum::TimeZone,
    pub sql_mode: SqlMode,
    pub connection_id: u64,
    /// USER(): the name and host the client gave.
    pub user: Arc<str>,
    /// CURRENT_USER(): the account that was matched.
    pub current_user: Arc<str>,
    /// The active roles as GRANT writes them, or NONE.
    pub current_role: Arc<str>,
    /// Whether the account may see what roles others have.
    pub sees_roles: bool,
    pub database: Option<Arc<str>>,
    pub version: Arc<str>,
    pub connection_collation: CollationId,
    pub division_precision_increment: u8,
    pub max_allowed_packet: u64,
    pub group_concat_max_len: u64,
    /// `default_week_format`, 0..=7.
    pub default_week_format: u8,
    /// Of AES_ENCRYPT and AES_DECRYPT, like `aes-128-ecb`.
    pub block_encryption_mode: Arc<str>,
    /// The language of names of months and days.
    pub locale: &'static Locale,
}

impl Default for StatementSettings {
    fn default() -> StatementSettings {
        StatementSettings {
            now_utc_micros: 0,
            time_zone: datum::TimeZone::utc(),
            sql_mode: SqlMode::DEFAULT,
            connection_id: 0,
            user: Arc::from("root@localhost"),
            current_user: Arc::from("root@localhost"),
            current_role: Arc::from("NONE"),
            sees_roles: false,
            database: None,
            version: Arc::from("9.7.0"),
            connection_collation: CollationId::UTF8MB4_0900_AI_CI,
            division_precision_increment: 4,
            max_allowed_packet: 64 * 1024 * 1024,
            group_concat_max_len: 1024,
            default_week_format: 0,
            block_encryption_mode: Arc::from("aes-128-ecb"),
            locale: Locale::english(),
        }
    }
}

/// Everything an evaluation may read beside its row.
pub struct EvalContext {
    /// Values of `?` markers, by index.
    parameters: Vec<Value>,
    pub(crate) parameter_moments: ParameterMoments,
    /// The parameters are the statement's literals, so messages show their values.
    pub shows_parameters: bool,
    /// Results of subqueries and values of outer columns; the executor fills them before it evaluates.
    pub slots: Vec<Value>,
    pub settings: Arc<StatementSettings>,
    pub session: Arc<dyn SessionServices>,
    /// The statement changes rows under strict sql_mode: conversions and divisions that would only warn fail.
    pub is_strict_change: bool,
    /// What is evaluated now only warns, or is an error only where the statement changes rows.
    is_unraised: AtomicBool,
    is_told_to_session: AtomicBool,
    /// What calls that wait ask and have been told.
    pub deferred: Deferred,
    /// Values of CASE operands while their conditions are evaluated.
    pub(crate) case_operands: CaseOperands,
    /// The first such failure, until the evaluation that met it returns.
    refusal: Mutex<Option<SqlError>>,
    /// Compiled regular expressions of this statement; bounded, because a pattern may come from every row.
    regexps: Mutex<BTreeMap<(String, Flags), Arc<Regexp>>>,
    /// Long IN lists that have been met, by their ids.
    constant_sets: Mutex<HashMap<NonZeroU32, Arc<ConstantSet>>>,
    /// What has been told of constants, which are converted once in a statement.
    told_of_constants: Mutex<Vec<(Option<usize>, String)>>,
    /// State of each RAND(seed) call, by the address of its expression node, which is stable during a statement.
    random_states: Mutex<BTreeMap<usize, (u32, u32)>>,
}

impl EvalContext {
    pub fn new(settings: Arc<StatementSettings>, session: Arc<dyn SessionServices>) -> EvalContext {
        EvalContext {
            parameters: Vec::new(),
            parameter_moments: ParameterMoments::default(),
            shows_parameters: false,
            slots: Vec::new(),
            settings,
            session,
            is_strict_change: false,
            is_unraised: AtomicBool::new(false),
            is_told_to_session: AtomicBool::new(false),
            deferred: Deferred::default(),
            case_operands: CaseOperands::default(),
            refusal: Mutex::new(None),
            regexps: Mutex::new(BTreeMap::new()),
            constant_sets: Mutex::default(),
            told_of_constants: Mutex::default(),
            random_states: Mutex::new(BTreeMap::new()),
        }
    }

    /// Begins another statement with the room of the one before, of which nothing else is left. Gives the list of its parameters to
    /// be filled.
    pub fn renew(&mut self, settings: Arc<StatementSettings>, is_strict_change: bool) -> &mut Vec<Value> {
        self.settings = settings;
        self.is_strict_change = is_strict_change;
        self.shows_parameters = false;
        self.slots.clear();
        self.deferred.renew();
        *self.refusal.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        self.regexps.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.constant_sets.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.told_of_constants.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.random_states.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.parameter_moments.renew();
        self.parameters.clear();
        &mut self.parameters
    }

    /// For constants of a statement that is being bound: nobody listens to warnings.
    pub fn of_constants(bind: &BindContext) -> EvalContext {
        let settings = StatementSettings { sql_mode: bind.sql_mode, ..StatementSettings::default() };
        EvalContext::new(Arc::new(settings), Arc::new(NoSession))
    }

    pub fn with_parameters(mut self, parameters: Vec<Value>) -> EvalContext {
        self.set_parameters(parameters);
        self
    }

    pub fn parameters(&self) -> &[Value] {
        &self.parameters
    }

    /// Gives the `?` markers other values.
    pub fn set_parameters(&mut self, parameters: Vec<Value>) {
        self.parameters = parameters;
        self.parameter_moments = ParameterMoments::default();
    }

    /// The compiled pattern, from the statement's cache where it has been used before.
    pub fn regexp(&self, pattern: String, flags: Flags) -> Result<Arc<Regexp>, SqlError> {
        let mut regexps = self.regexps.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (pattern, flags);
        if let Some(regexp) = regexps.get(&key) {
            return Ok(regexp.clone());
        }
        let regexp = Arc::new(Regexp::new(&key.0, flags).map_err(RegexpError::to_error)?);
        if regexps.len() >= REGEXPS_MAX {
            regexps.clear();
        }
        regexps.insert(key, regexp.clone());
        Ok(regexp)
    }

    /// The set of a list, made now if it is the first time; `None` for a list that is compared one by one.
    pub(crate) fn constant_set<'e>(
        &self,
        id: ListId,
        rows: impl Iterator<Item = &'e [(CompareMode, Expr)]>,
    ) -> Result<Option<Arc<ConstantSet>>, SqlError> {
        let Some(id) = id.is_set() else { return Ok(None) };
        let known = self.constant_sets.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let set = Arc::new(ConstantSet::new(rows, self)?);
        self.constant_sets.lock().unwrap_or_else(PoisonError::into_inner).insert(id, set.clone());
        Ok(Some(set))
    }

    /// Whether the expression is a `?`, whose text is not looked at for deprecated delimiters.
    pub fn is_marker(&self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Parameter(_)) && !self.shows_parameters
    }

    /// Evaluates what tells of no errors but by failing: warnings stay warnings.
    pub fn unraised<T>(&self, evaluate: impl FnOnce(&EvalContext) -> T) -> T {
        self.with(&self.is_unraised, evaluate)
    }

    /// Evaluates a constant as MySQL does before a statement runs: a value that is assigned does not fail for it, a change does.
    pub fn prepared<T>(&self, evaluate: impl FnOnce(&EvalContext) -> T) -> T {
        self.with(&self.is_told_to_session, evaluate)
    }

    fn with<T>(&self, flag: &AtomicBool, evaluate: impl FnOnce(&EvalContext) -> T) -> T {
        let before = flag.swap(true, Relaxed);
        let value = evaluate(self);
        flag.store(before, Relaxed);
        value
    }

    pub fn warn(&self, error: SqlError) {
        if self.is_refused_now(&error) {
            self.refuse(error);
        } else if self.deferred.is_news() {
            self.tell(error);
        }
    }

    /// The same of a constant, which is told once in a statement; `None`: one that may be a copy.
    pub fn warn_of_constant(&self, constant: Option<&Expr>, error: SqlError) {
        if self.deferred.is_news() && self.is_first(constant, &error) {
            match self.is_refused_now(&error) {
                true => self.refuse(error),
                false => self.tell(error),
            }
        }
    }

    /// Warns, also in a strict change, once in a statement.
    pub fn tell_once(&self, error: SqlError) {
        if self.deferred.is_news() && self.is_first(None, &error) {
            self.session.warn(error.into_warning());
        }
    }

    fn is_refused_now(&self, error: &SqlError) -> bool {
        self.is_strict_change
            && !self.is_unraised.load(Relaxed)
            && !self.is_told_to_session.load(Relaxed)
            && is_refused_in_changes(error)
    }

    fn refuse(&self, error: SqlError) {
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        refusal.get_or_insert(error);
    }

    fn tell(&self, error: SqlError) {
        match self.is_unraised.load(Relaxed) {
            true => self.session.warn_only(error.into_warning()),
            false => self.session.warn(error.into_warning()),
        }
    }

    /// Constants that are written several times are told of as often. One that may be a copy is any of the same text.
    fn is_first(&self, constant: Option<&Expr>, error: &SqlError) -> bool {
        let place = constant.and_then(|constant| match constant.kind {
            ExprKind::Parameter(index) => Some(index),
            ExprKind::Literal(_) => Some(std::ptr::from_ref(constant).addr()),
            _ => None,
        });
        let mut told = self.told_of_constants.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !told.iter().any(|(of, message)| {
            *message == error.message && (*of == place || of.is_none() || place.is_none())
        });
        if is_first {
            told.push((place, error.message.clone()));
        }
        is_first
    }

    /// Moves the state of the RAND(seed) at this address on, which begins with `first`, and answers the new one.
    pub fn next_random(
        &self,
        node: usize,
        first: impl FnOnce() -> (u32, u32),
        next: impl FnOnce((u32, u32)) -> (u32, u32),
    ) -> (u32, u32) {
        let mut states = self.random_states.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.entry(node).or_insert_with(first);
        *state = next(*state);
        *state
    }

    /// The failure of a strict change that evaluating by reference has met.
    #[inline]
    pub fn check_refusal(&self) -> Result<(), SqlError> {
        self.take_refusal().map_or(Ok(()), Err)
    }

    /// The failure met since the last call, only ever in strict changes.
    #[inline]
    pub(crate) fn take_refusal(&self) -> Option<SqlError> {
        if !self.is_strict_change {
            return None;
        }
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The session of constants.
struct NoSession;

impl SessionServices for NoSession {
    fn warn(&self, _condition: Condition) {}
    fn user_variable(&self, _name: &str) -> Option<(Value, ColumnType)> {
        None
    }
    fn set_user_variable(
        &self,
        _name: &str,
        _value: Value,
        _column_type: ColumnType,
    ) -> Result<(), SqlError> {
        Ok(())
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn set_last_insert_id(&self, _id: u64) {}
    fn row_count(&self) -> i64 {
        -1
    }
    fn found_rows(&self) -> u64 {
        0
    }
}

/// Warnings about values, which strict changes refuse; others (a cut GROUP_CONCAT, say) stay warnings.
fn is_refused_in_changes(error: &SqlError) -> bool {
    use datum::error_code::{
        ER_DIVISION_BY_ZERO, ER_TRUNCATED_WRONG_VALUE, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
        ER_WARN_DATA_OUT_OF_RANGE, ER_WRONG_VALUE, ER_WRONG_VALUE_FOR_TYPE, WARN_DATA_TRUNCATED,
    };
    [
        ER_DIVISION_BY_ZERO,
        ER_TRUNCATED_WRONG_VALUE,
        ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
        ER_WARN_DATA_OUT_OF_RANGE,
        ER_WRONG_VALUE,
        ER_WRONG_VALUE_FOR_TYPE,
        WARN_DATA_TRUNCATED,
    ]
    .iter()
    .any(|code| error.is(code))
}
