//! SQL values and types: MySQL's domains, conversions, comparisons and the order-preserving key encoding.
