/** Registers as assembler source calls them. */
import { WavewrightError } from '../../base/errors.ts';
import type { RegisterRange } from '../../ir/effects.ts';
import type { HookBuilder, HookValue, Spread } from '../dsl/hook.ts';
import type { ToolInstruction } from './tool-function.ts';

export interface NamedRegister {
  readonly name: string;
  readonly isUniform: boolean;
  read(b: HookBuilder): HookValue<Spread, 32>;
}

const FILES = { s: 'scalar', v: 'vector', a: 'accumulator' } as const;

/** `s4`, `v0` or `a7`. Throws USAGE for anything else. */
export function registerNamed(name: string): NamedRegister {
  const [, letter, digits] = /^([sva])(\d{1,3})$/.exec(name) ?? [];
  const number = Number(digits);
  if (letter === undefined || number > 255 || (letter === 's' && number > 105))
    throw new WavewrightError('USAGE', `'${name}' is no register`, { hint: 'for example s4, v0 or a7' });
  const file = FILES[letter as keyof typeof FILES]; // reason: the expression takes no other letter.
  return { name, isUniform: file === 'scalar', read: (b) => b[file](number) };
}

/** The vector registers that a vector instruction writes: numbers of the first, and how many. */
export function resultRegisters({ step }: ToolInstruction): Pick<RegisterRange, 'first' | 'dwords'> | undefined {
  return step.effects.writes.find(({ file }) => file === 'vector');
}
