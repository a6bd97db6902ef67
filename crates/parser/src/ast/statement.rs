//! The statement: one variant for each family.
use super::*;

/// One statement with what the session needs to know about its text.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    pub kind: StatementKind<'a>,
    /// From the first token to the last, without the `;`.
    pub span: Span,
    /// The hint comments of all its query blocks.
    pub hints: &'a [crate::hints::HintText<'a>],
}

#[derive(Debug, Clone, Copy)]
pub enum StatementKind<'a> {
    /// Nothing but white space and comments (error 1065 ER_EMPTY_QUERY when executed alone).
    Empty,
    Query(&'a Query<'a>),
    Insert(&'a Insert<'a>),
    Update(&'a Update<'a>),
    Delete(&'a Delete<'a>),
    LoadData(&'a LoadData<'a>),
    Do(&'a [Expr<'a>]),
    Call {
        procedure: ObjectName<'a>,
        arguments: &'a [Expr<'a>],
    },
    Handler(&'a Handler<'a>),

    CreateTable(&'a CreateTable<'a>),
    AlterTable(&'a AlterTable<'a>),
    DropTable(DropTable<'a>),
    RenameTable(RenameTable<'a>),
    TruncateTable(TruncateTable<'a>),
    CreateIndex(&'a CreateIndex<'a>),
    DropIndex(&'a DropIndex<'a>),
    CreateDatabase(CreateDatabase<'a>),
    AlterDatabase(AlterDatabase<'a>),
    DropDatabase(DropDatabase<'a>),
    CreateView(&'a CreateView<'a>),
    /// `DROP VIEW`
    DropView(DropTable<'a>),
    CreateProgram(&'a CreateProgram<'a>),
    AlterRoutine(&'a AlterRoutine<'a>),
    AlterEvent(&'a AlterEvent<'a>),
    DropStored(DropStored<'a>),

    Use(Ident<'a>),
    Set(SetStatement<'a>),
    SetTransaction(TransactionCharacteristic),
    StartTransaction(TransactionCharacteristic),
    /// `BEGIN`
    Begin,
    Commit(TransactionEnd),
    Rollback(TransactionEnd),
    RollbackToSavepoint(Ident<'a>),
    Savepoint(Ident<'a>),
    ReleaseSavepoint(Ident<'a>),
    Xa(XaStatement<'a>),
    LockTables(&'a [LockTable<'a>]),
    UnlockTables,
    /// CLONE LOCAL DATA DIRECTORY: the new directory.
    CloneLocal(&'a str),
    /// BACKUP INSTANCE: the backup that it continues, and how many bytes a second it may take (0: no bound).
    BackupInstance {
        base: Option<&'a str>,
        bytes_per_second: u64,
    },
    RestoreTable(&'a RestoreTable<'a>),
    LockInstance,
    UnlockInstance,

    Show(&'a Show<'a>),
    Explain(&'a Explain<'a>),
    Help(&'a str),
    Kill(&'a Kill<'a>),
    Flush(Flush<'a>),
    MaintainTable(&'a MaintainTable<'a>),
    Prepare {
        name: Ident<'a>,
        source: PreparedSource<'a>,
    },
    Execute {
        name: Ident<'a>,
        using: &'a [Ident<'a>],
    },
    Deallocate(Ident<'a>),
    Signal(&'a SignalStatement<'a>),
    GetDiagnostics(&'a Diagnostics<'a>),
    ChangeReplicationSource(&'a ChangeReplicationSource<'a>),
    ChangeReplicationFilter(&'a ChangeReplicationFilter<'a>),
    ReplicaControl(&'a ReplicaControl<'a>),
    PurgeBinaryLogs(&'a PurgeBinaryLogs<'a>),
    /// RESET BINARY LOGS AND GTIDS: the number of the first file.
    ResetBinaryLogs(Option<u64>),
    Shutdown,
    Restart,
    /// RESET PERSIST; without a name everything.
    ResetPersist {
        name: Option<Ident<'a>>,
        if_exists: bool,
    },
    AlterInstance(InstanceAction<'a>),

    CreateUser(&'a CreateUser<'a>),
    AlterUser(&'a AlterUser<'a>),
    DropUser(DropUser<'a>),
    RenameUser(&'a [(User<'a>, User<'a>)]),
    CreateRole(CreateRole<'a>),
    DropRole(DropUser<'a>),
    Grant(&'a Grant<'a>),
    GrantRole(&'a GrantRole<'a>),
    Revoke(&'a Revoke<'a>),
    RevokeRole(&'a RevokeRole<'a>),
    SetRole(SetRole<'a>),
    SetDefaultRole(&'a SetDefaultRole<'a>),
    SetPassword(&'a SetPassword<'a>),

    Unsupported(Unsupported<'a>),
}

/// A statement that was recognised by its leading words only: to execute it is error 1235 with the family's name.
/// What ALTER INSTANCE is to do.
#[derive(Debug, Clone, Copy)]
pub enum InstanceAction<'a> {
    /// Certificate and key are read again.
    ReloadTls {
        channel: Option<Ident<'a>>,
        no_rollback: bool,
    },
    ReloadKeyring,
    RotateInnodbKey,
    RotateBinlogKey,
    /// Makes a damaged page again from backup and log, which is ours.
    RepairPage(u64),
    /// `ENABLE` or `DISABLE INNODB REDO_LOG`.
    RedoLog {
        enable: bool,
    },
}

#[derive(Clone, Copy)]
pub struct Unsupported<'a> {
    /// For instance `CREATE TRIGGER`.
    pub family: &'static str,
    /// The statement's text.
    pub text: &'a [u8],
}

impl std::fmt::Debug for Unsupported<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {:?}", self.family, String::from_utf8_lossy(self.text))
    }
}
