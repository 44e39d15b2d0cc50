//! Renderers of diagnostics.
