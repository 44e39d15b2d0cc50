//! What the builder makes of mistakes of its caller and of LLVM.

use nvptx_builder::{
    AddressWidth, Error, FunctionKind, GlobalSpec, ModuleBuilder, ModuleOptions, Param, Signature, Space, Target, Type,
    Visibility, WarpReduce, session,
};

fn options(arch: &str) -> ModuleOptions {
    let target = Target::new(arch).unwrap();
    ModuleOptions { target, width: AddressWidth::W64, optimise: 3, flush_denormals: false, ptx_version: 0, lines: None }
}

fn signature<'a, 'c>(name: &'a str, kind: FunctionKind, params: Vec<Param<'c>>) -> Signature<'a, 'c> {
    Signature { name, kind, result: None, result_extension: nvptx_builder::Extension::None, result_align: 0, params }
}

/// LLVM ends the process where it cannot select an instruction; here it is an error, also the second time, and other work goes on.
#[test]
fn fatal_errors_of_llvm_are_values() {
    for _ in 0..2 {
        let result: Result<String, Error> = session::run(|context| {
            let module = ModuleBuilder::new(context, "old", options("sm_75"))?;
            let word: Type<'_> = module.int(32)?.into();
            let kernel = module.declare(&signature(
                "k",
                FunctionKind::Kernel,
                vec![Param::value(word), Param::value(module.pointer(Space::Global))],
            ))?;
            let body = module.body(kernel);
            let sum = body.reduce(WarpReduce::Add, body.const_u32(u32::MAX), body.param(0)?)?;
            body.store(sum, body.param(1)?, 4, false)?;
            body.give(None)?;
            module.verify()?;
            module.optimise()?;
            module.ptx()
        });
        let error = result.unwrap_err();
        assert!(matches!(&error, Error::Llvm(report) if report.contains("annot select")), "{error}");
    }
}

#[test]
fn the_verifiers_report_is_an_error() {
    let result: Result<(), Error> = session::run(|context| {
        let module = ModuleBuilder::new(context, "unfinished", options("sm_90"))?;
        let kernel = module.declare(&signature("k", FunctionKind::Kernel, Vec::new()))?;
        // a block without an end
        module.body(kernel);
        module.verify()
    });
    assert!(matches!(result, Err(Error::Verify(_))), "{result:?}");
}

/// R35: what LLVM would abort on or misplace is refused before it sees it.
#[test]
fn kernels_have_only_parameters_that_ptx_knows() {
    let result: Result<(), Error> = session::run(|context| {
        let module = ModuleBuilder::new(context, "parameters", options("sm_90"))?;
        let float: Type<'_> = module.float().into();
        let refused = [
            Param::value(module.int(1)?),
            Param::value(module.half()),
            Param::value(module.vector(float, 3)?),
            Param::value(module.structure(&[])),
            Param::value(module.array(float, 4)?),
            Param::by_value(0, 1),
            Param::by_value(64, 32),
        ];
        for param in refused {
            let declared = module.declare(&signature("k", FunctionKind::Kernel, vec![param]));
            assert!(matches!(declared, Err(Error::Shape(_))), "{param:?}");
        }
        module.declare(&signature("k", FunctionKind::Kernel, vec![Param::by_value(64, 16)]))?;
        Ok(())
    });
    result.unwrap();
}

#[test]
fn symbols_are_taken_once() {
    let result: Result<(), Error> = session::run(|context| {
        let module = ModuleBuilder::new(context, "symbols", options("sm_90"))?;
        let ty = module.int(32)?.into();
        let global = GlobalSpec {
            name: "a",
            space: Space::Global,
            ty,
            init: None,
            align: 4,
            visibility: Visibility::Internal,
            constant: false,
        };
        module.global(&global)?;
        assert!(module.global(&global).is_err());
        assert!(module.declare(&signature("a", FunctionKind::Internal, Vec::new())).is_err());
        Ok(())
    });
    result.unwrap();
}
