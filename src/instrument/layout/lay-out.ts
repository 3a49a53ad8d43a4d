/**
 * Gives code its place: items to bytes at image addresses. Branches that do not reach their target go through
 * islands, which need neither a register nor SCC.
 */

import { alignUp } from '../../base/align.ts';
import { assert, WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { DWORD_BYTES, displacement } from './branches.ts';
import type { CodeItem, InstructionItem, Label, LiteralFixup } from './code-item.ts';
import { type BranchPlan, nextPlace, planBranches } from './islands.ts';
import type { LayoutCode } from './layout-code.ts';
import type { Half, PointLiteral } from './payload-code.ts';
import { type PcKind, PcMap, PcRows } from './pc-map.ts';

/** A literal that the loader fills in: half of the loaded address of a symbol and more. */
export interface LiteralRelocation {
  /** Image address of the literal. */
  readonly address: number;
  readonly half: Half;
  readonly symbol: string;
  readonly addend: number;
}

export interface LaidOutCode {
  readonly address: number;
  readonly bytes: Uint8Array;
  readonly map: PcMap;
  readonly relocations: readonly LiteralRelocation[];
  /** Image address of a label among the items. */
  addressOf(label: Label): number;
  /** How many branches were added for others that do not reach their targets. */
  readonly islandCount: number;
}

/**
 * Lays `items` out from image address `address` on. Time is linear in the items, but for the rounds that
 * branches need which do not reach their targets; each label costs a branch at most once in 16 KiB.
 *
 * Throws UNSUPPORTED where a branch cannot reach its target in any way.
 */
export function layOutCode(items: readonly CodeItem[], address: number, code: LayoutCode): LaidOutCode {
  const plan = planBranches(items, address);
  return new Emitter(items, address, plan, code).run();
}

class Emitter {
  readonly #items: readonly CodeItem[];
  readonly #plan: BranchPlan;
  readonly #start: number;
  readonly #code: LayoutCode;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #rows: PcRows;
  readonly #relocations: LiteralRelocation[] = [];
  #at: number;

  constructor(items: readonly CodeItem[], start: number, plan: BranchPlan, code: LayoutCode) {
    this.#items = items;
    this.#plan = plan;
    this.#start = start;
    this.#code = code;
    const sizeBytes = plan.end - start;
    this.#bytes = new Uint8Array(sizeBytes);
    this.#rows = new PcRows(items.length + 1);
    this.#view = new DataView(this.#bytes.buffer);
    this.#at = start;
  }

  run(): LaidOutCode {
    let islandCount = 0;
    for (let index = 0; index < this.#items.length; index++) {
      const item = this.#items[index]!;
      if (item.kind === 'align') {
        const [at, end] = [this.#at, alignUp(this.#at, item.sizeBytes)];
        while (this.#at < end) this.#put([this.#code.nop]);
        this.#addRow(at, 'filler', undefined);
      } else if (item.kind === 'payload') this.#payload(item);
      else if (item.kind !== 'label') this.#place(item, index);
      const pool = this.#plan.pools.get(index);
      if (!pool) continue;
      if (pool.isPassed) this.#passBy(pool.islands.length);
      for (const island of pool.islands) {
        const at = this.#at;
        this.#branch(this.#code.branch, this.#plan.addressOf(nextPlace(island)));
        this.#addRow(at, 'island', island.origin);
        islandCount++;
      }
    }
    assert(this.#at === this.#plan.end, 'code has the size that was planned');
    return {
      address: this.#start,
      bytes: this.#bytes,
      map: new PcMap(this.#rows),
      relocations: this.#relocations,
      addressOf: (label) => this.#plan.addressOf(label),
      islandCount,
    };
  }

  #payload({ code, hook, point }: Extract<CodeItem, { readonly kind: 'payload' }>): void {
    const start = this.#at;
    this.#bytes.set(code.bytes, start - this.#start);
    const { sizesBytes, fixups } = code;
    const numbers = fixups.length === 0 ? NO_NUMBERS : hook.literals;
    for (let i = 0; i < fixups.length; i++) {
      const { at, literal } = fixups[i]!;
      if ('pointLiteral' in literal) this.#view.setUint32(start - this.#start + at, numberOf(literal, numbers), true);
      else {
        const { half, symbol = hook.symbol, addend } = literal;
        assert(symbol !== undefined, 'the point has the symbol of the payload');
        this.#relocations.push({ address: start + at, half, symbol, addend: numberOf(addend, numbers) });
      }
    }
    this.#rows.addPayload(start, sizesBytes, point);
    this.#at += code.bytes.length;
  }

  #place(item: InstructionItem, index: number): void {
    const at = this.#at;
    if (item.kind === 'branch') this.#branch(item.words, this.#plan.addressOf(this.#plan.targetOf(index)));
    else {
      this.#put(item.words);
      if (item.fixup) this.#fix(item.fixup);
    }
    this.#addRow(at, kindOf(item), item.origin ?? item.point);
  }

  /** A branch around islands, behind the instruction that was put last. */
  #passBy(islandCount: number): void {
    const at = this.#at;
    this.#branch(this.#code.branch, at + DWORD_BYTES * (1 + islandCount));
    this.#addRow(at, 'branch', this.#rows.originOf(this.#rows.runCount - 1));
  }

  /** For what was put from `address` on. */
  #addRow(address: number, kind: PcKind, origin: number | undefined): void {
    const sizeBytes = this.#at - address;
    if (sizeBytes > 0) this.#rows.add(address, sizeBytes, origin, kind);
  }

  #put(words: readonly number[]): void {
    for (let i = 0; i < words.length; i++) {
      this.#view.setUint32(this.#at - this.#start, words[i]!, true);
      this.#at += DWORD_BYTES;
    }
  }

  #branch([first, ...rest]: readonly number[], target: number): void {
    const field = displacement(this.#at + DWORD_BYTES * (1 + rest.length), target);
    if (field === undefined) {
      const what = `a branch at ${hex(this.#at)} does not reach ${hex(target)}`;
      throw new WavewrightError('UNSUPPORTED', what);
    }
    this.#put([((first! & 0xffff_0000) | field) >>> 0, ...rest]);
  }

  /** The literal is the dword that was put last. */
  #fix(fixup: LiteralFixup): void {
    const address = this.#at - DWORD_BYTES;
    if (fixup.kind === 'absolute') {
      const { half, symbol, addend } = fixup;
      this.#relocations.push({ address, half, symbol, addend });
      return;
    }
    const { target } = fixup;
    const place = typeof target === 'number' ? target : this.#plan.addressOf(target);
    const distance = BigInt(place - this.#plan.addressOf(fixup.from));
    const value = fixup.half === 'low' ? distance : distance >> 32n;
    this.#view.setUint32(address - this.#start, Number(BigInt.asUintN(32, value)), true);
  }
}

const NO_NUMBERS: readonly number[] = [];

/** `numbers` are those of the point. */
function numberOf(value: number | PointLiteral, numbers: readonly number[]): number {
  const known = typeof value === 'number' ? value : numbers[value.pointLiteral];
  assert(known !== undefined, () => 'the point has all literals of the payload');
  return known;
}

function kindOf({ origin, point, keepsWay }: InstructionItem): PcKind {
  if (keepsWay) return 'branch';
  if (origin !== undefined) return 'original';
  return point === undefined ? 'filler' : 'payload';
}
