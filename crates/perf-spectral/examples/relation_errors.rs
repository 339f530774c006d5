//! Measures the errors of relations: 1,000 random smooth views with 20 planted pairs, and without,
//! with 100 seeds each.
//!
//! ```text
//! cargo run --release -p perf-spectral --example relation_errors
//! ```

#[path = "../tests/spectral/relations/smooth_views.rs"]
mod smooth_views;

use smooth_views::{counts, relations};

/// Number of views.
const VIEWS: usize = 1000;

/// Number of planted pairs.
const PLANTED: usize = 20;

/// Number of seeds.
const SEEDS: u64 = 100;

fn main() {
    let (mut right, mut shares, mut worst) = (0, 0.0, 0.0f64);
    let mut silent = 0;
    for seed in 0..SEEDS {
        let (planted, wrong) = counts(&relations(VIEWS, PLANTED, seed), PLANTED);
        let share = wrong as f64 / (planted + wrong).max(1) as f64;
        right += planted;
        shares += share;
        worst = worst.max(share);
        silent += usize::from(relations(VIEWS, 0, SEEDS + seed).found.is_empty());
    }
    let all = PLANTED * SEEDS as usize;
    println!("planted pairs found: {right} of {all}");
    println!(
        "false discovery rate: {:.2} % on average, {:.2} % at most",
        100.0 * shares / SEEDS as f64,
        100.0 * worst
    );
    println!("noise in which nothing is found: {silent} of {SEEDS}");
}
