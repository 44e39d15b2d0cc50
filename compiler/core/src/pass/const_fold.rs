//! Constant folding: what the evaluator can compute now, need not be computed later.
//!
//! A local that is a register and is assigned once, a constant, is replaced by it everywhere: it has a value before every use. What
//! would be an error of the program, such as a division by zero, stays as it is, so that it is reported where it runs.

use crate::ir::eval::{EvalError, eval_binary, eval_cast, eval_intrinsic, eval_unary};
use crate::ir::{BinaryOp, Const, ConstValue, Function, LocalId, Module, Operand, PlaceBase, Rvalue, StatementKind};
use crate::types::{Type, TypeId, TypeTable};

/// Folds every function; branches on constants are left to [`super::simplify`].
pub fn const_fold(module: &mut Module) {
    let types = &module.types;
    for function in &mut module.functions {
        let candidates = assigned_once(function);
        let mut known: Vec<Option<Const>> = vec![None; function.locals.len()];
        // blocks are mostly in the order of execution, so that a second round finds little, and a third nothing
        while fold_once(types, function, &candidates, &mut known) {}
        while remove_unread(function) {}
    }
}

/// By local: whether it is a register that one statement writes.
fn assigned_once(function: &Function) -> Vec<bool> {
    let mut writes: Vec<u32> = vec![0; function.locals.len()];
    let mut add = |local: LocalId, count: u32| {
        if let Some(writes) = writes.get_mut(local.index()) {
            *writes = writes.saturating_add(count);
        }
    };
    (0..function.param_count).for_each(|param| add(LocalId(param), 1));
    for statement in function.blocks.iter().flat_map(|block| &block.statements) {
        if let Some(dst) = statement.kind.destination() {
            add(dst, 1);
        }
        statement.kind.each_place(&mut |place| {
            if let PlaceBase::Local(local) = place.base {
                add(local, 2);
            }
        });
    }
    writes.into_iter().map(|writes| writes == 1).collect()
}

/// One round; whether it found a constant that no round before had found.
fn fold_once(types: &TypeTable, function: &mut Function, candidates: &[bool], known: &mut [Option<Const>]) -> bool {
    let replace = |operand: &mut Operand, known: &[Option<Const>]| {
        if let Operand::Local(local) = operand
            && let Some(Some(constant)) = known.get(local.index())
        {
            *operand = Operand::Const(constant.clone());
        }
    };
    let mut changed = false;
    for block in &mut function.blocks {
        for statement in &mut block.statements {
            statement.kind.each_operand_mut(&mut |operand| replace(operand, known));
            let StatementKind::Assign { dst, value } = &mut statement.kind else { continue };
            if !matches!(value, Rvalue::Use(_))
                && let Some(ty) = function.locals.get(dst.index()).map(|local| local.ty)
                && let Some(folded) = fold(types, value, ty)
            {
                *value = Rvalue::Use(folded);
            }
            if let Rvalue::Use(Operand::Const(constant)) = value
                && candidates.get(dst.index()) == Some(&true)
                && let Some(slot @ None) = known.get_mut(dst.index())
            {
                *slot = Some(constant.clone());
                changed = true;
            }
        }
        block.terminator.kind.each_operand_mut(&mut |operand| replace(operand, known));
    }
    changed
}

/// Removes assignments to locals that nothing reads; whether there were any, whose operands may be unread now.
fn remove_unread(function: &mut Function) -> bool {
    let mut reads: Vec<u32> = vec![0; function.locals.len()];
    let mut count = |local: LocalId| {
        if let Some(reads) = reads.get_mut(local.index()) {
            *reads = reads.saturating_add(1);
        }
    };
    for block in &function.blocks {
        for statement in &block.statements {
            statement.kind.each_operand(&mut |operand| operand_local(operand).into_iter().for_each(&mut count));
            statement.kind.each_place(&mut |place| {
                if let PlaceBase::Local(local) = place.base {
                    count(local);
                }
            });
        }
        block.terminator.kind.each_operand(&mut |operand| operand_local(operand).into_iter().for_each(&mut count));
    }
    let mut removed = false;
    // backwards, so that what only a removed statement read goes in the same round
    for block in function.blocks.iter_mut().rev() {
        let mut kept = Vec::with_capacity(block.statements.len());
        for statement in block.statements.drain(..).rev() {
            match &statement.kind {
                StatementKind::Assign { dst, value } if reads.get(dst.index()) == Some(&0) => {
                    value.each_operand(&mut |operand| {
                        if let Some(reads) = operand_local(operand).and_then(|local| reads.get_mut(local.index())) {
                            *reads = reads.saturating_sub(1);
                        }
                    });
                    removed = true;
                }
                _ => kept.push(statement),
            }
        }
        kept.reverse();
        block.statements = kept;
    }
    removed
}

const fn operand_local(operand: &Operand) -> Option<LocalId> {
    match operand {
        Operand::Local(local) => Some(*local),
        _ => None,
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
            let of: Vec<TypeId> = args.iter().map(|arg| Some(constant(arg)?.ty)).collect::<Option<_>>()?;
            let (first, args): (_, Vec<&Operand>) = (*of.first()?, args.iter().collect());
            lanes(types, first, ty, &args, |element, args| {
                // lanes of vectors have one type, which the first argument's says
                let of: Vec<TypeId> = if element == first { of.clone() } else { vec![element; args.len()] };
                eval_intrinsic(types, *intrinsic, &of, args)
            })
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
