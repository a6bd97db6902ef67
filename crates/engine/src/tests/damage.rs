//! A damaged page is an error for those who need it: for its tree, never for the server, whatever meets it first.

use super::*;
use pagestore::PageFault;

const ROWS: u32 = 600;

async fn open(env: env::Env) -> Result<Arc<Engine>, EngineError> {
    // So few frames that leaves are written and forgotten soon.
    Engine::open(env, EngineOptions { buffer_pool_bytes: 256 << 10, ..options() }).await
}

fn row(tree: TreeId, number: u32, version: u8) -> Vec<u8> {
    format!("row {number:05} of tree {:05} as of {version}, and more to fill the page", tree.0).into_bytes()
}

/// Two trees of many leaves each.
async fn two_trees(engine: &Arc<Engine>) -> [TreeId; 2] {
    let mut one = repeatable(engine);
    let trees = [one.create_tree().await.unwrap(), one.create_tree().await.unwrap()];
    for tree in trees {
        for number in 0..ROWS {
            let key = number.to_be_bytes();
            one.insert(tree, &key, &row(tree, number, 0), Uniqueness::Key, WAIT).await.unwrap();
        }
    }
    one.commit().await.unwrap();
    trees
}

async fn get(engine: &Arc<Engine>, tree: TreeId, number: u32) -> Result<Option<Vec<u8>>, EngineError> {
    repeatable(engine).get(tree, &number.to_be_bytes(), ReadMode::Snapshot).await
}

/// Where these bytes are stored: files and offsets.
fn places_of(world: &World, bytes: &[u8]) -> Vec<(String, usize)> {
    let mut places = Vec::new();
    for path in world.paths().into_iter().filter(|path| path.starts_with("data/")) {
        let content = world.content(&path).unwrap();
        let found = content.windows(bytes.len()).enumerate().filter(|(_, window)| *window == bytes);
        places.extend(found.map(|(at, _)| (path.clone(), at)));
    }
    assert!(!places.is_empty(), "the row is stored");
    places
}

/// Changes a byte in every stored image that holds these bytes.
fn damage(world: &World, bytes: &[u8]) {
    places_of(world, bytes).iter().for_each(|(path, at)| world.flip_bit(path, at * 8));
}

fn fault(error: EngineError) -> (Option<TreeId>, PageFault) {
    let EngineError::CorruptPage { tree, corrupt } = error else { panic!("{error}") };
    (tree, corrupt.fault)
}

#[test]
fn the_other_trees_go_on_and_the_damaged_one_can_be_dropped() {
    let world = World::new(5, SimOptions::default());
    let env = world.env();
    let fill = async move {
        let engine = open(env).await.unwrap();
        let trees = two_trees(&engine).await;
        engine.close().await.unwrap();
        trees
    };
    let [damaged, sound] = world.block_on(fill).unwrap();
    damage(&world, &row(damaged, 300, 0));
    let env = world.env();
    let run = async {
        let engine = open(env.clone()).await.unwrap();
        let error = get(&engine, damaged, 300).await.unwrap_err();
        assert_eq!(fault(error), (Some(damaged), PageFault::Checksum));
        assert!(engine.check_tree(damaged).await.is_err() && engine.check_tree(sound).await.is_ok());
        assert_eq!(get(&engine, damaged, 1).await.unwrap(), Some(row(damaged, 1, 0)), "another leaf");
        let mut reader = repeatable(&engine);
        let range = |tree| (tree, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        let (tree, all, direction, mode) = range(damaged);
        assert!(collect(&mut reader, tree, all, direction, mode).await.is_err());
        let (tree, all, direction, mode) = range(sound);
        assert_eq!(collect(&mut reader, tree, all, direction, mode).await.unwrap().len(), ROWS as usize);
        let mut writer = repeatable(&engine);
        writer.insert(sound, b"new", b"row", Uniqueness::Key, WAIT).await.unwrap();
        let refused = writer.update(damaged, &300u32.to_be_bytes(), b"new", WAIT).await;
        assert_eq!(fault(refused.unwrap_err()).0, Some(damaged));
        writer.drop_tree(damaged).await.unwrap();
        writer.commit().await.unwrap();
        drop(reader);
        assert_eq!(engine.take_damage_news().len(), 1, "one page, told once");
        engine.close().await.unwrap();
        assert_eq!(engine.failure(), None);
        let engine = open(env).await.unwrap();
        let report = engine.verify().await.unwrap();
        assert_eq!((report.trees, report.records), (3, u64::from(ROWS) + 1));
        engine.close().await.unwrap();
    };
    world.block_on(run).unwrap();
}

#[test]
fn recovery_gives_up_what_it_cannot_bring_up_to_date() {
    let world = World::new(6, SimOptions::default());
    let env = world.env();
    let fill = async move {
        let engine = open(env.clone()).await.unwrap();
        let trees = two_trees(&engine).await;
        engine.close().await.unwrap();
        let engine = open(env).await.unwrap();
        let mut writer = repeatable(&engine);
        for (tree, number) in trees.into_iter().flat_map(|tree| (0..ROWS).map(move |number| (tree, number))) {
            writer.update(tree, &number.to_be_bytes(), &row(tree, number, 1), WAIT).await.unwrap();
        }
        writer.commit().await.unwrap();
        let mut loser = repeatable(&engine);
        for number in [1, 300] {
            let value = row(trees[0], number, 2);
            loser.update(trees[0], &number.to_be_bytes(), &value, WAIT).await.unwrap();
        }
        let mut last = repeatable(&engine);
        last.insert(CATALOG, b"durable", b"all before", Uniqueness::Key, WAIT).await.unwrap();
        last.commit().await.unwrap();
        std::mem::forget(loser);
        trees
    };
    let [damaged, sound] = world.block_on(fill).unwrap();
    let world = world.crash(SimOptions::default());
    damage(&world, &row(damaged, 300, 0));
    for _ in 0..2 {
        let env = world.env();
        let run = async {
            let engine = open(env).await.unwrap();
            let error = get(&engine, damaged, 300).await.unwrap_err();
            assert_eq!(fault(error), (Some(damaged), PageFault::Lost));
            assert_eq!(get(&engine, damaged, 1).await.unwrap(), Some(row(damaged, 1, 1)), "undone");
            assert_eq!(get(&engine, sound, 300).await.unwrap(), Some(row(sound, 300, 1)));
            engine.close().await.unwrap();
            assert_eq!(engine.failure(), None);
        };
        world.block_on(run).unwrap();
    }
}

/// Rows of a tree of their own, so many that what was changed before is written and leaves memory.
async fn fill_another_tree(engine: &Arc<Engine>) {
    let mut filler = repeatable(engine);
    let other = filler.create_tree().await.unwrap();
    for number in 0..20_000u32 {
        let (key, value) = (number.to_be_bytes(), row(other, number, 0));
        filler.insert(other, &key, &value, Uniqueness::Key, WAIT).await.unwrap();
    }
    filler.commit().await.unwrap();
}

/// A transaction that has changed a row of the first tree, in a leaf that is written and forgotten since.
async fn loser_of_a_written_leaf(engine: &Arc<Engine>, tree: TreeId) -> Transaction {
    let mut loser = repeatable(engine);
    loser.update(tree, &300u32.to_be_bytes(), &row(tree, 300, 2), WAIT).await.unwrap();
    fill_another_tree(engine).await;
    loser
}

#[test]
fn a_rollback_gives_up_what_it_cannot_put_back() {
    let world = World::new(7, SimOptions::default());
    let env = world.env();
    let fill = async move {
        let engine = open(env.clone()).await.unwrap();
        let trees = two_trees(&engine).await;
        let loser = loser_of_a_written_leaf(&engine, trees[0]).await;
        (engine, trees, loser)
    };
    let (engine, [damaged, sound], loser) = world.block_on(fill).unwrap();
    damage(&world, &row(damaged, 300, 2));
    let run = async {
        loser.rollback().await.unwrap();
        let error = get(&engine, damaged, 300).await.unwrap_err();
        assert_eq!(fault(error), (Some(damaged), PageFault::Lost));
        assert_eq!(get(&engine, sound, 300).await.unwrap(), Some(row(sound, 300, 0)));
        assert_eq!(engine.failure(), None);
        engine.close().await.unwrap();
    };
    world.block_on(run).unwrap();
}

#[test]
fn what_was_cut_off_with_the_end_of_the_file_needs_no_undo() {
    let world = World::new(7, SimOptions::default());
    let env = world.env();
    let fill = async move {
        let engine = open(env.clone()).await.unwrap();
        let trees = two_trees(&engine).await;
        std::mem::forget(loser_of_a_written_leaf(&engine, trees[0]).await);
        trees
    };
    let [cut, _] = world.block_on(fill).unwrap();
    let world = world.crash(SimOptions::default());
    let mut places = places_of(&world, &row(cut, 300, 2)).into_iter();
    let (file, leaf) = places.find(|(path, _)| path == "data/pages.db").unwrap();
    world.damage(&file, |bytes| bytes.truncate(leaf - leaf % options().page_size_bytes));
    let env = world.env();
    let run = async {
        let engine = open(env.clone()).await.unwrap();
        let mut writer = repeatable(&engine);
        writer.drop_tree(cut).await.unwrap();
        writer.commit().await.unwrap();
        engine.close().await.unwrap();
        assert_eq!(engine.failure(), None);
    };
    world.block_on(run).unwrap();
}

/// A transaction that has changed every row of the first tree, most of which is in its spill, on disk.
async fn spilled_loser(engine: &Arc<Engine>, tree: TreeId) -> Transaction {
    let mut loser = repeatable(engine);
    for number in 0..ROWS {
        loser.update(tree, &number.to_be_bytes(), &row(tree, number, 1), WAIT).await.unwrap();
    }
    loser.work.spill().await.unwrap();
    fill_another_tree(engine).await;
    loser
}

/// What the spill has of a row: an update, and the record before it.
fn spilled_row(tree: TreeId, number: u32) -> Vec<u8> {
    [&[0, 2, 0], &row(tree, number, 0)[..]].concat()
}

async fn check_lost_undo(engine: &Arc<Engine>, [damaged, sound]: [TreeId; 2]) {
    let mut lost = 0;
    for number in 0..ROWS {
        match get(engine, damaged, number).await {
            Ok(found) => assert_eq!(found, Some(row(damaged, number, 0)), "undone"),
            Err(error) => {
                assert_eq!(fault(error), (Some(damaged), PageFault::Lost));
                lost += 1;
            }
        }
        assert_eq!(get(engine, sound, number).await.unwrap(), Some(row(sound, number, 0)));
    }
    assert!(get(engine, damaged, 300).await.is_err());
    assert!(lost < ROWS / 4, "{lost} rows are lost");
    assert!(engine.active_transactions().is_empty());
    assert_eq!(engine.failure(), None);
}

#[test]
fn a_damaged_page_of_a_spill_is_an_error_of_the_rows_it_would_have_undone() {
    for restarts in [false, true] {
        let world = World::new(9, SimOptions::default());
        let env = world.env();
        let fill = async move {
            let engine = open(env.clone()).await.unwrap();
            let trees = two_trees(&engine).await;
            let loser = spilled_loser(&engine, trees[0]).await;
            (engine, trees, loser)
        };
        let (engine, trees, loser) = world.block_on(fill).unwrap();
        let world = if restarts {
            std::mem::forget(loser);
            let world = world.crash(SimOptions::default());
            damage(&world, &spilled_row(trees[0], 300));
            world
        } else {
            damage(&world, &spilled_row(trees[0], 300));
            let run = async {
                loser.rollback().await.unwrap();
                check_lost_undo(&engine, trees).await;
                engine.close().await.unwrap();
            };
            world.block_on(run).unwrap();
            world
        };
        for _ in 0..2 {
            let env = world.env();
            let run = async {
                let engine = open(env).await.unwrap();
                engine.finish_background().await;
                check_lost_undo(&engine, trees).await;
                engine.close().await.unwrap();
            };
            world.block_on(run).unwrap();
        }
    }
}

#[test]
fn a_store_whose_files_are_gone_is_not_made_anew() {
    let file = "data/pages.db";
    let world = World::new(8, SimOptions::default());
    let env = world.env();
    let run = async move {
        let engine = open(env.clone()).await.unwrap();
        fill(&engine, &[("a", "1")]).await;
        engine.close().await.unwrap();
        env.disk.rename(file, "elsewhere").await.unwrap();
        let error = open(env.clone()).await.map(drop).unwrap_err();
        assert!(error.to_string().contains("the page store is not"), "{error}");
        env.disk.rename("elsewhere", file).await.unwrap();
        let engine = open(env).await.unwrap();
        assert_eq!(committed(&engine, "a").await.as_deref(), Some("1"));
    };
    world.block_on(run).unwrap();
}

/// The last chunk of a log has nothing behind it that proves it was durable, but pages that were written after it do.
#[test]
fn a_log_that_ends_before_the_newest_page_is_refused() {
    let world = World::new(7, SimOptions::default());
    let env = world.env();
    let fill = async move {
        let engine = open(env).await.unwrap();
        let [tree, _] = two_trees(&engine).await;
        let mut last = repeatable(&engine);
        let key = (ROWS + 1).to_be_bytes();
        last.insert(tree, &key, &row(tree, ROWS + 1, 0), Uniqueness::Key, WAIT).await.unwrap();
        last.commit().await.unwrap();
        engine.pool.flush_all().await.unwrap();
    };
    world.block_on(fill).unwrap();
    let world = world.kill(SimOptions::default());
    let used = |path: &String| world.content(path).unwrap().iter().any(|byte| *byte != 0);
    let log: Vec<String> = world.paths().into_iter().filter(|path| path.starts_with("wal/0")).collect();
    let newest = log.into_iter().filter(used).max().expect("the log is used");
    world.damage(&newest, |bytes| {
        let last = bytes.iter().rposition(|byte| *byte != 0).expect("the segment is used");
        bytes[last] ^= 1;
    });
    // An opening that is refused changes nothing about that.
    for _ in 0..2 {
        let env = world.env();
        match world.block_on(async move { open(env).await.map(drop) }).unwrap() {
            Err(EngineError::Corrupt { what }) => assert!(what.contains(&newest), "{what}"),
            opened => panic!("{opened:?}"),
        }
    }
}

/// A directory whose pages are in segments is no empty one.
#[test]
fn a_directory_with_a_segment_store_is_refused_and_left_alone() {
    let world = World::new(8, SimOptions::default());
    let env = world.env();
    let run = async move {
        let files = ["data/superblock.db", "data/segments-0000.db", "wal/0000000000000000"];
        for directory in ["data", "wal"] {
            env.disk.create_dir(directory).await.unwrap();
        }
        for file in files {
            env.disk.open(file, env::OpenOptions::create()).await.unwrap();
        }
        let refused = open(env.clone()).await.map(drop).unwrap_err();
        let inspected = crate::inspect(&env, crate::Inspected::Superblock).await.unwrap_err();
        assert_eq!(refused, inspected);
        assert!(matches!(refused, EngineError::SegmentStore { .. }), "{refused:?}");
        let text = refused.to_string();
        for part in ["segment page store", "does not read", "dump the data with the version that created it"]
        {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(env.disk.list("data").await.unwrap(), ["segments-0000.db", "superblock.db"]);
    };
    world.block_on(run).unwrap();
}
