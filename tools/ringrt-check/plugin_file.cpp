// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringrt-check/plugin_file.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "tools/ringrt-check/text_file.h"

namespace ringrt::check {
namespace {

constexpr std::size_t kObjectBytesMax = 256 * 1024 * 1024;
constexpr std::size_t kSymbolsMax = 1'000'000;

// Reads by copy, within the file: it may be truncated or not an ELF file.
template <typename T>
bool read_at(std::string_view file, std::size_t offset, T &out) {
    if (offset > file.size() || file.size() - offset < sizeof out) return false;
    std::memcpy(&out, file.data() + offset, sizeof out);
    return true;
}

bool has_name(std::string_view file, const ElfW(Shdr) & names, std::size_t offset,
              std::string_view name) {
    if (offset >= names.sh_size || names.sh_offset > file.size()) return false;
    const std::string_view text = file.substr(names.sh_offset);
    return offset < text.size() && text.size() - offset > name.size() &&
           text.substr(offset, name.size()) == name && text[offset + name.size()] == '\0';
}

// The file offset of the byte that is loaded at `address`.
std::optional<std::size_t> file_offset(std::string_view file, const ElfW(Ehdr) & head,
                                       std::size_t address) {
    ElfW(Phdr) segment;
    for (std::size_t at = 0; at < head.e_phnum; ++at) {
        if (!read_at(file, head.e_phoff + at * sizeof segment, segment)) return std::nullopt;
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    }
    return std::nullopt;
}

std::optional<uint32_t> find_value(std::string_view file, const ElfW(Ehdr) & head,
                                   const ElfW(Shdr) & symbols, std::string_view name) {
    ElfW(Shdr) names;
    if (!read_at(file, head.e_shoff + symbols.sh_link * sizeof names, names)) return std::nullopt;
    ElfW(Sym) symbol;
    const std::size_t count = std::min(symbols.sh_size / sizeof symbol, kSymbolsMax);
    for (std::size_t at = 0; at < count; ++at) {
        if (!read_at(file, symbols.sh_offset + at * sizeof symbol, symbol)) return std::nullopt;
        if (symbol.st_shndx == SHN_UNDEF || !has_name(file, names, symbol.st_name, name)) continue;
        const auto offset = file_offset(file, head, symbol.st_value);
        uint32_t value = 0;
        if (offset && read_at(file, *offset, value)) return value;
    }
    return std::nullopt;
}

std::optional<uint32_t> find_exported(std::string_view file, std::string_view name) {
    ElfW(Ehdr) head;
    constexpr int kClass = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (!read_at(file, 0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != kClass)
        return std::nullopt;
    for (std::size_t at = 0; at < head.e_shnum; ++at) {
        ElfW(Shdr) section;
        if (!read_at(file, head.e_shoff + at * sizeof section, section)) return std::nullopt;
        if (section.sh_type == SHT_DYNSYM) return find_value(file, head, section, name);
    }
    return std::nullopt;
}

}  // namespace

std::string SlurmVersion::text() const {
    char out[32];
    std::snprintf(out, sizeof out, "%u.%02u.%u", number >> 16 & 255, number >> 8 & 255,
                  number & 255);
    return out;
}

std::string SlurmVersion::minor() const {
    const std::string whole = text();
    return whole.substr(0, whole.find_last_of('.'));
}

std::optional<SlurmVersion> plugin_version(const std::string &path, std::string &error) {
    const auto file = read_file(path, kObjectBytesMax, error);
    if (!file) return std::nullopt;
    const auto number = find_exported(*file, "plugin_version");
    if (!number) error = "not a Slurm plugin for this architecture";
    return number ? std::optional(SlurmVersion{*number}) : std::nullopt;
}

}  // namespace ringrt::check
