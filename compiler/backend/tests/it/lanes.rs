//! What code of packed numbers computes: LLVM folds it for arguments that only LLVM knows, and the constants must be the evaluator's.

use crate::support::ptx;
use cdp_core::builtins::{Intrinsic, Lanes, PackedOp};
use cdp_core::ir::eval::eval_intrinsic;
use cdp_core::types::TypeTable;

const WORDS: [u32; 9] =
    [0, 0xffff_ffff, 0x8000_8000, 0x7fff_7f80, 0x8080_0180, 0x0001_ff01, 0x1234_89ab, 0xfedc_ba98, 0x7f80_ff00];

/// The constants that a kernel stores, by the word of their place.
fn stored(text: &str, count: usize) -> Vec<Option<u32>> {
    let mut found = vec![None; count];
    for line in text.lines().filter(|line| line.trim_start().starts_with("st.global")) {
        let (place, values) = line.split_once(']').unwrap();
        let offset = place.split_once('+').map_or(0, |(_, offset)| offset.parse::<usize>().unwrap());
        let values = values.trim_matches([',', ' ', '{', '}', ';']);
        for (index, value) in values.split(", ").enumerate() {
            let word = value.parse::<i64>().unwrap_or_else(|_| panic!("{line}")) as u32;
            *found.get_mut(offset / 4 + index).unwrap() = Some(word);
        }
    }
    found
}

#[test]
fn packed_numbers_are_what_the_evaluator_says() {
    let types = TypeTable::new();
    for lanes in [Lanes::Two, Lanes::Four] {
        for op in PackedOp::ALL {
            let mut source = format!("kernel k(o: *global u32) {{\nvar w: [u32; 9] = {WORDS:?};\n");
            let mut wanted = Vec::new();
            for (i, x) in WORDS.iter().enumerate() {
                for (j, y) in WORDS.iter().enumerate().take(if op.arity() == 1 { 1 } else { WORDS.len() }) {
                    let (given, args) = if op.arity() == 1 {
                        (format!("w[{i}]"), vec![u64::from(*x)])
                    } else {
                        (format!("w[{i}], w[{j}]"), vec![u64::from(*x), u64::from(*y)])
                    };
                    source += &format!("o[{}] = {}({given});\n", wanted.len(), op.name(lanes));
                    let of = vec![TypeTable::U32; args.len()];
                    let value = eval_intrinsic(&types, Intrinsic::Packed(*op, lanes), &of, &args).unwrap();
                    wanted.push(Some(u32::try_from(value).unwrap()));
                }
            }
            source += "}\n";
            assert_eq!(stored(&ptx(&source), wanted.len()), wanted, "{}", op.name(lanes));
        }
    }
}
