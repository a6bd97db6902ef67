//! Accounts, passwords and the two MySQL authentication methods.
