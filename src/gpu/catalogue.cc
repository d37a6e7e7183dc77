#include "gpu/catalogue.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace drachma::gpu {
namespace {

// Profiles: name, GPU instance profile id, slices per placement, placements, largest count at once,
// memory in MiB, then multiprocessors, copy engines, decoders, encoders, JPEG engines and OFA
// engines. Placement i starts at slice i * slices. Values are those that boards list
// (nvidia-smi mig -lgip); B300 and GB300 are scaled from B200 and GB200.
constexpr auto kA10040Gb = std::to_array<MigProfile>({
    {"1g.5gb", 19, 1, 7, 7, 4864, {14, 1, 0, 0, 0, 0}},
    {"1g.5gb+me", 20, 1, 7, 1, 4864, {14, 1, 1, 0, 1, 1}},
    {"1g.10gb", 15, 2, 4, 4, 9856, {14, 1, 1, 0, 0, 0}},
    {"2g.10gb", 14, 2, 3, 3, 9856, {28, 2, 1, 0, 0, 0}},
    {"3g.20gb", 9, 4, 2, 2, 19968, {42, 3, 2, 0, 0, 0}},
    {"4g.20gb", 5, 4, 1, 1, 19968, {56, 4, 2, 0, 0, 0}},
    {"7g.40gb", 0, 8, 1, 1, 40192, {98, 7, 5, 0, 1, 1}},
});
constexpr auto kA10080Gb = std::to_array<MigProfile>({
    {"1g.10gb", 19, 1, 7, 7, 9856, {14, 1, 0, 0, 0, 0}},
    {"1g.10gb+me", 20, 1, 7, 1, 9856, {14, 1, 1, 0, 1, 1}},
    {"1g.20gb", 15, 2, 4, 4, 19968, {14, 1, 1, 0, 0, 0}},
    {"2g.20gb", 14, 2, 3, 3, 19968, {28, 2, 1, 0, 0, 0}},
    {"3g.40gb", 9, 4, 2, 2, 40192, {42, 3, 2, 0, 0, 0}},
    {"4g.40gb", 5, 4, 1, 1, 40192, {56, 4, 2, 0, 0, 0}},
    {"7g.80gb", 0, 8, 1, 1, 80384, {98, 7, 5, 0, 1, 1}},
});
constexpr auto kA3024Gb = std::to_array<MigProfile>({
    {"1g.6gb", 14, 1, 4, 4, 5836, {14, 1, 0, 0, 0, 0}},
    {"1g.6gb+me", 21, 1, 4, 1, 5836, {14, 1, 1, 0, 1, 1}},
    {"2g.12gb", 5, 2, 2, 2, 11672, {28, 2, 2, 0, 0, 0}},
    {"2g.12gb+me", 6, 2, 2, 1, 11672, {28, 2, 2, 0, 1, 1}},
    {"4g.24gb", 0, 4, 1, 1, 23344, {56, 4, 4, 0, 1, 1}},
});
constexpr auto kH10080Gb = std::to_array<MigProfile>({
    {"1g.10gb", 19, 1, 7, 7, 9984, {16, 1, 1, 0, 1, 0}},
    {"1g.10gb+me", 20, 1, 7, 1, 9984, {16, 1, 1, 0, 1, 1}},
    {"1g.20gb", 15, 2, 4, 4, 20091, {26, 1, 1, 0, 1, 0}},
    {"2g.20gb", 14, 2, 3, 3, 20091, {32, 2, 2, 0, 2, 0}},
    {"3g.40gb", 9, 4, 2, 2, 40448, {60, 3, 3, 0, 3, 0}},
    {"4g.40gb", 5, 4, 1, 1, 40448, {64, 4, 4, 0, 4, 0}},
    {"7g.80gb", 0, 8, 1, 1, 81152, {132, 8, 7, 0, 7, 1}},
});
constexpr auto kH10096Gb = std::to_array<MigProfile>({
    {"1g.12gb", 19, 1, 7, 7, 11264, {16, 1, 1, 0, 1, 0}},
    {"1g.12gb+me", 20, 1, 7, 1, 11264, {16, 1, 1, 0, 1, 1}},
    {"1g.24gb", 15, 2, 4, 4, 23552, {26, 1, 1, 0, 1, 0}},
    {"2g.24gb", 14, 2, 3, 3, 23552, {32, 2, 2, 0, 2, 0}},
    {"3g.48gb", 9, 4, 2, 2, 47616, {60, 3, 3, 0, 3, 0}},
    {"4g.48gb", 5, 4, 1, 1, 47616, {64, 4, 4, 0, 4, 0}},
    {"7g.96gb", 0, 8, 1, 1, 95232, {132, 8, 7, 0, 7, 1}},
});
constexpr auto kH100Nvl94Gb = std::to_array<MigProfile>({
    {"1g.12gb", 19, 1, 7, 7, 11008, {16, 1, 1, 0, 1, 0}},
    {"1g.12gb+me", 20, 1, 7, 1, 11008, {16, 1, 1, 0, 1, 1}},
    {"1g.24gb", 15, 2, 4, 4, 22139, {26, 1, 1, 0, 1, 0}},
    {"2g.24gb", 14, 2, 3, 3, 22139, {32, 2, 2, 0, 2, 0}},
    {"3g.47gb", 9, 4, 2, 2, 47493, {60, 3, 3, 0, 3, 0}},
    {"4g.47gb", 5, 4, 1, 1, 47493, {64, 4, 4, 0, 4, 0}},
    {"7g.94gb", 0, 8, 1, 1, 95232, {132, 8, 7, 0, 7, 1}},
});
constexpr auto kH200141Gb = std::to_array<MigProfile>({
    {"1g.18gb", 19, 1, 7, 7, 16384, {16, 1, 1, 0, 1, 0}},
    {"1g.18gb+me", 20, 1, 7, 1, 16384, {16, 1, 1, 0, 1, 1}},
    {"1g.35gb", 15, 2, 4, 4, 33024, {26, 1, 1, 0, 1, 0}},
    {"2g.35gb", 14, 2, 3, 3, 33024, {32, 2, 2, 0, 2, 0}},
    {"3g.71gb", 9, 4, 2, 2, 71168, {60, 3, 3, 0, 3, 0}},
    {"4g.71gb", 5, 4, 1, 1, 71168, {64, 4, 4, 0, 4, 0}},
    {"7g.141gb", 0, 8, 1, 1, 143104, {132, 8, 7, 0, 7, 1}},
});
constexpr auto kGh200144Gb = std::to_array<MigProfile>({
    {"1g.18gb", 19, 1, 7, 7, 17920, {16, 1, 1, 0, 1, 0}},
    {"1g.18gb+me", 20, 1, 7, 1, 17920, {16, 1, 1, 0, 1, 1}},
    {"1g.36gb", 15, 2, 4, 4, 36096, {26, 1, 1, 0, 1, 0}},
    {"2g.36gb", 14, 2, 3, 3, 36096, {32, 2, 2, 0, 2, 0}},
    {"3g.72gb", 9, 4, 2, 2, 72704, {60, 3, 3, 0, 3, 0}},
    {"4g.72gb", 5, 4, 1, 1, 72704, {64, 4, 4, 0, 4, 0}},
    {"7g.144gb", 0, 8, 1, 1, 145920, {132, 8, 7, 0, 7, 1}},
});
constexpr auto kB200180Gb = std::to_array<MigProfile>({
    {"1g.23gb", 19, 1, 7, 7, 22528, {18, 2, 1, 0, 1, 0}},
    {"1g.23gb+me", 20, 1, 7, 1, 22528, {18, 2, 1, 0, 1, 1}},
    {"1g.45gb", 15, 2, 4, 4, 45312, {30, 2, 1, 0, 1, 0}},
    {"2g.45gb", 14, 2, 3, 3, 45312, {36, 4, 2, 0, 2, 0}},
    {"3g.90gb", 9, 4, 2, 2, 91136, {70, 6, 3, 0, 3, 0}},
    {"4g.90gb", 5, 4, 1, 1, 91136, {72, 8, 4, 0, 4, 0}},
    {"7g.180gb", 0, 8, 1, 1, 182272, {148, 16, 7, 0, 7, 1}},
});
constexpr auto kGb200186Gb = std::to_array<MigProfile>({
    {"1g.23gb", 19, 1, 7, 7, 22528, {18, 2, 1, 0, 1, 0}},
    {"1g.23gb+me", 20, 1, 7, 1, 22528, {18, 2, 1, 0, 1, 1}},
    {"1g.47gb", 15, 2, 4, 4, 46592, {32, 2, 1, 0, 1, 0}},
    {"2g.47gb", 14, 2, 3, 3, 46592, {38, 4, 2, 0, 2, 0}},
    {"3g.93gb", 9, 4, 2, 2, 93184, {70, 6, 3, 0, 3, 0}},
    {"4g.93gb", 5, 4, 1, 1, 93184, {76, 8, 4, 0, 4, 0}},
    {"7g.186gb", 0, 8, 1, 1, 188416, {152, 16, 7, 0, 7, 1}},
});
constexpr auto kB300269Gb = std::to_array<MigProfile>({
    {"1g.34gb", 19, 1, 7, 7, 31744, {18, 2, 1, 0, 1, 0}},
    {"1g.34gb+me", 20, 1, 7, 1, 31744, {18, 2, 1, 0, 1, 1}},
    {"1g.67gb", 15, 2, 4, 4, 67584, {30, 2, 1, 0, 1, 0}},
    {"2g.67gb", 14, 2, 3, 3, 67584, {36, 4, 2, 0, 2, 0}},
    {"3g.135gb", 9, 4, 2, 2, 136192, {70, 6, 3, 0, 3, 0}},
    {"4g.135gb", 5, 4, 1, 1, 136192, {72, 8, 4, 0, 4, 0}},
    {"7g.269gb", 0, 8, 1, 1, 273408, {148, 16, 7, 0, 7, 1}},
});
constexpr auto kGb300278Gb = std::to_array<MigProfile>({
    {"1g.35gb", 19, 1, 7, 7, 32768, {18, 2, 1, 0, 1, 0}},
    {"1g.35gb+me", 20, 1, 7, 1, 32768, {18, 2, 1, 0, 1, 1}},
    {"1g.70gb", 15, 2, 4, 4, 69632, {32, 2, 1, 0, 1, 0}},
    {"2g.70gb", 14, 2, 3, 3, 69632, {38, 4, 2, 0, 2, 0}},
    {"3g.139gb", 9, 4, 2, 2, 140288, {70, 6, 3, 0, 3, 0}},
    {"4g.139gb", 5, 4, 1, 1, 140288, {76, 8, 4, 0, 4, 0}},
    {"7g.278gb", 0, 8, 1, 1, 282624, {152, 16, 7, 0, 7, 1}},
});
constexpr auto kRtxPro600096Gb = std::to_array<MigProfile>({
    {"1g.24gb", 14, 1, 4, 4, 24187, {46, 1, 1, 1, 1, 0}},
    {"1g.24gb+me", 21, 1, 4, 1, 24187, {46, 1, 1, 1, 1, 1}},
    {"1g.24gb+gfx", 47, 1, 4, 4, 24187, {46, 1, 1, 1, 1, 0}},
    {"1g.24gb+me.all", 65, 1, 4, 1, 24187, {46, 1, 4, 4, 4, 1}},
    {"1g.24gb-me", 67, 1, 4, 4, 24187, {46, 1, 0, 0, 0, 0}},
    {"2g.48gb", 5, 2, 2, 2, 48517, {94, 2, 2, 2, 2, 0}},
    {"2g.48gb+gfx", 35, 2, 2, 2, 48517, {94, 2, 2, 2, 2, 0}},
    {"2g.48gb+me.all", 64, 2, 2, 1, 48517, {94, 2, 4, 4, 4, 1}},
    {"2g.48gb-me", 66, 2, 2, 2, 48517, {94, 2, 0, 0, 0, 0}},
    {"4g.96gb", 0, 4, 1, 1, 97280, {188, 4, 4, 4, 4, 1}},
    {"4g.96gb+gfx", 32, 4, 1, 1, 97280, {188, 4, 4, 4, 4, 1}},
});

// Models: key, product, architecture, compute capability, memory in MiB as NVML reports it, memory
// slices, whether switching MIG on needs a reset of the GPU, profiles.
constexpr auto kModels = std::to_array<Model>({
    {"A100-40GB", "NVIDIA A100-SXM4-40GB", "Ampere", "8.0.0", 40960, 8, true, kA10040Gb},
    {"A100-80GB", "NVIDIA A100-SXM4-80GB", "Ampere", "8.0.0", 81920, 8, true, kA10080Gb},
    {"A30-24GB", "NVIDIA A30", "Ampere", "8.0.0", 24576, 4, true, kA3024Gb},
    {"H100-80GB", "NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", 81559, 8, false, kH10080Gb},
    {"H100-96GB", "NVIDIA H100 96GB / GH200 96GB HBM3", "Hopper", "9.0.0", 97871, 8, false,
     kH10096Gb},
    {"H100-NVL-94GB", "NVIDIA H100 NVL", "Hopper", "9.0.0", 95830, 8, false, kH100Nvl94Gb},
    {"H200-141GB", "NVIDIA H200", "Hopper", "9.0.0", 143771, 8, false, kH200141Gb},
    {"GH200-144GB", "NVIDIA GH200 144G HBM3e", "Hopper", "9.0.0", 147456, 8, false, kGh200144Gb},
    {"B200-180GB", "NVIDIA B200", "Blackwell", "10.0.0", 183359, 8, false, kB200180Gb},
    {"GB200-186GB", "NVIDIA GB200", "Blackwell", "10.0.0", 189471, 8, false, kGb200186Gb},
    {"B300-269GB", "NVIDIA B300", "Blackwell", "10.3.0", 275456, 8, false, kB300269Gb},
    {"GB300-278GB", "NVIDIA GB300", "Blackwell", "10.3.0", 284672, 8, false, kGb300278Gb},
    {"RTX-PRO-6000-96GB", "NVIDIA RTX PRO 6000 Blackwell Server Edition", "Blackwell", "12.0.0",
     97887, 4, false, kRtxPro600096Gb},
    // Boards without MIG.
    {"L4-24GB", "NVIDIA L4", "Ada Lovelace", "8.9.0", 23034, 0, false, {}},
    {"L40S-48GB", "NVIDIA L40S", "Ada Lovelace", "8.9.0", 46068, 0, false, {}},
    {"T4-16GB", "Tesla T4", "Turing", "7.5.0", 15360, 0, false, {}},
    {"V100-32GB", "Tesla V100-SXM2-32GB", "Volta", "7.0.0", 32768, 0, false, {}},
});

}  // namespace

std::span<const Model> Models() { return kModels; }

const Model* FindModel(std::string_view key) {
  const auto found = std::ranges::find(kModels, key, &Model::key);
  return found == kModels.end() ? nullptr : &*found;
}

}  // namespace drachma::gpu
