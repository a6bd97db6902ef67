//! `replication_applier_filters` and `_global_filters`: the rules of each channel, and those that new channels begin with.
use datum::Value;
use instance::Instance;
use instance::replication::FilterRule;

use super::replication::moment;
use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::member;

pub(super) const TABLES: &[Table] = &[
    Table::events(CHANNELS, |instance, _| of_channels(instance)),
    Table::events(GLOBAL, |instance, _| global(instance)),
];

const CHANNELS: Shape = Shape {
    name: "replication_applier_filters",
    columns: "CHANNEL_NAME char(64); FILTER_NAME char(64); FILTER_RULE longtext; CONFIGURED_BY \
         enum('STARTUP_OPTIONS','CHANGE_REPLICATION_FILTER','STARTUP_OPTIONS_FOR_CHANNEL','CHANGE_REPLICATION_FILTER_FOR_CHANNEL'); \
         ACTIVE_SINCE timestamp(6); COUNTER bigint unsigned",
};
const GLOBAL: Shape = Shape {
    name: "replication_applier_global_filters",
    columns: "FILTER_NAME char(64); FILTER_RULE longtext; CONFIGURED_BY \
         enum('STARTUP_OPTIONS','CHANGE_REPLICATION_FILTER'); ACTIVE_SINCE timestamp(6)",
};

fn of_rule(rule: &FilterRule) -> [Value; 4] {
    [
        Value::bytes(rule.kind.name()),
        Value::bytes(rule.shown()),
        member(rule.origin as u16),
        moment(rule.since_us),
    ]
}

fn of_channels(instance: &Instance) -> Rows {
    let mut rows = Rows::new();
    for channel in instance.replication.channels() {
        for rule in channel.filters.lock().rules() {
            let mut row = vec![Value::bytes(&channel.name)];
            row.extend(of_rule(rule));
            row.push(Value::UInt(rule.uses()));
            rows.push(row);
        }
    }
    rows
}

fn global(instance: &Instance) -> Rows {
    instance.replication.filters.lock().rules().map(|rule| of_rule(rule).into()).collect()
}
