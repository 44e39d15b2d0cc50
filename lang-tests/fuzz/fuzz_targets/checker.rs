#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lang_tests::hostile::target::checker(input));
