//! Identifiers of the target language.

use std::collections::HashSet;

/// The identifiers of one scope. What is taken or a keyword gets `_` behind it.
#[derive(Clone, Debug)]
pub struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// A scope in which these words cannot be used: keywords, and names that the generated text has for itself.
    pub fn new(words: &[&[&str]]) -> Self {
        Self { taken: words.iter().flat_map(|list| list.iter()).map(|word| (*word).to_owned()).collect() }
    }

    /// An identifier like `wanted` that this scope does not have yet.
    pub fn take(&mut self, wanted: &str) -> String {
        let mut name = identifier(wanted);
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

/// The letters, digits and underscores of a text, with one underscore in the place of everything between them: `Pair_f32` of `Pair::[f32]`.
pub fn identifier(text: &str) -> String {
    let mut name = String::new();
    let mut gap = false;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            if gap && !name.is_empty() {
                name.push('_');
            }
            gap = false;
            name.push(c);
        } else {
            gap = true;
        }
    }
    if name.chars().next().is_none_or(|first| first.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_differ() {
        let mut names = Names::new(&[&["int", "module"]]);
        let mut take = |text: &str| names.take(text);
        assert_eq!(take("int"), "int_");
        assert_eq!(take("int_"), "int__");
        assert_eq!(take("Pair::[f32]"), "Pair_f32");
        assert_eq!(take("Pair_f32"), "Pair_f32_");
        assert_eq!(take("Table::[*global const [u8; 4], 7]"), "Table_global_const_u8_4_7");
        assert_eq!(take("3d-view"), "_3d_view");
        assert_eq!(take(""), "_");
    }
}
