//! Tree pages and redo: the check before use finds what is wrong with a damaged page, and records applied one
//! after the other to a sound page leave it sound or are refused. Most inputs are no pages at all, so they also
//! describe one (`btree::fuzz_one`).
#![no_main]

use btree::{check_page, redo};
use libfuzzer_sys::fuzz_target;
use pagestore::{PageFault, PageId};

fuzz_target!(|input: (Vec<u8>, Vec<(u8, Vec<u8>)>)| {
    let (bytes, records) = input;
    btree::fuzz_one(&bytes);
    let mut page = vec![0; 4096];
    let length = bytes.len().min(page.len());
    page[..length].copy_from_slice(&bytes[..length]);
    let mut sound = check_page(&page).is_ok();
    for (kind, payload) in &records {
        let Ok((id, change)) = redo::Change::decode(*kind, payload) else { continue };
        if sound || change.is_image() {
            let before = page.clone();
            sound = redo::apply(&mut page, PageId(id.0), &change).is_ok();
            if sound {
                let checked = check_page(&page);
                assert!(matches!(checked, Ok(()) | Err(PageFault::Lost)), "a record left a damaged page");
                sound = checked.is_ok();
            } else {
                page = before;
                sound = check_page(&page).is_ok();
            }
        }
    }
});
