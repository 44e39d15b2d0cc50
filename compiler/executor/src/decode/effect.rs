//! Statements that reach beyond the thread.

use super::{Decoder, index32};
use crate::code::{Allocate, Atomic, Effect, Kind, Launch, Op, PrintArg, PrintKind, RuntimeCall, Slot, TextureAccess};
use crate::format::Format;
use cdp_core::builtins::TextureOp;
use cdp_core::ir::{LocalId, Operand, StatementKind};
use cdp_core::types::{Int, Scalar, Type};

impl Decoder<'_> {
    pub(super) fn effect(&mut self, statement: &StatementKind) {
        let effect = match statement {
            StatementKind::Atomic { dst, op, scope, pointer, operands } => {
                let Some((kind, lanes)) = self.atomic_type(pointer) else {
                    return self.trap("an atomic operation on a type without it".to_owned());
                };
                let mut values = [0; 2];
                for (operand, place) in operands.iter().zip(&mut values) {
                    *place = self.operand(operand);
                }
                let dst = self.target(*dst);
                Effect::Atomic(Atomic {
                    dst,
                    op: *op,
                    scope: *scope,
                    kind,
                    lanes,
                    pointer: self.operand(pointer),
                    operands: values,
                })
            }
            StatementKind::Barrier { dst, op, operand } => {
                let operand = operand.as_ref().map(|operand| self.operand_slot(operand));
                Effect::Barrier { dst: self.target(*dst), op: *op, operand }
            }
            StatementKind::Fence { scope } => Effect::Fence(*scope),
            StatementKind::Warp { dst, op, args } => {
                let kind = args.get(1).and_then(|value| self.kind(self.operand_type(value))).unwrap_or(Kind::Int(Int::U32));
                let args = self.slots(args);
                Effect::Warp { dst: self.target(*dst), op: *op, args, kind }
            }
            StatementKind::Texture { dst, op, args } => match self.texture(*dst, *op, args) {
                Some(access) => Effect::Texture(access),
                None => return self.trap(format!("`{}` with other operands than it has", op.name())),
            },
            StatementKind::Launch(launch) => {
                let Some(kernel) = self.module.function(launch.kernel) else {
                    return self.trap("a launch of nothing".to_owned());
                };
                let layout = self.module.types.params_layout(kernel.param_types(), super::WIDTH);
                let args =
                    launch.args.iter().zip(&layout.params).map(|(arg, param)| (self.operand_slot(arg), param.offset as u32));
                let args = args.collect();
                Effect::Launch(Launch {
                    dst: self.target(launch.dst),
                    observed: self.observed(launch.dst),
                    kernel: launch.kernel.0,
                    grid: launch.grid.each_ref().map(|operand| self.operand(operand)),
                    block: launch.block.each_ref().map(|operand| self.operand(operand)),
                    shared: self.operand(&launch.shared),
                    stream: self.operand(&launch.stream),
                    args,
                    unordered: launch.hints.asks_to_merge(),
                })
            }
            StatementKind::Runtime { dst, call, args } => {
                let args = self.slots(args);
                Effect::Runtime(RuntimeCall { dst: self.target(*dst), observed: self.observed(*dst), call: *call, args })
            }
            StatementKind::Printf { dst, format, args } => {
                let args = self.print_args(args);
                Effect::Printf { dst: self.target(*dst), format: Format::new(format), args }
            }
            StatementKind::Assert { condition, text, format, args } => {
                let c = self.operand(condition);
                let args = self.print_args(args);
                let table = index32(self.code.effects.len());
                self.code.effects.push(Effect::Assert { text: text.clone(), format: Format::new(format), args });
                return self.push(Op::Assert { c, table });
            }
            StatementKind::HostAllocate { dst, element, count } => Effect::Allocate(Allocate {
                dst: self.slot(*dst).offset,
                element_size: u64::from(self.size(*element)),
                element: self.module.types.display(*element),
                name: self.function.locals.get(dst.index()).map_or_else(String::new, |local| local.name.clone()),
                count: self.operand(count),
            }),
            StatementKind::Assign { .. }
            | StatementKind::Load { .. }
            | StatementKind::Store { .. }
            | StatementKind::Deinit { .. }
            | StatementKind::Call { .. } => return,
        };
        let table = index32(self.code.effects.len());
        self.code.effects.push(effect);
        self.push(Op::Effect { table });
    }

    fn texture(&mut self, dst: Option<LocalId>, op: TextureOp, args: &[Operand]) -> Option<TextureAccess> {
        let (places, rest) = args.split_at_checked(1 + op.coordinates())?;
        let (object, coordinates) = places.split_first()?;
        let value = rest.first().filter(|_| op.is_write());
        let ty = match (value, dst) {
            (Some(value), _) => self.operand_type(value),
            (None, Some(dst)) => self.function.locals.get(dst.index())?.ty,
            (None, None) => return None,
        };
        let chosen = match rest.last().filter(|_| op.choice().is_some()) {
            Some(Operand::Const(chosen)) => u32::try_from(chosen.as_bits()?).ok()?,
            Some(_) => return None,
            None => 0,
        };
        let (element, lanes) = self.module.types.texel(ty)?;
        Some(TextureAccess {
            op,
            dst: self.target(dst),
            object: self.operand(object),
            coordinates: coordinates.iter().map(|at| self.operand(at)).collect(),
            value: value.map(|value| self.operand(value)),
            chosen,
            element,
            lanes: u32::from(lanes),
            name: self.module.types.display(ty),
        })
    }

    fn target(&self, dst: Option<LocalId>) -> Option<u32> {
        dst.map(|dst| self.slot(dst).offset)
    }

    fn slots(&mut self, operands: &[Operand]) -> Vec<Slot> {
        operands.iter().map(|operand| self.operand_slot(operand)).collect()
    }

    /// The type that an atomic works on: a scalar, or packed halves.
    fn atomic_type(&self, pointer: &Operand) -> Option<(Kind, u32)> {
        let (_, pointee, _) = self.module.types.pointee(self.operand_type(pointer))?;
        if let Some(kind) = self.kind(pointee) {
            return Some((kind, 1));
        }
        match self.module.types.get(pointee) {
            Type::Vector { element: Scalar::Float(float), lanes } => Some((Kind::Float(*float), u32::from(*lanes))),
            _ => None,
        }
    }

    fn print_args(&mut self, args: &[Operand]) -> Vec<PrintArg> {
        args.iter()
            .map(|arg| {
                let ty = self.operand_type(arg);
                let kind = match (self.module.types.get(ty), self.kind(ty)) {
                    (Type::Str, _) => PrintKind::Str,
                    (Type::Pointer { .. } | Type::Stream | Type::Event, _) => PrintKind::Pointer,
                    (_, Some(Kind::Float(float))) => PrintKind::Float(float),
                    (_, Some(Kind::Int(int))) => PrintKind::Int(int),
                    (_, None) => PrintKind::Int(Int::U64),
                };
                PrintArg { offset: self.operand(arg), kind }
            })
            .collect()
    }
}
