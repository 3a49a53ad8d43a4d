/**
 * A loop as one lane goes through it: values as numbers where their operations have a scalar form, otherwise
 * as vectors of which lane 0 counts. Each is made from the ones before it.
 */
import { assert } from '../../../base/errors.ts';
import { OPS } from '../../../ir/ops.ts';
import type { Type } from '../../../ir/types.ts';
import { add64, loadFrom, operation, push } from '../../../wasm/expression.ts';
import type { LoadName } from '../../../wasm/opcodes.ts';
import { EMISSION } from '../../lowering/emission.ts';
import { extract, splat, wasmType } from '../../lowering/emitter.ts';
import { DEVICE_MEMORY } from '../../machine/layout.ts';
import { type AccessGroup, groupAccesses, isLeftOut, loadedDword } from '../regions/access-group.ts';
import { bothWays, extendedIndex, withoutCarry } from '../regions/address-parts.ts';
import { constantOf, isOp } from '../regions/graph.ts';
import type { Node } from '../regions/node.ts';
import { type LaneForm, LaneForms } from './lane-forms.ts';
import {
  type Carried,
  type LaneBit,
  type LaneContext,
  type LaneValue,
  type Pointer,
  pushBit,
  pushRow,
  pushRows,
  watching,
} from './lane-values.ts';
import type { LoopPlan } from './loop-plan.ts';
import { type NanChecks, nanChecks } from './nan-checks.ts';

/** By their bytes. */
const LOADS: Readonly<Record<number, LoadName>> = { 1: 'i32.load8_u', 2: 'i32.load16_u', 4: 'i32.load' };

/** Of a dword of a load, or the whole of a smaller one. */
const bytesOf = ({ leaf }: Node): number => (leaf.kind === 'load' ? Math.min(leaf.sizeBytes, 4) : 4);

export class LaneProgram {
  readonly plan: LoopPlan;
  /** In order. */
  readonly values: LaneValue[] = [];
  readonly carried: Carried[] = [];
  readonly pointers: Pointer[] = [];
  readonly masks = new Map<number, LaneBit>();
  readonly tests = new Map<number, LaneBit>();
  readonly skips: readonly LaneValue[];
  readonly again: LaneBit;
  readonly groups: ReadonlyMap<Node, AccessGroup>;
  readonly nans: NanChecks;
  readonly #forms: LaneForms;
  readonly #values = { scalar: new Map<Node, LaneValue>(), vector: new Map<Node, LaneValue>() };
  readonly #addresses = new Map<AccessGroup, LaneValue>();
  readonly #lows = new Map<Pointer, LaneValue>();
  readonly #wides = new Map<Pointer, LaneValue>();
  /** Loads about which it was asked whether they are permitted. */
  readonly #opened = new Set<Node>();
  /** Low and high words, as rows, of pairs that are carried on as one number. */
  readonly #pairs = new Map<number, Pair>();

  /** `plan`: with EXEC set. */
  constructor(plan: LoopPlan) {
    this.plan = plan;
    const { graph, rows, masks, tests } = plan;
    const lanes = plan.nodes.filter(({ lane }) => lane);
    this.groups = groupAccesses(lanes);
    this.nans = nanChecks(lanes, plan);
    this.#forms = new LaneForms(lanes, rows);
    this.#findPairs(lanes);
    for (const node of lanes) if (node.leaf.kind === 'load') this.#open(node);
    for (const node of plan.rare) this.#refuse(this.scalar(node), true);
    // Engines compare and branch with one instruction where nothing is between: what decides comes last.
    this.#carryRows();
    for (const [base, node] of masks) this.masks.set(base, this.#bit(node));
    for (const [offset, { mask }] of tests) this.tests.set(offset, this.#bit(mask));
    this.skips = graph.skips.map(({ mask }) => this.scalar(mask));
    const { again } = graph;
    this.again = this.#bit(again.kind === 'lanes' ? again.mask : again.condition);
    this.#carryMasks();
  }

  // What is carried on

  #carryMasks(): void {
    const { graph, masks } = this.plan;
    for (const [base, entry] of graph.entryMasks) {
      const value = this.#values.scalar.get(entry);
      const next = masks.get(base);
      if (!value || !next || value.emit) continue;
      this.carried.push({ value, next: this.scalar(next), begin: (context) => pushBit(context, entry), rows: [] });
    }
  }

  #carryRows(): void {
    for (const { low, high, value, pointer } of this.#pairs.values()) {
      if (pointer) continue;
      const next = this.#sum(this.plan.rows.get(low)!, this.plan.rows.get(high)!)!;
      this.carried.push({ value, next, begin: (context) => pushRows(context, low, high), rows: [low, high] });
    }
    const inPairs = new Set([...this.#pairs.values()].flatMap(({ low, high }) => [low, high]));
    for (const [offset, node] of this.plan.rows) {
      if (inPairs.has(offset)) continue;
      const form = this.#forms.ofRow(offset);
      const row = this.plan.nodes.find(({ leaf }) => leaf.kind === 'row' && leaf.offset === offset);
      const next = this.#in(form, node);
      const value = row ? this.#in(form, row) : this.#carriedValue(next.type);
      const begin = row && ((context: LaneContext) => pushRow(context, offset, form));
      this.carried.push({ value, next, begin, rows: [offset] });
    }
  }

  #carriedValue(type: LaneValue['type']): LaneValue {
    return { type, isVariant: true, emit: undefined };
  }

  // Values

  scalar(node: Node): LaneValue {
    return this.#in('scalar', node);
  }

  #bit(node: Node): LaneBit {
    const isOpposite = isOp(node, 'i1.not');
    return { value: this.scalar(isOpposite ? node.args[0]! : node), isOpposite };
  }

  #in(form: LaneForm, node: Node): LaneValue {
    const known = this.#values[form].get(node);
    if (known) return known;
    const value = this.#made(form, node);
    this.#values[form].set(node, value);
    return value;
  }

  #add(
    type: LaneValue['type'],
    args: readonly LaneValue[],
    emit: (context: LaneContext) => void,
    isVariant = args.some((arg) => arg.isVariant),
  ): LaneValue {
    const value = { type, isVariant, emit };
    this.values.push(value);
    return value;
  }

  /** Gives up where a condition is as `when` says. */
  #refuse(condition: LaneValue, when: boolean, active?: LaneValue): void {
    const parts = active ? [condition, active] : [condition];
    this.#add('i32', parts, ({ state: { f }, local, giveUp }) => {
      f.get(local(condition));
      if (!when) f.op('i32.eqz');
      if (active) {
        f.get(local(active));
        f.op('i32.and');
      }
      f.brIfRare(giveUp);
      f.i32(0);
    });
  }

  #made(form: LaneForm, node: Node): LaneValue {
    const { leaf, lane } = node;
    const type = form === 'vector' ? 'v128' : wasmType(node.type as Type);
    const isVariant = this.plan.variant.has(node);
    if (leaf.kind === 'const' && form === 'scalar')
      return this.#add(type, [], ({ state: { f } }) => push(f, type === 'i64' ? leaf.value : Number(leaf.value)));
    if (!lane && form === 'scalar')
      return this.#add(type, [], ({ state: { f }, uniform }) => f.get(uniform(node)), isVariant);
    if (lane && leaf.kind === 'row') {
      if (!this.plan.rows.has(leaf.offset))
        return this.#add(type, [], (context) => pushRow(context, leaf.offset, form));
      const pair = this.#pairOf(leaf.offset);
      if (pair && form === 'scalar')
        return pair.pointer && pair.low === leaf.offset
          ? this.#lowOf(pair.pointer)
          : this.#word(this.#wideOf(pair), pair.high === leaf.offset);
      if (!pair && form === this.#forms.of(node)) return this.#carriedValue(type);
    } else if (leaf.kind === 'load' || leaf.kind === 'loaded') {
      const { load } = loadedDword(node);
      const isNumber = this.#forms.isNumber(node) || bytesOf(load) < 4 || isLeftOut(load);
      if (form === 'scalar' || !isNumber) return this.#dword(form, node);
    } else if (lane && leaf.kind === 'laneMask') {
      // One of a number that the wave computes is made anew in each iteration.
      const isCarried = isVariant && this.plan.graph.entryMasks.values().some((entry) => entry === node);
      if (form === 'scalar')
        return isCarried ? this.#carriedValue(type) : this.#add(type, [], (c) => pushBit(c, node), isVariant);
    } else if (lane && leaf.kind === 'laneId') {
      if (form === 'scalar') return this.#add(type, [], ({ state: { f }, lane }) => f.get(lane));
    } else if (lane && this.#forms.of(node) === form) return this.#operation(form, node);
    return this.#converted(form, node);
  }

  #converted(form: LaneForm, node: Node): LaneValue {
    const type = node.type as Type;
    const from = this.#in(form === 'vector' ? 'scalar' : 'vector', node);
    if (form === 'scalar')
      return this.#add(wasmType(type), [from], ({ state: { e }, local }) =>
        extract(e, [local(from), local(from)], type, 0),
      );
    return this.#add('v128', [from], ({ state: { e, f }, local }) => {
      const [vector] = splat(e, local(from), type);
      f.get(vector!);
      f.free(vector!);
    });
  }

  #operation(form: LaneForm, node: Node): LaneValue {
    const { leaf, args } = node;
    assert(leaf.kind === 'pure', () => `per-lane ${leaf.kind} in a loop`);
    const { op } = leaf;
    const emission = EMISSION[op];
    if (op === 'i64.pack') {
      const sum = this.#wide(args[0]!, args[1]!);
      if (sum) return sum;
    }
    if (form === 'scalar') {
      const values = args.map((arg) => this.scalar(arg));
      return this.#add(wasmType(OPS[op].result), values, ({ state: { e }, local }) =>
        emission.scalar!(e, values.map(local)),
      );
    }
    if (op.endsWith('.select')) return this.#selected(args);
    const values = args.map((arg) => this.#in('vector', arg));
    return this.#add('v128', values, (context) => {
      const { f } = context.state;
      const e = this.nans.values.has(node) ? watching(context) : { ...context.state.e, deferNan: () => {} };
      const lanes = values.map((value, i) => {
        const lane = context.local(value);
        return { lanes: args[i]!.type === 'i64' ? [lane, lane] : [lane] };
      });
      const [first] = f.scoped(() => emission.simd!(e, lanes).slice(0, 1));
      f.get(first!);
      f.free(first!);
    });
  }

  #selected([condition, yes, no]: readonly Node[]): LaneValue {
    const [a, b, test] = [this.#in('vector', yes!), this.#in('vector', no!), this.scalar(condition!)];
    return this.#add('v128', [a, b, test], ({ state: { f }, local }) => {
      for (const value of [a, b, test]) f.get(local(value));
      f.select();
    });
  }

  // Numbers of two words

  #word(wide: LaneValue, isHigh: boolean): LaneValue {
    return this.#add('i32', [wide], ({ state: { f }, local }) => {
      push(f, operation('i32.wrap_i64', isHigh ? operation('i64.shr_u', local(wide), 32n) : local(wide)));
    });
  }

  #pairOf(offset: number): Pair | undefined {
    return this.#pairs.get(offset) ?? [...this.#pairs.values()].find(({ high }) => high === offset);
  }

  /** Rows that are the words of a number to which something is added with its carry. */
  #findPairs(lanes: readonly Node[]): void {
    const { rows } = this.plan;
    for (const node of lanes) {
      if (!isOp(node, 'i64.pack')) continue;
      const [low, high] = node.args.map(({ leaf }) => (leaf.kind === 'row' ? leaf.offset : -1)) as [number, number];
      const next = [rows.get(low), rows.get(high)];
      if (!next[0] || !next[1] || this.#pairOf(low) || this.#pairOf(high)) continue;
      const pair = { low, high, value: this.#carriedValue('i64'), pointer: undefined };
      this.#pairs.set(low, pair);
      if (!this.#sum(next[0], next[1])) this.#pairs.delete(low);
      // What was tried may have read the rows otherwise.
      this.values.length = 0;
      for (const form of ['scalar', 'vector'] as const) this.#values[form].clear();
      this.#addresses.clear();
      this.#opened.clear();
    }
    for (const pair of this.#pairs.values()) {
      const { low, high } = pair;
      const next = rows.get(low)!;
      const step = isOp(next, 'i32.add')
        ? bothWays(next).find(([a]) => a.leaf.kind === 'row' && a.leaf.offset === low)?.[1]
        : undefined;
      const by = Number((step && constantOf(step)) ?? 0n);
      const above = withoutCarry(this.plan.graph.values, next, rows.get(high)!);
      if (by <= 0 || above?.leaf.kind !== 'row' || above.leaf.offset !== high) continue;
      const begin = this.#add('i64', [], (context) => pushRows(context, low, high));
      pair.pointer = { low, high, step: by, begin, groups: [] };
      this.pointers.push(pair.pointer);
    }
  }

  /** The low word of a pointer, which grows in 32 bits. */
  #lowOf(pointer: Pointer): LaneValue {
    let value = this.#lows.get(pointer);
    if (!value) {
      value = this.#growing('i32', pointer);
      this.#lows.set(pointer, value);
    }
    return value;
  }

  #wideOf(pair: Pair): LaneValue {
    const { pointer } = pair;
    if (!pointer) return pair.value;
    let value = this.#wides.get(pointer);
    if (!value) {
      value = this.#growing('i64', pointer);
      this.#wides.set(pointer, value);
    }
    return value;
  }

  #growing(type: 'i32' | 'i64', { begin, step }: Pointer): LaneValue {
    const value = this.#carriedValue(type);
    const next = this.#add(type, [value], ({ state: { f }, local }) =>
      push(f, operation(`${type}.add`, local(value), type === 'i64' ? BigInt(step) : step)),
    );
    const first = ({ state: { f }, local }: LaneContext): void =>
      push(f, type === 'i64' ? local(begin) : operation('i32.wrap_i64', local(begin)));
    this.carried.push({ value, next, begin: first, rows: [] });
    return value;
  }

  /** Words that are those of one number anyway. */
  #wide(low: Node, high: Node): LaneValue | undefined {
    const { variant } = this.plan;
    const pair = low.leaf.kind === 'row' ? this.#pairs.get(low.leaf.offset) : undefined;
    if (pair && high.leaf.kind === 'row' && high.leaf.offset === pair.high) return this.#wideOf(pair);
    const extended = extendedIndex(low, high);
    if (extended) {
      const index = this.scalar(extended.index);
      return this.#add('i64', [index], ({ state: { f }, local }) => {
        const wide = operation(extended.isSigned ? 'i64.extend_i32_s' : 'i64.extend_i32_u', local(index));
        push(f, extended.shift === 0 ? wide : operation('i64.shl', wide, BigInt(extended.shift)));
      });
    }
    if (!variant.has(low) && !variant.has(high)) {
      const words = [this.scalar(low), this.scalar(high)];
      return this.#add('i64', words, ({ state: { e }, local }) => EMISSION['i64.pack'].scalar!(e, words.map(local)));
    }
    return this.#sum(low, high);
  }

  /** A sum of two numbers, with the carry between the words. */
  #sum(low: Node, high: Node): LaneValue | undefined {
    const values = this.plan.graph.values;
    if (!isOp(low, 'i32.add')) return undefined;
    const highs = withoutCarry(values, low, high);
    if (!highs) return undefined;
    const zero = values.constant(0n, 'i32');
    const pairs = isOp(highs, 'i32.add')
      ? bothWays(highs)
      : ([
          [highs, zero],
          [zero, highs],
        ] as const);
    for (const [x, y] of pairs) {
      const a = this.#wide(low.args[0]!, x);
      const b = a && this.#wide(low.args[1]!, y);
      if (b) return this.#add('i64', [a, b], ({ state: { f }, local }) => push(f, add64(local(a), local(b))));
    }
    return undefined;
  }

  // Loads

  /** Asks whether a load is permitted, also where nobody reads what it loads. */
  #open(load: Node): void {
    const { leaf } = load;
    assert(leaf.kind === 'load', 'a load');
    if (this.#opened.has(load)) return;
    this.#opened.add(load);
    if (leaf.predicated) this.#refuse(this.scalar(load.args.at(-1)!), isLeftOut(load), this.#active(load));
    if (!isLeftOut(load)) this.#address(load);
  }

  #dword(form: LaneForm, node: Node): LaneValue {
    const { load, index } = loadedDword(node);
    this.#open(load);
    if (isLeftOut(load)) return this.#add('i32', [], ({ state: { f } }) => f.i32(0), true);
    const address = this.#address(load);
    const at = load.address!.offset + index * 4;
    const name = form === 'vector' ? 'v128.load32_zero' : LOADS[bytesOf(load)]!;
    return this.#add(form === 'vector' ? 'v128' : 'i32', [address], ({ state: { f }, local }) =>
      push(f, loadFrom(name, local(address), at, DEVICE_MEMORY)),
    );
  }

  /** Loads at a pointer in every iteration are permitted before the first one, as far as it gets. */
  #pointed(group: AccessGroup, load: Node): LaneValue | undefined {
    const { low, high } = group.parts;
    const pair = low.leaf.kind === 'row' ? this.#pairs.get(low.leaf.offset) : undefined;
    const isPointer = pair?.pointer && high?.leaf.kind === 'row' && high.leaf.offset === pair.high;
    if (!isPointer || this.#active(load) || group.alignmentBytes > 1) return undefined;
    pair.pointer!.groups.push(group);
    const value = this.#lowOf(pair.pointer!);
    this.#addresses.set(group, value);
    return value;
  }

  /** Where not all iterations make a load, whether this one does. */
  #active({ active }: Node): LaneValue | undefined {
    return active && constantOf(active) === undefined ? this.scalar(active) : undefined;
  }

  /** Where a load is allowed to begin, less its offset; where the lane makes none, something harmless. */
  #address(load: Node): LaneValue {
    const group = this.groups.get(load)!;
    let address = this.#addresses.get(group) ?? this.#pointed(group, load);
    if (!address) {
      const active = this.#active(load);
      const whole = this.scalar(load.args[0]!);
      const parts = active ? [whole, active] : [whole];
      const { offset } = load.address!;
      address = this.#add(
        'i32',
        parts,
        (context) => context.ranges.open(context, group, context.local(whole), offset, active && context.local(active)),
        true,
      );
      this.#addresses.set(group, address);
    }
    return address;
  }
}

/** Rows that hold the words of a number; `pointer`: where an iteration adds a constant. */
interface Pair {
  readonly low: number;
  readonly high: number;
  readonly value: LaneValue;
  pointer: Pointer | undefined;
}
