//! Reading statements.

use super::lex::Token;
use super::parse::{Parser, Result};
use super::{ACCESSES, BINARY, CASTS, MERGES, SCOPES, UNARY, meaning};
use crate::builtins::{AtomicOp, BarrierOp, Intrinsic, MemoryScope, Register, RuntimeFn, TextureOp, WarpOp};
use crate::ir::{
    Access, FunctionId, GlobalId, Launch, LaunchHints, LocalId, Merge, Operand, Place, PlaceBase, Projection, Rvalue,
    StatementKind,
};

impl Parser<'_> {
    pub(super) fn operand(&mut self) -> Result<Operand> {
        match self.peek() {
            Token::Name('%', ..) => Ok(Operand::Local(self.local_name()?)),
            Token::Name('&', ..) => Ok(Operand::Function(self.function_name()?)),
            _ => Ok(Operand::Const(self.constant()?)),
        }
    }

    fn local_name(&mut self) -> Result<LocalId> {
        Ok(LocalId(self.numbered('%')?.1))
    }

    fn function_name(&mut self) -> Result<FunctionId> {
        Ok(FunctionId(self.numbered('&')?.1))
    }

    fn arguments(&mut self) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        self.expect("(")?;
        while !self.eat(")") {
            operands.push(self.operand()?);
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(operands)
    }

    fn place(&mut self) -> Result<Place> {
        let base = match self.peek() {
            Token::Name('%', ..) => PlaceBase::Local(self.local_name()?),
            Token::Name('$', ..) => PlaceBase::Global(GlobalId(self.numbered('$')?.1)),
            _ => {
                self.expect("*")?;
                self.expect("(")?;
                let pointer = self.operand()?;
                self.expect(")")?;
                PlaceBase::Deref(pointer)
            }
        };
        let mut path = Vec::new();
        loop {
            if let Token::Field(index) = self.peek() {
                path.push(Projection::Field(*index));
                self.skip();
            } else if self.eat("[") {
                path.push(Projection::Index(self.operand()?));
                self.expect("]")?;
            } else {
                return Ok(Place { base, path });
            }
        }
    }

    fn access(&mut self) -> Access {
        let access = match self.peek() {
            Token::Word(word) => meaning(&ACCESSES, word),
            _ => None,
        };
        if access.is_some() {
            self.skip();
        }
        access.unwrap_or_default()
    }

    /// A word that a table gives a meaning.
    fn chosen<T: Copy>(&mut self, find: impl Fn(&str) -> Option<T>, what: &str) -> Result<T> {
        let start = self.position();
        let word = self.word()?;
        match find(word) {
            Some(value) => Ok(value),
            None => self.fail_at(start, format!("`{word}` is no {what}")),
        }
    }

    fn scope(&mut self) -> Result<MemoryScope> {
        self.chosen(|word| meaning(&SCOPES, word), "scope")
    }

    pub(super) fn statement(&mut self) -> Result<StatementKind> {
        let dst = match self.peek() {
            Token::Name('%', ..) => {
                let dst = self.local_name()?;
                self.expect("=")?;
                Some(dst)
            }
            _ => None,
        };
        let start = self.position();
        let word = self.word()?;
        if let Some(kind) = self.effect(word, dst)? {
            return Ok(kind);
        }
        match (word, dst) {
            ("load", Some(dst)) => {
                let access = self.access();
                Ok(StatementKind::Load { dst, place: self.place()?, access })
            }
            ("allocate", Some(dst)) => {
                let element = self.ty()?;
                self.expect(",")?;
                Ok(StatementKind::HostAllocate { dst, element, count: self.operand()? })
            }
            ("store", None) => {
                let access = self.access();
                let place = self.place()?;
                self.expect(",")?;
                Ok(StatementKind::Store { place, value: self.operand()?, access })
            }
            ("deinit", None) => Ok(StatementKind::Deinit { local: self.local_name()? }),
            ("fence", None) => Ok(StatementKind::Fence { scope: self.scope()? }),
            ("assert", None) => self.assert(),
            (_, Some(dst)) => match self.rvalue(word)? {
                Some(value) => Ok(StatementKind::Assign { dst, value }),
                None => self.fail_at(start, format!("`{word}` is no operation with a result")),
            },
            (_, None) => self.fail_at(start, format!("`{word}` is no statement without a result")),
        }
    }

    /// Statements that may have a result, or may not.
    fn effect(&mut self, word: &str, dst: Option<LocalId>) -> Result<Option<StatementKind>> {
        Ok(Some(match word {
            "call" => {
                let function = self.function_name()?;
                StatementKind::Call { dst, function, args: self.arguments()? }
            }
            "atomic" => {
                let find = |word: &str| AtomicOp::ALL.into_iter().find(|op| op.name() == word);
                let op = self.chosen(find, "atomic operation")?;
                let scope = self.scope()?;
                let pointer = self.operand()?;
                StatementKind::Atomic { dst, op, scope, pointer, operands: self.arguments()? }
            }
            "barrier" => {
                let find = |word: &str| BarrierOp::ALL.into_iter().find(|op| op.name() == word);
                let op = self.chosen(find, "barrier")?;
                let start = self.position();
                let mut operands = self.arguments()?.into_iter();
                let operand = operands.next();
                if operands.next().is_some() {
                    return self.fail_at(start, "a barrier has at most one operand");
                }
                StatementKind::Barrier { dst, op, operand }
            }
            "warp" => {
                let find = |word: &str| WarpOp::ALL.into_iter().find(|op| op.name() == word);
                let op = self.chosen(find, "warp operation")?;
                StatementKind::Warp { dst, op, args: self.arguments()? }
            }
            "texture" => {
                let op = self.chosen(TextureOp::from_name, "texture access")?;
                StatementKind::Texture { dst, op, args: self.arguments()? }
            }
            "launch" => StatementKind::Launch(Box::new(self.launch(dst)?)),
            "runtime" => {
                let find = |word: &str| RuntimeFn::ALL.iter().copied().find(|call| call.name() == word);
                let call = self.chosen(find, "runtime call")?;
                StatementKind::Runtime { dst, call, args: self.arguments()? }
            }
            "printf" => {
                let format = self.string()?;
                StatementKind::Printf { dst, format, args: self.arguments()? }
            }
            _ => return Ok(None),
        }))
    }

    fn assert(&mut self) -> Result<StatementKind> {
        let condition = self.operand()?;
        self.expect(",")?;
        let text = self.string()?;
        self.expect(",")?;
        let format = self.string()?;
        Ok(StatementKind::Assert { condition, text, format, args: self.arguments()? })
    }

    fn launch(&mut self, dst: Option<LocalId>) -> Result<Launch> {
        let mut hints = LaunchHints::default();
        if self.eat_word("merge") {
            hints.merge = Some(if self.eat_word("buckets") {
                Merge::Buckets(self.index()?)
            } else {
                self.chosen(|word| meaning(&MERGES, word), "way to merge")?
            });
        }
        if self.eat_word("inline_below") {
            hints.inline_below = Some(self.index()?);
        }
        let kernel = self.function_name()?;
        self.expect("<<<")?;
        let grid = self.extent()?;
        self.expect(",")?;
        let block = self.extent()?;
        self.expect(",")?;
        let shared = self.operand()?;
        self.expect(",")?;
        let stream = self.operand()?;
        self.expect(">>>")?;
        Ok(Launch { dst, kernel, grid, block, shared, stream, args: self.arguments()?, hints })
    }

    fn extent(&mut self) -> Result<[Operand; 3]> {
        let start = self.position();
        let operands = self.arguments()?;
        <[Operand; 3]>::try_from(operands).or_else(|_| self.fail_at(start, "three numbers are expected here"))
    }

    fn pair(&mut self) -> Result<(Operand, Operand)> {
        let a = self.operand()?;
        self.expect(",")?;
        Ok((a, self.operand()?))
    }

    fn rvalue(&mut self, word: &str) -> Result<Option<Rvalue>> {
        if let Some(op) = meaning(&UNARY, word) {
            return Ok(Some(Rvalue::Unary(op, self.operand()?)));
        }
        if let Some(op) = meaning(&BINARY, word) {
            let (a, b) = self.pair()?;
            return Ok(Some(Rvalue::Binary(op, a, b)));
        }
        Ok(Some(match word {
            "use" => Rvalue::Use(self.operand()?),
            "cast" => {
                let kind = self.chosen(|word| meaning(&CASTS, word), "conversion")?;
                Rvalue::Cast(kind, self.operand()?)
            }
            "select" => {
                let condition = self.operand()?;
                self.expect(",")?;
                let (a, b) = self.pair()?;
                Rvalue::Select(condition, a, b)
            }
            "address" => Rvalue::AddressOf(self.place()?),
            "offset" => {
                let (a, b) = self.pair()?;
                Rvalue::Offset(a, b)
            }
            "distance" => {
                let (a, b) = self.pair()?;
                Rvalue::Distance(a, b)
            }
            "map_shared_rank" => {
                let (pointer, rank) = self.pair()?;
                Rvalue::MapSharedRank(pointer, rank)
            }
            "shared_rank" => Rvalue::SharedRank(self.operand()?),
            "aggregate" => Rvalue::Aggregate(self.arguments()?),
            "extract" => {
                let a = self.operand()?;
                self.expect(",")?;
                Rvalue::Extract(a, self.index()?)
            }
            "register" => Rvalue::Register(self.register()?),
            "intrinsic" => {
                let find = |word: &str| Intrinsic::ALL.iter().copied().find(|intrinsic| intrinsic.name() == word);
                let intrinsic = self.chosen(find, "intrinsic")?;
                Rvalue::Intrinsic(intrinsic, self.arguments()?)
            }
            _ => return Ok(None),
        }))
    }

    /// `threadIdx.x`, `warpSize`
    fn register(&mut self) -> Result<Register> {
        let start = self.position();
        let mut name = self.word()?.to_owned();
        if self.eat(".") {
            name.push('.');
            name.push_str(self.word()?);
        }
        match Register::from_name(&name) {
            Some(register) => Ok(register),
            None => self.fail_at(start, format!("`{name}` is no register")),
        }
    }
}
