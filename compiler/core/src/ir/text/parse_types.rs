//! Reading types, structures and enumerations.

use super::MOST_DEPTH;
use super::lex::Token;
use super::parse::{Parser, Result, block_number};
use crate::builtins::CudaEnum;
use crate::types::{EnumDef, EnumId, Field, Int, NAMED, Scalar, Space, StructDef, StructId, Type, TypeId, TypeTable};

/// Names of types that no program can write.
const INTERNAL: [(&str, TypeId); 2] = [("poison", TypeTable::POISON), ("string", TypeTable::STR)];

const SPACES: [(&str, Space); 4] =
    [("global", Space::Global), ("shared", Space::Shared), ("local", Space::Local), ("constant", Space::Constant)];

/// Whether a structure's name would be taken for something else in the place of a type; a block's, behind a `return`.
pub(super) fn is_reserved(name: &str) -> bool {
    let is_space = SPACES.iter().any(|(space, _)| *space == name);
    is_space || matches!(name, "const" | "volatile") || builtin(name).is_some() || block_number(name).is_some()
}

/// A scalar, vector or other built-in type.
fn builtin(name: &str) -> Option<Type> {
    if let Some(scalar) = Scalar::from_name(name) {
        return Some(match scalar {
            Scalar::Int(int) => Type::Int(int),
            Scalar::Float(float) => Type::Float(float),
        });
    }
    if let Some((_, id)) = NAMED.iter().chain(&INTERNAL).find(|(known, _)| *known == name) {
        return Some(TypeTable::new().get(*id).clone());
    }
    if let Some(found) = CudaEnum::from_name(name) {
        return Some(Type::Enum(found.id()));
    }
    let (element, lanes) = name.rsplit_once('x')?;
    Some(Type::Vector { element: Scalar::from_name(element)?, lanes: lanes.parse().ok()? })
}

impl Parser<'_> {
    pub(super) fn ty(&mut self) -> Result<TypeId> {
        self.ty_within(0)
    }

    fn ty_within(&mut self, depth: u32) -> Result<TypeId> {
        if depth > MOST_DEPTH {
            return self.fail(format!("types lie in each other more than {MOST_DEPTH} deep"));
        }
        if self.eat("*") {
            let space = match self.peek() {
                Token::Word(word) => SPACES.iter().find(|(name, _)| name == word).map(|(_, space)| *space),
                _ => None,
            };
            if space.is_some() {
                self.skip();
            }
            let constant = self.eat_word("const");
            let volatile = self.eat_word("volatile");
            let pointee = self.ty_within(depth + 1)?;
            return Ok(self.module.types.qualified_pointer(space.unwrap_or(Space::Generic), pointee, constant, volatile));
        }
        if self.eat("[") {
            let element = self.ty_within(depth + 1)?;
            let ty = if self.eat(";") { Type::Array { element, len: self.number()? } } else { Type::Unsized { element } };
            self.expect("]")?;
            return Ok(self.module.types.intern(ty));
        }
        let ty = match self.peek().clone() {
            Token::Word(word) => match builtin(word) {
                Some(ty) => {
                    self.skip();
                    ty
                }
                None => self.named_type()?,
            },
            Token::Str(_) => self.named_type()?,
            _ => return self.fail("a type is expected here"),
        };
        Ok(self.module.types.intern(ty))
    }

    /// A structure or enumeration by name, and by number where the name is not unique.
    fn named_type(&mut self) -> Result<Type> {
        let start = self.position();
        let name = self.name()?;
        let which = self.which();
        match self.named_types.get(&(name.clone(), which)) {
            Some(ty) => Ok(ty.clone()),
            None => self.fail_at(start, format!("there is no type {name:?}")),
        }
    }

    /// `#3` behind a name.
    fn which(&mut self) -> Option<String> {
        match self.peek() {
            Token::Which(which) => {
                let which = (*which).to_owned();
                self.skip();
                Some(which)
            }
            _ => None,
        }
    }

    /// Finds the names of all structures and enumerations, which may be used before they are defined.
    pub(super) fn find_named_types(&mut self) -> Result<()> {
        let mut depth = 0u32;
        let mut line_start = true;
        while *self.peek() != Token::End {
            let keyword = match self.peek() {
                Token::Word(word @ ("struct" | "enum")) if depth == 0 && line_start => Some(*word),
                _ => None,
            };
            match self.peek() {
                Token::Punctuation("{") => depth += 1,
                Token::Punctuation("}") => depth = depth.saturating_sub(1),
                _ => {}
            }
            line_start = matches!(self.peek(), Token::Punctuation("}")) || self.ends_line();
            self.skip();
            if let Some(keyword) = keyword {
                self.declare_type(keyword == "struct")?;
                line_start = false;
            }
        }
        self.rewind();
        Ok(())
    }

    fn declare_type(&mut self, is_struct: bool) -> Result<()> {
        let start = self.position();
        let name = self.name()?;
        let which = self.which();
        let types = &mut self.module.types;
        let ty = if is_struct {
            let def = StructDef { name: name.clone(), fields: Vec::new(), align: 0, span: Default::default() };
            Type::Struct(types.add_struct(def))
        } else {
            let def = EnumDef { name: name.clone(), repr: Int::I32, variants: Vec::new(), span: Default::default() };
            Type::Enum(types.add_enum(def))
        };
        if self.named_types.insert((name.clone(), which), ty).is_some() {
            return self.fail_at(start, format!("there are two types {name:?}; number them: `{name}#1`"));
        }
        Ok(())
    }

    /// `type 23 = T`
    pub(super) fn type_line(&mut self) -> Result<()> {
        let start = self.position();
        let id: u32 = self.index()?;
        self.expect("=")?;
        let ty = self.ty()?;
        if ty != TypeId(id) {
            return self.fail_at(start, format!("this type has number {}", ty.0));
        }
        Ok(())
    }

    pub(super) fn structure(&mut self) -> Result<()> {
        let Type::Struct(id) = self.named_type()? else { return self.fail("this is no structure") };
        let align = self.align()?;
        let span = self.span()?;
        let mut fields = Vec::new();
        self.expect("{")?;
        while !self.eat("}") {
            let name = self.name()?;
            self.expect(":")?;
            let ty = self.ty()?;
            let align = self.align()?;
            fields.push(Field { name, ty, align, span: self.span()? });
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        self.define_struct(id, fields, align, span);
        Ok(())
    }

    fn define_struct(&mut self, id: StructId, fields: Vec<Field>, align: u32, span: crate::source::Span) {
        if let Some(def) = self.module.types.struct_mut(id) {
            def.fields = fields;
            def.align = align;
            def.span = span;
        }
    }

    pub(super) fn enumeration(&mut self) -> Result<()> {
        let Type::Enum(id) = self.named_type()? else { return self.fail("this is no enumeration") };
        self.expect(":")?;
        let repr = match self.peek() {
            Token::Word(word) => Scalar::from_name(word),
            _ => None,
        };
        let Some(Scalar::Int(repr)) = repr else { return self.fail("an integer type is expected here") };
        self.skip();
        let span = self.span()?;
        let mut variants = Vec::new();
        self.expect("{")?;
        while !self.eat("}") {
            let name = self.name()?;
            self.expect("=")?;
            variants.push((name, self.int_bits(repr)?));
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        self.define_enum(id, repr, variants, span);
        Ok(())
    }

    fn define_enum(&mut self, id: EnumId, repr: Int, variants: Vec<(String, u64)>, span: crate::source::Span) {
        if let Some(def) = self.module.types.enum_mut(id) {
            def.repr = repr;
            def.variants = variants;
            def.span = span;
        }
    }
}
