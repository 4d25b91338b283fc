// SPDX-License-Identifier: BSD-3-Clause
// The hook before a save, and the program's own files.
#include <filesystem>
#include <fstream>

#include "tests/multiproc/checkpoint_ranks.h"

using namespace ringrt::test;

namespace fs = std::filesystem;

namespace {

struct Hook {
    CheckpointRank at;
    TestTensor *tensor = nullptr;  // filled by the hook
    uint64_t fails_at = 0;
    const char *line = "";
    int calls = 0;
    ringrt_status_t nested = RINGRT_OK;

    static int call(void *context, uint64_t step, char *error, size_t bytes) {
        auto &hook = *static_cast<Hook *>(context);
        ++hook.calls;
        if (hook.tensor) hook.tensor->fill(step);
        hook.nested = ringrt_checkpoint_save(hook.at.checkpoint, step);
        if (step != hook.fails_at) return 0;
        snprintf(error, bytes, "%s", hook.line);
        return 3;
    }
};

size_t entries(const std::string &directory, const std::string &prefix) {
    size_t out = 0;
    for (const auto &entry : fs::directory_iterator(directory))
        out += entry.path().filename().string().starts_with(prefix);
    return out;
}

// Writes and reads one file of each rank.
struct Saver {
    int rank = 0;
    uint64_t fails_at = 0;
    std::string loaded;

    static int save(void *context, const char *directory, uint64_t step, char *error,
                    size_t bytes) {
        auto &saver = *static_cast<Saver *>(context);
        if (step == saver.fails_at) {
            snprintf(error, bytes, "out of ink");
            return 1;
        }
        std::ofstream(std::string(directory) + "/own." + std::to_string(saver.rank))
            << "step " << step;
        return 0;
    }
    static int load(void *context, const char *directory, uint64_t, char *, size_t) {
        auto &saver = *static_cast<Saver *>(context);
        for (int rank = 0; fs::exists(std::string(directory) + "/own." + std::to_string(rank));
             ++rank) {
            std::ifstream file(std::string(directory) + "/own." + std::to_string(rank));
            std::string line;
            getline(file, line);
            saver.loaded += line + ";";
        }
        return 0;
    }
};

}  // namespace

TEST(the_hook_runs_before_anything_is_read) {
    TemporaryDirectory directory;
    on_checkpoints(3, directory.path, [](const CheckpointRank &at) -> std::string {
        TestModel model(at, 1);
        TRY_TEXT(model.add_to(at.checkpoint));
        TestTensor whole("filled", {5, 3});
        TRY_TEXT(expect(at.checkpoint, whole.add_to(at.checkpoint), RINGRT_OK));
        Hook hook{.at = at, .tensor = &whole};
        TRY_TEXT(expect(at.checkpoint,
                        ringrt_checkpoint_set_before_save(at.checkpoint, Hook::call, &hook),
                        RINGRT_OK));
        model.fill(4);
        TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 4), RINGRT_OK));
        if (hook.nested != RINGRT_INVALID_ARGUMENT) return "a callback saved";
        return hook.calls == 1 ? "" : "calls";
    });
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        TestTensor whole("filled", {5, 3});
        TRY_TEXT(expect(at.checkpoint, whole.add_to(at.checkpoint), RINGRT_OK));
        TRY_TEXT(restore_model(at, 8, 4));
        return whole.expect_step(4);
    });
}

TEST(a_hook_that_fails_at_one_rank_calls_the_save_off) {
    for (int victim : {0, 1, 2}) {
        TemporaryDirectory directory;
        on_checkpoints(3, directory.path, [&](const CheckpointRank &at) -> std::string {
            TestModel model(at, 1);
            TRY_TEXT(model.add_to(at.checkpoint));
            Hook hook{.at = at,
                      .fails_at = at.rank == victim ? 2u : 0u,
                      .line = victim == 1 ? "" : "not now"};
            TRY_TEXT(expect(at.checkpoint,
                            ringrt_checkpoint_set_before_save(at.checkpoint, Hook::call, &hook),
                            RINGRT_OK));
            TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 2),
                            RINGRT_CHECKPOINT_FAILED,
                            "checkpoint failed: before_save of rank " + std::to_string(victim) +
                                (victim == 1 ? ": it returned 3" : ": not now")));
            if (fs::exists(directory.path) && entries(directory.path, "") > 0)
                return "a file was touched";
            // At different steps no hook is called.
            TRY_TEXT(expect(at.checkpoint,
                            ringrt_checkpoint_save(at.checkpoint, 3 + uint64_t(at.rank)),
                            RINGRT_MISMATCH, "rank 1 is at step 4, rank 0 at step 3"));
            if (hook.calls != 1) return "a hook was called";
            model.fill(5);
            return expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 5), RINGRT_OK);
        });
        on_checkpoints(1, directory.path,
                       [](const CheckpointRank &at) { return restore_model(at, 8, 5); });
    }
}

// A rank without a hook takes part, and the hook may set what the save holds.
TEST(a_hook_of_one_rank_sets_what_is_saved) {
    TemporaryDirectory directory;
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        const auto hook = [](void *context, uint64_t step, char *, size_t) -> int {
            const std::string bytes = "made for step " + std::to_string(step);
            return ringrt_checkpoint_set_blob(static_cast<ringrt_checkpoint_t *>(context), "b",
                                              bytes.data(), bytes.size());
        };
        TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_set_blob(at.checkpoint, "b", "", 0),
                        RINGRT_OK));
        if (at.rank == 1)
            TRY_TEXT(expect(at.checkpoint,
                            ringrt_checkpoint_set_before_save(at.checkpoint, hook, at.checkpoint),
                            RINGRT_OK));
        return expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 12), RINGRT_OK);
    });
    on_checkpoints(1, directory.path, [](const CheckpointRank &at) -> std::string {
        uint64_t step = 0;
        TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step), RINGRT_OK));
        const void *data = nullptr;
        size_t bytes = 0;
        TRY_TEXT(expect(at.checkpoint,
                        ringrt_checkpoint_get_blob(at.checkpoint, "b", 1, &data, &bytes),
                        RINGRT_OK));
        const std::string got(static_cast<const char *>(data), bytes);
        return got == "made for step 12" ? "" : got;
    });
}

TEST(a_program_saves_files_of_its_own) {
    TemporaryDirectory directory;
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        TestModel model(at, 1);
        TRY_TEXT(model.add_to(at.checkpoint));
        Saver saver{.rank = at.rank, .fails_at = at.rank == 1 ? 8u : 0u};
        TRY_TEXT(
            expect(at.checkpoint,
                   ringrt_checkpoint_set_saver(at.checkpoint, Saver::save, Saver::load, &saver),
                   RINGRT_OK));
        model.fill(7);
        TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 7), RINGRT_OK));
        return expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 8),
                      RINGRT_CHECKPOINT_FAILED, "the program could not save: out of ink");
    });
    on_checkpoints(3, directory.path, [](const CheckpointRank &at) -> std::string {
        Saver saver{.rank = at.rank};
        TRY_TEXT(
            expect(at.checkpoint,
                   ringrt_checkpoint_set_saver(at.checkpoint, Saver::save, Saver::load, &saver),
                   RINGRT_OK));
        TRY_TEXT(restore_model(at, 2, 7));
        return saver.loaded == "step 7;step 7;" ? "" : saver.loaded;
    });
    on_checkpoints(1, directory.path, [](const CheckpointRank &at) -> std::string {
        uint64_t step = 0;
        return expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step),
                      RINGRT_MISMATCH, "the checkpoint holds files of the program's");
    });
}

int main() { return ringrt::test::run_all("checkpoint_callbacks"); }
