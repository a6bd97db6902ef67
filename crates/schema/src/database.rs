//! A database (schema): a name space with a default collation.
use collation::CollationId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseDef {
    pub name: String,
    /// The default of tables created in it.
    pub collation: CollationId,
}
