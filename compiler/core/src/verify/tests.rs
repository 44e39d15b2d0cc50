use super::{ModuleInfo, verify};
use crate::ir::{FunctionId, Module, parse};
use crate::lower::testing::module;

/// A function of every kind and locals of many types, around one statement or terminator.
fn around(statement: &str, terminator: &str) -> Module {
    let text = format!(
        "struct Row {{ begin: i32, len: i32 }}
         enum Color: i8 {{ red = 0 }}
         var $g#0: i32 in global
         var $c#1: [i32; 4] in constant
         var $s#2: [f32] in shared
         kernel &k#0 params 1 -> void {{ %x#0: *global f32 bb0: return }}
         fn &f#1 params 2 -> i32 {{ %a#0: i32 %b#1: f32 bb0: return %a#0 }}
         host &h#2 params 0 -> void {{ bb0: return }}
         kernel &subject#3 params 1 -> void {{
           %p#0: *global f32 %i#1: i32 %u#2: u32 %l#3: i64 %f#4: f32 %d#5: f64 %b#6: bool %e#7: cudaError_t
           %r#8: Row %a#9: [i32; 4] %v#10: f32x4 %g#11: *f32 %k#12: *constant const i32 %st#13: cudaStream_t
           %c#14: Color %w#15: u64 %q#16: *local cudaStream_t %h#17: f16 %vp#18: *void %o#19: *global const f32
           %ip#20: *i32 %t#21: string %pp#22: *local *global f32 %n#23: dim3
         bb0:
           {statement}
           {terminator}
         bb1:
           return
         }}"
    );
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn errors(module: &Module) -> Vec<String> {
    match verify(module) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(|error| error.message.clone()).collect(),
    }
}

#[test]
fn right_statements_are_taken() {
    for statement in [
        "%i#1 = use i32 5",
        "%i#1 = neg %i#1",
        "%b#6 = not %b#6",
        "%v#10 = add %v#10, %v#10",
        "%i#1 = shl %i#1, %w#15",
        "%b#6 = lt %c#14, %c#14",
        "%b#6 = eq %p#0, *global f32 zero",
        "%l#3 = cast int %i#1",
        "%f#4 = cast int_to_float %l#3",
        "%b#6 = cast to_bool %d#5",
        "%g#11 = cast to_generic %p#0",
        "%w#15 = cast pointer_to_int %p#0",
        "%vp#18 = cast pointer %g#11",
        "%i#1 = select %b#6, %i#1, i32 0",
        "%q#16 = address %st#13",
        "%ip#20 = use %ip#20",
        "%k#12 = address $c#1[%i#1]",
        "%p#0 = offset %p#0, %l#3",
        "%l#3 = distance %p#0, %p#0",
        "%r#8 = aggregate (%i#1, i32 2)",
        "%i#1 = extract %r#8, 1",
        "%f#4 = extract %v#10, 3",
        "%u#2 = register threadIdx.x",
        "%w#15 = register clock64",
        "%f#4 = intrinsic sin(%f#4)",
        "%v#10 = intrinsic fma(%v#10, %v#10, %v#10)",
        "%h#17 = intrinsic max(%h#17, %h#17)",
        "%i#1 = intrinsic __popc(%w#15)",
        "%d#5 = intrinsic ldexp(%d#5, %i#1)",
        "%f#4 = load $s#2[%w#15]",
        "%f#4 = load noncoherent *(%o#19)",
        "%i#1 = load $c#1[i32 2]",
        "store %r#8.1, %i#1",
        "store volatile *(%p#0), f32 1.5",
        "%i#1 = call &f#1(%i#1, %f#4)",
        "call &f#1(i32 1, f32 2.0)",
        "atomic atomicAdd device %p#0(%f#4)",
        "%i#1 = atomic atomicCAS block %ip#20(i32 1, i32 2)",
        "barrier __syncthreads()",
        "%i#1 = barrier __syncthreads_count(%b#6)",
        "barrier __syncwarp(%u#2)",
        "fence system",
        "%b#6 = warp __all_sync(%u#2, %b#6)",
        "%f#4 = warp __shfl_sync(%u#2, %f#4, %i#1, i32 32)",
        "%e#7 = launch &k#0 <<<(u32 1, u32 1, u32 1), (%u#2, u32 1, u32 1), u32 0, %st#13>>> (%p#0)",
        "%e#7 = runtime cudaStreamCreateWithFlags(%q#16, u32 1)",
        "%e#7 = runtime cudaMalloc(%pp#22, %w#15)",
        "%vp#18 = runtime cudaGetParameterBufferV2(&k#0, %n#23, %n#23, u32 0)",
        "%t#21 = runtime cudaGetErrorName(%e#7)",
        "printf \"%d %s\"(%i#1, %t#21)",
        "assert %b#6, \"b\", \"\"()",
    ] {
        assert_eq!(errors(&around(statement, "return")), [] as [&str; 0], "{statement}");
    }
    assert!(errors(&around("", "switch %c#14 {0: bb1, 255: bb1, else: bb1}")).is_empty());
}

#[test]
fn wrong_statements_are_told() {
    for (statement, expected) in [
        ("%i#1 = use f32 5.0", "the value is of type f32 instead of i32"),
        ("%99 = use i32 1", "there is no local 99"),
        ("%i#1 = use %99", "there is no local 99"),
        ("%i#1 = use i32 0x100000000", "constant 0x100000000 does not fit i32"),
        ("%r#8 = use Row {1}", "constant of type Row has 1 elements"),
        ("%r#8 = use Row 0x1", "a constant of type Row is not a bit pattern"),
        ("%t#21 = use string zero", "a string constant cannot be zero"),
        ("%i#1 = not %f#4", "the operand is of type f32 instead of i32"),
        ("%f#4 = not %f#4", "Not does not work on f32"),
        ("%b#6 = neg %b#6", "Neg does not work on bool"),
        ("%i#1 = add %i#1, %l#3", "the right operand is of type i64 instead of i32"),
        ("%b#6 = add %b#6, %b#6", "`+` does not work on bool"),
        ("%i#1 = lt %i#1, %i#1", "the result is of type bool instead of i32"),
        ("%f#4 = shl %f#4, %i#1", "f32 is shifted by i32"),
        ("%b#6 = lt %v#10, %v#10", "`<` does not work on f32x4"),
        ("%p#0 = cast from_generic %p#0", "*global f32 cannot become *global f32 by FromGeneric"),
        ("%i#1 = cast int %f#4", "f32 cannot become i32 by Int"),
        ("%i#1 = select %i#1, %i#1, %i#1", "the condition is of type i32 instead of bool"),
        ("%g#11 = address %f#4", "the address of f32 in Local memory is of type *f32"),
        ("%i#1 = load %r#8.7", "a place steps into a value of type Row"),
        ("%i#1 = load %r#8[i32 0]", "a place steps into a value of type Row"),
        ("%i#1 = load %a#9[%f#4]", "an index is of type f32"),
        ("%i#1 = load *(%i#1)", "a value of type i32 is dereferenced"),
        ("%i#1 = load $g#9", "a place names a local or variable that does not exist"),
        ("%f#4 = load noncoherent $s#2[i32 0]", "only global memory is read through the read-only cache"),
        ("store noncoherent *(%p#0), %f#4", "a write cannot go through the read-only cache"),
        ("store *(%o#19), %f#4", "read-only memory is written"),
        ("store $c#1[i32 0], %i#1", "read-only memory is written"),
        ("%vp#18 = offset %vp#18, %i#1", "*void is offset"),
        ("%i#1 = distance %p#0, %p#0", "the distance is of type i64 instead of i32"),
        ("%r#8 = aggregate (%i#1)", "Row is made of 1 elements"),
        ("%i#1 = extract %a#9, 0", "[i32; 4] has no element 0"),
        ("%i#1 = register threadIdx.x", "threadIdx.x is of type u32 instead of i32"),
        ("%f#4 = intrinsic sin(%f#4, %f#4)", "sin has 2 arguments"),
        ("%i#1 = intrinsic sin(%i#1)", "sin does not work on i32"),
        ("%p#0 = use &k#0", "a kernel's address is used as a value"),
        ("call &f#1(i32 1)", "f takes 2 arguments, not 1"),
        ("call &k#0(%p#0)", "k is called, though it is a kernel or test"),
        ("call &f#9()", "there is no function 9"),
        (
            "launch &f#1 <<<(u32 1, u32 1, u32 1), (u32 1, u32 1, u32 1), u32 0, %st#13>>> (%i#1, %f#4)",
            "f is launched, though it is no kernel",
        ),
        (
            "launch &k#0 <<<(i32 1, u32 1, u32 1), (u32 1, u32 1, u32 1), u32 0, %st#13>>> (%p#0)",
            "a dimension is of type i32 instead of u32",
        ),
        ("launch &k#0 <<<(u32 1, u32 1, u32 1), (u32 1, u32 1, u32 1), u32 0, %st#13>>> ()", "k takes 1 arguments, not 0"),
        ("atomic atomicMin device %p#0(%f#4)", "atomicMin does not work on f32"),
        ("atomic atomicAdd device %o#19(%f#4)", "atomicAdd works on memory that it cannot change"),
        ("atomic atomicCAS device %ip#20(i32 1)", "atomicCAS takes 2 operands"),
        ("barrier __syncthreads_or()", "__syncthreads_or needs an operand"),
        ("%i#1 = barrier __syncthreads()", "__syncthreads gives nothing"),
        ("warp __all_sync(%b#6)", "__all_sync does not take (bool)"),
        ("runtime cudaGetParameterBufferV2(%vp#18, %n#23, %n#23, u32 0)", "cudaGetParameterBufferV2 needs a kernel's address"),
        ("runtime cudaStreamDestroy(%i#1)", "cudaStreamDestroy is given i32 for Value(TypeId(16))"),
        ("printf \"%f\"(%f#4)", "f32 is printed without promotion"),
        ("runtime cudaDeviceReset()", "cudaDeviceReset stands in device code"),
        ("%p#0 = allocate f32, %w#15", "the allocation of a buffer stands in device code"),
        ("call &h#2()", "device code calls host function h"),
    ] {
        let found = errors(&around(statement, "return"));
        assert!(found.iter().any(|message| message == expected), "{statement}: {found:?}");
    }
    for (terminator, expected) in [
        ("goto bb7", "there is no block 7"),
        ("goto bb0", "control goes back to the entry block"),
        ("branch %i#1, bb1, bb1", "the condition is of type i32 instead of bool"),
        ("return %i#1", "the returned value is of type i32 instead of void"),
        ("switch %f#4 {else: bb1}", "a switch is over f32"),
        ("switch %c#14 {256: bb1, else: bb1}", "case 0x100 does not fit Color"),
        ("switch %i#1 {1: bb1, 1: bb1, else: bb1}", "case 0x1 is there twice"),
    ] {
        let found = errors(&around("", terminator));
        assert!(found.iter().any(|message| message == expected), "{terminator}: {found:?}");
    }
}

#[test]
fn errors_say_where() {
    let module = around("%i#1 = use i32 1 %i#1 = use f32 1.0", "return");
    let errors = verify(&module).unwrap_err();
    assert_eq!(errors[0].to_string(), "function 3, block 0, statement 1: the value is of type f32 instead of i32");
}

#[test]
fn wrong_modules_are_told() {
    for (text, expected) in [
        ("var $a#0: i32 in shared = i32 1", "shared variable a has a first value"),
        ("var $a#0: [i32] in global", "a has no size but is not shared"),
        ("var $a#0: i32 in local", "a is in no memory that variables can be in"),
        ("var $a#0: i32 in global align 3", "a asks for alignment 3"),
        ("var $a#0: i32 in global = f32 1.0", "a has a first value of another type"),
        ("var $a#0: void in global", "a variable cannot be of type void"),
        ("var $a#0: i32 in global var $b#1 symbol \"a\": i32 in global", "symbol \"a\" is used twice"),
        ("var $a#0 symbol \"9a\": i32 in global", "symbol \"9a\" is not an identifier of PTX"),
        ("kernel &k#0 params 0 -> i32 { bb0: return i32 1 }", "kernel k returns a value"),
        ("kernel &k#0 params 1 -> void { %a#0: string bb0: return }", "kernel k has a parameter of type string"),
        ("kernel &k#0 params 2 -> void { %a#0: i32 bb0: return }", "k has fewer locals than parameters"),
        ("host &h#0 params 0 -> void { }", "h has no body"),
        ("test \"t\" &t#0 params 1 -> void { %a#0: i32 bb0: return }", "test t has parameters or a result"),
        ("fn &f#0 params 0 -> void { %a#0: [i32] bb0: return }", "a local cannot be of type [i32]"),
        ("fn &f#0 params 0 -> void launch_bounds 32, 0 { bb0: return }", "f has launch bounds that make no sense"),
        ("struct A { a: A } fn &f#0 params 0 -> A { }", "a structure contains itself"),
        ("struct A { v: [void; 2] }", "field v of structure A has no size"),
        ("struct A align 5 { v: i32 }", "structure A asks for alignment 5"),
        ("fn &f#0 params 0 -> f32x9 { }", "a vector has 9 lanes"),
        ("fn &f#0 params 0 -> [[[i64; 1000000]; 1000000]; 1000000] { }", "a type is too large or too deep"),
        (
            "host &h#0 params 0 -> void { bb0: call &f#1() return } fn &f#1 params 0 -> void { bb0: barrier __syncthreads() return }",
            "__syncthreads stands in host code",
        ),
    ] {
        let found = errors(&parse(text).unwrap_or_else(|error| panic!("{error}: {text}")));
        assert!(found.iter().any(|message| message == expected), "{text}: {found:?}");
    }
}

#[test]
fn the_call_graph_is_known() {
    let module = module(
        "kernel child() { }
         fn even(n: i32) -> bool { return if n == 0 { true } else { odd(n - 1) }; }
         fn odd(n: i32) -> bool { return if n == 0 { false } else { even(n - 1) }; }
         fn launcher() { child<<<1, 1>>>(); }
         fn twice() { launcher(); launcher(); }
         kernel parent(n: i32) { if even(n) { twice(); } }
         fn shared_by_both(x: f32) -> f32 { return x + 1.0; }
         kernel flat(x: *global f32) { x[0] = shared_by_both(x[0]); }
         fn nobody() { }
         host fn main() { printf(\"%f\\n\", shared_by_both(1.0)); child<<<1, 1>>>(); }",
    );
    let info = verify(&module).unwrap();
    assert_eq!(info, ModuleInfo::new(&module));
    let of = |name: &str| {
        let id = module.functions().find(|(_, function)| function.name == name).unwrap().0;
        (id, info.function(id).unwrap())
    };
    assert!(of("even").1.recursive && of("odd").1.recursive);
    assert!(!of("parent").1.recursive && !of("twice").1.recursive);
    assert!(of("parent").1.needs_device_runtime && of("twice").1.needs_device_runtime && !of("flat").1.needs_device_runtime);
    assert!(of("shared_by_both").1.on_device && of("shared_by_both").1.on_host);
    assert!(!of("nobody").1.on_device && !of("nobody").1.on_host);
    assert!(!of("main").1.on_device && of("main").1.on_host);
    assert_eq!(of("twice").1.callees, [of("launcher").0]);
    assert_eq!(of("launcher").1.launches, [of("child").0]);
    assert!(info.is_launched_from_device(of("child").0) && !info.is_launched_from_device(of("parent").0));
    assert_eq!(info.launches_on_device.len(), 1);
    assert_eq!(info.launches_on_device[0].function, of("launcher").0);
    assert!(info.needs_device_runtime());
    assert!(info.function(FunctionId(99)).is_none());
}
