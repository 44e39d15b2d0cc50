//! Control flow.

use crate::body::int;
use crate::{Block, Body, Error, Value};

impl<'c> Body<'_, 'c> {
    /// Leaves the first block, after the variables and the parameters' values are there, for the block of the program's first
    /// instruction.
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn enter(&self, first: Block<'c>) -> Result<(), Error> {
        self.jump(first)
    }

    /// Goes to a block.
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn jump(&self, to: Block<'c>) -> Result<(), Error> {
        self.builder.build_unconditional_branch(to)?;
        Ok(())
    }

    /// Goes to one of two blocks.
    ///
    /// # Errors
    /// [`Error::Shape`] for no condition.
    pub fn branch(&self, condition: Value<'c>, then: Block<'c>, otherwise: Block<'c>) -> Result<(), Error> {
        self.builder.build_conditional_branch(int(condition)?, then, otherwise)?;
        Ok(())
    }

    /// Goes where the value says. Each case's value stands once.
    ///
    /// # Errors
    /// [`Error::Shape`] for no integer.
    pub fn switch(&self, value: Value<'c>, cases: &[(u64, Block<'c>)], default: Block<'c>) -> Result<(), Error> {
        let value = int(value)?;
        let cases: Vec<_> = cases.iter().map(|(case, block)| (value.get_type().const_int(*case, false), *block)).collect();
        self.builder.build_switch(value, default, &cases)?;
        Ok(())
    }

    /// Ends the function.
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn give(&self, value: Option<Value<'c>>) -> Result<(), Error> {
        match &value {
            Some(value) => self.builder.build_return(Some(value))?,
            None => self.builder.build_return(None)?,
        };
        Ok(())
    }

    /// Ends the thread's grid with an error that the host sees. Control does not come back.
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn trap(&self) -> Result<(), Error> {
        self.intrinsic("llvm.trap", &[], &[])?;
        self.builder.build_unreachable()?;
        Ok(())
    }
}
