/**
 * Names of the numbers in ELF files: System V ABI, edition 4.1 with the ELF-64 object file format supplement
 * 1.5, and the GNU extensions that lld and binutils write.
 */

export const ET_REL = 1;
export const ET_DYN = 3;

export const PT_LOAD = 1;
export const PT_DYNAMIC = 2;
export const PT_NOTE = 4;
export const PT_PHDR = 6;
export const PT_GNU_STACK = 0x6474e551;
export const PT_GNU_RELRO = 0x6474e552;

/** Flags of a segment. */
export const PF_X = 1;
export const PF_W = 2;
export const PF_R = 4;

export const SHT_NULL = 0;
export const SHT_PROGBITS = 1;
export const SHT_SYMTAB = 2;
export const SHT_STRTAB = 3;
export const SHT_RELA = 4;
export const SHT_HASH = 5;
export const SHT_DYNAMIC = 6;
export const SHT_NOTE = 7;
export const SHT_NOBITS = 8;
export const SHT_REL = 9;
export const SHT_DYNSYM = 11;
export const SHT_GROUP = 17;
export const SHT_LLVM_ADDRSIG = 0x6fff4c03;
export const SHT_GNU_HASH = 0x6ffffff6;
export const SHT_GNU_VERSYM = 0x6fffffff;

/** Flags of a section. */
export const SHF_WRITE = 1n;
export const SHF_ALLOC = 2n;
export const SHF_EXECINSTR = 4n;
export const SHF_MERGE = 0x10n;
export const SHF_STRINGS = 0x20n;
export const SHF_INFO_LINK = 0x40n;
export const SHF_LINK_ORDER = 0x80n;
export const SHF_GROUP = 0x200n;
export const SHF_GNU_RETAIN = 0x200000n;
export const SHF_EXCLUDE = 0x80000000n;

/** Flag of a section group of which a program keeps one (System V ABI, "Section Groups"). */
export const GRP_COMDAT = 1;

export const SHN_UNDEF = 0;
export const SHN_LORESERVE = 0xff00;
/** A variable in group memory that the linker has to give a place (LLVM AMDGPU usage, "SHN_AMDGPU_LDS"). */
export const SHN_AMDGPU_LDS = 0xff00;
export const SHN_ABS = 0xfff1;
export const SHN_COMMON = 0xfff2;
export const SHN_XINDEX = 0xffff;

export const STB_LOCAL = 0;
export const STB_GLOBAL = 1;
export const STB_WEAK = 2;
export const STB_GNU_UNIQUE = 10;

export const STT_NOTYPE = 0;
export const STT_OBJECT = 1;
export const STT_FUNC = 2;
export const STT_SECTION = 3;
export const STT_FILE = 4;
export const STT_COMMON = 5;
export const STT_TLS = 6;
export const STT_GNU_IFUNC = 10;
/** Variables in cubins that nvlink has not seen. */
export const STT_CUDA_OBJECT = 13;

export const STV_DEFAULT = 0;
export const STV_HIDDEN = 2;
export const STV_PROTECTED = 3;

export const DT_NULL = 0;
export const DT_PLTRELSZ = 2;
export const DT_HASH = 4;
export const DT_STRTAB = 5;
export const DT_SYMTAB = 6;
export const DT_RELA = 7;
export const DT_RELASZ = 8;
export const DT_RELAENT = 9;
export const DT_STRSZ = 10;
export const DT_SYMENT = 11;
export const DT_SYMBOLIC = 16;
export const DT_REL = 17;
export const DT_RELSZ = 18;
export const DT_RELENT = 19;
export const DT_PLTREL = 20;
export const DT_TEXTREL = 22;
export const DT_JMPREL = 23;
export const DT_INIT_ARRAY = 25;
export const DT_FINI_ARRAY = 26;
export const DT_INIT_ARRAYSZ = 27;
export const DT_FINI_ARRAYSZ = 28;
export const DT_FLAGS = 30;
export const DT_RELR = 36;
export const DT_GNU_HASH = 0x6ffffef5;
export const DT_VERSYM = 0x6ffffff0;

/** In DT_FLAGS. */
export const DF_SYMBOLIC = 2n;

type Names = Readonly<Record<number, string>>;

export const FILE_TYPE_NAMES: Names = { 0: 'ET_NONE', 1: 'ET_REL', 2: 'ET_EXEC', 3: 'ET_DYN', 4: 'ET_CORE' };

export const SEGMENT_TYPE_NAMES: Names = {
  0: 'PT_NULL',
  1: 'PT_LOAD',
  2: 'PT_DYNAMIC',
  3: 'PT_INTERP',
  4: 'PT_NOTE',
  5: 'PT_SHLIB',
  6: 'PT_PHDR',
  7: 'PT_TLS',
  1685382480: 'PT_GNU_EH_FRAME',
  1685382481: 'PT_GNU_STACK',
  1685382482: 'PT_GNU_RELRO',
  1685382483: 'PT_GNU_PROPERTY',
};

export const SECTION_TYPE_NAMES: Names = {
  0: 'SHT_NULL',
  1: 'SHT_PROGBITS',
  2: 'SHT_SYMTAB',
  3: 'SHT_STRTAB',
  4: 'SHT_RELA',
  5: 'SHT_HASH',
  6: 'SHT_DYNAMIC',
  7: 'SHT_NOTE',
  8: 'SHT_NOBITS',
  9: 'SHT_REL',
  10: 'SHT_SHLIB',
  11: 'SHT_DYNSYM',
  14: 'SHT_INIT_ARRAY',
  15: 'SHT_FINI_ARRAY',
  16: 'SHT_PREINIT_ARRAY',
  17: 'SHT_GROUP',
  18: 'SHT_SYMTAB_SHNDX',
  19: 'SHT_RELR',
  1879002115: 'SHT_LLVM_ADDRSIG',
  1879002123: 'SHT_LLVM_OFFLOADING',
  1879048181: 'SHT_GNU_ATTRIBUTES',
  1879048182: 'SHT_GNU_HASH',
  1879048189: 'SHT_GNU_verdef',
  1879048190: 'SHT_GNU_verneed',
  1879048191: 'SHT_GNU_versym',
};

export const SYMBOL_BINDING_NAMES: Names = { 0: 'STB_LOCAL', 1: 'STB_GLOBAL', 2: 'STB_WEAK', 10: 'STB_GNU_UNIQUE' };

export const SYMBOL_TYPE_NAMES: Names = {
  0: 'STT_NOTYPE',
  1: 'STT_OBJECT',
  2: 'STT_FUNC',
  3: 'STT_SECTION',
  4: 'STT_FILE',
  5: 'STT_COMMON',
  6: 'STT_TLS',
  10: 'STT_GNU_IFUNC',
};

export const SYMBOL_VISIBILITY_NAMES: Names = {
  0: 'STV_DEFAULT',
  1: 'STV_INTERNAL',
  2: 'STV_HIDDEN',
  3: 'STV_PROTECTED',
};

export const SECTION_INDEX_NAMES: Names = { 0: 'SHN_UNDEF', 65521: 'SHN_ABS', 65522: 'SHN_COMMON' };

export const DYNAMIC_TAG_NAMES: Names = {
  0: 'DT_NULL',
  1: 'DT_NEEDED',
  2: 'DT_PLTRELSZ',
  3: 'DT_PLTGOT',
  4: 'DT_HASH',
  5: 'DT_STRTAB',
  6: 'DT_SYMTAB',
  7: 'DT_RELA',
  8: 'DT_RELASZ',
  9: 'DT_RELAENT',
  10: 'DT_STRSZ',
  11: 'DT_SYMENT',
  12: 'DT_INIT',
  13: 'DT_FINI',
  14: 'DT_SONAME',
  15: 'DT_RPATH',
  16: 'DT_SYMBOLIC',
  17: 'DT_REL',
  18: 'DT_RELSZ',
  19: 'DT_RELENT',
  20: 'DT_PLTREL',
  21: 'DT_DEBUG',
  22: 'DT_TEXTREL',
  23: 'DT_JMPREL',
  24: 'DT_BIND_NOW',
  25: 'DT_INIT_ARRAY',
  26: 'DT_FINI_ARRAY',
  27: 'DT_INIT_ARRAYSZ',
  28: 'DT_FINI_ARRAYSZ',
  29: 'DT_RUNPATH',
  30: 'DT_FLAGS',
  35: 'DT_RELRSZ',
  36: 'DT_RELR',
  37: 'DT_RELRENT',
  1879047925: 'DT_GNU_HASH',
  1879048176: 'DT_VERSYM',
  1879048185: 'DT_RELACOUNT',
  1879048186: 'DT_RELCOUNT',
  1879048187: 'DT_FLAGS_1',
  1879048188: 'DT_VERDEF',
  1879048189: 'DT_VERDEFNUM',
  1879048190: 'DT_VERNEED',
  1879048191: 'DT_VERNEEDNUM',
};

/**
 * The flags of a section in readelf's letters, e.g. `AX` for SHF_ALLOC | SHF_EXECINSTR; unknown bits give
 * `x`.
 */
export function sectionFlagLetters(flags: bigint): string {
  let letters = '';
  let rest = flags;
  for (const [bit, letter] of SECTION_FLAG_LETTERS) {
    if ((rest & bit) === 0n) continue;
    letters += letter;
    rest &= ~bit;
  }
  return rest === 0n ? letters : `${letters}x`;
}

const SECTION_FLAG_LETTERS: readonly (readonly [bigint, string])[] = [
  [SHF_WRITE, 'W'],
  [SHF_ALLOC, 'A'],
  [SHF_EXECINSTR, 'X'],
  [SHF_MERGE, 'M'],
  [SHF_STRINGS, 'S'],
  [SHF_INFO_LINK, 'I'],
  [SHF_LINK_ORDER, 'L'],
  [0x100n, 'O'],
  [SHF_GROUP, 'G'],
  [0x400n, 'T'],
  [0x800n, 'C'],
  [SHF_GNU_RETAIN, 'R'],
  [SHF_EXCLUDE, 'E'],
];

/** The flags of a segment as `R`, `W`, `X` letters. */
export function segmentFlagLetters(flags: number): string {
  return `${flags & PF_R ? 'R' : '-'}${flags & PF_W ? 'W' : '-'}${flags & PF_X ? 'X' : '-'}`;
}
