//! `@merge` and `@inline_below`: what the author says of one launch.

use super::body::Body;
use crate::diag::{Code, Diagnostic};
use crate::ir::{LaunchHints, Merge};
use crate::source::Span;
use crate::syntax::ast::{Attribute, ExprKind};

/// The most threads of a child that one thread may run one after the other.
const MOST_INLINE: u32 = 65_536;

/// The most blocks of a bucket.
const MOST_BUCKET: u32 = 65_536;

/// The launch attributes of one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hinted {
    hints: LaunchHints,
    /// The first attribute, and which it is.
    span: Span,
    name: &'static str,
    /// The launch that they belong to, once it was found.
    launch: Option<Span>,
}

impl Body<'_, '_> {
    /// Reads one of the attributes.
    pub(super) fn hint(&mut self, attribute: &Attribute, hinted: &mut Option<Hinted>) {
        let is_merge = attribute.name.name == "merge";
        let name = if is_merge { "merge" } else { "inline_below" };
        let known = hinted.get_or_insert(Hinted { hints: LaunchHints::default(), span: attribute.span, name, launch: None });
        let again = if is_merge { known.hints.merge.is_some() } else { known.hints.inline_below.is_some() };
        if again {
            let message = format!("`@{name}` is given twice for one launch");
            self.report(Diagnostic::new(Code::E0301, attribute.span, message));
        } else if attribute.args.len() != 1 {
            self.attribute_count(attribute, 1, 1);
        } else if is_merge {
            known.hints.merge = self.strategy(attribute);
        } else {
            known.hints.inline_below = self.attribute_int(attribute, 0, 1, MOST_INLINE);
        }
    }

    fn strategy(&mut self, attribute: &Attribute) -> Option<Merge> {
        let arg = attribute.args.first()?;
        if let ExprKind::Call { callee, args } = &arg.value.kind
            && let Some("buckets") = callee.as_ident().map(|ident| ident.name.as_str())
            && let [blocks] = args.as_slice()
        {
            return self.attribute_value(attribute, blocks, 1, MOST_BUCKET).map(Merge::Buckets);
        }
        match arg.value.as_ident().map(|ident| ident.name.as_str()) {
            Some("grid") => Some(Merge::Grid),
            Some("off") => Some(Merge::Off),
            given => {
                let mut diagnostic = Diagnostic::new(Code::E0301, arg.span, "this is no way to merge launches");
                diagnostic = match given.and_then(|given| super::suggest::nearest(given, ["grid", "off"])) {
                    Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), arg.span, near),
                    None => diagnostic.help(
                        "`@merge(grid)` runs all launches of the kernel in one grid as one, `@merge(buckets(16))` does so for every 16 \
                         blocks of that grid when they have ended, `@merge(off)` leaves this launch as it is",
                    ),
                };
                self.report(diagnostic);
                None
            }
        }
    }

    /// What the attributes of the present statement say of a launch in it.
    pub(super) fn take_hints(&mut self, launch: Span) -> LaunchHints {
        let Some(hinted) = &mut self.hinted else { return LaunchHints::default() };
        let Hinted { hints, span, name, .. } = *hinted;
        let before = hinted.launch.replace(launch);
        if let Some(before) = before.filter(|before| *before != launch) {
            let message = format!("`@{name}` belongs to one launch, but this statement has more");
            let diagnostic = Diagnostic::new(Code::E0226, span, message).also(before, "launched here").also(launch, "and here");
            self.report(diagnostic.help("give each launch a statement of its own: `let err = kernel<<<…>>>(…);`"));
            self.hinted = None;
            return LaunchHints::default();
        }
        if self.is_host() {
            let message = format!("`@{name}` does not belong here: host code launches this");
            self.report(Diagnostic::new(Code::E0226, span, message).note("only launches that kernels make are merged"));
            return LaunchHints::default();
        }
        self.needs_device(span, &format!("@{name}"));
        hints
    }

    /// Attributes for a launch where there is none.
    pub(super) fn check_hinted(&mut self, hinted: Option<Hinted>) {
        if let Some(Hinted { span, name, launch: None, .. }) = hinted {
            let message = format!("`@{name}` does not belong here: this statement launches nothing itself");
            let diagnostic = Diagnostic::new(Code::E0226, span, message);
            self.report(diagnostic.help(format!("`@{name}` stands on the statement with the launch, also inside a block")));
        }
    }
}
