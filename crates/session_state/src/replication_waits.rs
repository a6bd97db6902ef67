//! Waits of a session for what replicas apply: WAIT_FOR_EXECUTED_GTID_SET and SOURCE_POS_WAIT.
//!
//! Invariant: what was waited for can be read when the wait is over. Called by `SharedState`, which sees to KILL, and by
//! statements that show what is applied.
use std::time::Duration;

use binlog::GtidSet;
use datum::{ErrorCode, SqlError, Value, error_code};
use env::sync::Waiter;
use instance::replication::{Channel, Part, Until};
use instance::{ConnectionId, Instance};

use crate::guard::within;

const ER_REPLICA_MULTIPLE_CHANNELS_CMD: ErrorCode = ErrorCode::new(
    3079,
    "HY000",
    "Multiple channels exist on the replica. Please provide channel name as an argument.",
);
const ER_CANT_WAIT_FOR_EXECUTED_GTID_SET_WHILE_OWNING_A_GTID: ErrorCode = ErrorCode::new(
    3173,
    "HY000",
    "The client holds ownership of the GTID %s. Therefore, WAIT_FOR_EXECUTED_GTID_SET cannot wait for this GTID.",
);

/// 0 when all of the set is executed, 1 when the time is over before.
pub async fn wait_for_identifiers(
    instance: &Instance,
    session: ConnectionId,
    text: &str,
    timeout: Option<Duration>,
) -> Result<Value, SqlError> {
    let malformed = || error_code::ER_MALFORMED_GTID_SET_SPECIFICATION.with(&[&text]);
    let set = GtidSet::parse(text).ok_or_else(malformed)?;
    let owned = instance.replication.owned.held_by(session);
    if let Some(own) =
        owned.iter().filter_map(|name| binlog::Gtid::parse(name)).find(|own| set.contains(*own))
    {
        return Err(ER_CANT_WAIT_FOR_EXECUTED_GTID_SET_WHILE_OWNING_A_GTID.with(&[&own]));
    }
    if let Some(log) = instance.binary_log() {
        log.catch_up().await.map_err(|error| log_error(&error))?;
    }
    let waiting = async {
        loop {
            let applied = instance.replication.progress.register();
            let logged = instance.binary_log().map(|log| log.progress());
            if set.is_subset_of(&instance.identifiers().0) {
                return;
            }
            either(applied, logged).await;
        }
    };
    let is_reached = in_time(instance, timeout, waiting).await.is_some();
    settle_applied(instance).await;
    Ok(Value::Int(i64::from(!is_reached)))
}

/// How often the applier has moved on until it was at the place; -1 when the time is over before, NULL without an applier.
pub async fn wait_for_position(
    instance: &Instance,
    (file, position): (String, u64),
    timeout: Option<Duration>,
    channel: Option<&str>,
) -> Result<Value, SqlError> {
    let replication = &instance.replication;
    let found = match channel {
        Some(name) => replication.channel(name),
        None if replication.channels().len() > 1 => return Err(ER_REPLICA_MULTIPLE_CHANNELS_CMD.plain()),
        None => replication.channels().pop(),
    };
    let has_number = file.rsplit_once('.').is_some_and(|(_, number)| number.parse::<u64>().is_ok());
    let Some(channel) = found.filter(|_| has_number) else { return Ok(Value::Null) };
    let wanted = Until::Position { file, position };
    let waiting = async {
        let mut moves = 0;
        while is_applying(&channel) {
            let applied = replication.progress.register();
            if wanted.is_reached(&channel.applied(), GtidSet::new) {
                return Some(moves);
            }
            if is_applying(&channel) {
                applied.await;
                moves += 1;
            }
        }
        None
    };
    let answer = in_time(instance, timeout, waiting).await;
    settle_applied(instance).await;
    Ok(match answer {
        Some(moves) => moves.map_or(Value::Null, Value::Int),
        None => Value::Int(-1),
    })
}

fn is_applying(channel: &Channel) -> bool {
    channel.is_running(Part::Applier)
}

/// `None` when the time is over before.
async fn in_time<T>(
    instance: &Instance,
    timeout: Option<Duration>,
    work: impl Future<Output = T>,
) -> Option<T> {
    match timeout {
        Some(limit) => within(instance.timer(), limit, work).await,
        None => Some(work.await),
    }
}

/// Until one of them is woken.
async fn either(one: Waiter<'_>, other: Option<Waiter<'_>>) {
    let mut one = std::pin::pin!(one);
    let mut other = std::pin::pin!(other);
    std::future::poll_fn(|context| {
        let is_woken = one.as_mut().poll(context).is_ready()
            || other.as_mut().as_pin_mut().is_some_and(|other| other.poll(context).is_ready());
        if is_woken { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await
}

/// Nobody waits for the commits of an applier: what is said to be applied can be read when this is over. A log that has failed
/// ends that for good, and whoever reads is told; what the channels say of it is shown all the same.
pub async fn settle_applied(instance: &Instance) {
    if !instance.replication.channels().is_empty() {
        let _ = instance.engine().settle_commits().await;
    }
}

/// An error of the binary log.
pub fn log_error(error: &source::SourceError) -> SqlError {
    error_code::ER_INTERNAL_ERROR.with(&[&error.to_string()])
}
