//! What a hash join, INTERSECT or EXCEPT has put aside on disk: pairs of parts of its two sides.
//!
//! Invariant: an outer row is put aside only where its part has inner rows, with its key and whether it has met a match; so a
//! part without outer rows, or without inner ones, needs no work.
use crate::context::ExecContext;
use datum::SqlError;
use rowstore::{Partitions, SpillFile, Stream, StreamReader};
use std::sync::Arc;

#[derive(Default)]
pub struct Sides {
    file: Option<Arc<SpillFile>>,
    inner: Option<Partitions>,
    outer: Option<Partitions>,
    /// Inner and outer part, and the level on which they were divided.
    waiting: Vec<(Arc<Stream>, Arc<Stream>, u32)>,
    /// The level of the rows at hand; `None` for the input.
    level: Option<u32>,
}

impl Sides {
    /// Inner rows are being put aside.
    pub fn is_dividing(&self) -> bool {
        self.inner.is_some()
    }

    /// Rows were put aside since the beginning.
    pub fn has_divided(&self) -> bool {
        self.file.is_some()
    }

    /// From now on inner rows are put aside.
    pub async fn begin(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => self.file.insert(SpillFile::create(context.temporary).await?).clone(),
        };
        let level = self.level.map_or(0, |level| level + 1);
        self.inner = Some(Partitions::new(file.clone(), level));
        self.outer = Some(Partitions::new(file, level));
        Ok(())
    }

    pub async fn put_inner(&mut self, key: &[u8], record: &[u8]) -> Result<(), SqlError> {
        put(self.inner.as_mut().expect("rows are put aside behind `begin`"), key, record).await
    }

    /// Whether inner rows that may match this key were put aside.
    pub fn concerns(&self, key: &[u8]) -> bool {
        self.inner.as_ref().is_some_and(|parts| parts.has(key))
    }

    pub async fn put_outer(&mut self, key: &[u8], record: &[u8]) -> Result<(), SqlError> {
        put(self.outer.as_mut().expect("rows are put aside behind `begin`"), key, record).await
    }

    /// The next pair of parts to join, inner and outer.
    pub async fn next_pair(
        &mut self,
        context: &mut ExecContext<'_>,
    ) -> Result<Option<(StreamReader, StreamReader)>, SqlError> {
        if let (Some(inner), Some(outer)) = (self.inner.take(), self.outer.take()) {
            let level = inner.level();
            for (inner, outer) in inner.finish().await?.into_iter().zip(outer.finish().await?) {
                let parts = [&inner, &outer];
                context.work.spilled_bytes +=
                    parts.into_iter().flatten().map(|part| part.bytes()).sum::<u64>();
                if let (Some(inner), Some(outer)) = (inner, outer) {
                    self.waiting.push((inner, outer, level));
                }
            }
        }
        let Some((inner, outer, level)) = self.waiting.pop() else { return Ok(None) };
        self.level = Some(level);
        Ok(Some((StreamReader::consuming(inner), StreamReader::consuming(outer))))
    }
}

async fn put(parts: &mut Partitions, key: &[u8], record: &[u8]) -> Result<(), SqlError> {
    if parts.try_push(key, record) {
        return Ok(());
    }
    parts.push(key, record).await
}
