//! Session state that changed during a statement, in the form that an OK packet carries.
//!
//! Each entry is `kind: u8, length, data`. Called by `server::connection` with what the session reports.

use crate::field::put_length_encoded_bytes;

const SYSTEM_VARIABLE: u8 = 0;
const SCHEMA: u8 = 1;
const STATE_CHANGE: u8 = 2;

/// Collects the changes of one statement.
#[derive(Clone, Debug, Default)]
pub struct SessionChanges {
    encoded: Vec<u8>,
}

impl SessionChanges {
    pub fn is_empty(&self) -> bool {
        self.encoded.is_empty()
    }

    /// For `OkReply::session_changes`.
    pub fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    pub fn clear(&mut self) {
        self.encoded.clear();
    }

    pub fn system_variable(&mut self, name: &str, value: &[u8]) {
        let mut data = Vec::with_capacity(name.len() + value.len() + 4);
        put_length_encoded_bytes(&mut data, name.as_bytes());
        put_length_encoded_bytes(&mut data, value);
        self.entry(SYSTEM_VARIABLE, &data);
    }

    pub fn schema(&mut self, name: &[u8]) {
        self.text_entry(SCHEMA, name);
    }

    /// For sessions that only want to know that something changed.
    pub fn state_change(&mut self) {
        self.text_entry(STATE_CHANGE, b"1");
    }

    fn text_entry(&mut self, kind: u8, text: &[u8]) {
        let mut data = Vec::with_capacity(text.len() + 3);
        put_length_encoded_bytes(&mut data, text);
        self.entry(kind, &data);
    }

    fn entry(&mut self, kind: u8, data: &[u8]) {
        self.encoded.push(kind);
        put_length_encoded_bytes(&mut self.encoded, data);
    }
}
