//! [`Target`]: required limit for the first runner of a race, and its check; also formats of times,
//! memory and numbers.

use super::race::{Cost, Measured};

/// Required limit for the first runner of a race.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Minimum rate in millions of units of work per second.
    Rate(f64),
    /// Maximum of the compared time, in seconds.
    Seconds(f64),
    /// Maximum wall time in seconds, for races that compare CPU time.
    Wall(f64),
    /// Maximum memory in megabytes.
    Memory(f64),
    /// Maximum memory in megabytes beyond the answer `kept_bytes`.
    Beyond(f64),
    /// Minimum factor by which the first runner is faster than the runner with this index.
    Faster(usize, f64),
    /// Minimum factor by which the first runner takes less memory than the runner with this index.
    Leaner(usize, f64),
    /// Minimum of a number among the answers.
    Answer(&'static str, f64),
}

/// Limit with the measured value and the runner to compare with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    /// Text of the limit.
    pub(crate) bar: String,
    pub(crate) ours: String,
    /// Another runner and its value.
    pub(crate) peer: Option<(String, String)>,
    /// Factor by which the first runner is better than the other one.
    pub(crate) ratio: Option<f64>,
    /// `true` if the limit is met.
    pub(crate) met: bool,
}

impl Target {
    /// Checks the limit. Returns `None` if a required runner did not run.
    pub(crate) fn judge(self, measured: &Measured) -> Option<Judged> {
        let ours = measured.costs.first()?.figures.as_ref()?;
        let at = match self {
            Target::Faster(at, _) | Target::Leaner(at, _) => at,
            _ => 1,
        };
        let peer = measured.costs.get(at);
        let theirs = peer.and_then(|peer| Some((peer, peer.figures.as_ref()?)));
        let work = measured.count;
        let unit = &measured.work;
        let judged = |bar: String,
                      least: bool,
                      limit: f64,
                      of: &dyn Fn(&super::race::Figure) -> Option<f64>,
                      text: &dyn Fn(f64) -> String| {
            let value = of(ours)?;
            let other = theirs.and_then(|(peer, figures)| Some((peer, of(figures)?)));
            let ratio = other.map(|(_, other)| if least { value / other } else { other / value });
            Some(Judged {
                bar,
                ours: text(value),
                peer: other.map(|(peer, other): (&Cost, f64)| (peer.name.clone(), text(other))),
                ratio,
                met: if least {
                    value >= limit
                } else {
                    value <= limit
                },
            })
        };
        let rate = |figure: &super::race::Figure| Some(work? / figure.least / 1e6);
        let seconds = |figure: &super::race::Figure| Some(figure.least);
        let wall = |figure: &super::race::Figure| Some(figure.wall);
        let memory =
            |figure: &super::race::Figure| Some(figure.megabytes).filter(|value| *value > 0.0);
        match self {
            Target::Rate(least) => judged(
                format!("at least {least} M {unit}/s"),
                true,
                least,
                &rate,
                &|value| format!("{} M/s", digits(value)),
            ),
            Target::Seconds(most) => judged(
                format!("at most {}", time(most)),
                false,
                most,
                &seconds,
                &time,
            ),
            Target::Wall(most) => judged(
                format!("at most {} of wall time", time(most)),
                false,
                most,
                &wall,
                &time,
            ),
            Target::Memory(most) => judged(
                format!("at most {most} MB"),
                false,
                most,
                &memory,
                &megabytes,
            ),
            Target::Beyond(most) => {
                let kept = measured.answer("kept_bytes")? / 1e6;
                let beyond = ours.megabytes - kept;
                Some(Judged {
                    bar: format!("at most {most} MB beyond the {kept:.0} MB that are kept"),
                    ours: megabytes(beyond),
                    peer: None,
                    ratio: None,
                    met: beyond <= most,
                })
            }
            Target::Faster(_, least) => {
                let (peer, _) = theirs?;
                let bar = if least == 1.0 {
                    format!("as fast as {}", peer.name)
                } else {
                    format!("{least} times as fast as {}", peer.name)
                };
                let mut judged = judged(bar, false, 0.0, &seconds, &time)?;
                judged.met = judged.ratio? >= least;
                Some(judged)
            }
            Target::Leaner(_, least) => {
                let (peer, _) = theirs?;
                let bar = format!("1/{least} of the memory of {}", peer.name);
                let mut judged = judged(bar, false, 0.0, &memory, &megabytes)?;
                judged.met = judged.ratio? >= least;
                Some(judged)
            }
            Target::Answer(name, least) => {
                let value = measured.answer(name)?;
                Some(Judged {
                    bar: format!("{name} of at least {least}"),
                    ours: digits(value),
                    peer: None,
                    ratio: None,
                    met: value >= least,
                })
            }
        }
    }
}

/// Formats a time with three digits in a suitable unit.
pub(crate) fn time(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    let unit = units.iter().find(|(size, _)| seconds >= 0.9995 * size);
    let (size, name) = unit.copied().unwrap_or((1e-9, "ns"));
    format!("{} {name}", digits(seconds / size))
}

pub(crate) fn megabytes(value: f64) -> String {
    format!("{} MB", digits(value))
}

/// Formats a number with three digits, or with all digits before the point if there are more.
pub(crate) fn digits(value: f64) -> String {
    let places = match value.abs() {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::super::race::Figure;
    use super::*;

    fn measured() -> Measured {
        let cost = |name: &str, least: f64, megabytes: f64| Cost {
            name: name.into(),
            command: String::new(),
            missing: None,
            figures: Some(Figure {
                least,
                median: least,
                cpu: least,
                wall: 2.0 * least,
                megabytes,
            }),
        };
        Measured {
            title: "reading".into(),
            by: "cpu_s".into(),
            work: "events".into(),
            count: Some(2e6),
            answers: [("kept_bytes".to_string(), "4000000".to_string())].into(),
            costs: vec![cost("ours", 0.02, 10.0), cost("theirs", 0.5, 40.0)],
            turns: 1,
            quiet: 1,
            others: 0.0,
        }
    }

    #[test]
    fn bars_are_held_against_what_was_measured() {
        let of = |asked: Target| asked.judge(&measured());
        let rate = of(Target::Rate(60.0)).map(|it| (it.ours, it.peer, it.met));
        let peer = Some(("theirs".to_string(), "4.00 M/s".to_string()));
        assert_eq!(rate, Some(("100 M/s".into(), peer, true)));
        let faster = of(Target::Faster(1, 30.0)).map(|it| (it.ours, it.ratio, it.met));
        assert_eq!(faster, Some(("20.0 ms".into(), Some(25.0), false)));
        let equal = of(Target::Faster(1, 1.0)).map(|it| (it.bar, it.met));
        assert_eq!(equal, Some(("as fast as theirs".into(), true)));
        let leaner = of(Target::Leaner(1, 4.0)).map(|it| (it.bar, it.met));
        assert_eq!(leaner, Some(("1/4 of the memory of theirs".into(), true)));
        assert_eq!(of(Target::Seconds(0.02)).map(|it| it.met), Some(true));
        assert_eq!(of(Target::Wall(0.02)).map(|it| it.met), Some(false));
        assert_eq!(of(Target::Beyond(5.0)).map(|it| it.met), Some(false));
        assert_eq!(of(Target::Answer("nothing", 1.0)), None);
        assert_eq!(of(Target::Faster(2, 1.0)), None);
    }

    #[test]
    fn times_have_the_unit_that_suits() {
        let texts = [1.5, 0.05, 5e-5, 1e-7].map(time);
        assert_eq!(texts, ["1.50 s", "50.0 ms", "50.0 us", "100 ns"]);
    }
}
