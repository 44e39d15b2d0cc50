/* The part of the CUDA driver that examples/cpp uses, over the host's memory; `scale_rows` is done here. WRONG values come out wrong. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#ifndef WRONG
#define WRONG 0
#endif

static uint32_t launched;

CUresult cuInit(unsigned int flags) {
#ifdef NO_GPU
    return flags == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_INVALID_VALUE;
#else
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
#endif
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = error == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "another error";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    (void)device;
    *context = (CUcontext)&launched;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    (void)device;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
    return context == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
    (void)limit;
    *value = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    (void)limit, (void)value;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t size) {
    *address = (CUdeviceptr)(uintptr_t)malloc(size);
    return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address) {
    free((void *)(uintptr_t)address);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size) {
    memcpy((void *)(uintptr_t)to, from, size);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size) {
    memcpy(to, (const void *)(uintptr_t)from, size);
    return CUDA_SUCCESS;
}

CUresult cuModuleLoad(CUmodule *module, const char *path) {
    *module = (CUmodule)(uintptr_t)path;
    return strcmp(path, "rows.cubin") == 0 ? CUDA_SUCCESS : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    *module = (CUmodule)(uintptr_t)image;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
    (void)module;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    (void)module;
    *function = (CUfunction)(uintptr_t)name;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *size, CUmodule module, const char *name) {
    (void)size, (void)module;
    *address = (CUdeviceptr)(uintptr_t)&launched;
    return strcmp(name, "launched") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    (void)function, (void)attribute, (void)value;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra) {
    const rows_Row *table = (const rows_Row *)(uintptr_t)*(CUdeviceptr *)arguments[0];
    const uint32_t count = *(uint32_t *)arguments[1];
    const rows_Scaling how = *(rows_Scaling *)arguments[2];
    double *values = (double *)(uintptr_t)*(CUdeviceptr *)arguments[3];
    const float offsets[3] = {how.offset.x, how.offset.y, how.offset.z};
    if (extra != NULL || strcmp((const char *)function, "scale_rows") != 0 || config->gridDimX * config->blockDimX < count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (uint32_t r = 0; r < count; ++r) {
        launched += table[r].count >= how.long_;
        for (uint32_t i = 0; i < table[r].count; ++i) {
            double *value = &values[table[r].first + i];
            *value = *value * how.factor + (double)offsets[i % 3];
        }
    }
    for (int i = 0; i < WRONG; ++i) {
        values[i] += 1.0;
    }
    return CUDA_SUCCESS;
}
