// SPDX-License-Identifier: BSD-3-Clause
// A shard whose table has a correct hash and arbitrary content. The input is a byte with the number
// of table rows, then the file.
#include "libringrt/checkpoint/shard.h"

#include <cstring>

#include "libringrt/checkpoint/hash.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt::checkpoint;
using namespace ringrt::fuzz;

namespace {

// One file, for reading.
class OneFile final : public Files {
  public:
    explicit OneFile(std::string_view bytes) : bytes_(bytes) {}
    int open_read(const std::string &) override { return 3; }
    int64_t read_at(int, std::span<std::byte> bytes, uint64_t offset) override {
        if (offset >= bytes_.size()) return 0;
        const std::string_view part = bytes_.substr(offset, bytes.size());
        std::memcpy(bytes.data(), part.data(), part.size());
        return static_cast<int64_t>(part.size());
    }
    int64_t size(int) override { return static_cast<int64_t>(bytes_.size()); }
    int close(int) override { return 0; }
    int open_new(const std::string &) override { return -EROFS; }
    int64_t write(int, std::span<const std::byte>) override { return -EROFS; }
    int start_writeback(int, uint64_t, uint64_t) override { return -EROFS; }
    int sync_data(int) override { return -EROFS; }
    int make_directory(const std::string &) override { return -EROFS; }
    int sync_directory(const std::string &) override { return -EROFS; }
    int rename(const std::string &, const std::string &) override { return -EROFS; }
    int remove(const std::string &) override { return -EROFS; }
    int remove_directory(const std::string &) override { return -EROFS; }
    int list(const std::string &, std::vector<std::string> &) override { return -EROFS; }
    int64_t free_bytes(const std::string &) override { return -EROFS; }

  private:
    std::string_view bytes_;
};

// What this rank holds: a block of 2 by 4 of a parameter of 4 by 8, which was saved as two blocks
// that are cut otherwise; bytes [16, 48) of a parameter of 64 bytes; and 8 whole bytes.
std::vector<Buffer> buffers(std::vector<std::byte> &memory) {
    memory.assign(8 + 32 + 8, std::byte{0});
    Buffer block{.parameter = {.name = "block", .dtype = RINGRT_UINT8, .shape = {4, 8}},
                 .data = memory.data()};
    hold_block(block, {{1, 2}, {2, 4}});
    auto tiling = std::make_shared<Tiling>();
    tiling->shape = {4, 8};
    tiling->add({{0, 0}, {4, 3}});
    tiling->add({{0, 3}, {4, 5}});
    block.parameter.tiling = std::move(tiling);
    Buffer rows{.parameter = {.name = "rows", .dtype = RINGRT_UINT8, .shape = {64}},
                .data = memory.data() + 8};
    hold_block(rows, {{16}, {32}});
    return {block,
            rows,
            {.parameter = {.name = "whole", .dtype = RINGRT_UINT8, .shape = {8}},
             .data = memory.data() + 40,
             .bytes = 8}};
}

// Writes the pieces' real hashes into the table's rows, so that the reader accepts their content.
void seal_pieces(std::string &file, uint64_t data_bytes, size_t rows) {
    uint64_t position = 0;
    for (size_t i = 0; i < rows; ++i) {
        TableRow row;
        char *place = file.data() + data_bytes + i * sizeof row;
        std::memcpy(&row, place, sizeof row);
        if (row.bytes > data_bytes - position) return;
        row.hash = hash64(std::as_bytes(std::span(file.data() + position, row.bytes)));
        position += row.bytes;
        std::memcpy(place, &row, sizeof row);
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    std::string_view input = text_of(data, size);
    const size_t rows = take_byte(input) % 8;
    std::string file(input);
    if (file.size() < rows * sizeof(TableRow)) return 0;
    const uint64_t data_bytes = file.size() - rows * sizeof(TableRow);
    seal_pieces(file, data_bytes, rows);
    const auto table = std::as_bytes(std::span(file).subspan(data_bytes));
    OneFile files(file);
    ShardReader reader(files);
    std::vector<std::byte> memory;
    const std::vector<Buffer> held = buffers(memory);
    const Shard shard{.data_bytes = data_bytes, .pieces = rows, .table_hash = hash64(table)};
    ringrt::Status read = reader.open("step-000000000001/shard-00000", shard, held.size());
    Staging staging;
    std::vector<Parameter> saved;
    for (const Buffer &buffer : held) saved.push_back(buffer.parameter);
    if (read.ok()) read = reader.read_into(targets_of(saved, held), staging);
    if (!read.ok()) expect(is_one_line(read.message), "a refused shard gets one line");
    std::vector<Piece> pieces;
    for (const TableRow &row : reader.table())
        pieces.push_back({row.parameter, row.offset, row.bytes});
    if (read.ok() && check_tiling(saved, pieces).ok())
        expect(data_bytes == 104, "pieces that tile are as long as the parameters");
    return 0;
}
