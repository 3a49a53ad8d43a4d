import type { FunctionBuilder } from '../../wasm/function.ts';
import { ModuleBuilder } from '../../wasm/module.ts';
import type { FunctionRef, FunctionType, ValueType } from '../../wasm/types.ts';
import type { Memories } from '../machine/memory.ts';

/** What the machine under WebAssembly does, found once at start. */
export interface HostTraits {
  /** relaxed_madd is a fused multiply-add with one rounding. */
  readonly fused: boolean;
}

/** Sizes of the memories that modules import, in pages of 64 KiB. */
export interface MemoryPages {
  readonly state: number;
  readonly device: number;
}

export const pagesOf = ({ state, memory }: Memories): MemoryPages => ({ state: state.pages, device: memory.pages });

/**
 * One WebAssembly module of lowered code: the imports that lowered code may use, and helper functions that
 * are emitted once per module when something first needs them.
 */
/** As the fields of `ModuleContext` say; without, nothing is counted and all is checked. */
export type EmissionOptions = Partial<
  Pick<ModuleContext, 'checksAccesses' | 'isCompact' | 'countsClasses' | 'countsPcs'>
> & { readonly countsAccesses?: boolean; readonly tracesWaves?: boolean };

export class ModuleContext {
  readonly module = new ModuleBuilder();
  readonly traits: HostTraits;
  /** Whether accesses are checked; false only where the cost of that is measured. */
  readonly checksAccesses: boolean;
  /**
   * Whether the loop over the lanes of a handler is emitted once, with masks: for code that runs seldom, of
   * which emitting is the cost.
   */
  readonly isCompact: boolean;
  /** Whether code counts its instructions by class. */
  readonly countsClasses: boolean;
  /** Whether code counts executions by pc. */
  readonly countsPcs: boolean;
  /** Where code counts what lanes access: the functions of `AccessCounter` that it calls. */
  readonly accesses: { readonly begin: FunctionRef; readonly chunk: FunctionRef } | undefined;
  /** Where waves are traced: `WaveTracer.run`. */
  readonly traceRun: FunctionRef | undefined;
  /** (record, wave, access code, lane, address low, address high): throws. */
  readonly fault: FunctionRef;
  readonly softFma32: FunctionRef;
  readonly softFma64: FunctionRef;
  readonly softFmaRounded64: FunctionRef;
  /** (record, wave) -> next record, 0 to leave the executor. */
  readonly handlerType: FunctionType;
  readonly #helpers = new Map<string, FunctionRef>();

  constructor(traits: HostTraits, pages: MemoryPages, options: EmissionOptions = {}) {
    const m = this.module;
    this.traits = traits;
    this.checksAccesses = options.checksAccesses ?? true;
    this.isCompact = options.isCompact ?? false;
    this.countsClasses = options.countsClasses ?? false;
    this.countsPcs = options.countsPcs ?? false;
    // In the order of STATE_MEMORY and DEVICE_MEMORY.
    m.importMemory('env', 'state', { minPages: pages.state, maxPages: pages.state, shared: true });
    m.importMemory('env', 'memory', { minPages: pages.device, maxPages: pages.device, shared: true });
    m.importTable('env', 'table', { min: 0 });
    this.fault = m.importFunction('env', 'fault', ['i32', 'i32', 'i32', 'i32', 'i32', 'i32'], []);
    this.softFma32 = m.importFunction('env', 'softFma32', ['i32', 'i32', 'i32'], ['i32']);
    this.softFma64 = m.importFunction('env', 'softFma64', ['i64', 'i64', 'i64'], ['i64']);
    this.softFmaRounded64 = m.importFunction('env', 'softFmaRounded64', ['i64', 'i64', 'i64', 'i32'], ['i64']);
    this.accesses = options.countsAccesses
      ? {
          begin: m.importFunction('env', 'accessBegin', ['i32'], []),
          chunk: m.importFunction('env', 'accessChunk', new Array<'i32'>(11).fill('i32'), []),
        }
      : undefined;
    this.traceRun = options.tracesWaves
      ? m.importFunction('env', 'traceRun', new Array<'i32'>(5).fill('i32'), [])
      : undefined;
    this.handlerType = m.type(['i32', 'i32'], ['i32']);
  }

  helper(
    name: string,
    parameters: readonly ValueType[],
    results: readonly ValueType[],
    build: (f: FunctionBuilder) => void,
  ): FunctionRef {
    let ref = this.#helpers.get(name);
    if (!ref) {
      const f = this.module.function(parameters, results);
      this.#helpers.set(name, f);
      build(f);
      ref = f;
    }
    return ref;
  }
}
