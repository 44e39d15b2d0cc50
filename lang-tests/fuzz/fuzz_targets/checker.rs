#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| drop(lang_tests::hostile::program(text)));
