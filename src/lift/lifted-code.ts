/**
 * A code object lifted: its functions with their blocks, where they call and jump to, and the addresses that
 * they make. Nothing but the file is asked: symbols and kernel descriptors say where functions begin, code
 * says the rest.
 */
import { firstAbove } from '../base/search.ts';
import { hex } from '../base/text.ts';
import { type CodeObject, type Kernel, PROGRAM_KERNEL } from '../codeobject/code-object.ts';
import { wavefrontSize } from '../codeobject/kernel-descriptor.ts';
import { STB_LOCAL, STT_FUNC } from '../elf/constants.ts';
import { type ElfSymbol, isDefined } from '../elf/symbols.ts';
import { blockGraph, blocksAt, type Followed, partOfBlocks } from '../flow/blocks.ts';
import { dominators } from '../flow/dominators.ts';
import { registerSet } from '../flow/steps.ts';
import { targetFor } from '../isa/amdgpu/encoding/targets.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import { type AddressSequence, addressPairOf } from './address-sequence.ts';
import type { MadeAddress } from './address-uses.ts';
import { type AddressSpan, CodeImage } from './code-image.ts';
import { Discovery, type Finding } from './discovery.ts';
import { endingCalls } from './ending-calls.ts';
import { GprIndexStates } from './gpr-index-mode.ts';
import { type LiftedBlock, LiftedFunction, type ReturnPlace, type TransferSite } from './lifted-function.ts';
import { waveSizeOfCode } from './wave-size.ts';

export interface LiftedCode {
  readonly codeObject: CodeObject;
  /** The segments at their addresses, before any relocation. */
  readonly image: Uint8Array;
  /** What the file has of executable segments, by address. */
  readonly codeRanges: readonly AddressSpan[];
  /** By the addresses of their entries. */
  readonly functions: readonly LiftedFunction[];
  /** By address. Plain returns are none. */
  readonly sites: readonly TransferSite[];
  /**
   * The blocks of all code, in the order of addresses, where it is reached by direct branches from where
   * these begin; undefined where it is not.
   */
  blocksFrom(entries: ReadonlyMap<number, unknown>): readonly LiftedBlock[] | undefined;
  /** What is made of each s_getpc_b64, by address. */
  readonly addresses: readonly AddressSequence[];
  /** The function that begins at an address. */
  functionAt(entry: number): LiftedFunction | undefined;
  /** The function that an instruction belongs to. */
  functionOf(step: AmdgpuStep): LiftedFunction | undefined;
  /** The instruction that begins at an address, if it is reached. */
  stepAt(address: number): AmdgpuStep | undefined;
}

/** Of the register pair that callers leave the return address in (LLVM, "Non-Kernel Functions"). */
const RETURN_ADDRESS = 30;
/**
 * Bytes in front of the code that a kernel with preloaded arguments begins with where the packet processor
 * preloads them (LLVM "User Guide for AMDGPU Backend", "Preloaded Kernel Arguments").
 */
const PRELOAD_BYTES = 256;
const DWORD_BYTES = 4;

/**
 * Throws UNSUPPORTED for a processor without instruction tables and for a relocatable object, BAD_INPUT, and
 * LIMIT_EXCEEDED for addresses that are huge.
 */
export function liftCodeObject(codeObject: CodeObject): LiftedCode {
  return new Lift(codeObject).finish();
}

/**
 * A compiler that sees a call may know what the callee leaves alone, but not where a function calls itself.
 */
const isForOthers = (each: LiftedFunction): boolean =>
  each.isExposed && [...each.callers].every((caller) => caller === each);

/** What waves may run that begin in some functions. */
function runFrom(roots: Iterable<LiftedFunction>, functions: readonly LiftedFunction[]): ReadonlySet<LiftedFunction> {
  const found = new Set(roots);
  let isOpen = false;
  for (const each of found) {
    for (const callee of each.callees) found.add(callee);
    if (isOpen || each.sites.every(({ isComplete }) => isComplete)) continue;
    isOpen = true;
    // A call through a pointer may be one of all that others can get the address of; nothing calls kernels.
    for (const other of functions) if (other.isExposed && other.kernels.length === 0) found.add(other);
  }
  return found;
}

/** Functions that kernels cannot come to, and that nothing else in the code object calls. */
function findForOthers(functions: readonly LiftedFunction[]): void {
  const kernels = functions.filter((each) => each.kernels.length > 0);
  const inside = runFrom(kernels, functions);
  for (const each of functions) each.isForOthers = isForOthers(each) && !inside.has(each);
}

/** Functions that other code objects find by their names, and what these reach. */
function findRunByOthers(functions: readonly LiftedFunction[], isNamed: (entry: number) => boolean): void {
  for (const each of functions) each.isExported = each.kernels.length === 0 && isNamed(each.entry);
  const exported = functions.filter(({ isExported }) => isExported);
  for (const each of runFrom(exported, functions)) each.isRunByOthers = true;
}

const RETURN_ADDRESS_BITS = registerSet([{ file: 'scalar', first: RETURN_ADDRESS, dwords: 2 }]);

const writesReturnAddress = ({ blocks }: LiftedFunction): boolean =>
  blocks.some(({ instructions }) =>
    instructions.some(({ effects: { writes, writesAnyOf } }) => {
      return writesAnyOf.has('scalar') || (registerSet(writes) & RETURN_ADDRESS_BITS) !== 0n;
    }),
  );

/**
 * Where `callee` goes back to that `caller` calls or goes on with; undefined where that is not known.
 * `placeBehind`: where control goes on that neither branches nor jumps.
 */
function returnPlacesIn(
  caller: LiftedFunction,
  callee: LiftedFunction,
  placeBehind: (step: AmdgpuStep) => number | undefined,
): readonly ReturnPlace[] | undefined {
  const sites = caller.sites.filter(({ callees }) => callees.includes(callee));
  const calls = sites.filter(({ kind }) => kind === 'call').map(({ step }) => step);
  if (calls.some((step) => addressPairOf(step) !== RETURN_ADDRESS)) return undefined;
  const places = calls.map((call): ReturnPlace => ({ function: caller, call }));
  const isLast = ({ instructions, next }: LiftedBlock): boolean =>
    !next && placeBehind(instructions.at(-1)!) === callee.entry;
  if (calls.length === sites.length && !caller.blocks.some(isLast)) return places;
  // Who goes on with another function leaves it the return address that it was called with itself.
  return writesReturnAddress(caller) ? undefined : [...places, { function: caller, call: undefined }];
}

class Lift {
  readonly #codeObject: CodeObject;
  readonly #image: CodeImage;
  readonly #discovery: Discovery;
  readonly #kernels = new Map<number, Kernel[]>();
  readonly #names: FunctionNames;
  readonly #functions = new Map<number, LiftedFunction>();
  readonly #all: LiftedFunction[] = [];
  #blocks: readonly LiftedBlock[] = [];
  #isIndexingUsed = false;
  /** By dword from the first code on: one more than the number of the function in `#all`. */
  readonly #owners: Uint32Array;
  readonly #firstCode: number;

  constructor(codeObject: CodeObject) {
    const { processor } = codeObject.target;
    this.#codeObject = codeObject;
    // An unknown processor is refused before anything is read.
    targetFor(processor);
    this.#image = new CodeImage(codeObject);
    const { codeRanges } = this.#image;
    this.#firstCode = codeRanges[0]?.start ?? 0;
    this.#owners = new Uint32Array(Math.ceil(((codeRanges.at(-1)?.end ?? 0) - this.#firstCode) / DWORD_BYTES));
    this.#discovery = new Discovery(this.#image, processor);
    this.#names = new FunctionNames(codeObject);
    this.#enterAll();
    this.#discovery.run();
    this.#discovery.refine();
    this.#partition();
  }

  finish(): LiftedCode {
    const functions = [...this.#functions.values()].sort((a, b) => a.entry - b.entry);
    for (const each of functions) this.#link(each);
    for (const each of functions) each.sites = this.#sitesOf(each);
    findForOthers(functions);
    const named = new Set(exportedFunctions(this.#codeObject).map(({ value }) => Number(value)));
    findRunByOthers(functions, (entry) => named.has(entry));
    const { sequences, steps } = this.#discovery;
    this.#findReturnPlaces(functions);
    return {
      codeObject: this.#codeObject,
      image: this.#image.bytes,
      codeRanges: this.#image.codeRanges,
      functions,
      sites: functions.flatMap(({ sites }) => sites).sort((a, b) => a.step.offset - b.step.offset),
      addresses: [...sequences.values()].sort((a, b) => a.getpc.offset - b.getpc.offset),
      blocksFrom: (entries) => this.#blocksFrom(entries),
      functionAt: (entry) => this.#functions.get(entry),
      functionOf: (step) => this.#ownerOf(step),
      stepAt: (address) => steps.get(address),
    };
  }

  #enterAll(): void {
    const discovery = this.#discovery;
    const expose = (address: number, waveSize: 32 | 64): void => {
      discovery.exposed.add(address);
      discovery.enter(address, waveSize);
    };
    for (const kernel of this.#codeObject.kernels) {
      const entry = Number(kernel.entryAddress);
      const isPreloaded = kernel.descriptor.kernargPreload.lengthDwords > 0;
      for (const address of isPreloaded ? [entry, entry + PRELOAD_BYTES] : [entry]) {
        this.#kernels.set(address, [...(this.#kernels.get(address) ?? []), kernel]);
        expose(address, wavefrontSize(kernel.descriptor));
      }
    }
    // What kernels reach has their wave size; only then the size of what is left must be guessed.
    discovery.run();
    const waveSize = this.#defaultWaveSize();
    for (const { value, binding } of functionSymbols(this.#codeObject)) {
      if (binding !== STB_LOCAL) discovery.exposed.add(Number(value));
      discovery.enter(Number(value), waveSize);
    }
    for (const { target } of this.#image.pointers) {
      if (target !== undefined && this.#image.isCode(Number(target))) expose(Number(target), waveSize);
    }
  }

  #defaultWaveSize(): 32 | 64 {
    const { kernels, target } = this.#codeObject;
    const sizes = new Set(kernels.map(({ descriptor }) => wavefrontSize(descriptor)));
    const [size] = sizes;
    if (size !== undefined && sizes.size === 1) return size;
    for (const { start, end } of this.#image.codeRanges) {
      const { waveSize } = waveSizeOfCode(this.#image.bytes.subarray(start, end), target.processor);
      if (waveSize !== undefined) return waveSize;
    }
    return targetFor(target.processor).waveSizes[0]!;
  }

  /**
   * Blocks that are reached from one entry alone belong to it; those that ways from several come to together
   * begin a function of their own. Both follow from the dominators over all code.
   */
  #partition(): void {
    const { entries, exposed } = this.#discovery;
    const isStart = ({ instructions }: LiftedBlock): boolean => entries.has(instructions[0]!.offset);
    let blocks = this.#allBlocks();
    const ending = endingCalls(blocks, ({ offset }) => this.#discovery.findings.get(offset));
    if (ending.size > 0) {
      this.#discovery.endAt(ending);
      blocks = this.#allBlocks();
    }
    const indexing = new GprIndexStates(blocks, () => blockGraph(blocks, blocks.filter(isStart)));
    this.#isIndexingUsed = !indexing.isUnused;
    const { indexed } = indexing;
    if (indexed.length > 0) {
      this.#discovery.readIndexed(indexed);
      blocks = this.#allBlocks();
    }
    this.#blocks = blocks;
    const starts = blocks.filter(isStart);
    const tree = dominators(blockGraph(blocks, starts));
    const roots = new Int32Array(blocks.length).fill(-1);
    const rootOf = (block: number): number => {
      const path: number[] = [];
      let at = block;
      for (let above = tree.immediate(at); roots[at]! < 0 && above !== undefined; above = tree.immediate(at)) {
        path.push(at);
        at = above;
      }
      const root = roots[at]! < 0 ? at : roots[at]!;
      roots[at] = root;
      for (const each of path) roots[each] = root;
      return root;
    };
    const parts = Map.groupBy(blocks, ({ index }) => rootOf(index));
    for (const [root, own] of parts) {
      const { offset: entry, instruction } = blocks[root]!.instructions[0]!;
      const part = partOfBlocks(own, blocks[root]!, ({ control }) => control !== 'next');
      this.#add(entry, instruction.waveSize, exposed.has(entry), part ?? this.#blocksAlone(own, entry));
    }
    for (const [entry, waveSize] of entries) {
      if (!this.#functions.has(entry)) this.#add(entry, waveSize, exposed.has(entry), []);
    }
  }

  /** Blocks of code that overlaps other code, which cuts it nowhere any more. */
  #blocksAlone(blocks: readonly LiftedBlock[], entry: number): LiftedBlock[] {
    const places = blocks.flatMap(({ instructions }) => instructions.map(({ offset }) => offset));
    return blocksAt(
      places.sort((a, b) => a - b),
      (place) => this.#follow(place),
      [entry],
    );
  }

  #blocksFrom(entries: ReadonlyMap<number, unknown>): readonly LiftedBlock[] | undefined {
    const { findings, steps } = this.#discovery;
    const isJump = ([place, { targets }]: readonly [number, Finding]): boolean =>
      targets.size > 0 && steps.get(place)!.control === 'jump';
    const starts = new Set(this.#blocks.map(({ instructions }) => instructions[0]!.offset));
    if (findings.entries().some(isJump) || !entries.keys().every((entry) => starts.has(entry))) return undefined;
    return this.#discovery.entries.keys().every((entry) => entries.has(entry)) ? this.#blocks : undefined;
  }

  #allBlocks(): LiftedBlock[] {
    const { entries, steps } = this.#discovery;
    return blocksAt(steps.addresses(), (place) => this.#follow(place), entries.keys());
  }

  #follow(place: number): Followed<AmdgpuStep> {
    return this.#discovery.follow(this.#discovery.steps.get(place)!);
  }

  #add(entry: number, waveSize: 32 | 64, isExposed: boolean, blocks: LiftedFunction['blocks']): void {
    const kernels = this.#kernels.get(entry) ?? [];
    const name = kernels[0]?.entryAddress === BigInt(entry) ? kernels[0].name : this.#names.of(entry);
    const isIndexingUsed = this.#isIndexingUsed;
    const lifted = new LiftedFunction({ name, entry, waveSize, kernels, blocks, isExposed, isIndexingUsed });
    this.#functions.set(entry, lifted);
    this.#all.push(lifted);
    for (const { instructions } of blocks) {
      for (const { offset } of instructions) this.#owners[(offset - this.#firstCode) / DWORD_BYTES] = this.#all.length;
    }
  }

  #ownerOf({ offset }: AmdgpuStep): LiftedFunction | undefined {
    const number = this.#owners[(offset - this.#firstCode) / DWORD_BYTES] ?? 0;
    return number === 0 ? undefined : this.#all[number - 1];
  }

  /** Finds callers and callees; code that runs over the end of a function calls what follows, too. */
  #link(lifted: LiftedFunction): void {
    const { findings } = this.#discovery;
    for (const { instructions, next, target } of lifted.blocks) {
      const last = instructions.at(-1)!;
      const places = [...(findings.get(last.offset)?.targets ?? [])];
      if (last.control !== 'call' && !target && last.target !== undefined) places.push(last.target);
      const behind = next ? undefined : this.#discovery.follow(last).next;
      if (behind !== undefined) places.push(behind);
      for (const place of places) {
        const callee = this.#functions.get(place);
        if (!callee || (callee === lifted && last.control !== 'call')) continue;
        lifted.callees.add(callee);
        callee.callers.add(lifted);
      }
    }
  }

  #sitesOf(lifted: LiftedFunction): TransferSite[] {
    const sites: Goal[] = [];
    for (const { instructions, target } of lifted.blocks) {
      const step = instructions.at(-1)!;
      const finding = this.#discovery.findings.get(step.offset);
      const own = { step, function: lifted };
      if (step.control === 'call') {
        const comesBack = this.#discovery.follow(step).next !== undefined;
        sites.push({ ...own, kind: 'call', comesBack, ...summaryOf(finding) });
      } else if (step.control === 'jump' || step.control === 'return') {
        if (this.#isPlainReturn(lifted, finding)) continue;
        const kind = finding?.returnsTo === undefined ? 'jump' : 'return';
        sites.push({ ...own, kind, comesBack: false, ...summaryOf(finding) });
      } else if (step.target !== undefined && !target) {
        const isComplete = this.#functions.has(step.target);
        const targets = isComplete ? [step.target] : [];
        sites.push({ ...own, kind: 'jump', comesBack: false, targets, isComplete, how: 'direct' });
      }
    }
    const withCallees = sites.map((site) => ({
      ...site,
      callees: site.targets.flatMap((target) => this.#functions.get(target) ?? []),
    }));
    return withCallees.sort((a, b) => a.step.offset - b.step.offset);
  }

  /** Goes to the address that callers leave, in the register pair in which they leave it. */
  #isPlainReturn(lifted: LiftedFunction, finding: Finding | undefined): boolean {
    if (finding?.returnsTo === undefined || lifted.kernels.length > 0) return false;
    if (finding.returnsTo === RETURN_ADDRESS) return true;
    const calls = [...lifted.callers].flatMap((caller) => this.#callsFrom(caller, lifted.entry));
    return calls.length > 0 && !lifted.isExposed && calls.every((pair) => pair === finding.returnsTo);
  }

  /** Of functions that only known sites go to, and that go back to where the calling convention says. */
  #findReturnPlaces(functions: readonly LiftedFunction[]): void {
    const made = Map.groupBy(this.#discovery.sequences.values(), ({ target }) => target);
    for (const each of functions) {
      if ((each.isExposed && !each.isExported) || each.callers.size === 0 || !this.#returnsByConvention(each)) continue;
      const places = [...each.callers].map((caller) =>
        returnPlacesIn(caller, each, (step) => this.#discovery.follow(step).next),
      );
      if (places.includes(undefined)) continue;
      each.returnPlaces = places.flatMap((found) => found ?? []);
      each.madeAddresses = (made.get(each.entry) ?? []).map((sequence) => this.#madeBy(sequence));
    }
  }

  #madeBy({ getpc, low, high }: AddressSequence): MadeAddress {
    const step = low!.offset > high!.offset ? low! : high!;
    return { function: this.#ownerOf(step)!, step, first: addressPairOf(getpc)! };
  }

  /** Sites say for themselves where they go to. */
  #returnsByConvention({ blocks, sites }: LiftedFunction): boolean {
    const known = new Set(sites.map(({ step }) => step));
    return blocks.every(({ instructions }) => {
      const last = instructions.at(-1)!;
      if (last.control !== 'jump' || known.has(last)) return true;
      return this.#discovery.findings.get(last.offset)?.returnsTo === RETURN_ADDRESS;
    });
  }

  /** The register pairs in which calls from `caller` leave the return address; undefined for branches. */
  #callsFrom(caller: LiftedFunction, entry: number): (number | undefined)[] {
    return caller.blocks.flatMap(({ instructions }) => {
      const step = instructions.at(-1)!;
      const goes = this.#discovery.findings.get(step.offset)?.targets.has(entry) ?? step.target === entry;
      if (!goes) return [];
      return [addressPairOf(step)];
    });
  }
}

/** A site before its targets are looked up. */
type Goal = Omit<TransferSite, 'callees'>;

function summaryOf(finding: Finding | undefined): Pick<Goal, 'targets' | 'isComplete' | 'how'> {
  if (!finding) return { targets: [], isComplete: false, how: 'unresolved' };
  const isComplete = finding.isComplete && finding.returnsTo === undefined && finding.targets.size > 0;
  return { targets: [...finding.targets].sort((a, b) => a - b), isComplete, how: finding.how };
}

/** Functions that have symbols. */
export const functionSymbols = ({ elf }: CodeObject): readonly ElfSymbol[] =>
  [...elf.symbols, ...elf.dynamicSymbols].filter((symbol) => symbol.type === STT_FUNC && isDefined(symbol));

/** Those that other code objects are linked with; programs that a loader runs are whole. */
function exportedFunctions({ elf, kernels }: CodeObject): readonly ElfSymbol[] {
  if (kernels.some(({ name }) => name === PROGRAM_KERNEL)) return [];
  return elf.dynamicSymbols.filter(
    (symbol) => symbol.type === STT_FUNC && isDefined(symbol) && symbol.binding !== STB_LOCAL,
  );
}

/** What symbols call addresses. */
class FunctionNames {
  /** By address; of several at one address the first that is not local. */
  readonly #places: { readonly address: number; readonly end: number; readonly name: string }[];

  constructor(codeObject: CodeObject) {
    const byAddress = new Map<number, ElfSymbol>();
    for (const symbol of functionSymbols(codeObject)) {
      const known = byAddress.get(Number(symbol.value));
      if (known && (known.binding !== STB_LOCAL || symbol.binding === STB_LOCAL)) continue;
      byAddress.set(Number(symbol.value), symbol);
    }
    this.#places = [...byAddress]
      .map(([address, { name, sizeBytes }]) => ({ address, end: address + sizeBytes, name }))
      .sort((a, b) => a.address - b.address);
  }

  of(address: number): string {
    const place = this.#places[firstAbove(this.#places, address) - 1];
    if (place?.address === address) return place.name;
    return place && address < place.end ? `${place.name}+${hex(address - place.address)}` : hex(address);
  }
}
