//! `printf` and `assert`: formats checked against their arguments, arguments promoted as C's are.

use super::body::{Body, is_poison, poison};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind};
use crate::types::{Type, TypeId, TypeTable};

/// What a conversion of a format wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// An integer of at most this many bits: 32 or 64.
    Int(u32),
    /// `%f` and its kin.
    Float,
    /// `%s`
    Str,
    /// `%p`
    Pointer,
}

/// A conversion as written, and what it wants.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Conversion {
    text: String,
    wanted: Wanted,
}

/// The conversions of a format; a width or precision of `*` is one too.
fn conversions(format: &str) -> Result<Vec<Conversion>, String> {
    let mut result = Vec::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            continue;
        }
        if rest.next_if_eq(&'%').is_some() {
            continue;
        }
        let mut text = String::from("%");
        while let Some(flag) = rest.next_if(|c| "-+ #0".contains(*c)) {
            text.push(flag);
        }
        for precision in [false, true] {
            if precision {
                match rest.next_if_eq(&'.') {
                    Some(dot) => text.push(dot),
                    None => break,
                }
            }
            if let Some(star) = rest.next_if_eq(&'*') {
                text.push(star);
                result.push(Conversion { text: "*".to_owned(), wanted: Wanted::Int(32) });
            }
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                text.push(digit);
            }
        }
        let mut length = String::new();
        while let Some(modifier) = rest.next_if(|c| "hljzt".contains(*c)) {
            length.push(modifier);
        }
        text.push_str(&length);
        let Some(letter) = rest.next() else { return Err(format!("`{text}` is not finished; a percent sign is written `%%`")) };
        text.push(letter);
        let bits = match length.as_str() {
            "" | "h" | "hh" => 32,
            "l" | "ll" | "j" | "z" | "t" => 64,
            _ => return Err(format!("`{text}` has no meaning")),
        };
        let wanted = match letter {
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => Wanted::Int(bits),
            'c' => Wanted::Int(32),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => Wanted::Float,
            's' => Wanted::Str,
            'p' => Wanted::Pointer,
            _ => return Err(format!("`{text}` is not a conversion; a percent sign is written `%%`")),
        };
        result.push(Conversion { text, wanted });
    }
    Ok(result)
}

impl Body<'_, '_> {
    pub(crate) fn printf(&mut self, args: &[ast::Arg], span: Span) -> Expr {
        let Some((format, args)) = args.split_first() else {
            let diagnostic = Diagnostic::new(Code::E0204, span, "`printf` takes a format and its arguments");
            self.report(diagnostic);
            return poison(span);
        };
        match self.format(format, args) {
            Some((format, typed)) => Expr { kind: ExprKind::Printf(format, typed), ty: TypeTable::I32, span },
            None => poison(span),
        }
    }

    pub(crate) fn assert(&mut self, args: &[ast::Arg], span: Span) -> Expr {
        let Some((condition, rest)) = args.split_first() else {
            let diagnostic =
                Diagnostic::new(Code::E0204, span, "`assert` takes a condition, and a format with its arguments if you like");
            self.report(diagnostic);
            return poison(span);
        };
        let text = self.text(condition.span);
        let typed = self.condition(&condition.value);
        let message = match rest.split_first() {
            Some((format, args)) => self.format(format, args),
            None => Some((String::new(), Vec::new())),
        };
        let Some((format, args)) = message.filter(|_| typed.ty == TypeTable::BOOL) else { return poison(span) };
        let kind = ExprKind::Assert { condition: Box::new(typed), text, format, args };
        Expr { kind, ty: TypeTable::VOID, span }
    }

    fn format(&mut self, format: &ast::Arg, args: &[ast::Arg]) -> Option<(String, Vec<Expr>)> {
        let ast::ExprKind::String(text) = &format.value.without_parens().kind else {
            let diagnostic = Diagnostic::new(Code::E0224, format.span, "a format is a string literal");
            self.report(diagnostic.help("write `printf(\"%d\\n\", x)`"));
            self.skip_args(args, format.span);
            return None;
        };
        let conversions = match conversions(text) {
            Ok(conversions) => conversions,
            Err(message) => {
                self.report(Diagnostic::new(Code::E0224, format.span, message));
                self.skip_args(args, format.span);
                return None;
            }
        };
        let mut typed = Vec::with_capacity(args.len());
        let mut sound = true;
        for (index, arg) in args.iter().enumerate() {
            let Some(conversion) = conversions.get(index) else {
                let message = "nothing in the format prints this argument";
                self.report(Diagnostic::new(Code::E0224, arg.span, message).also(format.span, "the format"));
                sound = false;
                break;
            };
            let expect = match conversion.wanted {
                Wanted::Float => Some(TypeTable::F64),
                _ => None,
            };
            let value = self.expr(&arg.value, expect.filter(|_| super::expr::is_literal(&arg.value)));
            if is_poison(&value) {
                sound = false;
                continue;
            }
            match self.promote(value, conversion, format.span) {
                Some(value) => typed.push(value),
                None => sound = false,
            }
        }
        if let Some(missing) = conversions.get(args.len()) {
            let message = format!("nothing is given for `{}`", missing.text);
            self.report(Diagnostic::new(Code::E0224, format.span, message));
            sound = false;
        }
        sound.then(|| (text.clone(), typed))
    }

    /// The argument as C passes it, when the conversion fits it.
    fn promote(&mut self, value: Expr, conversion: &Conversion, format: Span) -> Option<Expr> {
        let types = &self.checker.types;
        let ty = value.ty;
        match (conversion.wanted, types.get(ty)) {
            (Wanted::Float, Type::Float(_)) => {
                let float = crate::ir::CastKind::Float;
                return Some(if ty == TypeTable::F64 { value } else { self.cast(float, value, TypeTable::F64) });
            }
            (Wanted::Str, Type::Str) => return Some(value),
            (Wanted::Pointer, Type::Pointer { space, .. }) => {
                let generic = *space == crate::types::Space::Generic;
                let kind = if generic { crate::ir::CastKind::Pointer } else { crate::ir::CastKind::ToGeneric };
                return Some(self.cast(kind, value, TypeTable::VOID_POINTER));
            }
            (Wanted::Int(bits), _) => {
                if let Some(int) = types.as_int(ty)
                    && int.bits() <= bits
                {
                    let target = match (bits, int.signed()) {
                        (32, true) => TypeTable::I32,
                        (32, false) => TypeTable::U32,
                        (_, true) => TypeTable::I64,
                        (_, false) => TypeTable::U64,
                    };
                    return Some(self.cast_int(value, target));
                }
            }
            _ => {}
        }
        let right = self.right_conversion(ty);
        let message = format!("`{}` does not print `{}`", conversion.text, self.show(ty));
        let mut diagnostic = Diagnostic::new(Code::E0224, value.span, message).also(format, "the format");
        diagnostic = match right {
            Some(right) => diagnostic.help(format!("`{}` is printed with `{right}`", self.show(ty))),
            None => diagnostic.help(format!("`{}` cannot be printed; print its parts", self.show(ty))),
        };
        self.report(diagnostic);
        None
    }

    fn right_conversion(&self, ty: TypeId) -> Option<&'static str> {
        let types = &self.checker.types;
        if let Some(int) = types.as_int(ty) {
            return Some(match (int.bits(), int.signed()) {
                (64, true) => "%lld",
                (64, false) => "%llu",
                (_, true) => "%d",
                (_, false) => "%u",
            });
        }
        match types.get(ty) {
            Type::Float(_) => Some("%f"),
            Type::Str => Some("%s"),
            Type::Pointer { .. } => Some("%p"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_c_does() {
        let wanted: Vec<Wanted> = conversions("%d %5.2f %-*lld %% %s %p %hhu %zu").unwrap().iter().map(|c| c.wanted).collect();
        let expected = [
            Wanted::Int(32),
            Wanted::Float,
            Wanted::Int(32),
            Wanted::Int(64),
            Wanted::Str,
            Wanted::Pointer,
            Wanted::Int(32),
            Wanted::Int(64),
        ];
        assert_eq!(wanted, expected);
        assert!(conversions("100%").is_err());
        assert!(conversions("%y").is_err());
    }
}
