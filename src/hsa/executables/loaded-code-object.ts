/**
 * A code object in device memory: one allocation that holds all PT_LOAD segments at their relative addresses,
 * and the symbols that it defines.
 */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { type CodeObject, parseCodeObject } from '../../codeobject/code-object.ts';
import { type FunctionInfo, readFunctionInfo } from '../../codeobject/function-info.ts';
import { wavefrontSize } from '../../codeobject/kernel-descriptor.ts';
import { LineTable, type SourceLine } from '../../codeobject/line-table.ts';
import { explainIncompatibility, parseTargetId } from '../../codeobject/target-id.ts';
import type { PublishedCode } from '../../device/device.ts';
import {
  DF_SYMBOLIC,
  DT_FLAGS,
  DT_SYMBOLIC,
  PF_W,
  PF_X,
  PT_GNU_RELRO,
  PT_LOAD,
  SHN_ABS,
  STB_LOCAL,
  STT_FUNC,
  STV_DEFAULT,
} from '../../elf/constants.ts';
import { type ElfSymbol, isDefined } from '../../elf/symbols.ts';
import { type WaveSizeEvidence, waveSizeOfCode } from '../../lift/wave-size.ts';
import { type ArrayPart, linkForLoader } from '../../linker/link.ts';
import type { Agent } from '../objects/agent.ts';
import { HsaError, withStatus } from '../objects/status.ts';
import { checkSymbols, isExported, isOldVersion, type Strength, strengthOf } from './symbol-rules.ts';

/** Where the bytes of a code object come from (hsa_code_object_reader_t). */
export class CodeObjectReader implements Disposable {
  #bytes: Uint8Array | undefined;
  readonly name: string;
  /**
   * Where debuggers find the code object (LLVM AMDGPU usage, "Loaded Code Object Path Uniform Resource
   * Identifier").
   */
  readonly uri: string;

  /**
   * The bytes are kept and shared; `name` is what errors and reports call them. Throws INVALID_ARGUMENT for
   * no bytes.
   */
  constructor(bytes: Uint8Array, name = 'code object in memory', uri = `memory://0#offset=0x0&size=${bytes.length}`) {
    if (bytes.length === 0)
      throw new HsaError('INVALID_ARGUMENT', 'a code object of 0 bytes', { file: name }, 'BAD_INPUT');
    this.#bytes = bytes;
    this.name = name;
    this.uri = uri;
  }

  /** Throws INVALID_CODE_OBJECT_READER after disposal. */
  get bytes(): Uint8Array {
    if (this.#bytes !== undefined) return this.#bytes;
    throw new HsaError('INVALID_CODE_OBJECT_READER', `the reader of ${this.name} was destroyed`);
  }

  /** What was loaded stays. Idempotent. */
  [Symbol.dispose](): void {
    this.#bytes = undefined;
  }
}

/** A loaded segment and where in the code object it comes from. */
export interface LoadedSegment {
  readonly agent: Agent;
  readonly codeObject: LoadedCodeObject;
  /** The whole code object, as it was read. */
  readonly storage: Uint8Array;
  /** Where the segment's bytes begin in the code object's file. */
  readonly offset: number;
  readonly address: bigint;
  readonly sizeBytes: number;
}

const GRANULE_BYTES = 4096;
const MAX_ALIGNMENT_BYTES = 2 ** 30;

interface Extent {
  /** Linked address that becomes the start of the allocation. */
  readonly start: bigint;
  readonly sizeBytes: number;
  readonly alignmentBytes: number;
}

/** What other code objects and the host can refer to. */
export interface Definition {
  readonly name: string;
  readonly address: bigint;
  readonly strength: Strength;
  /** STV_*. */
  readonly visibility: number;
  /** STT_*. */
  readonly type: number;
  readonly sizeBytes: number;
  /** Absent for an external definition. */
  readonly codeObject: LoadedCodeObject | undefined;
}

/** Who loads a code object, as far as that concerns it. */
export interface CodeObjectOwner {
  /** Whether what was loaded is still there. */
  readonly isLive: boolean;
}

export class LoadedCodeObject {
  readonly executable: CodeObjectOwner;
  readonly agent: Agent;
  /** What the reader held. */
  readonly storage: Uint8Array;
  readonly name: string;
  readonly uri: string;
  readonly codeObject: CodeObject;
  /** Whether it was a relocatable object: a linker would have joined it with the others. */
  readonly isRelocatable: boolean;
  /** Whether what it defines itself is its own, and for others only what they find nowhere else. */
  readonly isModule: boolean;
  /** Signatures of all COMDAT groups that are there once this is loaded. */
  readonly groups: ReadonlySet<string>;
  /** Constructors and destructors of a relocatable object. */
  readonly arrays: readonly ArrayPart[];
  /** What the compiler says of functions, by name; linkers leave it out. */
  readonly functionInfo: ReadonlyMap<string, FunctionInfo>;
  /** Start and size of the allocation. */
  readonly address: bigint;
  readonly sizeBytes: number;
  /** Loaded address minus linked address. */
  readonly loadDelta: bigint;
  /** The live bytes of the allocation. */
  readonly image: DataView<SharedArrayBuffer>;
  readonly #extent: Extent;
  #localNames: ReadonlySet<string> | undefined;
  #lines: LineTable | undefined;
  #waveSize: WaveSizeEvidence | undefined;

  /**
   * Reads the code object, a relocatable one after linking it, and copies its segments; relocations are left.
   * Throws INVALID_CODE_OBJECT, INCOMPATIBLE_ARGUMENTS for another target than the agent's, OUT_OF_RESOURCES.
   * `groups`: COMDAT groups that are there already.
   */
  constructor(
    executable: CodeObjectOwner,
    agent: Agent,
    reader: CodeObjectReader,
    { groups, isModule }: { groups: ReadonlySet<string>; isModule: boolean },
  ) {
    const device = agent.requireDevice();
    const { codeObject, ...rest } = withStatus('INVALID_CODE_OBJECT', () => readLinked(reader, groups));
    checkTarget(codeObject, agent);
    checkSymbols(codeObject, rest.isRelocatable);
    const extent = loadExtent(codeObject);
    const { sizeBytes, alignmentBytes } = extent;
    this.executable = executable;
    this.agent = agent;
    this.storage = reader.bytes;
    this.name = reader.name;
    this.uri = reader.uri;
    this.codeObject = codeObject;
    this.functionInfo = rest.functionInfo;
    this.isRelocatable = rest.isRelocatable;
    this.isModule = isModule;
    this.groups = rest.groups;
    this.arrays = rest.arrays;
    this.sizeBytes = sizeBytes;
    const label = `code object ${reader.name}`;
    this.address = withStatus('INVALID_CODE_OBJECT', () =>
      device.memory.allocate(sizeBytes, { alignmentBytes, label }),
    );
    this.loadDelta = this.address - extent.start;
    this.#extent = extent;
    const memory = device.memory.view(this.address, sizeBytes);
    this.image = new DataView(memory.buffer, memory.byteOffset, sizeBytes);
    const { elf } = codeObject;
    for (const segment of elf.segments) {
      if (segment.type !== PT_LOAD) continue;
      memory.set(elf.segmentBytes(segment), Number(segment.virtualAddress - extent.start));
    }
  }

  /** Offset in `image` of a linked address. Throws INVALID_CODE_OBJECT outside the image. */
  offsetOf(linkedAddress: bigint, sizeBytes: number, what: string): number {
    this.#check(linkedAddress, sizeBytes, what);
    return Number(linkedAddress - this.#extent.start);
  }

  /** Live bytes at a linked address. Throws INVALID_CODE_OBJECT outside the image. */
  view(linkedAddress: bigint, sizeBytes: number, what: string): Uint8Array<SharedArrayBuffer> {
    this.#check(linkedAddress, sizeBytes, what);
    return this.agent.requireDevice().memory.view(linkedAddress + this.loadDelta, sizeBytes);
  }

  /** The loaded address of a defined symbol. */
  addressOf(symbol: ElfSymbol): bigint {
    if (symbol.sectionIndex === SHN_ABS) return symbol.value;
    this.#check(symbol.value, 0, `symbol '${symbol.name}'`);
    return symbol.value + this.loadDelta;
  }

  #check(linkedAddress: bigint, sizeBytes: number, what: string): void {
    const { start } = this.#extent;
    if (linkedAddress >= start && linkedAddress + BigInt(sizeBytes) <= start + BigInt(this.sizeBytes)) return;
    throw new HsaError('INVALID_CODE_OBJECT', `${what} is at ${hex(linkedAddress)}, outside all segments`, {
      file: this.name,
    });
  }

  /**
   * What other code objects may mean: all that is exported, of a relocatable object all that is not local.
   */
  definitions(): Definition[] {
    return this.#globals()
      .filter(isDefined)
      .map((symbol) => ({
        name: symbol.name,
        address: this.addressOf(symbol),
        strength: this.isModule ? 'weak' : strengthOf(symbol),
        visibility: symbol.visibility,
        type: symbol.type,
        sizeBytes: symbol.sizeBytes,
        codeObject: this,
      }));
  }

  /** STV_* of what a relocatable object says of names that it shares with others. */
  nameVisibilities(): [name: string, visibility: number][] {
    return this.isRelocatable ? this.#globals().map(({ name, visibility }) => [name, visibility]) : [];
  }

  #globals(): readonly ElfSymbol[] {
    const { elf } = this.codeObject;
    if (this.isRelocatable) return elf.symbols.filter(({ index, binding }) => index > 0 && binding !== STB_LOCAL);
    return this.exported;
  }

  /**
   * What other code objects may mean by name. Of several versions, the default one goes by the plain name.
   */
  get exported(): readonly ElfSymbol[] {
    const { elf, symbols } = this.codeObject;
    return symbols.filter((symbol) => isExported(symbol) && !isOldVersion(elf.dynamicVersions, symbol));
  }

  /** Names that it shares with nobody. */
  get localNames(): ReadonlySet<string> {
    this.#localNames ??= new Set(
      this.codeObject.elf.symbols.filter(({ binding }) => binding === STB_LOCAL).map(({ name }) => name),
    );
    return this.#localNames;
  }

  /** Whether it defines the name for itself alone; a stripped file does not tell. */
  hides(name: string): boolean {
    const isOwn = (symbol: ElfSymbol) => symbol.name === name && isDefined(symbol);
    const { elf, symbols } = this.codeObject;
    return elf.symbols.some(isOwn) && !symbols.some((symbol) => isOwn(symbol) && isExported(symbol));
  }

  /** Whether the linker left it to the loader whose definition its own uses of the symbol mean. */
  isReplaceable(symbol: ElfSymbol): boolean {
    const { binding, visibility } = symbol;
    if (this.isModule) return false;
    if (this.isRelocatable) return binding !== STB_LOCAL;
    const isOpen = binding !== STB_LOCAL && visibility === STV_DEFAULT && !this.#bindsItself;
    return isOpen && !isOldVersion(this.codeObject.elf.dynamicVersions, symbol);
  }

  /** Linked with -Bsymbolic. */
  get #bindsItself(): boolean {
    return this.codeObject.elf.dynamic.some(
      ({ tag, value }) => tag === DT_SYMBOLIC || (tag === DT_FLAGS && (value & DF_SYMBOLIC) !== 0n),
    );
  }

  segments(): LoadedSegment[] {
    return this.codeObject.elf.segments
      .filter(({ type }) => type === PT_LOAD)
      .map(({ offset, virtualAddress, memorySizeBytes }) => ({
        agent: this.agent,
        codeObject: this,
        storage: this.storage,
        offset,
        address: virtualAddress + this.loadDelta,
        sizeBytes: memorySizeBytes,
      }));
  }

  /** The wave size of its kernels; undefined for a library without any. */
  get kernelWaveSize(): 32 | 64 | undefined {
    const [first] = this.codeObject.kernels;
    return first && wavefrontSize(first.descriptor);
  }

  /** What its code was compiled for, as far as that can be told. */
  get waveSize(): 32 | 64 | undefined {
    return this.#waveSizeEvidence.waveSize;
  }

  /** Whether it matters to waves of 64 lanes that the wave size is not known. */
  get keepsMasks(): boolean {
    return this.#waveSizeEvidence.keepsMasks;
  }

  get #waveSizeEvidence(): WaveSizeEvidence {
    this.#waveSize ??= this.#findWaveSize();
    return this.#waveSize;
  }

  #findWaveSize(): WaveSizeEvidence {
    const { elf, target } = this.codeObject;
    const [only, ...others] = this.agent.isas[0]!.wavefrontSizes;
    const waveSize = others.length === 0 ? only : this.kernelWaveSize;
    if (waveSize !== undefined) return { waveSize, keepsMasks: true };
    const code = elf.segments.filter(({ type, flags }) => type === PT_LOAD && (flags & PF_X) !== 0);
    const found = code.map((segment) => waveSizeOfCode(elf.segmentBytes(segment), target.processor));
    return (
      found.find((each) => each.waveSize !== undefined) ?? {
        waveSize: undefined,
        keepsMasks: found.some(({ keepsMasks }) => keepsMasks),
      }
    );
  }

  /** Live bytes at a loaded address. Throws INVALID_CODE_OBJECT outside the image. */
  loadedBytes(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    return this.view(address - this.loadDelta, sizeBytes, 'code');
  }

  /**
   * A dword that is not written once the executable is frozen, the global offset table for one; undefined for
   * all other memory.
   */
  constantDword(address: bigint): number | undefined {
    const linked = address - this.loadDelta;
    const holds = ({ virtualAddress, memorySizeBytes }: { virtualAddress: bigint; memorySizeBytes: number }): boolean =>
      linked >= virtualAddress && linked + 4n <= virtualAddress + BigInt(memorySizeBytes);
    const isConstant = this.codeObject.elf.segments.some(
      (segment) =>
        (segment.type === PT_GNU_RELRO || (segment.type === PT_LOAD && (segment.flags & PF_W) === 0)) && holds(segment),
    );
    if (!isConstant) return undefined;
    const bytes = this.loadedBytes(address, 4);
    return new DataView(bytes.buffer, bytes.byteOffset, 4).getInt32(0, true);
  }

  /**
   * Where the instruction at a loaded address comes from; undefined without line tables, and where they are
   * damaged.
   */
  sourceLine(address: bigint): SourceLine | undefined {
    try {
      this.#lines ??= LineTable.read(this.codeObject.elf);
      return this.#lines.lineAt(address - this.loadDelta);
    } catch (error) {
      if (error instanceof WavewrightError) return undefined;
      throw error;
    }
  }

  /** What the device must know before it runs the code; the symbols are collected when it asks. */
  publishedCode(): PublishedCode {
    const functions = () => this.#functions();
    return {
      ...{ address: this.address, sizeBytes: this.sizeBytes, name: this.name },
      sourceLine: (address) => this.sourceLine(address),
      get symbols() {
        return functions();
      },
    };
  }

  /** One for each address. */
  #functions(): PublishedCode['symbols'] {
    const { elf } = this.codeObject;
    const functions = new Map<bigint, PublishedCode['symbols'][number]>();
    for (const symbol of [...elf.dynamicSymbols, ...elf.symbols]) {
      if (symbol.type !== STT_FUNC || !isDefined(symbol)) continue;
      const address = this.addressOf(symbol);
      if (functions.has(address)) continue;
      functions.set(address, { name: symbol.name, address, sizeBytes: symbol.sizeBytes });
    }
    return [...functions.values()];
  }
}

type Linked = Pick<LoadedCodeObject, 'codeObject' | 'functionInfo' | 'isRelocatable' | 'groups' | 'arrays'>;

/**
 * A relocatable object is linked by itself, so that it has a place before the others are known; the loader
 * does the rest.
 */
function readLinked({ bytes, name }: CodeObjectReader, groups: ReadonlySet<string>): Linked {
  const codeObject = parseCodeObject(bytes, name);
  const { isRelocatable } = codeObject;
  if (!isRelocatable) return { codeObject, functionInfo: new Map(), isRelocatable, groups, arrays: [] };
  try {
    const all = new Set(groups);
    const { bytes: linked, arrays } = linkForLoader(codeObject.elf, all);
    const functionInfo = readFunctionInfo(codeObject.elf);
    return { codeObject: parseCodeObject(linked, name), functionInfo, isRelocatable, groups: all, arrays };
  } catch (error) {
    if (!(error instanceof WavewrightError) || error.code !== 'BAD_INPUT') throw error;
    throw new HsaError('INVALID_CODE_OBJECT', error.what, { file: name, ...error.context });
  }
}

function checkTarget({ name: file, target }: CodeObject, agent: Agent): void {
  const reason = explainIncompatibility(target, parseTargetId(agent.isas[0]!.targetId));
  if (reason !== undefined) {
    const what = `cannot run on ${agent.requireDevice().name}: ${reason}`;
    throw new HsaError('INCOMPATIBLE_ARGUMENTS', what, { file }, 'UNSUPPORTED');
  }
}

function loadExtent({ elf, name: file }: CodeObject): Extent {
  const segments = elf.segments.filter(({ type }) => type === PT_LOAD);
  let alignmentBytes = GRANULE_BYTES;
  let start: bigint | undefined;
  let end = 0n;
  for (const segment of segments) {
    if (segment.alignmentBytes > MAX_ALIGNMENT_BYTES) {
      const what = `segment ${segment.index} is aligned to ${segment.alignmentBytes} bytes, at most ${MAX_ALIGNMENT_BYTES} are supported`;
      throw new WavewrightError('LIMIT_EXCEEDED', what, { file });
    }
    alignmentBytes = Math.max(alignmentBytes, segment.alignmentBytes);
    const segmentEnd = segment.virtualAddress + BigInt(segment.memorySizeBytes);
    if (start === undefined || segment.virtualAddress < start) start = segment.virtualAddress;
    if (segmentEnd > end) end = segmentEnd;
  }
  if (start === undefined || end === start) {
    throw new HsaError('INVALID_CODE_OBJECT', 'the file has nothing to load: no PT_LOAD segment', { file });
  }
  start -= start % BigInt(alignmentBytes);
  if (end - start > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new WavewrightError('LIMIT_EXCEEDED', `the segments span ${hex(end - start)} bytes`, { file });
  }
  return { start, sizeBytes: Number(end - start), alignmentBytes };
}
