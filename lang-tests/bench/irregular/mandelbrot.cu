// Mariani-Silver Mandelbrot. Naive, flat (every point), one launch per kernel and generation by hand, and merged by cdpc.
#include "harness.h"
#define MD 512
#define MINS 32
__device__ int dwell_at(int w,int h,int x,int y){ float cr=-1.5f+2.f*x/w, ci=-1.f+2.f*y/h, zr=cr, zi=ci; int d=0; while(d<MD && zr*zr+zi*zi<4.f){ float t=zr*zr-zi*zi+cr; zi=2.f*zr*zi+ci; zr=t; d++; } return d; }
__device__ int same(int a,int b){ return a==b?a:-1; }
__device__ __forceinline__ void fill_body(int*dw,int w,int x0,int y0,int d,int v,int bx,int by){ int x=bx*16+threadIdx.x,y=by*16+threadIdx.y; if(x<d&&y<d) dw[(size_t)(y0+y)*w+x0+x]=v; }
__device__ __forceinline__ void pp_body(int*dw,int w,int h,int x0,int y0,int d,int bx,int by){ int x=bx*16+threadIdx.x,y=by*16+threadIdx.y; if(x<d&&y<d) dw[(size_t)(y0+y)*w+x0+x]=dwell_at(w,h,x0+x,y0+y); }
__device__ __forceinline__ int border(int w,int h,int bx,int by,int d){ __shared__ int c[64]; int t=threadIdx.x; int v=dwell_at(w,h,bx,by); for(int i=t;i<d;i+=64){ v=same(v,dwell_at(w,h,bx+i,by)); v=same(v,dwell_at(w,h,bx+i,by+d-1)); v=same(v,dwell_at(w,h,bx,by+i)); v=same(v,dwell_at(w,h,bx+d-1,by+i)); } c[t]=v; __syncthreads(); for(int s=32;s;s>>=1){ if(t<s) c[t]=same(c[t],c[t+s]); __syncthreads(); } return c[0]; }
__global__ void fill(int*dw,int w,int x0,int y0,int d,int v){ fill_body(dw,w,x0,y0,d,v,blockIdx.x,blockIdx.y); }
__global__ void pp(int*dw,int w,int h,int x0,int y0,int d){ pp_body(dw,w,h,x0,y0,d,blockIdx.x,blockIdx.y); }
__global__ void squares(int*dw,int w,int h,int x0,int y0,int d,int depth,int*err,int split){ int bx=x0+blockIdx.x*d,by=y0+blockIdx.y*d; int v=border(w,h,bx,by,d); if(threadIdx.x) return; dim3 th(16,16),ce((d+15)/16,(d+15)/16);
 if(v>=0) fill<<<ce,th,0,cudaStreamFireAndForget>>>(dw,w,bx,by,d,v); else if(depth>0&&d/split>=MINS) squares<<<dim3(split,split),64,0,cudaStreamFireAndForget>>>(dw,w,h,bx,by,d/split,depth-1,err,split); else pp<<<ce,th,0,cudaStreamFireAndForget>>>(dw,w,h,bx,by,d); int e=cudaGetLastError(); if(e) atomicMax(err,e); }
// merged
struct R{int x0,y0,d,v,pre,gx;}; 
#define CAP (1<<19)
struct Q{ unsigned long long pack; R r[CAP]; };
__device__ Q qf[12],qp[12],qs[12]; __device__ unsigned ex[12];
__device__ __forceinline__ void push(Q*q,int x0,int y0,int d,int v,unsigned nb,int gx){ unsigned long long o=atomicAdd(&q->pack,(1ull<<32)|nb); q->r[o>>32]=R{x0,y0,d,v,(int)((unsigned)o+nb),gx}; }
__device__ __forceinline__ R find(const Q*q,int m,int bid,int*loc){ int lo=0,hi=m-1; while(lo<hi){ int mid=(lo+hi)>>1; if(q->r[mid].pre>bid) hi=mid; else lo=mid+1; } R a=q->r[lo]; *loc=bid-(lo?q->r[lo-1].pre:0); return a; }
__global__ void fill_m(int*dw,int w,int g,int m){ __shared__ R s; __shared__ int l; if(threadIdx.x+threadIdx.y==0){ int k; s=find(&qf[g],m,blockIdx.x,&k); l=k; } __syncthreads(); R a=s; fill_body(dw,w,a.x0,a.y0,a.d,a.v,l%a.gx,l/a.gx); }
__global__ void pp_m(int*dw,int w,int h,int g,int m){ __shared__ R s; __shared__ int l; if(threadIdx.x+threadIdx.y==0){ int k; s=find(&qp[g],m,blockIdx.x,&k); l=k; } __syncthreads(); R a=s; pp_body(dw,w,h,a.x0,a.y0,a.d,l%a.gx,l/a.gx); }
__global__ void squares_m(int*dw,int w,int h,int g,int m,int*err,int split);
__device__ __forceinline__ void sq_tail(int*dw,int w,int h,int bx,int by,int d,int depth,int g,unsigned nblk,int*err,int split,int v){ 
 if(threadIdx.x) return; int c=(d+15)/16; if(v>=0) push(&qf[g],bx,by,d,v,c*c,c); else if(depth>0&&d/split>=MINS) push(&qs[g],bx,by,d/split,depth-1,split*split,split); else push(&qp[g],bx,by,d,0,c*c,c);
 __threadfence(); if(atomicAdd(&ex[g],1)==nblk-1){ ex[g]=0; __threadfence(); auto go=[&](Q*q){ unsigned long long p=atomicExch(&q->pack,0ull); return p; }; unsigned long long s=go(&qs[g]),f=go(&qf[g]),p=go(&qp[g]);
  if(s>>32) squares_m<<<(unsigned)s,64,0,cudaStreamFireAndForget>>>(dw,w,h,g+1,(int)(s>>32),err,split);
  if(p>>32) pp_m<<<(unsigned)p,dim3(16,16),0,cudaStreamFireAndForget>>>(dw,w,h,g,(int)(p>>32));
  if(f>>32) fill_m<<<(unsigned)f,dim3(16,16),0,cudaStreamFireAndForget>>>(dw,w,g,(int)(f>>32));
  int e=cudaGetLastError(); if(e) atomicMax(err,e); } }
__global__ void squares_m(int*dw,int w,int h,int g,int m,int*err,int split){ __shared__ R s; __shared__ int l; if(threadIdx.x==0){ int k; s=find(&qs[g-1],m,blockIdx.x,&k); l=k; } __syncthreads(); R a=s; int bx=a.x0+(l%a.gx)*a.d, by=a.y0+(l/a.gx)*a.d; int v=border(w,h,bx,by,a.d); sq_tail(dw,w,h,bx,by,a.d,a.v,g,gridDim.x,err,split,v); }
__global__ void squares_m0(int*dw,int w,int h,int d,int depth,int*err,int split){ int bx=blockIdx.x*d,by=blockIdx.y*d; int v=border(w,h,bx,by,d); sq_tail(dw,w,h,bx,by,d,depth,0,gridDim.x*gridDim.y,err,split,v); }

int main(int, char** argv) {
    pending_launches(1 << 19);
    Cubin cubin(argv[1], "mandelbrot");
    int* err;
    cudaMalloc(&err, 4);
    for (int n : {2048, 8192, 16384}) {
        int* d;
        size_t b = 4ull * n * n;
        CHECK(cudaMalloc(&d, b));
        std::vector<int> want((size_t)n * n), got((size_t)n * n);
        std::string name = "mandelbrot, " + std::to_string(n) + "^2";
        auto clear = [&] { cudaMemset(d, 255, b); cudaMemset(err, 0, 4); };
        auto run = [&](const char* variant, int times, auto work) {
            if (!wanted(variant)) return;
            float ms = median(times, clear, work);
            int e = 0;
            cudaMemcpy(&e, err, 4, cudaMemcpyDeviceToHost);
            cudaMemcpy(got.data(), d, b, cudaMemcpyDeviceToHost);
            // compilers fuse products differently, and the set is chaotic: each is held to its own image of every point
            if (name.find("start") == std::string::npos) want = got;
            size_t differ = 0;
            for (size_t i = 0; i < got.size(); i++) differ += got[i] != want[i];
            // the method itself may miss a few points within a uniform border
            line(name, variant, ms, e == 0 && differ * 1000 < got.size(), differ || e ? (std::to_string(differ) + " points differ, error " + std::to_string(e)).c_str() : "");
        };
        const std::pair<int, int> starts[] = {{8, 4}, {32, 2}};
        auto named = [&](std::pair<int, int> s) { name = "mandelbrot, " + std::to_string(n) + "^2" + ", start " + std::to_string(s.first) + "^2, split " + std::to_string(s.second); };
        run("flat", 5, [&] { pp<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(d, n, n, 0, 0, n); });
        for (auto s : starts) {
            int g0 = s.first, sp = s.second;
            named(s);
            run("naive", 3, [&] { squares<<<dim3(g0, g0), 64>>>(d, n, n, 0, 0, n / g0, 8, err, sp); });
            run("by hand", 7, [&] { squares_m0<<<dim3(g0, g0), 64>>>(d, n, n, n / g0, 8, err, sp); });
        }
        name = "mandelbrot, " + std::to_string(n) + "^2";
        run("every point by cdpc", 5, [&] { cubin.launch("per_pixel", dim3(n / 16, n / 16), dim3(16, 16), d, n, n, 0, 0, n); });
        for (auto s : starts) {
            int g0 = s.first, sp = s.second;
            named(s);
            run("cdpc", 7, [&] { cubin.launch("squares", dim3(g0, g0), 64, d, n, n, 0, 0, n / g0, 8, err, sp); });
        }
        cudaFree(d);
    }
}
