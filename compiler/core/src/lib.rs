//! The cdp language: source text in, checked intermediate representation and diagnostics out.
//!
//! This crate promises: no input or output, no LLVM, no CUDA, no panic on any input, and the same bytes for the same source and
//! options on every machine. It deliberately does not read files (callers fill a [`source::SourceMap`]), does not colour or print
//! (callers render a [`diag::Diagnostic`] and write it), and does not generate code.
//!
//! The way of a file: [`syntax`] (tokens, tree) → [`sema`] (names, types, constants) → [`typed`] program → [`lower`] → [`ir`] →
//! [`verify`] → [`rules`] → [`pass`]es. Every phase returns its value and its diagnostics.

pub mod analysis;
pub mod builtins;
pub mod diag;
pub mod imports;
pub mod ir;
pub mod lower;
pub mod pass;
pub mod rules;
pub mod sema;
pub mod source;
pub mod syntax;
pub mod typed;
pub mod types;
pub mod verify;
