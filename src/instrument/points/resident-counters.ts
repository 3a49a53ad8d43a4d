/**
 * Counters in registers that payloads keep for as long as a kernel runs; where its waves end they are added
 * to memory. Totals have 64 bits, so that no register runs over: 32 are for what a wave does once.
 */
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import type { Amount } from '../tool/counting.ts';
import type { HookMeaning, PointHook } from '../tool/hook.ts';
import type { PairedCounter, ResidentCounter, Residents } from '../tool/residents.ts';
import type { ToolFunction } from '../tool/tool-function.ts';
import { COUNTER_BYTES, type Counters, readCounters, type VariableMemory } from '../tool/variables.ts';
import type { CounterHooks, LaneCounter, LaneRow } from './counter-payloads.ts';
import type { CounterRegisters } from './register-share.ts';

/** Those of kernels that share functions. */
export class ResidentCounters implements Residents {
  readonly #registers: CounterRegisters;
  readonly #place: Pick<Counters, 'name' | 'symbol'>;
  readonly #waveSize: number;
  readonly #hooks: CounterHooks;
  /** As many counters as a wave has lanes, each in a lane of two VGPRs or on its way there. */
  readonly #rows: LaneRow[] = [];
  readonly #vectors: LaneCounter[] = [];
  /** Scalar registers for what is between two instructions. */
  #scratch: number | undefined;

  /** `place`: the variable that it all is added to. */
  constructor(
    registers: CounterRegisters,
    place: Pick<Counters, 'name' | 'symbol'>,
    waveSize: number,
    hooks: CounterHooks,
  ) {
    this.#hooks = hooks;
    this.#registers = registers;
    this.#place = place;
    this.#waveSize = waveSize;
  }

  /** It grows as long as counters are asked for. */
  get variable(): Counters {
    const length = this.#laneCount + this.#indexOf(this.#vectors.length);
    const sizeBytes = length * COUNTER_BYTES;
    return { ...this.#place, kind: 'counters', length, sizeBytes, alignmentBytes: COUNTER_BYTES };
  }

  /** For where waves end; asked for when all counters are there. */
  flushHook(): PointHook {
    return this.#hooks.flush({ rows: this.#rows, vectors: this.#vectors }, this.#place.symbol);
  }

  counter(amount: Amount, isOnce: boolean): ResidentCounter | undefined {
    this.#scratch ??= this.#registers.takeScratch(2);
    if (this.#scratch === undefined) return undefined;
    if (isOnce) return this.#inLane(amount, 1) ?? this.#inScalars(amount, 1);
    const own = amount === 'lanes' ? this.#inLanes() : undefined;
    return own ?? this.#inScalars(amount, 2) ?? this.#inLane(amount, 2);
  }

  pairedCounter(): PairedCounter | undefined {
    return this.#inLanes(true);
  }

  launchCounter({ lifted }: ToolFunction): ReturnType<Residents['launchCounter']> {
    const row = this.#openRow();
    if (row.first === undefined) return undefined;
    const lane = row.slots.push('lane') - 1;
    for (const { entryAddress } of lifted.kernels) this.#registers.setLane(entryAddress, row.first, lane);
    return { ...this.#reader(row, lane), meaning: this.#meaningOf(row, lane, 'waves') };
  }

  comesBackFrom(call: number, { sites }: LiftedFunction): boolean {
    const site = sites.find(({ step }) => step.offset === call);
    return site?.isComplete === true && site.callees.every((callee) => comesBack(callee));
  }

  get #laneCount(): number {
    return this.#rows.reduce((sum, { slots }) => sum + slots.length, 0);
  }

  #reader(row: LaneRow, lane: number): Pick<ResidentCounter, 'read'> {
    const index = this.#rows.indexOf(row) * this.#waveSize + lane;
    return { read: (memory) => this.#read(memory, index) };
  }

  #meaningOf(row: LaneRow, lane: number, amount: Amount): HookMeaning {
    return { symbol: this.#place.symbol, index: this.#rows.indexOf(row) * this.#waveSize + lane, amount };
  }

  #read(memory: VariableMemory, index: number): bigint {
    return readCounters(memory, this.variable)[index]!;
  }

  /** A row with a lane that is free; all before it are full. */
  #openRow(): LaneRow {
    let row = this.#rows.at(-1);
    if (!row || row.slots.length === this.#waveSize) {
      row = { first: this.#registers.takeVectors(), slots: [] };
      this.#rows.push(row);
    }
    return row;
  }

  #inScalars(amount: Amount, dwords: 1 | 2): ResidentCounter | undefined {
    const first = this.#registers.takeScalars(dwords);
    if (first === undefined) return undefined;
    const row = this.#openRow();
    const counter = { first, dwords };
    const lane = row.slots.push(counter) - 1;
    const meaning = this.#meaningOf(row, lane, amount);
    return { hook: { ...this.#hooks.scalar(counter, amount), meaning }, ...this.#reader(row, lane) };
  }

  #inLane(amount: Amount, dwords: 1 | 2): ResidentCounter | undefined {
    const row = this.#openRow();
    if (row.first === undefined) return undefined;
    const lane = row.slots.push('lane') - 1;
    const meaning = this.#meaningOf(row, lane, amount);
    const hook = this.#hooks.inLane({ row: row.first, lane, dwords }, amount, this.#scratch!);
    return { hook: { ...hook, meaning }, ...this.#reader(row, lane) };
  }

  #inLanes(isPaired = false): PairedCounter | undefined {
    this.#scratch ??= this.#registers.takeScratch(2);
    if (this.#scratch === undefined) return undefined;
    // The first two are for what has a lane each.
    this.#openRow();
    const first = this.#registers.takeVectors();
    if (first === undefined) return undefined;
    const vector = this.#vectors.push({ first, isPaired }) - 1;
    // It stands behind all lanes that there will be, and waves behind it.
    const lanes = (): number => this.#laneCount + this.#indexOf(vector);
    const waves = (): number => lanes() + 1;
    const { symbol } = this.#place;
    const meaning: HookMeaning = { symbol, index: lanes, amount: 'lanes' };
    return {
      hook: { ...this.#hooks.inAllLanes(first, this.#scratch), meaning },
      read: (memory) => this.#read(memory, lanes()),
      waves: { read: (memory) => this.#read(memory, waves()), meaning: { symbol, index: waves, amount: 'waves' } },
    };
  }

  /** Among the numbers of what lanes count for themselves. */
  #indexOf(vector: number): number {
    return this.#vectors.slice(0, vector).reduce((sum, { isPaired }) => sum + (isPaired ? 2 : 1), 0);
  }
}

/** Whether no wave ends in a function. */
function comesBack(callee: LiftedFunction): boolean {
  const { functions, isComplete } = callee.reaches();
  const ends = ({ blocks }: LiftedFunction): boolean =>
    blocks.some(({ instructions }) => instructions.at(-1)!.control === 'end');
  return isComplete && ![...functions].some(ends);
}
