//! From statement text to rows or an error: session state, variables, transactions, SHOW and the plan cache.
