//! The largest key of a tree, whoever wrote its record.

use super::*;

#[test]
fn the_last_key_is_that_of_any_record() {
    with_engine(|engine| async move {
        let mut creator = repeatable(&engine);
        let tree = creator.create_tree().await.unwrap();
        creator.commit().await.unwrap();
        assert_eq!(engine.last_key(tree).await, Ok(None));
        let key = |number: u32| number.to_be_bytes().to_vec();
        let mut writer = repeatable(&engine);
        for number in 0..500 {
            writer.insert(tree, &key(number), &[1; 60], Uniqueness::Key, WAIT).await.unwrap();
        }
        assert_eq!(engine.last_key(tree).await, Ok(Some(key(499))), "nobody has committed it");
        writer.commit().await.unwrap();
        let mut writer = repeatable(&engine);
        // Whole leaves at the end.
        for number in (100..500).rev() {
            writer.delete(tree, &key(number), WAIT).await.unwrap();
        }
        assert_eq!(engine.last_key(tree).await, Ok(Some(key(499))), "the deletion may be undone");
        writer.commit().await.unwrap();
        engine.finish_background().await;
        let last = engine.last_key(tree).await.unwrap();
        assert!(last >= Some(key(99)) && last <= Some(key(499)), "{last:?}");
        assert_eq!(engine.last_key(TreeId(77)).await, Err(EngineError::NoSuchTree(TreeId(77))));
    });
}
