//! Texture and surface objects that are used as they cannot be, and reads through caches that do not follow.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod support;

use support::{found, run};

/// A kernel of one block of four threads with a texture and a surface of the same array of 4 by 2 floats, and with `x`, 8 floats of linear
/// memory that `l` is a texture of.
fn program(body: &str, before: &str, after: &str) -> String {
    format!(
        "kernel child(t: cudaTextureObject_t, l: cudaTextureObject_t, s: cudaSurfaceObject_t, x: *global f32, o: *global f32) {{\n{}\n}}\nkernel k(t: cudaTextureObject_t, l: cudaTextureObject_t, s: cudaSurfaceObject_t, x: *global f32, o: *global f32) {{\n    let i = threadIdx.x as i32;\n{body}\n}}\n{HOST_BEFORE}\n{before}\n    k<<<1, 4>>>(t, l, s, x, o);\n{after}\n    cudaDeviceSynchronize();\n}}\n",
        "    o[threadIdx.x] = tex1Dfetch::[f32](l, threadIdx.x as i32);"
    )
}

const HOST_BEFORE: &str = "host fn main() {
    let x = device(f32, 8);
    let o = device(f32, 8);
    var a: cudaArray_t;
    var t: cudaTextureObject_t;
    var l: cudaTextureObject_t;
    var s: cudaSurfaceObject_t;
    cudaMallocArray(&a, cudaCreateChannelDesc::[f32](), 4, 2, cudaArraySurfaceLoadStore);
    cudaMemcpy2DToArray(a, 0, 0, x, 16, 16, 2, cudaMemcpyDeviceToDevice);
    cudaCreateTextureObject(&t, cudaResourceDesc(array: a));
    cudaCreateTextureObject(&l, cudaResourceDesc(resType: cudaResourceTypeLinear, devPtr: x, desc: cudaCreateChannelDesc::[f32](), sizeInBytes: 32));
    cudaCreateSurfaceObject(&s, cudaResourceDesc(array: a));";

/// The faults of a kernel's body, which starts at line 6.
fn check(body: &str, expected: &[&str]) {
    let text = program(body, "", "");
    assert_eq!(found(&text), expected, "{}", run(&text).rendering);
}

fn says(text: &str, words: &[&str]) {
    let ran = run(text);
    for word in words {
        assert!(ran.rendering.contains(word), "{word}\n{}", ran.rendering);
    }
}

#[test]
fn sound_accesses() {
    check("o[i] = tex2D::[f32](t, i as f32 + 0.5, 1.5) + tex1Dfetch::[f32](l, i);", &[]);
    check("surf2Dwrite(surf2Dread::[f32](s, i * 4, 1) + 1.0, s, i * 4, 1);", &[]);
}

#[test]
fn other_dimensions() {
    check("o[i] = tex3D::[f32](t, 0.5, 0.5, 0.5);", &["E0745@6 tex3D::[f32](t, 0.5, 0.5, 0.5)"]);
    check("o[i] = tex1D::[f32](l, 0.5);", &["E0745@6 tex1D::[f32](l, 0.5)"]);
    check("o[i] = tex1Dfetch::[f32](t, 0);", &["E0745@6 tex1Dfetch::[f32](t, 0)"]);
    check("o[i] = surf1Dread::[f32](s, 0);", &["E0745@6 surf1Dread::[f32](s, 0)"]);
    check("o[i] = tex2DLayered::[f32](t, 0.5, 0.5, 0);", &["E0745@6 tex2DLayered::[f32](t, 0.5, 0.5, 0)"]);
    let text = program("o[i] = tex3D::[f32](t, 0.5, 0.5, 0.5);", "", "");
    says(&text, &["`tex3D` is no access to an array of 4 by 2", "use `tex2D`"]);
}

#[test]
fn other_elements() {
    check("o[i] = tex2D::[i32](t, 0.5, 0.5) as f32;", &["E0745@6 tex2D::[i32](t, 0.5, 0.5)"]);
    check("o[i] = tex2D::[f32x4](t, 0.5, 0.5).x;", &["E0745@6 tex2D::[f32x4](t, 0.5, 0.5)"]);
    check("o[i] = tex2Dgather::[f32x4](t, 0.5, 0.5).x;", &["E0745@6 tex2Dgather::[f32x4](t, 0.5, 0.5)"]);
    let text = program("o[i] = tex2D::[i32](t, 0.5, 0.5) as f32;", "", "");
    says(&text, &["`tex2D` reads `i32`, and the texture has elements of `f32`", "read `f32`"]);
}

#[test]
fn outside() {
    check("o[i] = tex1Dfetch::[f32](l, i + 6);", &["E0746@6 tex1Dfetch::[f32](l, i + 6)"]);
    check("o[i] = surf2Dread::[f32](s, 16, 0);", &["E0746@6 surf2Dread::[f32](s, 16, 0)"]);
    check("surf2Dwrite(1.0f32, s, i * 4, 2);", &["E0746@6 surf2Dwrite(1.0f32, s, i * 4, 2)"]);
    check("o[i] = surf2Dread::[f32](s, i, 0);", &["E0746@6 surf2Dread::[f32](s, i, 0)"]);
    let text = program("o[i] = surf2Dread::[f32](s, 16, 0);", "", "");
    says(&text, &["byte 16 of row 0 is outside an array of 4 by 2, whose rows have 16 bytes", "cudaBoundaryModeZero"]);
}

#[test]
fn objects_that_are_none() {
    check(
        "o[i] = tex2D::[f32](7u64 as cudaTextureObject_t, 0.5, 0.5);",
        &["E0744@6 tex2D::[f32](7u64 as cudaTextureObject_t, 0.5, 0.5)"],
    );
    check(
        "o[i] = tex2D::[f32](s as u64 as cudaTextureObject_t, 0.5, 0.5);",
        &["E0744@6 tex2D::[f32](s as u64 as cudaTextureObject_t, 0.5, 0.5)"],
    );
    let late = program("o[i] = tex2D::[f32](t, 0.5, 0.5);", "", "    cudaDestroyTextureObject(t);");
    assert_eq!(found(&late), ["E0744@6 tex2D::[f32](t, 0.5, 0.5)"], "{}", run(&late).rendering);
    says(&late, &["this texture object was destroyed"]);
    let freed = program("o[i] = tex2D::[f32](t, 0.5, 0.5);", "    cudaFreeArray(a);", "");
    assert_eq!(found(&freed), ["E0728@6 tex2D::[f32](t, 0.5, 0.5)"], "{}", run(&freed).rendering);
}

#[test]
fn arrays_hold_anything_at_first() {
    let text = "kernel k(t: cudaTextureObject_t, o: *global f32) {\n    o[0] = tex1D::[f32](t, 0.5);\n}\nhost fn main() {\n    let o = device(f32, 1);\n    var a: cudaArray_t;\n    var t: cudaTextureObject_t;\n    cudaMallocArray(&a, cudaCreateChannelDesc::[f32](), 4);\n    cudaCreateTextureObject(&t, cudaResourceDesc(array: a));\n    k<<<1, 1>>>(t, o);\n    cudaDeviceSynchronize();\n}\n";
    assert_eq!(found(text), ["E0741@2 tex1D::[f32](t, 0.5)"]);
}

/// What is found where races are looked for, under every schedule, as codes and lines.
fn races(text: &str) -> Vec<String> {
    support::races(text).into_iter().map(|(code, first, second)| format!("{code} {first} {second}")).collect()
}

#[test]
fn a_grid_does_not_fetch_what_it_wrote() {
    let of = |body: &str| races(&program(body, "", ""));
    // not even a thread its own, and no barrier helps
    assert_eq!(of("x[i] = 1.0;\no[i] = tex1Dfetch::[f32](l, i);"), ["E0747 6 7"]);
    assert_eq!(of("x[i] = 1.0;\n__syncthreads();\no[i] = tex1Dfetch::[f32](l, 3 - i);"), ["E0747 6 8"]);
    assert_eq!(of("surf2Dwrite(1.0f32, s, i * 4, 0);\no[i] = surf2Dread::[f32](s, i * 4, 0);"), ["E0747 6 7"]);
    assert_eq!(of("surf2Dwrite(1.0f32, s, i * 4, 0);\no[i] = tex2D::[f32](t, i as f32 + 0.5, 0.5);"), ["E0747 6 7"]);
    assert_eq!(of("atomicAdd(&x[i], 1.0);\n__syncthreads();\no[i] = tex1Dfetch::[f32](l, i);"), ["E0747 6 8"]);
    // other elements, and writes after the fetch, are sound
    assert_eq!(of("x[i] = 1.0;\no[i] = tex1Dfetch::[f32](l, i + 4);"), Vec::<String>::new());
    assert_eq!(of("o[i] = tex1Dfetch::[f32](l, i);\nx[i] = 1.0;"), Vec::<String>::new());
    assert_eq!(of("o[i] = surf2Dread::[f32](s, i * 4, 0);\nsurf2Dwrite(1.0f32, s, i * 4, 0);"), Vec::<String>::new());
}

#[test]
fn a_child_fetches_what_was_written_before_its_launch() {
    let of = |body: &str| races(&program(body, "", ""));
    let child = "child<<<1, 4>>>(t, l, s, x, o);";
    assert_eq!(of(&format!("x[i] = 1.0;\n__syncthreads();\nif i == 0 {{ {child} }}")), Vec::<String>::new());
    // what other threads wrote must have reached the launching one
    assert_eq!(of(&format!("x[i] = 1.0;\nif i == 0 {{ {child} }}")), ["E0740 2 6"]);
    // what the parent writes after the launch races with the child's fetch
    assert_eq!(of(&format!("if i == 0 {{\n{child}\nx[0] = 1.0;\n}}")), ["E0740 2 8"]);
    let tail = "child<<<1, 4, 0, cudaStreamTailLaunch>>>(t, l, s, x, o);";
    assert_eq!(of(&format!("x[i] = 1.0;\nif i == 0 {{ {tail} }}")), Vec::<String>::new());
}

#[test]
fn surfaces_race_as_memory_does() {
    let of = |body: &str| races(&program(body, "", ""));
    assert_eq!(of("surf2Dwrite(i as f32, s, 0, 0);"), ["E0740 6 6"]);
    assert_eq!(of("surf2Dwrite(i as f32, s, i * 4, 0);"), Vec::<String>::new());
}

/// What the program never gave back.
fn leaks(after: &str) -> Vec<String> {
    let ran = run(&program("o[i] = 0.0;", "", after));
    ran.outcome.leaks.iter().map(|note| format!("{} {}", note.message, note.primary.text)).collect()
}

#[test]
fn what_is_never_given_back() {
    assert_eq!(
        leaks(""),
        [
            "an array was never given back made here; 32 bytes in all",
            "a texture object was never given back made here",
            "a texture object was never given back made here",
            "a surface object was never given back made here",
        ]
    );
    assert_eq!(
        leaks("    cudaDestroyTextureObject(l);\n    cudaDestroySurfaceObject(s);\n    cudaFreeArray(a);"),
        ["a texture object was never given back made here"]
    );
    assert_eq!(leaks("    cudaDeviceSynchronize();\n    cudaDeviceReset();"), Vec::<String>::new());
}
