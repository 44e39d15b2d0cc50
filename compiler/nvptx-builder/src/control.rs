//! Control flow.

#![allow(unsafe_code, reason = "inkwell cannot make metadata that refers to itself, as a loop's does")]

use crate::body::int;
use crate::{Block, Body, Error, Value};
use inkwell::llvm_sys::core::{
    LLVMGetMDKindIDInContext, LLVMMDNodeInContext2, LLVMMDStringInContext2, LLVMMetadataAsValue, LLVMSetMetadata,
    LLVMValueAsMetadata,
};
use inkwell::llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use inkwell::values::AsValueRef;

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

    /// Says that the loop which the branch just made closes is unrolled so many times, or fully for 0 (LLVM language reference,
    /// "llvm.loop").
    ///
    /// # Errors
    /// [`Error::Shape`] when no branch was just made.
    pub fn unroll(&self, times: u32) -> Result<(), Error> {
        let block = self.builder.get_insert_block();
        let Some(branch) = block.and_then(Block::get_terminator) else {
            return crate::error::shape("unrolling of no loop");
        };
        let context = self.module.context.raw();
        let name = if times == 0 { "llvm.loop.unroll.full" } else { "llvm.loop.unroll.count" };
        let count = self.const_u32(times);
        // SAFETY: everything is of one context; the temporary node is replaced, which disposes of it, by the node that refers to itself.
        unsafe {
            let mut hint = vec![LLVMMDStringInContext2(context, name.as_ptr().cast(), name.len())];
            if times > 0 {
                hint.push(LLVMValueAsMetadata(count.as_value_ref()));
            }
            let hint = LLVMMDNodeInContext2(context, hint.as_mut_ptr(), hint.len());
            let own = LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0);
            let mut parts = [own, hint];
            let node = LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len());
            LLVMMetadataReplaceAllUsesWith(own, node);
            let kind = LLVMGetMDKindIDInContext(context, c"llvm.loop".as_ptr(), 9);
            LLVMSetMetadata(branch.as_value_ref(), kind, LLVMMetadataAsValue(context, node));
        }
        Ok(())
    }
}
