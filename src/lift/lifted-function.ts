/** A function in machine code: its blocks and what analyses say of them. */

import { assert } from '../base/errors.ts';
import type { Kernel } from '../codeobject/code-object.ts';
import { type BasicBlock, blockGraph } from '../flow/blocks.ts';
import { solveDataFlow } from '../flow/data-flow.ts';
import { type Dominators, dominators } from '../flow/dominators.ts';
import type { FlowGraph } from '../flow/graph.ts';
import { InstructionPlaces } from '../flow/instruction-places.ts';
import { type LaneEffects, LaneLiveness } from '../flow/lane-liveness.ts';
import type { LaneWords, LiveLanes } from '../flow/lane-words.ts';
import { type LoopForest, loopForest } from '../flow/loops.ts';
import { REGISTER_PLACES, registerLaneEffects } from '../flow/steps.ts';
import { strongComponents } from '../flow/strong-components.ts';
import { followingOffset } from '../ir/step.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import { isOnlyCalled, type MadeAddress } from './address-uses.ts';
import { liveBehindReturns } from './calling-convention.ts';
import type { TargetSource } from './discovery.ts';
import { GprIndexStates } from './gpr-index-mode.ts';
import { type InFlight, InFlightAnalysis } from './in-flight.ts';

export type LiftedBlock = BasicBlock<AmdgpuStep>;

/** What a function is made of. */
export interface FunctionParts {
  readonly name: string;
  readonly entry: number;
  readonly waveSize: 32 | 64;
  readonly kernels: readonly Kernel[];
  readonly blocks: readonly LiftedBlock[];
  readonly isExposed: boolean;
  /** Whether any code of the code object switches MODE.gpr_idx_en. */
  readonly isIndexingUsed: boolean;
}

/** A step that goes elsewhere: a call, a jump through a register, a branch into another function. */
export interface TransferSite {
  readonly step: AmdgpuStep;
  readonly function: LiftedFunction;
  /** A `return` is a site where the address is not the one that callers leave. */
  readonly kind: 'call' | 'jump' | 'return';
  /** Addresses; they are code. */
  readonly targets: readonly number[];
  /** The functions at the targets. */
  readonly callees: readonly LiftedFunction[];
  /** Whether the step goes nowhere else. */
  readonly isComplete: boolean;
  readonly how: TargetSource;
  /** Whether control may go on behind a call. */
  readonly comesBack: boolean;
}

/** A call that a function returns behind; without one, a function that goes on with it. */
export interface ReturnPlace {
  readonly function: LiftedFunction;
  readonly call: AmdgpuStep | undefined;
}

/** All functions that are reached; not complete where something goes to places that are not known. */
export interface Reached {
  readonly functions: ReadonlySet<LiftedFunction>;
  readonly isComplete: boolean;
}

/** Those functions, and all that sites of them, of what they go to and so on go to. */
export function reachedFrom(roots: Iterable<LiftedFunction>): ReadonlySet<LiftedFunction> {
  const functions = new Set(roots);
  for (const { callees } of functions) for (const callee of callees) functions.add(callee);
  return functions;
}

/**
 * Code that is entered at one place: every way from elsewhere to one of its instructions begins there, and no
 * instruction belongs to two functions. What two functions share, such as a common end, is a function too.
 */
export class LiftedFunction {
  /** As a symbol or a kernel has it; otherwise `symbol+0xN` behind a symbol that goes on so far, or `0xN`. */
  readonly name: string;
  readonly entry: number;
  readonly waveSize: 32 | 64;
  /** Those whose descriptors enter here, be it behind the code that loads preloaded arguments. */
  readonly kernels: readonly Kernel[];
  /**
   * In the order of their addresses, which are the steps' offsets. A block `leaves` where control may go on
   * outside of the function: at a call, a return, or another function that a branch or the next address
   * belongs to.
   */
  readonly blocks: readonly LiftedBlock[];
  /** Whether others than the sites that are known may come here: the host, other code objects, pointers. */
  readonly isExposed: boolean;
  /** Of this function, by address; set by who links functions with each other. */
  sites: readonly TransferSite[] = [];
  /**
   * Whether only other code objects call it, and so by the calling convention: no kernel of this one may come
   * here, and no other function of it calls this one. Set by who links functions with each other.
   */
  isForOthers = false;
  /**
   * Whether other code objects find it by its name: it is called by the calling convention, but for calls of
   * this code object that are known. Set by who links functions with each other.
   */
  isExported = false;
  /** Whether waves of kernels of other code objects may run it: an exported function leads there. */
  isRunByOthers = false;
  /**
   * Where it goes back to, whoever called it; undefined where that is not known for all who may. Set by who
   * links functions with each other.
   */
  returnPlaces: readonly ReturnPlace[] | undefined;
  /** Where code makes its address; set with `returnPlaces`. */
  madeAddresses: readonly MadeAddress[] = [];
  /** Functions that sites of this one go to, and those that have a site that goes here. */
  readonly callees = new Set<LiftedFunction>();
  readonly callers = new Set<LiftedFunction>();
  #graph: FlowGraph | undefined;
  #dominators: Dominators | undefined;
  #loops: LoopForest | undefined;
  #liveness: LaneLiveness<AmdgpuStep> | undefined;
  #behindReturns: LiveLanes = EVERYTHING;
  #isRecursive = false;
  #reads: LiveLanes | undefined;
  /** By block: whether EXEC may have been written before it. */
  #maskChanged: readonly boolean[] | undefined;
  #inFlight: InFlightAnalysis | undefined;
  readonly #places: InstructionPlaces<AmdgpuStep>;
  readonly #isIndexingUsed: boolean;
  #gprIndexing: GprIndexStates | undefined;
  #siteOf: ReadonlyMap<AmdgpuStep, TransferSite> | undefined;

  constructor({ name, entry, waveSize, kernels, blocks, isExposed, isIndexingUsed }: FunctionParts) {
    this.name = name;
    this.entry = entry;
    this.waveSize = waveSize;
    this.kernels = kernels;
    this.blocks = blocks;
    this.#places = new InstructionPlaces(blocks);
    this.isExposed = isExposed;
    this.#isIndexingUsed = isIndexingUsed;
  }

  /** Behind the instruction with the highest address. */
  get endAddress(): number {
    return this.blocks.reduce(
      (end, { instructions }) => Math.max(end, followingOffset(instructions.at(-1)!)),
      this.entry,
    );
  }

  /** Undefined where no instruction is at the entry. */
  get entryBlock(): LiftedBlock | undefined {
    return this.blocks.find(({ instructions }) => instructions[0]!.offset === this.entry);
  }

  /** Whether control may come to the entry from code that is known, when registers hold something else. */
  get isEnteredAgain(): boolean {
    const { entryBlock } = this;
    return this.callers.size > 0 || this.blocks.some(({ next, target }) => [next, target].includes(entryBlock));
  }

  /** Whether what calls it may be code that is not known. */
  get isOpen(): boolean {
    return this.kernels.length === 0 && (this.isExposed || this.callers.size === 0);
  }

  /** Nodes are the indices of the blocks. */
  get graph(): FlowGraph {
    if (!this.#graph) {
      const { entryBlock } = this;
      this.#graph = blockGraph(this.blocks, entryBlock ? [entryBlock] : []);
    }
    return this.#graph;
  }

  get dominators(): Dominators {
    this.#dominators ??= dominators(this.graph);
    return this.#dominators;
  }

  get loops(): LoopForest {
    this.#loops ??= loopForest(this.graph);
    return this.#loops;
  }

  blockOf(step: AmdgpuStep): LiftedBlock | undefined {
    return this.#places.find(step) ? this.#places.block : undefined;
  }

  siteOf(step: AmdgpuStep): TransferSite | undefined {
    this.#siteOf ??= new Map(this.sites.map((site) => [site.step, site]));
    return this.#siteOf.get(step);
  }

  /** Registers and state by their numbers (`registerNumber`, `stateNumber`), before one of its steps. */
  liveBefore(step: AmdgpuStep): LiveLanes {
    return this.#lanes.beforeInstruction(step);
  }

  liveAfter(step: AmdgpuStep): LiveLanes {
    return this.#lanes.after(step);
  }

  /**
   * What is live before a step, or behind it, until the next question. Steps in their order cost least.
   */
  readLive(step: AmdgpuStep, side: 'before' | 'after'): LaneWords {
    const places = this.#find(step);
    return this.#lanes.read(places.block!, places.index, side);
  }

  #find(step: AmdgpuStep): InstructionPlaces<AmdgpuStep> {
    const found = this.#places.find(step);
    assert(found, () => `the instruction at ${step.offset} belongs to '${this.name}'`);
    return this.#places;
  }

  /**
   * Whether EXEC is, whenever the step runs, what it was on entry: nothing on any way to it writes EXEC. A
   * mask that is put back counts as another one.
   */
  hasEntryMask(step: AmdgpuStep): boolean {
    this.#maskChanged ??= solveDataFlow<boolean>(this.graph, {
      ...{ direction: 'forward', nothing: false, outside: false },
      join: (a, b) => a || b,
      equals: (a, b) => a === b,
      transfer: (block, changed) => changed || this.blocks[block]!.instructions.some(changesMask),
    }).incoming;
    const { block, index } = this.#find(step);
    if (this.#maskChanged[block!.index]) return false;
    return !block!.instructions.slice(0, index).some(changesMask);
  }

  /** Memory accesses that may not be over before a step; it holds until the next question. */
  inFlight(step: AmdgpuStep): InFlight {
    this.#inFlight ??= new InFlightAnalysis(this.blocks, this.graph, {
      atEntry: this.kernels.length > 0 ? 'nothing' : 'unknown',
      afterCalls: 'unknown',
    });
    const places = this.#find(step);
    return this.#inFlight.before(places.block!, places.index);
  }

  /** Where MODE.gpr_idx_en is set. */
  get gprIndexing(): GprIndexStates {
    this.#gprIndexing ??= new GprIndexStates(this.#isIndexingUsed ? this.blocks : [], () => this.graph);
    return this.#gprIndexing;
  }

  /** With the function itself. */
  reaches(): Reached {
    const functions = reachedFrom([this]);
    return { functions, isComplete: functions.values().every(({ sites }) => sites.every((site) => site.isComplete)) };
  }

  /** Callers come first: what is live behind their calls is live behind the returns. */
  get #lanes(): LaneLiveness<AmdgpuStep> {
    if (this.#liveness) return this.#liveness;
    const isDone = (each: LiftedFunction): boolean => each.#liveness !== undefined;
    for (const component of strongComponents<LiftedFunction>(this, (each) => each.#placesOfReturn, isDone)) {
      for (const each of component) {
        each.#isRecursive = component.length > 1 || each.callers.has(each);
        readAll(each);
        each.#behindReturns = each.#findBehindReturns();
        each.#liveness = each.#solve(each.#behindReturns);
      }
    }
    return this.#liveness!;
  }

  get #placesOfReturn(): readonly LiftedFunction[] {
    return this.returnPlaces?.map((place) => place.function) ?? [];
  }

  /** Everything, too, where a place that is not known may get the address. */
  #findBehindReturns(): LiveLanes {
    if (this.isForOthers || (this.isExported && this.callers.size === 0)) return this.#byConvention();
    if (!this.returnPlaces || this.#isRecursive) return EVERYTHING;
    if (!this.isExported && !this.madeAddresses.every((made) => isOnlyCalled(made, this))) return EVERYTHING;
    return this.returnPlaces.reduce(
      (sum, { function: from, call }) => union(sum, call ? from.#lanes.after(call) : from.#behindReturns),
      this.isExported ? this.#byConvention() : NOTHING,
    );
  }

  #byConvention(): LiveLanes {
    const { functions, isComplete } = this.reaches();
    const steps = [...functions].flatMap(({ blocks }) => blocks.flatMap(({ instructions }) => instructions));
    return liveBehindReturns(steps, !isComplete);
  }

  /** `behindReturns`: what is live where the function returns to. */
  #solve(behindReturns: LiveLanes): LaneLiveness<AmdgpuStep> {
    const calls = new Map(this.sites.flatMap((site) => (site.kind === 'call' ? [[site.step, calleeReads(site)]] : [])));
    const effectsOf = (step: AmdgpuStep): LaneEffects => {
      const own = registerLaneEffects(step);
      const read = calls.size === 0 ? undefined : calls.get(step);
      if (!read) return own;
      // A callee may change the mask.
      const reads = own.reads | read.active;
      return { ...own, reads, crossReads: own.crossReads | read.inactive, maskChange: 'any' };
    };
    const outsideOf = ({ instructions, next }: LiftedBlock): LiveLanes => {
      const last = instructions.at(-1)!;
      const site = this.siteOf(last);
      if (last.control === 'call') return calls.get(last) && (next || !site!.comesBack) ? NOTHING : EVERYTHING;
      if (last.control !== 'jump') return EVERYTHING;
      // Whoever is gone to returns for this function.
      return site ? union(calleeReads(site) ?? EVERYTHING, behindReturns) : behindReturns;
    };
    return new LaneLiveness(this.blocks, effectsOf, REGISTER_PLACES, { outsideOf, graph: this.graph });
  }

  /** What the function and its callees read of what they find; undefined until it is asked for. */
  get reads(): LiveLanes | undefined {
    return this.#reads;
  }

  /**
   * Those of callees are known before; a function that is not done yet may read everything. Of
   * functions that call each other something is assumed first (`assumeReads`). Says whether anything changed.
   */
  findReads(): boolean {
    const { entryBlock } = this;
    const before = this.#reads;
    this.#reads = entryBlock ? this.#solve(NOTHING).before(entryBlock) : EVERYTHING;
    return before?.active !== this.#reads.active || before.inactive !== this.#reads.inactive;
  }

  /** What `findReads` begins with. */
  assumeReads(assumed: 'nothing' | 'everything'): void {
    this.#reads = assumed === 'nothing' ? NOTHING : EVERYTHING;
  }
}

/** What is called may do so. */
const changesMask = (step: AmdgpuStep): boolean => step.control === 'call' || step.effects.maskChange !== 'none';

const NOTHING: LiveLanes = { active: 0n, inactive: 0n };
const EVERYTHING: LiveLanes = { active: REGISTER_PLACES.everything, inactive: REGISTER_PLACES.rows };

/** Undefined where anything may be called. */
function calleeReads({ targets, isComplete, callees }: TransferSite): LiveLanes | undefined {
  if (!isComplete || callees.length < targets.length) return undefined;
  return callees.reduce<LiveLanes>((sum, { reads = EVERYTHING }) => union(sum, reads), NOTHING);
}

const union = (a: LiveLanes, b: LiveLanes): LiveLanes => ({
  active: a.active | b.active,
  inactive: a.inactive | b.inactive,
});

/** Rounds in which functions that call each other are asked what they read. */
const MOST_ROUNDS = 16;

/** What is read by functions that call each other, or by one: the least that fits all of them. */
function findTogether(component: readonly LiftedFunction[]): void {
  const [first] = component;
  if (component.length === 1 && !first!.callees.has(first!)) {
    first!.findReads();
    return;
  }
  for (const each of component) each.assumeReads('nothing');
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const changed = component.filter((each) => each.findReads());
    if (changed.length === 0) return;
  }
  for (const each of component) each.assumeReads('everything');
}

/** Finds what the callees of a function read, those that are called first. */
function readAll(root: LiftedFunction): void {
  const isDone = ({ reads }: LiftedFunction): boolean => reads !== undefined;
  for (const callee of root.callees) {
    for (const component of strongComponents(callee, (each) => each.callees, isDone)) {
      findTogether(component);
    }
  }
}
