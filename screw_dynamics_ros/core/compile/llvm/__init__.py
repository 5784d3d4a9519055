"""Programs as machine code, by LLVM IR and llvmlite."""
