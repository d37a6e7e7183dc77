#include <zlib.h>
#ifdef DRACHMA_ISAL
#include <isa-l/igzip_lib.h>
#endif

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "net/http.h"

namespace drachma::net {
namespace {

// Adds 16 to zlib's window bits: the gzip format instead of zlib's own.
constexpr int kGzipWindowBits = MAX_WBITS + 16;
constexpr std::size_t kBlockBytes = 64 * 1024;

Bytef* BytesOf(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

}  // namespace

#ifdef DRACHMA_ISAL

std::string Gzip(const std::vector<Slice>& parts) {
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.level = 1;
  std::vector<std::uint8_t> level_memory(ISAL_DEF_LVL1_DEFAULT);
  stream.level_buf = level_memory.data();
  stream.level_buf_size = static_cast<std::uint32_t>(level_memory.size());
  std::string out;
  std::vector<std::uint8_t> block(kBlockBytes);
  const auto run = [&] {
    do {
      stream.next_out = block.data();
      stream.avail_out = static_cast<std::uint32_t>(block.size());
      DRA_CHECK(isal_deflate(&stream) == COMP_OK);
      out.append(reinterpret_cast<const char*>(block.data()), block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  };
  for (const Slice& part : parts) {
    stream.next_in = BytesOf(part.text());
    stream.avail_in = static_cast<std::uint32_t>(part.size());
    run();
  }
  stream.end_of_stream = 1;
  run();
  return out;
}

#else

std::string Gzip(const std::vector<Slice>& parts) {
  z_stream stream{};
  DRA_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindowBits, /*memLevel=*/8,
                         Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out;
  std::vector<Bytef> block(kBlockBytes);
  // Until all input is taken, and at the end until all is out.
  const auto run = [&](int flush) {
    int code = Z_OK;
    do {
      stream.next_out = block.data();
      stream.avail_out = static_cast<uInt>(block.size());
      code = deflate(&stream, flush);
      DRA_CHECK(code != Z_STREAM_ERROR);
      out.append(reinterpret_cast<const char*>(block.data()), block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
    return code;
  };
  for (const Slice& part : parts) {
    stream.next_in = BytesOf(part.text());
    stream.avail_in = static_cast<uInt>(part.size());
    run(Z_NO_FLUSH);
  }
  DRA_CHECK(run(Z_FINISH) == Z_STREAM_END);
  deflateEnd(&stream);
  return out;
}

#endif

std::optional<std::string> Gunzip(std::string_view text, std::size_t bytes_max) {
  z_stream stream{};
  DRA_CHECK(inflateInit2(&stream, kGzipWindowBits) == Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  stream.next_in = BytesOf(text);
  stream.avail_in = static_cast<uInt>(text.size());
  std::string out;
  for (;;) {
    // Grows with what has really come out: a small text may claim anything.
    const std::size_t room = std::max<std::size_t>(out.size(), 4096);
    const std::size_t filled = out.size();
    out.resize(filled + room);
    stream.next_out = BytesOf(out) + filled;
    stream.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream, Z_NO_FLUSH);
    out.resize(filled + room - stream.avail_out);
    if (out.size() > bytes_max) return std::nullopt;
    if (code == Z_STREAM_END) return out;
    if (code != Z_OK || (stream.avail_in == 0 && stream.avail_out > 0)) return std::nullopt;
  }
}

}  // namespace drachma::net
