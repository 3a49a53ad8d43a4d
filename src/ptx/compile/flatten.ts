/** The statements of a body as blocks: straight code, and what it ends with. */

import type { Expansion, Form } from '../rows/row.ts';
import { formOf } from '../rows/table.ts';
import type { PtxSource } from '../text/source.ts';
import type { PtxGuard, PtxInstruction, Statement, Variable } from '../text/syntax.ts';
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

/** Throws BAD_INPUT for what is no instruction or names no label, UNSUPPORTED for what has no row. */
export function blocksOf(
  source: PtxSource,
  body: readonly Statement[],
  outer: Scope,
  declarations: Declarations,
): FlatBlock[] {
  return new Flattener(source, declarations).flatten(body, outer);
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
    if (flow === 'indexed') throw this.#source.error(offset, 'branches by number', 'UNSUPPORTED');
    if (flow === 'branch') {
      this.#branch(instruction, scope);
      return;
    }
    if (STACK_USERS.has(expansion)) this.#declarations.useStack(scope);
    const ends = flow === 'return' || flow === 'exit' || control === 'end';
    if (!ends && flow !== 'call') {
      this.#blocks.at(-1)!.code.push({ instruction, form, scope });
      return;
    }
    // Only the lanes of the guard end, or call: they have a block of their own.
    if (guard) {
      const own = this.#blocks.length;
      this.#begin({ kind: 'branch', guard, scope, taken: own, other: own + 1, offset });
    }
    const unguarded = { instruction: { ...instruction, guard: undefined }, form, scope };
    if (flow === 'call') {
      this.#call(unguarded, guard !== undefined);
      return;
    }
    if (control === 'end') this.#blocks.at(-1)!.code.push(unguarded);
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
}
