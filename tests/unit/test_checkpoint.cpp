// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints against crashes, broken disks, damage, full disks and other incarnations.
#include <algorithm>
#include <numeric>

#include "libringrt/checkpoint/hash.h"
#include "libringrt/checkpoint/load.h"
#include "libringrt/checkpoint/save.h"
#include "tests/support/check.h"
#include "tests/support/memory_files.h"
#include "tests/support/thread_peers.h"

using namespace ringrt;
using namespace ringrt::checkpoint;
using ringrt::test::Crash;
using ringrt::test::MemoryFiles;
using ringrt::test::run_ranks;

namespace {

constexpr const char *kFolder = "/run/ckpt";
// Small pieces and writers, so that a few kilobytes make many of both.
constexpr LayoutOptions kSmall{.piece_bytes = 256, .writer_bytes = 64};

// A training's state: two whole parameters and one by rows, filled from the step.
class Model {
  public:
    Model(int rank, int size) {
        rows_first_ = 37 * static_cast<uint64_t>(rank) / static_cast<uint64_t>(size);
        rows_ = 37 * static_cast<uint64_t>(rank + 1) / static_cast<uint64_t>(size) - rows_first_;
        a_.resize(501);
        b_.resize(3);
        c_.resize(rows_ * 11);
        buffers_ = {buffer("a/weights", a_.data(), a_.size() * 4, RINGRT_FLOAT32, {167, 3}),
                    buffer("b", b_.data(), b_.size() * 8, RINGRT_FLOAT64, {3}),
                    buffer("c", c_.data(), c_.size() * 4, RINGRT_INT32, {37, 11})};
        buffers_[2].parameter.by_rows = true;
        buffers_[2].offset = rows_first_ * 11 * 4;
    }
    Model(const Model &) = delete;

    void fill(uint64_t step) {
        for (size_t i = 0; i < a_.size(); ++i) a_[i] = static_cast<float>(step * 1000 + i);
        for (size_t i = 0; i < b_.size(); ++i)
            b_[i] = static_cast<double>(step) + 0.1 * static_cast<double>(i);
        for (size_t i = 0; i < c_.size(); ++i)
            c_[i] = static_cast<int32_t>(step * 7919 + rows_first_ * 11 + i);
    }
    bool is(uint64_t step) const {
        Model other(0, 1);
        other.rows_first_ = rows_first_;
        other.c_.resize(c_.size());
        other.fill(step);
        return a_ == other.a_ && b_ == other.b_ && c_ == other.c_;
    }
    const std::vector<Buffer> &buffers() const { return buffers_; }

  private:
    static Buffer buffer(const char *name, void *data, uint64_t bytes, ringrt_dtype_t dtype,
                         std::vector<uint64_t> shape) {
        return {.parameter = {.name = name, .dtype = dtype, .shape = std::move(shape)},
                .data = static_cast<std::byte *>(data),
                .bytes = bytes};
    }
    uint64_t rows_first_ = 0, rows_ = 0;
    std::vector<float> a_;
    std::vector<double> b_;
    std::vector<int32_t> c_;
    std::vector<Buffer> buffers_;
};

Fence incarnation(uint32_t restart) {
    return {.job = 7, .restart = restart, .nonce = 0x1000 + restart};
}

Outcome save_with(Peers &peers, Store &store, const Model &model, uint64_t step) {
    Saver saver(peers, store, kSmall);
    Meta meta{.step = step, .samples = step * 64, .seed = 5, .speeds = {{1, 520.5}, {4, 131.25}}};
    if (Outcome started = saver.start(model.buffers(), meta, SaveMode::inline_write); !started.ok())
        return started;
    return saver.finish();
}

// One rank alone, as an incarnation of its own.
Outcome save_alone(Files &files, uint64_t step, uint32_t restart = 0, size_t keep = 3) {
    Outcome out;
    run_ranks(1, [&](Peers &peers) {
        Store store(files, kFolder, incarnation(restart), keep);
        Model model(0, 1);
        model.fill(step);
        out = save_with(peers, store, model, step);
    });
    return out;
}

// Loads alone; ok only where the content is that of the step it names.
Outcome load_alone(Files &files, uint64_t &step, uint32_t restart = 1) {
    Outcome out;
    run_ranks(1, [&](Peers &peers) {
        Store store(files, kFolder, incarnation(restart), 3);
        Model model(0, 1);
        Manifest manifest;
        out = load(peers, store, model.buffers(), manifest);
        if (!out.ok()) return;
        step = manifest.step;
        if (!model.is(step))
            throw std::runtime_error(text("the content is not that of step %d", int(step)));
    });
    return out;
}

uint64_t loaded_step(Files &files, uint32_t restart = 1) {
    uint64_t step = 0;
    Outcome out = load_alone(files, step, restart);
    ck_assert_msg(out.ok(), "load: %s (%s)", ringrt::text("%d", out.status).c_str(),
                  out.message.c_str());
    return step;
}

void expect_ok(const Outcome &outcome) {
    ck_assert_msg(outcome.ok(), "%s", outcome.message.c_str());
}

std::unique_ptr<MemoryFiles> with_steps(std::initializer_list<uint64_t> steps) {
    auto files = std::make_unique<MemoryFiles>();
    for (uint64_t step : steps) expect_ok(save_alone(*files, step));
    return files;
}

// Does something else just before the operation numbered `at`.
class Hooked final : public Files {
  public:
    Hooked(MemoryFiles &under, std::function<void()> hook, int64_t at)
        : under_(under), hook_(std::move(hook)), at_(at) {}
    int open_new(const std::string &path) override { return tick().open_new(path); }
    int open_read(const std::string &path) override { return tick().open_read(path); }
    int64_t write(int fd, std::span<const std::byte> bytes) override {
        return tick().write(fd, bytes);
    }
    int64_t read_at(int fd, std::span<std::byte> bytes, uint64_t offset) override {
        return tick().read_at(fd, bytes, offset);
    }
    int64_t size(int fd) override { return under_.size(fd); }
    int start_writeback(int, uint64_t, uint64_t) override { return 0; }
    int sync_data(int fd) override { return tick().sync_data(fd); }
    int close(int fd) override { return tick().close(fd); }
    int make_folder(const std::string &path) override { return tick().make_folder(path); }
    int sync_folder(const std::string &path) override { return tick().sync_folder(path); }
    int rename(const std::string &from, const std::string &to) override {
        return tick().rename(from, to);
    }
    int remove(const std::string &path) override { return tick().remove(path); }
    int remove_folder(const std::string &path) override { return tick().remove_folder(path); }
    int list(const std::string &path, std::vector<std::string> &names) override {
        return tick().list(path, names);
    }
    int64_t free_bytes(const std::string &path) override { return under_.free_bytes(path); }

  private:
    MemoryFiles &tick() {
        if (number_++ == at_) hook_();
        return under_;
    }
    MemoryFiles &under_;
    std::function<void()> hook_;
    int64_t at_, number_ = 0;
};

bool contains(const std::string &text, const char *part) { return text.find(part) != text.npos; }

}  // namespace

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
    Manifest manifest{
        .fence = incarnation(3),
        .step = 1200,
        .samples = 76800,
        .seed = 9,
        .ranks = 4,
        .time_s = 1763721600,
        .speeds = {{1, 520.1}, {4, 0.25}},
        .gradients = "1 7 16 9.4 88 1 2560 3000 1500",
        .parameters = {{"a", RINGRT_FLOAT32, {64, 10}, true}, {"b/c", RINGRT_UINT8, {}, false}},
        .shards = {{0, 2560, 1, 0x0123456789abcdef}, {3, 1, 1, 1}}};
    const std::string good = format_manifest(manifest);
    Manifest back;
    expect_ok(parse_manifest(good, back));
    EXPECT_TEXT(format_manifest(back), good);
    EXPECT_TEXT(back.gradients, manifest.gradients);
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
        std::string bad = good;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
        ck_assert_msg(!parse_manifest(bad, back).ok(), "bit %zu", bit);
        ck_assert(!parse_manifest(good.substr(0, bit / 8), back).ok());
    }
}

// With the right hash, as somebody would write who wants to harm.
TEST(manifest_bombs_are_refused) {
    auto sealed = [](std::string body) {
        return body + text("end %016llx\n", static_cast<unsigned long long>(hash_text(body)));
    };
    const std::string head =
        "ringrt-checkpoint 1\njob 7 restart 0 nonce 0000000000000001\n"
        "step 1 samples 1 seed 0 ranks 2 time 1\n";
    Manifest out;
    expect_ok(parse_manifest(
        sealed(head + "param float32 whole 1 4 a\nshard 0 16 1 0000000000000001\n"), out));
    for (const std::string &bad :
         {std::string("param float32 whole 1 4 ../a\n"),
          std::string("param float32 whole 1 4 a\0b\n", 28),
          std::string("param float32 whole 1 4 a\nparam float32 whole 1 4 a\n"),  // twice
          std::string("param float32 whole 1 4 b\nparam float32 whole 1 4 a\n"),  // not in order
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
          std::string("speed 0 nan\n"),
          std::string("speed 1 inf\n"),
          std::string("speed 1 -1\n"),
          std::string("gradients 1\ngradients 1\n"),
          std::string("gradients \n"),
          std::string("gradients 1\t2\n"),
          std::string("param float32 whole 1 4 a\ngradients 1\n"),
          "gradients " + std::string(kGradientsBytesMax + 1, '1') + "\n",
          std::string("step 1 samples 1 seed 0 ranks 2 time 1\n"),
          std::string("[[[[[[\n"),
          std::string("\n"),
          std::string("param\n"),
          std::string("param float32 whole 1 4 a \n")}) {
        Outcome refused = parse_manifest(sealed(head + bad), out);
        ck_assert_msg(refused.status == RINGRT_CORRUPT, "accepted: %s", bad.c_str());
    }
    std::string many = head;
    for (size_t i = 0; i <= kParametersMax; ++i) many += text("param uint8 whole 0 p%05zu\n", i);
    ck_assert(!parse_manifest(sealed(many), out).ok());
    ck_assert(!parse_manifest(std::string(kManifestBytesMax + 1, '['), out).ok());
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; ++i) {
        std::string body = head + "param float32 whole 1 4 a\nshard 0 16 1 0000000000000001\n";
        for (uint64_t n = random() % 4 + 1; n > 0; --n)
            body[random() % body.size()] = static_cast<char>(random());
        (void)parse_manifest(sealed(body), out);  // whatever it says, it must not crash
    }
}

// F18: any number of ranks writes, any other reads, bit for bit.
TEST(every_size_reads_what_every_other_wrote) {
    for (int n : {1, 2, 4, 8, 16}) {
        MemoryFiles files;
        uint32_t restart = 0;
        run_ranks(n, [&](Peers &peers) {
            Store store(files, kFolder, incarnation(0), 3);
            Model model(peers.rank(), n);
            model.fill(42);
            expect_ok(save_with(peers, store, model, 42));
        });
        for (int m : {1, 2, 4, 8, 16, 3}) {
            ++restart;
            run_ranks(m, [&](Peers &peers) {
                Store store(files, kFolder, incarnation(restart), 3);
                Model model(peers.rank(), m);
                Manifest manifest;
                expect_ok(load(peers, store, model.buffers(), manifest));
                ck_assert(model.is(42));
                ck_assert_uint_eq(manifest.ranks, n);
                ck_assert_uint_eq(manifest.samples, 42 * 64);
                ck_assert_uint_eq(manifest.speeds.size(), 2);
            });
        }
    }
}

TEST(a_save_in_the_background_keeps_its_step) {
    MemoryFiles files;
    run_ranks(4, [&](Peers &peers) {
        Store store(files, kFolder, incarnation(0), 3);
        Saver saver(peers, store, kSmall);
        Model model(peers.rank(), 4);
        model.fill(10);
        expect_ok(saver.start(model.buffers(), {.step = 10}, SaveMode::in_background));
        model.fill(11);  // training goes on
        expect_ok(saver.finish());
    });
    ck_assert_uint_eq(loaded_step(files), 10);
}

TEST(first_start_is_not_found) {
    MemoryFiles files;
    uint64_t step = 77;
    ck_assert_int_eq(load_alone(files, step).status, RINGRT_NOT_FOUND);
    ck_assert_uint_eq(step, 77);
}

TEST(other_parameters_are_a_mismatch_and_not_set_aside) {
    auto files = with_steps({5});
    run_ranks(1, [&](Peers &peers) {
        Store store(*files, kFolder, incarnation(1), 3);
        Model model(0, 1);
        Manifest manifest;
        std::vector<Buffer> fewer = {model.buffers()[0], model.buffers()[2]};
        Outcome out = load(peers, store, fewer, manifest);
        ck_assert_int_eq(out.status, RINGRT_MISMATCH);
        EXPECT_TEXT(out.message, "the checkpoint holds b, which is not registered");
        std::vector<Buffer> other = model.buffers();
        other[0].parameter.shape = {3, 167};
        ck_assert_int_eq(load(peers, store, other, manifest).status, RINGRT_MISMATCH);
        other = model.buffers();
        other[1].parameter.name = "bb";
        ck_assert_int_eq(load(peers, store, other, manifest).status, RINGRT_MISMATCH);
    });
    ck_assert_uint_eq(loaded_step(*files, 2), 5);
}

TEST(ranks_that_disagree_are_a_mismatch) {
    MemoryFiles files;
    run_ranks(3, [&](Peers &peers) {
        Store store(files, kFolder, incarnation(0), 3);
        Model model(peers.rank(), 3);
        std::vector<Buffer> buffers = model.buffers();
        if (peers.rank() == 2) buffers[1].parameter.dtype = RINGRT_INT64;
        Outcome out = agree_on_parameters(peers, buffers, 1);
        ck_assert_int_eq(out.status, RINGRT_MISMATCH);
        ck_assert(contains(out.message, "rank 2"));
        out = agree_on_parameters(peers, model.buffers(), peers.rank() == 1 ? 2 : 1);
        EXPECT_TEXT(out.message, "rank 1 is at step 2, rank 0 at step 1");
        Model overlapping(0, 3);  // every rank claims rank 0's rows
        out = agree_on_parameters(peers, overlapping.buffers(), 1);
        ck_assert_int_eq(out.status, RINGRT_MISMATCH);
        ck_assert(contains(out.message, "tile"));
    });
}

// F11: the machine or the process dies at any operation of a save, and whatever was not synced is
// lost, kept, or kept in part.
TEST(a_crash_at_any_operation_leaves_the_old_or_the_new) {
    auto before = with_steps({1000, 1100});
    MemoryFiles dry;
    dry.copy_from(*before);
    expect_ok(save_alone(dry, 1200, 1));
    const int64_t operations = dry.operations;
    ck_assert_int_gt(operations, 20);
    int old_ones = 0, new_ones = 0;
    std::mt19937_64 random(11);
    for (int64_t at = 0; at <= operations; ++at)
        for (int variant = 0; variant < 12; ++variant) {
            MemoryFiles files;
            files.copy_from(*before);
            files.fault = [at](int64_t number, const char *) -> int {
                if (number >= at) throw Crash();
                return 0;
            };
            bool returned = false;
            try {
                returned = save_alone(files, 1200, 1).ok();
            } catch (const Crash &) {
            }
            files.fault = nullptr;
            files.crash(variant == 0   ? MemoryFiles::Loss::nothing
                        : variant == 1 ? MemoryFiles::Loss::unsynced
                                       : MemoryFiles::Loss::random,
                        random);
            const uint64_t step = loaded_step(files, 2);
            ck_assert_msg(step == 1100 || step == 1200, "crash at %d: step %d", int(at), int(step));
            ck_assert_msg(!returned || step == 1200, "crash at %d: the save had returned", int(at));
            (step == 1200 ? new_ones : old_ones)++;
            expect_ok(save_alone(files, 1300, 3));
            ck_assert_uint_eq(loaded_step(files, 4), 1300);
        }
    ck_assert_int_gt(old_ones, 0);
    ck_assert_int_gt(new_ones, 0);
}

TEST(a_crash_at_any_operation_of_a_load_harms_nothing) {
    auto before = with_steps({1000, 1100});
    before->data(std::string(kFolder) + "/step-000000001100/shard-00000")[5] ^= std::byte{1};
    std::mt19937_64 random(5);
    for (int64_t at = 0;; ++at) {
        MemoryFiles files;
        files.copy_from(*before);
        files.fault = [at](int64_t number, const char *name) -> int {
            if (number >= at && std::string(name) != "close") throw Crash();  // destructors close
            return 0;
        };
        bool crashed = false;
        try {
            ck_assert_uint_eq(loaded_step(files), 1000);
        } catch (const Crash &) {
            crashed = true;
        }
        files.fault = nullptr;
        files.crash(MemoryFiles::Loss::random, random);
        ck_assert_uint_eq(loaded_step(files, 2), 1000);
        if (!crashed) break;
    }
}

// F12: every operation fails once, with every error; training goes on and the next save works.
TEST(an_error_at_any_operation_costs_one_save_at_most) {
    auto before = with_steps({1000, 1100});
    for (int error : {ENOSPC, EDQUOT, EIO, EACCES}) {
        for (int64_t at = 0;; ++at) {
            MemoryFiles files;
            files.copy_from(*before);
            std::string failed;
            files.fault = [&](int64_t number, const char *name) {
                if (number == at) failed = name;
                return number == at ? error : 0;
            };
            Outcome out = save_alone(files, 1200, 1);
            files.fault = nullptr;
            if (failed.empty()) break;
            ck_assert_msg(out.ok() || out.status == RINGRT_CHECKPOINT_FAILED, "%s at %d: %d %s",
                          failed.c_str(), int(at), out.status, out.message.c_str());
            if (!out.ok() && error == ENOSPC && failed == "write")
                ck_assert_msg(contains(out.message, "checkpoint failed: no space left"), "%s",
                              out.message.c_str());
            MemoryFiles copy;
            copy.copy_from(files);
            const uint64_t step = loaded_step(copy, 2);
            ck_assert_msg(step == 1200 || (step == 1100 && !out.ok()), "%s at %d: step %d",
                          failed.c_str(), int(at), int(step));
            expect_ok(save_alone(files, 1201, 1));
            ck_assert_uint_eq(loaded_step(files, 3), 1201);
        }
    }
}

TEST(a_disk_that_fails_for_ever_costs_only_the_new_checkpoint) {
    auto before = with_steps({1000, 1100});
    for (const char *broken :
         {"open_new", "write", "sync_data", "close", "sync_folder", "rename", "make_folder"}) {
        MemoryFiles files;
        files.copy_from(*before);
        files.fault = [&](int64_t, const char *name) {
            return std::string(name) == broken ? EIO : 0;
        };
        Outcome out = save_alone(files, 1200, 1);
        ck_assert_msg(out.status == RINGRT_CHECKPOINT_FAILED, "%s: %s", broken,
                      out.message.c_str());
        files.fault = nullptr;
        uint64_t step = loaded_step(files, 2);
        ck_assert_msg(step == 1100 || step == 1200, "%s: %d", broken, int(step));
    }
}

TEST(short_and_interrupted_writes_and_reads_are_gone_on_with) {
    MemoryFiles files;
    files.write_max = 7;
    files.fault = [](int64_t number, const char *name) {
        bool transfers = std::string(name) == "write" || std::string(name) == "read";
        return transfers && number % 3 == 0 ? EINTR : 0;
    };
    expect_ok(save_alone(files, 3));
    ck_assert_uint_eq(loaded_step(files), 3);
}

TEST(a_full_disk_is_seen_before_anything_is_written) {
    auto files = with_steps({1100});
    files->free_space = 1000;
    int64_t writes = 0;
    files->fault = [&](int64_t, const char *name) {
        return writes += std::string(name) == "make_folder", 0;
    };
    Outcome out = save_alone(*files, 1200);
    ck_assert_int_eq(out.status, RINGRT_CHECKPOINT_FAILED);
    ck_assert_msg(
        contains(
            out.message,
            "checkpoint failed: no space left (needs 1.0 MiB, has 1000 B): free some in /run/ckpt"),
        "%s", out.message.c_str());
    ck_assert_int_eq(writes, 1);  // the checkpoint folder's own, no .tmp-
    ck_assert_uint_eq(loaded_step(*files), 1100);
}

// F14: a thousand single flipped bits, anywhere.
TEST(a_thousand_flipped_bits_are_all_found) {
    auto before = with_steps({1100, 1200});
    std::vector<std::string> paths = before->files_under(kFolder);
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
        const uint64_t step = loaded_step(files);  // also checks the content
        const bool in_newest = contains(path, "step-000000001200/");
        ck_assert_msg(step == (in_newest ? 1100u : 1200u), "%s bit %d: step %d", path.c_str(),
                      int(bit), int(step));
        ck_assert(!in_newest || files.find(std::string(kFolder) + "/step-000000001200.bad"));
        fell_back += in_newest;
        ck_assert_uint_eq(loaded_step(files, 2), step);  // and stays so
    }
    ck_assert_int_gt(fell_back, 100);
}

// F13: truncated, missing, one too many.
TEST(shards_of_the_wrong_size_or_number_fall_back) {
    auto before = with_steps({1100, 1200});
    const std::string shard = std::string(kFolder) + "/step-000000001200/shard-00000";
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
        ck_assert_int_eq(files.remove(kFolder + std::string(name)), 0);
        ck_assert_uint_eq(loaded_step(files), 1100);
    }
    MemoryFiles files;
    files.copy_from(*before);
    files.put(std::string(kFolder) + "/step-000000001200/shard-00001", "x");
    ck_assert_uint_eq(loaded_step(files), 1100);
    MemoryFiles named;
    named.copy_from(*before);
    ck_assert_int_eq(named.remove(std::string(kFolder) + "/LATEST"), 0);
    named.put(std::string(kFolder) + "/LATEST", "garbage");
    ck_assert_uint_eq(loaded_step(named), 1200);
}

// F15: never a silent fresh start, not even at the second try.
TEST(all_corrupt_is_said_and_stays_said) {
    auto files = with_steps({1000, 1100, 1200});
    for (const char *step : {"1000", "1100", "1200"})
        files->data(std::string(kFolder) + "/step-00000000" + step + "/manifest")[40] ^=
            std::byte{4};
    for (uint32_t restart : {1u, 2u, 3u}) {
        uint64_t step = 0;
        Outcome out = load_alone(*files, step, restart);
        ck_assert_int_eq(out.status, RINGRT_CORRUPT);
        for (const char *name :
             {"step-000000001000.bad", "step-000000001100.bad", "step-000000001200.bad"})
            ck_assert_msg(contains(out.message, name), "%s", out.message.c_str());
    }
}

// F19: disk use is bounded, and what this run started from stays.
TEST(a_thousand_saves_keep_three_and_the_start) {
    auto files = with_steps({1, 2, 3});
    const uint64_t one = files->bytes_under(kFolder) / 3;
    uint64_t started_from = loaded_step(*files, 1);
    run_ranks(1, [&](Peers &peers) {
        Store store(*files, kFolder, incarnation(2), 3);
        Model model(0, 1);
        Manifest manifest;
        expect_ok(load(peers, store, model.buffers(), manifest));
        for (uint64_t step = 4; step < 1004; ++step) {
            model.fill(step);
            expect_ok(save_with(peers, store, model, step));
            ck_assert(files->find(std::string(kFolder) +
                                  text("/step-%012d/manifest", int(started_from))));
            ck_assert_uint_le(files->bytes_under(kFolder), 5 * one);
        }
    });
    ck_assert_uint_eq(loaded_step(*files, 3), 1003);
    ck_assert_uint_eq(files->find(kFolder)->entries.size(),
                      6);  // 3 and the start, the fence, LATEST
}

TEST(a_step_can_be_saved_again) {
    auto files = with_steps({1200, 1200, 1200, 1200});
    ck_assert_uint_eq(loaded_step(*files), 1200);
    ck_assert(files->find(std::string(kFolder) + "/step-000000001200.3/manifest"));
}

// F17: at every operation of an old incarnation's save, the new one starts and reads. From then on
// the old one commits nothing.
TEST(an_old_incarnation_never_commits_after_a_new_one_looked) {
    int stopped = 0, before_it = 0;
    for (int64_t at = 0;; ++at) {
        auto files = with_steps({1100});
        uint64_t seen = 0;
        bool during = false;
        Hooked old_files(
            *files,
            [&] {
                during = true;
                seen = loaded_step(*files, 2);
            },
            at);
        Outcome out = save_alone(old_files, 1200, 1);
        if (!during) break;
        ck_assert_msg(
            out.ok() || out.status == RINGRT_SUPERSEDED || out.status == RINGRT_CHECKPOINT_FAILED,
            "at %d: %s", int(at), out.message.c_str());
        if (out.status == RINGRT_SUPERSEDED) {
            ++stopped;
            ck_assert_msg(contains(out.message, "superseded by restart 2"), "%s",
                          out.message.c_str());
        }
        if (out.ok()) {
            ++before_it;
            ck_assert_msg(seen == 1200, "at %d: committed after the new one read step %d", int(at),
                          int(seen));
        }
        ck_assert_uint_eq(loaded_step(*files, 3), seen);  // nothing came after
    }
    ck_assert_int_gt(stopped, 10);
    ck_assert_int_gt(before_it, 0);
}

TEST(a_new_incarnation_is_not_undone_by_an_older_start) {
    auto files = with_steps({1100});
    ck_assert_uint_eq(loaded_step(*files, 3), 1100);
    uint64_t step = 0;
    Outcome out = load_alone(*files, step, 2);
    ck_assert_int_eq(out.status, RINGRT_SUPERSEDED);
    EXPECT_TEXT(out.message,
                "superseded by restart 3: this one must not write checkpoints, and ends");
}

int main() {
    return ringrt::test::run_all("checkpoint",
                                 {hash_is_xxh64,
                                  names_are_checked,
                                  pieces_of_all_ranks_tile,
                                  manifest_round_trip_and_every_flipped_bit,
                                  manifest_bombs_are_refused,
                                  every_size_reads_what_every_other_wrote,
                                  a_save_in_the_background_keeps_its_step,
                                  first_start_is_not_found,
                                  other_parameters_are_a_mismatch_and_not_set_aside,
                                  ranks_that_disagree_are_a_mismatch,
                                  a_crash_at_any_operation_leaves_the_old_or_the_new,
                                  a_crash_at_any_operation_of_a_load_harms_nothing,
                                  an_error_at_any_operation_costs_one_save_at_most,
                                  a_disk_that_fails_for_ever_costs_only_the_new_checkpoint,
                                  short_and_interrupted_writes_and_reads_are_gone_on_with,
                                  a_full_disk_is_seen_before_anything_is_written,
                                  a_thousand_flipped_bits_are_all_found,
                                  shards_of_the_wrong_size_or_number_fall_back,
                                  all_corrupt_is_said_and_stays_said,
                                  a_thousand_saves_keep_three_and_the_start,
                                  a_step_can_be_saved_again,
                                  an_old_incarnation_never_commits_after_a_new_one_looked,
                                  a_new_incarnation_is_not_undone_by_an_older_start});
}
