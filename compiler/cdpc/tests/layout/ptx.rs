//! Which bytes of the parameter buffer a kernel's PTX stores.

use std::collections::{BTreeSet, HashMap};

/// The bytes that `kernel` stores between getting its parameter buffer and launching, counted from the buffer's start.
pub fn stores(ptx: &str, kernel: &str) -> Result<BTreeSet<u32>, String> {
    let start = ptx.find(&format!(".entry {kernel}(")).ok_or_else(|| format!("no kernel `{kernel}`"))?;
    let body = &ptx[start..];
    let body = &body[..body.find("\n}").unwrap_or(body.len())];
    let mut bytes = BTreeSet::new();
    // registers that hold the buffer's address plus so many bytes
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut called = false;
    for line in body.lines().map(str::trim) {
        called |= line.contains("GetParameterBuffer");
        let words: Vec<&str> = line.trim_end_matches(';').split([' ', '\t', ',']).filter(|w| !w.is_empty()).collect();
        match *words.as_slice() {
            [op, to, from] if op.starts_with("ld.param") && from.starts_with("[retval") && called => {
                known.insert(to.to_owned(), 0);
                called = false;
            }
            [op, to, from] if op.starts_with("mov") || op.starts_with("cvta") => {
                if let Some(offset) = known.get(from).copied() {
                    known.insert(to.to_owned(), offset);
                }
            }
            [op, to, from, by] if op.starts_with("add") => {
                if let (Some(offset), Ok(by)) = (known.get(from).copied(), by.parse::<u32>()) {
                    known.insert(to.to_owned(), offset + by);
                }
            }
            [op, at, ..] if op.starts_with("st.") && !op.starts_with("st.param") && !op.starts_with("st.local") => {
                let at = at.trim_matches(['[', ']']);
                let (register, by) = at.split_once('+').unwrap_or((at, "0"));
                let base = known.get(register).ok_or_else(|| format!("`{kernel}` stores to an unknown place: {line}"))?;
                let offset = base + by.parse::<u32>().map_err(|_| format!("an offset that is no number: {line}"))?;
                bytes.extend(offset..offset + width(op).ok_or_else(|| format!("a store of unknown width: {line}"))?);
            }
            _ => {}
        }
    }
    Ok(bytes)
}

/// Bytes that `st.v2.b32` stores.
fn width(op: &str) -> Option<u32> {
    let mut lanes = 1;
    let mut bits = None;
    for part in op.split('.').skip(1) {
        if let Some(count) = part.strip_prefix('v').and_then(|n| n.parse::<u32>().ok()) {
            lanes = count;
        } else if let Some(found) = part.strip_prefix(['b', 'u', 's', 'f']).and_then(|n| n.parse::<u32>().ok()) {
            bits = Some(found);
        }
    }
    Some(bits? / 8 * lanes)
}

#[test]
fn stores_are_read() {
    let ptx = ".visible .entry q(\n)\n{\n\tcall.uni (retval0), __cudaCDP2GetParameterBufferV2, (param0);\n\
               \tld.param.b64 \t%rd1, [retval0];\n\tst.b8 \t[%rd1], %rs1;\n\tst.v2.f32 \t[%rd1+8], {%f1, %f2};\n\
               \tadd.s64 \t%rd2, %rd1, 20;\n\tst.u16 \t[%rd2+2], %rs2;\n\tst.param.b64 \t[param0+0], %rd1;\n}\n";
    let bytes: Vec<u32> = stores(ptx, "q").unwrap().into_iter().collect();
    assert_eq!(bytes, [0, 8, 9, 10, 11, 12, 13, 14, 15, 22, 23]);
    assert!(stores(ptx, "k").is_err());
    assert!(stores(&ptx.replace("[%rd2+2]", "[%rd3+2]"), "q").is_err());
}
