//! B+trees over buffered pages. Tree code never blocks: a missing page is a return value.
