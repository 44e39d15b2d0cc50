//! Random kernel signatures: their types, their layout by C's rules, and smaller ones that may show the same fault.

/// SplitMix64: the same signatures on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// 0 to `n - 1`
    pub fn below(&mut self, n: u32) -> u32 {
        u32::try_from(self.next() % u64::from(n)).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(u32::try_from(from.len()).unwrap()) as usize]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub name: &'static str,
    pub size: u32,
    pub cxx: &'static str,
    /// How CUDA's vectors of it are called; those of 16-bit floats are made up here.
    pub vector: &'static str,
}

const fn scalar(name: &'static str, size: u32, cxx: &'static str, vector: &'static str) -> Scalar {
    Scalar { name, size, cxx, vector }
}

pub const I32: Scalar = scalar("i32", 4, "int", "int");
pub const BOOL: Scalar = scalar("bool", 1, "bool", "");
pub const SCALARS: [Scalar; 13] = [
    scalar("i8", 1, "signed char", "char"),
    scalar("i16", 2, "short", "short"),
    I32,
    scalar("i64", 8, "long long", "longlong"),
    scalar("u8", 1, "unsigned char", "uchar"),
    scalar("u16", 2, "unsigned short", "ushort"),
    scalar("u32", 4, "unsigned", "uint"),
    scalar("u64", 8, "unsigned long long", "ulonglong"),
    scalar("f16", 2, "half1", "half"),
    scalar("bf16", 2, "half1", "half"),
    scalar("f32", 4, "float", "float"),
    scalar("f64", 8, "double", "double"),
    BOOL,
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Scalar(Scalar),
    Vector(Scalar, u32),
    Pointer {
        space: &'static str,
        to: Scalar,
    },
    /// Each structure is used in one place and gets its name there.
    Struct {
        align: Option<u32>,
        fields: Vec<Type>,
    },
    /// Only as a field.
    Array(Box<Type>, u32),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    pub params: Vec<Type>,
}

/// Bytes from the start of the parameters, and bytes.
pub type Range = (u32, u32);

/// What the device runtime takes by default.
const MOST_BYTES: u32 = 4096;
/// From here on nvcc copies in a loop, and the offsets of its stores are in registers.
const LOOPED: u32 = 128;

pub fn round_up(value: u32, align: u32) -> u32 {
    value.div_ceil(align) * align
}

impl Type {
    fn random(random: &mut Random, depth: u32) -> Self {
        match random.below(if depth == 0 { 90 } else { 100 }) {
            0..45 => Self::Scalar(random.pick(&SCALARS)),
            45..70 => Self::Vector(random.pick(&SCALARS[..12]), 2 + random.below(3)),
            70..82 => Self::Pointer { space: random.pick(&["*global ", "*", "*global const "]), to: random.pick(&SCALARS) },
            _ if depth >= 3 => Self::Scalar(random.pick(&SCALARS)),
            82..92 if depth > 0 => {
                let element = Self::random(random, depth + 1);
                match element {
                    Self::Array(..) => element,
                    _ => Self::Array(Box::new(element), 1 + random.below(5)),
                }
            }
            _ => {
                let fields: Vec<Self> = (0..1 + random.below(6)).map(|_| Self::random(random, depth + 1)).collect();
                let natural = fields.iter().map(|f| f.layout().1).max().unwrap_or(1);
                let align = (random.below(4) == 0).then(|| random.pick(&[2, 4, 8, 16, 32, 64, 128]));
                Self::Struct { align: align.filter(|align| *align > natural), fields }
            }
        }
    }

    /// Size and alignment in bytes.
    pub fn layout(&self) -> (u32, u32) {
        match self {
            Self::Scalar(scalar) => (scalar.size, scalar.size),
            Self::Vector(element, 3) => (element.size * 3, element.size),
            Self::Vector(element, lanes) => (element.size * lanes, (element.size * lanes).min(16)),
            Self::Pointer { .. } => (8, 8),
            Self::Struct { align, fields } => {
                let (mut end, mut most) = (0, align.unwrap_or(1));
                for field in fields {
                    let (size, align) = field.layout();
                    end = round_up(end, align) + size;
                    most = most.max(align);
                }
                (round_up(end, most), most)
            }
            Self::Array(element, len) => {
                let (size, align) = element.layout();
                (size * len, align)
            }
        }
    }

    /// The bytes that hold data and not padding, as the scalars in them.
    pub fn data(&self, base: u32, into: &mut Vec<Range>) {
        match self {
            Self::Scalar(scalar) => into.push((base, scalar.size)),
            Self::Vector(element, lanes) => into.extend((0..*lanes).map(|lane| (base + lane * element.size, element.size))),
            Self::Pointer { .. } => into.push((base, 8)),
            Self::Struct { fields, .. } => {
                let mut end = base;
                for field in fields {
                    let (size, align) = field.layout();
                    end = round_up(end - base, align) + base;
                    field.data(end, into);
                    end += size;
                }
            }
            Self::Array(element, len) => (0..*len).for_each(|i| element.data(base + i * element.layout().0, into)),
        }
    }

    /// Whether it and its parts are small enough to be copied without a loop, or copied in parts anyway.
    fn is_small(&self) -> bool {
        let (size, align) = self.layout();
        let parts = match self {
            Self::Struct { fields, .. } => fields.iter().all(Self::is_small),
            Self::Array(element, _) => element.is_small(),
            _ => true,
        };
        parts && (size < LOOPED || (align > 16 && size <= 4 * LOOPED))
    }

    fn smaller(&self) -> Vec<Self> {
        let mut result = Vec::new();
        if *self != Self::Scalar(I32) {
            result.push(Self::Scalar(I32));
        }
        match self {
            Self::Scalar(_) | Self::Pointer { .. } => {}
            Self::Vector(element, _) => result.push(Self::Scalar(*element)),
            Self::Array(element, len) => {
                result.push((**element).clone());
                if *len > 1 {
                    result.push(Self::Array(element.clone(), 1));
                }
                result.extend(element.smaller().into_iter().map(|e| Self::Array(Box::new(e), *len)));
            }
            Self::Struct { align, fields } => {
                if align.is_some() {
                    result.push(Self::Struct { align: None, fields: fields.clone() });
                }
                result.extend(fields.iter().filter(|f| !matches!(f, Self::Array(..))).cloned());
                if fields.len() > 1 {
                    result.extend(without_one(fields).map(|fields| Self::Struct { align: *align, fields }));
                }
                result.extend(simpler_ones(fields).map(|fields| Self::Struct { align: *align, fields }));
            }
        }
        result
    }
}

fn without_one(types: &[Type]) -> impl Iterator<Item = Vec<Type>> {
    (0..types.len()).map(|skipped| types.iter().enumerate().filter(|(i, _)| *i != skipped).map(|(_, t)| t.clone()).collect())
}

fn simpler_ones(types: &[Type]) -> impl Iterator<Item = Vec<Type>> {
    (0..types.len()).flat_map(move |at| {
        types[at].smaller().into_iter().map(move |one| {
            let mut all = types.to_vec();
            all[at] = one;
            all
        })
    })
}

impl Signature {
    pub fn random(random: &mut Random) -> Self {
        let wanted = if random.below(2) == 0 { random.below(9) } else { random.below(41) };
        let mut result = Self::default();
        while result.params.len() < wanted as usize {
            let ty = Type::random(random, 0);
            if ty.is_small() {
                result.params.push(ty);
            }
            // leaves room for the pointer of the echo
            if result.end() > MOST_BYTES - 16 {
                result.params.pop();
                break;
            }
        }
        result
    }

    /// The rule (cdp2 R31, R32): in order, each at a multiple of its alignment, of which more than 16 counts as 16.
    pub fn offsets(&self) -> Vec<Range> {
        let mut end = 0;
        let place = |ty: &Type| {
            let (size, align) = ty.layout();
            let offset = round_up(end, align.min(16));
            end = offset + size;
            (offset, size)
        };
        self.params.iter().map(place).collect()
    }

    fn end(&self) -> u32 {
        self.offsets().last().map_or(0, |(offset, size)| offset + size)
    }

    /// The scalars of all parameters.
    pub fn data(&self) -> Vec<Range> {
        let mut result = Vec::new();
        for (ty, (offset, _)) in self.params.iter().zip(self.offsets()) {
            ty.data(offset, &mut result);
        }
        result
    }

    /// Whether nvcc's and clang's own device launches go wrong (R32).
    pub fn is_over_aligned(&self) -> bool {
        self.params.iter().any(|ty| ty.layout().1 > 16)
    }

    /// Smaller signatures, the smallest first.
    pub fn smaller(&self) -> Vec<Self> {
        let mut result = Vec::new();
        if self.params.len() > 3 {
            let (front, back) = self.params.split_at(self.params.len() / 2);
            result.extend([front, back].map(|params| Self { params: params.to_vec() }));
        }
        result.extend(without_one(&self.params).map(|params| Self { params }));
        result.extend(simpler_ones(&self.params).map(|params| Self { params }));
        result
    }
}

/// The smallest signature that can be reached from `start` through signatures that fail; `failing` says which of many fail.
pub fn shrink(start: Signature, failing: impl Fn(&[Signature]) -> Vec<bool>) -> Signature {
    let mut current = start;
    // every step makes it smaller; the bound is for faults that come and go
    for _ in 0..200 {
        let candidates = current.smaller();
        let fails = failing(&candidates);
        match candidates.into_iter().zip(fails).find(|(_, fails)| *fails) {
            Some((smaller, _)) => current = smaller,
            None => break,
        }
    }
    current
}

#[test]
fn shrinking_ends_at_the_smallest_that_fails() {
    // the fault of a made-up compiler: an f64 somewhere behind a bool
    let fails = |signature: &Signature| {
        let data: Vec<&Type> = signature.params.iter().collect();
        let first = data.iter().position(|t| matches!(t, Type::Scalar(s) if *s == BOOL));
        first.is_some_and(|first| data[first..].iter().any(|t| matches!(t, Type::Vector(s, _) if s.name == "f64")))
    };
    let mut random = Random(7);
    let start = std::iter::repeat_with(|| Signature::random(&mut random)).find(|s| s.params.len() > 10 && fails(s)).unwrap();
    let small = shrink(start, |many| many.iter().map(fails).collect());
    assert_eq!(small.params.len(), 2, "{small:?}");
    assert!(fails(&small));
}

#[test]
fn every_kind_of_type_comes_up() {
    let mut random = Random(1);
    let all: Vec<Signature> = (0..200).map(|_| Signature::random(&mut random)).collect();
    assert!(all.iter().any(|s| s.params.is_empty()) && all.iter().any(|s| s.params.len() == 40));
    for align in [1, 2, 4, 8, 16, 32, 64, 128] {
        assert!(all.iter().flat_map(|s| &s.params).any(|t| t.layout().1 == align), "nothing is aligned to {align}");
    }
    let text = format!("{all:?}");
    for kind in ["Array(Struct", "Vector", "Pointer", "\"bf16\"", "\"bool\""] {
        assert!(text.contains(kind), "no {kind}");
    }
}
