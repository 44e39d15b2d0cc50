//! Constant folding: what the evaluator can compute now, need not be computed later.
//!
//! A local that is a register and is assigned once, a constant, is replaced by it everywhere: it has a value before every use. What
//! would be an error of the program, such as a division by zero, stays as it is, so that it is reported where it runs.

use crate::ir::eval::{EvalError, eval_binary, eval_cast, eval_intrinsic, eval_unary};
use crate::ir::{BinaryOp, Const, ConstValue, Function, LocalId, Module, Operand, PlaceBase, Rvalue, StatementKind};
use crate::types::{Type, TypeId, TypeTable};
use std::collections::HashMap;

/// Folds every function; branches on constants are left to [`super::simplify`].
pub fn const_fold(module: &mut Module) {
    let types = &module.types;
    for function in &mut module.functions {
        while fold_once(types, function) {}
        remove_unread(function);
    }
}

/// One round; whether anything changed that may make more foldable.
fn fold_once(types: &TypeTable, function: &mut Function) -> bool {
    let known = known_locals(function);
    let mut changed = false;
    let mut replace = |operand: &mut Operand| {
        if let Operand::Local(local) = operand
            && let Some(constant) = known.get(local)
        {
            *operand = Operand::Const(constant.clone());
            changed = true;
        }
    };
    for block in &mut function.blocks {
        for statement in &mut block.statements {
            statement.kind.each_operand_mut(&mut replace);
        }
        block.terminator.kind.each_operand_mut(&mut replace);
    }
    for block in &mut function.blocks {
        for statement in &mut block.statements {
            if let StatementKind::Assign { dst, value } = &mut statement.kind
                && !matches!(value, Rvalue::Use(_))
                && let Some(ty) = function.locals.get(dst.index()).map(|local| local.ty)
                && let Some(folded) = fold(types, value, ty)
            {
                *value = Rvalue::Use(folded);
                changed = true;
            }
        }
    }
    changed
}

/// Registers that are assigned once, a constant.
fn known_locals(function: &Function) -> HashMap<LocalId, Const> {
    let mut writes: HashMap<LocalId, Option<Const>> = HashMap::new();
    for param in 0..function.param_count {
        writes.insert(LocalId(param), None);
    }
    for statement in function.blocks.iter().flat_map(|block| &block.statements) {
        if let Some(dst) = statement.kind.destination() {
            let value = match &statement.kind {
                StatementKind::Assign { value: Rvalue::Use(Operand::Const(constant)), .. } => Some(constant.clone()),
                _ => None,
            };
            writes.entry(dst).and_modify(|known| *known = None).or_insert(value);
        }
        statement.kind.each_place(&mut |place| {
            if let PlaceBase::Local(local) = place.base {
                writes.insert(local, None);
            }
        });
    }
    let mut known: HashMap<LocalId, Const> = HashMap::new();
    for (local, constant) in writes {
        known.extend(constant.map(|constant| (local, constant)));
    }
    known
}

/// Removes assignments to locals that nothing reads.
fn remove_unread(function: &mut Function) {
    let mut read = vec![false; function.locals.len()];
    let mut mark = |local: LocalId| {
        if let Some(flag) = read.get_mut(local.index()) {
            *flag = true;
        }
    };
    for block in &function.blocks {
        let mut note = |operand: &Operand| {
            if let Operand::Local(local) = operand {
                mark(*local);
            }
        };
        for statement in &block.statements {
            statement.kind.each_operand(&mut note);
        }
        block.terminator.kind.each_operand(&mut note);
        for statement in &block.statements {
            statement.kind.each_place(&mut |place| {
                if let PlaceBase::Local(local) = place.base {
                    mark(local);
                }
            });
        }
    }
    for block in &mut function.blocks {
        block.statements.retain(|statement| match &statement.kind {
            // the result of clocks is not read, but that they are is what was asked for
            StatementKind::Assign { value: Rvalue::Register(_), .. } => true,
            StatementKind::Assign { dst, .. } => read.get(dst.index()).copied().unwrap_or(true),
            _ => true,
        });
    }
}

/// The value of an rvalue of this type, when it is known and no error.
fn fold(types: &TypeTable, value: &Rvalue, ty: TypeId) -> Option<Operand> {
    match value {
        Rvalue::Unary(op, a) => lanes(types, ty, ty, &[a], |element, args| match args {
            [a] => eval_unary(types, *op, element, *a),
            _ => Err(EvalError::Unsupported),
        }),
        Rvalue::Binary(op, a, b) => binary(types, *op, constant(a)?, constant(b)?, ty),
        Rvalue::Cast(kind, a) => {
            let a = constant(a)?;
            let bits = eval_cast(types, *kind, a.ty, ty, a.as_bits()?).ok()?;
            Some(Const::bits(ty, bits).into())
        }
        Rvalue::Select(condition, a, b) => {
            let condition = constant(condition)?.as_bits()?;
            Some(if condition == 0 { b.clone() } else { a.clone() })
        }
        Rvalue::Intrinsic(intrinsic, args) => {
            let first = constant(args.first()?)?.ty;
            let args: Vec<&Operand> = args.iter().collect();
            lanes(types, first, ty, &args, |element, args| eval_intrinsic(types, *intrinsic, element, args))
        }
        Rvalue::Extract(a, index) => {
            let a = constant(a)?;
            let value = match &a.value {
                ConstValue::Aggregate(values) => values.get(*index as usize)?.clone(),
                ConstValue::Zero => ConstValue::Zero,
                _ => return None,
            };
            Some(Const { ty, value }.into())
        }
        Rvalue::Aggregate(elements) if elements.len() <= MOST_ELEMENTS => {
            let values: Option<Vec<ConstValue>> = elements.iter().map(|e| Some(constant(e)?.value.clone())).collect();
            Some(Const { ty, value: ConstValue::Aggregate(values?) }.into())
        }
        _ => None,
    }
}

/// Larger constants are better built than copied to every use.
const MOST_ELEMENTS: usize = 4;

fn constant(operand: &Operand) -> Option<&Const> {
    match operand {
        Operand::Const(constant) => Some(constant),
        _ => None,
    }
}

fn binary(types: &TypeTable, op: BinaryOp, a: &Const, b: &Const, ty: TypeId) -> Option<Operand> {
    if let Type::Vector { .. } = types.get(a.ty) {
        if a.ty != b.ty {
            return None;
        }
        let (a, b) = (Operand::Const(a.clone()), Operand::Const(b.clone()));
        return lanes(types, ty, ty, &[&a, &b], |element, args| match args {
            [a, b] => eval_binary(types, op, element, *a, *b, element),
            _ => Err(EvalError::Unsupported),
        });
    }
    let bits = eval_binary(types, op, a.ty, a.as_bits()?, b.as_bits()?, b.ty).ok()?;
    Some(Const::bits(ty, bits).into())
}

/// Computes a scalar, or a vector lane by lane, from constants of these types.
fn lanes(
    types: &TypeTable,
    from: TypeId,
    to: TypeId,
    args: &[&Operand],
    compute: impl Fn(TypeId, &[u64]) -> Result<u64, EvalError>,
) -> Option<Operand> {
    let Type::Vector { element, lanes } = types.get(from) else {
        let bits: Option<Vec<u64>> = args.iter().map(|arg| constant(arg)?.as_bits()).collect();
        return Some(Const::bits(to, compute(from, &bits?).ok()?).into());
    };
    let element = TypeTable::scalar(*element);
    let mut values = Vec::new();
    for lane in 0..usize::from(*lanes) {
        let bits: Option<Vec<u64>> = args.iter().map(|arg| lane_bits(constant(arg)?, lane)).collect();
        values.push(ConstValue::Bits(compute(element, &bits?).ok()?));
    }
    Some(Const { ty: to, value: ConstValue::Aggregate(values) }.into())
}

fn lane_bits(constant: &Const, lane: usize) -> Option<u64> {
    match &constant.value {
        ConstValue::Zero => Some(0),
        ConstValue::Aggregate(values) => match values.get(lane)? {
            ConstValue::Bits(bits) => Some(*bits),
            ConstValue::Zero => Some(0),
            _ => None,
        },
        _ => None,
    }
}
