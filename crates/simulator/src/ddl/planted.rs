//! Rules that a performance breaks on purpose, to show that the check notices.
//!
//! Called by the playing of tracks. Invariant: without a planted fault nothing here runs.

use super::server::Client;
use crate::ddl::databases::SPILLS_DATABASE;
use datum::SqlError;
use instance::Instance;
use std::sync::Arc;

/// A rule that the performance breaks, to show that it is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedDdlFault {
    None,
    /// A DROP TABLE of several tables is several changes.
    SplitDrops,
    /// A RENAME TABLE of several tables is several changes.
    SplitRenames,
    /// Temporary tables are tables that everybody sees.
    NothingTemporary,
    /// A statement counts as done when it begins.
    AcknowledgeEarly,
    /// DROP TABLE commits the dictionary first and the trees after it.
    LeaveTrees,
    /// DROP TABLE commits the trees first and the dictionary after it.
    LeaveDefinition,
    /// A statement that its temporary files fail leaves a row.
    LeaveRow,
    /// A statement that its temporary files fail keeps one of them.
    KeepFile,
}

impl PlantedDdlFault {
    /// Whether it shows in the session that needs temporary files; the others show in changes of definitions.
    pub(super) fn is_of_spills(self) -> bool {
        matches!(self, PlantedDdlFault::LeaveRow | PlantedDdlFault::KeepFile)
    }
}

/// Whether a unit could be done in the way of the planted fault.
pub(super) fn concerns(texts: &[String], fault: PlantedDdlFault) -> bool {
    let is_one = |start: &str| texts.len() == 1 && texts[0].starts_with(start);
    match fault {
        PlantedDdlFault::None | PlantedDdlFault::LeaveRow | PlantedDdlFault::KeepFile => false,
        PlantedDdlFault::AcknowledgeEarly => true,
        PlantedDdlFault::NothingTemporary => texts.iter().any(|text| text.starts_with("CREATE TEMPORARY")),
        PlantedDdlFault::SplitRenames => is_one(RENAME) && texts[0].contains(','),
        PlantedDdlFault::SplitDrops => is_one(DROP) && texts[0].contains(','),
        PlantedDdlFault::LeaveTrees | PlantedDdlFault::LeaveDefinition => {
            is_one(DROP) && !texts[0].contains(',')
        }
    }
}

const RENAME: &str = "RENAME TABLE ";
const DROP: &str = "DROP TABLE ";

/// Does the unit in the way of the planted fault; `None` if the fault does not concern it.
pub(super) async fn perform_wrongly(
    server: &Arc<Instance>,
    client: &mut Client,
    texts: &[String],
    fault: PlantedDdlFault,
) -> Option<()> {
    use PlantedDdlFault::{LeaveDefinition, LeaveTrees, NothingTemporary, SplitDrops, SplitRenames};
    if !concerns(texts, fault) {
        return None;
    }
    if fault == NothingTemporary {
        for text in texts {
            client.query(&text.replace("TEMPORARY ", "")).await;
        }
        return Some(());
    }
    let [text] = texts else { return None };
    let word = if fault == SplitRenames { RENAME } else { DROP };
    let list = text.strip_prefix(word)?;
    match fault {
        SplitDrops | SplitRenames => {
            for part in list.split(", ") {
                client.query(&format!("{word}{part}")).await;
            }
            Some(())
        }
        LeaveTrees | LeaveDefinition => {
            let (database, table) = list.split_once('.')?;
            let catalog = server.catalog();
            let table = catalog.table(database, table)?;
            let definition = table.definition();
            if !catalog.children_of(database, &definition.name).is_empty() {
                return None;
            }
            let dropped: Result<(), SqlError> = async {
                let (mut first, mut second) = (catalog.begin_change(), catalog.begin_change());
                if fault == LeaveTrees {
                    first.remove_definition(definition).await?;
                    second.drop_trees(definition).await?;
                } else {
                    first.drop_trees(definition).await?;
                    second.remove_definition(definition).await?;
                }
                first.commit().await?;
                second.commit().await
            }
            .await;
            dropped.ok()
        }
        _ => None,
    }
}

/// What a statement does wrong that its temporary files have failed.
pub(super) async fn fail_wrongly(server: &Arc<Instance>, client: &mut Client, fault: PlantedDdlFault) {
    match fault {
        PlantedDdlFault::LeaveRow => {
            client.query(&format!("INSERT IGNORE INTO {SPILLS_DATABASE}.r VALUES (-1, 0, 'left')")).await;
        }
        PlantedDdlFault::KeepFile => {
            if let Ok(file) = server.temporary().create().await {
                let _ = file.reserve(1);
                std::mem::forget(file);
            }
        }
        _ => {}
    }
}
