// SPDX-License-Identifier: BSD-3-Clause
// Tensors that are cut in any dimension: whatever the ranks held that wrote them, any others read
// their own blocks.
#include <algorithm>
#include <numeric>
#include <random>

#include "tests/support/blocks.h"
#include "tests/support/checkpoint_model.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

const std::vector<std::vector<uint64_t>> kShapes = {
    {1}, {67}, {13, 29}, {1, 31}, {31, 1}, {5, 7, 11}, {2, 3, 1, 4, 5}, {0, 4}, {3, 64, 8}};

// This rank's blocks of tensors of all shapes, in two element sizes.
class Tensors {
  public:
    // `tilings[t][rank]`, or empty: every rank holds the whole tensor.
    Tensors(const std::vector<std::vector<Block>> &tilings, size_t rank) {
        data_.resize(kShapes.size());
        for (size_t t = 0; t < kShapes.size(); ++t) {
            const bool is_short = t % 2 == 1;
            Buffer buffer;
            buffer.parameter = {.name = format_text("t%zu", t),
                                .dtype = is_short ? RINGRT_INT8 : RINGRT_INT64,
                                .shape = kShapes[t]};
            buffer.bytes = bytes_of(buffer.parameter);
            if (!tilings.empty()) hold_block(buffer, tilings[t][rank]);
            data_[t].resize(buffer.bytes + 1, std::byte{0});
            buffer.data = data_[t].data();
            buffers_.push_back(std::move(buffer));
        }
    }
    void fill(uint64_t step) {
        for (size_t t = 0; t < buffers_.size(); ++t)
            for (uint64_t i = 0; i < elements(t); ++i) write(t, i, value(step, t, i));
    }
    // Returns the first element that is not that of the step.
    std::string differs(uint64_t step) const {
        for (size_t t = 0; t < buffers_.size(); ++t) {
            for (uint64_t i = 0; i < elements(t); ++i)
                if (read(t, i) != value(step, t, i))
                    return format_text("tensor %zu at element %d", t, int(i));
            if (data_[t].back() != std::byte{0}) return format_text("beyond tensor %zu", t);
        }
        return "";
    }
    const std::vector<Buffer> &buffers() const { return buffers_; }

  private:
    size_t bytes(size_t t) const { return t % 2 == 1 ? 1 : 8; }
    uint64_t elements(size_t t) const { return buffers_[t].bytes / bytes(t); }
    int64_t value(uint64_t step, size_t t, uint64_t i) const {
        const Block &block =
            buffers_[t].parameter.sharded ? buffers_[t].block : whole_block(kShapes[t]);
        const auto value = int64_t(step * 1000003 + t * 7919 + index_of(block, kShapes[t], i));
        return bytes(t) == 1 ? int8_t(value) : value;
    }
    void write(size_t t, uint64_t i, int64_t value) {
        std::memcpy(data_[t].data() + i * bytes(t), &value, bytes(t));
    }
    int64_t read(size_t t, uint64_t i) const {
        int64_t value = 0;
        std::memcpy(&value, data_[t].data() + i * bytes(t), bytes(t));
        return bytes(t) == 1 ? int8_t(value) : value;
    }
    std::vector<std::vector<std::byte>> data_;
    std::vector<Buffer> buffers_;
};

std::vector<std::vector<Block>> random_tilings(int ranks, std::mt19937_64 &random) {
    std::vector<std::vector<Block>> out;
    for (const auto &shape : kShapes) out.push_back(random_tiling(shape, ranks, random));
    return out;
}

Status save_tensors(Group &group, Store &store, const Tensors &tensors, uint64_t step,
                    uint64_t piece_bytes) {
    Saver saver(group, store, {.piece_bytes = piece_bytes, .writer_bytes = 64});
    RINGRT_TRY(saver.start(tensors.buffers(), {.step = step}, SaveMode::inline_write));
    return saver.finish();
}

}  // namespace

TEST(any_blocks_are_read_as_any_others) {
    std::mt19937_64 random(7);
    for (int n : {3, 1, 2, 5, 8})
        for (uint64_t piece_bytes : {uint64_t{100}, uint64_t{1} << 20}) {
            MemoryFiles files;
            const auto written = random_tilings(n, random);
            run_ranks(n, [&](Group &group) {
                Store store(files, kDirectory, incarnation(0), 3);
                Tensors tensors(written, size_t(group.rank()));
                tensors.fill(42);
                expect_ok(save_tensors(group, store, tensors, 42, piece_bytes));
            });
            uint32_t restart = 0;
            for (int m : {1, 2, 5, 3, 7, 0}) {  // 0: two ranks that hold everything
                const auto read = m ? random_tilings(m, random) : decltype(written){};
                ++restart;
                run_ranks(m ? m : 2, [&](Group &group) {
                    Store store(files, kDirectory, incarnation(restart), 3);
                    Tensors tensors(read, size_t(group.rank()));
                    Manifest manifest;
                    expect_ok(load(group, store, tensors.buffers(), manifest));
                    EXPECT_TEXT(tensors.differs(42), "");
                });
            }
        }
}

TEST(what_all_hold_is_read_as_blocks) {
    std::mt19937_64 random(8);
    MemoryFiles files;
    run_ranks(2, [&](Group &group) {
        Store store(files, kDirectory, incarnation(0), 3);
        Tensors tensors({}, 0);
        tensors.fill(9);
        expect_ok(save_tensors(group, store, tensors, 9, 100));
    });
    const auto read = random_tilings(4, random);
    run_ranks(4, [&](Group &group) {
        Store store(files, kDirectory, incarnation(1), 3);
        Tensors tensors(read, size_t(group.rank()));
        Manifest manifest;
        expect_ok(load(group, store, tensors.buffers(), manifest));
        EXPECT_TEXT(tensors.differs(9), "");
    });
}

TEST(blocks_that_do_not_tile_are_named) {
    const std::vector<uint64_t> shape = {4, 6};
    const struct {
        std::vector<Block> blocks;
        const char *line;
    } cases[] = {
        {{{{0, 0}, {4, 3}}, {{0, 2}, {4, 4}}, {{0, 0}, {0, 0}}},
         "buffer w: the blocks of ranks 0 and 1 overlap at [0, 2]"},
        {{{{2, 3}, {2, 3}}, {{0, 0}, {2, 6}}, {{1, 4}, {3, 1}}},
         "buffer w: the blocks of ranks 1 and 2 overlap at [1, 4]"},
        {{{{0, 0}, {4, 3}}, {{0, 3}, {4, 2}}, {{0, 5}, {3, 1}}},
         "buffer w: the ranks' blocks hold 23 of its 24 elements"},
        {{{{0, 0}, {1, 6}}, {{1, 0}, {2, 6}}, {{3, 0}, {0, 6}}},
         "buffer w: the ranks' blocks hold 18 of its 24 elements"},
        {{{{1, 0}, {3, 6}}, {{0, 0}, {2, 6}}, {{3, 0}, {0, 6}}},
         "buffer w: the blocks of ranks 0 and 1 overlap at [1, 0]"},
    };
    for (const auto &[blocks, line] : cases)
        run_ranks(3, [&](Group &group) {
            std::vector<std::byte> data(24);
            Buffer buffer{.parameter = {.name = "w", .dtype = RINGRT_INT8, .shape = shape},
                          .data = data.data()};
            hold_block(buffer, blocks[size_t(group.rank())]);
            std::vector<Buffer> placed;
            const Status out = agree_on_parameters(group, {buffer}, 1, &placed);
            ck_assert_int_eq(out.code, RINGRT_MISMATCH);
            EXPECT_TEXT(out.message, line);
        });
}

// Exhaustive: the runs of two blocks are exactly the bytes that both hold.
TEST(runs_are_what_two_blocks_have_in_common) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 3000; ++round) {
        std::vector<uint64_t> shape(1 + random() % 4);
        for (uint64_t &extent : shape) extent = 1 + random() % 6;
        const auto blocks = random_tiling(shape, 3, random),
                   others = random_tiling(shape, 3, random);
        const uint64_t each = uint64_t{1} << random() % 4;
        for (const Block &saved : blocks) {
            if (elements_of(saved) == 0) continue;
            const Block &here = others[random() % 3];
            const uint64_t bytes = elements_of(saved) * each, first = random() % bytes,
                           last = first + random() % (bytes - first + 1);
            std::vector<uint64_t> expected(last - first, UINT64_MAX), got = expected;
            for (uint64_t at = first; at < last; ++at)
                for (uint64_t i = 0; i < elements_of(here); ++i)
                    if (index_of(here, shape, i) == index_of(saved, shape, at / each))
                        expected[at - first] = i * each + at % each;
            Common(saved, here, each).runs(first, last, [&](const Run &run) {
                ck_assert_uint_gt(run.bytes, 0);
                for (uint64_t i = 0; i < run.bytes; ++i) {
                    ck_assert_uint_eq(got.at(run.from + i), UINT64_MAX);
                    got[run.from + i] = run.to + i;
                }
            });
            ck_assert(got == expected);
        }
    }
}

namespace {

std::string manifest_text(MemoryFiles &files) {
    std::string out;
    for (const std::string &path : files.files_under(kDirectory))
        if (path.ends_with("/manifest"))
            for (const std::byte each : files.data(path)) out += static_cast<char>(each);
    return out;
}

size_t count(const std::string &text, const std::string &part) {
    size_t out = 0;
    for (size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++out;
    return out;
}

void save_two(MemoryFiles &files, const Block &first, const Block &second) {
    run_ranks(2, [&](Group &group) {
        Store store(files, kDirectory, incarnation(0), 3);
        std::vector<std::byte> data(24);
        std::vector<Buffer> buffers;
        for (const char *name : {"m", "v", "w"}) {
            Buffer buffer{.parameter = {.name = name, .dtype = RINGRT_INT8, .shape = {4, 6}},
                          .data = data.data()};
            hold_block(buffer, group.rank() == 0 ? first : second);
            buffers.push_back(std::move(buffer));
        }
        Saver saver(group, store, kSmall);
        expect_ok(saver.start(buffers, {.step = 1}, SaveMode::inline_write));
        expect_ok(saver.finish());
    });
}

}  // namespace

// An older library reads such a checkpoint.
TEST(blocks_of_rows_are_rows) {
    MemoryFiles files;
    save_two(files, {{1, 0}, {3, 6}}, {{0, 0}, {1, 6}});
    const std::string text = manifest_text(files);
    ck_assert_uint_eq(count(text, "param int8 rows 2 4 6 "), 3);
    ck_assert_uint_eq(count(text, "block "), 0);
}

TEST(tensors_that_are_cut_alike_share_their_blocks) {
    MemoryFiles files;
    save_two(files, {{0, 4}, {4, 2}}, {{0, 0}, {4, 4}});
    const std::string text = manifest_text(files);
    ck_assert_uint_eq(count(text, "param int8 tiling 0 2 4 6 "), 3);
    ck_assert_uint_eq(count(text, "block "), 2);
    ck_assert(contains(text, "block 0 0 4 4 2\nblock 0 0 0 4 4\n"));
}

// A grid of many ranks in three dimensions, and a comparison of each with each would be slow.
TEST(many_blocks_are_checked) {
    const std::vector<uint64_t> shape = {64, 64, 64};
    std::vector<Block> blocks;
    for (uint64_t i = 0; i < 4096; ++i)
        blocks.push_back({{i / 256 * 4, i / 16 % 16 * 4, i % 16 * 4}, {4, 4, 4}});
    expect_ok(check_blocks("w", shape, blocks));
    blocks.back().offset[2] -= 1;
    EXPECT_TEXT(check_blocks("w", shape, blocks).message,
                "buffer w: the blocks of ranks 4094 and 4095 overlap at [60, 60, 59]");
}

int main() { return ringrt::test::run_all("checkpoint_blocks"); }
