//! Whether dictionary and trees agree: every tree has an owner, every owner its trees, no page is lost, every index has
//! what its rows say.

use engine::{AccessMode, Engine, EngineError, Isolation, TreeId};
use instance::Instance;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Each prunes at least 16 rows; a seed leaves a few hundred.
const COMMITS_MAX: usize = 1000;

/// Nobody may change anything meanwhile.
pub async fn check_structure(server: &Arc<Instance>) -> Result<(), String> {
    let (engine, catalog) = (server.engine(), server.catalog());
    let_go(engine).await.map_err(|error| error.to_string())?;
    let report = engine.verify().await.map_err(|error| error.to_string())?;
    let mut owned = BTreeSet::from([TreeId::CATALOG]);
    let mut tables = Vec::new();
    for database in catalog.databases() {
        for table in catalog.tables(&database.name) {
            let definition = table.definition();
            let indexes = definition.indexes.iter().filter(|index| index.tree != definition.tree);
            for tree in indexes.map(|index| index.tree).chain([definition.tree]) {
                if !owned.insert(TreeId(tree)) {
                    return Err(format!("tree {tree} of {} has another owner too", definition.name));
                }
            }
            tables.push(table);
        }
    }
    // Those of living sessions.
    for table in catalog.temporary_tables() {
        let definition = table.definition();
        owned.insert(TreeId(definition.tree));
        owned.extend(definition.indexes.iter().map(|index| TreeId(index.tree)));
    }
    let stored: BTreeSet<TreeId> = engine.tree_ids().into_iter().collect();
    if let Some(tree) = stored.difference(&owned).next() {
        return Err(format!("tree {} belongs to no table", tree.0));
    }
    if let Some(tree) = owned.difference(&stored).next() {
        return Err(format!("tree {} of the dictionary does not exist", tree.0));
    }
    for table in tables {
        let checked = catalog::check_table(&table, &mut catalog.begin_change()).await;
        let faults = checked.unwrap_or_else(|error| vec![error.message]);
        if let Some(fault) = faults.first() {
            return Err(format!("CHECK TABLE {}: {fault}", table.definition().name));
        }
    }
    if report.other_pages != report.long_value_pages {
        return Err(format!("pages are lost: {report:?}"));
    }
    Ok(())
}

/// Old versions keep the pages of long values. What a snapshot held is let go by the commits after it: here are some, which
/// change nothing.
async fn let_go(engine: &Arc<Engine>) -> Result<(), EngineError> {
    engine.finish_background().await;
    for _ in 0..COMMITS_MAX {
        if engine.stats().history_length == 0 {
            break;
        }
        let mut transaction = engine.begin(Isolation::default(), AccessMode::default());
        let tree = transaction.create_tree().await?;
        transaction.drop_tree(tree).await?;
        transaction.commit().await?;
        engine.finish_background().await;
    }
    Ok(())
}

/// Without living sessions nothing is temporary: neither tables nor space in files.
pub fn check_temporary(server: &Arc<Instance>) -> Result<(), String> {
    if let Some(table) = server.catalog().temporary_tables().first() {
        return Err(format!("the temporary table {} outlives its session", table.definition().name));
    }
    match server.temporary().used_bytes() {
        0 => Ok(()),
        bytes => Err(format!("temporary files that nobody has take {bytes} bytes")),
    }
}
