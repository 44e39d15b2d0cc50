#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef CDP_ALIGNAS
#ifdef __cplusplus
#define CDP_ALIGNAS(bytes) alignas(bytes)
#define CDP_ALIGNOF(type) alignof(type)
#define CDP_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define CDP_ALIGNAS(bytes) _Alignas(bytes)
#define CDP_ALIGNOF(type) _Alignof(type)
#define CDP_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#endif

CDP_STATIC_ASSERT(sizeof(CUdeviceptr) == 8 && sizeof(void *) == 8, "these bindings are for 64-bit hosts");
