// SPDX-License-Identifier: BSD-3-Clause
// A checkpoint's content: any number of ranks reads what any other number wrote, and damage is
// always found.
#include <algorithm>

#include "libringrt/checkpoint/hash.h"
#include "tests/support/checkpoint_model.h"

using namespace ringrt;
using namespace ringrt::test;

TEST(hash_is_xxh64) {
    auto hash = [](const std::string &s) { return hash_text(s); };
    ck_assert(hash("") == 0xef46db3751d8e999);
    ck_assert(hash("a") == 0xd24ec4f1a98c6e5b);
    ck_assert(hash("abc") == 0x44bc2cf5ad770999);
    ck_assert(hash("Call me Ishmael. Some years ago--never mind how long precisely-") ==
              0x02a2e85470d6fd96);
}

TEST(names_are_checked) {
    for (const std::string &good :
         {std::string("w"), std::string("layer1/w"), std::string("a.b-c_d"), std::string("..a"),
          std::string("a.."), std::string(200, 'x')})
        ck_assert_msg(valid_name(good), "%s", good.c_str());
    for (const std::string &bad :
         {std::string(""), std::string("a b"), std::string("../a"), std::string("a/../b"),
          std::string("a//b"), std::string("/a"), std::string("a/"), std::string("."),
          std::string("a\0b", 3), std::string(201, 'x'), std::string("\xc3\xa9")})
        ck_assert_msg(!valid_name(bad), "%s", bad.c_str());
}

TEST(pieces_of_all_ranks_tile) {
    for (int size : {1, 2, 3, 4, 7, 8, 16})
        for (uint64_t piece : {1ul, 64ul, 1000ul, 1ul << 20})
            for (uint64_t writer : {1ul, 100ul, 4ul << 20}) {
                std::vector<Piece> all;
                std::vector<Parameter> parameters;
                for (int rank = 0; rank < size; ++rank) {
                    Model model(rank, size);
                    auto mine = pieces_to_write(model.buffers(), rank, size, {piece, writer});
                    all.insert(all.end(), mine.begin(), mine.end());
                    parameters.clear();
                    for (const Buffer &buffer : model.buffers())
                        parameters.push_back(buffer.parameter);
                }
                expect_ok(check_tiling(parameters, all));
                all.pop_back();
                ck_assert(!check_tiling(parameters, all).ok());
            }
}

TEST(manifest_round_trip_and_every_flipped_bit) {
    auto columns = std::make_shared<Tiling>();
    columns->add({{0, 2}, {2, 1}});
    columns->add({{0, 0}, {2, 2}});
    Manifest manifest{.fence = incarnation(3),
                      .step = 1200,
                      .samples = 76800,
                      .seed = 9,
                      .ranks = 4,
                      .time_s = 1763721600,
                      .batch = 64,
                      .speeds = {{1, 520.1}, {4, 0.25}},
                      .gradients = "1 7 16 9.4 88 1 2560 3000 1500",
                      .losses = "2 1.5:0.7 3.5:0.61",
                      .parameters = {{"a", RINGRT_FLOAT32, {64, 10}, true},
                                     {"b/c", RINGRT_UINT8, {}, false},
                                     {"d", RINGRT_INT8, {2, 3}, true, false, columns},
                                     {"e", RINGRT_INT64, {2, 3}, true, false, columns},
                                     {"f", RINGRT_UINT8, {4711}, true, true}},
                      .shards = {{0, 2560, 1, 0x0123456789abcdef}, {3, 1, 1, 1}}};
    const std::string good = format_manifest(manifest);
    Manifest back;
    expect_ok(parse_manifest(good, back));
    EXPECT_TEXT(format_manifest(back), good);
    EXPECT_TEXT(back.gradients, manifest.gradients);
    EXPECT_TEXT(back.losses, manifest.losses);
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
        std::string bad = good;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
        ck_assert_msg(!parse_manifest(bad, back).ok(), "bit %zu", bit);
        ck_assert(!parse_manifest(good.substr(0, bit / 8), back).ok());
    }
}

// A manifest of two ranks, to which the test appends.
const std::string kHead =
    "ringrt-checkpoint 1\njob 7 restart 0 nonce 0000000000000001\n"
    "step 1 samples 1 seed 0 ranks 2 time 1\n";

// Adds the correct hash, as an attacker would.
std::string sealed(const std::string &body) {
    return body + format_text("end %016llx\n", static_cast<unsigned long long>(hash_text(body)));
}

TEST(manifest_bombs_are_refused) {
    Manifest out;
    expect_ok(parse_manifest(
        sealed(kHead + "param float32 whole 1 4 a\nshard 0 16 1 0000000000000001\n"), out));
    const std::string lines[] = {
        std::string("param float32 whole 1 4 ../a\n"),
        std::string("param float32 whole 1 4 a\0b\n", 28),
        std::string("param float32 whole 1 4 a\nparam float32 whole 1 4 a\n"),  // twice
        std::string("param float32 whole 1 4 b\nparam float32 whole 1 4 a\n"),  // out of order
        std::string("param float32 whole 1 9223372036854775808 a\n"),
        std::string("param float32 whole 2 4294967296 4294967296 a\n"),
        std::string("param float32 whole 99999 4 a\n"),
        std::string("param float32 whole -1 a\n"),
        std::string("param float99 whole 1 4 a\n"),
        std::string("param float32 rows 0 a\n"),
        std::string("shard 0 9223372036854775808 1 0000000000000001\n"),
        std::string("shard 0 1 18446744073709551615 0000000000000001\n"),
        std::string("shard 2 16 1 0000000000000001\n"),  // of 2 ranks
        std::string("shard 0 16 1 0000000000000001\nshard 0 16 1 0000000000000001\n"),
        std::string("shard 0 16 1 000000000000001\n"),
        std::string("block 0 0 4 1 1\nblock 0 0 0 1 4\nparam int8 tiling 1 2 1 5 a\n"),
        std::string("block 1 0 4\nparam int8 tiling 0 1 4 a\n"),
        std::string("block 0 0 2\nblock 0 1 3\nparam int8 tiling 0 1 4 a\n"),  // overlap
        std::string("block 0 0 2\nblock 0 3 1\nparam int8 tiling 0 1 4 a\n"),  // gap
        std::string("block 0 0 4\nparam int8 tiling 0 1 5 a\n"),
        std::string("block 0 0 4\nparam int8 tiling 0 2 4 1 a\n"),
        std::string("block 0 0 2\nblock 0 2 0 2 1\nparam int8 tiling 0 1 4 a\n"),
        std::string("block 0 0 1\nblock 0 1 1\nblock 0 2 1\nparam int8 tiling 0 1 3 a\n"),
        std::string("block 0 0 4\nblock 0 4 0\nparam int8 tiling 0 1 4 a\n"),
        std::string("block 0 18446744073709551615 1\nparam int8 tiling 0 1 0 a\n"),
        std::string("param int8 whole 1 4 a\nblock 0 0 4\n"),
        std::string("block 0 0\n"),
        std::string("param int8 blob 1 4 a\n"),
        std::string("param uint8 blob 2 4 1 a\n"),
        std::string("param uint8 blob 0 a\n"),
        std::string("block 0\n"),
        std::string("batch 0\n"),
        std::string("batch 4294967296\n"),
        std::string("batch 64\nbatch 64\n"),
        std::string("speed 1 5\nbatch 64\n"),
        std::string("speed 0 nan\n"),
        std::string("speed 1 inf\n"),
        std::string("speed 1 -1\n"),
        std::string("gradients 1\ngradients 1\n"),
        std::string("gradients \n"),
        std::string("losses 1 1:2\nlosses 1 1:2\n"),
        std::string("gradients 1\t2\n"),
        std::string("param float32 whole 1 4 a\ngradients 1\n"),
        "gradients " + std::string(kNoteBytesMax + 1, '1') + "\n",
        std::string("step 1 samples 1 seed 0 ranks 2 time 1\n"),
        std::string("[[[[[[\n"),
        std::string("\n"),
        std::string("param\n"),
        std::string("param float32 whole 1 4 a \n")};
    for (const std::string &bad : lines) {
        Status refused = parse_manifest(sealed(kHead + bad), out);
        ck_assert_msg(refused.code == RINGRT_CORRUPT, "accepted: %s", bad.c_str());
    }
}

TEST(long_manifests_are_refused) {
    Manifest out;
    std::string many = kHead;
    for (size_t i = 0; i <= kParametersMax; ++i)
        many += format_text("param uint8 whole 0 p%05zu\n", i);
    ck_assert(!parse_manifest(sealed(many), out).ok());
    ck_assert(!parse_manifest(std::string(kManifestBytesMax + 1, '['), out).ok());
}

TEST(a_manifest_with_any_bytes_crashes_nothing) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; ++i) {
        std::string body = kHead + "param float32 whole 1 4 a\nshard 0 16 1 0000000000000001\n";
        for (uint64_t n = random() % 4 + 1; n > 0; --n)
            body[random() % body.size()] = static_cast<char>(random());
        Manifest out;
        (void)parse_manifest(sealed(body), out);  // it must not crash, whatever its content
    }
}

// F18: any number of ranks writes, any other reads, bit for bit.
TEST(every_size_reads_what_every_other_wrote) {
    for (int n : {1, 2, 4, 8, 16}) {
        MemoryFiles files;
        uint32_t restart = 0;
        run_ranks(n, [&](Group &group) {
            Store store(files, kDirectory, incarnation(0), 3);
            Model model(group.rank(), n);
            model.fill(42);
            expect_ok(save_with(group, store, model, 42));
        });
        for (int m : {1, 2, 4, 8, 16, 3}) {
            ++restart;
            run_ranks(m, [&](Group &group) {
                Store store(files, kDirectory, incarnation(restart), 3);
                Model model(group.rank(), m);
                Manifest manifest;
                expect_ok(load(group, store, model.buffers(), manifest));
                ck_assert(model.is(42));
                ck_assert_uint_eq(manifest.ranks, n);
                ck_assert_uint_eq(manifest.samples, 42 * 64);
                ck_assert_uint_eq(manifest.speeds.size(), 2);
            });
        }
    }
}

// F18: each size reads and changes what the previous size wrote, up and down.
TEST(a_chain_of_sizes_keeps_every_bit) {
    MemoryFiles files;
    uint32_t restart = 0;
    for (int size : {1, 2, 4, 8, 4, 1, 16, 3}) {
        run_ranks(size, [&](Group &group) {
            Store store(files, kDirectory, incarnation(restart), 3);
            Model model(group.rank(), size);
            Manifest manifest;
            Status loaded = load(group, store, model.buffers(), manifest);
            ck_assert_int_eq(loaded.code, restart == 0 ? RINGRT_NOT_FOUND : RINGRT_OK);
            if (restart > 0) ck_assert_uint_eq(manifest.step, restart);
            ck_assert(restart == 0 || model.is(restart));
            model.fill(restart + 1);
            expect_ok(save_with(group, store, model, restart + 1));
        });
        ++restart;
    }
}

TEST(a_background_save_keeps_its_step) {
    MemoryFiles files;
    run_ranks(4, [&](Group &group) {
        Store store(files, kDirectory, incarnation(0), 3);
        Saver saver(group, store, kSmall);
        Model model(group.rank(), 4);
        model.fill(10);
        expect_ok(saver.start(model.buffers(), {.step = 10}, SaveMode::in_background));
        model.fill(11);  // training continues
        expect_ok(saver.finish());
    });
    ck_assert_uint_eq(loaded_step(files), 10);
}

TEST(first_start_is_not_found) {
    MemoryFiles files;
    uint64_t step = 77;
    ck_assert_int_eq(load_alone(files, step).code, RINGRT_NOT_FOUND);
    ck_assert_uint_eq(step, 77);
}

TEST(other_parameters_are_a_mismatch_and_not_set_aside) {
    auto files = with_steps({5});
    run_ranks(1, [&](Group &group) {
        Store store(*files, kDirectory, incarnation(1), 3);
        Model model(0, 1);
        Manifest manifest;
        std::vector<Buffer> fewer = {model.buffers()[0], model.buffers()[2]};
        Status out = load(group, store, fewer, manifest);
        ck_assert_int_eq(out.code, RINGRT_MISMATCH);
        EXPECT_TEXT(out.message, "the checkpoint holds b, which is not registered");
        std::vector<Buffer> other = model.buffers();
        other[0].parameter.shape = {3, 167};
        ck_assert_int_eq(load(group, store, other, manifest).code, RINGRT_MISMATCH);
        other = model.buffers();
        other[1].parameter.name = "bb";
        ck_assert_int_eq(load(group, store, other, manifest).code, RINGRT_MISMATCH);
    });
    ck_assert_uint_eq(loaded_step(*files, 2), 5);
}

TEST(ranks_that_disagree_are_a_mismatch) {
    MemoryFiles files;
    run_ranks(3, [&](Group &group) {
        Store store(files, kDirectory, incarnation(0), 3);
        Model model(group.rank(), 3);
        std::vector<Buffer> buffers = model.buffers();
        if (group.rank() == 2) buffers[1].parameter.dtype = RINGRT_INT64;
        Status out = agree_on_parameters(group, buffers, 1, &buffers);
        ck_assert_int_eq(out.code, RINGRT_MISMATCH);
        ck_assert(contains(out.message, "rank 2"));
        out = agree_on_parameters(group, model.buffers(), group.rank() == 1 ? 2 : 1, &buffers);
        EXPECT_TEXT(out.message, "rank 1 is at step 2, rank 0 at step 1");
        Model overlapping(0, 3);  // every rank claims rank 0's rows
        out = agree_on_parameters(group, overlapping.buffers(), 1, &buffers);
        ck_assert_int_eq(out.code, RINGRT_MISMATCH);
        EXPECT_TEXT(out.message, "buffer c: the blocks of ranks 0 and 1 overlap at [0, 0]");
    });
}

// F14: a thousand single flipped bits anywhere.
TEST(a_thousand_flipped_bits_are_all_found) {
    auto before = with_steps({1100, 1200});
    std::vector<std::string> paths = before->files_under(kDirectory);
    std::erase_if(paths, [&](const std::string &path) { return before->data(path).empty(); });
    std::mt19937_64 random(14);
    int fell_back = 0;
    for (int i = 0; i < 1000; ++i) {
        MemoryFiles files;
        files.copy_from(*before);
        const std::string &path = paths[random() % paths.size()];
        std::vector<std::byte> &data = files.data(path);
        const uint64_t bit = random() % (data.size() * 8);
        data[bit / 8] ^= std::byte{1} << bit % 8;
        const uint64_t step = loaded_step(files);  // checks the content as well
        const bool in_newest = contains(path, "step-000000001200/");
        ck_assert_msg(step == (in_newest ? 1100u : 1200u), "%s bit %d: step %d", path.c_str(),
                      int(bit), int(step));
        ck_assert(!in_newest || files.find(std::string(kDirectory) + "/step-000000001200.bad"));
        fell_back += in_newest;
        ck_assert_uint_eq(loaded_step(files, 2), step);  // and remains so
    }
    ck_assert_int_gt(fell_back, 100);
}

// F13: truncated, missing, or one too many.
TEST(shards_of_the_wrong_size_or_number_fall_back) {
    auto before = with_steps({1100, 1200});
    const std::string shard = std::string(kDirectory) + "/step-000000001200/shard-00000";
    const size_t size = before->data(shard).size();
    for (size_t length : {size_t{0}, size_t{1}, size / 2, size - 1, size + 1, size + 32}) {
        MemoryFiles files;
        files.copy_from(*before);
        files.data(shard).resize(length);
        ck_assert_uint_eq(loaded_step(files), 1100);
    }
    for (const char *name : {"/step-000000001200/shard-00000", "/step-000000001200/manifest"}) {
        MemoryFiles files;
        files.copy_from(*before);
        ck_assert_int_eq(files.remove(kDirectory + std::string(name)), 0);
        ck_assert_uint_eq(loaded_step(files), 1100);
    }
    MemoryFiles files;
    files.copy_from(*before);
    files.put(std::string(kDirectory) + "/step-000000001200/shard-00001", "x");
    ck_assert_uint_eq(loaded_step(files), 1100);
    MemoryFiles named;
    named.copy_from(*before);
    ck_assert_int_eq(named.remove(std::string(kDirectory) + "/LATEST"), 0);
    named.put(std::string(kDirectory) + "/LATEST", "garbage");
    ck_assert_uint_eq(loaded_step(named), 1200);
}

// F15: never a silent fresh start, even at the second try.
TEST(all_corrupt_is_reported_every_time) {
    auto files = with_steps({1000, 1100, 1200});
    for (const char *step : {"1000", "1100", "1200"})
        files->data(std::string(kDirectory) + "/step-00000000" + step + "/manifest")[40] ^=
            std::byte{4};
    for (uint32_t restart : {1u, 2u, 3u}) {
        uint64_t step = 0;
        Status out = load_alone(*files, step, restart);
        ck_assert_int_eq(out.code, RINGRT_CORRUPT);
        for (const char *name :
             {"step-000000001000.bad", "step-000000001100.bad", "step-000000001200.bad"})
            ck_assert_msg(contains(out.message, name), "%s", out.message.c_str());
    }
}

// F19: disk use is bounded, and the checkpoint from which this run started stays.
TEST(a_thousand_saves_keep_three_and_the_start) {
    auto files = with_steps({1, 2, 3});
    const uint64_t one = files->bytes_under(kDirectory) / 3;
    uint64_t started_from = loaded_step(*files, 1);
    run_ranks(1, [&](Group &group) {
        Store store(*files, kDirectory, incarnation(2), 3);
        Model model(0, 1);
        Manifest manifest;
        expect_ok(load(group, store, model.buffers(), manifest));
        for (uint64_t step = 4; step < 1004; ++step) {
            model.fill(step);
            expect_ok(save_with(group, store, model, step));
            ck_assert(files->find(std::string(kDirectory) +
                                  format_text("/step-%012d/manifest", int(started_from))));
            ck_assert_uint_le(files->bytes_under(kDirectory), 5 * one);
        }
    });
    ck_assert_uint_eq(loaded_step(*files, 3), 1003);
    ck_assert_uint_eq(files->find(kDirectory)->entries.size(),
                      6);  // 3 and the start, the fence, LATEST
}

// F19: each resize is a separate incarnation, and its start checkpoint outlives its saves.
TEST(a_thousand_resizes_keep_the_disk_as_it_was) {
    auto files = with_steps({1, 2, 3});
    const uint64_t one = files->bytes_under(kDirectory) / 3;
    for (uint32_t resize = 1; resize <= 1000; ++resize) {
        const int size = 1 << resize % 3;
        run_ranks(size, [&](Group &group) {
            Store store(*files, kDirectory, incarnation(resize), 3);
            Model model(group.rank(), size);
            Manifest manifest;
            expect_ok(load(group, store, model.buffers(), manifest));
            ck_assert_uint_eq(manifest.step, 2 + resize);
            ck_assert(model.is(manifest.step));
            model.fill(manifest.step + 1);
            expect_ok(save_with(group, store, model, manifest.step + 1));
        });
        ck_assert(files->find(kDirectory + format_text("/step-%012u/manifest", 2 + resize)));
        ck_assert_uint_le(files->bytes_under(kDirectory), 5 * one);
        ck_assert_uint_le(files->find(kDirectory)->entries.size(), 6);
    }
}

TEST(a_step_can_be_saved_again) {
    auto files = with_steps({1200, 1200, 1200, 1200});
    ck_assert_uint_eq(loaded_step(*files), 1200);
    ck_assert(files->find(std::string(kDirectory) + "/step-000000001200.3/manifest"));
}

int main() { return ringrt::test::run_all("checkpoint"); }
