//! W0405, W0406 and E0511 (R9, R23): handles that are used after they were destroyed, streams that nobody destroys, and handles that are stored
//! where other grids can read them.

use super::facts::Facts;
use crate::analysis::Body;
use crate::analysis::address::Root;
use crate::analysis::dataflow::{Bits, Meet, forward};
use crate::analysis::values::{Point, ValueId};
use crate::builtins::{RuntimeFn, RuntimeParam};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{GlobalId, LocalId, Operand, Place, PlaceBase, Projection, Rvalue, Statement, StatementKind};
use crate::source::Span;
use crate::types::{Space, TypeId, TypeTable};

/// Where a handle is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Local(LocalId),
    Global(GlobalId),
}

/// A variable, field or element that holds a handle.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holder {
    base: Base,
    path: Vec<u64>,
}

/// A handle that some `cudaStreamDestroy` or `cudaEventDestroy` is given.
struct Destroyed {
    holder: Holder,
    at: Vec<(Point, Span)>,
}

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for body in facts.program.device_bodies() {
        stored(facts, body, found);
        let has_handles =
            body.statements().any(|(_, statement)| is_call(statement, RuntimeFn::StreamDestroy, RuntimeFn::EventDestroy));
        if has_handles {
            after_destroy(facts, body, found);
        }
        never_destroyed(facts, body, found);
    }
}

fn is_call(statement: &Statement, one: RuntimeFn, other: RuntimeFn) -> bool {
    matches!(statement.kind, StatementKind::Runtime { call, .. } if call == one || call == other)
}

/// The variable, or part of one, that a handle was read from just before.
fn holder(facts: &Facts<'_>, body: &Body<'_>, point: Point, operand: &Operand) -> Option<Holder> {
    let mut value = body.read(point, operand)?;
    for _ in 0..body.values.len() {
        let (at, statement) = body.values.statement(body.function, value)?;
        match &statement.kind {
            StatementKind::Assign { value: Rvalue::Use(inner), .. } => value = body.read(at, inner)?,
            StatementKind::Load { place, .. } => return place_holder(facts, body, at, place),
            _ => return None,
        }
    }
    None
}

fn place_holder(facts: &Facts<'_>, body: &Body<'_>, point: Point, place: &Place) -> Option<Holder> {
    let base = match place.base {
        PlaceBase::Local(local) => Base::Local(local),
        PlaceBase::Global(global) => Base::Global(global),
        PlaceBase::Deref(_) => return None,
    };
    let step = |step: &Projection| match step {
        Projection::Field(field) => Some(u64::from(*field)),
        Projection::Index(index) => facts.constants(body).operand(body, point, index),
    };
    Some(Holder { base, path: place.path.iter().map(step).collect::<Option<Vec<u64>>>()? })
}

fn is_handle(ty: TypeId) -> bool {
    ty == TypeTable::STREAM || ty == TypeTable::EVENT
}

/// The handles that a statement uses.
fn used(statement: &StatementKind) -> Vec<&Operand> {
    if let StatementKind::Launch(launch) = statement {
        return vec![&launch.stream];
    }
    let StatementKind::Runtime { call, args, .. } = statement else { return Vec::new() };
    let wanted = |param: &RuntimeParam| matches!(param, RuntimeParam::Value(ty) if is_handle(*ty));
    call.params().iter().zip(args).filter(|(param, _)| wanted(param)).map(|(_, arg)| arg).collect()
}

fn after_destroy(facts: &Facts<'_>, body: &Body<'_>, found: &mut Diagnostics) {
    // by holder: on every way it must be destroyed, at whichever place
    let mut list: Vec<Destroyed> = Vec::new();
    for (point, statement) in body.statements() {
        if is_call(statement, RuntimeFn::StreamDestroy, RuntimeFn::EventDestroy)
            && let StatementKind::Runtime { args, .. } = &statement.kind
            && let Some(holder) = args.first().and_then(|arg| holder(facts, body, point, arg))
        {
            match list.iter_mut().find(|destroyed| destroyed.holder == holder) {
                Some(destroyed) => destroyed.at.push((point, statement.span)),
                None => list.push(Destroyed { holder, at: vec![(point, statement.span)] }),
            }
        }
    }
    let step = |point: Point, statement: &Statement, set: &mut Bits| {
        for (member, destroyed) in list.iter().enumerate() {
            if changes(facts, body, point, statement, destroyed.holder.base) {
                set.remove(member);
            }
            if destroyed.at.iter().any(|(at, _)| *at == point) {
                set.insert(member);
            }
        }
    };
    let starts = forward(
        body,
        list.len(),
        Meet::All,
        |block, set| body.block_statements(block).for_each(|(point, statement)| step(point, statement, set)),
        |_, _, _| {},
    );
    for block in &body.control.order {
        let Some(mut set) = starts.get(block.index()).cloned() else { continue };
        for (point, statement) in body.block_statements(*block) {
            for operand in used(&statement.kind) {
                let Some(holder) = holder(facts, body, point, operand) else { continue };
                let gone = set.iter().filter_map(|member| list.get(member)).find(|destroyed| destroyed.holder == holder);
                if let Some(destroyed) = gone {
                    found.push(report_use(facts, body, (point, statement.span), &holder, destroyed));
                }
            }
            step(point, statement, &mut set);
        }
    }
}

/// Whether a statement may give a variable another handle.
fn changes(facts: &Facts<'_>, body: &Body<'_>, point: Point, statement: &Statement, base: Base) -> bool {
    let is_base = |place: &Place| match (&place.base, base) {
        (PlaceBase::Local(a), Base::Local(b)) => *a == b,
        (PlaceBase::Global(a), Base::Global(b)) => *a == b,
        (PlaceBase::Deref(_), _) => true,
        _ => false,
    };
    let points = |operand: &Operand| {
        facts.parts(body, point, operand).iter().any(|part| match (part.address.origin.root, base) {
            (Root::Local(a), Base::Local(b)) => a == b,
            (Root::Global(a), Base::Global(b)) => a == b,
            (Root::Unknown, _) => true,
            _ => false,
        })
    };
    match &statement.kind {
        StatementKind::Store { place, .. } => is_base(place),
        StatementKind::Call { args, .. } => matches!(base, Base::Global(_)) || args.iter().any(points),
        StatementKind::Runtime { args, .. } => args.iter().any(points),
        kind => kind.destination().is_some_and(|local| base == Base::Local(local)),
    }
}

fn name<'f>(facts: &'f Facts<'_>, body: &'f Body<'_>, base: Base) -> &'f str {
    match base {
        Base::Local(local) => body.function.locals.get(local.index()).map_or("", |local| local.name.as_str()),
        Base::Global(global) => facts.module().global(global).map_or("", |global| global.name.as_str()),
    }
}

fn report_use(
    facts: &Facts<'_>,
    body: &Body<'_>,
    (point, span): (Point, Span),
    holder: &Holder,
    destroyed: &Destroyed,
) -> Diagnostic {
    let message = format!("`{}` is used after it was destroyed", name(facts, body, holder.base));
    let others = destroyed.at.iter().filter(|(at, _)| *at != point);
    let diagnostic = Diagnostic::new(Code::W0405, span, message).label("there is no such stream or event any more");
    others
        .fold(diagnostic, |diagnostic, (_, span)| diagnostic.also(*span, "destroyed here"))
        .help("destroy it when everything has been launched: what is in it still runs")
        .note("a device may accept a launch into a destroyed stream; what becomes of it is not defined (R23)")
}

/// Streams in variables of a function that does nothing with them but launch.
fn never_destroyed(facts: &Facts<'_>, body: &Body<'_>, found: &mut Diagnostics) {
    let mut made: Vec<(LocalId, Span)> = Vec::new();
    for (point, statement) in body.statements() {
        let StatementKind::Runtime { call: RuntimeFn::StreamCreateWithFlags, args, .. } = &statement.kind else { continue };
        let parts = args.first().map(|arg| facts.parts(body, point, arg)).unwrap_or_default();
        if let [part] = parts.as_slice()
            && let Root::Local(local) = part.address.origin.root
            && body.function.local_type(local) == TypeTable::STREAM
        {
            made.push((local, statement.span));
        }
    }
    for (local, span) in made {
        if is_kept(facts, body, local) {
            continue;
        }
        let name = body.function.locals.get(local.index()).map_or("", |local| local.name.as_str());
        found.push(
            Diagnostic::new(Code::W0406, span, format!("the stream `{name}` is never destroyed"))
                .label("made here, by every thread that comes here")
                .help(format!("`cudaStreamDestroy({name});` behind the last launch: what is in the stream still runs"))
                .note("the stream is kept until the grid is complete"),
        );
    }
}

/// Whether a stream of this variable is destroyed, or goes somewhere else where it may be.
fn is_kept(facts: &Facts<'_>, body: &Body<'_>, local: LocalId) -> bool {
    let of_variable = |value: Option<ValueId>| {
        let statement = value.and_then(|value| body.values.statement(body.function, value));
        matches!(statement, Some((_, Statement { kind: StatementKind::Load { place, .. }, .. })) if place.base == PlaceBase::Local(local))
    };
    body.statements().any(|(point, statement)| {
        let mut goes = false;
        match &statement.kind {
            StatementKind::Launch(_) => {}
            StatementKind::Runtime { call: RuntimeFn::StreamDestroy, args, .. } => {
                goes = args.first().is_some_and(|arg| of_variable(body.read(point, arg)));
            }
            StatementKind::Runtime { .. } => {}
            StatementKind::Load { .. } => {}
            kind => kind.each_operand(&mut |operand| {
                let points =
                    facts.parts(body, point, operand).iter().any(|part| part.address.origin.root == Root::Local(local));
                let is_address = matches!(kind, StatementKind::Assign { .. });
                goes |= of_variable(body.read(point, operand)) || (points && !is_address);
            }),
        }
        goes
    }) || returned(body, &of_variable)
}

fn returned(body: &Body<'_>, of_variable: &impl Fn(Option<ValueId>) -> bool) -> bool {
    body.control.order.iter().filter_map(|block| body.terminator(*block)).any(|(point, terminator)| {
        let mut goes = false;
        terminator.kind.each_operand(&mut |operand| goes |= of_variable(body.read(point, operand)));
        goes
    })
}

/// Handles that are stored in global memory.
fn stored(facts: &Facts<'_>, body: &Body<'_>, found: &mut Diagnostics) {
    let module = facts.module();
    for (point, statement) in body.statements() {
        let StatementKind::Store { place, value, .. } = &statement.kind else { continue };
        let ty = module.operand_type(body.function, value);
        if !module.types.has_part(ty, &mut is_handle) {
            continue;
        }
        // the NULL stream and the special ones mean the same everywhere
        if matches!(value, Operand::Const(_)) {
            continue;
        }
        let by_type = module.place_space(body.function, place) == Some(Space::Global);
        let addresses = facts.provenance.place(&facts.program, body, point, place);
        let is_global = |root: Root| match root {
            Root::Global(global) => module.global(global).is_some_and(|global| global.space == Space::Global),
            Root::Fresh(_) => true,
            _ => false,
        };
        let by_origin = !addresses.is_empty() && addresses.iter().all(|address| is_global(address.origin.root));
        if by_type || by_origin {
            found.push(
                Diagnostic::new(Code::E0511, statement.span, "a stream or event is stored where other grids can read it")
                    .label("this is global memory")
                    .help(
                        "keep it in a variable of the thread, or in `shared` memory for the block: other grids make their own",
                    )
                    .note("streams and events belong to the grid that made them (R9, guide 4.18.2.2)"),
            );
        }
    }
}
