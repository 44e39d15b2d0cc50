//! `cudaEventRecordWithFlags`, which the headers declare and no libcudadevrt of CUDA 13.0 defines: it becomes `cudaEventRecord` for the
//! default flags, the only ones that device code has, and `cudaErrorInvalidValue` for others.

use super::site::replace_first;
use crate::builtins::RuntimeFn;
use crate::ir::{BinaryOp, Const, Module, Rvalue, StatementKind, TerminatorKind};
use crate::types::TypeTable;

/// `cudaErrorInvalidValue`
const INVALID_VALUE: u64 = 1;

pub(super) fn is_record(statement: &StatementKind) -> bool {
    matches!(statement, StatementKind::Runtime { call: RuntimeFn::EventRecordWithFlags, .. })
}

pub(super) fn lower(module: &mut Module, on_device: impl Fn(usize) -> bool) {
    let mut functions = std::mem::take(&mut module.functions);
    for (_, function) in functions.iter_mut().enumerate().filter(|(index, _)| on_device(*index)) {
        let mut block = 0;
        while block < function.blocks.len() {
            replace_first(module, function, block, is_record, |site, statement, end| {
                let StatementKind::Runtime { dst, mut args, .. } = statement else { return };
                let flags = args.pop().unwrap_or_else(|| Const::u32(0).into());
                let record = StatementKind::Runtime { dst, call: RuntimeFn::EventRecord, args };
                if flags.as_bits() == Some(0) {
                    site.push(record);
                    return site.terminate(TerminatorKind::Goto(end));
                }
                let plain = site.compare(BinaryOp::Eq, &flags, &Const::u32(0).into());
                let [then, otherwise] = [(); 2].map(|()| site.block());
                site.terminate(TerminatorKind::Branch { condition: plain, then, otherwise });
                site.current = then;
                site.push(record);
                site.terminate(TerminatorKind::Goto(end));
                site.current = otherwise;
                if let Some(dst) = dst {
                    let invalid = Const::bits(TypeTable::CUDA_ERROR, INVALID_VALUE).into();
                    site.push(StatementKind::Assign { dst, value: Rvalue::Use(invalid) });
                }
                site.terminate(TerminatorKind::Goto(end));
            });
            block += 1;
        }
    }
    module.functions = functions;
}
