/** One kernel or function of a module as machine code. */
import { alignUp } from '../../base/align.ts';
import { PLACES } from '../machine/places.ts';
import { type PtxType, sizeOf } from '../machine/types.ts';
import type { Form } from '../rows/row.ts';
import { formOf } from '../rows/table.ts';
import type { PtxSource } from '../text/source.ts';
import type { PtxFunction, Statement, Variable } from '../text/syntax.ts';
import { allocate, type RowAllocation } from './allocate.ts';
import { callerPrologue, functionEpilogue } from './calls.ts';
import { blocksOf } from './flatten.ts';
import { Frame } from './frame.ts';
import { keepRegisters } from './keep.ts';
import { type BodyParts, type LinearCode, linearize } from './linearize.ts';
import { type FunctionRegister, type Lir, lir } from './lir.ts';
import { type PlacedCode, placeCode } from './place.ts';
import { type DeclaredRegister, type ModuleNames, type NamePlace, Scope } from './scope.ts';
import type { SharedLayout } from './shared-layout.ts';
import {
  CALL_HEADER_BYTES,
  type CallSignature,
  callSignature,
  isGlobalSpace,
  memoryTypeOf,
  type ParameterSlot,
  variableExtent,
} from './signature.ts';
import { Spills } from './spill.ts';

export interface CompiledFunction {
  readonly code: PlacedCode;
  readonly allocation: RowAllocation;
  /** Private memory of an activation. */
  readonly frameBytes: number;
  /** Whether it calls functions. */
  readonly calls: boolean;
  /** Whether it takes more private memory than its frame while it runs, or calls what a register names. */
  readonly hasOpenStack: boolean;
  /** Whether its lanes may wait for what others of their wave do, without saying so. */
  readonly givesWay: boolean;
}

/** What a module gives to its functions. */
export interface ModuleParts {
  readonly source: PtxSource;
  readonly names: ModuleNames;
  readonly shared: SharedLayout;
  /** Places a global variable that only the function sees. */
  declareGlobal(variable: Variable): NamePlace;
}

/** A parameter of a kernel, by its offset in the block of parameters. */
export interface EntryParameter {
  readonly variable: Variable;
  readonly offset: number;
  readonly sizeBytes: number;
}

const MAX_PARAMETER_BYTES = 32_764;

export function kernelParameters(
  source: PtxSource,
  variables: readonly Variable[],
): { readonly parameters: readonly EntryParameter[]; readonly end: number } {
  let end = 0;
  const parameters = variables.map((variable) => {
    const { sizeBytes, alignmentBytes } = variableExtent(variable, source);
    const offset = alignUp(end, alignmentBytes);
    end = offset + sizeBytes;
    if (end > MAX_PARAMETER_BYTES) {
      const what = `more than ${MAX_PARAMETER_BYTES} bytes of parameters`;
      throw source.error(variable.offset, what, 'LIMIT_EXCEEDED');
    }
    return { variable, offset, sizeBytes };
  });
  return { parameters, end };
}

export function compileFunction(module: ModuleParts, item: PtxFunction): CompiledFunction {
  return new FunctionCompiler(module, item).compile();
}

class FunctionCompiler {
  readonly #module: ModuleParts;
  readonly #item: PtxFunction;
  readonly #scope: Scope;
  readonly #frame: Frame;
  readonly #calls: boolean;
  readonly #prologue: Lir[] = [];
  readonly #epilogue: Lir[] = [];

  readonly #temporary = (dwords: 1 | 2): FunctionRegister =>
    this.#scope.temporary(dwords === 1 ? 'b32' : 'b64').register;

  constructor(module: ModuleParts, item: PtxFunction) {
    const { source, names } = module;
    this.#module = module;
    this.#item = item;
    const registers: DeclaredRegister[] = [];
    this.#scope = new Scope(source, names, registers);
    this.#calls = doesCall(item.body!);
    const signature = item.isEntry ? undefined : callSignature(source, item.results, item.parameters);
    const { frameAlignmentBytes: alignmentBytes } = module.shared;
    const start = signature?.end ?? (this.#calls ? CALL_HEADER_BYTES : 0);
    this.#frame = new Frame(start, { isKernel: item.isEntry, alignmentBytes });
    if (signature) this.#declareSlots(signature);
    else {
      for (const { variable, offset } of kernelParameters(source, item.parameters).parameters) {
        this.#scope.define(variable.name, { kind: 'parameter', offset });
      }
    }
  }

  compile(): CompiledFunction {
    const { source } = this.#module;
    const { body } = this.#item;
    const blocks = blocksOf(source, body!, this.#scope, {
      declareVariable: (scope, variable) => this.#declare(scope, variable),
      useStack: () => {
        this.#frame.top ??= this.#scope.temporary('b32').register;
      },
    });
    const forms = blocks.flatMap(({ code }) => code.map(({ form }) => form));
    const givesWay = forms.some(mayLook);
    const hasTurns =
      givesWay || forms.some(({ row }) => row.meeting !== undefined || row.expansion === 'votingBarrier');
    const { linear, allocation } = this.#allocated(linearize(this.#parts({ givesWay, hasTurns }), blocks));
    const frameBytes = this.#frame.sizeBytes;
    const hasOpenStack = this.#frame.top !== undefined || blocks.some(({ isCall }) => isCall);
    const code = placeCode(linear, allocation, frameBytes);
    return { code, allocation, frameBytes, calls: this.#calls, hasOpenStack, givesWay };
  }

  /** Registers that find no row go into the frame; what is left has fewer that live at a time. */
  #allocated(code: LinearCode): { readonly linear: LinearCode; readonly allocation: RowAllocation } {
    const spills = new Spills(this.#frame, this.#temporary);
    spills.fix(code);
    for (let own = code; ; ) {
      const linear = keepRegisters(own, this.#frame);
      const allocation = allocate(linear, (register) => spills.mayGo(register));
      if ('rows' in allocation) return { linear, allocation };
      if (allocation.spilled.length === 0) {
        const { isEntry, name, offset } = this.#item;
        const what = `${isEntry ? 'kernel' : 'function'} '${name}' needs more registers than there are in an instruction`;
        throw this.#module.source.error(offset, what, 'UNSUPPORTED');
      }
      own = spills.apply(own, allocation.spilled);
    }
  }

  #parts(turns: Pick<BodyParts, 'givesWay' | 'hasTurns'>): BodyParts {
    const { isEntry: isKernel } = this.#item;
    const { top } = this.#frame;
    return {
      ...{ source: this.#module.source, frame: this.#frame, isKernel, calls: this.#calls, ...turns },
      countsAtBarriers: this.#module.shared.countsAtBarriers,
      temporary: this.#temporary,
      prologue: [
        ...(isKernel ? [lir('wave_begin', [PLACES.live], 0)] : []),
        ...(this.#calls ? callerPrologue(this.#frame, isKernel) : []),
        ...(top ? [lir('add.u32', [top, PLACES.frame, { kind: 'frameEnd', addend: 0 }], 0)] : []),
        ...this.#prologue,
      ],
      epilogue: [...this.#epilogue, ...functionEpilogue(this.#frame, this.#calls)],
    };
  }

  #declareSlots({ results, parameters }: CallSignature): void {
    for (const slot of [...parameters, ...results]) {
      const { variable, offset, sizeBytes } = slot;
      if (variable.space !== '.reg') this.#scope.define(variable.name, { kind: 'frame', offset, sizeBytes });
    }
    for (const slot of parameters) {
      this.#inRegister(slot, (register, type, offset) => {
        this.#prologue.push(lir(`ld.local.${type}`, [register, ...this.#frame.at(offset)], 0));
      });
    }
    for (const slot of results) {
      this.#inRegister(slot, (register, type, offset) => {
        this.#epilogue.push(lir(`st.local.${type}`, [...this.#frame.at(offset), register], 0));
      });
    }
  }

  /** Parameters may be registers, too. `add`: each with its offset in the frame. */
  #inRegister(
    { variable: { space, type: text, name, vector, offset }, offset: start }: ParameterSlot,
    add: (register: DeclaredRegister['register'], type: PtxType, offset: number) => void,
  ): void {
    if (space !== '.reg') return;
    this.#scope.declareRegisters({
      kind: 'registers',
      type: text,
      vector,
      names: [{ name, count: undefined }],
      offset,
    });
    const place = this.#scope.find(name);
    if (place?.kind === 'register') add(place.declared.register, memoryTypeOf(place.declared.type), start);
    if (place?.kind !== 'vector') return;
    for (const [i, { register, type }] of place.elements.entries()) add(register, type, start + i * sizeOf(type));
  }

  #declare(scope: Scope, variable: Variable): void {
    const { source } = this.#module;
    const { space, name, offset } = variable;
    if (space.startsWith('.shared')) {
      scope.define(name, { kind: 'shared', offset: this.#module.shared.offsetOf(variable) });
      return;
    }
    if (isGlobalSpace(space)) {
      scope.define(name, this.#module.declareGlobal(variable));
      return;
    }
    if (space !== '.local' && space !== '.param') {
      throw source.error(offset, `a variable in ${space} in a function`, 'UNSUPPORTED');
    }
    const { sizeBytes, alignmentBytes } = variableExtent(variable, source);
    scope.define(name, { kind: 'frame', offset: this.#frame.place(sizeBytes, alignmentBytes), sizeBytes });
  }
}

/** How a lane may learn what another one did: in a loop it may do so until that happens. */
const mayLook = ({ row: { looks }, modifiers }: Form): boolean =>
  looks === 'always' || (looks === 'ordered' && !PRIVATE_ORDERS.has(modifiers['order']));

/** A load of these orders gives what the thread has read before, or the thread itself wrote. */
const PRIVATE_ORDERS: ReadonlySet<string | undefined> = new Set([undefined, 'weak']);

function doesCall(statements: readonly Statement[]): boolean {
  return statements.some((statement) => {
    if (statement.kind === 'block') return doesCall(statement.statements);
    return statement.kind === 'instruction' && formOf(statement.opcode)?.row.flow === 'call';
  });
}
