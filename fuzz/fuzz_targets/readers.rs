#![no_main]

libfuzzer_sys::fuzz_target!(init: perfkit_fuzz::target(), |data: &[u8]| perfkit_fuzz::target()(data));
