//! Tests of Paraver traces with extreme numbers of one element, which must not take
//! disproportionate time.
use perf_core::{Job, Limits, Members, Trace};
use perf_formats::paraver::{Pcf, Reader, Row, into_trace, rules};
use perf_formats::{Error, OpenOptions};

fn read(text: &str, options: &OpenOptions) -> Result<Trace, Error> {
    let reader = Reader::new(text.as_bytes(), "many.prv", options, &Job::default())?;
    Ok(into_trace(reader, &Pcf::default(), &Row::default())?.0)
}

#[test]
fn messages_between_many_applications_have_a_communicator_a_pair() {
    let count = 300;
    let applications = vec!["1(1:1)"; count].join(",");
    let mut text = format!("#Paraver (1/1/20 at 1:00):30_ns:0:{count}:{applications}\n");
    for from in 1..=count {
        for to in 1..from {
            text += &format!("3:1:{from}:1:1:1:1:1:{to}:1:1:5:5:8:1\n");
        }
    }
    let trace = read(&text, &OpenOptions::new()).unwrap();
    let comms = &trace.definitions().comms;
    assert_eq!(comms.len(), count * (count - 1) / 2);
    assert_eq!(trace.len(), count * (count - 1));
}

#[test]
fn communicators_of_others_have_no_more_members_than_the_memory_budget_allows() {
    let count = 20;
    let mut text = format!(
        "#Paraver (1/1/20 at 1:00):30_ns:0:1:{count}({}),1\nc:1:1:{count}",
        vec!["1:1"; count].join(",")
    );
    (1..=count).for_each(|task| text += &format!(":{task}"));
    (2..100).for_each(|id| text += &format!("\ni:1:{id}:1:1:1:1"));
    text += "\n1:1:1:1:1:0:9:1\n";
    let known = |limits: Limits| {
        let options = OpenOptions::new().limits(limits);
        let comms = read(&text, &options).unwrap().definitions().comms.clone();
        let known = comms.iter().filter(|it| it.members != Members::Unknown);
        (comms.len(), known.count())
    };
    assert_eq!(known(Limits::default()), (99, 99));
    // The communicator that lists its members, and 10 that take 40 each.
    assert_eq!(known(Limits::default().with_definitions(400)), (99, 11));
}

#[test]
fn communicators_that_are_told_again_cost_only_themselves() {
    let count = 5_000;
    let mut text = format!(
        "#Paraver (1/1/20 at 1:00):30_ns:0:1:{count}({}),1\nc:1:1:{count}",
        vec!["1:1"; count].join(",")
    );
    (1..=count).for_each(|task| text += &format!(":{task}"));
    text += "\n";
    for at in 0..10_000 {
        // A collective of the large communicator, and the redefinition of another.
        text += &format!("2:1:1:1:1:{at}:50000002:8:50100004:1\nc:1:2:1:1\n");
    }
    assert!(!read(&text, &OpenOptions::new()).unwrap().is_empty());
}

#[test]
fn a_line_may_have_many_pairs() {
    let head = "#Paraver (1/1/20 at 1:00):30_ns:0:1:1(1:1)\n2:1:1:1:1:5";
    let count = 50_000;
    for kind in [60_000_119, 60_000_019] {
        let text = format!("{head}{}\n", format!(":{kind}:7").repeat(count));
        assert!(!read(&text, &OpenOptions::new()).unwrap().is_empty());
    }
}

#[test]
fn one_name_on_many_lines_takes_no_more_than_the_memory_budget() {
    let count = 400;
    let head = "#Paraver (1/1/20 at 1:00):30_ns:0:1:1(1:1)\n";
    let pairs = (1..=count).map(|line| format!("2:1:1:1:1:{line}:60000019:1:60000119:{line}\n"));
    let text = format!("{head}{}", pairs.collect::<String>());
    let lines = (1..=count).map(|line| format!("{line}   {line} (a.c, x)\n"));
    let names = format!(
        "EVENT_TYPE\n0    60000019    User function\nVALUES\n1   {}\n\n\
         EVENT_TYPE\n0    60000119    User function line\nVALUES\n{}\n",
        "f".repeat(997),
        lines.collect::<String>()
    );
    let named = |limits: Limits| {
        let options = OpenOptions::new().limits(limits);
        let reader = Reader::new(text.as_bytes(), "many.prv", &options, &Job::default()).unwrap();
        let (trace, found) =
            into_trace(reader, &Pcf::parse(names.as_bytes()), &Row::default()).unwrap();
        let long = trace.definitions().regions.iter();
        let long = long.filter(|region| region.name.len() > 900).count();
        (long, found.count(rules::NAMES))
    };
    assert_eq!(named(Limits::default()), (count, 0));
    assert_eq!(named(Limits::default().with_string(1000)), (256, 144));
}

#[test]
fn a_line_is_as_long_as_64_strings() {
    let head = "#Paraver (1/1/20 at 1:00):30_ns:0:1:1(1:1)\n2:1:1:1:1:5";
    let text = format!("{head}{}\n", ":1:7".repeat(1 << 20));
    let limits = Limits::default().with_string(16 << 10);
    let error = read(&text, &OpenOptions::new().limits(limits)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Limit {
                limit: 0x10_0000,
                ..
            }
        ),
        "{error}"
    );
    assert!(read(&text, &OpenOptions::new()).is_ok());
}
