//! Clusters of blocks: the attribute `@cluster`, where a block is in its cluster, and the shared memory of its other blocks.

use super::body::{Body, is_poison, poison};
use crate::builtins::Register;
use crate::diag::{Code, Diagnostic};
use crate::ir::CastKind;
use crate::source::Span;
use crate::syntax::ast::{self, Attribute};
use crate::typed::{Expr, ExprKind};
use crate::types::{MAX_CLUSTER, Space, TypeTable};

impl Body<'_, '_> {
    /// `@cluster(x)`, `@cluster(x, y)`, `@cluster(x, y, z)`
    pub(super) fn cluster_attribute(&mut self, attribute: &Attribute) -> Option<[u32; 3]> {
        self.attribute_count(attribute, 1, 3);
        let mut sizes = [1; 3];
        let mut blocks: i128 = 1;
        for (size, arg) in sizes.iter_mut().zip(&attribute.args) {
            let value = self.const_int(&arg.value, TypeTable::I64)?;
            if value < 1 {
                let message = format!("`@cluster` needs values from 1 to {MAX_CLUSTER}, not {value}");
                self.report(Diagnostic::new(Code::E0301, arg.span, message));
                return None;
            }
            *size = u32::try_from(value).unwrap_or(u32::MAX);
            blocks = blocks.saturating_mul(value);
        }
        if (1..=3).contains(&attribute.args.len()) && blocks <= i128::from(MAX_CLUSTER) {
            return Some(sizes);
        }
        if blocks > i128::from(MAX_CLUSTER) {
            let message = format!("a cluster has at most {MAX_CLUSTER} blocks, not {blocks}");
            self.report(
                Diagnostic::new(Code::E0250, attribute.span, message)
                    .help("let each block do more, or let clusters work together through global memory")
                    .note("every GPU with clusters can hold 8 blocks of one at the same time; some have room for more, where their host allows it (CUDA programming guide, \"Thread Block Clusters\")"),
            );
        }
        None
    }

    /// A call that has to do with clusters, when the name is that of one.
    pub(super) fn cluster_call(&mut self, name: &str, name_span: Span, args: &[ast::Arg], span: Span) -> Option<Expr> {
        match name {
            "__cluster_map_shared_rank" => Some(self.map_shared_rank(name, name_span, args, span)),
            "__cluster_query_shared_rank" => Some(self.query_shared_rank(name, name_span, args, span)),
            _ => self.cluster_register(name, args, span),
        }
    }

    /// A number, or a `dim3` of three.
    fn cluster_register(&mut self, name: &str, args: &[ast::Arg], span: Span) -> Option<Expr> {
        let known = |name: &str| Register::from_name(name).filter(|register| register.is_of_cluster());
        let axes = || ["x", "y", "z"].iter().filter_map(|axis| known(&format!("{name}.{axis}")));
        if known(name).is_none() && axes().next().is_none() {
            return None;
        }
        self.count(name, args, 0, 0, span);
        let Some(register) = known(name) else {
            let parts: Vec<Expr> = axes().map(|register| self.register(register, span)).collect();
            return Some(Expr { kind: ExprKind::Aggregate(parts, vec![0, 1, 2]), ty: TypeTable::DIM3, span });
        };
        let value = self.register(register, span);
        Some(if register == Register::ClusterSpecified { self.cast(CastKind::ToBool, value, TypeTable::BOOL) } else { value })
    }

    /// `__cluster_map_shared_rank(pointer, rank)`: the same variable in another block's shared memory, as a generic pointer.
    fn map_shared_rank(&mut self, name: &str, name_span: Span, args: &[ast::Arg], span: Span) -> Expr {
        self.needs_device(name_span, name);
        let [pointer, rank] = args else {
            self.count(name, args, 2, 2, span);
            return self.skip_args(args, span);
        };
        let pointer = self.shared_pointer(name, &pointer.value);
        let rank = self.expr_as(&rank.value, TypeTable::U32);
        if is_poison(&pointer) || is_poison(&rank) {
            return poison(span);
        }
        let ty = pointer.ty;
        Expr { kind: ExprKind::MapSharedRank(Box::new(pointer), Box::new(rank)), ty, span }
    }

    /// `__cluster_query_shared_rank(pointer)`: the rank of the block that the shared memory is of.
    fn query_shared_rank(&mut self, name: &str, name_span: Span, args: &[ast::Arg], span: Span) -> Expr {
        self.needs_device(name_span, name);
        let [pointer] = args else {
            self.count(name, args, 1, 1, span);
            return self.skip_args(args, span);
        };
        let pointer = self.shared_pointer(name, &pointer.value);
        if is_poison(&pointer) {
            return poison(span);
        }
        Expr { kind: ExprKind::SharedRank(Box::new(pointer)), ty: TypeTable::U32, span }
    }

    /// A generic pointer that may point to shared memory; a pointer to shared memory becomes one.
    fn shared_pointer(&mut self, name: &str, arg: &ast::Expr) -> Expr {
        let value = self.expr(arg, None);
        let typed = self.decay(value.clone()).unwrap_or(value);
        if is_poison(&typed) {
            return typed;
        }
        let shown = self.show(typed.ty);
        let Some((space, pointee, constant)) = self.checker.types.pointee(typed.ty) else {
            let message = format!("`{name}` works on an address in shared memory, this is `{shown}`");
            self.report(self.needs_address(arg.span, message, &typed));
            return poison(arg.span);
        };
        match space {
            Space::Generic => typed,
            Space::Shared => {
                let volatile = self.checker.types.is_volatile(typed.ty);
                let generic = self.checker.types.qualified_pointer(Space::Generic, pointee, constant, volatile);
                self.cast(CastKind::ToGeneric, typed, generic)
            }
            _ => {
                let message = format!("`{name}` is for shared memory, this is `{shown}`");
                let help =
                    "only the shared memory of a cluster's blocks is mapped; pointers to other memory are used as they are";
                self.report(Diagnostic::new(Code::E0251, arg.span, message).help(help));
                poison(arg.span)
            }
        }
    }
}
