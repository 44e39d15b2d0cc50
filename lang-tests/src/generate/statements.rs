//! Bodies.

#![allow(clippy::indexing_slicing, reason = "every index is drawn below the length")]

use super::Writer;
use super::values::{Scope, Type};
use std::fmt::Write as _;

impl Writer {
    /// Statements, indented by `level`.
    pub(super) fn statements(&mut self, scope: &mut Scope, count: usize, level: usize) {
        for _ in 0..count {
            if scope.pay(1) {
                self.statement(scope, level);
            }
        }
    }

    fn line(&mut self, level: usize, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = 4 * level);
    }

    fn statement(&mut self, scope: &mut Scope, level: usize) {
        match self.draw.below(if level > 3 { 6 } else { 12 }) {
            0 => {
                let ty = self.any_type();
                let value = self.expression(scope, ty, 3);
                let name = scope.fresh();
                self.line(level, &format!("let {name} = {value};"));
                scope.declare(&name, ty, false);
            }
            1 | 2 => {
                let ty = self.any_type();
                let value = self.expression(scope, ty, 3);
                let name = scope.fresh();
                self.line(level, &format!("var {name}: {} = {value};", ty.name(&self.tag)));
                scope.declare(&name, ty, true);
            }
            3..=5 => self.assignment(scope, level),
            6 | 7 => self.branch(scope, level),
            8 => self.counted(scope, level),
            9 => self.until(scope, level),
            10 => self.choice(scope, level),
            _ => self.array(scope, level),
        }
    }

    /// An assignment to a variable or field; a compound one where it is defined for every value.
    fn assignment(&mut self, scope: &mut Scope, level: usize) {
        let Some((mut place, mut ty)) = self.draw.one(scope.mutable()).cloned() else { return };
        if let Type::Struct(index) = ty
            && self.draw.below(2) == 0
        {
            let fields = self.structs.get(index).cloned().unwrap_or_default();
            let at = self.draw.below(fields.len());
            place = format!("{place}.f{at}");
            ty = fields.get(at).copied().unwrap_or(Type::Bool);
        }
        let operators: &[&str] = match ty {
            Type::Struct(_) => &["="],
            Type::Bool => &["=", "&=", "|=", "^="],
            _ if ty.is_float() => &["=", "+=", "-=", "*=", "/="],
            _ if ty.is_signed() => &["=", "&=", "|=", "^="],
            _ => &["=", "+=", "-=", "*=", "&=", "|=", "^="],
        };
        let operator = self.draw.one(operators).copied().unwrap_or("=");
        let value = self.expression(scope, ty, 3);
        self.line(level, &format!("{place} {operator} {value};"));
    }

    /// A block of its own, whose variables end with it.
    fn block(&mut self, scope: &mut Scope, level: usize, times: u64) {
        let mut inner = scope.clone();
        inner.times = scope.times * times;
        let count = 1 + self.draw.below(3);
        self.statements(&mut inner, count, level + 1);
        scope.leave(&inner);
    }

    fn branch(&mut self, scope: &mut Scope, level: usize) {
        let condition = self.expression(scope, Type::Bool, 2);
        self.line(level, &format!("if {condition} {{"));
        self.block(scope, level, 1);
        if self.draw.below(2) == 0 {
            self.line(level, "} else {");
            self.block(scope, level, 1);
        }
        self.line(level, "}");
    }

    fn counted(&mut self, scope: &mut Scope, level: usize) {
        let (name, times) = (scope.fresh(), 1 + self.draw.below(6) as u64);
        let attribute = ["", "@unroll ", "@unroll(2) "][self.draw.below(3)];
        let (from, step) = (self.draw.below(5) as u64, 1 + self.draw.below(3) as u64);
        self.line(level, &format!("{attribute}for {name} in {from}..{} step {step} {{", from + times * step));
        let mut inner = scope.clone();
        inner.declare(&name, Type::I32, false);
        self.block(&mut inner, level, times);
        scope.leave(&inner);
        self.line(level, "}");
    }

    fn until(&mut self, scope: &mut Scope, level: usize) {
        let (name, times) = (scope.fresh(), 1 + self.draw.below(5) as u64);
        self.line(level, &format!("var {name}: u8 = 0;"));
        self.line(level, &format!("while {name} < {times} {{"));
        self.line(level + 1, &format!("{name} += 1;"));
        self.block(scope, level, times);
        if self.draw.below(2) == 0 {
            let condition = self.expression(scope, Type::Bool, 2);
            let word = ["break", "continue"][self.draw.below(2)];
            self.line(level + 1, &format!("if {condition} {{ {word}; }}"));
        }
        self.line(level, "}");
        scope.declare(&name, Type::U8, false);
    }

    fn choice(&mut self, scope: &mut Scope, level: usize) {
        let value = self.expression(scope, Type::U16, 2);
        self.line(level, &format!("switch {value} & 7 {{"));
        let mut next = 0;
        for _ in 0..1 + self.draw.below(3) {
            let labels = if self.draw.below(3) == 0 { format!("{next}, {}", next + 1) } else { next.to_string() };
            next += 2;
            self.line(level + 1, &format!("case {labels} {{"));
            self.block(scope, level + 1, 1);
            self.line(level + 1, "}");
        }
        self.line(level + 1, "default {");
        self.block(scope, level + 1, 1);
        self.line(level + 1, "}");
        self.line(level, "}");
    }

    /// An array, an element changed, an element read.
    fn array(&mut self, scope: &mut Scope, level: usize) {
        let ty = self.scalar();
        let length = 1 << (1 + self.draw.below(3));
        let values: Vec<String> = (0..length).map(|_| self.expression(scope, ty, 1)).collect();
        let (array, read) = (scope.fresh(), scope.fresh());
        self.line(level, &format!("var {array}: [{}; {length}] = [{}];", ty.name(&self.tag), values.join(", ")));
        let (at, value) = (self.expression(scope, Type::U32, 2), self.expression(scope, ty, 2));
        self.line(level, &format!("{array}[{at} & {}] = {value};", length - 1));
        let at = self.expression(scope, Type::U32, 2);
        self.line(level, &format!("let {read} = {array}[{at} & {}];", length - 1));
        scope.declare(&read, ty, false);
    }
}
