//! Special functions that the `libm` crate has not, in `f64`, from those that it has: within 4 units in the last place, Bessel functions
//! within 16. The values of the tests were computed with 50 digits.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, PI, SQRT_2};

/// The square root of pi.
const SQRT_PI: f64 = 1.772_453_850_905_516;
/// What [`FRAC_1_SQRT_2`] lacks.
const FRAC_1_SQRT_2_REST: f64 = -4.833_646_656_726_457e-17;

/// The square root of a sum of squares, without overflow or underflow on the way.
pub(crate) fn norm(values: &[f64]) -> f64 {
    if values.iter().any(|value| value.is_infinite()) {
        return f64::INFINITY;
    }
    let largest = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    if values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    if largest == 0.0 {
        return 0.0;
    }
    // a power of two scales exactly
    let exponent = libm::ilogb(largest);
    let sum = values.iter().fold(0.0, |sum, value| {
        let scaled = libm::scalbn(*value, -exponent);
        scaled.mul_add(scaled, sum)
    });
    libm::scalbn(sum.sqrt(), exponent)
}

/// exp(x x), where the square's own rounding would be seen.
fn exp_square(x: f64, sign: f64) -> f64 {
    let square = x * x;
    let rest = x.mul_add(x, -square);
    let value = libm::exp(sign * square);
    if value.is_finite() && rest.is_finite() { value + value * (sign * rest) } else { value }
}

/// exp(x x) erfc(x)
pub(crate) fn erfcx(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x < 0.0 {
        return 2.0 * exp_square(x, 1.0) - erfcx(-x);
    }
    if x < 10.0 {
        return exp_square(x, 1.0) * libm::erfc(x);
    }
    // 1 - 1/(2 x x) + 1 3/(2 x x)^2 - …: at 10 the terms fall below the last bit long before they grow
    let by = 0.5 / (x * x);
    let (mut term, mut sum) = (1.0, 0.0);
    for k in 1..=20 {
        term *= -by * f64::from(2 * k - 1);
        sum += term;
    }
    (1.0 + sum) / (x * SQRT_PI)
}

/// The standard normal distribution function: erfc(-x / sqrt(2)) / 2.
pub(crate) fn normcdf(x: f64) -> f64 {
    if !x.is_finite() {
        return 0.5 * libm::erfc(-x);
    }
    let at = -x * FRAC_1_SQRT_2;
    // erfc falls so steeply that the rounding of its argument would be seen
    let rest = (-x).mul_add(FRAC_1_SQRT_2, -at) - x * FRAC_1_SQRT_2_REST;
    0.5 * (libm::erfc(at) - FRAC_2_SQRT_PI * exp_square(at, -1.0) * rest)
}

/// The inverse of [`normcdf`].
pub(crate) fn normcdfinv(p: f64) -> f64 {
    -SQRT_2 * erfcinv(2.0 * p)
}

/// The inverse of the error function.
pub(crate) fn erfinv(x: f64) -> f64 {
    if x.abs() > 0.5 {
        return erfcinv(1.0 - x.abs()).copysign(x);
    }
    let mut z = x * (SQRT_PI / 2.0) * (1.0 + PI / 12.0 * x * x);
    // Halley's method: the second derivative of erf is -2 z times its first
    for _ in 0..4 {
        let step = (libm::erf(z) - x) / (FRAC_2_SQRT_PI * exp_square(z, -1.0));
        z -= step / (1.0 + z * step);
    }
    z
}

/// The inverse of the complementary error function.
pub(crate) fn erfcinv(y: f64) -> f64 {
    match y {
        0.0 => return f64::INFINITY,
        2.0 => return f64::NEG_INFINITY,
        _ if !(0.0..=2.0).contains(&y) => return f64::NAN,
        _ if y > 1.5 => return -erfcinv(2.0 - y),
        _ if y >= 0.5 => return erfinv(1.0 - y),
        _ => {}
    }
    // Abramowitz and Stegun, 26.2.23, is within 0.0005; then Newton's method for the logarithm, which is nearly a parabola
    let log = libm::log(y);
    let t = (-2.0 * (log - LN_2)).sqrt();
    let low = (0.010_328f64.mul_add(t, 0.802_853)).mul_add(t, 2.515_517);
    let high = ((0.001_308f64.mul_add(t, 0.189_269)).mul_add(t, 1.432_788)).mul_add(t, 1.0);
    let mut z = (t - low / high) * FRAC_1_SQRT_2;
    for _ in 0..4 {
        let scaled = erfcx(z);
        z += ((-z).mul_add(z, libm::log(scaled)) - log) * scaled / FRAC_2_SQRT_PI;
    }
    z
}

/// The modified Bessel function of the first kind, of order 0 or 1.
pub(crate) fn bessel_i(order: u32, x: f64) -> f64 {
    let (n, size) = (f64::from(order), x.abs());
    let value = if size <= 30.0 {
        // the sum of (x x / 4)^k / (k! (k + n)!)
        let quarter = size * size / 4.0;
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 1..=80 {
            let k = f64::from(k);
            term *= quarter / (k * (k + n));
            sum += term;
        }
        if order == 1 { sum * size / 2.0 } else { sum }
    } else {
        // DLMF 10.40.1
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 1..=25 {
            let odd = f64::from(2 * k - 1);
            term *= -(4.0 * n * n - odd * odd) / (f64::from(k) * 8.0 * size);
            sum += term;
        }
        // in two halves, because the exponential alone overflows first
        let half = libm::exp(size / 2.0);
        if size.is_infinite() { size } else { half / (2.0 * PI * size).sqrt() * sum * half }
    };
    if order == 1 { value.copysign(x) } else { value }
}

#[cfg(test)]
mod tests;
