//! The operands of the CASEs under evaluation whose values may not be asked for twice.
//!
//! Invariant: CASEs nest, so the newest value is that of the innermost one; it goes when the evaluation of that CASE ends, however
//! it does. Used by `evaluate`.
use std::sync::{Mutex, MutexGuard, PoisonError};

use datum::Value;

#[derive(Default)]
pub(crate) struct CaseOperands {
    /// A statement runs on one thread; held for one access.
    values: Mutex<Vec<Value>>,
}

/// Until it is dropped its value is the newest, but for CASEs inside.
pub(crate) struct Kept<'a>(&'a CaseOperands);

impl CaseOperands {
    fn values(&self) -> MutexGuard<'_, Vec<Value>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn keep(&self, value: Value) -> Kept<'_> {
        self.values().push(value);
        Kept(self)
    }

    /// That of the innermost CASE.
    pub(crate) fn newest(&self) -> Value {
        self.values().last().cloned().expect("only conditions of a CASE with an operand ask for it")
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.0.values().pop();
    }
}
