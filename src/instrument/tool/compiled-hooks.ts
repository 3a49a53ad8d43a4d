/** Hooks that a compiler made of C, C++, HIP or OpenCL C, for tools: by name and arguments. */
import { type InitialValue, initialSgprs } from '../../codeobject/initial-sgprs.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { type BoundHook, bindHook } from '../hooks/bind-hook.ts';
import { type CalledHook, CalledImage } from '../hooks/called-image.ts';
import { bindCall, type CallLanes } from '../hooks/envelope.ts';
import { isRejected, type Rejected } from '../hooks/hook-code.ts';
import type { HookBlock, HookFile } from '../hooks/hook-file.ts';
import type { HookArgument, HookPoint, LaunchRegisters } from '../hooks/hook-point.ts';
import { type LiftedHook, liftHook } from '../hooks/lift-hook.ts';
import type { SymbolPlace } from '../layout/code-item.ts';
import type { PointHook } from './hook.ts';
import type { ToolCode } from './tool-code.ts';
import type { ToolFunction, ToolInstruction } from './tool-function.ts';
import type { ToolVariable } from './variables.ts';

/** A place in a variable of a tool. */
export interface HookVariablePlace {
  readonly variable: ToolVariable;
  readonly offset: number;
  readonly sizeBytes: number;
}

/** What hooks may ask of a point besides what the instruction tells. */
export interface PointKnowledge {
  /** For ww_opcode: the number that the tool knows the opcode by; 0 where it has none. */
  readonly opcode?: number;
  /** Where the point finds values of the launch; others are where the kernel keeps them. */
  readonly launch?: LaunchRegisters;
  /**
   * With `all`, a hook that is called runs with all lanes on, also where the application has none, and its
   * arguments are in all of them; `ww_exec` still gives the application's lanes, and what differs from lane
   * to lane, such as `ww_address`, is right in these alone. A hook that is lifted is refused: it has
   * `ww_write_exec`.
   */
  readonly lanes?: CallLanes;
}

/** Which hooks are called instead of standing at the point themselves. */
export type CallPolicy = 'never' | 'needed' | 'always';

/** A hook at a point. */
interface Use {
  readonly name: string;
  readonly args: readonly HookArgument[];
  readonly point: HookPoint;
  readonly lanes: CallLanes;
}

export class CompiledHooks {
  readonly #file: HookFile;
  readonly #code: ToolCode;
  readonly #blocks = new Map<HookBlock, ToolVariable>();
  readonly #lifted = new Map<string, LiftedHook | Rejected>();
  readonly #codes = new Map<string, PointHook['codes']>();
  readonly #called = new Map<string, CalledHook | Rejected>();
  readonly #calls: CallPolicy;
  #image: { readonly image: CalledImage; readonly variable: ToolVariable } | 'none' | undefined;

  constructor(file: HookFile, code: ToolCode, calls: CallPolicy = 'needed') {
    this.#file = file;
    this.#code = code;
    this.#calls = calls;
  }

  /**
   * A function of the file, called with `args` at points of an instruction. Where that cannot be, the hook
   * has the reason, and so has the account of the points.
   */
  hook(
    name: string,
    args: readonly HookArgument[],
    { step, address, block }: ToolInstruction,
    { opcode = 0, launch: given, lanes = 'active' }: PointKnowledge = {},
  ): PointHook {
    const kept = this.#code.launchOf(block.function);
    const launch = given ? mergedLaunch(given, kept) : kept;
    const { waveSize } = block.function;
    const point: HookPoint = {
      ...{ instruction: step.instruction, address, opcode, launch },
      placeOf: (each) => this.#placeOf(each, waveSize),
    };
    const lifted = this.#lift(name, waveSize);
    const isCalled = this.#calls === 'always' || (isRejected(lifted) && this.#calls === 'needed');
    const bound = isCalled
      ? this.#boundCall({ name, args, point, lanes }, block.function, lifted)
      : isRejected(lifted)
        ? lifted
        : lanes === 'all'
          ? { rejected: 'is not called, and only called hooks begin with all lanes' }
          : bindHook(lifted, args, point);
    if (isRejected(bound)) return refused(bound);
    let codes = this.#codes.get(bound.key);
    if (!codes) {
      codes = [(code) => [bound.code(code)]];
      this.#codes.set(bound.key, codes);
    }
    return { codes, literals: bound.literals };
  }

  /** Where a variable of the source is; undefined where the file has none of the name. */
  variable(name: string): HookVariablePlace | undefined {
    const found = this.#file.variables.find((each) => each.name === name);
    if (!found) return undefined;
    const { offset, sizeBytes, block } = found;
    const whole = this.#imageFor(this.#waveSize);
    if (!whole) return { variable: this.#variableOf(block), offset, sizeBytes };
    return { variable: whole.variable, offset: block.address - whole.image.address + offset, sizeBytes };
  }

  /** Of all kernels that are selected; hooks of another wave size are rejected. */
  get #waveSize(): 32 | 64 {
    return this.#code.functions[0]?.waveSize ?? 64;
  }

  #boundCall(
    { name, args, point, lanes }: Use,
    caller: ToolFunction,
    lifted: LiftedHook | Rejected,
  ): BoundHook | Rejected {
    const whole = this.#imageFor(caller.waveSize);
    if (!whole || caller.waveSize !== this.#waveSize)
      return isRejected(lifted) ? lifted : { rejected: 'is never called' };
    let called = this.#called.get(name);
    if (!called) {
      called = whole.image.hook(name);
      this.#called.set(name, called);
    }
    if (isRejected(called)) return bothReasons(lifted, called);
    const scratch = this.#code.scratchOf(caller);
    if (typeof scratch === 'string') return { rejected: `is called, and ${scratch}` };
    const flatScratch = scratch.flatScratch();
    if (typeof flatScratch === 'string') return { rejected: `is called, and ${flatScratch}` };
    const bound = bindCall(called, args, point, {
      ...{ image: whole.variable.symbol, scratchBytes: scratch.startBytes, flatScratch, lanes },
    });
    if (isRejected(bound)) return bound;
    const why = scratch.require(bound.scratchSizeBytes);
    return why === undefined ? bound : { rejected: `is called, and ${why}` };
  }

  /** The file in one piece, where a hook of it is called; the data of all hooks is there then. */
  #imageFor(waveSize: 32 | 64): { readonly image: CalledImage; readonly variable: ToolVariable } | undefined {
    if (this.#image === undefined) {
      const isCalled = (name: string): boolean => this.#calls === 'always' || isRejected(this.#lift(name, waveSize));
      this.#image = 'none';
      if (this.#calls !== 'never' && [...this.#file.functions.keys()].some(isCalled)) {
        const image = new CalledImage(this.#file, waveSize);
        const parts = this.#file.variables.map(({ block, name, offset, sizeBytes }) => {
          return { name, offset: block.address - image.address + offset, sizeBytes };
        });
        this.#image = { image, variable: this.#code.image('hooks', image, parts) };
      }
    }
    return this.#image === 'none' ? undefined : this.#image;
  }

  #placeOf(block: HookBlock, waveSize: 32 | 64): SymbolPlace {
    const whole = this.#imageFor(waveSize);
    if (!whole) return { symbol: this.#variableOf(block).symbol, addend: 0 };
    return { symbol: whole.variable.symbol, addend: block.address - whole.image.address };
  }

  #lift(name: string, waveSize: 32 | 64): LiftedHook | Rejected {
    const key = `${name} ${waveSize}`;
    let lifted = this.#lifted.get(key);
    if (!lifted) {
      lifted = liftHook(this.#file, name, waveSize);
      this.#lifted.set(key, lifted);
    }
    return lifted;
  }

  #variableOf(block: HookBlock): ToolVariable {
    let variable = this.#blocks.get(block);
    if (!variable) {
      const name = `hook${block.name}`;
      const parts = this.#file.variables.flatMap(({ block: home, name: part, offset, sizeBytes }) =>
        home === block ? [{ name: part, offset, sizeBytes }] : [],
      );
      variable = block.bytes
        ? this.#code.memory(name, block.bytes, block.alignmentBytes, parts)
        : this.#code.buffer(name, block.sizeBytes, parts);
      this.#blocks.set(block, variable);
    }
    return variable;
  }
}

/** Asks `kept` for nothing that `given` has: what is asked for is kept for that reason. */
function mergedLaunch(given: LaunchRegisters, kept: LaunchRegisters): LaunchRegisters {
  const idOf = (i: number): number | undefined => given.workgroupIds?.[i] ?? kept.workgroupIds?.[i];
  const launchValues = given.launchValues ?? kept.launchValues;
  return {
    get dispatchPacket() {
      return given.dispatchPacket ?? kept.dispatchPacket;
    },
    get kernelArguments() {
      return given.kernelArguments ?? kept.kernelArguments;
    },
    get implicitOffset() {
      return given.implicitOffset ?? kept.implicitOffset;
    },
    workgroupIds: {
      get 0() {
        return idOf(0);
      },
      get 1() {
        return idOf(1);
      },
      get 2() {
        return idOf(2);
      },
    },
    ...(launchValues !== undefined && { launchValues }),
  };
}

/**
 * Where a kernel finds at its entry what it was launched with; empty for other functions, and for several
 * kernels that begin at one place.
 */
export function launchAtEntry({ lifted }: ToolFunction, processor: string): LaunchRegisters {
  const [kernel, ...others] = lifted.kernels;
  if (!kernel || others.length > 0) return {};
  const { values } = initialSgprs(kernel.descriptor, targetFor(processor));
  const hidden = kernel.metadata?.args.filter(({ valueKind }) => valueKind.startsWith('hidden_')) ?? [];
  const first = (name: InitialValue): number | undefined => values.get(name)?.first;
  const [dispatchPacket, kernelArguments] = [first('dispatchPtr'), first('kernargSegmentPtr')];
  return {
    ...(dispatchPacket !== undefined && { dispatchPacket }),
    ...(kernelArguments !== undefined && { kernelArguments }),
    ...(hidden.length > 0 && { implicitOffset: Math.min(...hidden.map(({ offsetBytes }) => offsetBytes)) }),
    workgroupIds: [first('workgroupIdX'), first('workgroupIdY'), first('workgroupIdZ')],
  };
}

function bothReasons(lifted: LiftedHook | Rejected, { rejected }: Rejected): Rejected {
  if (!isRejected(lifted) || lifted.rejected === rejected) return { rejected };
  return { rejected: `${lifted.rejected}, and to be called it ${rejected}` };
}

const refused = ({ rejected }: Rejected): PointHook => ({ codes: [], literals: [], refusal: rejected });
