/**
 * How a kernel is launched. Zero is 1 for every dimension but the first, no dynamic shared memory, the NULL stream, no cluster.
 */
typedef struct @p@_config {
    unsigned int grid_x, grid_y, grid_z;          /**< blocks */
    unsigned int block_x, block_y, block_z;       /**< threads a block */
    unsigned int shared_bytes;                    /**< dynamic shared memory of a block */
    CUstream stream;
    unsigned int cluster_x, cluster_y, cluster_z; /**< blocks a cluster */
} @p@_config;

/** So many blocks of so many threads, into the NULL stream. */
static inline @p@_config @p@_config_1d(unsigned int blocks, unsigned int threads) {
    @p@_config config = {blocks, 1, 1, threads, 1, 1, 0, NULL, 0, 0, 0};
    return config;
}

static inline unsigned int @p@_or_one_(unsigned int count) {
    return count == 0 ? 1 : count;
}

static inline CUresult @p@_launch_(CUfunction function, const @p@_config *config, void **arguments, void **extra) {
    CUlaunchAttribute cluster;
    CUlaunchConfig how;
    CUresult result;
    if (config->shared_bytes > 48u * 1024u) {
        result = cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)config->shared_bytes);
        if (result != CUDA_SUCCESS) {
            return result;
        }
    }
    how.gridDimX = config->grid_x;
    how.gridDimY = @p@_or_one_(config->grid_y);
    how.gridDimZ = @p@_or_one_(config->grid_z);
    how.blockDimX = config->block_x;
    how.blockDimY = @p@_or_one_(config->block_y);
    how.blockDimZ = @p@_or_one_(config->block_z);
    how.sharedMemBytes = config->shared_bytes;
    how.hStream = config->stream;
    how.attrs = NULL;
    how.numAttrs = 0;
    if (config->cluster_x != 0) {
        cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        cluster.value.clusterDim.x = config->cluster_x;
        cluster.value.clusterDim.y = @p@_or_one_(config->cluster_y);
        cluster.value.clusterDim.z = @p@_or_one_(config->cluster_z);
        how.attrs = &cluster;
        how.numAttrs = 1;
    }
    return cuLaunchKernelEx(&how, function, arguments, extra);
}

static inline CUresult @p@_launch_bytes_(CUfunction function, const @p@_config *config, const void *bytes, size_t size) {
    void *extra[5];
    extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    extra[1] = (void *)(uintptr_t)bytes;
    extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    extra[3] = &size;
    extra[4] = CU_LAUNCH_PARAM_END;
    return @p@_launch_(function, config, NULL, extra);
}

/** Raises a limit of the current context to at least `value`; the pool of launches and the stack before anything runs. */
static inline CUresult @p@_raise_limit(CUlimit limit, size_t value) {
    size_t present = 0;
    CUresult result = cuCtxGetLimit(&present, limit);
    if (result == CUDA_SUCCESS && present < value) {
        result = cuCtxSetLimit(limit, value);
    }
    return result;
}
