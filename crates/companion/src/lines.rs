//! JSON lines, to a file as they come.
//!
//! Invariant: a disk that is full holds up nothing and loses nothing that finds room before the end: lines wait in memory
//! meanwhile. Used by `bench run`, `sweep` and `compare`.

use std::fs::File;
use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use bench::Result;
use serde_json::Value;

/// Lines for a file, or for none.
pub struct Lines {
    file: Option<(PathBuf, File)>,
    waiting: Vec<u8>,
    /// Whether it was told that there is no room.
    is_told: bool,
}

impl Lines {
    /// Makes the file, if one is wanted.
    pub fn to(path: Option<&Path>) -> Result<Self> {
        let open = |path: &Path| match File::create(path) {
            Ok(file) => Ok((path.to_owned(), file)),
            Err(error) => Err(format!("{}: {error}", path.display())),
        };
        Ok(Self { file: path.map(open).transpose()?, waiting: Vec::new(), is_told: false })
    }

    /// Adds a line.
    pub fn put(&mut self, value: &Value) {
        if self.file.is_none() {
            return;
        }
        // A write to memory cannot fail.
        let _ = writeln!(self.waiting, "{value}");
        match self.write() {
            Ok(()) => self.is_told = false,
            Err(trouble) if !std::mem::replace(&mut self.is_told, true) => {
                crate::advice::tell(&format!("{trouble}; lines are kept in memory meanwhile"));
            }
            Err(_) => {}
        }
    }

    /// Writes what waits; fails if it still finds no room.
    pub fn end(mut self) -> Result<()> {
        self.write().map_err(|trouble| format!("{trouble}; {} bytes of lines are lost", self.waiting.len()))
    }

    fn write(&mut self) -> Result<()> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        while !self.waiting.is_empty() {
            let written = match file.write(&self.waiting) {
                Ok(0) => Err(Error::from(ErrorKind::WriteZero)),
                other => other,
            };
            match written {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_wait_for_room_and_are_missed_only_at_the_end() {
        let path = std::env::temp_dir().join(format!("evenkeel-lines-{}", std::process::id()));
        let mut lines = Lines::to(Some(&path)).unwrap();
        lines.put(&json!({"a": 1}));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let real = std::mem::replace(&mut lines.file.as_mut().unwrap().1, full);
        lines.put(&json!({"a": 2}));
        lines.put(&json!({"a": 3}));
        lines.file.as_mut().unwrap().1 = real;
        assert_eq!(lines.end(), Ok(()));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
        let mut lines = Lines::to(Some(Path::new("/dev/full"))).unwrap();
        lines.put(&json!({"a": 4}));
        assert!(lines.end().is_err_and(|trouble| trouble.contains("8 bytes of lines are lost")));
        std::fs::remove_file(path).unwrap();
    }
}
