/** Lifted hooks at a point: arguments and intrinsics get values, and the hook becomes payload code. */
import type { CodeContext } from '../../isa/amdgpu/encoding/instruction.ts';
import type { Payload } from '../machine/machine-code.ts';
import { PayloadBuilder } from '../machine/payload-builder.ts';
import { isRejected, type Rejected } from './hook-code.ts';
import { HookEmission } from './hook-emission.ts';
import type { HookArgument, HookPoint } from './hook-point.ts';
import type { LiftedHook } from './lift-hook.ts';

/** A hook for points with the same `key`: they differ in the literals alone. */
export interface BoundHook {
  readonly key: string;
  readonly code: (code: CodeContext) => Payload;
  readonly literals: readonly number[];
}

/** Puts a hook to a point, or says why that cannot be, in words that stand behind "the hook". */
export function bindHook(hook: LiftedHook, args: readonly HookArgument[], point: HookPoint): BoundHook | Rejected {
  const { instruction } = point;
  // What goes wrong shows when the code is written for the first time, and so do the literals.
  const trial = new PayloadBuilder({ target: instruction.target, waveSize: hook.waveSize });
  const emission = new HookEmission(hook, args, point);
  const result = emission.emit(trial);
  if (isRejected(result)) return result;
  return {
    key: result.key,
    code: (code) => {
      const builder = new PayloadBuilder(code);
      new HookEmission(hook, args, point).emit(builder);
      return builder.payload();
    },
    literals: result.literals,
  };
}
