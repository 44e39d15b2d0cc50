//! What may stand in host code and what in device code.

use super::{ModuleInfo, Verifier};
use crate::builtins::{Register, Side};
use crate::ir::{BlockId, Function, FunctionKind, Place, PlaceBase, Rvalue, StatementKind};
use crate::types::Space;

impl Verifier<'_> {
    pub(super) fn sides(&mut self, info: &ModuleInfo) {
        for (id, function) in self.module.functions() {
            self.function = Some((id, function));
            let (on_device, on_host) = (info.is_on_device(id), info.is_on_host(id));
            let is_host = matches!(function.kind, FunctionKind::Host | FunctionKind::Test { .. });
            self.require(!(on_device && is_host), |_| format!("device code calls host function {}", function.name));
            self.statements_fit(function, on_device, on_host);
        }
        self.function = None;
    }

    fn statements_fit(&mut self, function: &Function, on_device: bool, on_host: bool) {
        for (index, block) in function.blocks.iter().enumerate() {
            self.block = Some(BlockId(u32::try_from(index).unwrap_or(u32::MAX)));
            for (index, statement) in block.statements.iter().enumerate() {
                self.statement = Some(index);
                let side = self.side(&statement.kind);
                let fits = match side {
                    Side::Both => true,
                    Side::Host => !on_device,
                    Side::Device => !on_host,
                    // a lowered function that host code calls too runs there from the module as it was before
                    Side::Internal => on_device || !on_host,
                };
                self.require(fits, |_| {
                    let code = if side == Side::Host { "device" } else { "host" };
                    format!("{} stands in {code} code", describe(&statement.kind))
                });
            }
        }
        self.block = None;
        self.statement = None;
    }

    fn side(&self, statement: &StatementKind) -> Side {
        match statement {
            StatementKind::Atomic { .. }
            | StatementKind::Barrier { .. }
            | StatementKind::Fence { .. }
            | StatementKind::Warp { .. }
            | StatementKind::Texture { .. } => Side::Device,
            StatementKind::HostAllocate { .. } => Side::Host,
            StatementKind::Runtime { call, .. } => call.side(),
            StatementKind::Assign { value, .. } => match value {
                Rvalue::Register(Register::WarpSize) => Side::Both,
                Rvalue::Register(_) | Rvalue::MapSharedRank(..) | Rvalue::SharedRank(_) => Side::Device,
                Rvalue::AddressOf(place) => self.place_side(place),
                _ => Side::Both,
            },
            StatementKind::Load { place, .. } | StatementKind::Store { place, .. } => self.place_side(place),
            StatementKind::Call { .. }
            | StatementKind::Deinit { .. }
            | StatementKind::Launch(_)
            | StatementKind::Printf { .. }
            | StatementKind::Assert { .. } => Side::Both,
        }
    }

    fn place_side(&self, place: &Place) -> Side {
        match place.base {
            PlaceBase::Global(global) if self.module.global(global).is_some_and(|global| global.space == Space::Shared) => {
                Side::Device
            }
            _ => Side::Both,
        }
    }
}

fn describe(statement: &StatementKind) -> &'static str {
    match statement {
        StatementKind::Atomic { op, .. } => op.name(),
        StatementKind::Barrier { op, .. } => op.name(),
        StatementKind::Fence { .. } => "a fence",
        StatementKind::Warp { op, .. } => op.name(),
        StatementKind::Texture { op, .. } => op.name(),
        StatementKind::HostAllocate { .. } => "the allocation of a buffer",
        StatementKind::Runtime { call, .. } => call.name(),
        StatementKind::Assign { value: Rvalue::Register(register), .. } => register.name(),
        _ => "an access to shared memory",
    }
}
