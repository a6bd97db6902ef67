//! CHANGE REPLICATION FILTER.
//!
//! Invariant: all rules of a statement are made or none; they are for one channel, or for all and those that come. As in MySQL nothing
//! of it is stored: after a start the options' filters are there again.
use datum::SqlError;
use instance::replication::{FilterKind, FilterOrigin, FilterRule, FilterValue, Part};
use parser::ast::{ChangeReplicationFilter, Ident, ReplicationFilterValues};

use super::errors::*;
use crate::caller::Caller;
use session::Done;

/// Those of MySQL's group replication, which have no filters.
const GROUP_CHANNELS: [&str; 2] = ["group_replication_applier", "group_replication_recovery"];

/// The values of a rule. Error 3067.
fn values_of(values: &ReplicationFilterValues<'_>) -> Result<Vec<FilterValue>, SqlError> {
    let name = |text: &str| FilterValue::Name(text.to_owned());
    Ok(match values {
        ReplicationFilterValues::Databases(databases) => databases.iter().map(|one| name(one.name)).collect(),
        ReplicationFilterValues::Tables(tables) => {
            let mut names: Vec<FilterValue> = Vec::new();
            for table in *tables {
                let database = table.database.map_or("", |database| database.name);
                let value = FilterValue::Name(format!("{database}.{}", table.name.name));
                if !names.contains(&value) {
                    names.push(value);
                }
            }
            names
        }
        ReplicationFilterValues::Patterns(patterns) => {
            if patterns.iter().any(|pattern| !pattern.contains('.')) {
                return Err(ER_INVALID_RPL_WILD_TABLE_FILTER_PATTERN.plain());
            }
            patterns.iter().map(|pattern| name(pattern)).collect()
        }
        ReplicationFilterValues::Renames(renames) => {
            let renamed = |(from, to): &(Ident<'_>, Ident<'_>)| {
                FilterValue::Renamed(from.name.to_owned(), to.name.to_owned())
            };
            renames.iter().map(renamed).collect()
        }
    })
}

impl Caller<'_> {
    pub(crate) fn change_filter(&mut self, change: &ChangeReplicationFilter<'_>) -> Result<Done, SqlError> {
        self.require_replica_admin()?;
        let replication = &self.instance().replication;
        if let Some(name) = change.channel
            && GROUP_CHANNELS.contains(&name)
        {
            return Err(ER_REPLICA_CHANNEL_OPERATION_NOT_ALLOWED.with(&[&"CHANGE REPLICATION FILTER", &name]));
        }
        let channels = match change.channel {
            Some(name) => vec![replication.channel(name).ok_or_else(|| ER_REPLICA_CONFIGURATION.plain())?],
            None => replication.channels(),
        };
        if let Some(running) = channels.iter().find(|channel| channel.is_running(Part::Applier)) {
            return Err(ER_REPLICA_SQL_THREAD_MUST_STOP.with(&[&running.name]));
        }
        let origin = match change.channel {
            Some(_) => FilterOrigin::StatementForChannel,
            None => FilterOrigin::Statement,
        };
        let mut rules = Vec::with_capacity(change.rules.len());
        for (name, values) in change.rules {
            let Some(kind) = FilterKind::by_name(name) else { continue };
            rules.push(FilterRule::new(kind, origin, values_of(values)?));
        }
        let mut global = replication.filters.lock();
        for rule in rules {
            channels.iter().for_each(|channel| channel.filters.lock().set(rule.copied()));
            if change.channel.is_none() {
                global.set(rule);
            }
        }
        drop(global);
        Ok(Done::ok())
    }
}
