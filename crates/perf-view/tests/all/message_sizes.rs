//! Messages by length on a page: of each window where the page has each message, otherwise of the whole page.

use super::timeline::{data, timelines};
use perf_core::{Job, LocationId, Ticks};
use perf_fold::{GroupBy, Groups, Line};
use perf_view::Page;
use perf_view::timeline::View;
use serde_json::Value;

/// Returns the data of a page of 40 ranks with `count` messages, of which those with an odd number stay within
/// rank 0 if `has_inner`.
fn page(count: u64, has_inner: bool) -> Value {
    let timelines = timelines(&perf_core::samples::cosmo::trace());
    let message = |at: u64| Line {
        from: LocationId(0),
        sent: Ticks(1_000 * at),
        to: LocationId(u32::from(!has_inner || at.is_multiple_of(2))),
        received: Ticks(1_000 * at + 500),
        bytes: at,
    };
    let groups = Groups::by(&timelines, GroupBy::Process);
    let view = View::new(&timelines, groups).lines((0..count).map(message));
    let section = view.section(&Job::default()).expect("it is drawn");
    let html = Page::new("x").with(section).html(&Job::default());
    data(&html.expect("it is written"))
}

#[test]
fn a_page_with_bundles_has_the_lengths_of_all_messages() {
    let few = page(100, false);
    assert!(few["sizes"].is_null() && few["links"]["columns"].is_null());
    assert_eq!(few["links"]["bundles"].as_array().map(Vec::len), Some(100));
    // Too many for lines of their own, and messages without a line.
    for (count, has_inner) in [(20_000, false), (100, true)] {
        let sizes = &page(count, has_inner)["sizes"];
        let sizes = sizes.as_array().expect("sizes");
        let sum = |at: usize| sizes.iter().filter_map(|it| it[at].as_u64()).sum::<u64>();
        assert_eq!((sum(1), sum(2)), (count, count * (count - 1) / 2));
        // The classes begin at 0 B, 1 B, 2 B and 4 B.
        let counts: Vec<_> = sizes
            .iter()
            .take(4)
            .filter_map(|it| it[1].as_u64())
            .collect();
        assert_eq!(counts, [1, 1, 2, 4]);
    }
}
