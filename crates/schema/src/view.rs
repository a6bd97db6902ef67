//! The descriptor of a view.
//!
//! Invariant: the query is the text that MySQL keeps: every name with what it belongs to, `*` written out, so that it
//! means the same in every database, mode and character set. What its columns are is found out when it is used, since
//! the tables below may change.

/// How the rows of a view come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}

/// `WITH CHECK OPTION`: what is written through the view must be seen through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewCheck {
    /// Also through the views below.
    Cascaded,
    /// Those below decide for themselves.
    Local,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewDef {
    pub database: String,
    pub name: String,
    /// Names of the columns, where the definition lists them.
    pub column_names: Vec<String>,
    pub query: String,
    pub algorithm: ViewAlgorithm,
    /// SQL SECURITY INVOKER: whoever uses the view needs the privileges that its query needs.
    pub as_invoker: bool,
    pub definer_user: String,
    pub definer_host: String,
    pub check: Option<ViewCheck>,
    /// Rows can be changed through it, as far as the definition tells.
    pub is_updatable: bool,
    /// Database and name of the tables and views that the query names.
    pub uses: Vec<(String, String)>,
    /// Of the session that defined it; clients are told.
    pub charset_client: String,
    pub collation_connection: String,
    /// Seconds since 1970 of CREATE VIEW.
    pub created_at: i64,
}

impl ViewAlgorithm {
    /// The word in CREATE VIEW.
    pub fn word(self) -> &'static str {
        match self {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        }
    }
}

impl ViewCheck {
    /// The word in CREATE VIEW.
    pub fn word(self) -> &'static str {
        match self {
            ViewCheck::Cascaded => "CASCADED",
            ViewCheck::Local => "LOCAL",
        }
    }
}
