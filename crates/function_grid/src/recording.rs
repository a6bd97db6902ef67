//! What MySQL answered, template by template, packed into one file for answers and one for types.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cell::cells_of;
use crate::templates::TEMPLATES;
use crate::type_cells::{type_cells_of, type_templates};

/// The answers to the cells' expressions, and the columns that are made of them.
const ANSWERS: &str = "answers.zst";
const TYPES: &str = "types.zst";
const LEVEL: i32 = 19;
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// The folder of the recording and the list of differences.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("grid")
}

/// The answers to a template's cells, in their order.
#[derive(Debug, Default)]
pub struct Recording {
    pub answers: BTreeMap<String, Vec<String>>,
}

impl Recording {
    /// Invariant: each template that has answers has one for each of its cells.
    pub fn read(folder: &Path) -> Result<Recording, String> {
        let counts = TEMPLATES.iter().map(|template| (*template, cells_of(template).len()));
        Recording::read_file(folder, ANSWERS, counts)
    }

    /// The same of the columns that CREATE TABLE .. SELECT makes.
    pub fn read_types(folder: &Path) -> Result<Recording, String> {
        let counts = type_templates().map(|template| (template, type_cells_of(template).len()));
        Recording::read_file(folder, TYPES, counts)
    }

    fn read_file(
        folder: &Path,
        file: &str,
        counts: impl Iterator<Item = (&'static str, usize)>,
    ) -> Result<Recording, String> {
        let packed = std::fs::read(folder.join(file)).map_err(|error| format!("{file}: {error}"))?;
        let bytes = zstd::bulk::decompress(&packed, BYTES_MAX).map_err(|error| format!("{file}: {error}"))?;
        let text = String::from_utf8(bytes).map_err(|error| format!("{file}: {error}"))?;
        let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut current = None;
        for line in text.lines() {
            match line.strip_prefix("== ") {
                Some(template) => current = Some(answers.entry(template.to_owned()).or_default()),
                None => current.as_mut().ok_or("an answer before a template")?.push(line.to_owned()),
            }
        }
        for (template, count) in counts {
            let recorded = answers.get(template).map_or(0, Vec::len);
            if count != recorded {
                return Err(format!("{template} has {count} cells, but {recorded} answers are recorded"));
            }
        }
        Ok(Recording { answers })
    }

    pub fn write(&self, folder: &Path) -> Result<(), String> {
        self.write_file(folder, ANSWERS)
    }

    pub fn write_types(&self, folder: &Path) -> Result<(), String> {
        self.write_file(folder, TYPES)
    }

    fn write_file(&self, folder: &Path, file: &str) -> Result<(), String> {
        let mut text = String::new();
        for (template, answers) in &self.answers {
            text.push_str(&format!("== {template}\n"));
            for answer in answers {
                text.push_str(answer);
                text.push('\n');
            }
        }
        let packed = zstd::bulk::compress(text.as_bytes(), LEVEL).map_err(|error| error.to_string())?;
        std::fs::write(folder.join(file), packed).map_err(|error| error.to_string())
    }
}
