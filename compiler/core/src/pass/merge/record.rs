//! What is pushed for a launch: its arguments, and of its grid and its blocks what is not the same for all.

use super::MergeOptions;
use super::facts::constant;
use crate::ir::{Launch, Module};
use crate::source::Span;
use crate::types::layout::round_up;
use crate::types::{Field, StructDef, Type, TypeId, TypeTable};

/// The record of a queue.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// A structure: the dimensions of the grid, those of a block that are not known, then the arguments.
    pub ty: TypeId,
    /// By dimension: how many blocks every grid has, where that is known. Fields are there for all of them.
    pub grid: [Option<u32>; 3],
}

/// Where records are kept: segments of this many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segments {
    pub count: u64,
    pub bytes: u64,
}

/// Sizes of segments in bytes, and how many there are unless that makes them too small or too large.
const LEAST_BYTES: u64 = 4 << 10;
const MOST_BYTES: u64 = 256 << 10;
const USUAL_COUNT: u64 = 512;
/// Memory for fewer segments than this makes no sense, nor for more than a queue has names for records (2^24, those included that many
/// threads ask for at once).
const LEAST_COUNT: u64 = 16;
const MOST_COUNT: u64 = 4096;
/// A queue says for each record how many units there are up to it.
const END_BYTES: u64 = 8;
/// Alignment of segments.
const ALIGN: u32 = 256;
/// A segment for fewer records is not worth it.
const LEAST_RECORDS: u64 = 8;
/// Records that a queue has numbers for: 2^24 without those of all threads of a GPU, which may ask for one more at the same time.
const MOST_RECORDS: u64 = (1 << 24) - (1 << 20);

impl Segments {
    pub(super) fn new(options: &MergeOptions) -> Self {
        let bytes = (options.memory / USUAL_COUNT).clamp(LEAST_BYTES, MOST_BYTES);
        let bytes = 1 << bytes.ilog2();
        // a queue's table spreads them over eight lines
        Self { count: (options.memory / bytes).clamp(LEAST_COUNT, MOST_COUNT) / 8 * 8, bytes }
    }
}

/// Where things are in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordLayout {
    /// Records of a segment.
    pub each: u64,
    /// Where they start, behind the ends.
    pub offset: u64,
    pub bytes: u64,
}

impl Record {
    pub(super) fn new(module: &mut Module, launch: &Launch, span: Span) -> Self {
        let types: Vec<TypeId> =
            module.function(launch.kernel).map(|kernel| kernel.param_types().collect()).unwrap_or_default();
        let name = module.function(launch.kernel).map_or_else(String::new, |kernel| kernel.name.clone());
        let block = launch.block.iter().filter(|extent| constant(extent).is_none()).count();
        let extents = std::iter::repeat_n(TypeTable::U32, 3 + block);
        let field = |(index, ty): (usize, TypeId)| Field { name: format!("f{index}"), ty, align: 0, span };
        let fields = extents.chain(types).enumerate().map(field).collect();
        let def = StructDef { name: format!("cdpc$merge$record${name}"), fields, align: 0, span };
        let id = module.types.add_struct(def);
        module.types.seal(id);
        let ty = module.types.intern(Type::Struct(id));
        let mut record = Self { ty, grid: launch.grid.each_ref().map(constant) };
        record.also(launch);
        record
    }

    /// Another launch into the same queue.
    pub(super) fn also(&mut self, launch: &Launch) {
        for (known, extent) in self.grid.iter_mut().zip(&launch.grid) {
            *known = known.filter(|known| constant(extent) == Some(*known));
        }
    }

    pub(super) fn layout(&self, module: &Module, options: &MergeOptions) -> RecordLayout {
        let layout = module.types.layout(self.ty, options.width);
        let segments = Segments::new(options);
        let room = segments.bytes.saturating_sub(u64::from(layout.align));
        let each = (room / (layout.size + END_BYTES)).min(MOST_RECORDS / segments.count);
        RecordLayout { each, offset: round_up(each * END_BYTES, layout.align), bytes: layout.size }
    }

    pub(super) fn fits(&self, module: &Module, options: &MergeOptions) -> bool {
        self.layout(module, options).each >= LEAST_RECORDS && module.types.layout(self.ty, options.width).align <= ALIGN
    }
}
