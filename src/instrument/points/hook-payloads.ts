/** Payloads of hooks, made once for all kernels in which the variables of a tool are at the same places. */
import type { CodeContext } from '../../isa/amdgpu/encoding/instruction.ts';
import type { VariablePlace } from '../dsl/global-memory.ts';
import type { Payload } from '../machine/machine-code.ts';
import type { Guard, HookCode } from '../tool/hook.ts';

/** Payloads, and all that was asked about places when they were made. */
interface Compiled {
  readonly waveSize: CodeContext['waveSize'];
  readonly answers: ReadonlyMap<string, number | undefined>;
  readonly payloads: readonly Payload[];
}

/** Of the hooks of one code object, whose target is one. */
export class HookPayloads {
  readonly #compiled = new Map<HookCode, Compiled[]>();
  readonly #guards: ReadonlyMap<HookCode, Guard>;

  constructor(guards: ReadonlyMap<HookCode, Guard> = new Map()) {
    this.#guards = guards;
  }

  /**
   * Asks `place` for what the hook asks for, and for nothing else: registers are taken for what is asked.
   * With the same answers a hook asks the same.
   */
  of(code: HookCode, context: CodeContext, place: VariablePlace | undefined): readonly Payload[] {
    const known = this.#compiled.get(code) ?? [];
    this.#compiled.set(code, known);
    const answers = new Map<string, number | undefined>();
    const addressOf = (symbol: string): number | undefined => {
      if (!answers.has(symbol)) answers.set(symbol, place?.addressOf?.(symbol));
      return answers.get(symbol);
    };
    const found = known.find(
      (each) =>
        each.waveSize === context.waveSize &&
        each.answers.entries().every(([symbol, register]) => addressOf(symbol) === register),
    );
    if (found) return found.payloads;
    const make = (): readonly Payload[] => code(context, { addressOf });
    const guard = this.#guards.get(code);
    const payloads = guard ? guard(make) : make();
    known.push({ waveSize: context.waveSize, answers, payloads });
    return payloads;
  }
}
