//! `VIEWS` and `VIEW_TABLE_USAGE`
use std::sync::Arc;

use catalog::{Catalog, Viewer};
use datum::Value;
use schema::ViewDef;

use crate::view::{ViewColumn::*, ViewSource, catalog_name, yes_no};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "VIEWS",
    columns: &[
        Text("TABLE_CATALOG", 64),
        Text("TABLE_SCHEMA", 64),
        Text("TABLE_NAME", 64),
        NullLongText("VIEW_DEFINITION"),
        NullText("CHECK_OPTION", 8),
        NullText("IS_UPDATABLE", 3),
        NullText("DEFINER", 288),
        NullText("SECURITY_TYPE", 7),
        Text("CHARACTER_SET_CLIENT", 64),
        Text("COLLATION_CONNECTION", 64),
    ],
    rows: |catalog, viewer| visible_views(catalog, viewer).iter().map(|view| row(view, viewer)).collect(),
    late: None,
};

pub(super) const TABLE_USAGE: ViewSource = ViewSource {
    name: "VIEW_TABLE_USAGE",
    columns: &[
        Text("VIEW_CATALOG", 64),
        Text("VIEW_SCHEMA", 64),
        Text("VIEW_NAME", 64),
        Text("TABLE_CATALOG", 64),
        Text("TABLE_SCHEMA", 64),
        Text("TABLE_NAME", 64),
    ],
    rows: |catalog, viewer| {
        let mut rows = Vec::new();
        for view in visible_views(catalog, viewer) {
            let used = view.uses.iter().filter(|used| (viewer.sees)(&used.0, Some(&used.1)));
            rows.extend(used.map(|(database, table)| {
                vec![
                    catalog_name(),
                    Value::bytes(&view.database),
                    Value::bytes(&view.name),
                    catalog_name(),
                    Value::bytes(database),
                    Value::bytes(table),
                ]
            }));
        }
        rows
    },
    late: None,
};

/// Every view that the viewer may see, by database and name.
pub(super) fn visible_views(catalog: &Catalog, viewer: &Viewer) -> Vec<Arc<ViewDef>> {
    let databases = catalog.databases();
    let views = databases.iter().flat_map(|database| catalog.views(&database.name));
    views.filter(|view| (viewer.sees)(&view.database, Some(&view.name))).collect()
}

fn row(view: &ViewDef, viewer: &Viewer) -> Vec<Value> {
    let definition = if viewer.shows_view(view) { view.query.as_str() } else { "" };
    vec![
        catalog_name(),
        Value::bytes(&view.database),
        Value::bytes(&view.name),
        Value::bytes(definition),
        Value::bytes(view.check.map_or("NONE", schema::ViewCheck::word)),
        yes_no(view.is_updatable),
        Value::bytes(format!("{}@{}", view.definer_user, view.definer_host)),
        Value::bytes(if view.as_invoker { "INVOKER" } else { "DEFINER" }),
        Value::bytes(&view.charset_client),
        Value::bytes(&view.collation_connection),
    ]
}
