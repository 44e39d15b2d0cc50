//! Writing statements.

use super::print::Printer;
use super::{ACCESSES, BINARY, CASTS, MERGES, SCOPES, UNARY, word};
use crate::ir::{
    Access, BlockId, Launch, LocalId, Merge, Operand, Place, PlaceBase, Projection, Rvalue, StatementKind, TerminatorKind,
};

impl Printer<'_> {
    pub(super) fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Const(constant) => self.constant(constant),
            Operand::Local(local) => self.local_name(*local),
            Operand::Function(function) => self.function_name(*function),
        }
    }

    fn list(&mut self, operands: &[Operand]) {
        for (index, operand) in operands.iter().enumerate() {
            self.put(if index == 0 { "" } else { ", " });
            self.operand(operand);
        }
    }

    fn arguments(&mut self, operands: &[Operand]) {
        self.put("(");
        self.list(operands);
        self.put(")");
    }

    fn place(&mut self, place: &Place) {
        match &place.base {
            PlaceBase::Local(local) => self.local_name(*local),
            PlaceBase::Global(global) => self.global_name(*global),
            PlaceBase::Deref(pointer) => {
                self.put("*(");
                self.operand(pointer);
                self.put(")");
            }
        }
        for step in &place.path {
            match step {
                Projection::Field(index) => {
                    self.put(".");
                    self.put_number(*index);
                }
                Projection::Index(index) => {
                    self.put("[");
                    self.operand(index);
                    self.put("]");
                }
            }
        }
    }

    fn result(&mut self, dst: Option<LocalId>) {
        if let Some(dst) = dst {
            self.local_name(dst);
            self.put(" = ");
        }
    }

    fn access(&mut self, access: Access) {
        if access != Access::Plain {
            self.put(" ");
            self.put(word(&ACCESSES, &access));
        }
    }

    pub(super) fn statement(&mut self, statement: &StatementKind) {
        match statement {
            StatementKind::Assign { dst, value } => {
                self.result(Some(*dst));
                self.rvalue(value);
            }
            StatementKind::Load { dst, place, access } => {
                self.result(Some(*dst));
                self.put("load");
                self.access(*access);
                self.put(" ");
                self.place(place);
            }
            StatementKind::Store { place, value, access } => {
                self.put("store");
                self.access(*access);
                self.put(" ");
                self.place(place);
                self.put(", ");
                self.operand(value);
            }
            StatementKind::Call { dst, function, args } => {
                self.result(*dst);
                self.put("call ");
                self.function_name(*function);
                self.arguments(args);
            }
            StatementKind::Atomic { dst, op, scope, pointer, operands } => {
                self.result(*dst);
                self.put("atomic ");
                self.put(op.name());
                self.put(" ");
                self.put(word(&SCOPES, scope));
                self.put(" ");
                self.operand(pointer);
                self.arguments(operands);
            }
            StatementKind::Barrier { dst, op, operand } => {
                self.result(*dst);
                self.put("barrier ");
                self.put(op.name());
                self.arguments(operand.as_slice());
            }
            StatementKind::Deinit { local } => {
                self.put("deinit ");
                self.local_name(*local);
            }
            StatementKind::Fence { scope } => {
                self.put("fence ");
                self.put(word(&SCOPES, scope));
            }
            StatementKind::Warp { dst, op, args } => {
                self.result(*dst);
                self.put("warp ");
                self.put(op.name());
                self.arguments(args);
            }
            StatementKind::Texture { dst, op, args } => {
                self.result(*dst);
                self.put("texture ");
                self.put(op.name());
                self.arguments(args);
            }
            StatementKind::Launch(launch) => self.launch(launch),
            StatementKind::Runtime { dst, call, args } => {
                self.result(*dst);
                self.put("runtime ");
                self.put(call.name());
                self.arguments(args);
            }
            StatementKind::Printf { dst, format, args } => {
                self.result(*dst);
                self.put("printf ");
                self.string(format);
                self.arguments(args);
            }
            StatementKind::Assert { condition, text, format, args } => {
                self.put("assert ");
                self.operand(condition);
                self.put(", ");
                self.string(text);
                self.put(", ");
                self.string(format);
                self.arguments(args);
            }
            StatementKind::HostAllocate { dst, element, count } => {
                self.result(Some(*dst));
                self.put("allocate ");
                self.ty(*element);
                self.put(", ");
                self.operand(count);
            }
        }
    }

    fn launch(&mut self, launch: &Launch) {
        self.result(launch.dst);
        self.put("launch ");
        match &launch.hints.merge {
            Some(Merge::Buckets(blocks)) => self.put(&format!("merge buckets {blocks} ")),
            Some(merge) => self.put(&format!("merge {} ", word(&MERGES, merge))),
            None => {}
        }
        if let Some(threads) = launch.hints.inline_below {
            self.put(&format!("inline_below {threads} "));
        }
        self.function_name(launch.kernel);
        self.put(" <<<");
        self.arguments(&launch.grid);
        self.put(", ");
        self.arguments(&launch.block);
        self.put(", ");
        self.operand(&launch.shared);
        self.put(", ");
        self.operand(&launch.stream);
        self.put(">>> ");
        self.arguments(&launch.args);
    }

    fn rvalue(&mut self, value: &Rvalue) {
        match value {
            Rvalue::Use(a) => {
                self.put("use ");
                self.operand(a);
            }
            Rvalue::Unary(op, a) => {
                self.put(word(&UNARY, op));
                self.put(" ");
                self.operand(a);
            }
            Rvalue::Binary(op, a, b) => {
                self.put(word(&BINARY, op));
                self.put(" ");
                self.list(&[a.clone(), b.clone()]);
            }
            Rvalue::Cast(kind, a) => {
                self.put("cast ");
                self.put(word(&CASTS, kind));
                self.put(" ");
                self.operand(a);
            }
            Rvalue::Select(condition, a, b) => {
                self.put("select ");
                self.list(&[condition.clone(), a.clone(), b.clone()]);
            }
            Rvalue::AddressOf(place) => {
                self.put("address ");
                self.place(place);
            }
            Rvalue::Offset(a, b) => {
                self.put("offset ");
                self.list(&[a.clone(), b.clone()]);
            }
            Rvalue::Distance(a, b) => {
                self.put("distance ");
                self.list(&[a.clone(), b.clone()]);
            }
            Rvalue::MapSharedRank(pointer, rank) => {
                self.put("map_shared_rank ");
                self.list(&[pointer.clone(), rank.clone()]);
            }
            Rvalue::SharedRank(pointer) => {
                self.put("shared_rank ");
                self.operand(pointer);
            }
            Rvalue::Aggregate(elements) => {
                self.put("aggregate ");
                self.arguments(elements);
            }
            Rvalue::Extract(a, index) => {
                self.put("extract ");
                self.operand(a);
                self.put(", ");
                self.put_number(*index);
            }
            Rvalue::Register(register) => {
                self.put("register ");
                self.put(register.name());
            }
            Rvalue::Intrinsic(intrinsic, args) => {
                self.put("intrinsic ");
                self.put(intrinsic.name());
                self.arguments(args);
            }
        }
    }

    fn block_name(&mut self, block: BlockId) {
        self.put("bb");
        self.put_number(block.0);
    }

    pub(super) fn terminator(&mut self, terminator: &TerminatorKind) {
        match terminator {
            TerminatorKind::Goto(block) => {
                self.put("goto ");
                self.block_name(*block);
            }
            TerminatorKind::Branch { condition, then, otherwise } => {
                self.put("branch ");
                self.operand(condition);
                self.put(", ");
                self.block_name(*then);
                self.put(", ");
                self.block_name(*otherwise);
            }
            TerminatorKind::Switch { value, cases, default } => {
                self.put("switch ");
                self.operand(value);
                self.put(" {");
                for (pattern, block) in cases {
                    self.put_number(pattern);
                    self.put(": ");
                    self.block_name(*block);
                    self.put(", ");
                }
                self.put("else: ");
                self.block_name(*default);
                self.put("}");
            }
            TerminatorKind::Return(value) => {
                self.put("return");
                if let Some(value) = value {
                    self.put(" ");
                    self.operand(value);
                }
            }
            TerminatorKind::Unreachable => self.put("unreachable"),
        }
    }
}
