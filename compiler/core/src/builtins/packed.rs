//! Functions of several numbers at once, which are the halves or bytes of one register: `__vadd4` and its kin.

/// How many numbers a word of 32 bits holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lanes {
    /// Two of 16 bits.
    Two,
    /// Four of 8 bits.
    Four,
}

impl Lanes {
    /// How many.
    #[must_use]
    pub const fn count(self) -> u32 {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// The bits of each.
    #[must_use]
    pub const fn bits(self) -> u32 {
        32 / self.count()
    }

    /// The bits of the lowest one, as a mask.
    #[must_use]
    pub const fn mask(self) -> u32 {
        u32::MAX >> (32 - self.bits())
    }
}

/// What a comparison lane by lane asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum LaneTest {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// What is done lane by lane, once the signs of the lanes are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaneWork {
    /// |x|
    Abs,
    /// -x
    Neg,
    /// x + y
    Add,
    /// x - y
    Sub,
    /// (x + y) / 2; what lies halfway goes away from zero
    Average,
    /// (x + y) / 2, rounded down
    AverageDown,
    /// |x - y|
    Difference,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// All bits where it holds.
    Mask(LaneTest),
    /// 1 where it holds.
    Set(LaneTest),
    /// |x - y|, summed over the lanes.
    Sum,
}
