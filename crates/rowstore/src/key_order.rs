//! How keys of sorted records compare, and the eight bytes that decide most comparisons.
use std::cmp::Ordering;
use std::sync::Arc;

/// How keys are compared.
#[derive(Clone)]
pub enum KeyOrder {
    Bytes,
    /// By a function, where no bytes have the order.
    By(Arc<CompareKeys>),
}

pub type CompareKeys = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

impl KeyOrder {
    #[inline]
    pub(crate) fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        match self {
            KeyOrder::Bytes => left.cmp(right),
            KeyOrder::By(compare) => compare(left, right),
        }
    }
}

/// The start of a key as a number: most comparisons end there.
#[inline]
pub(crate) fn prefix_of(order: &KeyOrder, key: &[u8]) -> u64 {
    if !matches!(order, KeyOrder::Bytes) {
        return 0;
    }
    let mut padded = [0; 8];
    let count = key.len().min(8);
    padded[..count].copy_from_slice(&key[..count]);
    u64::from_be_bytes(padded)
}
