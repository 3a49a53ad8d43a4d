/**
 * How often instructions are executed, from counters at as few places as tell it: waves and lanes that come
 * to a block leave it again, so that what comes by some of the ways between blocks tells what comes by the
 * others. Counters stay in registers where the kernel leaves some.
 */
import { assert } from '../../base/errors.ts';
import { type EdgePlan, planEdgeCounts } from '../../flow/edge-counts.ts';
import { stateNumber } from '../../flow/steps.ts';
import { BlockDepths } from './block-depths.ts';
import { type Amount, countHook } from './counting.ts';
import { equallyOften, execRegions } from './exec-regions.ts';
import type { PointHook } from './hook.ts';
import { type EdgePlace, type Flow, type FlowEdge, flowOf } from './lane-flow.ts';
import type { ResidentCounter, Residents } from './residents.ts';
import { steadyRegions } from './steady-masks.ts';
import type { ToolCode } from './tool-code.ts';
import { firstOf, type ToolBlock, type ToolFunction, type ToolInstruction } from './tool-function.ts';
import { type Counters, readCounters, type VariableMemory } from './variables.ts';

/** How often what is executed. */
export interface FlowTotals {
  /** Waves that came through a block. */
  waves(block: ToolBlock): bigint;
  /** As what `amountOf` said of it. */
  of(instruction: ToolInstruction): bigint;
}

/** A counter that is wanted somewhere. */
interface Wanted {
  readonly amount: Amount;
  readonly place: Pick<EdgePlace, 'side' | 'instruction' | 'isOnce'>;
  readonly cost: number;
  readonly residents: Residents | undefined;
  /** Of a kernel: all waves that are launched. */
  readonly launched: ToolFunction | undefined;
  /** Of waves: the wanted number of lanes that one counter can tell together with it. */
  lanes: number | undefined;
}

interface Planned {
  readonly amount: Amount;
  readonly flow: Flow;
  readonly plan: EdgePlan;
}

/** Where the number of something comes from: what is known when all counters are. */
type Source = (counts: readonly bigint[]) => bigint;

const SCC = stateNumber('scc');
/** SCC is dead soon, where it is not at once. */
const MOST_CANDIDATES = 16;

export class FlowCounter {
  readonly #code: ToolCode;
  readonly #amountOf: (instruction: ToolInstruction) => Amount;
  readonly #wanted: Wanted[] = [];
  readonly #waves = new Map<ToolBlock, Source>();
  readonly #lanes = new Map<ToolInstruction, Source>();
  readonly #readers: (Counter | undefined)[] = [];
  #memory: Counters | undefined;

  /**
   * Counts what is selected of the code. `amountOf`: what an instruction counts as, `waves` or the same other
   * amount for all.
   */
  constructor(code: ToolCode, name: string, amountOf: (instruction: ToolInstruction) => Amount) {
    this.#code = code;
    this.#amountOf = amountOf;
    for (const each of code.functions) {
      const residents = code.residentsOf(each);
      if (!residents || !this.#followFlow(each, residents)) this.#countEach(each);
    }
    this.#insert(name);
  }

  /** Counters, those in registers among them. */
  get account(): { readonly counters: number; readonly resident: number } {
    const resident = this.#readers.filter((each) => each !== undefined).length;
    return { counters: this.#wanted.length, resident };
  }

  read(memory: VariableMemory): FlowTotals {
    const inMemory = this.#memory ? readCounters(memory, this.#memory) : [];
    let next = 0;
    const counts = this.#readers.map((reader) => reader?.read(memory) ?? inMemory[next++]!);
    return {
      waves: (block) => this.#waves.get(block)!(counts),
      of: (instruction) => (this.#lanes.get(instruction) ?? this.#waves.get(instruction.block)!)(counts),
    };
  }

  /** Each region by itself. */
  #countEach(fn: ToolFunction): void {
    const often = equallyOften(fn);
    const want = (instruction: ToolInstruction, amount: Amount): Source => {
      const place = { side: 'before', instruction, isOnce: false } as const;
      const index =
        this.#wanted.push({ amount, place, cost: 0, residents: undefined, launched: undefined, lanes: undefined }) - 1;
      return (counts) => counts[index]!;
    };
    for (const block of fn.blocks) {
      const first = often.get(block)!;
      const source = this.#waves.get(first) ?? want(firstOf(first), 'waves');
      this.#waves.set(first, source).set(block, source);
      for (const { instructions } of execRegions(block)) {
        const counted = instructions.filter((each) => this.#amountOf(each) !== 'waves');
        const lanes = counted.length > 0 ? want(instructions[0]!, this.#amountOf(counted[0]!)) : undefined;
        for (const each of counted) this.#lanes.set(each, lanes!);
      }
    }
  }

  /** By the ways between blocks; false where one that must be counted cannot be. */
  #followFlow(fn: ToolFunction, residents: Residents): boolean {
    const isCounted = (instruction: ToolInstruction): boolean => this.#amountOf(instruction) !== 'waves';
    const counted = fn.blocks.flatMap(({ instructions }) => instructions).find(isCounted);
    const depths = new BlockDepths(fn);
    const steady = steadyRegions(fn, depths);
    /** Where waves are counted while always the same lanes are on: counting these tells both. */
    const both = new Map<ToolInstruction, number>();
    const plan = (amount: Amount): Planned => {
      const flow = flowOf(fn, amount === 'waves' ? 'waves' : 'lanes', {
        depths,
        isNeeded: ({ instructions }) => instructions.some(isCounted),
        comesBack: ({ address }) => residents.comesBackFrom(address, fn.lifted),
        isFree: (first) => both.has(first),
      });
      return { amount, flow, plan: planEdgeCounts(flow.nodeCount, flow.edges) };
    };
    const waves = plan('waves');
    if (counted && this.#amountOf(counted) === 'lanes') {
      for (const [i, { instruction }] of placesInLoops(waves)) {
        const region = execRegions(instruction.block).find(({ instructions }) => steady.has(instructions[0]!));
        if (region) both.set(region.instructions[0]!, this.#wanted.length + i);
      }
    }
    const planned = [waves];
    if (counted) planned.push(plan(this.#amountOf(counted)));
    if (planned.some(({ flow, plan }) => plan.counted.some((index) => !flow.edges[index]!.place))) return false;
    for (const each of planned) this.#want(fn, each, residents, both);
    return true;
  }

  #want(
    fn: ToolFunction,
    { amount, flow, plan }: Planned,
    residents: Residents,
    both: ReadonlyMap<ToolInstruction, number>,
  ): void {
    const first = this.#wanted.length;
    for (const index of plan.counted) {
      const edge = flow.edges[index]!;
      const own = this.#wanted.push(wanted(fn, amount, edge, residents)) - 1;
      const waves = amount === 'lanes' ? both.get(edge.place!.candidates[0]!) : undefined;
      if (waves !== undefined && edge.place!.side === 'before') this.#wanted[waves]!.lanes ??= own;
    }
    this.#takeSources(amount, flow, plan, first);
  }

  #takeSources(amount: Amount, { regions }: Flow, plan: EdgePlan, first: number): void {
    let known: { readonly counts: readonly bigint[]; readonly through: readonly bigint[] } | undefined;
    const through = (counts: readonly bigint[]): readonly bigint[] => {
      if (known?.counts !== counts) {
        known = { counts, through: plan.solve(counts.slice(first, first + plan.counted.length)) };
      }
      return known.through;
    };
    for (const [index, region] of regions.entries()) {
      const source: Source = (counts) => through(counts)[index]!;
      if (amount === 'waves') this.#waves.set(region.block, source);
      else for (const each of region.instructions) if (this.#amountOf(each) === amount) this.#lanes.set(each, source);
    }
  }

  /** Those that count most often get registers first. */
  #insert(name: string): void {
    const order = [...this.#wanted.keys()].sort((a, b) => this.#wanted[b]!.cost - this.#wanted[a]!.cost || a - b);
    for (const index of order) {
      const { residents, launched, amount, place, lanes } = this.#wanted[index]!;
      if (this.#readers[index]) continue;
      const pair = lanes === undefined ? undefined : residents?.pairedCounter();
      if (pair) {
        const { place: common } = this.#wanted[lanes!]!;
        this.#readers[index] = pair.waves;
        this.#readers[lanes!] = pair;
        this.#at(common, pair.hook);
        this.#code.describe(pair.waves.meaning, common.side, common.instruction.address);
        continue;
      }
      const counter = launched && amount === 'waves' ? residents?.launchCounter(launched) : undefined;
      if (counter) {
        this.#readers[index] = counter;
        this.#code.describe(counter.meaning, 'entry', launched!.address);
        continue;
      }
      const resident = residents?.counter(amount, place.isOnce);
      this.#readers[index] = resident;
      if (resident) this.#at(place, resident.hook);
    }
    const inMemory = this.#wanted.filter((_, index) => !this.#readers[index]);
    if (inMemory.length === 0) return;
    this.#memory = this.#code.counters(name, inMemory.length);
    for (const [i, { amount, place, residents }] of inMemory.entries()) {
      const hook = countHook(this.#memory, i, amount);
      // What others are made of must not be missing.
      this.#at(place, residents ? hook.required() : hook);
    }
  }

  #at({ side, instruction }: Wanted['place'], hook: PointHook): void {
    const code = this.#code;
    if (side === 'entry') code.atEntry(instruction.block.function, hook);
    else if (side === 'after') code.after(instruction, hook);
    else if (side === 'taken') code.whenTaken(instruction, hook);
    else code.before(instruction, hook);
  }
}

type Counter = Pick<ResidentCounter, 'read'>;

/** In blocks that waves may come to several times, with what they are counted for. */
const placesInLoops = ({ flow, plan }: Planned): (readonly [counter: number, EdgePlace])[] =>
  plan.counted.flatMap((index, i) => {
    const place = flow.edges[index]!.place;
    return place?.side === 'before' && !place.isOnce ? [[i, place] as const] : [];
  });

function wanted(fn: ToolFunction, amount: Amount, edge: FlowEdge, residents: Residents): Wanted {
  const { place, cost, isLaunch } = edge;
  assert(place, () => 'an edge that is counted has a place');
  return {
    amount,
    place: { ...place, instruction: quiet(fn, place) },
    cost,
    residents,
    launched: isLaunch ? fn : undefined,
    lanes: undefined,
  };
}

/** Where SCC is dead, if that is near: counting in scalar registers changes it. */
function quiet({ lifted }: ToolFunction, { instruction, candidates }: EdgePlace): ToolInstruction {
  const isDead = ({ step }: ToolInstruction): boolean => !lifted.readLive(step, 'before').isActive(SCC);
  return candidates.slice(0, MOST_CANDIDATES).find(isDead) ?? instruction;
}
