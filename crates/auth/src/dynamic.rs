//! The dynamic privileges: they hold everywhere or not at all, and each is passed on with its own grant option.
//!
//! Invariant: a privilege's bit never changes, because sets are stored as their bits; the declarations are in the
//! order of SHOW GRANTS, which is that of the names. Read by everything that grants, checks or shows privileges.

use std::ops::{BitOr, BitOrAssign};

macro_rules! dynamic_privileges {
    ($($name:ident = $bit:literal, $text:literal;)*) => {
        /// A right that GRANT can give on `*.*` only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum DynamicPrivilege { $($name,)* }

        impl DynamicPrivilege {
            /// In the order of SHOW GRANTS.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            const fn bit(self) -> u64 {
                match self { $(Self::$name => 1 << $bit,)* }
            }
        }
    };
}

dynamic_privileges! {
    AllowNonexistentDefiner = 0, "ALLOW_NONEXISTENT_DEFINER";
    ApplicationPasswordAdmin = 1, "APPLICATION_PASSWORD_ADMIN";
    AuditAbortExempt = 2, "AUDIT_ABORT_EXEMPT";
    AuditAdmin = 3, "AUDIT_ADMIN";
    AuthenticationPolicyAdmin = 4, "AUTHENTICATION_POLICY_ADMIN";
    BackupAdmin = 5, "BACKUP_ADMIN";
    BinlogAdmin = 6, "BINLOG_ADMIN";
    BinlogEncryptionAdmin = 7, "BINLOG_ENCRYPTION_ADMIN";
    CloneAdmin = 8, "CLONE_ADMIN";
    ConnectionAdmin = 9, "CONNECTION_ADMIN";
    CreateSpatialReferenceSystem = 10, "CREATE_SPATIAL_REFERENCE_SYSTEM";
    EncryptionKeyAdmin = 11, "ENCRYPTION_KEY_ADMIN";
    FirewallExempt = 12, "FIREWALL_EXEMPT";
    FlushOptimizerCosts = 13, "FLUSH_OPTIMIZER_COSTS";
    FlushPrivileges = 14, "FLUSH_PRIVILEGES";
    FlushStatus = 15, "FLUSH_STATUS";
    FlushTables = 16, "FLUSH_TABLES";
    FlushUserResources = 17, "FLUSH_USER_RESOURCES";
    GroupReplicationAdmin = 18, "GROUP_REPLICATION_ADMIN";
    GroupReplicationStream = 19, "GROUP_REPLICATION_STREAM";
    InnodbRedoLogArchive = 20, "INNODB_REDO_LOG_ARCHIVE";
    InnodbRedoLogEnable = 21, "INNODB_REDO_LOG_ENABLE";
    ManageDataMaskingPolicy = 22, "MANAGE_DATA_MASKING_POLICY";
    OptimizeLocalTable = 23, "OPTIMIZE_LOCAL_TABLE";
    PasswordlessUserAdmin = 24, "PASSWORDLESS_USER_ADMIN";
    PersistRoVariablesAdmin = 25, "PERSIST_RO_VARIABLES_ADMIN";
    ReplicationApplier = 26, "REPLICATION_APPLIER";
    ReplicationSlaveAdmin = 27, "REPLICATION_SLAVE_ADMIN";
    ResourceGroupAdmin = 28, "RESOURCE_GROUP_ADMIN";
    ResourceGroupUser = 29, "RESOURCE_GROUP_USER";
    RoleAdmin = 30, "ROLE_ADMIN";
    SensitiveVariablesObserver = 31, "SENSITIVE_VARIABLES_OBSERVER";
    ServiceConnectionAdmin = 32, "SERVICE_CONNECTION_ADMIN";
    SessionVariablesAdmin = 33, "SESSION_VARIABLES_ADMIN";
    SetAnyDefiner = 34, "SET_ANY_DEFINER";
    ShowRoutine = 35, "SHOW_ROUTINE";
    SystemUser = 36, "SYSTEM_USER";
    SystemVariablesAdmin = 37, "SYSTEM_VARIABLES_ADMIN";
    TableEncryptionAdmin = 38, "TABLE_ENCRYPTION_ADMIN";
    TelemetryLogAdmin = 39, "TELEMETRY_LOG_ADMIN";
    TransactionGtidTag = 40, "TRANSACTION_GTID_TAG";
    XaRecoverAdmin = 41, "XA_RECOVER_ADMIN";
}

impl DynamicPrivilege {
    /// From the word of a GRANT statement, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|privilege| privilege.name().eq_ignore_ascii_case(name))
    }
}

/// Several dynamic privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DynamicSet(u64);

impl DynamicSet {
    pub const NONE: Self = Self(0);

    pub fn all() -> Self {
        Self::of(DynamicPrivilege::ALL)
    }

    pub fn of(privileges: &[DynamicPrivilege]) -> Self {
        privileges.iter().fold(Self::NONE, |set, &privilege| set | privilege.into())
    }

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// What both have.
    #[must_use]
    pub fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = DynamicPrivilege> {
        DynamicPrivilege::ALL.iter().copied().filter(move |&privilege| self.has(privilege.into()))
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Bits of privileges that this version does not know are dropped: they can permit nothing here.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits & Self::all().0)
    }
}

impl From<DynamicPrivilege> for DynamicSet {
    fn from(privilege: DynamicPrivilege) -> Self {
        Self(privilege.bit())
    }
}

impl BitOr for DynamicSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for DynamicSet {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_distinct_and_names_sorted() {
        assert_eq!(DynamicSet::all().bits().count_ones() as usize, DynamicPrivilege::ALL.len());
        let names: Vec<_> = DynamicPrivilege::ALL.iter().map(|privilege| privilege.name()).collect();
        assert!(names.is_sorted());
        assert_eq!(DynamicPrivilege::from_name("role_admin"), Some(DynamicPrivilege::RoleAdmin));
    }
}
