/**
 * What is known of EXEC within a hook: whether it is the mask that the hook began with, or a part of it. It
 * tells which lanes an instruction may write, and whether the mask is back where the hook ends.
 */
import { solveDataFlow } from '../../flow/data-flow.ts';
import { graphOf } from '../../flow/graph.ts';
import type { Program, Value } from '../../ir/types.ts';
import { SGPR_EXEC_LO, SGPR_VCC_LO } from '../../isa/amdgpu/encoding/registers.ts';
import type { CompiledBlock, CompiledCode, HookNode } from './hook-code.ts';

/** `part`: lanes that the hook began with, maybe not all; `any`: maybe others, too. */
export type ExecMask = 'entry' | 'part' | 'any';

/** Half of a mask that is part of the one at the entry, or all of it. */
interface Half {
  readonly isEntry: boolean;
  readonly dword: 0 | 1;
}

/** By number of the scalar register; registers that hold no such half are missing. */
type Masks = ReadonlyMap<number, Half>;

const START: Masks = new Map([
  [SGPR_EXEC_LO, { isEntry: true, dword: 0 }],
  [SGPR_EXEC_LO + 1, { isEntry: true, dword: 1 }],
]);

/** Of a value: both halves of one of 64 bits. */
interface Known {
  readonly isEntry: boolean;
  /** Of a value of 32 bits, which half it is; zero is part of either. */
  readonly dword: 0 | 1 | undefined;
}

export class ExecMasks {
  readonly #before = new Map<HookNode, ExecMask>();
  readonly #shrinks = new Set<HookNode>();
  /** Whether EXEC is the mask of the entry wherever control leaves. */
  readonly isRestored: boolean;
  readonly isWritten: boolean;

  constructor({ blocks, waveSize }: CompiledCode) {
    const graph = graphOf(blocks, [blocks[0]!], ({ next, target, returns }) => [
      ...(next === undefined ? [] : [blocks[next]!]),
      ...(target === undefined ? [] : [blocks[target]!]),
      ...(returns ? [undefined] : []),
    ]);
    const transfer = (block: CompiledBlock, masks: Masks): Masks =>
      block.nodes.reduce((state, node) => afterNode(node, state), masks);
    const { incoming } = solveDataFlow<Masks | undefined>(graph, {
      direction: 'forward',
      nothing: undefined,
      outside: START,
      join: (a, b) => (a && b ? meet(a, b) : (a ?? b)),
      equals: (a, b) => a === b || (a !== undefined && b !== undefined && isEqual(a, b)),
      transfer: (index, masks) => masks && transfer(blocks[index]!, masks),
    });
    let isRestored = true;
    let isWritten = false;
    for (const block of blocks) {
      let masks = incoming[block.index] ?? START;
      for (const node of block.nodes) {
        this.#before.set(node, execOf(masks, waveSize));
        if (writesExec(node)) {
          isWritten = true;
          if (execOf(afterNode(node, START), waveSize) !== 'any') this.#shrinks.add(node);
        }
        masks = afterNode(node, masks);
      }
      if (block.returns) isRestored &&= execOf(masks, waveSize) === 'entry';
    }
    this.isRestored = isRestored;
    this.isWritten = isWritten;
  }

  before(node: HookNode): ExecMask {
    return this.#before.get(node)!;
  }

  /** How a node changes the mask of active lanes. */
  change(node: HookNode): 'none' | 'shrinks' | 'any' {
    return !writesExec(node) ? 'none' : this.#shrinks.has(node) ? 'shrinks' : 'any';
  }
}

const writesExec = ({ step, marker }: HookNode): boolean =>
  marker ? marker.name === 'write_exec' : step.effects.writesState.has('exec');

function execOf(masks: Masks, waveSize: 32 | 64): ExecMask {
  const low = masks.get(SGPR_EXEC_LO);
  const high = waveSize === 32 ? low && { ...low, dword: 1 } : masks.get(SGPR_EXEC_LO + 1);
  if (low?.dword !== 0 || high?.dword !== 1) return 'any';
  return low.isEntry && high.isEntry ? 'entry' : 'part';
}

function meet(a: Masks, b: Masks): Masks {
  const both = new Map<number, Half>();
  for (const [register, { isEntry, dword }] of a) {
    const other = b.get(register);
    if (other?.dword === dword) both.set(register, { isEntry: isEntry && other.isEntry, dword });
  }
  return both;
}

const isEqual = (a: Masks, b: Masks): boolean =>
  a.size === b.size &&
  [...a].every(([register, { isEntry, dword }]) => {
    const other = b.get(register);
    return other?.dword === dword && other.isEntry === isEntry;
  });

function afterNode(node: HookNode, masks: Masks): Masks {
  const { step, marker, writes } = node;
  const written = new Map(masks);
  for (const { unit } of writes) written.delete(unit);
  if (marker) {
    if (marker.name === 'write_exec') for (const register of START.keys()) written.delete(register);
    const output = marker.name === 'exec' ? marker.registers[0] : undefined;
    // A copy of the mask that the hook began with.
    for (let i = 0; output?.file === 'scalar' && i < 2; i++)
      written.set(output.first + i, { isEntry: true, dword: i === 0 ? 0 : 1 });
    return written;
  }
  const touchesMasks = writes.some(({ unit }) => unit < SGPR_EXEC_LO + 2);
  if (touchesMasks && step.instruction.row.semantics) new Evaluation(node, masks).run(step.program(), written);
  return written;
}

/** Finds which results of an instruction are such masks, from what it is made of. */
class Evaluation {
  readonly #node: HookNode;
  readonly #masks: Masks;
  readonly #known = new Map<Value, Known | undefined>();

  constructor(node: HookNode, masks: Masks) {
    this.#node = node;
    this.#masks = masks;
  }

  run({ values }: Program, written: Map<number, Half>): void {
    for (const value of values) {
      const { leaf, args, lane } = value;
      if (leaf.kind === 'setOperand' && !lane) {
        const register = this.#register(leaf.at.operand, leaf.at.dword);
        const half = args.length === 1 ? this.#known.get(args[0]!) : undefined;
        if (register !== undefined) set(written, register, half);
      } else if (leaf.kind === 'setState' && (leaf.slot === 'exec' || leaf.slot === 'vcc')) {
        const first = leaf.slot === 'exec' ? SGPR_EXEC_LO : SGPR_VCC_LO;
        const mask = this.#known.get(args[0]!);
        for (const dword of [0, 1] as const) set(written, first + dword, mask && { ...mask, dword });
      } else this.#known.set(value, this.#evaluate(value));
    }
  }

  #register(operand: number, dword: number): number | undefined {
    const resolved = this.#node.step.operands[operand];
    return resolved?.kind === 'register' && resolved.file === 'scalar' ? resolved.first + dword : undefined;
  }

  #evaluate({ leaf, args }: Value): Known | undefined {
    switch (leaf.kind) {
      case 'const':
        return leaf.value === 0n ? { isEntry: false, dword: undefined } : undefined;
      case 'operand': {
        const operand = this.#node.step.operands[leaf.at.operand];
        if (operand?.kind === 'constant' && operand.value === 0n) return { isEntry: false, dword: undefined };
        const register = this.#register(leaf.at.operand, leaf.at.dword);
        return register === undefined ? undefined : this.#masks.get(register);
      }
      case 'state':
        return leaf.slot === 'exec' ? this.#exec() : undefined;
      case 'ballot': {
        const exec = this.#exec();
        return exec && { ...exec, isEntry: false };
      }
      case 'pure':
        return combine(
          leaf.op,
          args.map((arg) => this.#known.get(arg)),
        );
      default:
        return undefined;
    }
  }

  #exec(): Known | undefined {
    const [low, high] = [this.#masks.get(SGPR_EXEC_LO), this.#masks.get(SGPR_EXEC_LO + 1)];
    return low && high ? { isEntry: low.isEntry && high.isEntry, dword: undefined } : undefined;
  }
}

function set(masks: Map<number, Half>, register: number, known: Known | undefined): void {
  if (!known) masks.delete(register);
  else masks.set(register, { isEntry: known.isEntry, dword: known.dword ?? (register % 2 === 0 ? 0 : 1) });
}

/** What operations on masks make of them. */
function combine(op: string, args: readonly (Known | undefined)[]): Known | undefined {
  const [x, y] = args;
  const operation = op.slice(op.indexOf('.') + 1);
  const isSame = (a: Known, b: Known): boolean =>
    a.dword === b.dword || (!a.isEntry && a.dword === undefined) || (!b.isEntry && b.dword === undefined);
  switch (operation) {
    case 'low':
    case 'high':
      return x && { isEntry: x.isEntry, dword: operation === 'low' ? 0 : 1 };
    case 'pack': {
      const isMask = x && y && x.dword !== 1 && y.dword !== 0;
      return isMask ? { isEntry: x.isEntry && y.isEntry, dword: undefined } : undefined;
    }
    case 'and': {
      const one = x ?? y;
      return one && { isEntry: x?.isEntry === true && y?.isEntry === true && isSame(x, y), dword: one.dword };
    }
    case 'or':
    case 'xor':
      if (!x || !y || !isSame(x, y)) return undefined;
      return { isEntry: operation === 'or' && (x.isEntry || y.isEntry), dword: x.dword ?? y.dword };
    default:
      return undefined;
  }
}
