//! What one system variable is: name, scope, kind of value, default, limits and what the server does with it.
//!
//! Invariant: the default is a valid value of the kind. The registry declares them; SET, SHOW VARIABLES,
//! `@@name` and the program's options all read the same declaration.
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Global,
    /// Each session has its own value, which starts as the global one.
    Both,
    Session,
}

/// What setting the variable does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Obeyed,
    /// Tuning or bookkeeping that changes no result: accepted and shown.
    Accepted,
    /// Another value than the present one would change results in a way that is not implemented: refused.
    Fixed,
    /// Obeyed when given at start; a running server refuses another value.
    AtStart,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Boolean {
        default: bool,
    },
    Unsigned {
        default: u64,
        min: u64,
        max: u64,
    },
    Signed {
        default: i64,
        min: i64,
        max: i64,
    },
    Double {
        default: f64,
        min: f64,
        max: f64,
    },
    Text {
        default: &'static str,
    },
    /// One of the words; a number counts them from 0.
    Choice {
        default: &'static str,
        words: &'static [&'static str],
    },
    /// `sql_mode`: words joined by commas; a number is a bit set.
    SqlMode {
        default: &'static str,
    },
    Charset {
        default: &'static str,
    },
    Collation {
        default: &'static str,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Definition {
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    pub read_only: bool,
    pub effect: Effect,
    pub doc: &'static str,
}

/// A value of a system variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    Boolean(bool),
    Unsigned(u64),
    Signed(i64),
    Double(f64),
    Text(Arc<str>),
    /// `character_set_results` may be NULL.
    Null,
}

impl Definition {
    const fn new(name: &'static str, scope: Scope, kind: Kind) -> Definition {
        Definition { name, scope, kind, read_only: false, effect: Effect::Accepted, doc: "" }
    }

    pub(super) const fn read_only(self) -> Definition {
        Definition { read_only: true, ..self }
    }

    pub(super) const fn obeyed(self, doc: &'static str) -> Definition {
        Definition { effect: Effect::Obeyed, doc, ..self }
    }

    pub(super) const fn fixed(self) -> Definition {
        Definition { effect: Effect::Fixed, ..self }
    }

    pub(super) const fn at_start(self) -> Definition {
        Definition { effect: Effect::AtStart, ..self }
    }

    pub fn has_global(&self) -> bool {
        self.scope != Scope::Session
    }

    pub fn has_session(&self) -> bool {
        self.scope != Scope::Global
    }

    pub fn default_setting(&self) -> Setting {
        match self.kind {
            Kind::Boolean { default } => Setting::Boolean(default),
            Kind::Unsigned { default, .. } => Setting::Unsigned(default),
            Kind::Signed { default, .. } => Setting::Signed(default),
            Kind::Double { default, .. } => Setting::Double(default),
            Kind::Text { default }
            | Kind::Choice { default, .. }
            | Kind::SqlMode { default }
            | Kind::Charset { default }
            | Kind::Collation { default } => Setting::text(default),
        }
    }
}

impl Setting {
    pub fn text(text: &str) -> Setting {
        Setting::Text(Arc::from(text))
    }

    /// As SHOW VARIABLES prints it.
    pub fn display(&self) -> String {
        match self {
            Setting::Boolean(true) => "ON".to_owned(),
            Setting::Boolean(false) => "OFF".to_owned(),
            Setting::Unsigned(number) => number.to_string(),
            Setting::Signed(number) => number.to_string(),
            Setting::Double(number) => format!("{number:.6}"),
            Setting::Text(text) => text.to_string(),
            Setting::Null => String::new(),
        }
    }

    pub fn as_boolean(&self) -> bool {
        matches!(self, Setting::Boolean(true) | Setting::Unsigned(1..))
    }

    pub fn as_double(&self) -> f64 {
        match self {
            Setting::Double(number) => *number,
            _ => 0.0,
        }
    }

    pub fn as_signed(&self) -> i64 {
        match self {
            Setting::Signed(number) => *number,
            _ => 0,
        }
    }

    pub fn as_unsigned(&self) -> u64 {
        match self {
            Setting::Unsigned(number) => *number,
            Setting::Boolean(truth) => u64::from(*truth),
            _ => 0,
        }
    }

    pub fn as_text(&self) -> &str {
        match self {
            Setting::Text(text) => text,
            _ => "",
        }
    }
}

pub(super) const fn boolean(name: &'static str, scope: Scope, default: bool) -> Definition {
    Definition::new(name, scope, Kind::Boolean { default })
}

pub(super) const fn unsigned(
    name: &'static str,
    scope: Scope,
    default: u64,
    min: u64,
    max: u64,
) -> Definition {
    Definition::new(name, scope, Kind::Unsigned { default, min, max })
}

pub(super) const fn signed(name: &'static str, scope: Scope, default: i64, min: i64, max: i64) -> Definition {
    Definition::new(name, scope, Kind::Signed { default, min, max })
}

pub(super) const fn double(name: &'static str, scope: Scope, default: f64, min: f64, max: f64) -> Definition {
    Definition::new(name, scope, Kind::Double { default, min, max })
}

pub(super) const fn text(name: &'static str, scope: Scope, default: &'static str) -> Definition {
    Definition::new(name, scope, Kind::Text { default })
}

pub(super) const fn choice(
    name: &'static str,
    scope: Scope,
    default: &'static str,
    words: &'static [&'static str],
) -> Definition {
    Definition::new(name, scope, Kind::Choice { default, words })
}

pub(super) const fn sql_mode(name: &'static str, scope: Scope, default: &'static str) -> Definition {
    Definition::new(name, scope, Kind::SqlMode { default })
}

pub(super) const fn charset(name: &'static str, scope: Scope, default: &'static str) -> Definition {
    Definition::new(name, scope, Kind::Charset { default })
}

pub(super) const fn collation(name: &'static str, scope: Scope, default: &'static str) -> Definition {
    Definition::new(name, scope, Kind::Collation { default })
}
