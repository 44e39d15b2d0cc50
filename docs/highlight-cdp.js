// Colours for `cdp` blocks in the web pages of this book; book.toml names it. mdBook's own highlighter does not know the language.
(() => {
    const words = {
        keyword:
            "alignof as break case const continue default else enum extern fn for host if import in kernel let loop offsetof return sizeof step struct " +
            "switch test var void volatile while global shared local constant",
        literal: "true false null",
        type:
            "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 dim3 cudaError_t cudaStream_t cudaEvent_t cudaTextureObject_t cudaSurfaceObject_t " +
            "cudaArray_t",
        built_in: "threadIdx blockIdx blockDim gridDim printf assert device",
    };
    hljs.registerLanguage("cdp", (hljs) => ({
        name: "cdp",
        keywords: words,
        contains: [
            hljs.C_LINE_COMMENT_MODE,
            hljs.COMMENT("/\\*", "\\*/", { contains: ["self"] }),
            hljs.QUOTE_STRING_MODE,
            { className: "string", begin: /'(\\.[^']*|[^'\\])'/ },
            { className: "meta", begin: /@[A-Za-z_]\w*/ },
            { className: "built_in", begin: /\b(__\w+|atomic\w+|cuda[A-Z]\w*)/ },
            { className: "number", begin: /\b(0x[\da-f_]+|0o[0-7_]+|0b[01_]+|\d[\d_]*(\.\d+)?(e[-+]?\d+)?)([uif](8|16|32|64)|bf16)?\b/i },
            {
                className: "function",
                beginKeywords: "kernel fn",
                end: /[(\[{;]/,
                excludeEnd: true,
                contains: [{ className: "title", begin: /[A-Za-z_]\w*/ }],
            },
        ],
    }));
    document.querySelectorAll("code.language-cdp").forEach((block) => hljs.highlightBlock(block));
})();
