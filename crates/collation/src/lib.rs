//! Character sets and collations with MySQL's ids, names and orders.
