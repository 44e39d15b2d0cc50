//! Launches: what may be launched, configurations, and what may be passed to a child (CUDA programming guide 4.18.4.2.1).

use super::body::{Body, is_poison, poison};
use crate::builtins::Cdp;
use crate::diag::{Code, Diagnostic};
use crate::ir::CastKind;
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Launch};
use crate::types::{Space, Type, TypeId, TypeTable};

/// Most threads of a block, in all and along z (cdp2 rule R19).
const MAX_BLOCK_THREADS: i128 = 1024;
const MAX_BLOCK_Z: i128 = 64;
/// Most blocks of a grid along x, and along y and z.
const MAX_GRID_X: i128 = i32::MAX as i128;
const MAX_GRID_YZ: i128 = 65_535;
/// Most shared memory that any supported architecture gives a block, in bytes.
const MAX_SHARED: i128 = 227 * 1024;

impl Body<'_, '_> {
    pub(crate) fn launch(
        &mut self,
        kernel: &ast::Expr,
        config: &[ast::Expr],
        config_span: Span,
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let hints = self.take_hints(span);
        let found = self.launched_kernel(kernel);
        let Some((id, decl, path)) = found else {
            self.config(config, config_span);
            return self.skip_args(args, span);
        };
        let config = self.config(config, config_span);
        let callee = self.callee(id, decl, path, args, span);
        let Some((kernel_id, typed)) = callee else { return poison(span) };
        let Some((grid, block, shared, stream)) = config else { return poison(span) };
        self.check_bounds_of(kernel_id, &block);
        self.check_cluster_of(kernel_id, &grid);
        let launch = Launch { kernel: kernel_id, grid, block, shared, stream, args: typed, hints };
        Expr { kind: ExprKind::Launch(Box::new(launch)), ty: TypeTable::CUDA_ERROR, span }
    }

    /// The kernel that a launch names; a message when it names none.
    fn launched_kernel<'e>(
        &mut self,
        kernel: &'e ast::Expr,
    ) -> Option<(super::items::ItemId, &'e ast::FunctionDecl, &'e ast::Path)>
    where
        Self: 'e,
    {
        let ast::ExprKind::Path(path) = &kernel.without_parens().kind else {
            let typed = self.expr(kernel, None);
            if !is_poison(&typed) {
                self.report(Diagnostic::new(Code::E0402, kernel.span, "a kernel is needed here, by its name"));
            }
            return None;
        };
        let name = path.name.name.as_str();
        if path.qualifier.is_some() || self.find(name).is_some() {
            self.report(Diagnostic::new(Code::E0402, path.span, format!("`{name}` is not a kernel")));
            return None;
        }
        match self.checker.items.find(name) {
            Some((id, ast::Item { kind: ast::ItemKind::Function(decl), .. })) if decl.kind == ast::FunctionKind::Kernel => {
                Some((id, decl, path))
            }
            Some((_, item)) => {
                let declared = super::items::item_name(&item.kind).map_or(path.span, |name| name.span);
                let is_function = matches!(item.kind, ast::ItemKind::Function(_));
                let mut diagnostic = Diagnostic::new(Code::E0402, path.span, format!("`{name}` is not a kernel"));
                if is_function {
                    diagnostic = diagnostic
                        .also(declared, "declared as a function here")
                        .help(format!("call it: `{name}(…)`, or declare it with `kernel`"));
                }
                self.report(diagnostic);
                None
            }
            None => {
                if super::builtin::names().any(|builtin| builtin == name) {
                    let diagnostic = Diagnostic::new(Code::E0402, path.span, format!("`{name}` is a builtin, not a kernel"));
                    self.report(diagnostic.help(format!("call it: `{name}(…)`")));
                } else if !self.checker.items.is_damaged(name) {
                    self.unknown_kernel(name, path.span);
                }
                None
            }
        }
    }

    /// The kernel that an argument of a runtime call names, generic ones with all their compile-time arguments.
    pub(crate) fn kernel_address(&mut self, arg: &ast::Expr) -> Expr {
        let Some((id, decl, path)) = self.launched_kernel(arg) else { return poison(arg.span) };
        let Some(args) = self.generic_args(&decl.generics, &path.args, &decl.name.name, path.span) else {
            return poison(arg.span);
        };
        let Some(kernel) = self.checker.instance(id, args, arg.span) else { return poison(arg.span) };
        Expr { kind: ExprKind::Kernel(kernel), ty: TypeTable::VOID_POINTER, span: arg.span }
    }

    fn unknown_kernel(&mut self, name: &str, span: Span) {
        let kernels = self.checker.items.ids().filter_map(|id| match self.checker.items.get(id).map(|item| &item.kind) {
            Some(ast::ItemKind::Function(decl)) if decl.kind == ast::FunctionKind::Kernel => Some(decl.name.name.as_str()),
            _ => None,
        });
        let mut diagnostic = Diagnostic::new(Code::E0201, span, format!("kernel `{name}` is not declared"));
        if let Some(near) = super::suggest::nearest(name, kernels) {
            diagnostic = diagnostic.fix(format!("did you mean `{near}`?"), span, near);
        }
        self.report(diagnostic);
    }

    /// Grid, block, shared bytes and stream.
    #[allow(clippy::type_complexity, reason = "four parts of one syntax, taken apart at once by its only caller")]
    fn config(&mut self, config: &[ast::Expr], span: Span) -> Option<(Expr, Expr, Option<Expr>, Option<Expr>)> {
        let (Some(grid), Some(block)) = (config.first(), config.get(1)) else {
            let diagnostic = Diagnostic::new(Code::E0407, span, "a launch needs the size of its grid and of its blocks");
            self.report(diagnostic.help("`kernel<<<blocks, threads>>>(…)`"));
            return None;
        };
        let grid = self.size(grid, "grid");
        let block = self.size(block, "block");
        let shared = config.get(2).map(|shared| self.shared_bytes(shared));
        let stream = config.get(3).map(|stream| self.stream(stream));
        let parts = [Some(&grid), Some(&block), shared.as_ref(), stream.as_ref()];
        if parts.into_iter().flatten().any(is_poison) {
            return None;
        }
        let sound = self.check_grid(&grid) & self.check_block(&block);
        sound.then_some((grid, block, shared, stream))
    }

    fn stream(&mut self, expr: &ast::Expr) -> Expr {
        let literal_zero = matches!(expr.without_parens().kind, ast::ExprKind::Int { value: 0, suffix: None });
        let typed = if literal_zero { None } else { Some(self.expr(expr, Some(TypeTable::STREAM))) };
        match typed {
            Some(typed) if is_poison(&typed) => typed,
            Some(typed) if typed.ty != TypeTable::STREAM => {
                let message = format!("the stream of a launch is a `cudaStream_t`, this is `{}`", self.show(typed.ty));
                let help = match self.checker.options.cdp {
                    Cdp::Cdp1 => "`cudaStreamDefault`, or a stream made by `cudaStreamCreateWithFlags`",
                    Cdp::Cdp2 => {
                        "`cudaStreamTailLaunch`, `cudaStreamFireAndForget`, or a stream made by `cudaStreamCreateWithFlags`"
                    }
                };
                self.report(Diagnostic::new(Code::E0407, expr.span, message).help(help));
                poison(expr.span)
            }
            _ => self.stream_arg(expr),
        }
    }

    /// A 32-bit integer or `dim3`.
    fn size(&mut self, expr: &ast::Expr, what: &str) -> Expr {
        let typed = self.expr(expr, Some(TypeTable::U32));
        if is_poison(&typed) || typed.ty == TypeTable::DIM3 {
            return typed;
        }
        match self.checker.types.get(typed.ty) {
            Type::Int(int) if int.bits() <= 32 => {
                if let Some(value) = self.int_value(&typed)
                    && value < 0
                {
                    let message = format!("a {what} cannot have a size of {value}");
                    self.report(Diagnostic::new(Code::E0406, expr.span, message));
                    return poison(expr.span);
                }
                self.cast_int(typed, TypeTable::U32)
            }
            _ => {
                let message =
                    format!("the size of a {what} is a 32-bit integer or a `dim3`, this is `{}`", self.show(typed.ty));
                let mut diagnostic = Diagnostic::new(Code::E0407, expr.span, message);
                if self.cast_kind(typed.ty, TypeTable::U32).is_some() {
                    diagnostic = diagnostic.help(format!("convert it: `({}) as u32`", self.text(expr.span)));
                }
                self.report(diagnostic);
                poison(expr.span)
            }
        }
    }

    fn shared_bytes(&mut self, expr: &ast::Expr) -> Expr {
        let typed = self.expr(expr, Some(TypeTable::U32));
        if is_poison(&typed) {
            return typed;
        }
        if !matches!(self.checker.types.get(typed.ty), Type::Int(_)) {
            let message = format!("dynamic shared memory is a number of bytes, this is `{}`", self.show(typed.ty));
            self.report(Diagnostic::new(Code::E0407, expr.span, message));
            return poison(expr.span);
        }
        if let Some(value) = self.int_value(&typed)
            && !(0..=MAX_SHARED).contains(&value)
        {
            let message = format!("no block can have {value} bytes of shared memory");
            self.report(Diagnostic::new(Code::E0406, expr.span, message).note(format!(
                "at most {MAX_SHARED} bytes on any architecture; over 49152 the host must raise the kernel's limit first"
            )));
            return poison(expr.span);
        }
        self.cast_int(typed, TypeTable::U32)
    }

    /// The sizes along x, y and z that are known.
    fn known_sizes(&self, size: &Expr) -> [Option<i128>; 3] {
        match &size.kind {
            ExprKind::Const(constant) if size.ty == TypeTable::DIM3 => {
                [0, 1, 2].map(|i| super::consts::element(constant, i, TypeTable::U32)?.as_bits().map(i128::from))
            }
            ExprKind::Aggregate(parts, _) if size.ty == TypeTable::DIM3 => {
                [0, 1, 2].map(|i: usize| parts.get(i).and_then(|part| self.int_value(part)))
            }
            ExprKind::Const(_) => [self.int_value(size), Some(1), Some(1)],
            _ if size.ty == TypeTable::DIM3 => [None; 3],
            _ => [None, Some(1), Some(1)],
        }
    }

    fn check_grid(&mut self, grid: &Expr) -> bool {
        let sizes = self.known_sizes(grid);
        let limits = [MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ];
        for ((size, limit), axis) in sizes.into_iter().zip(limits).zip(["x", "y", "z"]) {
            let message = match size {
                Some(0) => format!("a grid of 0 blocks along {axis} never starts"),
                Some(size) if size > limit => format!("a grid has at most {limit} blocks along {axis}, not {size}"),
                _ => continue,
            };
            return self.never_valid(grid.span, message);
        }
        true
    }

    fn check_block(&mut self, block: &Expr) -> bool {
        let sizes = self.known_sizes(block);
        for (size, axis) in sizes.into_iter().zip(["x", "y", "z"]) {
            if size == Some(0) {
                return self.never_valid(block.span, format!("a block of 0 threads along {axis} never starts"));
            }
        }
        if let Some(z) = sizes.get(2).copied().flatten().filter(|z| *z > MAX_BLOCK_Z) {
            return self.never_valid(block.span, format!("a block has at most {MAX_BLOCK_Z} threads along z, not {z}"));
        }
        let threads = sizes.into_iter().map(|size| size.unwrap_or(1)).product::<i128>();
        if threads > MAX_BLOCK_THREADS {
            return self.never_valid(block.span, format!("a block has at most {MAX_BLOCK_THREADS} threads, not {threads}"));
        }
        true
    }

    fn never_valid(&mut self, span: Span, message: String) -> bool {
        self.report(
            Diagnostic::new(Code::E0406, span, message).note(
                "the launch would return cudaErrorInvalidConfiguration and start nothing (CUDA programming guide 5.6.4.7)",
            ),
        );
        false
    }

    /// A block over the kernel's `@launch_bounds` never starts.
    fn check_bounds_of(&mut self, kernel: crate::ir::FunctionId, block: &Expr) {
        let Some(function) = self.checker.functions.get(kernel.index()) else { return };
        let Some((most, _)) = function.launch_bounds else { return };
        let (name, declared) = (function.name.clone(), function.span);
        let known: Option<i128> = self.known_sizes(block).into_iter().try_fold(1i128, |product, size| Some(product * size?));
        if let Some(threads) = known
            && threads > i128::from(most)
        {
            let message = format!("`{name}` is compiled for at most {most} threads a block, not {threads}");
            let diagnostic = Diagnostic::new(Code::E0406, block.span, message).also(declared, "see its `@launch_bounds`");
            self.report(diagnostic.note("the launch would return cudaErrorInvalidConfiguration and start nothing"));
        }
    }

    /// A grid is made of whole clusters.
    fn check_cluster_of(&mut self, kernel: crate::ir::FunctionId, grid: &Expr) {
        let Some(function) = self.checker.functions.get(kernel.index()) else { return };
        let Some(cluster) = function.cluster else { return };
        let (name, declared) = (function.name.clone(), function.span);
        for ((size, blocks), axis) in self.known_sizes(grid).into_iter().zip(cluster).zip(["x", "y", "z"]) {
            let blocks = i128::from(blocks);
            if let Some(size) = size.filter(|size| size % blocks != 0) {
                let plural = if size == 1 { "" } else { "s" };
                let message = format!("a grid of {size} block{plural} along {axis} is not made of clusters of {blocks}");
                let up = (size / blocks + 1) * blocks;
                let diagnostic = Diagnostic::new(Code::E0406, grid.span, message)
                    .also(declared, format!("see the `@cluster` of `{name}`"))
                    .help(format!("launch {up} blocks along {axis}, and let those that are too many do nothing"));
                self.report(diagnostic.note("the launch would return cudaErrorInvalidClusterSize and start nothing"));
                return;
            }
        }
    }

    /// Refuses a pointer to private memory as a child's argument; says whether it is one.
    pub(crate) fn refuse_private(&mut self, arg: &Expr, param: &ast::Param, ty: TypeId) -> bool {
        let decayed = match &arg.kind {
            // an array given for a pointer is given by its address
            ExprKind::Read(place, _)
                if self.checker.types.pointee(ty).is_some() && self.checker.types.pointee(arg.ty).is_none() =>
            {
                self.place_space(place).map(|(space, _)| space).filter(|space| matches!(space, Space::Shared | Space::Local))
            }
            _ => None,
        };
        let found = decayed.map(|space| (space, arg.span)).or_else(|| self.private_pointer(arg));
        let Some((space, origin)) = found else { return false };
        let owner = if space == Space::Shared { "a thread block" } else { "one thread" };
        let message = format!("the child grid is given {} memory for `{}`", space.name(), param.name.name);
        let section = if space == Space::Shared { "4.18.3.3" } else { "4.18.3.4" };
        let mut diagnostic = Diagnostic::new(Code::E0501, arg.span, message)
            .label(format!("{} memory belongs to {owner}, a child cannot reach it", space.name()));
        if origin != arg.span {
            diagnostic = diagnostic.also(origin, format!("this is {} memory", space.name()));
        }
        self.report(
            diagnostic
                .also(param.span, "for this parameter")
                .help("copy the data to global memory and pass a `*global` pointer")
                .note(format!("CUDA programming guide {section}")),
        );
        true
    }

    /// The private memory that a value certainly points to, and where the pointer comes from.
    pub(crate) fn private_pointer(&self, expr: &Expr) -> Option<(Space, Span)> {
        if let Some((space @ (Space::Shared | Space::Local), _, _)) = self.checker.types.pointee(expr.ty) {
            return Some((space, expr.span));
        }
        match &expr.kind {
            ExprKind::Cast(CastKind::ToGeneric | CastKind::Pointer, inner) => self.private_pointer(inner),
            ExprKind::Offset(pointer, _) => self.private_pointer(pointer),
            ExprKind::MapSharedRank(..) => Some((Space::Shared, expr.span)),
            // a `let` points where its value did
            ExprKind::Read(place, _) if matches!(place.kind, crate::typed::PlaceKind::Variable(_)) => {
                let crate::typed::PlaceKind::Variable(id) = place.kind else { return None };
                let origin = self.private_lets.get(&id).copied();
                origin.or_else(|| self.private_inside(expr.ty).map(|space| (space, expr.span)))
            }
            ExprKind::If(_, a, b) => self.private_pointer(a).and(self.private_pointer(b)),
            ExprKind::Aggregate(parts, _) => parts.iter().find_map(|part| self.private_pointer(part)),
            _ => self.private_inside(expr.ty).map(|space| (space, expr.span)),
        }
    }

    /// Whether a type holds a pointer to private memory.
    fn private_inside(&self, ty: TypeId) -> Option<Space> {
        let mut found = None;
        let has = self.checker.types.has_part(ty, &mut |part| {
            found = match self.checker.types.pointee(part) {
                Some((space @ (Space::Shared | Space::Local), _, _)) => Some(space),
                _ => None,
            };
            found.is_some()
        });
        found.filter(|_| has)
    }
}
