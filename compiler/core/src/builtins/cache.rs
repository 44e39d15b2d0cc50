//! Loads and stores with cache hints (CUDA programming guide, "Load Functions Using Cache Hints" and "Store Functions Using Cache
//! Hints").

use crate::types::{Scalar, Type, TypeId, TypeTable};

macro_rules! hints {
    ($($variant:ident $name:literal $ptx:literal $store:literal $doc:literal;)*) => {
        /// An access to global memory with a cache operator of PTX.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum CacheHint {
            $(#[doc = $doc] $variant,)*
        }

        impl CacheHint {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// CUDA's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// PTX's cache operator: `ld.global.ca`.
            #[must_use]
            pub const fn operator(self) -> &'static str {
                match self { $(Self::$variant => $ptx,)* }
            }

            /// Whether it writes.
            #[must_use]
            pub const fn is_store(self) -> bool {
                match self { $(Self::$variant => $store,)* }
            }

            /// One line for the reference and for hovers.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

hints! {
    LoadAll "__ldca" "ca" false "cached at all levels, as plain loads are";
    LoadGlobal "__ldcg" "cg" false "cached in L2 and below, not in L1";
    LoadStreaming "__ldcs" "cs" false "likely read once: evicted first";
    LoadLastUse "__ldlu" "lu" false "not read again: no need to keep it";
    LoadVolatile "__ldcv" "cv" false "fetched again, whatever a cache holds";
    StoreBack "__stwb" "wb" true "written back at all levels, as plain stores are";
    StoreGlobal "__stcg" "cg" true "cached in L2 and below, not in L1";
    StoreStreaming "__stcs" "cs" true "likely written once: evicted first";
    StoreThrough "__stwt" "wt" true "written through to memory";
}

impl CacheHint {
    /// The access with this name in source.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|hint| hint.name() == name)
    }
}

impl TypeTable {
    /// The element and the number of lanes of a type that such accesses work on: numbers, and vectors of 2 and 4 of them that have at most
    /// 16 bytes.
    #[must_use]
    pub fn hinted(&self, ty: TypeId) -> Option<(Scalar, u8)> {
        let (element, lanes) = match self.get(ty) {
            Type::Int(int) => (Scalar::Int(*int), 1),
            Type::Float(float) => (Scalar::Float(*float), 1),
            Type::Vector { element, lanes } => (*element, *lanes),
            _ => return None,
        };
        (lanes != 3 && element.bits() * u32::from(lanes) <= 128).then_some((element, lanes))
    }
}
