//! Two servers of which one is the replica of the other.
use std::time::{Duration, Instant};

use super::{RawClient, TestServer};

pub const SOURCE: &[&str] = &["--log-bin", "--gtid-mode=ON", "--server-id=1"];
pub const REPLICA: &[&str] = &["--log-bin", "--gtid-mode=ON", "--server-id=2"];
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The first value of an answer.
pub fn one(client: &mut RawClient, sql: &str) -> String {
    let rows = client.query(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows[0][0].clone().unwrap_or_default()
}

/// SHOW REPLICA STATUS.
pub fn status(client: &mut RawClient) -> Vec<Option<String>> {
    client.query("show replica status").expect("a row").remove(0)
}

/// Makes a server the replica of another, by identifiers.
pub fn follow(replica: &TestServer, source: &TestServer) {
    let mut client = replica.log_in();
    client.execute("stop replica").expect("a replica that runs or not");
    let change = format!(
        "change replication source to source_host = '127.0.0.1', source_port = {}, source_user = 'root', \
         source_connect_retry = 1, source_retry_count = 0, source_auto_position = 1",
        source.port
    );
    client.execute(&change).expect("a source");
    client.execute("start replica").expect("a start");
}

/// Until the replica has all that the source has.
pub fn wait_until_equal(source: &TestServer, replica: &TestServer) {
    let (mut from, mut to) = (source.log_in(), replica.log_in());
    let wanted = one(&mut from, "select @@global.gtid_executed");
    let deadline = Instant::now() + PATIENCE;
    while one(&mut to, &format!("select gtid_subset('{wanted}', @@global.gtid_executed)")) != "1" {
        let now = status(&mut to);
        assert_eq!(now[36].as_deref(), Some("0"), "the applier has stopped: {:?}", now[37]);
        assert!(Instant::now() < deadline, "the replica does not follow: {now:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
