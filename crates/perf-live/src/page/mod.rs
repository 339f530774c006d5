//! [`page()`]: HTML page of the server, assembled with its style and scripts, and the policy that
//! permits requests to its server only.

use perf_view::{Page, anomaly};
use std::hash::{BuildHasher, Hasher, RandomState};

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 9] = [
    Page::SCRIPT,
    anomaly::PARTS,
    include_str!("base.js"),
    include_str!("scatter.js"),
    include_str!("stack.js"),
    include_str!("views.js"),
    include_str!("counters.js"),
    include_str!("lost.js"),
    include_str!("main.js"),
];

/// Returns the page and its content security policy. The policy allows only the script and the
/// style of the page, by a random nonce, and connections only to the server of the page.
pub(crate) fn page(is_live: bool) -> (String, String) {
    let nonce = format!("{:016x}{:016x}", random(), random());
    let title = if is_live {
        "Anomalies, live"
    } else {
        "Anomalies of a run"
    };
    let script = SCRIPTS.concat();
    let html = HTML
        .replace("{title}", title)
        .replace(
            "{style}",
            &[&Page::style(), anomaly::STYLE, &rank_colours(), STYLE].concat(),
        )
        .replace("{nonce}", &nonce)
        .replace("{script}", &script);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    (html, policy)
}

/// Returns a random number from the random keys of hash maps.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the colours of ranks as variables of the style sheet.
fn rank_colours() -> String {
    let series = (0..12).map(|at| format!("--rank{at}:{};", perf_view::numbered(at)));
    format!(":root{{{}}}\n", series.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_only_contacts_its_server() {
        let (html, policy) = page(true);
        for part in [
            "{title}",
            "{style}",
            "{nonce}",
            "{script}",
            "http:",
            "https:",
            " style=",
            " onclick=",
        ] {
            assert!(!html.contains(part), "{part}");
        }
        assert!(policy.starts_with("default-src 'none'"));
        let nonce = policy
            .split("'nonce-")
            .nth(1)
            .and_then(|rest| rest.split('\'').next());
        let nonce = nonce.expect("there is one");
        assert_eq!((nonce.len(), html.matches(nonce).count()), (32, 2));
        assert_ne!(page(true).1, policy, "each page has another one");
        assert!(page(false).0.contains("Anomalies of a run"));
    }
}
