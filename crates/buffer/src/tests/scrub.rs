//! Damage that nobody has met is found while users read other pages.

use super::*;
use pagestore::{CorruptPage, StoreError};

const DAMAGED: PageId = PageId(300);

#[test]
fn decay_is_found_while_others_are_read() {
    let world = World::new(41, SimOptions::default());
    let env = world.env();
    let run = async {
        let pool = open(&env, 32).await;
        fill(&pool, 10..400).await;
        pool.flush_all().await.unwrap();
        world.flip_bit("pages.db", (DAMAGED.0 as usize * PAGE_BYTES + 2_000) * 8);
        let mut faults = Vec::new();
        while pool.stats().scrub_passes < 2 {
            for page in 10..100 {
                check(&pool, page).await;
            }
            faults.extend(pool.take_scrub_faults());
        }
        let found: Vec<_> = faults.iter().map(ToString::to_string).collect();
        let expected = CorruptPage { page: DAMAGED, fault: PageFault::Checksum };
        assert!(found.iter().all(|found| *found == StoreError::Corrupt(expected).to_string()), "{found:?}");
        let stats = pool.stats();
        assert_eq!((found.len() as u64, stats.scrub_faults), (2, 2));
        // A sixty-fourth of what users read, and what is in memory is left out.
        assert!(
            stats.scrub_pages * 64 <= stats.pages_read + stats.pages_created && stats.scrub_pages > 600,
            "{stats:?}"
        );
        // Nobody has to wait for the page in vain.
        assert!(pool.run(|| pool.read(DAMAGED).map(drop)).await.is_err());
    };
    world.block_on(run).unwrap();
}

#[test]
fn users_get_what_is_being_looked_at() {
    run(42, |env| async move {
        let pool = open(&env, 32).await;
        fill(&pool, 10..200).await;
        for round in 0..200 {
            for page in 0..40 {
                check(&pool, 10 + (page * 37 + round * 11) % 190).await;
            }
        }
        let stats = pool.stats();
        assert!(stats.scrub_pages > 50 && stats.scrub_faults == 0, "{stats:?}");
    });
}
