// SPDX-License-Identifier: BSD-3-Clause
// A checkpoint's manifest and LATEST, unchanged and with a correct hash as an attacker would write
// it, and the names of files in the directory.
#include "libringrt/checkpoint/manifest.h"

#include "libringrt/checkpoint/store.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt::checkpoint;
using namespace ringrt::fuzz;

namespace {

std::string sealed(std::string_view body) {
    return std::string(body) +
           ringrt::format_text("end %016llx\n", static_cast<unsigned long long>(hash_text(body)));
}

// The reader's arithmetic relies on these.
void try_tiling(const Parameter &parameter) {
    const Tiling &tiling = *parameter.tiling;
    uint64_t elements = 0;
    for (size_t i = 0; i < tiling.blocks.size(); ++i) {
        expect(is_inside(tiling.blocks[i], parameter.shape), "a block is inside");
        expect(tiling.starts[i] == elements, "blocks follow each other");
        elements += elements_of(tiling.blocks[i]);
    }
    expect(elements == elements_of(whole_block(parameter.shape)), "blocks tile");
}

void try_manifest(std::string_view text) {
    Manifest manifest;
    const ringrt::Status parsed = parse_manifest(text, manifest);
    if (!parsed.ok()) {
        expect(parsed.code == RINGRT_CORRUPT, "a refused manifest is corrupt");
        expect(is_one_line(parsed.message), "and gets one line");
        return;
    }
    expect(manifest.parameters.size() <= kParametersMax, "parameters");
    for (const Parameter &parameter : manifest.parameters) {
        expect(valid_name(parameter.name), "a parameter's name leads nowhere else");
        expect(bytes_of(parameter) <= kParameterBytesMax, "a parameter's size");
        if (parameter.tiling) try_tiling(parameter);
    }
    for (const Shard &shard : manifest.shards) {
        expect(shard.rank < manifest.ranks, "a shard's rank");
        expect(shard.pieces <= kPiecesMax, "a shard's pieces");
    }
    const std::string written = format_manifest(manifest);
    Manifest again;
    expect(parse_manifest(written, again).ok(), "a manifest that was written can be read");
    expect(format_manifest(again) == written, "reading and writing it changes nothing");
}

void try_latest(std::string_view text) {
    Latest latest;
    if (!parse_latest(text, latest)) return;
    expect(format_latest(latest) == text, "LATEST has one form only");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text = text_of(data, size);
    for (const std::string &whole : {std::string(text), sealed(text)}) {
        try_manifest(whole);
        try_latest(whole);
    }
    if (const auto claim = parse_claim_name(text))
        expect(claim_name(*claim) == text, "a fence's name has one form only");
    (void)step_of(std::string(text));
    return 0;
}
