//! An option as it was written somewhere.

/// An option as it was written somewhere.
#[derive(Clone, Debug)]
pub struct Given {
    pub name: String,
    pub value: Option<String>,
    pub place: String,
}
