#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| lang_tests::hostile::tree(text));
