#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(cdp_runtime::CubinInfo::parse(bytes)));
