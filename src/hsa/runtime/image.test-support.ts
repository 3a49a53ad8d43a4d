/** Builds small code objects for gfx90a without a compiler: kernels without code, symbols, relocations. */
import { encode } from '@msgpack/msgpack';

/** Linked addresses of the file's first byte and of the data area. */
export const IMAGE_BASE = 0x1_0000;
const HEADERS_SIZE_BYTES = 64 + 3 * 56 + 3 * 64;
export const IMAGE_DATA = IMAGE_BASE + Math.ceil(HEADERS_SIZE_BYTES / 64) * 64;

export interface ImageKernel {
  readonly name: string;
  readonly wave32?: boolean;
  /** Granules of 8 VGPRs beyond the first one. */
  readonly vgprGranules?: number;
  /** Keys of the metadata map that differ from the default. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface ImageSymbol {
  readonly name: string;
  readonly type?: keyof typeof TYPES;
  readonly binding?: 'local' | 'global' | 'weak';
  readonly visibility?: 'default' | 'hidden' | 'protected';
  /** Offset in the data area; absent: undefined here. */
  readonly dataOffset?: number;
  /** A value that loading does not move, instead of an offset. */
  readonly absolute?: number;
  /** Of DT_VERSYM; the file has it when a symbol gives one. */
  readonly version?: number;
  readonly sizeBytes?: number;
}

export interface ImageRelocation {
  /** In the data area. */
  readonly dataOffset: number;
  readonly type: number;
  readonly symbol?: string;
  readonly addend?: bigint;
}

export interface ImageOptions {
  readonly kernels?: readonly ImageKernel[];
  readonly symbols?: readonly ImageSymbol[];
  readonly relocations?: readonly ImageRelocation[];
  /** Contents of the data area; `bssSizeBytes` zeros follow it. */
  readonly data?: Uint8Array;
  readonly bssSizeBytes?: number;
  /** Addends stand in the places (DT_REL) instead of in the records (DT_RELA). */
  readonly addendsInPlace?: boolean;
  /** p_align of the segment. */
  readonly alignmentBytes?: number;
  readonly eFlags?: number;
  readonly eType?: number;
}

const BINDINGS = { local: 0, global: 1, weak: 2 };
const TYPES = { none: 0, object: 1, function: 2, tls: 6, ifunc: 10 };
const VISIBILITIES = { default: 0, hidden: 2, protected: 3 };
const SHN_ABS = 0xfff1;
const SHT = { symtab: 2, strtab: 3 };

interface TableSymbol {
  readonly name: string;
  readonly info: number;
  readonly other: number;
  readonly section: number;
  readonly value: number;
  readonly sizeBytes: number;
  readonly version?: number;
}

class Writer {
  readonly #parts: { at: number; bytes: Uint8Array }[] = [];
  sizeBytes = 0;

  /** Places bytes behind all others; returns their offset. */
  append(bytes: Uint8Array, alignment = 8): number {
    const at = Math.ceil(this.sizeBytes / alignment) * alignment;
    this.#parts.push({ at, bytes });
    this.sizeBytes = at + bytes.length;
    return at;
  }

  toBytes(): Uint8Array {
    const bytes = new Uint8Array(this.sizeBytes);
    for (const part of this.#parts) bytes.set(part.bytes, part.at);
    return bytes;
  }
}

/** Records of little-endian fields: `[sizeBytes, value]`. */
function fields(...values: readonly (readonly [1 | 2 | 4 | 8, number | bigint])[]): Uint8Array {
  const bytes = new Uint8Array(values.reduce((sum, [sizeBytes]) => sum + sizeBytes, 0));
  let at = 0;
  for (const [sizeBytes, value] of values) {
    for (let index = 0; index < sizeBytes; index++)
      bytes[at + index] = Number((BigInt(value) >> BigInt(8 * index)) & 0xffn);
    at += sizeBytes;
  }
  return bytes;
}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  const writer = new Writer();
  for (const chunk of chunks) writer.append(chunk, 1);
  return writer.toBytes();
}

function symbolTable(symbols: readonly TableSymbol[]): { table: Uint8Array; strings: Uint8Array } {
  const records: Uint8Array[] = [new Uint8Array(24)];
  let strings = '\0';
  for (const { name, info, other, section, value, sizeBytes } of symbols) {
    records.push(fields([4, strings.length], [1, info], [1, other], [2, section], [8, value], [8, sizeBytes]));
    strings += `${name}\0`;
  }
  return { table: join(records), strings: new TextEncoder().encode(strings) };
}

function metadataNote(kernels: readonly ImageKernel[]): Uint8Array {
  const descriptor = encode({
    'amdhsa.version': [1, 2],
    'amdhsa.target': 'amdgcn-amd-amdhsa--gfx90a',
    'amdhsa.kernels': kernels.map(({ name, metadata }) => ({
      '.name': name,
      '.symbol': `${name}.kd`,
      '.kernarg_segment_size': 0,
      '.kernarg_segment_align': 8,
      '.group_segment_fixed_size': 0,
      '.private_segment_fixed_size': 0,
      '.wavefront_size': 64,
      '.sgpr_count': 16,
      '.vgpr_count': 8,
      '.max_flat_workgroup_size': 1024,
      '.args': [],
      ...metadata,
    })),
  });
  const padded = new Uint8Array(Math.ceil(descriptor.length / 4) * 4);
  padded.set(descriptor);
  const name = new TextEncoder().encode('AMDGPU\0\0');
  return join([fields([4, 7], [4, descriptor.length], [4, 32]), name, padded]);
}

/** Appends code and descriptors of `kernels`; their symbols. */
function kernelSymbols(writer: Writer, kernels: readonly ImageKernel[]): TableSymbol[] {
  const exported: TableSymbol[] = [];
  for (const { name, wave32 = false, vgprGranules = 0 } of kernels) {
    const code = writer.append(new Uint8Array(256), 256);
    // The entry offset is relative to the descriptor; everything but what the options say may be 0.
    const descriptor = new Uint8Array(64);
    const at = writer.append(descriptor, 64);
    const fieldsOfDescriptor = new DataView(descriptor.buffer);
    fieldsOfDescriptor.setBigInt64(16, BigInt(code - at), true);
    fieldsOfDescriptor.setUint32(48, vgprGranules, true);
    fieldsOfDescriptor.setUint16(56, wave32 ? 1 << 10 : 0, true);
    const base = { section: 1, other: VISIBILITIES.protected };
    exported.push({
      ...base,
      name,
      info: (BINDINGS.global << 4) | TYPES.function,
      value: IMAGE_BASE + code,
      sizeBytes: 256,
    });
    exported.push({
      ...base,
      name: `${name}.kd`,
      info: (BINDINGS.global << 4) | TYPES.object,
      value: IMAGE_BASE + at,
      sizeBytes: 64,
    });
  }
  return exported;
}

function tableSymbol(symbol: ImageSymbol): TableSymbol {
  const {
    name,
    type = 'object',
    binding = 'global',
    visibility = 'default',
    dataOffset,
    absolute,
    sizeBytes = 8,
  } = symbol;
  return {
    name,
    info: (BINDINGS[binding] << 4) | TYPES[type],
    other: VISIBILITIES[visibility],
    section: absolute !== undefined ? SHN_ABS : dataOffset === undefined ? 0 : 1,
    value: absolute ?? (dataOffset === undefined ? 0 : IMAGE_DATA + dataOffset),
    sizeBytes: dataOffset === undefined ? 0 : sizeBytes,
    ...(symbol.version !== undefined && { version: symbol.version }),
  };
}

const segment = (type: number, at: number, sizeBytes: number, alignment: number, extra = 0) =>
  fields(
    [4, type],
    [4, 7],
    [8, at],
    [8, IMAGE_BASE + at],
    [8, IMAGE_BASE + at],
    [8, sizeBytes],
    [8, sizeBytes + extra],
    [8, alignment],
  );
const section = (type: number, at: number, sizeBytes: number, link: number, entry: number) =>
  fields([4, 0], [4, type], [8, 0], [8, 0], [8, at], [8, sizeBytes], [4, link], [4, 1], [8, 1], [8, entry]);

/** Behind the identification. */
const fileHeader = ({ eType = 3, eFlags = 0x53f }: ImageOptions): Uint8Array =>
  fields(
    [2, eType],
    [2, 224],
    [4, 1],
    [8, 0],
    [8, 64],
    [8, 64 + 3 * 56],
    [4, eFlags],
    [2, 64],
    [2, 56],
    [2, 3],
    [2, 64],
    [2, 3],
    [2, 0],
  );

export function buildImage(options: ImageOptions = {}): Uint8Array {
  const { kernels = [], symbols = [], relocations = [], data = new Uint8Array(64), bssSizeBytes = 0 } = options;
  const writer = new Writer();
  writer.append(new Uint8Array(HEADERS_SIZE_BYTES));
  writer.append(data, 64);
  const note = metadataNote(kernels);
  const noteAt = writer.append(note);
  const exported = kernelSymbols(writer, kernels);
  const local: TableSymbol[] = [];
  for (const symbol of symbols) (symbol.binding === 'local' ? local : exported).push(tableSymbol(symbol));
  const dynamicSymbols = symbolTable(exported);
  const symtabAt = writer.append(dynamicSymbols.table);
  const stringsAt = writer.append(dynamicSymbols.strings);
  const hashAt = writer.append(fields([4, 0], [4, exported.length + 1]));
  const versions = fields([2, 0], ...exported.map(({ version = 1 }) => [2, version] as const));
  const versionsAt = writer.append(versions);
  const relocationSizeBytes = options.addendsInPlace ? 16 : 24;
  const rela = join(
    relocations.map(({ dataOffset, type, symbol, addend = 0n }) => {
      const index = symbol === undefined ? 0 : 1 + exported.findIndex(({ name }) => name === symbol);
      const record = fields([8, IMAGE_DATA + dataOffset], [4, type], [4, index], [8, BigInt.asUintN(64, addend)]);
      return record.subarray(0, relocationSizeBytes);
    }),
  );
  const relaAt = writer.append(rela);
  const dynamic: (readonly [number, number])[] = [
    [4, IMAGE_BASE + hashAt],
    [5, IMAGE_BASE + stringsAt],
    [6, IMAGE_BASE + symtabAt],
    [10, dynamicSymbols.strings.length],
    [11, 24],
    ...(symbols.some(({ version }) => version !== undefined) ? ([[0x6ffffff0, IMAGE_BASE + versionsAt]] as const) : []),
    ...(relocations.length === 0
      ? []
      : ([
          [options.addendsInPlace ? 17 : 7, IMAGE_BASE + relaAt],
          [options.addendsInPlace ? 18 : 8, rela.length],
          [options.addendsInPlace ? 19 : 9, relocationSizeBytes],
        ] as const)),
    [0, 0],
  ];
  const dynamicBytes = join(dynamic.map(([tag, value]) => fields([8, tag], [8, value])));
  const dynamicAt = writer.append(dynamicBytes);
  const loadedSizeBytes = writer.sizeBytes;
  const locals = symbolTable(local);
  const localTableAt = writer.append(locals.table);
  const localStringsAt = writer.append(locals.strings);
  const bytes = writer.toBytes();
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 64, 3]);
  bytes.set(fileHeader(options), 16);
  bytes.set(
    join([
      segment(1, 0, loadedSizeBytes, options.alignmentBytes ?? 4096, bssSizeBytes),
      segment(2, dynamicAt, dynamicBytes.length, 8),
      segment(4, noteAt, note.length, 4),
      new Uint8Array(64),
      section(SHT.symtab, localTableAt, locals.table.length, 2, 24),
      section(SHT.strtab, localStringsAt, locals.strings.length, 0, 0),
    ]),
    64,
  );
  return bytes;
}
