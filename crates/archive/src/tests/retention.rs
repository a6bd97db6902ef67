//! An archive that expires keeps what backups need, and lets it go when they do not need it any more.
use super::*;

#[test]
fn the_archive_keeps_what_backups_need() {
    let world = World::new(51, SimOptions::default());
    let env = world.env();
    let run = async move {
        let notes = Arc::new(Notes::default());
        let disk = inside(&env, "archive").await.disk;
        let engine = Engine::open(env.clone(), options()).await.unwrap();
        let config = || ArchiveConfig {
            name: "archive".into(),
            disk: disk.clone(),
            keep_seconds: 1,
            log_begin: None,
            tell: Box::new(|_, _| ()),
        };
        let archive = Archive::start(&env, engine.clone(), config()).await.unwrap();
        start_writer(&env, &engine, &notes, 100);
        wait_for(&env, &notes, 100).await;
        let to_lsn = back_up(&env, &engine, "backup").await;
        let extent = engine::copy_extent(&inside(&env, "backup").await).await.unwrap();
        keep_log_from(&*disk, extent.from_lsn).await.unwrap();
        // Several files of the archive, all of them older than a second in the end.
        wait_for(&env, &notes, 26_000).await;
        stop_writer(&env, &notes).await;
        env.clock.sleep(3_000_000).await;
        write(&env, &engine, &notes).await;
        env.clock.sleep(2_000_000).await;
        let files = check_folder(&*disk).await.unwrap().files;
        assert!(files.len() > 2 && files[0].first <= extent.from_lsn, "{files:?}");
        check_moments(&env, &notes, "backup", to_lsn, 4, 2).await;
        // Damaged, it says that all is needed.
        let name = "needed-from";
        let file = disk.open(name, OpenOptions::existing()).await.unwrap();
        file.write_at(30, env::IoBuf::copy_of(b"x")).await.1.unwrap();
        write(&env, &engine, &notes).await;
        env.clock.sleep(2_000_000).await;
        assert_eq!(check_folder(&*disk).await.unwrap().files.len(), files.len());
        keep_log_from(&*disk, engine.stats().log_end_lsn).await.unwrap();
        write(&env, &engine, &notes).await;
        env.clock.sleep(2_000_000).await;
        let left = check_folder(&*disk).await.unwrap().files;
        assert!(left.len() < files.len(), "{left:?}");
        archive.close().await.unwrap();
        engine.close().await.unwrap();
    };
    world.block_on(run).unwrap();
}
