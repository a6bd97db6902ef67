//! ROLES_GRAPHML(): accounts as nodes and granted roles as edges of a graph, as MySQL writes it.
//!
//! Invariant: what accounts are called is escaped. Asked by the session for who may see the roles of others.
use std::collections::BTreeMap;
use std::fmt::Write;

use instance::Instance;

const BEGIN: &str = concat!(
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" ",
    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" ",
    "xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns ",
    "http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n",
    "  <key id=\"key0\" for=\"edge\" attr.name=\"color\" attr.type=\"int\" />\n",
    "  <key id=\"key1\" for=\"node\" attr.name=\"name\" attr.type=\"string\" />\n",
    "  <graph id=\"G\" edgedefault=\"directed\" parse.nodeids=\"canonical\" ",
    "parse.edgeids=\"canonical\" parse.order=\"nodesfirst\">\n",
);
const END: &str = "  </graph>\n</graphml>\n";

pub(crate) fn role_graph(instance: &Instance) -> String {
    let accounts = instance.accounts().all();
    let names: Vec<String> = accounts.iter().map(|account| account.name.to_string()).collect();
    let numbers: BTreeMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let mut graph = BEGIN.to_owned();
    let mut write = |text: std::fmt::Arguments<'_>| graph.write_fmt(text).expect("texts grow");
    for (number, name) in names.iter().enumerate() {
        let name = escaped(name);
        write(format_args!(
            "    <node id=\"n{number}\">\n      <data key=\"key1\">{name}</data>\n    </node>\n"
        ));
    }
    let grants = accounts.iter().enumerate().flat_map(|(source, account)| {
        account.grants.roles.iter().map(move |(role, is_admin)| (source, role.to_string(), *is_admin))
    });
    let edges = grants.filter_map(|(source, role, is_admin)| {
        Some((source, *numbers.get(role.as_str())?, u8::from(is_admin)))
    });
    for (number, (source, target, color)) in edges.enumerate() {
        write(format_args!("    <edge id=\"e{number}\" source=\"n{source}\" target=\"n{target}\">\n"));
        write(format_args!("      <data key=\"key0\">{color}</data>\n    </edge>\n"));
    }
    graph.push_str(END);
    graph
}

fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            other => escaped.push(other),
        }
    }
    escaped
}
