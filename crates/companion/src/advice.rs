//! What to do next, behind an error: servers and kernels say what is wrong, and seldom that.
//!
//! Invariant: the message itself is printed as it came; a line of advice follows where one is known. Used by all commands.

/// What a message has in it, and what to do then. The first that fits counts.
const ADVICE: [(&str, &str); 20] = [
    (
        "Connection refused",
        "look whether the server is up and that is its port; `evenkeel ping --dsn DSN --wait 60` waits for it",
    ),
    ("failed to lookup address", "no such host: write its name as DNS knows it, or its address"),
    (
        "ERROR 1045",
        "check user and password of the DSN: mysql://user:password@host:port; special signs as %XX (@ is %40)",
    ),
    ("ERROR 1698", "this account logs in through the socket only: mysql://root@localhost?socket=/path"),
    (
        "ERROR 1049",
        "load first: `--load` behind bench run or compare, or `evenkeel bench load WORKLOAD --dsn DSN`; or name another database in the DSN",
    ),
    (
        "ERROR 1146",
        "load first, with the same --tables, --rows and --scale: `--load`, or `evenkeel bench load`",
    ),
    ("ERROR 1044", "give the account its rights: GRANT ALL ON database.* TO user"),
    ("ERROR 1142", "give the account its rights: GRANT ALL ON database.* TO user"),
    ("ERROR 1227", "give the account the right that is named: GRANT .. ON *.* TO user"),
    ("ERROR 1040", "SET GLOBAL max_connections higher, or take fewer --connections"),
    ("ERROR 1461", "SET GLOBAL max_prepared_stmt_count higher, or send statements as text: --text"),
    ("ERROR 1114", "the server's disk or tablespace is full: make room there"),
    ("Too many open files", "raise the limit of this program: ulimit -n 65536"),
    (
        "Cannot assign requested address",
        "no port is left for more connections to one address: take fewer, or several addresses",
    ),
    ("No space left", "make room there, or write to another place"),
    (
        "No such file",
        "look at the path; folders are not made, and files come from `bench run --out` and `record`",
    ),
    ("Permission denied", "this user may not go there: choose another place, or run as its owner"),
    (
        "is no recording and no run",
        "`evenkeel record --dsn DSN FILE` makes a recording, `bench run --out FILE` a run",
    ),
    ("Address already in use", "another program has the port: --port=0 takes a free one"),
    ("Connection reset", "the server ended or cut the connection: its error log says why"),
];

/// The line of advice for a message, if one is known.
fn advice(message: &str) -> Option<&'static str> {
    ADVICE.iter().find(|(sign, _)| message.contains(sign)).map(|(_, what)| *what)
}

/// Tells of a trouble, and what to do.
pub fn tell(message: &str) {
    eprintln!("evenkeel: {message}");
    if let Some(what) = advice(message) {
        eprintln!("  {what}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_users_meet_first_has_its_advice() {
        let refused = "mysql://root@127.0.0.1:1: connection: Connection refused (os error 111)";
        assert!(advice(refused).is_some_and(|what| what.contains("ping")));
        assert!(
            advice("ERROR 1146 (42S02): Table 'a.b' doesn't exist")
                .is_some_and(|what| what.contains("--load"))
        );
        assert_eq!(advice("oltp has no mix foo; see `evenkeel bench list`"), None);
    }
}
