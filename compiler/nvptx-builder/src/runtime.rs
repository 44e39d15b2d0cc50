//! What the driver and the device runtime define: calls are declared as nvcc declares them (CUDA programming guide 4.18.6, and
//! "Formatted Output", "Assertion", "Dynamic Global Memory Allocation").

use crate::error::shape;
use crate::{Body, Error, Function, FunctionKind, ModuleBuilder, Param, Signature, Space, Type, Value};
use inkwell::attributes::AttributeLoc;
use inkwell::values::BasicValue;

/// `dim3` is three integers of 32 bits...
pub const DIM3_LANES: u32 = 3;
/// ...aligned to 4 bytes, and passed by value: `.param .align 4 .b8 [12]`.
pub const DIM3_ALIGN: u32 = 4;

impl<'c> ModuleBuilder<'c> {
    /// `dim3` as an argument. An array, so that LLVM stores its elements straight into parameter space.
    #[must_use]
    pub fn dim3(&self) -> Type<'c> {
        self.context.i32_type().array_type(DIM3_LANES).into()
    }

    /// A function that is defined elsewhere, declared once.
    ///
    /// # Errors
    /// [`Error::Shape`] when the name is a variable's.
    pub fn external(&self, name: &str, result: Option<Type<'c>>, params: &[Type<'c>]) -> Result<Function<'c>, Error> {
        if let Some(known) = self.module.get_function(name) {
            return Ok(known);
        }
        let function = self.declare(&Signature {
            name,
            kind: FunctionKind::Extern,
            result,
            result_extension: crate::Extension::None,
            result_align: 0,
            params: params.iter().map(|ty| Param::value(*ty)).collect(),
        })?;
        // LLVM knows `malloc`, and would take what it gives for undefined
        self.attribute(function, AttributeLoc::Function, "nobuiltin", 0);
        Ok(function)
    }

    /// The symbols with a prefix that the finished module still calls or takes the address of, in order of declaration.
    #[must_use]
    pub fn used_externals(&self, prefix: &str) -> Vec<String> {
        self.module
            .get_functions()
            .filter(|f| f.count_basic_blocks() == 0 && f.as_global_value().as_pointer_value().get_first_use().is_some())
            .map(|f| f.get_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with(prefix))
            .collect()
    }
}

impl<'c> Body<'_, 'c> {
    /// `vprintf(format, arguments)`: both generic addresses; gives how many arguments were printed.
    ///
    /// # Errors
    /// [`Error::Shape`] for no addresses.
    pub fn vprintf(&self, format: Value<'c>, arguments: Value<'c>) -> Result<Value<'c>, Error> {
        let address: Type<'c> = self.module.pointer(Space::Generic).into();
        let vprintf = self.module.external("vprintf", Some(self.module.int(32)?.into()), &[address, address])?;
        self.call(vprintf, &[format, arguments])?.map_or_else(|| shape("vprintf without a result"), Ok)
    }

    /// Reports a failed assertion, as `<cassert>` does, and ends the grid. Control does not come back.
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn assert_fail(&self, message: &str, file: &str, line: u32, function: &str) -> Result<(), Error> {
        let module = self.module;
        let address: Type<'c> = module.pointer(Space::Generic).into();
        let (word, size) = (module.int(32)?, module.size_type());
        let fail = module.external("__assertfail", None, &[address, address, word.into(), address, size.into()])?;
        module.set_no_return(fail);
        let text = |text: &str| module.string(text.as_bytes());
        let args =
            [text(message), text(file), module.const_int(word, u64::from(line)), text(function), module.const_int(size, 1)];
        self.call(fail, &args)?;
        self.trap()
    }
}
