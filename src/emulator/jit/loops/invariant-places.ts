/**
 * Values that do not change in a loop, as far as there are not enough vector registers for them: they are
 * read from memory where they are needed. Engines rather spill what is carried from one iteration to the
 * next, which costs a store and a load in the chain of operations.
 */
import type { Local } from '../../../wasm/function.ts';
import { captured } from '../../lowering/emitter.ts';
import { NIBBLE_MASKS, TEMPORARY_ROW_COUNT, WAVE_TEMPORARY_ROWS } from '../../machine/layout.ts';
import type { Node } from '../regions/node.ts';
import type { Chunk, LoopEnvironment } from './chunk-state.ts';
import { accessArguments, vectorArguments } from './node-arguments.ts';

/** Those that compilers for x86-64 and this machine's kind give out, and how many one operation takes. */
const VECTOR_REGISTERS = 15;
const TEMPORARY_REGISTERS = 3;
const SLOTS = (TEMPORARY_ROW_COUNT * 256) / 16;

export class InvariantPlaces {
  readonly #environment: LoopEnvironment;
  /** Offsets in the wave; of lanes, the place of the first chunk of a group. */
  readonly #offsets = new Map<Node, number>();
  #moving: Readonly<Record<'wave' | 'pointer' | 'step', Local>> | undefined;

  /** `nodes`: of lanes; `held`: what must be in registers. */
  constructor(environment: LoopEnvironment, nodes: readonly Node[], chunkCount: number, held: ReadonlySet<Node>) {
    this.#environment = environment;
    const { variant, rows, masks } = environment.plan;
    const excluded = new Set([...held, ...nodes.flatMap(accessArguments)]);
    const uses = new Map<Node, number>();
    const splats = new Set<Node>();
    for (const node of nodes) {
      if (!variant.has(node)) continue;
      for (const arg of vectorArguments(node, true)) {
        if (!variant.has(arg) && !excluded.has(arg) && arg.type !== 'i64') uses.set(arg, (uses.get(arg) ?? 0) + 1);
        if (variant.has(arg) && !arg.lane) splats.add(arg);
      }
    }
    // What is carried on stays in registers, and what the wave computes for all chunks; of the rest, what is
    // used most.
    let registers = VECTOR_REGISTERS - TEMPORARY_REGISTERS - splats.size - (rows.size + masks.size) * chunkCount;
    let slot = 0;
    for (const [node] of [...uses].sort(([, a], [, b]) => b - a)) {
      const copies = node.lane ? chunkCount : 1;
      registers -= copies;
      if (registers >= 0) continue;
      if (node.leaf.kind === 'row') this.#offsets.set(node, node.leaf.offset);
      else if (slot + copies <= SLOTS) {
        this.#offsets.set(node, WAVE_TEMPORARY_ROWS + slot * 16);
        slot += copies;
      }
    }
  }

  /** Offset in the wave; undefined for values in registers. */
  get(node: Node): number | undefined {
    return this.#offsets.get(node);
  }

  /**
   * The engine would unroll the loop and keep what it loaded, at the cost of the registers that this saves,
   * if it knew that addresses stay the same. They move on by a number that is always zero.
   */
  begin(): void {
    if (this.#offsets.size === 0) return;
    const { state, pointer } = this.#environment;
    const { f, wave } = state;
    const moving = { wave: f.local('i32'), pointer: f.local('i32'), step: f.local('i32') };
    f.get(wave);
    f.set(moving.wave);
    f.get(pointer);
    f.set(moving.pointer);
    f.i32(0);
    f.load('i32.load', NIBBLE_MASKS);
    f.set(moving.step);
    this.#moving = moving;
  }

  /** Ends an iteration. */
  move(): void {
    if (!this.#moving) return;
    const { f } = this.#environment.state;
    const { wave, pointer, step } = this.#moving;
    for (const local of [wave, pointer]) {
      f.get(local);
      f.get(step);
      f.op('i32.add');
      f.set(local);
    }
  }

  end(): void {
    if (this.#moving) this.#environment.state.f.free(...Object.values(this.#moving));
    this.#moving = undefined;
  }

  /** Takes values from their places for a moment; returns those that it took. */
  load({ lanes, place }: Chunk, nodes: readonly Node[]): Node[] {
    const { f, wave } = this.#environment.state;
    const loaded = [...new Set(nodes)].filter((node) => this.#offsets.has(node));
    for (const node of loaded) {
      const isRow = node.leaf.kind === 'row';
      f.get(isRow ? (this.#moving?.pointer ?? place.pointer) : (this.#moving?.wave ?? wave));
      f.load('v128.load', this.#offsets.get(node)! + (node.lane ? place.offset * 4 : 0));
      lanes.set(node, [captured(f)]);
    }
    return loaded;
  }

  unload({ lanes }: Chunk, nodes: readonly Node[]): void {
    for (const node of nodes) {
      this.#environment.state.f.free(...lanes.get(node)!);
      lanes.delete(node);
    }
  }
}
