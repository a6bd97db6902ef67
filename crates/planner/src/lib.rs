//! Names to columns, expressions to types, tables to access paths: from syntax tree to physical plan.
