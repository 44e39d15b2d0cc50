//! Addresses as analyses see them: which memory, which element of it, which part of that.

use super::index::Index;
use super::values::Point;
use crate::ir::{GlobalId, LocalId};

/// A piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    /// What a parameter points at.
    Param(LocalId),
    /// A variable of the module.
    Global(GlobalId),
    /// A variable of this function.
    Local(LocalId),
    /// A variable of a function that has been called and is gone.
    Gone,
    /// What an allocation gave, there.
    Fresh(Point),
    /// Nothing: the null pointer.
    Null,
    /// Anything.
    Unknown,
}

/// Which memory an address lies in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// The piece of memory, or the one that the pointer was read from.
    pub root: Root,
    /// The field of a parameter passed by value that is the pointer; and of memory where it was read.
    pub path: Vec<u32>,
    /// The pointer was read from the memory that `root` names, so it may point anywhere; two reads of one place may differ.
    pub loaded: bool,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Which memory.
    pub origin: Origin,
    /// Which element of it.
    pub index: Index,
    /// How many bytes an element has; 0 as long as the index is zero.
    pub unit: u64,
    /// Which field of the element, from the outside in.
    pub fields: Vec<u32>,
}

/// A field whose number is not known: any element of an array inside a value.
pub const ANY: u32 = u32::MAX;

impl Origin {
    /// A piece of memory itself.
    #[must_use]
    pub const fn of(root: Root) -> Self {
        Self { root, path: Vec::new(), loaded: false }
    }
}

impl Address {
    /// The start of a piece of memory.
    #[must_use]
    pub const fn start(root: Root) -> Self {
        Self { origin: Origin::of(root), index: Index::known(0), unit: 0, fields: Vec::new() }
    }

    /// Anything.
    #[must_use]
    pub const fn unknown() -> Self {
        Self { origin: Origin::of(Root::Unknown), index: Index::UNKNOWN, unit: 0, fields: Vec::new() }
    }

    /// So many elements of `unit` bytes further.
    #[must_use]
    pub fn shifted(mut self, index: Index, unit: u64) -> Self {
        if index == Index::known(0) {
            return self;
        }
        if !self.fields.is_empty() {
            self.index = self.index.join(Index::UNKNOWN);
        } else if self.index == Index::known(0) {
            self.index = index;
            self.unit = unit;
        } else if self.unit == unit {
            self.index = self.index.plus(index);
        } else {
            self.index = self.index.plus(index).join(Index::UNKNOWN);
            self.unit = unit;
        }
        self
    }

    /// A field of what lies there.
    #[must_use]
    pub fn field(mut self, field: u32) -> Self {
        // deep structures: what lies deeper counts as the whole
        if self.fields.len() < 6 {
            self.fields.push(field);
        }
        self
    }

    /// Whether both are certainly about the same piece of memory, and neither about another part of an element.
    #[must_use]
    pub fn shares_memory(&self, other: &Self) -> bool {
        let known = |origin: &Origin| !origin.loaded && !matches!(origin.root, Root::Unknown | Root::Null | Root::Gone);
        let mut fields = self.fields.iter().zip(&other.fields);
        self.origin == other.origin && known(&self.origin) && fields.all(|(a, b)| a == b || *a == ANY || *b == ANY)
    }

    /// Whether both certainly touch the same element in some thread: they start from the same one.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let units_fit = self.unit == other.unit || self.unit == 0 || other.unit == 0;
        self.shares_memory(other)
            && match (self.index.start(), other.index.start()) {
                (Some(a), Some(b)) => a == b && (units_fit || a == 0),
                _ => false,
            }
    }
}
