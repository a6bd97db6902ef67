//! Notes in memory and in blocks of a file are together what was noted and not undone, whenever blocks are written.
use super::StatementEvents;
use super::notes::{Note, Notes};
use super::overflow::Overflow;
use binlog::Query;
use env::TemporarySpace;
use env::sim::{SeededRandom, SimOptions, World};
use std::sync::Arc;

/// A savepoint, the statement's moment and text, an image.
type Noted = (u64, u32, Option<Vec<u8>>, Vec<u8>);

fn noted(notes: &Notes) -> Vec<Noted> {
    let mut start = 0;
    let mut all = Vec::new();
    for note in &notes.notes {
        let statement = &notes.statements[note.statement];
        let text = statement.rows_query.as_ref().map(|text| text.to_vec());
        all.push((note.savepoint, statement.timestamp, text, notes.images[start..note.end].to_vec()));
        start = note.end;
    }
    all
}

fn add(notes: &mut Notes, savepoint: u64, image: &[u8]) {
    notes.images.extend_from_slice(image);
    let (end, statement) = (notes.images.len(), notes.statements.len() - 1);
    notes.notes.push(Note { savepoint, end, shape: 0, statement });
}

async fn run(seed: u64, space: Arc<TemporarySpace>) {
    let random = SeededRandom::new(seed);
    let mut overflow = Overflow::create(&space).await.expect("a file");
    let mut notes = Notes::default();
    let mut wanted: Vec<Noted> = Vec::new();
    let (mut savepoint, mut moment) = (0, 0);
    let mut begin = Arc::new(Query::default());
    for _ in 0..400 {
        match random.below(20) {
            0..3 => {
                let back = savepoint - (random.below(60) as u64).min(savepoint);
                notes.undo_to(back);
                overflow.undo_to(back);
                wanted.retain(|(of, ..)| *of <= back);
                savepoint = back;
            }
            3..6 => {
                overflow.settle(&mut notes).await.expect("a block comes back");
                overflow.push(&mut notes).await.expect("a block");
            }
            6..8 => moment += 1,
            8 => begin = Arc::new(Query { thread_id: moment, ..Query::default() }),
            _ => {
                let text = (moment % 3 == 0).then(|| format!("statement {moment}").into_bytes());
                let rows_query = text.clone().map(Arc::from);
                let statement =
                    StatementEvents { timestamp: moment, flags: 1, rows_query, begin: begin.clone() };
                if notes.statements.last().is_none_or(|last| last.timestamp != moment) {
                    notes.begin_statement(statement);
                }
                let goes_on = notes.statements.last().is_some_and(|last| last.rows_query.is_none());
                savepoint += 1 + random.below(2) as u64;
                let image = vec![savepoint as u8; random.below(9)];
                add(&mut notes, savepoint, &image);
                // The text is with the first part of a statement.
                wanted.push((savepoint, moment, text.filter(|_| !goes_on), image));
            }
        }
    }
    overflow.settle(&mut notes).await.expect("a block comes back");
    let mut all = Vec::new();
    for place in 0..overflow.block_count() {
        all.extend(noted(&overflow.load(place).await.expect("a block")));
    }
    all.extend(noted(&notes));
    assert_eq!(all, wanted, "seed {seed}");
}

#[test]
fn what_is_noted_and_not_undone_comes_back() {
    for seed in 0..100 {
        let world = World::new(seed, SimOptions::default());
        let env = world.env();
        world.block_on(run(seed, TemporarySpace::new(env, "tmp"))).unwrap();
    }
}

#[test]
fn damaged_blocks_are_noticed() {
    let begin = Arc::new(Query::default());
    let mut notes = Notes::default();
    notes.begin_statement(StatementEvents { timestamp: 1, flags: 0, rows_query: None, begin });
    add(&mut notes, 1, b"image");
    let mut begins = Vec::new();
    let bytes = notes.encode(&mut begins);
    assert!(Notes::decode(&bytes, &begins).is_some_and(|again| again.notes == notes.notes));
    for length in 0..bytes.len() {
        assert!(Notes::decode(&bytes[..length], &begins).is_none(), "{length} bytes");
    }
}
