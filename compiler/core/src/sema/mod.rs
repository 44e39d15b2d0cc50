//! Names, types and constants: from the syntax tree to the typed program.
