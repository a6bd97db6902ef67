//! The folder that a path stands in.
use std::path::Path;

/// Where a file or directory lies. A name alone lies in the directory that the program was started in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}
