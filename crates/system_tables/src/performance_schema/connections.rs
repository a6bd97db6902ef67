//! Accounts, users and hosts: their connections, and the figures of their sessions, living and ended.
use std::collections::BTreeMap;

use catalog::Viewer;
use datum::Value;
use instance::{ConnectionId, Instance, ProcessEntry};
use telemetry::{AccountFigures, ThreadFigures};

use crate::shape::Shape;
use crate::table::{Rows, Table};

pub(super) const TABLES: &[Table] = &[
    Table::summary(ACCOUNTS, accounts, |instance| instance.telemetry.accounts.clear()),
    Table::summary(USERS, users, |instance| instance.telemetry.accounts.clear()),
    Table::summary(HOSTS, hosts, |instance| instance.telemetry.accounts.clear()),
    Table::events(CONNECT_ATTRIBUTES, |instance, _| attributes(instance, |_| true)),
    Table::events(ACCOUNT_CONNECT_ATTRIBUTES, own_attributes),
];

const ACCOUNTS: Shape = Shape {
    name: "accounts",
    columns: "USER char(32)?; HOST char(255)?; CURRENT_CONNECTIONS bigint; TOTAL_CONNECTIONS bigint; \
        MAX_SESSION_CONTROLLED_MEMORY bigint unsigned; MAX_SESSION_TOTAL_MEMORY bigint unsigned",
};
const USERS: Shape = Shape {
    name: "users",
    columns: "USER char(32)?; CURRENT_CONNECTIONS bigint; TOTAL_CONNECTIONS bigint; MAX_SESSION_CONTROLLED_MEMORY \
        bigint unsigned; MAX_SESSION_TOTAL_MEMORY bigint unsigned",
};
const HOSTS: Shape = Shape {
    name: "hosts",
    columns: "HOST char(255)?; CURRENT_CONNECTIONS bigint; TOTAL_CONNECTIONS bigint; MAX_SESSION_CONTROLLED_MEMORY \
        bigint unsigned; MAX_SESSION_TOTAL_MEMORY bigint unsigned",
};
const CONNECT_ATTRIBUTES: Shape = Shape {
    name: "session_connect_attrs",
    columns: "PROCESSLIST_ID bigint unsigned; ATTR_NAME varchar(32); ATTR_VALUE varchar(1024)?; ORDINAL_POSITION int?",
};
const ACCOUNT_CONNECT_ATTRIBUTES: Shape = Shape {
    name: "session_account_connect_attrs",
    columns: "PROCESSLIST_ID bigint unsigned; ATTR_NAME varchar(32); ATTR_VALUE varchar(1024)?; ORDINAL_POSITION int?",
};

/// Present and all connections, by what `key` makes of user and host.
fn connections(
    instance: &Instance,
    key: fn(String, String) -> Vec<String>,
) -> BTreeMap<Vec<String>, (u64, u64)> {
    let mut sums = BTreeMap::new();
    for ((user, host), figures) in instance.telemetry.accounts.all() {
        let (current, total) = sums.entry(key(user, host)).or_insert((0, 0));
        *current += figures.current;
        *total += figures.total;
    }
    sums
}

fn rows(sums: BTreeMap<Vec<String>, (u64, u64)>) -> Rows {
    let row = |(key, (current, total)): (Vec<String>, (u64, u64))| {
        let mut row: Vec<Value> = key.into_iter().map(Value::bytes).collect();
        row.extend([Value::Int(current as i64), Value::Int(total as i64)]);
        row.extend(crate::values::zeros(2));
        row
    };
    sums.into_iter().map(row).collect()
}

fn accounts(instance: &Instance, _: &Viewer) -> Rows {
    rows(connections(instance, |user, host| vec![user, host]))
}

fn users(instance: &Instance, _: &Viewer) -> Rows {
    rows(connections(instance, |user, _| vec![user]))
}

fn hosts(instance: &Instance, _: &Viewer) -> Rows {
    rows(connections(instance, |_, host| vec![host]))
}

/// The figures of each account's sessions, summed by what `key` makes of user and host.
fn summed(instance: &Instance, key: fn(&str, &str) -> Vec<String>) -> BTreeMap<Vec<String>, ThreadFigures> {
    let mut sums: BTreeMap<Vec<String>, ThreadFigures> = BTreeMap::new();
    for ((user, host), AccountFigures { ended, .. }) in instance.telemetry.accounts.all() {
        sums.entry(key(&user, &host)).or_default().merge(&ended);
    }
    for entry in instance.processes().all() {
        let (user, host) = (entry.activity().user, entry.client_host());
        sums.entry(key(&user, &host)).or_default().merge(&entry.figures.figures());
    }
    sums
}

fn keyed(sums: BTreeMap<Vec<String>, ThreadFigures>) -> Vec<(Vec<Value>, ThreadFigures)> {
    sums.into_iter().map(|(key, figures)| (key.into_iter().map(Value::bytes).collect(), figures)).collect()
}

pub(super) fn by_account(instance: &Instance) -> Vec<(Vec<Value>, ThreadFigures)> {
    keyed(summed(instance, |user, host| vec![user.to_owned(), host.to_owned()]))
}

pub(super) fn by_user(instance: &Instance) -> Vec<(Vec<Value>, ThreadFigures)> {
    keyed(summed(instance, |user, _| vec![user.to_owned()]))
}

pub(super) fn by_host(instance: &Instance) -> Vec<(Vec<Value>, ThreadFigures)> {
    keyed(summed(instance, |_, host| vec![host.to_owned()]))
}

pub(super) fn by_thread(instance: &Instance) -> Vec<(Vec<Value>, ThreadFigures)> {
    let threads = instance.processes().all().into_iter();
    threads.map(|entry| (vec![Value::UInt(u64::from(entry.id.0))], entry.figures.figures())).collect()
}

pub(crate) fn of_everybody(instance: &Instance) -> ThreadFigures {
    let mut all = ThreadFigures::default();
    summed(instance, |_, _| Vec::new()).values().for_each(|figures| all.merge(figures));
    all
}

/// TRUNCATE of a summary: what it is made from is emptied, for sessions and accounts.
pub(super) fn forget(instance: &Instance, forget: fn(&mut ThreadFigures)) {
    instance.telemetry.accounts.forget(forget);
    instance.processes().all().iter().for_each(|entry| entry.figures.forget(forget));
}

/// What the clients of these sessions said of themselves when they connected.
fn attributes(instance: &Instance, is_wanted: impl Fn(&ProcessEntry) -> bool) -> Rows {
    let mut rows = Rows::new();
    for entry in instance.processes().all().iter().filter(|entry| is_wanted(entry)) {
        for (position, (name, value)) in entry.attributes.iter().enumerate() {
            rows.push(vec![
                Value::UInt(u64::from(entry.id.0)),
                Value::bytes(name),
                Value::bytes(value),
                Value::Int(position as i64),
            ]);
        }
    }
    rows
}

/// Of the sessions that the viewer's own user has.
fn own_attributes(instance: &Instance, viewer: &Viewer) -> Rows {
    let id = u32::try_from(viewer.connection_id).map(ConnectionId);
    let own = id.ok().and_then(|id| instance.processes().find(id));
    let Some(user) = own.map(|own| own.activity().user) else { return Rows::new() };
    attributes(instance, |entry| entry.activity().user == user)
}
