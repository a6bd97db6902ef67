//! Table maintenance reads what it answers about: a damaged index is found, checksums are those of MySQL 9.7.
mod support;

use engine::{AccessMode, Direction, EntryBatch, Isolation, KeyRange, ReadMode, WaitPolicy};
use support::{Client, new_server};

fn run(test: impl AsyncFnOnce(&mut Client)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let mut client = Client::connect(&new_server().await).await;
        client.query("create database d; use d").await;
        test(&mut client).await;
    });
}

/// Removes the first entry of an index behind the table's back.
async fn damage(client: &Client, table: &str, index: usize) {
    let server = client.session.instance().clone();
    let table = server.catalog().table("d", table).expect("the table exists");
    let tree = table.layout().indexes[index].tree;
    let mut transaction = server.engine().begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
    let mut cursor = transaction.scan(tree, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
    let mut batch = EntryBatch::default();
    cursor.next_batch(&mut transaction, 1, &mut batch).await.expect("the index can be read");
    let key = batch.iter().next().expect("an entry").0.to_vec();
    transaction.delete(tree, &key, WaitPolicy::NoWait).await.expect("the entry can be deleted");
    transaction.commit().await.expect("it commits");
}

#[test]
fn check_compares_each_index_with_the_rows() {
    run(async |client| {
        client
            .query("create table t (a int primary key, b int, c varchar(9), key (b), unique key (c))")
            .await;
        client.query("insert into t values (1, 1, 'x'), (2, 1, null), (3, null, 'y'), (4, 7, null)").await;
        let sound = "Table\tOp\tMsg_type\tMsg_text\nd.t\tcheck\tstatus\tOK\n";
        assert_eq!(client.query("check table t").await, sound);
        damage(client, "t", 2).await;
        assert_eq!(
            client.query("check table t").await,
            "Table\tOp\tMsg_type\tMsg_text\n\
             d.t\tcheck\tWarning\tInnoDB: Index 'b' contains 3 entries, should be 4.\n\
             d.t\tcheck\terror\tCorrupt\n"
        );
        let rebuilt = client.query("optimize table t").await;
        assert!(rebuilt.ends_with("d.t\toptimize\tstatus\tOK\n"), "{rebuilt}");
        assert_eq!(client.query("check table t").await, sound, "the rebuilt table has new indexes");
        assert_eq!(client.query("select count(*) c from t").await, "c\n4\n");
    });
}
