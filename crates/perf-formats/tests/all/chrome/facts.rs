//! Compares Chrome and Kineto files of the corpus with their known facts.

use crate::common::gpu;

use gpu::{Device, devices, links_to_work};
use perf_core::{Job, LocationKind};
use perf_formats::chrome::rules;
use perf_formats::{OpenOptions, open};
use serde_json::Value;

#[test]
fn every_kineto_file_is_as_its_facts_say() {
    let Some((folder, facts)) = gpu::facts() else {
        return;
    };
    let mut seen = 0;
    for facts in facts
        .iter()
        .filter(|it| it["format"] == "kineto-chrome-json")
    {
        let name = facts["id"].as_str().unwrap();
        let path = folder.join(facts["local"].as_str().unwrap());
        let recording = open(&path, &OpenOptions::new(), &Job::default()).unwrap();
        assert_eq!(recording.format, "chrome", "{name}");
        let found = &recording.diagnostics;
        assert_eq!(found.repairs(), 0, "{name}: {found}");
        let trace = recording.trace().unwrap();

        let phases = facts["ph"].as_object().unwrap();
        let phase = |phase: &str| phases.get(phase).and_then(Value::as_u64).unwrap_or(0);
        let calls = trace
            .view()
            .locations()
            .flat_map(|it| it.iter().collect::<Vec<_>>());
        let calls = calls.filter(|(_, event)| matches!(event, perf_core::Event::Enter { .. }));
        assert_eq!(calls.count() as u64, phase("X"), "{name}: calls");
        let notes = trace
            .view()
            .locations()
            .flat_map(|it| it.iter().collect::<Vec<_>>());
        let notes = notes.filter(|(_, event)| matches!(event, perf_core::Event::Other { .. }));
        assert_eq!(notes.count() as u64, phase("i"), "{name}: instants");

        let devices = devices(trace);
        let count = |of: fn(&Device) -> u64| devices.values().map(of).sum::<u64>();
        let fact = |key: &str| facts[key].as_u64().unwrap();
        assert_eq!(count(|it| it.events), fact("gpu_events"), "{name}");
        assert_eq!(count(|it| it.kernels), fact("kernels"), "{name}");
        assert_eq!(count(|it| it.fills), fact("memset"), "{name}");
        assert_eq!(count(|it| it.copies), fact("memcpy"), "{name}");
        assert_eq!(count(|it| it.empty), fact("zero_dur_gpu"), "{name}");
        let names: std::collections::BTreeSet<_> =
            devices.values().flat_map(|it| &it.names).collect();
        assert_eq!(names.len() as u64, fact("unique_kernel_names"), "{name}");
        assert_eq!(devices.len() as u64, fact("devices"), "{name}");
        assert_eq!(
            count(|it| it.streams.len() as u64),
            fact("streams"),
            "{name}"
        );
        let linked = fact("gpu_events_with_host_launch");
        assert_eq!(links_to_work(trace), linked, "{name}");
        assert_eq!(
            found.count(rules::UNLINKED),
            fact("gpu_events") - linked,
            "{name}"
        );

        for (number, facts) in facts["device"].as_object().unwrap() {
            let device = &devices[number];
            let nanos = |exact: &str, micros: &str| match facts[exact].as_u64() {
                Some(exact) => exact,
                None => (facts[micros].as_f64().unwrap() * 1000.0).round() as u64,
            };
            assert_eq!(
                device.busy(),
                nanos("busy_union_ns_exact", "busy_union_us"),
                "{name}"
            );
            assert_eq!(device.span(), nanos("span_ns_exact", "span_us"), "{name}");
            assert_eq!(device.events, facts["events"].as_u64().unwrap(), "{name}");
            for (number, facts) in facts["streams"].as_object().unwrap() {
                let spans = &device.streams[number];
                assert_eq!(
                    spans.len() as u64,
                    facts["events"].as_u64().unwrap(),
                    "{name}"
                );
            }
        }
        seen += 1;
    }
    assert_eq!(seen, 18, "Kineto files in the corpus");
}

#[test]
fn replay_has_nothing_to_mend() {
    struct Nothing;
    impl perf_core::Visitor for Nothing {
        fn enter(&mut self, _: perf_core::Ticks, _: perf_core::RegionId, _: usize) {}
        fn leave(
            &mut self,
            _: perf_core::Ticks,
            _: perf_core::RegionId,
            _: usize,
            _: perf_core::Close,
        ) {
        }
    }
    let Some((folder, facts)) = gpu::facts() else {
        return;
    };
    for facts in facts
        .iter()
        .filter(|it| it["format"] == "kineto-chrome-json")
    {
        let path = folder.join(facts["local"].as_str().unwrap());
        let recording = open(&path, &OpenOptions::new(), &Job::default()).unwrap();
        let trace = recording.trace().unwrap();
        let locations = trace.definitions().system.locations();
        for (view, location) in trace.view().locations().zip(locations) {
            let counts = match location.kind {
                LocationKind::AcceleratorStream => {
                    perf_core::intervals(view, |_| (), &Job::default()).unwrap()
                }
                _ => perf_core::replay(view, &mut Nothing, &Job::default()).unwrap(),
            };
            assert_eq!(
                counts.repairs() + counts.implicit_closes,
                0,
                "{}",
                location.name
            );
        }
    }
}
