//! E0501 and W0501 (R14): pointers to `shared` or `local` memory that a child is given, wherever they come from.

use super::facts::Facts;
use crate::analysis::Body;
use crate::analysis::address::{Address, Root};
use crate::analysis::provenance::Part;
use crate::analysis::values::{Definition, Point, ValueId};
use crate::builtins::RuntimeParam;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Operand, Rvalue, StatementKind};
use crate::source::Span;
use crate::types::Space;

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for body in facts.program.device_bodies() {
        for (point, statement) in body.statements() {
            match &statement.kind {
                StatementKind::Launch(launch) => {
                    let child = facts.program.body(launch.kernel).map(|child| child.function);
                    for (index, arg) in launch.args.iter().enumerate() {
                        let param = child.and_then(|child| child.locals.get(index));
                        let name = param.map_or_else(String::new, |param| format!(" for `{}`", param.name));
                        let given =
                            Given { text: format!("the child grid {{}} given {{}} memory{name}"), span: statement.span };
                        if let Some(diagnostic) = argument(facts, body, point, arg, &given) {
                            let diagnostic = match param {
                                Some(param) => diagnostic.also(param.span, "for this parameter"),
                                None => diagnostic,
                            };
                            found.push(diagnostic.help("copy the data to global memory and pass a `*global` pointer"));
                        }
                    }
                }
                StatementKind::Runtime { call, args, .. } => {
                    for (param, arg) in call.params().iter().zip(args) {
                        if matches!(param, RuntimeParam::Address | RuntimeParam::ConstAddress) {
                            let text =
                                format!("`{}` {{}} given {{}} memory, which the device runtime cannot reach", call.name());
                            let given = Given { text, span: statement.span };
                            found.extend(argument(facts, body, point, arg, &given).map(|d| d.help("use global memory")));
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// What is wrong: a text with places for the verb and the space, and where.
struct Given {
    text: String,
    span: Span,
}

impl Given {
    fn message(&self, verb: &str, space: Space) -> String {
        self.text.replacen("{}", verb, 1).replacen("{}", space.name(), 1)
    }
}

/// The private space that an address lies in.
fn private(facts: &Facts<'_>, address: &Address) -> Option<Space> {
    match address.origin.root {
        _ if address.origin.loaded => None,
        Root::Local(_) | Root::Gone => Some(Space::Local),
        _ => facts.space(address).filter(|space| *space == Space::Shared),
    }
}

fn argument(facts: &Facts<'_>, body: &Body<'_>, point: Point, arg: &Operand, given: &Given) -> Option<Diagnostic> {
    let parts = facts.parts(body, point, arg);
    let bad = |part: &Part| private(facts, &part.address);
    // one pointer of the value that is private whatever path is taken makes an error of it
    let certain = parts.iter().find(|part| {
        let mut same = parts.iter().filter(|other| other.path == part.path);
        bad(part).is_some() && same.all(|other| bad(other).is_some())
    });
    let part = certain.or_else(|| parts.iter().find(|part| bad(part).is_some()))?;
    let space = bad(part)?;
    let owner = if space == Space::Shared { "a thread block" } else { "one thread" };
    let label = format!("{} memory belongs to {owner}, a child cannot reach it", space.name());
    let section = if space == Space::Shared { "4.18.3.3" } else { "4.18.3.4" };
    let mut diagnostic = if certain.is_some() {
        Diagnostic::new(Code::E0501, given.span, given.message("is", space)).label(label)
    } else {
        Diagnostic::new(Code::W0501, given.span, given.message("may be", space)).label(label)
    };
    let mut said = vec![given.span];
    for (span, text) in way(facts, body, point, arg, space) {
        if !said.contains(&span) {
            said.push(span);
            diagnostic = diagnostic.also(span, text);
        }
    }
    if let Some((_, span)) = facts.variable(body, part.address.origin.root)
        && !said.contains(&span)
    {
        diagnostic = diagnostic.also(span, format!("this is {} memory", space.name()));
    }
    Some(diagnostic.note(format!("R14, CUDA programming guide {section}")))
}

/// How private memory comes into a value: the assignments, selections and calls on the way back to where its address was taken.
fn way(facts: &Facts<'_>, body: &Body<'_>, point: Point, operand: &Operand, space: Space) -> Vec<(Span, String)> {
    let holds =
        |value: ValueId| facts.provenance.value(body.id, value).iter().any(|part| private(facts, &part.address) == Some(space));
    let mut labels = Vec::new();
    let mut seen = Vec::new();
    let mut next = body.read(point, operand);
    let mut chosen = false;
    while let Some(value) = next.take() {
        if seen.contains(&value) {
            break;
        }
        seen.push(value);
        match body.values.definition(value) {
            Some(Definition::Merge { inputs, .. }) => {
                let unseen = inputs.iter().map(|(_, input)| *input).filter(|input| holds(*input) && !seen.contains(input));
                next = unseen.min_by_key(|input| input.index());
                chosen = true;
            }
            Some(Definition::Statement(at)) => {
                let Some(statement) = body.statement(*at) else { break };
                if chosen && !matches!(statement.kind, StatementKind::Assign { value: Rvalue::AddressOf(_), .. }) {
                    labels.push((statement.span, format!("on the path through here it is {} memory", space.name())));
                    chosen = false;
                }
                if let StatementKind::Call { function, .. } = &statement.kind {
                    let name = facts.function_name(*function);
                    labels.push((statement.span, format!("`{name}` returns a pointer to {} memory", space.name())));
                }
                if let StatementKind::Assign { value: Rvalue::Select(..), .. } = &statement.kind {
                    labels.push((statement.span, format!("one of the two is {} memory", space.name())));
                }
                if let StatementKind::Assign { value: Rvalue::AddressOf(_), .. } = &statement.kind {
                    let text = if chosen { "on the path through here it is" } else { "this is" };
                    labels.push((statement.span, format!("{text} {} memory", space.name())));
                    break;
                }
                let mut operands = Vec::new();
                statement.kind.each_operand(&mut |operand| operands.extend(body.read(*at, operand)));
                statement.kind.each_place(&mut |place| {
                    if let crate::ir::PlaceBase::Local(local) = place.base {
                        operands.extend(body.values.read_local(*at, local));
                    }
                });
                next = operands.into_iter().find(|operand| holds(*operand));
            }
            _ => {}
        }
    }
    labels
}
