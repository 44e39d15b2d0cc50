//! Which elements a fetch looks at, and with which weights (CUDA programming guide, appendix "Texture Fetching").
//!
//! Places are computed exactly from the coordinates. Weights of linear filtering are rounded to 8 bits of fraction, as the guide says that
//! the hardware keeps them; where a GPU cuts off instead of rounding, or rounds a coordinate before, its weight differs by at most
//! 1/256 in each dimension, and so its result by at most 1/256 of the difference of the two neighbours in each dimension.

use super::{AddressMode, Sampler};

/// An element that a fetch looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tap {
    /// Where it is; none for the border.
    pub at: Option<[u64; 3]>,
    /// How much of it.
    pub weight: f64,
}

/// The elements along one dimension: a first one, and how much of the next.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    /// In the texture; none for the border.
    at: [Option<u64>; 2],
    /// Of the second one.
    weight: f64,
}

/// Parts that a weight is made of: "9-bit fixed point format with 8 bits of fractional value".
const WEIGHTS: f64 = 256.0;

/// The place of element `index` of a line of so many; none for the border.
fn wrap(index: i64, len: u64, mode: AddressMode) -> Option<u64> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let place = match mode {
        AddressMode::Clamp => index.clamp(0, len - 1),
        AddressMode::Wrap => index.rem_euclid(len),
        AddressMode::Mirror => {
            let place = index.rem_euclid(len.saturating_mul(2));
            if place < len { place } else { 2 * len - 1 - place }
        }
        AddressMode::Border => return u64::try_from(index).ok().filter(|_| index < len),
    };
    u64::try_from(place).ok()
}

/// A coordinate in elements. No number is 0, as for the hardware's conversion to fixed point.
fn in_elements(coordinate: f32, len: u64, sampler: &Sampler) -> f64 {
    let coordinate = f64::from(coordinate);
    let scale = if sampler.normalized_coordinates { len as f64 } else { 1.0 };
    if coordinate.is_nan() { 0.0 } else { coordinate * scale }
}

/// The two elements beside a place, and the second one's weight.
fn neighbours(place: f64) -> (i64, f64) {
    let between = place - 0.5;
    let first = between.floor();
    (first as i64, ((between - first) * WEIGHTS + 0.5).floor() / WEIGHTS)
}

fn line(coordinate: f32, len: u64, sampler: &Sampler, mode: AddressMode) -> Line {
    let place = in_elements(coordinate, len, sampler);
    if sampler.linear {
        let (first, weight) = neighbours(place);
        return Line { at: [first, first.saturating_add(1)].map(|index| wrap(index, len, mode)), weight };
    }
    Line { at: [wrap(place.floor() as i64, len, mode), None], weight: 0.0 }
}

/// The elements that a fetch looks at, those of no weight left out: 1, or up to 8. `extent` is as long as there are dimensions, and
/// `layer` is the place in z of a layered texture.
pub(crate) fn taps(sampler: &Sampler, coordinates: &[f32], extent: &[u64], layer: Option<u64>) -> Vec<Tap> {
    let mut taps = vec![Tap { at: Some([0, 0, layer.unwrap_or(0)]), weight: 1.0 }];
    let lines = coordinates.iter().zip(extent).zip(sampler.address);
    for (dimension, ((coordinate, len), mode)) in lines.enumerate() {
        let Line { at: [first, second], weight } = line(*coordinate, *len, sampler, mode);
        let along = |tap: &Tap, place: Option<u64>, weight: f64| {
            let at = tap.at.zip(place).map(|(mut at, place)| {
                if let Some(slot) = at.get_mut(dimension) {
                    *slot = place;
                }
                at
            });
            Tap { at, weight: tap.weight * weight }
        };
        taps = taps.iter().flat_map(|tap| [along(tap, first, 1.0 - weight), along(tap, second, weight)]).collect();
        taps.retain(|tap| tap.weight != 0.0);
    }
    // a line is filtered as a row whose y is 0, between itself and the row above: of that one, only a border is something else
    // (measured on an H200, where a layer's line is without it)
    if coordinates.len() == 1 && layer.is_none() && sampler.linear && sampler.address.get(1) == Some(&AddressMode::Border) {
        taps.iter_mut().for_each(|tap| tap.weight /= 2.0);
        taps.push(Tap { at: None, weight: 0.5 });
    }
    taps
}

/// The four elements that a gather looks at, in its order: left below, right below, right above, left above, where y grows downwards.
pub(crate) fn gathered(sampler: &Sampler, [x, y]: [f32; 2], [width, height]: [u64; 2]) -> [Option<[u64; 3]>; 4] {
    let [mode_x, mode_y, _] = sampler.address;
    let (left, _) = neighbours(in_elements(x, width, sampler));
    let (top, _) = neighbours(in_elements(y, height, sampler));
    [(0, 1), (1, 1), (1, 0), (0, 0)].map(|(right, below): (i64, i64)| {
        let x = wrap(left.saturating_add(right), width, mode_x)?;
        let y = wrap(top.saturating_add(below), height, mode_y)?;
        Some([x, y, 0])
    })
}

/// An integer of so many bits as a number from 0 or -1 to 1.
pub(crate) fn normalized(value: i64, bits: u32, signed: bool) -> f32 {
    let most = (1i64 << (bits - u32::from(signed))) - 1;
    (value as f64 / most as f64).max(-1.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(sampler: &Sampler, x: f32, len: u64) -> Vec<(Option<u64>, f64)> {
        let first = |tap: &Tap| (tap.at.map(|[x, ..]| x), tap.weight);
        taps(sampler, &[x], &[len], None).iter().map(first).collect()
    }

    fn point(mode: AddressMode, normalized_coordinates: bool) -> Sampler {
        Sampler { address: [mode; 3], normalized_coordinates, ..Sampler::default() }
    }

    #[test]
    fn a_point_is_the_element_that_it_lies_in() {
        let clamp = point(AddressMode::Clamp, false);
        for (x, place) in
            [(0.0, 0), (0.999, 0), (1.0, 1), (3.5, 3), (4.0, 3), (1e30, 3), (-0.5, 0), (f32::NAN, 0), (f32::NEG_INFINITY, 0)]
        {
            assert_eq!(places(&clamp, x, 4), [(Some(place), 1.0)], "{x}");
        }
        let border = point(AddressMode::Border, false);
        assert_eq!(places(&border, -0.25, 4), [(None, 1.0)]);
        assert_eq!(places(&border, 4.0, 4), [(None, 1.0)]);
        assert_eq!(places(&border, 3.75, 4), [(Some(3), 1.0)]);
    }

    #[test]
    fn textures_repeat_and_are_mirrored() {
        let (wrap, mirror) = (point(AddressMode::Wrap, true), point(AddressMode::Mirror, true));
        for (x, wrapped, mirrored) in
            [(0.125, 0, 0), (1.125, 0, 3), (-0.125, 3, 0), (2.375, 1, 1), (1.875, 3, 0), (-1.125, 3, 3)]
        {
            assert_eq!(places(&wrap, x, 4), [(Some(wrapped), 1.0)], "{x}");
            assert_eq!(places(&mirror, x, 4), [(Some(mirrored), 1.0)], "{x}");
        }
    }

    #[test]
    fn weights_have_eight_bits_of_fraction() {
        let linear = Sampler { linear: true, ..point(AddressMode::Clamp, false) };
        assert_eq!(places(&linear, 1.5, 4), [(Some(1), 1.0)]);
        assert_eq!(places(&linear, 2.0, 4), [(Some(1), 0.5), (Some(2), 0.5)]);
        assert_eq!(places(&linear, 1.5 + 1.0 / 256.0, 4), [(Some(1), 255.0 / 256.0), (Some(2), 1.0 / 256.0)]);
        assert_eq!(places(&linear, 1.5 + 0.499 / 256.0, 4), [(Some(1), 1.0)]);
        // a weight can be 1, of the next element
        assert_eq!(places(&linear, 1.499, 4), [(Some(1), 1.0)]);
        assert_eq!(places(&linear, 0.25, 4), [(Some(0), 0.25), (Some(0), 0.75)]);
        let address = [AddressMode::Border, AddressMode::Clamp, AddressMode::Clamp];
        let border = Sampler { linear: true, address, ..Sampler::default() };
        assert_eq!(places(&border, 4.0, 4), [(Some(3), 0.5), (None, 0.5)]);
    }

    #[test]
    fn a_line_has_a_border_above_it() {
        let border = Sampler { linear: true, ..point(AddressMode::Border, false) };
        assert_eq!(places(&border, 1.5, 4), [(Some(1), 0.5), (None, 0.5)]);
        assert_eq!(places(&border, 4.0, 4), [(Some(3), 0.25), (None, 0.25), (None, 0.5)]);
        assert_eq!(taps(&border, &[1.5], &[4], Some(2)), [Tap { at: Some([1, 0, 2]), weight: 1.0 }]);
        let nearest = point(AddressMode::Border, false);
        assert_eq!(places(&nearest, 1.5, 4), [(Some(1), 1.0)]);
        let plane = taps(&border, &[1.5, 0.5], &[4, 4], None);
        assert_eq!(plane, [Tap { at: Some([1, 0, 0]), weight: 1.0 }]);
    }

    #[test]
    fn a_filter_in_three_dimensions_looks_at_eight_elements() {
        let linear = Sampler { linear: true, ..point(AddressMode::Clamp, false) };
        let found = taps(&linear, &[1.0, 1.0, 1.0], &[2, 2, 2], None);
        assert_eq!(found.len(), 8);
        assert!(found.iter().all(|tap| tap.weight == 0.125 && tap.at.is_some()));
        assert_eq!(
            taps(&linear, &[1.0, 0.5], &[2, 2], Some(5)).iter().map(|tap| tap.at).collect::<Vec<_>>(),
            [Some([0, 0, 5]), Some([1, 0, 5])]
        );
    }

    #[test]
    fn a_gather_goes_round_against_the_clock_from_the_lower_left() {
        let clamp = point(AddressMode::Clamp, false);
        assert_eq!(gathered(&clamp, [1.0, 1.0], [4, 4]), [Some([0, 1, 0]), Some([1, 1, 0]), Some([1, 0, 0]), Some([0, 0, 0])]);
    }

    #[test]
    fn normalized_integers_reach_both_ends() {
        assert_eq!([0, 255].map(|value| normalized(value, 8, false)), [0.0, 1.0]);
        assert_eq!([-128, -127, 0, 127].map(|value| normalized(value, 8, true)), [-1.0, -1.0, 0.0, 1.0]);
        assert_eq!(normalized(65535, 16, false), 1.0);
        assert_eq!(normalized(51, 8, false), 0.2);
    }
}
