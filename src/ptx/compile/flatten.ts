/** The statements of a body as blocks: straight code, and what it ends with. */

import type { Expansion, Form } from '../rows/row.ts';
import { formOf } from '../rows/table.ts';
import type { PtxSource } from '../text/source.ts';
import type {
  ConstantOperand,
  NameOperand,
  PtxGuard,
  PtxInstruction,
  Statement,
  Targets,
  Variable,
} from '../text/syntax.ts';
import { isThroughRegister } from './call-operands.ts';
import type { Scope } from './scope.ts';
import { callSignature } from './signature.ts';

/** An instruction with its form, and the names that it sees. */
export interface ScopedInstruction {
  readonly instruction: PtxInstruction;
  readonly form: Form;
  readonly scope: Scope;
}

/** How a block ends. Blocks are named by their numbers in the order of the text. */
export type Exit =
  | { readonly kind: 'goto'; readonly target: number }
  | {
      readonly kind: 'branch';
      readonly guard: PtxGuard;
      readonly scope: Scope;
      readonly taken: number;
      readonly other: number;
      readonly offset: number;
    }
  | { readonly kind: 'return' }
  | { readonly kind: 'exit'; readonly offset: number }
  /** Nothing goes on behind the last instruction. */
  | { readonly kind: 'none' };

export interface FlatBlock {
  readonly code: ScopedInstruction[];
  exit: Exit;
  /** Its only instruction is a call through a register: lanes may go to different functions. */
  isCall: boolean;
}

/** What declares something, for the function. */
export interface Declarations {
  declareVariable(scope: Scope, variable: Variable): void;
  /** The function takes memory while it runs. */
  useStack(scope: Scope): void;
}

const STACK_USERS: ReadonlySet<Expansion | undefined> = new Set(['alloca', 'stacksave', 'stackrestore']);

/** What all lanes of the guard do together. */
const BARRIERS: ReadonlySet<Expansion | undefined> = new Set(['barrier', 'votingBarrier']);

/** Throws BAD_INPUT for what is no instruction or names no label, UNSUPPORTED for what has no row. */
export function blocksOf(
  source: PtxSource,
  body: readonly Statement[],
  outer: Scope,
  declarations: Declarations,
): FlatBlock[] {
  const blocks = new Flattener(source, declarations).flatten(body, outer);
  leadPastEmpty(blocks);
  return blocks;
}

/** Branches lead past empty blocks; so the one at the end of a loop leads back itself. */
function leadPastEmpty(blocks: readonly FlatBlock[]): void {
  const ends = new Map<number, number>();
  const behind = (block: number): number => {
    const passed: number[] = [];
    for (let at = block; ; ) {
      const { code, exit } = blocks[at]!;
      const isEmpty = code.length === 0 && exit.kind === 'goto';
      const end = isEmpty ? ends.get(at) : at;
      if (!isEmpty || end !== undefined) {
        for (const each of passed) ends.set(each, end ?? at);
        return end ?? at;
      }
      passed.push(at);
      // Those that lead to each other in a circle stay as they are.
      ends.set(at, at);
      at = exit.target;
    }
  };
  for (const block of blocks) {
    const { exit } = block;
    if (exit.kind === 'goto') block.exit = { ...exit, target: behind(exit.target) };
    else if (exit.kind === 'branch') block.exit = { ...exit, taken: behind(exit.taken), other: behind(exit.other) };
  }
}

class Flattener {
  readonly #source: PtxSource;
  readonly #declarations: Declarations;
  readonly #blocks: FlatBlock[] = [{ code: [], exit: { kind: 'return' }, isCall: false }];
  readonly #labels = new Map<string, number>();
  readonly #fixups: { readonly block: number; readonly label: string; readonly offset: number }[] = [];

  constructor(source: PtxSource, declarations: Declarations) {
    this.#source = source;
    this.#declarations = declarations;
  }

  flatten(body: readonly Statement[], outer: Scope): FlatBlock[] {
    this.#statements(body, outer);
    for (const { block, label, offset } of this.#fixups) {
      const target = this.#labels.get(label);
      if (target === undefined) throw this.#source.error(offset, `there is no label '${label}'`);
      const found = this.#blocks[block]!;
      found.exit = found.exit.kind === 'branch' ? { ...found.exit, taken: target } : { kind: 'goto', target };
    }
    return this.#blocks;
  }

  /** Blocks of statements nest no deeper than the parser lets them. */
  #statements(body: readonly Statement[], scope: Scope): void {
    for (const statement of body) this.#statement(statement, scope);
  }

  #statement(statement: Statement, scope: Scope): void {
    switch (statement.kind) {
      case 'instruction':
        this.#instruction(statement, scope);
        return;
      case 'label':
        this.#begin();
        if (this.#labels.has(statement.name)) {
          throw this.#source.error(statement.offset, `label '${statement.name}' is there twice`);
        }
        this.#labels.set(statement.name, this.#blocks.length - 1);
        return;
      case 'registers':
        scope.declareRegisters(statement);
        return;
      case 'variable':
        this.#declarations.declareVariable(scope, statement);
        return;
      case 'targets':
        scope.define(statement.name, { kind: 'targets', targets: statement });
        return;
      case 'block':
        this.#statements(statement.statements, scope.inner());
        return;
      case 'prototype': {
        const { name, results, parameters } = statement;
        scope.define(name, { kind: 'prototype', signature: callSignature(this.#source, results, parameters) });
        return;
      }
      case 'directive':
    }
  }

  /** A new block, to which control comes from the one before unless that said otherwise. */
  #begin(exit?: Exit): number {
    const next = this.#blocks.length;
    const last = this.#blocks[next - 1]!;
    if (exit) last.exit = exit;
    else if (last.exit.kind === 'return') last.exit = { kind: 'goto', target: next };
    this.#blocks.push({ code: [], exit: { kind: 'return' }, isCall: false });
    return next;
  }

  #instruction(instruction: PtxInstruction, scope: Scope): void {
    const { opcode, offset, guard } = instruction;
    const form = formOf(opcode);
    if (!form || form.row.isInternal) {
      throw this.#source.error(offset, `instruction '${opcode}' is not implemented`, 'UNSUPPORTED');
    }
    const { flow, control, expansion } = form.row;
    if (flow === 'branch') {
      this.#branch(instruction, scope);
      return;
    }
    if (flow === 'indexed') {
      this.#indexedBranch(instruction, scope);
      return;
    }
    if (STACK_USERS.has(expansion)) this.#declarations.useStack(scope);
    const ends = flow === 'return' || flow === 'exit' || control === 'end';
    const isAlone = guard !== undefined && BARRIERS.has(expansion);
    if (!ends && flow !== 'call' && !isAlone) {
      this.#blocks.at(-1)!.code.push({ instruction, form, scope });
      return;
    }
    // Only the lanes of the guard end, call, or come to the barrier: they have a block of their own.
    if (guard) {
      const own = this.#blocks.length;
      this.#begin({ kind: 'branch', guard, scope, taken: own, other: own + 1, offset });
    }
    const unguarded = { instruction: { ...instruction, guard: undefined }, form, scope };
    if (flow === 'call') {
      this.#call(unguarded, guard !== undefined);
      return;
    }
    if (control === 'end' || isAlone) this.#blocks.at(-1)!.code.push(unguarded);
    if (isAlone) {
      this.#begin();
      return;
    }
    const exit: Exit =
      flow === 'return' ? { kind: 'return' } : flow === 'exit' ? { kind: 'exit', offset } : { kind: 'none' };
    this.#begin(exit);
  }

  #call(scoped: ScopedInstruction, isGuarded: boolean): void {
    const isAlone = isThroughRegister(this.#source, scoped.instruction, scoped.scope);
    if (isAlone) this.#begin();
    const block = this.#blocks.at(-1)!;
    block.code.push(scoped);
    block.isCall = isAlone;
    if (isAlone || isGuarded) this.#begin();
  }

  #branch({ operands, offset, guard }: PtxInstruction, scope: Scope): void {
    const [target] = operands;
    if (operands.length !== 1 || target?.kind !== 'name') throw this.#source.error(offset, 'expected a label');
    const block = this.#blocks.length - 1;
    this.#fixups.push({ block, label: target.name, offset: target.offset });
    const next = block + 1;
    this.#begin(
      guard ? { kind: 'branch', guard, scope, taken: next, other: next, offset } : { kind: 'goto', target: next },
    );
  }

  /**
   * To the label with a number in a list: comparisons halve it. A number that is behind the list leads to
   * the last label.
   */
  #indexedBranch({ operands, offset, guard }: PtxInstruction, scope: Scope): void {
    const [index, list] = operands;
    const targets = list?.kind === 'name' ? scope.find(list.name) : undefined;
    const isNumber = index?.kind === 'name' || index?.kind === 'constant';
    if (operands.length !== 2 || !isNumber || targets?.kind !== 'targets' || !isOfLabels(targets.targets)) {
      throw this.#source.error(offset, "expected 'brx.idx number, list of labels;'");
    }
    const inner = scope.inner();
    inner.declareRegisters({ ...IS_BEFORE_REGISTER, offset });
    /** Ends the last block: lanes of the guard go into what `then` adds, others behind that. */
    const divide = (own: PtxGuard, at: Scope, then: () => void): void => {
      const block = this.#blocks.length - 1;
      const exit = { kind: 'branch', guard: own, scope: at, offset } as const;
      this.#begin({ ...exit, taken: block + 1, other: block + 1 });
      then();
      this.#blocks[block]!.exit = { ...exit, taken: block + 1, other: this.#blocks.length - 1 };
    };
    const choose = (labels: readonly string[], first: number): void => {
      const [label, ...others] = labels;
      if (others.every((other) => other === label)) {
        const block = this.#blocks.length - 1;
        this.#fixups.push({ block, label: label!, offset: targets.targets.offset });
        this.#begin({ kind: 'goto', target: block });
        return;
      }
      const half = labels.length >> 1;
      this.#blocks.at(-1)!.code.push(comparison(index, first + half, { scope: inner, offset }));
      divide({ register: IS_BEFORE, isNegated: false }, inner, () => choose(labels.slice(0, half), first));
      choose(labels.slice(half), first + half);
    };
    const all = (): void => choose(targets.targets.targets, 0);
    if (guard) divide(guard, scope, all);
    else all();
  }
}

const isOfLabels = ({ directive }: Targets): boolean => directive === '.branchtargets';

/** No text can have a register of this name. */
const IS_BEFORE = 'is before';
const IS_BEFORE_REGISTER = {
  kind: 'registers',
  type: '.pred',
  vector: undefined,
  names: [{ name: IS_BEFORE, count: undefined }],
} as const;

/** Whether a number is less than a constant, into `IS_BEFORE`. */
function comparison(
  index: NameOperand | ConstantOperand,
  constant: number,
  { scope, offset }: Pick<ScopedInstruction, 'scope'> & { readonly offset: number },
): ScopedInstruction {
  const name = { component: undefined, addend: 0n, isNegated: false, pair: undefined, offset };
  const instruction: PtxInstruction = {
    ...{ kind: 'instruction', guard: undefined, opcode: 'setp.lo.u32', offset },
    operands: [
      { kind: 'name', name: IS_BEFORE, ...name },
      index,
      { kind: 'constant', constant: { kind: 'integer', value: BigInt(constant), isUnsigned: true }, offset },
    ],
  };
  return { instruction, form: formOf(instruction.opcode)!, scope };
}
