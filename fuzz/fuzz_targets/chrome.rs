#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| perfkit_fuzz::chrome(data));
