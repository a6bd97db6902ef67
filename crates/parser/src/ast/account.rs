//! Accounts, roles and privileges.
use super::{Expr, Ident, ObjectName};

/// `'user'@'host'`; `host` is `%` when none was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccountName<'a> {
    pub user: &'a str,
    pub host: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum User<'a> {
    Named(AccountName<'a>),
    /// `CURRENT_USER`, `CURRENT_USER()`, and `USER()` in ALTER USER.
    Current,
}

#[derive(Debug, Clone, Copy)]
pub struct UserDefinition<'a> {
    pub user: User<'a>,
    pub authentication: Option<AuthenticationClause<'a>>,
    /// ALTER USER's DISCARD OLD PASSWORD.
    pub discard_old_password: bool,
    /// Multi-factor clauses (`AND IDENTIFIED ..`, `ADD 2 FACTOR ..`) as text; `None` without.
    pub other_factors: Option<&'a str>,
}

/// IDENTIFIED ..
#[derive(Debug, Clone, Copy)]
pub struct AuthenticationClause<'a> {
    pub plugin: Option<&'a str>,
    /// `BY 'password'`
    pub password: Option<&'a [u8]>,
    pub random_password: bool,
    /// `AS 'stored hash'`
    pub hash: Option<&'a [u8]>,
    /// `REPLACE 'current password'`
    pub replace: Option<&'a [u8]>,
    pub retain_current: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum TlsRequirement<'a> {
    None,
    Ssl,
    X509,
    /// Any of CIPHER, ISSUER, SUBJECT.
    Specified {
        cipher: Option<&'a str>,
        issuer: Option<&'a str>,
        subject: Option<&'a str>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceLimitKind {
    QueriesPerHour,
    UpdatesPerHour,
    ConnectionsPerHour,
    UserConnections,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResourceLimit {
    pub kind: ResourceLimitKind,
    pub value: u64,
}

/// The clauses after the list of users, in the order written.
#[derive(Debug, Clone, Copy)]
pub enum AccountOption<'a> {
    Require(TlsRequirement<'a>),
    Resource(ResourceLimit),
    PasswordExpire,
    PasswordExpireDefault,
    PasswordExpireNever,
    PasswordExpireInterval(u64),
    /// `None` is DEFAULT.
    PasswordHistory(Option<u64>),
    /// `None` is DEFAULT.
    PasswordReuseInterval(Option<u64>),
    /// `Some(true)`: PASSWORD REQUIRE CURRENT; `Some(false)`: OPTIONAL; `None`: DEFAULT.
    PasswordRequireCurrent(Option<bool>),
    FailedLoginAttempts(u64),
    /// `None` is UNBOUNDED.
    PasswordLockTime(Option<u64>),
    AccountLock(bool),
    Comment(&'a str),
    Attribute(&'a str),
}

#[derive(Debug, Clone, Copy)]
pub struct CreateUser<'a> {
    pub if_not_exists: bool,
    pub users: &'a [UserDefinition<'a>],
    pub default_roles: &'a [AccountName<'a>],
    pub options: &'a [AccountOption<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct AlterUser<'a> {
    pub if_exists: bool,
    pub users: &'a [UserDefinition<'a>],
    /// `ALTER USER u DEFAULT ROLE ..`
    pub default_role: Option<SetRole<'a>>,
    pub options: &'a [AccountOption<'a>],
}

/// DROP USER and DROP ROLE.
#[derive(Debug, Clone, Copy)]
pub struct DropUser<'a> {
    pub if_exists: bool,
    pub users: &'a [User<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct CreateRole<'a> {
    pub if_not_exists: bool,
    pub roles: &'a [AccountName<'a>],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrivilegeKind<'a> {
    All,
    Alter,
    AlterRoutine,
    Create,
    CreateRole,
    CreateRoutine,
    CreateTablespace,
    CreateTemporaryTables,
    CreateUser,
    CreateView,
    Delete,
    Drop,
    DropRole,
    Event,
    Execute,
    File,
    GrantOption,
    Index,
    Insert,
    LockTables,
    Process,
    Proxy,
    References,
    Reload,
    ReplicationClient,
    ReplicationSlave,
    Select,
    ShowDatabases,
    ShowView,
    Shutdown,
    Super,
    Trigger,
    Update,
    Usage,
    /// A dynamic privilege such as `BACKUP_ADMIN`, as written.
    Dynamic(&'a str),
}

#[derive(Debug, Clone, Copy)]
pub struct Privilege<'a> {
    pub kind: PrivilegeKind<'a>,
    /// Empty means the whole object.
    pub columns: &'a [Ident<'a>],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// `TABLE` or nothing.
    Table,
    Function,
    Procedure,
    Library,
}

#[derive(Debug, Clone, Copy)]
pub enum GrantTarget<'a> {
    /// `*.*`
    Global,
    /// `*`: the current database.
    CurrentDatabase,
    /// `database.*`; the name may hold `_` and `%` wildcards.
    Database(Ident<'a>),
    Object {
        kind: ObjectKind,
        name: ObjectName<'a>,
    },
    /// `GRANT PROXY ON user`
    Proxy(User<'a>),
}

#[derive(Debug, Clone, Copy)]
pub struct Grant<'a> {
    pub privileges: &'a [Privilege<'a>],
    pub target: GrantTarget<'a>,
    pub users: &'a [User<'a>],
    pub grant_option: bool,
    /// `AS user WITH ROLE ..` as text; `None` without.
    pub as_clause: Option<&'a str>,
}

#[derive(Debug, Clone, Copy)]
pub struct GrantRole<'a> {
    pub roles: &'a [AccountName<'a>],
    pub users: &'a [User<'a>],
    pub admin_option: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Revoke<'a> {
    pub if_exists: bool,
    pub ignore_unknown_user: bool,
    pub privileges: &'a [Privilege<'a>],
    /// `None` for `REVOKE ALL PRIVILEGES, GRANT OPTION FROM ..`.
    pub target: Option<GrantTarget<'a>>,
    pub users: &'a [User<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct RevokeRole<'a> {
    pub if_exists: bool,
    pub ignore_unknown_user: bool,
    pub roles: &'a [AccountName<'a>],
    pub users: &'a [User<'a>],
}

#[derive(Debug, Clone, Copy)]
pub enum SetRole<'a> {
    Default,
    None,
    All,
    AllExcept(&'a [AccountName<'a>]),
    Roles(&'a [AccountName<'a>]),
}

#[derive(Debug, Clone, Copy)]
pub struct SetDefaultRole<'a> {
    pub role: SetRole<'a>,
    pub users: &'a [User<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct SetPassword<'a> {
    /// `None` is the current user.
    pub user: Option<User<'a>>,
    /// `None` is TO RANDOM.
    pub password: Option<Expr<'a>>,
    pub replace: Option<&'a [u8]>,
    pub retain_current: bool,
    /// The old form `= PASSWORD('..')`.
    pub by_function: bool,
}

impl<'a> Grant<'a> {
    /// Whether the target is a routine.
    pub fn is_routine(&self) -> bool {
        matches!(self.target, GrantTarget::Object { kind: ObjectKind::Function | ObjectKind::Procedure, .. })
    }

    /// The object that a single-object grant names.
    pub fn object(&self) -> Option<ObjectName<'a>> {
        match self.target {
            GrantTarget::Object { name, .. } => Some(name),
            _ => None,
        }
    }
}
