/**
 * Section `.amdgpu.info` of relocatable objects: what the compiler knows of each function alone, for whoever
 * links it. Entries of kind, length and payload (LLVM, "AMDGPUObjLinkingInfo.h").
 */
import { ByteReader } from '../base/bytes.ts';
import { STT_FUNC, STT_SECTION } from '../elf/constants.ts';
import type { ElfFile } from '../elf/elf.ts';
import type { ElfRelocation } from '../elf/relocations.ts';
import type { ElfSymbol } from '../elf/symbols.ts';

export interface FunctionInfo {
  readonly vgprCount: number;
  readonly agprCount: number;
  /** Without VCC and what follows it. */
  readonly sgprCount: number;
  /** SGPRs behind the numbered ones: up to FLAT_SCRATCH, up to VCC, or none. */
  readonly specialSgprCount: number;
  /** Of a lane, without that of callees. */
  readonly privateSegmentSizeBytes: number;
  readonly hasDynamicStack: boolean;
  /** Names of what is called directly. */
  readonly callees: readonly string[];
  readonly hasIndirectCalls: boolean;
}

const SECTION = '.amdgpu.info';
const KIND = {
  ...{ function: 1, flags: 2, sgprs: 3, vgprs: 4, agprs: 5, privateSegment: 6 },
  ...{ call: 8, indirectCall: 9 },
} as const;
const FLAGS = { vcc: 1, flatScratch: 2, dynamicStack: 4 } as const;
const SYMBOL_BYTES = 8;

type Draft = { -readonly [K in keyof FunctionInfo]: FunctionInfo[K] } & { callees: string[] };

/** By the names of the functions. Throws BAD_INPUT for entries that are cut off or name no symbol. */
export function readFunctionInfo(elf: ElfFile): ReadonlyMap<string, FunctionInfo> {
  const infos = new Map<string, Draft>();
  const section = elf.sectionNamed(SECTION);
  if (!section) return infos;
  const reader = new ByteReader(elf.sectionBytes(section), { ...(elf.name && { file: elf.name }), section: SECTION });
  const relocations = elf.relocationSections
    .filter(({ targetSectionIndex }) => targetSectionIndex === section.index)
    .flatMap((each) => each.relocations);
  const nameAt = symbolNames(elf, reader, relocations);
  let info: Draft | undefined;
  while (reader.remaining > 0) {
    const at = reader.offset;
    const kind = reader.u8('kind of an entry');
    const sizeBytes = reader.u8('length of an entry');
    const end = reader.offset + sizeBytes;
    if (sizeBytes > reader.remaining) reader.fail(`an entry of ${sizeBytes} bytes`, at);
    if (kind === KIND.function) {
      const name = nameAt(reader.offset, sizeBytes);
      info = infos.get(name) ?? empty();
      infos.set(name, info);
    } else {
      if (!info) return reader.fail(`an entry of kind ${kind} before that of a function`, at);
      readEntry(info, kind, {
        name: () => nameAt(reader.offset, sizeBytes),
        number: () => (sizeBytes === 4 ? reader.u32('number') : reader.fail(`a number of ${sizeBytes} bytes`, at)),
      });
    }
    reader.offset = end;
  }
  return infos;
}

const empty = (): Draft => ({
  ...{ vgprCount: 0, agprCount: 0, sgprCount: 0, specialSgprCount: 0, privateSegmentSizeBytes: 0 },
  ...{ hasDynamicStack: false, callees: [], hasIndirectCalls: false },
});

interface Payload {
  name(): string;
  number(): number;
}

/** Kinds that say nothing of these needs, and those to come, are passed over. */
function readEntry(info: Draft, kind: number, payload: Payload): void {
  if (kind === KIND.vgprs) info.vgprCount = payload.number();
  else if (kind === KIND.agprs) info.agprCount = payload.number();
  else if (kind === KIND.sgprs) info.sgprCount = payload.number();
  else if (kind === KIND.privateSegment) info.privateSegmentSizeBytes = payload.number();
  else if (kind === KIND.call) info.callees.push(payload.name());
  else if (kind === KIND.indirectCall) info.hasIndirectCalls = true;
  else if (kind === KIND.flags) {
    const flags = payload.number();
    info.specialSgprCount = flags & FLAGS.flatScratch ? 6 : flags & FLAGS.vcc ? 2 : 0;
    info.hasDynamicStack = (flags & FLAGS.dynamicStack) !== 0;
  }
}

/**
 * Gives the name of the symbol that a relocation puts at an offset; assemblers name local ones by section and
 * place.
 */
function symbolNames(elf: ElfFile, reader: ByteReader, relocations: readonly ElfRelocation[]) {
  const byOffset = new Map(relocations.map((each) => [Number(each.offset), each]));
  const place = ({ sectionIndex, value }: Pick<ElfSymbol, 'sectionIndex' | 'value'>) => `${sectionIndex}:${value}`;
  const functions = elf.symbols.filter(({ type }) => type === STT_FUNC);
  const byPlace = new Map(functions.map((symbol) => [place(symbol), symbol.name]));
  return (offset: number, sizeBytes: number): string => {
    const relocation = sizeBytes === SYMBOL_BYTES ? byOffset.get(offset) : undefined;
    const { symbol, addend = 0n } = relocation ?? {};
    const name =
      symbol?.type === STT_SECTION
        ? byPlace.get(place({ sectionIndex: symbol.sectionIndex, value: symbol.value + addend }))
        : symbol?.name;
    return name ?? reader.fail('an entry that names no symbol', offset);
  };
}
