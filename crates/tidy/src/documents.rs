//! Rules for documents: a link to a file of the repository leads somewhere.

use crate::tree::{files, root, shown};

#[test]
fn links_lead_somewhere() {
    for path in files(&root(), "md") {
        let text = std::fs::read_to_string(&path).expect("documents are UTF-8");
        let folder = path.parent().expect("a file has a folder");
        for part in text.split("](").skip(1) {
            let target = part.split([')', '#']).next().expect("split gives one part");
            if target.is_empty() || target.contains("://") || target.contains(' ') {
                continue;
            }
            assert!(folder.join(target).exists(), "{}: the link to {target} leads nowhere", shown(&path));
        }
    }
}
