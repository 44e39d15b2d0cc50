// Adaptive quadrature with children of two threads. Naive, flat with a stack in each thread, packed and merged by hand, and merged by cdpc.
#include "harness.h"
struct Res{ double sum; int n; int err; };
__device__ double f(double x){ return sin(1.0/(x+0.002)); }
__device__ double simp(double a,double b){ return (b-a)/6.0*(f(a)+4.0*f((a+b)*0.5)+f(b)); }
__global__ void refine(double a,double b,double tol,int depth,Res*r){ double h=(b-a)*0.5,fr=a+h*threadIdx.x,to=fr+h; double c=simp(fr,to),m=(fr+to)*0.5,fi=simp(fr,m)+simp(m,to); if(fabs(fi-c)<15*tol||depth==0){ atomicAdd(&r->sum,fi+(fi-c)/15.0); atomicAdd(&r->n,1);} else { refine<<<1,2,0,cudaStreamFireAndForget>>>(fr,to,tol*0.5,depth-1,r); int e=cudaGetLastError(); if(e) atomicMax(&r->err,e);} }
struct R{ double a,b,tol; int depth; };
#define CAP (1<<22)
__device__ R rec[2][CAP]; __device__ unsigned cnt[2], ex[2];
__global__ void refine_m(int g,unsigned m,Res*r){ unsigned i=blockIdx.x*blockDim.x+threadIdx.x; unsigned k=i>>1; int t=i&1; bool push=false; R nx; if(k<m){ R q=rec[g&1][k]; double h=(q.b-q.a)*0.5,fr=q.a+h*t,to=fr+h; double c=simp(fr,to),mm=(fr+to)*0.5,fi=simp(fr,mm)+simp(mm,to); if(fabs(fi-c)<15*q.tol||q.depth==0){ atomicAdd(&r->sum,fi+(fi-c)/15.0); atomicAdd(&r->n,1);} else { push=true; nx=R{fr,to,q.tol*0.5,q.depth-1}; } }
 if(push){ unsigned s=atomicAdd(&cnt[(g+1)&1],1); rec[(g+1)&1][s]=nx; }
 __threadfence(); __syncthreads(); if(threadIdx.x==0 && atomicAdd(&ex[g&1],1)==gridDim.x-1){ ex[g&1]=0; unsigned c=atomicExch(&cnt[(g+1)&1],0); __threadfence(); if(c){ refine_m<<<(c*2+127)/128,128,0,cudaStreamFireAndForget>>>(g+1,c,r); int e=cudaGetLastError(); if(e) atomicMax(&r->err,e);} } }
__global__ void seed(double a,double b,double tol,int depth){ rec[0][0]=R{a,b,tol,depth}; }
// flat: one thread per top interval, explicit stack
__global__ void flat(double a,double b,double tol,int depth,int n,Res*r){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i>=n) return; double st[64][2]; int sd[64]; double stt[64]; int sp=0; double h=(b-a)/n; int dd=0; for(int k=n;k>1;k>>=1) dd++; st[0][0]=a+h*i; st[0][1]=a+h*(i+1); stt[0]=tol/n; sd[0]=depth-dd+1; sp=1; double s=0; int c=0; while(sp){ sp--; double x=st[sp][0],y=st[sp][1],t=stt[sp]; int d=sd[sp]; double co=simp(x,y),m=(x+y)*0.5,fi=simp(x,m)+simp(m,y); if(fabs(fi-co)<15*t||d==0){ s+=fi+(fi-co)/15.0; c++; } else { st[sp][0]=x; st[sp][1]=m; stt[sp]=t*0.5; sd[sp]=d-1; sp++; st[sp][0]=m; st[sp][1]=y; stt[sp]=t*0.5; sd[sp]=d-1; sp++; } } atomicAdd(&r->sum,s); atomicAdd(&r->n,c); }

int main(int, char** argv) {
    pending_launches(1 << 19);
    Cubin cubin(argv[1], "quadrature");
    Res* r;
    cudaMalloc(&r, sizeof(Res));
    for (double tol : {1e-10, 1e-13, 1e-14, 1e-16}) {
        char name[64];
        std::snprintf(name, sizeof name, "quadrature, tolerance %g", tol);
        auto clear = [&] { cudaMemset(r, 0, sizeof(Res)); };
        auto run = [&](const char* variant, int times, auto work) {
            if (!wanted(variant)) return;
            float ms = median(times, clear, work);
            Res h;
            cudaMemcpy(&h, r, sizeof h, cudaMemcpyDeviceToHost);
            char more[128];
            std::snprintf(more, sizeof more, "sum %.12f, %d intervals, error %d", h.sum, h.n, h.err);
            line(name, variant, ms, h.err == 0 && std::fabs(h.sum - 0.50575246638) < (tol > 1e-12 ? 1e-6 : 1e-9), more);
        };
        run("cdpc", 7, [&] { cubin.launch("refine", 1, 2, 0.0, 1.0, tol, 40, r); });
        // 89 million intervals at the last tolerance: there the others lose launches, run into the end of a queue or take minutes
        if (tol < 1e-15) continue;
        run("flat 1024", 7, [&] { flat<<<8, 128>>>(0, 1, tol, 40, 1024, r); });
        run("flat 65536", 7, [&] { flat<<<512, 128>>>(0, 1, tol, 40, 65536, r); });
        run("by hand", 7, [&] { seed<<<1, 1>>>(0, 1, tol, 40); refine_m<<<1, 128>>>(0, 1, r); });
        run("naive", 3, [&] { refine<<<1, 2>>>(0, 1, tol, 40, r); });
    }
}
