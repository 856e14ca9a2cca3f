use super::*;

fn indices(cache: &PageCache, ino: Ino) -> Vec<u64> {
    (0..100).filter(|&index| cache.find(ino, index).is_some()).collect()
}

#[test]
fn the_least_recently_used_page_leaves() {
    let mut cache = PageCache::new(16 * PAGE_BYTES as u64);
    for index in 0..16 {
        cache.insert(1, index);
    }
    cache.touch(cache.find(1, 0).unwrap());
    cache.insert(2, 0);
    assert_eq!(indices(&cache, 1), [vec![0], (2..16).collect()].concat());
}

#[test]
fn a_pinned_page_stays() {
    let mut cache = PageCache::new(0);
    let first = cache.insert(1, 0);
    cache.pin(first);
    for index in 1..40 {
        cache.insert(1, index);
    }
    assert_eq!(indices(&cache, 1), [vec![0], (25..40).collect()].concat());
    cache.unpin(first);
    for index in 40..56 {
        cache.insert(1, index);
    }
    assert_eq!(indices(&cache, 1), (40..56).collect::<Vec<_>>());
}

#[test]
fn the_order_of_use_survives_many_uses() {
    let mut cache = PageCache::new(16 * PAGE_BYTES as u64);
    let pinned = cache.insert(9, 0);
    cache.pin(pinned);
    for index in 0..15 {
        cache.insert(1, index);
    }
    for use_number in 0..1_000 {
        cache.touch(cache.find(1, use_number * 7 % 15).unwrap());
    }
    assert!(cache.queue.len() <= QUEUE_LENGTHS_MAX * 16);
    // The last uses of the pages were in the order 10, 2, 9, 1, 8, 0, 7, 14, 6, 13, 5, 12, 4, 11, 3.
    for (new, used_longest_ago) in [10, 2, 9, 1].into_iter().enumerate() {
        cache.insert(2, new as u64);
        assert_eq!(cache.find(1, used_longest_ago), None);
    }
    assert_eq!(indices(&cache, 1), [0, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14]);
    assert_eq!(indices(&cache, 9), [0]);
}

#[test]
fn pages_far_apart_are_found_and_dropped_in_any_order() {
    let mut cache = PageCache::new(1 << 20);
    let far = u64::from(u32::MAX);
    for index in [far, 0, 1_000, 70, 64, 63, far - 100] {
        cache.insert(1, index);
    }
    assert_eq!(indices(&cache, 1), [0, 63, 64, 70]);
    assert!(cache.find(1, far).is_some() && cache.find(1, 1_000).is_some() && cache.find(1, far - 1).is_none());
    cache.remove_range(1, 64, far - 1);
    assert_eq!(indices(&cache, 1), [0, 63]);
    assert!(cache.find(1, far).is_some() && cache.find(1, 1_000).is_none() && cache.find(1, far - 100).is_none());
    cache.remove(cache.find(1, 63).unwrap());
    cache.truncate(1, PAGE_BYTES as u64);
    assert_eq!(indices(&cache, 1), [0]);
    assert!(cache.find(1, far).is_none());
}

#[test]
fn a_page_that_left_is_not_found_where_it_was_found_last() {
    let mut cache = PageCache::new(1 << 20);
    let slot = cache.insert(1, 5);
    assert_eq!(cache.find(1, 5), Some(slot));
    cache.remove(slot);
    assert_eq!((cache.find(1, 5), cache.insert(2, 7), cache.find(1, 5)), (None, slot, None));
}

#[test]
fn truncation_cuts_pages_and_clears_the_tail() {
    let mut cache = PageCache::new(1 << 20);
    for index in 0..4 {
        let slot = cache.insert(7, index);
        cache.data_mut(slot).fill(0xAA);
        cache.insert(8, index);
    }
    cache.truncate(7, 4096 + 10);
    assert_eq!(indices(&cache, 7), [0, 1]);
    assert_eq!(indices(&cache, 8), [0, 1, 2, 3]);
    let page = cache.data(cache.find(7, 1).unwrap());
    assert!(page[..10].iter().all(|&b| b == 0xAA) && page[10..].iter().all(|&b| b == 0));
    cache.remove_range(8, 1, 2);
    assert_eq!(indices(&cache, 8), [0, 3]);
    cache.remove_range(7, 0, u64::MAX);
    assert!(indices(&cache, 7).is_empty());
}

#[test]
fn a_page_becomes_active_when_it_is_used_for_the_second_time() {
    let mut cache = PageCache::new(16 * PAGE_BYTES as u64);
    let page = cache.insert(1, 0);
    assert_eq!([(); 4].map(|()| cache.becomes_active(page)), [false, true, false, false]);
    cache.remove(page);
    let page = cache.insert(1, 0);
    assert!(!cache.becomes_active(page));
}
