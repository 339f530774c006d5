//! Description of the machine, and the current date, for stored measurements.

use std::fs::read_to_string;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::output_of;

/// Describes the machine in one line: cores, clock rate, vector units, memory, kernel, compiler. It
/// contains no host names.
pub(crate) fn machine() -> String {
    let processors = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = read_to_string("/proc/meminfo").unwrap_or_default();
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let compiler = output_of(Command::new("rustc").arg("--version")).unwrap_or_default();
    described(&processors, &memory, &kernel, cores, &compiler)
}

fn described(processors: &str, memory: &str, kernel: &str, cores: usize, compiler: &str) -> String {
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let flags = field(processors, "flags").unwrap_or_default();
    let has = |flag: &str| flags.split(' ').any(|word| word == flag);
    let kind = if has("hypervisor") {
        "virtual machine"
    } else {
        "machine"
    };
    let mut parts = vec![format!("{kind}, {cores} cores")];
    let clock = field(processors, "cpu MHz").and_then(|text| text.parse::<f64>().ok());
    if let Some(clock) = clock {
        parts[0] += &format!(" of {:.1} GHz", clock / 1000.0);
    }
    let vectors = ["avx512f", "avx2", "avx", "sse2"];
    parts.extend(
        vectors
            .iter()
            .find(|flag| has(flag))
            .map(|flag| (*flag).to_string()),
    );
    let kib = field(memory, "MemTotal");
    let kib = kib.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    parts.extend(kib.map(|kib| format!("{:.0} GB of memory", kib * 1024.0 / 1e9)));
    // The number is followed by a suffix of the kernel's distributor.
    let number = kernel
        .trim()
        .split('-')
        .next()
        .filter(|text| !text.is_empty());
    parts.extend(number.map(|number| format!("Linux {number}")));
    let compiler = compiler.split(' ').nth(1);
    parts.extend(compiler.map(|version| format!("rustc {version}")));
    parts.join(", ")
}

/// Returns the current date in UTC, such as `2026-11-22`.
pub(crate) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    date(since.map_or(0, |since| since.as_secs() / 86_400))
}

/// Returns the date `days` days after 1 January 1970.
fn date(days: u64) -> String {
    let (mut year, mut rest) = (1970, days);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    while rest >= 365 + u64::from(is_leap(year)) {
        rest -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_leap_years() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(59), "1970-03-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_818), "2026-12-31");
        assert_eq!(date(20_819), "2027-01-01");
    }

    #[test]
    fn a_machine_is_told_without_names() {
        let processors =
            "model name\t: any\ncpu MHz\t\t: 2600.000\nflags\t\t: sse2 avx hypervisor avx2\n";
        let text = described(
            processors,
            "MemTotal:       16000000 kB\n",
            "6.1.0-some-name\n",
            2,
            "rustc 1.95.0 (abc 2026-01-01)",
        );
        let expected =
            "virtual machine, 2 cores of 2.6 GHz, avx2, 16 GB of memory, Linux 6.1.0, rustc 1.95.0";
        assert_eq!(text, expected);
        assert_eq!(described("", "", "", 1, ""), "machine, 1 cores");
    }
}
