//! Access checks of requests: the token of writers, and the host names under which pages may be requested.

use axum::http::{HeaderMap, header};
use std::net::{IpAddr, Ipv6Addr};

/// Returns `true` if two texts are equal. The time does not depend on the position of the first
/// difference.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differ = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differ) == 0 && one.len() == other.len()
}

/// Returns `true` if a request has the token of writers.
pub(super) fn may_write(headers: &HeaderMap, token: &str) -> bool {
    let given = headers.get(header::AUTHORIZATION);
    let given = given.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    given.is_some_and(|given| is_equal(given, token.as_bytes()))
}

/// Returns `true` if the host of a request is an address, `localhost`, or a configured name. This
/// protects against DNS rebinding: if the name of another site is made to resolve to this server,
/// pages of that site send that name.
pub(super) fn is_meant(headers: &HeaderMap, names: &[String]) -> bool {
    let Some(host) = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
    else {
        return false;
    };
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => return address.parse::<Ipv6Addr>().is_ok(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: header::HeaderName, value: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, header::HeaderValue::from_static(value));
        headers
    }

    #[test]
    fn writers_have_the_token() {
        let may = |value| may_write(&with(header::AUTHORIZATION, value), "0123456789abcdef");
        assert!(may("Bearer 0123456789abcdef"));
        for wrong in [
            "Bearer 0123456789abcdeg",
            "Bearer 0123456789abcde",
            "0123456789abcdef",
            "Bearer ",
            "Bearer 0123456789abcdef0",
        ] {
            assert!(!may(wrong), "{wrong}");
        }
        assert!(!may_write(&HeaderMap::new(), "0123456789abcdef"));
    }

    #[test]
    fn names_of_others_are_refused() {
        let names = ["login1".to_string()];
        let meant = |value| is_meant(&with(header::HOST, value), &names);
        for good in [
            "127.0.0.1:80",
            "[::1]:80",
            "localhost",
            "LOCALHOST:1",
            "login1:5560",
            "10.0.0.7",
        ] {
            assert!(meant(good), "{good}");
        }
        for wrong in ["evil.example", "localhost.evil.example:80", "[evil]:80", ""] {
            assert!(!meant(wrong), "{wrong}");
        }
        assert!(!is_meant(&HeaderMap::new(), &names));
    }
}
