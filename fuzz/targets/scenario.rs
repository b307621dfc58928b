#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| machine_testkit::fuzz::scenario(bytes).unwrap());
