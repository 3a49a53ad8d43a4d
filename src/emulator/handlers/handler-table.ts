/**
 * The T0 executor: one WebAssembly function per (instruction, operand shape), called by a small loop that is WebAssembly too. Handlers are
 * compiled when code that needs them is decoded, many in one module.
 */
import type { Program } from '../../ir/types.ts';
import type { FunctionBuilder } from '../../wasm/function.ts';
import { probeHost, softImports } from '../host.ts';
import { EXIT_BUDGET, EXIT_UNTRANSLATED, RECORD_HANDLER, WAVE_EXIT, WAVE_RECORD } from '../layout.ts';
import type { OperandKind } from '../lowering/handler-state.ts';
import { lowerHandler } from '../lowering/lower.ts';
import type { AddressSpaces } from '../lowering/memory-access.ts';
import { ModuleContext } from '../lowering/module-context.ts';
import type { EmulatorMemory } from '../memory.ts';

export type FaultCallback = (
  record: number,
  wave: number,
  code: number,
  lane: number,
  addressLow: number,
  addressHigh: number,
) => void;

export interface HandlerRequest {
  readonly key: string;
  readonly program: Program;
  readonly operandKinds: readonly OperandKind[];
}

/** (record, wave, budget) -> budget left. The wave's exit code and record say why it returned and where to go on. */
type RunFunction = (record: number, wave: number, budget: number) => number;

const FIRST_SLOT = 1;

export class HandlerTable {
  readonly turnInstructions = 50_000;
  readonly run: RunFunction;
  /** Slot of the handler of records that could not be translated. */
  readonly untranslatedSlot = FIRST_SLOT;
  readonly #memory: EmulatorMemory;
  readonly #spaces: AddressSpaces;
  readonly #imports: WebAssembly.Imports;
  readonly #table = new WebAssembly.Table({ element: 'anyfunc', initial: 256 });
  readonly #slots = new Map<string, number>();
  readonly #pending: HandlerRequest[] = [];
  #nextSlot = FIRST_SLOT + 1;

  constructor(memory: EmulatorMemory, spaces: AddressSpaces, fault: FaultCallback) {
    this.#memory = memory;
    this.#spaces = spaces;
    this.#imports = { env: { memory: memory.memory, table: this.#table, fault, ...softImports } };
    const context = new ModuleContext(probeHost(), memory.pages);
    context.module.elements(this.untranslatedSlot, [emitUntranslated(context)]);
    context.module.export('run', emitRun(context));
    this.run = this.#instantiate(context).exports.run as RunFunction;
  }

  /** Handlers compiled so far. */
  get size(): number {
    return this.#slots.size;
  }

  /** Slot for a key; the handler is compiled by the next `compile`. */
  slot(key: string, build: () => Omit<HandlerRequest, 'key'>): number {
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      this.#pending.push({ key, ...build() });
      slot = this.#nextSlot++;
      this.#slots.set(key, slot);
    }
    return slot;
  }

  compile(): void {
    if (this.#pending.length === 0) return;
    const context = new ModuleContext(probeHost(), this.#memory.pages);
    const first = this.#nextSlot - this.#pending.length;
    const functions = this.#pending.map(({ key, program, operandKinds }) =>
      lowerHandler(context, this.#spaces, program, operandKinds, key),
    );
    this.#pending.length = 0;
    context.module.elements(first, functions);
    if (this.#table.length < this.#nextSlot)
      this.#table.grow(Math.max(this.#table.length, this.#nextSlot - this.#table.length));
    this.#instantiate(context);
  }

  #instantiate(context: ModuleContext): WebAssembly.Instance {
    return new WebAssembly.Instance(new WebAssembly.Module(context.module.toBytes()), this.#imports);
  }
}

function emitUntranslated(context: ModuleContext): FunctionBuilder {
  const f = context.module.function(context.handlerType.parameters, context.handlerType.results, 'untranslated');
  storeExit(f, EXIT_UNTRANSLATED);
  f.i32(0);
  return f;
}

/** Stores the exit code and, as the place to go on, parameter 0; parameter 1 is the wave. */
function storeExit(f: FunctionBuilder, code: number): void {
  f.get(f.param(1));
  f.i32(code);
  f.store('i32.store', WAVE_EXIT);
  f.get(f.param(1));
  f.get(f.param(0));
  f.store('i32.store', WAVE_RECORD);
}

/** while (budget > 0 && (record = handler(record, wave)) != 0) budget--. */
function emitRun(context: ModuleContext): FunctionBuilder {
  const f = context.module.function(['i32', 'i32', 'i32'], ['i32'], 'run');
  const [record, wave, budget] = [f.param(0), f.param(1), f.param(2)];
  f.loop(undefined, (again) => {
    f.get(record);
    f.get(wave);
    f.get(record);
    f.load('i32.load', RECORD_HANDLER);
    f.callIndirect(context.handlerType);
    f.set(record);
    f.get(budget);
    f.i32(1);
    f.op('i32.sub');
    f.set(budget);
    f.get(record);
    f.op('i32.eqz');
    f.if(undefined, () => {
      f.get(budget);
      f.return();
    });
    f.get(budget);
    f.brIf(again);
  });
  storeExit(f, EXIT_BUDGET);
  f.i32(0);
  return f;
}
