//! What is in a page, for people: called by the `inspect` command on any bytes of a page's length.

use crate::check_page;
use crate::node::Node;
use pagestore::{PageKind, header};

/// Entries are cut to this many bytes of key and value.
const BYTES_MAX: usize = 48;
const DATA: usize = 56;

/// One line for the page and one for each entry of a node; the rule that is broken, if the bytes cannot be used.
pub fn describe_page(page: &[u8]) -> String {
    if let Err(fault) = check_page(page) {
        return format!("its content cannot be used: {fault:?}\n");
    }
    match header::kind(page) {
        Some(PageKind::Node) => describe_node(Node::new(page)),
        Some(PageKind::Overflow) => {
            let next = u64::from_le_bytes(page[40..48].try_into().expect("eight bytes"));
            let length = u32::from_le_bytes(page[48..52].try_into().expect("four bytes")) as usize;
            format!(
                "{length} bytes of a long value, next page {next}\n  {}\n",
                shown(&page[DATA..DATA + length])
            )
        }
        Some(PageKind::SpaceMap) => {
            let used: u32 = page[64..].iter().map(|byte| byte.count_ones()).sum();
            format!("{used} of {} pages of the region are in use\n", (page.len() - 64) * 8)
        }
        Some(PageKind::Lost) | None => String::new(),
    }
}

fn describe_node(node: Node<'_>) -> String {
    let (level, count) = (node.level(), node.count());
    let kind = if level == 0 { "leaf".to_owned() } else { format!("inner node of level {level}") };
    let prefix = shown(node.prefix());
    let mut text =
        format!("{kind}, {count} entries, {} bytes free, shared prefix '{prefix}'\n", node.free_bytes());
    if level > 0 {
        text.push_str(&format!("  keys below the first: page {}\n", node.child(0)));
    }
    for index in 0..count {
        let key = shown(&node.key(index));
        match level {
            0 => text.push_str(&format!("  '{key}' = '{}'\n", shown(node.value(index)))),
            _ => text.push_str(&format!("  from '{key}': page {}\n", node.child(index + 1))),
        }
    }
    text
}

/// Printable characters as they are, others escaped, and not too many of them.
fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(BYTES_MAX)];
    let more = if cut.len() < bytes.len() { format!("... ({} bytes)", bytes.len()) } else { String::new() };
    format!("{}{more}", cut.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{NodeBuilder, NodeIdentity};
    use pagestore::{PageId, TreeId};

    #[test]
    fn pages_are_described_and_broken_ones_named() {
        let identity = NodeIdentity { page: PageId(7), tree: TreeId(3), level: 0 };
        let mut builder = NodeBuilder::new(4096, identity, b"k");
        builder.push(b"key", b"\x01", b"value");
        let mut page = builder.finish();
        let text = describe_page(&page);
        assert!(text.starts_with("leaf, 1 entries") && text.contains("'key\\x01' = 'value'"), "{text}");
        assert!(header::describe(&page).starts_with("page 7, kind Node"), "{}", header::describe(&page));
        page[40..60].fill(0xff);
        assert!(describe_page(&page).contains("cannot be used"));
    }
}
