// The acceleration of each of n bodies by all of them, through tiles of 256 bodies; w is the mass.
#define BLOCK 256

extern "C" __global__ void nbody(int n, const float4 *__restrict__ bodies, float4 *__restrict__ result) {
    __shared__ float4 tile[BLOCK];
    int t = (int)threadIdx.x, i = (int)blockIdx.x * BLOCK + t;
    float4 me = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (int start = 0; start < n; start += BLOCK) {
        tile[t] = bodies[start + t];
        __syncthreads();
        #pragma unroll 4
        for (int k = 0; k < BLOCK; k++) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float square = dx * dx + dy * dy + dz * dz + 0.01f;
            float inverse = rsqrtf(square);
            float force = other.w * inverse * inverse * inverse;
            ax += force * dx;
            ay += force * dy;
            az += force * dz;
        }
        __syncthreads();
    }
    result[i] = make_float4(ax, ay, az, 0);
}
