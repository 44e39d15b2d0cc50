// Launches the kernels of ../rows.cdp from C++:
//
//     cdpc build --emit=header,cubin -o rows examples/rows.cdp
//     g++ -std=c++17 -I. -I$CUDA/include examples/cpp/main.cpp -lcuda -o rows
//     ./rows rows.cubin
//
// It exits with 0 when every value is right, with 1 when one is not, and with 2 when there is no GPU or the cubin cannot be loaded.

#include "rows.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

// Ends the program with what the driver says.
static void check(CUresult result, const char *what, int code = 1) {
    if (result != CUDA_SUCCESS) {
        const char *text = nullptr;
        cuGetErrorString(result, &text);
        std::fprintf(stderr, "%s: %s (%d)\n", what, text != nullptr ? text : "unknown error", static_cast<int>(result));
        std::exit(code);
    }
}

template <typename T> static CUdeviceptr on_device(const std::vector<T> &values) {
    CUdeviceptr address = 0;
    check(cuMemAlloc(&address, values.size() * sizeof(T)), "cuMemAlloc");
    check(cuMemcpyHtoD(address, values.data(), values.size() * sizeof(T)), "cuMemcpyHtoD");
    return address;
}

int main(int count, char **arguments) {
    const char *cubin = count > 1 ? arguments[1] : "rows.cubin";
    CUdevice device = 0;
    CUcontext context = nullptr;
    check(cuInit(0), "cuInit", 2);
    check(cuDeviceGet(&device, 0), "cuDeviceGet", 2);
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain", 2);
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent", 2);
    rows_module module;
    check(rows_load_file(&module, cubin), cubin, 2);

    // rows of 1, 8, 15 … values
    std::vector<rows_Row> table;
    uint32_t total = 0;
    for (uint32_t r = 0; r < 200; ++r) {
        table.push_back({total, 1 + 7 * r});
        total += table.back().count;
    }
    std::vector<double> values;
    for (uint32_t i = 0; i < total; ++i) {
        values.push_back(i % 1000);
    }
    rows_Scaling how = {};
    how.factor = 0.5;
    how.offset = {1.0f, 2.0f, 4.0f};
    how.long_ = 64;

    const CUdeviceptr device_table = on_device(table);
    const CUdeviceptr device_values = on_device(values);
    const CUdeviceptr device_failed = on_device(std::vector<uint32_t>{0});
    const uint32_t row_count = static_cast<uint32_t>(table.size());
    const rows_config config = rows_config_1d((row_count + 127) / 128, 128);
    check(rows_launch_scale_rows(&module, &config, device_table, row_count, &how, device_values, device_failed), "scale_rows");
    check(cuCtxSynchronize(), "scale_rows");

    std::vector<double> scaled(values.size());
    uint32_t failed = 0, launched = 0;
    CUdeviceptr launched_address = 0;
    check(cuMemcpyDtoH(scaled.data(), device_values, scaled.size() * sizeof(double)), "cuMemcpyDtoH");
    check(cuMemcpyDtoH(&failed, device_failed, sizeof failed), "cuMemcpyDtoH");
    check(rows_address_launched(&module, &launched_address), "launched");
    check(cuMemcpyDtoH(&launched, launched_address, sizeof launched), "cuMemcpyDtoH");

    uint32_t wrong = 0, expected_launches = 0;
    for (const rows_Row &row : table) {
        expected_launches += row.count >= how.long_;
        for (uint32_t i = 0; i < row.count; ++i) {
            const float offset = i % 3 == 0 ? how.offset.x : i % 3 == 1 ? how.offset.y : how.offset.z;
            wrong += scaled[row.first + i] != values[row.first + i] * how.factor + offset;
        }
    }
    std::printf("%u rows, %u child grids, %u refused, %u of %u values wrong\n", row_count, launched, failed, wrong, total);
    const bool right = wrong == 0 && failed == 0 && launched == expected_launches;
    for (const CUdeviceptr address : {device_table, device_values, device_failed}) {
        check(cuMemFree(address), "cuMemFree");
    }
    check(rows_unload(&module), "rows_unload");
    check(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
    return right ? 0 : 1;
}
