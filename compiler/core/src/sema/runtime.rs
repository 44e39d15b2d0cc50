//! Calls of the CUDA runtime: the tables of [`crate::builtins`] say what each takes (CUDA programming guide 5.6.4).

use super::body::{Body, is_poison, poison};
use super::sides::Place as SidePlace;
use crate::builtins::{Cdp, CudaEnum, NamedKind, RuntimeFn, RuntimeParam, STREAM_FIRE_AND_FORGET, STREAM_TAIL_LAUNCH, Side};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Access, Const};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Place, PlaceKind};
use crate::types::{Predeclared, Space, Type, TypeId, TypeTable};

/// What the last arguments are where they are left out, as CUDA's headers say.
fn defaults(call: RuntimeFn, types: &mut TypeTable) -> Vec<Const> {
    let default_flags = || Const::bits(TypeTable::U32, 0);
    match call {
        RuntimeFn::OccupancyMaxPotentialBlockSize => vec![Const::u64(0), Const::bits(TypeTable::I32, 0)],
        RuntimeFn::MallocArray => vec![Const::u64(0), default_flags()],
        RuntimeFn::Malloc3DArray => vec![default_flags()],
        RuntimeFn::Memcpy2DArrayToArray => vec![Const::bits(CudaEnum::MemcpyKind.ty(), DEVICE_TO_DEVICE)],
        RuntimeFn::Memcpy2DToArrayAsync | RuntimeFn::Memcpy2DFromArrayAsync => vec![Const::bits(TypeTable::STREAM, 0)],
        // read by points, with the elements' own type, at coordinates that count elements
        RuntimeFn::CreateTextureObject => vec![Const::zero(types.predeclared(Predeclared::TextureDesc))],
        _ => Vec::new(),
    }
}

/// `cudaMemcpyDeviceToDevice`
const DEVICE_TO_DEVICE: u64 = 3;

impl Body<'_, '_> {
    pub(super) fn runtime(&mut self, call: RuntimeFn, name_span: Span, args: &[ast::Arg], span: Span) -> Expr {
        let name = call.name();
        self.check_side(call, name_span);
        let params = call.params();
        let defaults = defaults(call, &mut self.checker.types);
        let args = match args {
            // CUDA's last argument: a view of the resource, of which there is none here
            [rest @ .., view]
                if call == RuntimeFn::CreateTextureObject
                    && rest.len() == params.len()
                    && super::expr::is_null(&view.value) =>
            {
                rest
            }
            _ => args,
        };
        if !self.count(name, args, params.len() - defaults.len(), params.len(), span) {
            return self.skip_args(args, span);
        }
        let mut typed: Vec<Expr> = params.iter().zip(args).map(|(param, arg)| self.runtime_arg(*param, arg)).collect();
        if typed.iter().any(is_poison) {
            return poison(span);
        }
        let left_out = params.len() - typed.len();
        let filled = defaults.iter().skip(defaults.len().saturating_sub(left_out));
        typed.extend(filled.map(|default| super::expr::const_expr(default.clone(), span)));
        self.check_flags(call, &typed);
        Expr { kind: ExprKind::Runtime(call, typed), ty: call.result(), span }
    }

    fn check_side(&mut self, call: RuntimeFn, span: Span) {
        let name = call.name();
        match call {
            RuntimeFn::DeviceSynchronize if self.checker.options.cdp == Cdp::Cdp1 => {}
            RuntimeFn::DeviceSynchronize => {
                let diagnostic = Diagnostic::new(Code::E0405, span, "device code cannot wait for a child grid")
                    .label("no such call in a kernel")
                    .help("consume what the child wrote in a tail launch: `consume<<<1, 256, 0, cudaStreamTailLaunch>>>(…)`")
                    .help("for GPUs below sm_90 there is CDP1, which has the call: `--cdp=1`")
                    .note("CUDA programming guide 4.18.4.2.3: device-side `cudaDeviceSynchronize` does not exist in CDP2");
                self.wrong_on(SidePlace::Device, diagnostic);
            }
            RuntimeFn::StreamSynchronize | RuntimeFn::EventSynchronize => {
                let help = match self.checker.options.cdp {
                    Cdp::Cdp1 => "wait for all that the block has launched: `cudaDeviceSynchronize()`",
                    Cdp::Cdp2 => "order streams with events, and consume results in a tail launch",
                };
                let diagnostic = Diagnostic::new(Code::E0405, span, "device code cannot wait for a stream or an event")
                    .label("no such call in a kernel")
                    .help(help)
                    .note("CUDA programming guide 4.18.4.2.2, 4.18.4.2.3");
                self.wrong_on(SidePlace::Device, diagnostic);
            }
            _ => match (super::missing::on_the_device(call, self.checker.options.cdp), call.side()) {
                (Some((help, section)), _) => {
                    let message = format!("`{name}` does not exist in device code");
                    let diagnostic = Diagnostic::new(Code::E0411, span, message).help(help);
                    self.wrong_on(SidePlace::Device, diagnostic.note(format!("CUDA programming guide {section}")));
                }
                (None, Side::Host) => self.needs_host(span, name),
                (None, Side::Device) => self.needs_device(span, name),
                (None, Side::Both | Side::Internal) => {}
            },
        }
    }

    fn runtime_arg(&mut self, param: RuntimeParam, arg: &ast::Arg) -> Expr {
        match param {
            RuntimeParam::Value(TypeTable::STREAM) => self.stream_arg(&arg.value),
            RuntimeParam::Value(TypeTable::BOOL) => self.predicate(&arg.value),
            RuntimeParam::Value(ty) => self.expr_as(&arg.value, ty),
            RuntimeParam::Flags(kind) => self.flags(kind, arg),
            RuntimeParam::Size => match self.integer(&arg.value, "a size is an integer") {
                Some(size) => self.cast_int(size, TypeTable::U64),
                None => poison(arg.span),
            },
            RuntimeParam::Out(ty) => self.address_of_a(ty, false, arg),
            RuntimeParam::OutStruct(which) => {
                let ty = self.checker.types.predeclared(which);
                self.address_of_a(ty, false, arg)
            }
            RuntimeParam::InStruct(which) => {
                let ty = self.checker.types.predeclared(which);
                self.address_of_a(ty, true, arg)
            }
            RuntimeParam::Struct(which) => {
                let ty = self.checker.types.predeclared(which);
                self.expr_as(&arg.value, ty)
            }
            RuntimeParam::Description(which) => self.description(which, arg),
            RuntimeParam::Kernel => self.kernel_address(&arg.value),
            RuntimeParam::OutPointer => self.out_pointer(arg),
            RuntimeParam::Memory | RuntimeParam::ConstMemory => {
                let wanted = self.checker.types.pointer(Space::Generic, TypeTable::VOID, param == RuntimeParam::ConstMemory);
                self.expr_as(&arg.value, wanted)
            }
            RuntimeParam::Address | RuntimeParam::ConstAddress => {
                let constant = param == RuntimeParam::ConstAddress;
                let wanted = self.checker.types.pointer(Space::Generic, TypeTable::VOID, constant);
                let typed = self.expr(&arg.value, Some(wanted));
                if let Some((space @ (Space::Shared | Space::Local), _, _)) = self.checker.types.pointee(typed.ty) {
                    let message = format!("the device runtime cannot reach {} memory", space.name());
                    let diagnostic = Diagnostic::new(Code::E0501, arg.span, message)
                        .help("use global memory")
                        .note("CUDA programming guide 4.18.3.3, 4.18.3.4");
                    // the host's own variables are its memory, which copies reach
                    self.wrong_on(SidePlace::Device, diagnostic);
                }
                self.coerce(typed, wanted, &arg.value)
            }
            RuntimeParam::Dim3 => poison(arg.span),
        }
    }

    /// Flags, by name or as a number.
    fn flags(&mut self, kind: NamedKind, arg: &ast::Arg) -> Expr {
        match self.wrong_flag(kind, &arg.value) {
            Some(diagnostic) => {
                self.report(diagnostic);
                poison(arg.span)
            }
            None => self.expr_as(&arg.value, kind.ty()),
        }
    }

    /// A structure that a host call reads: `&desc`, or the value itself.
    fn description(&mut self, which: Predeclared, arg: &ast::Arg) -> Expr {
        let ty = self.checker.types.predeclared(which);
        let typed = self.expr(&arg.value, None);
        match self.checker.types.pointee(typed.ty) {
            Some((_, pointee, _)) if pointee == ty => {
                let place = Place { kind: PlaceKind::Deref(typed), ty, span: arg.span };
                Expr { kind: ExprKind::Read(Box::new(place), Access::Plain), ty, span: arg.span }
            }
            _ => self.coerce(typed, ty, &arg.value),
        }
    }

    /// `&s`, where a call reads or writes a value of a type.
    pub(super) fn address_of_a(&mut self, ty: TypeId, only_read: bool, arg: &ast::Arg) -> Expr {
        let typed = self.expr(&arg.value, None);
        self.address_of_typed(typed, ty, only_read, arg)
    }

    pub(super) fn address_of_typed(&mut self, typed: Expr, ty: TypeId, only_read: bool, arg: &ast::Arg) -> Expr {
        let wanted = self.checker.types.pointer(Space::Generic, ty, only_read);
        if typed.ty == ty && ty != TypeTable::POISON {
            let message = format!("the call {} here and needs the address", if only_read { "reads" } else { "writes" });
            let diagnostic = Diagnostic::new(Code::E0203, arg.span, message);
            self.report(match self.address_of_value(&typed) {
                Some(address) => diagnostic.fix("take the address", arg.span, address),
                None => diagnostic.help("keep it in a `var`, and pass that one's address"),
            });
            return poison(arg.span);
        }
        if let Some((_, pointee, _)) = self.checker.types.pointee(typed.ty)
            && pointee != ty
            && let Type::Enum(_) = self.checker.types.get(ty)
        {
            let (wanted, found) = (self.show(ty), self.show(pointee));
            let message = format!("the call writes a `{wanted}` here, not `{found}`");
            let diagnostic = Diagnostic::new(Code::E0203, arg.span, message);
            self.report(diagnostic.help(format!("declare the variable so: `var value: {wanted};`")));
            return poison(arg.span);
        }
        self.coerce(typed, wanted, &arg.value)
    }

    /// `&p` where `p` is a pointer to global memory or a generic one.
    fn out_pointer(&mut self, arg: &ast::Arg) -> Expr {
        let typed = self.expr(&arg.value, None);
        if is_poison(&typed) {
            return typed;
        }
        let inner = self
            .checker
            .types
            .pointee(typed.ty)
            .and_then(|(_, inner, _)| self.checker.types.pointee(inner).map(|p| (inner, p.0)));
        let Some((inner, Space::Global | Space::Generic)) = inner else {
            let message = format!("the address of a `*global` pointer is needed, this is `{}`", self.show(typed.ty));
            self.report(Diagnostic::new(Code::E0203, arg.span, message).help("declare `var p: *global f32;` and pass `&p`"));
            return poison(arg.span);
        };
        let wanted = self.checker.types.pointer(Space::Generic, inner, false);
        self.coerce(typed, wanted, &arg.value)
    }

    /// A stream; 0 is the NULL stream.
    pub(crate) fn stream_arg(&mut self, arg: &ast::Expr) -> Expr {
        if let ast::ExprKind::Int { value: 0, suffix: None } = &arg.without_parens().kind {
            return super::expr::const_expr(Const::bits(TypeTable::STREAM, 0), arg.span);
        }
        let typed = self.expr(arg, Some(TypeTable::STREAM));
        let stream = self.coerce(typed, TypeTable::STREAM, arg);
        if let Some(handle) = special_stream(&stream)
            && handle != 0
        {
            self.needs_device(
                arg.span,
                if handle == STREAM_TAIL_LAUNCH { "cudaStreamTailLaunch" } else { "cudaStreamFireAndForget" },
            );
        }
        stream
    }

    /// What R10 says of flags and special streams, where it is known.
    fn check_flags(&mut self, call: RuntimeFn, args: &[Expr]) {
        match call {
            RuntimeFn::StreamCreateWithFlags => {
                let Some(flags) = args.get(1).filter(|flags| self.int_value(flags).is_some_and(|value| value != 1)) else {
                    return;
                };
                let diagnostic = Diagnostic::new(Code::E0408, flags.span, "device streams need `cudaStreamNonBlocking`")
                    .fix("say so", flags.span, "cudaStreamNonBlocking")
                    .note("CUDA programming guide 5.6.4.8: the implicit NULL stream orders nothing but itself");
                self.wrong_on(SidePlace::Device, diagnostic);
            }
            RuntimeFn::EventCreateWithFlags => {
                let Some(flags) = args.get(1).filter(|flags| self.int_value(flags).is_some_and(|value| value != 2)) else {
                    return;
                };
                let diagnostic = Diagnostic::new(Code::E0409, flags.span, "device events need `cudaEventDisableTiming`")
                    .fix("say so", flags.span, "cudaEventDisableTiming")
                    .note("CUDA programming guide 4.18.4.2.2: device events order streams and measure nothing");
                self.wrong_on(SidePlace::Device, diagnostic);
            }
            RuntimeFn::EventRecord | RuntimeFn::EventRecordWithFlags | RuntimeFn::StreamWaitEvent => {
                let flags = args.get(2).filter(|flags| {
                    call == RuntimeFn::EventRecordWithFlags && self.int_value(flags).is_some_and(|value| value != 0)
                });
                if let Some(flags) = flags {
                    let diagnostic = Diagnostic::new(Code::E0411, flags.span, "device code records events without flags")
                        .fix("say so", flags.span, "cudaEventRecordDefault")
                        .note("CUDA programming guide 4.18.4.2.2: device events order streams and do nothing else");
                    self.wrong_on(SidePlace::Device, diagnostic);
                }
                let stream = if call == RuntimeFn::StreamWaitEvent { args.first() } else { args.get(1) };
                let Some(stream) = stream.filter(|stream| special_stream(stream).is_some_and(|handle| handle != 0)) else {
                    return;
                };
                let name = if special_stream(stream) == Some(STREAM_TAIL_LAUNCH) { "tail" } else { "fire-and-forget" };
                let diagnostic = Diagnostic::new(Code::E0410, stream.span, format!("events do not work on the {name} stream"))
                    .help("use a stream made by `cudaStreamCreateWithFlags`")
                    .note("CUDA programming guide 5.6.4.8.2, 5.6.4.8.3");
                self.wrong_on(SidePlace::Device, diagnostic);
            }
            _ => {}
        }
    }
}

/// The handle of a stream that is known: 0, tail or fire-and-forget.
pub(crate) fn special_stream(stream: &Expr) -> Option<u32> {
    let ExprKind::Const(constant) = &stream.kind else { return None };
    let handle = u32::try_from(constant.as_bits()?).ok()?;
    matches!(handle, 0 | STREAM_TAIL_LAUNCH | STREAM_FIRE_AND_FORGET).then_some(handle)
}
