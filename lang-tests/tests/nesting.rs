//! Every construct that holds an expression, many levels deep, sound and broken. A checker that looks at a part twice takes twice as long for every level,
//! and these would not end.

use lang_tests::hostile::{format, program, tokens, tree};

/// Below the 256 levels that a program may have.
const LEVELS: usize = 40;

const ITEMS: &str = "
struct S { x: i32, y: [i32; 2] }
struct G[T] { g: T }
fn id(x: i32) -> i32 { return x; }
fn gen[T](x: T) -> T { return x; }
fn two[T](x: T, y: T) -> T { return x; }
fn ptr[T](p: *global const T) -> *global T { return p as *global T; }
fn cptr[T](p: *global const T) -> *global const T { return p; }
fn arr[T, N: i32](a: [T; N]) -> [T; N] { return a; }
kernel child(x: i32) {}
kernel kid[T](x: T) {}
";

/// `@` is where the next level stands.
const FORMS: &[&str] = &[
    "[@]",
    "[@][0]",
    "[1, @][0]",
    "[@; 2][0]",
    "(@)",
    "-@",
    "!(@)",
    "(@ + 1)",
    "(1 + @)",
    "(@ << 1)",
    "((@ < 1) as i32)",
    "((@ < 1 && true) as i32)",
    "(@ as i32)",
    "(if true { @ } else { 1 })",
    "(if true { 1 } else { @ })",
    "(if @ == 1 { 1 } else { 2 })",
    "id(@)",
    "gen(@)",
    "two(@, 1)",
    "two(1, @)",
    "two::[i32](@, 1)",
    "arr([@])[0]",
    "arr(@)",
    "G(@)",
    "G(@).g",
    "G(g: @).g",
    "S(@, [1, 2]).x",
    "S(x: 1, y: [1, @]).x",
    "i32x2(@, 1).x",
    "i32x2(@).x",
    "(dim3(@ as u32).x as i32)",
    "a[@]",
    "(@)[0]",
    "(@).none",
    "*(o + @)",
    "*&o[@]",
    "*ptr(o + @)",
    "*cptr(o + @)",
    "min(@, 1)",
    "min(1, @)",
    "abs(@)",
    "__popc(@ as u32)",
    "(fma(@ as f32, 1.0, 1.0) as i32)",
    "wrapping_add(@, 1)",
    "atomicAdd(o, @)",
    "__shfl_sync(0xffffffff, @, 0)",
    "(__ballot_sync(0xffffffff, @ == 0) as i32)",
    "__syncthreads_count(@ == 0)",
    "__ldg(o + @)",
    "printf(\"%d\", @)",
    "(child<<<1, 1>>>(@) as i32)",
    "(child<<<@, 1>>>(1) as i32)",
    "(kid<<<1, 1>>>(@) as i32)",
    "none(@)",
    "None(@)",
];

#[test]
fn deep() {
    for form in FORMS {
        for leaf in ["n", "none", "1", ""] {
            let value = (0..LEVELS).fold(leaf.to_owned(), |inner, _| form.replace('@', &inner));
            let text = format!(
                "{ITEMS}kernel k(o: *global i32, n: i32) {{ var a: [i32; 4] = [1, 2, 3, 4]; o[0] = {value}; let x = {value}; }}"
            );
            tokens(&text);
            tree(&text);
            format(&text);
            drop(program(&text));
        }
    }
}
