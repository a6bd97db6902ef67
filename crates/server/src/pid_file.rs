//! The file that tells the program's process id while it runs.
use std::path::Path;

/// Removed when the program ends.
pub struct PidFile(std::path::PathBuf);

impl PidFile {
    pub(super) fn write(path: &Path) -> Result<Self, String> {
        std::fs::write(path, format!("{}\n", std::process::id()))
            .map_err(|error| format!("cannot write the pid file {}: {error}", path.display()))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
