//! What a server or its host does not let this account see.
//!
//! Invariant: what is missing from the samples from the beginning is told here. Made by `server` and `host`, kept in
//! the description of the server, told by `record`, `top`, `watch` and `doctor`.

use serde_json::{Value, json};

/// Figures that are missing, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    pub what: String,
    pub why: String,
}

impl Unseen {
    pub fn new(what: &str, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }

    /// As it stands in a description.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({ "what": self.what, "why": self.why })
    }

    /// Those of a description.
    #[must_use]
    pub fn all_of(description: &Value) -> Vec<Self> {
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let all = description["unseen"].as_array().map_or(&[][..], Vec::as_slice);
        all.iter().map(|one| Self { what: text(&one["what"]), why: text(&one["why"]) }).collect()
    }
}
