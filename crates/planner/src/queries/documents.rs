//! Documents that only their JSON_TABLE reads: its rows need not carry them.
//!
//! A document of a megabyte that is copied into the frame of each of its rows costs more than all else. Called for each block
//! after its rewrites, before its tables are placed.
use binder::block::SourceKind;
use binder::bound::BoundBlock;
use binder::walk::positions;

/// Notes for each JSON_TABLE which positions of the frame its document reads and nothing else does.
pub fn note_documents(select: &mut BoundBlock) {
    let is_document = |kind: &SourceKind| matches!(kind, SourceKind::JsonTable(_));
    // What a lateral table that is planned already reads is not known here.
    let is_lateral = |kind: &SourceKind| matches!(kind, SourceKind::Lateral(_));
    let has =
        |test: &dyn Fn(&SourceKind) -> bool| select.block.sources.iter().any(|source| test(&source.kind));
    if !has(&is_document) || has(&is_lateral) {
        return;
    }
    let mut read = Vec::new();
    select.for_each_expr(&mut |expr| positions(expr, &mut read));
    for source in &mut select.block.sources {
        let SourceKind::JsonTable(table) = &mut source.kind else { continue };
        let mut own = Vec::new();
        positions(&table.document, &mut own);
        let times = |of: &[usize], position| of.iter().filter(|other| **other == position).count();
        let is_alone = |position: &usize| times(&read, *position) == times(&own, *position);
        table.read_here_alone = own.iter().copied().filter(is_alone).collect();
    }
}
