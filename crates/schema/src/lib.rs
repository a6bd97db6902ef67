//! Immutable descriptors of databases, tables, columns and indexes, and their stored form.
