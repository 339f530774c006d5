//! Formatting of times, bytes, counts, percentages and other numbers with units.

/// Formats a time or duration in nanoseconds with three significant digits and a unit.
///
/// ```
/// use perf_view::number::time;
/// assert_eq!(time(0.0), "0 s");
/// assert_eq!(time(1_234.0), "1.23 us");
/// assert_eq!(time(-20_000_000.0), "-20.0 ms");
/// assert_eq!(time(437_999_971_000.0), "438 s");
/// assert_eq!(time(10_273_000_000_000.0), "10 273 s");
/// ```
pub fn time(nanos: f64) -> String {
    if nanos == 0.0 {
        return "0 s".into();
    }
    scaled(nanos, &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")])
}

/// Formats the begin and the end of a window in nanoseconds, with as many digits as distinguish a
/// thousandth of the window.
#[cfg(feature = "fold")]
pub(crate) fn window([from, to]: [f64; 2]) -> [String; 2] {
    let span = (to - from).abs();
    let (scale, unit) = time_unit(span, from.abs().max(to.abs()));
    let places = (3.0 - (span / scale).log10() - 1e-9).ceil();
    // No digits below a nanosecond.
    let places = places.clamp(0.0, scale.log10()) as usize;
    [from, to].map(|at| format!("{} {unit}", grouped(at / scale, places)))
}

/// Formats times in nanoseconds in one unit, with as many digits as distinguish them.
#[cfg(feature = "anomaly")]
pub(crate) fn apart(times: impl Iterator<Item = f64>) -> Vec<String> {
    let times: Vec<f64> = times.collect();
    let largest = times
        .iter()
        .fold(0.0_f64, |most, time| most.max(time.abs()));
    let (scale, unit) = time_unit(largest, largest);
    let mut different = times.clone();
    different.sort_unstable_by(f64::total_cmp);
    different.dedup();
    let texts = |places: usize| times.iter().map(move |at| grouped(at / scale, places));
    // No digits below a nanosecond.
    let most = scale.log10() as usize;
    let mut places = 2.min(most)..most;
    let is_enough = |places: &usize| {
        let texts: std::collections::BTreeSet<String> = texts(*places).collect();
        texts.len() == different.len()
    };
    let places = places.find(is_enough).unwrap_or(most);
    texts(places).map(|text| format!("{text} {unit}")).collect()
}

/// Returns the unit of times that differ by `fine` nanoseconds and more, and its length in nanoseconds:
/// the largest unit that does not exceed `fine`, or a larger one if times of `size` nanoseconds would have
/// more than four digits before the decimal point.
pub(crate) fn time_unit(fine: f64, size: f64) -> (f64, &'static str) {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
    let of_fine = UNITS.iter().position(|(scale, _)| fine >= *scale);
    let units = UNITS.iter().take(of_fine.map_or(UNITS.len(), |at| at + 1));
    let found = units.rev().find(|(scale, _)| size / scale < 1e4);
    *found.unwrap_or(&UNITS[0])
}

/// Formats a number with a fixed number of decimal places. Five and more digits before the point are in
/// groups of three.
pub(crate) fn grouped(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.trim_start_matches('-');
    match digits.parse() {
        Ok(number) if digits.len() > 4 => {
            let sign = &whole[..whole.len() - digits.len()];
            format!("{sign}{}{rest}", count(number))
        }
        _ => text,
    }
}

/// Formats a number of bytes in binary units.
///
/// ```
/// use perf_view::number::bytes;
/// assert_eq!(bytes(100.0), "100 B");
/// assert_eq!(bytes(1536.0), "1.50 KiB");
/// ```
pub fn bytes(count: f64) -> String {
    if count.abs() < 1024.0 {
        return format!("{count:.0} B");
    }
    const KIB: f64 = 1024.0;
    scaled(
        count,
        &[
            (KIB * KIB * KIB * KIB, "TiB"),
            (KIB * KIB * KIB, "GiB"),
            (KIB * KIB, "MiB"),
            (KIB, "KiB"),
        ],
    )
}

/// Formats a count with all its digits, in groups of three as in [tables](perf_core::Table).
///
/// ```
/// use perf_view::number::count;
/// assert_eq!(count(950), "950");
/// assert_eq!(count(1_835_008), "1 835 008");
/// ```
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Formats a fraction of 1 as a percentage, with one decimal place below 10 %. A positive fraction that would be rounded
/// to 0 is `< 0.1 %`.
///
/// ```
/// use perf_view::number::percent;
/// assert_eq!(percent(0.5), "50 %");
/// assert_eq!(percent(0.0123), "1.2 %");
/// assert_eq!((percent(1e-6).as_str(), percent(0.0).as_str()), ("< 0.1 %", "0 %"));
/// ```
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value > 0.0 && value < 0.05 {
        return "< 0.1 %".into();
    }
    match value.abs() {
        0.0..9.95 if value != 0.0 => format!("{value:.1} %"),
        _ => format!("{value:.0} %"),
    }
}

/// Formats a number with three significant digits, an SI prefix and its unit. `unit` may be empty.
///
/// A number below 1 without a unit has no prefix, because readers would take the prefix for a unit.
///
/// ```
/// use perf_view::number::short;
/// assert_eq!(short(0.0, ""), "0");
/// assert_eq!(short(3.46e9, ""), "3.46 G");
/// assert_eq!(short(0.5, ""), "0.500");
/// assert_eq!(short(-0.012_34, ""), "-0.0123");
/// assert_eq!(short(0.000_25, ""), "2.50e-4");
/// assert_eq!(short(0.000_25, "s"), "250 us");
/// assert_eq!(short(2_740.0, "s"), "2740 s");
/// assert_eq!(short(f64::NAN, "s"), "no number");
/// ```
pub fn short(value: f64, unit: &str) -> String {
    if value.is_nan() {
        return "no number".into();
    }
    if value == 0.0 || value.is_infinite() {
        return format!("{value} {unit}").trim_end().to_string();
    }
    let size = value.abs() * 1.000_5;
    if unit.is_empty() && size < 1.0 {
        let places = 2 - size.log10().floor().max(-9.0) as i32;
        return match usize::try_from(places) {
            Ok(places) if size >= 1e-3 => format!("{value:.places$}"),
            _ => format!("{value:.2e}"),
        };
    }
    // Nobody reads thousands of seconds as kiloseconds.
    let is_usual = |scale: f64| unit != "s" || scale <= 1.0;
    let found = PREFIXES
        .iter()
        .find(|(scale, _)| size >= *scale && is_usual(*scale));
    match found {
        Some((scale, prefix)) => format!("{} {prefix}{unit}", digits(value / scale))
            .trim_end()
            .to_string(),
        None => format!("{value:.2e} {unit}").trim_end().to_string(),
    }
}

/// Powers of 1000 with their prefixes.
const PREFIXES: [(f64, &str); 9] = [
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "u"),
    (1e-9, "n"),
];

/// Returns the power of 1000 and the prefix for a value of this size. There is no prefix for values
/// below the smallest prefix, and for values below 1 without a unit.
pub(crate) fn prefix(size: f64, unit: &str) -> (f64, &'static str) {
    if unit.is_empty() && size * 1.000_5 < 1.0 {
        return (1.0, "");
    }
    let found = PREFIXES.iter().find(|(scale, _)| size * 1.000_5 >= *scale);
    found.copied().unwrap_or((1.0, ""))
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    if !value.is_finite() {
        return short(value, units.first().map_or("", |unit| unit.1));
    }
    let size = value.abs() * 1.000_5;
    let found = units.iter().find(|(scale, _)| size >= *scale);
    let (scale, unit) = found.or(units.last()).copied().unwrap_or((1.0, ""));
    format!("{} {unit}", digits(value / scale))
}

/// Formats a value with three significant digits.
fn digits(value: f64) -> String {
    let places = match value.abs() {
        0.0..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    grouped(value, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls within the same second of a long run have different times.
    #[test]
    #[cfg(feature = "anomaly")]
    fn times_are_told_apart() {
        let times = [1_575_300_000_250_000_000.0, 1_575_300_000_251_000_000.0];
        let texts = apart(times.into_iter());
        assert_eq!(texts, ["1 575 300 000.250 s", "1 575 300 000.251 s"]);
        assert_eq!(
            apart([5e6, 5e6, 0.0].into_iter()),
            ["5.00 ms", "5.00 ms", "0.00 ms"]
        );
        assert_eq!(apart([1.0, 2.0].into_iter()), ["1 ns", "2 ns"]);
        assert_eq!(apart(std::iter::empty()), [""; 0]);
    }

    #[test]
    #[cfg(feature = "fold")]
    fn ends_of_short_windows_differ() {
        for (from, span, expected) in [
            (0.0, 1e3, ["0.000 us", "1.000 us"]),
            (1e7, 1e3, ["10.000000 ms", "10.001000 ms"]),
            (5e9, 1e3, ["5000.000000 ms", "5000.001000 ms"]),
            (5e9, 250.0, ["5000.000000 ms", "5000.000250 ms"]),
            (0.0, 250.0, ["0 ns", "250 ns"]),
            (0.0, 1.0, ["0 ns", "1 ns"]),
            (5e9, 2e6, ["5000.000 ms", "5002.000 ms"]),
            (0.0, 3.6e12, ["0 s", "3600 s"]),
            (-2e7, 4e7, ["-20.00 ms", "20.00 ms"]),
            (-2e13, 2e9, ["-20 000.000 s", "-19 998.000 s"]),
        ] {
            assert_eq!(window([from, from + span]), expected);
        }
    }
}
