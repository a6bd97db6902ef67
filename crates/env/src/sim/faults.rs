//! Injected errors: which operation fails, how, and whether it goes on failing.

use crate::{IoErrorKind, IoOp};

/// What the matched operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultEffect {
    /// It fails without effect.
    Error(IoErrorKind),
    /// A write stops after some of its sectors and fails; other operations fail without effect.
    Partial(IoErrorKind),
    /// A read answers with one wrong bit, which the disk has right; other operations do what they should.
    FlippedRead,
}

impl FaultEffect {
    /// The error, if it is one.
    pub(super) fn kind(self) -> Option<IoErrorKind> {
        match self {
            Self::Error(kind) | Self::Partial(kind) => Some(kind),
            Self::FlippedRead => None,
        }
    }
}

/// Matches operations and makes one of them, or all from one on, fail.
#[derive(Debug, Clone)]
pub struct Fault {
    /// None matches every operation.
    pub op: Option<IoOp>,
    /// Matches paths that contain this; the empty string matches all.
    pub path: String,
    /// How many matching operations succeed first.
    pub after: u64,
    /// Whether all later ones fail too.
    pub sticky: bool,
    pub effect: FaultEffect,
}

impl Fault {
    /// The `after`-th matching operation fails with EIO, once.
    pub fn input_output_error(op: IoOp, path: &str, after: u64) -> Self {
        let effect = FaultEffect::Error(IoErrorKind::Os(libc::EIO));
        Self { op: Some(op), path: path.into(), after, sticky: false, effect }
    }

    pub fn sticky(self) -> Self {
        Self { sticky: true, ..self }
    }
}

/// The faults with their counters.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    active: Vec<(Fault, u64)>,
}

impl Faults {
    pub(super) fn new(faults: &[Fault]) -> Self {
        Self { active: faults.iter().map(|fault| (fault.clone(), 0)).collect() }
    }

    /// Counts the operation; returns how it fails, if it does.
    pub(super) fn strike(&mut self, op: IoOp, path: &str) -> Option<FaultEffect> {
        let mut effect = None;
        for (fault, seen) in &mut self.active {
            let matches = fault.op.is_none_or(|wanted| wanted == op) && path.contains(&fault.path);
            if !matches {
                continue;
            }
            let fails = *seen == fault.after || fault.sticky && *seen > fault.after;
            *seen += 1;
            if fails {
                effect = effect.or(Some(fault.effect));
            }
        }
        effect
    }
}
