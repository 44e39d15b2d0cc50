use super::*;

const ALL: [Rounding; 4] = Rounding::ALL;

/// Numbers of every kind and size, from a generator that is the same everywhere.
struct Source(u64);

impl Source {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (self.0 >> 32)
    }

    /// Mostly of exponents near those of the last ones, so that digits meet; sometimes anything.
    fn double(&mut self) -> u64 {
        let bits = self.next();
        match self.next() % 16 {
            0 => bits,
            1 => bits & ((1 << 63) | ((1 << 20) - 1)),
            2 => [0, 1, 0x7ff0 << 48, 0x7fef_ffff_ffff_ffff, 0x3ff0 << 48][(bits % 5) as usize] | (bits & (1 << 63)),
            3 => (bits & ((1 << 63) | ((1 << 52) - 1))) | ((0x7f8 + bits % 8) << 52),
            4 => (bits & ((1 << 63) | ((1 << 52) - 1))) | ((bits % 60) << 52),
            _ => (bits & ((1 << 63) | ((1 << 52) - 1))) | ((0x3e0 + (bits >> 57) % 64) << 52),
        }
    }

    fn single(&mut self) -> u64 {
        let bits = self.next();
        match self.next() % 8 {
            0 => bits & 0xffff_ffff,
            1 => bits & 0x8000_0fff,
            2 => [0, 1, 0x7f80_0000, 0x7f7f_ffff, 0x3f80_0000][(bits % 5) as usize] | (bits & 0x8000_0000),
            _ => (bits & 0x807f_ffff) | ((0x70 + (bits >> 50) % 32) << 23),
        }
    }
}

fn of(float: Float, op: RoundedOp, rounding: Rounding, args: &[u64]) -> u64 {
    arithmetic(float, op, rounding, args).unwrap()
}

#[test]
fn to_nearest_is_what_this_machine_computes() {
    let mut source = Source(1);
    for _ in 0..200_000 {
        let [x, y, z] = [source.double(), source.double(), source.double()];
        let [a, b, c] = [x, y, z].map(f64::from_bits);
        let same = |op, args: &[u64], want: f64| {
            assert_eq!(of(Float::F64, op, Rounding::Nearest, args), super::super::round(Float::F64, want), "{op:?} {args:x?}");
        };
        same(RoundedOp::Add, &[x, y], a + b);
        same(RoundedOp::Sub, &[x, y], a - b);
        same(RoundedOp::Mul, &[x, y], a * b);
        same(RoundedOp::Div, &[x, y], a / b);
        same(RoundedOp::Reciprocal, &[x], 1.0 / a);
        same(RoundedOp::Sqrt, &[x], a.sqrt());
        same(RoundedOp::Fma, &[x, y, z], a.mul_add(b, c));
        let [x, y, z] = [source.single(), source.single(), source.single()];
        let [a, b, c] = [x, y, z].map(|bits| f32::from_bits(bits as u32));
        let same = |op, args: &[u64], want: f32| {
            let want = super::super::round(Float::F32, f64::from(want));
            assert_eq!(of(Float::F32, op, Rounding::Nearest, args), want, "{op:?} {args:x?}");
        };
        same(RoundedOp::Add, &[x, y], a + b);
        same(RoundedOp::Mul, &[x, y], a * b);
        same(RoundedOp::Div, &[x, y], a / b);
        same(RoundedOp::Sqrt, &[x], a.sqrt());
        same(RoundedOp::Fma, &[x, y, z], a.mul_add(b, c));
    }
}

/// A key in the order of the numbers; both zeros are one.
fn order(float: Float, bits: u64) -> i64 {
    let size = (bits & !sign(float)).cast_signed();
    if bits & sign(float) == 0 { size } else { -size }
}

#[test]
fn directed_results_enclose_the_exact_one() {
    let mut source = Source(2);
    for round in 0..200_000 {
        let float = if round % 2 == 0 { Float::F64 } else { Float::F32 };
        let args = [(); 3].map(|()| if round % 2 == 0 { source.double() } else { source.single() });
        for op in RoundedOp::ALL {
            let count = match op {
                RoundedOp::Fma => 3,
                RoundedOp::Reciprocal | RoundedOp::Sqrt => 1,
                _ => 2,
            };
            let args = &args[..count];
            let [nearest, zero, up, down] = ALL.map(|rounding| of(float, *op, rounding, args));
            if float.value(nearest).is_nan() {
                assert_eq!([zero, up, down], [nearest; 3], "{op:?} {args:x?}");
                continue;
            }
            let [at, low, high] = [nearest, down, up].map(|bits| order(float, bits));
            assert!(low <= at && at <= high && high - low <= 1, "{op:?} {args:x?}: {down:x} {nearest:x} {up:x}");
            let towards_zero = if float.value(nearest).is_sign_negative() { up } else { down };
            assert_eq!(order(float, zero), order(float, towards_zero), "{op:?} {args:x?}");
        }
    }
}

#[test]
fn known_results() {
    let f32_bits = |value: f32| u64::from(value.to_bits());
    let tiny = f32_bits(f32::from_bits(1));
    let one = f32_bits(1.0);
    let four = |op, args: &[u64]| ALL.map(|rounding| of(Float::F32, op, rounding, args));
    assert_eq!(four(RoundedOp::Add, &[one, tiny]), [one, one, one + 1, one]);
    assert_eq!(four(RoundedOp::Sub, &[one, tiny]), [one, one - 1, one, one - 1]);
    assert_eq!(four(RoundedOp::Mul, &[tiny, tiny]), [0, 0, 1, 0]);
    assert_eq!(four(RoundedOp::Mul, &[tiny | (1 << 31), tiny]), [1 << 31, 1 << 31, 1 << 31, (1 << 31) | 1]);
    assert_eq!(four(RoundedOp::Sub, &[one, one]), [0, 0, 0, 1 << 31]);
    let (most, infinity) = (f32_bits(f32::MAX), f32_bits(f32::INFINITY));
    assert_eq!(four(RoundedOp::Add, &[most, most]), [infinity, most, infinity, most]);
    assert_eq!(four(RoundedOp::Div, &[one, f32_bits(3.0)]), [0x3eaa_aaab, 0x3eaa_aaaa, 0x3eaa_aaab, 0x3eaa_aaaa]);
    assert_eq!(four(RoundedOp::Reciprocal, &[1 << 31]), [infinity | (1 << 31); 4]);
    assert_eq!(four(RoundedOp::Sqrt, &[f32_bits(2.0)]), [0x3fb5_04f3, 0x3fb5_04f3, 0x3fb5_04f4, 0x3fb5_04f3]);
    // a product far below the addend
    assert_eq!(four(RoundedOp::Fma, &[tiny, tiny, one]), [one, one, one + 1, one]);
    // the rest of a square, which only one rounding keeps
    let x = f32_bits(1.000_122_1);
    let square = of(Float::F32, RoundedOp::Mul, Rounding::Nearest, &[x, x]);
    assert_eq!(float_of(of(Float::F32, RoundedOp::Fma, Rounding::Zero, &[x, x, square ^ (1 << 31)])), 1.490_116_1e-8);
}

fn float_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

#[test]
fn reciprocal_roots_are_nearest() {
    let mut source = Source(3);
    for _ in 0..100_000 {
        let bits = source.single() & 0x7fff_ffff;
        let x = f32::from_bits(bits as u32);
        if !x.is_finite() || x == 0.0 {
            continue;
        }
        let got = f64::from(float_of(reciprocal_root(bits)));
        // the middles to both neighbours lie on either side: their squares times x, exact but for one rounding
        let next = |step: i64| f64::from(float_of(reciprocal_root(bits).wrapping_add_signed(step)));
        let (low, high) = ((got + next(-1)) / 2.0, (got + next(1)) / 2.0);
        assert!(low * low * f64::from(x) <= 1.0 && high * high * f64::from(x) >= 1.0, "{x:e}: {got:e}");
    }
    assert_eq!(float_of(reciprocal_root(0x4080_0000)), 0.5);
    assert_eq!(float_of(reciprocal_root(0)), f32::INFINITY);
    assert_eq!(float_of(reciprocal_root(1 << 31)), f32::NEG_INFINITY);
    assert!(float_of(reciprocal_root(0xbf80_0000)).is_nan());
}

#[test]
fn integers_and_narrower_formats_round_once() {
    let f32_of = |rounding, value: i128| float_of(from_int(Float::F32, rounding, value));
    let large = (1i128 << 24) + 1;
    assert_eq!(ALL.map(|rounding| f32_of(rounding, large)), [16_777_216.0, 16_777_216.0, 16_777_218.0, 16_777_216.0]);
    assert_eq!(ALL.map(|rounding| f32_of(rounding, -large)), [-16_777_216.0, -16_777_216.0, -16_777_216.0, -16_777_218.0]);
    assert_eq!(f32_of(Rounding::Up, i128::from(u64::MAX)), 18_446_744_073_709_551_616.0);
    let narrowed = |rounding, value: f64| float_of(narrow(Float::F32, rounding, value));
    assert_eq!(ALL.map(|rounding| narrowed(rounding, 1e-60)), [0.0, 0.0, f32::from_bits(1), 0.0]);
    assert_eq!(ALL.map(|rounding| narrowed(rounding, -1e60)), [f32::NEG_INFINITY, f32::MIN, f32::MIN, f32::NEG_INFINITY]);
    for value in [0.1, 1.0 / 3.0, -7e-39, 3e38] {
        assert_eq!(narrowed(Rounding::Nearest, value), value as f32);
    }
}
