//! The number of a connection.

/// Numbers connections from 1 upwards; the `Id` of SHOW PROCESSLIST and the argument of KILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);
