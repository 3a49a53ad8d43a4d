/**
 * Programs as text for people: `vdst = f32.fma(src0, src1, src2)`. Values that are used more than once get a
 * name.
 */
import { hex } from '../base/text.ts';
import type { OperandDword, Program, Value } from './types.ts';

/** How the text calls the registers of the instruction. */
export interface OperandNames {
  /** Of the whole operand. */
  readonly name: (operand: number) => string;
  /** Registers that it takes. */
  readonly dwords: (operand: number) => number;
}

const SMALL = 4096n;

/** One line for each effect and each named value, in execution order. */
export function formatProgram({ values }: Program, names: OperandNames): string[] {
  return new ProgramText(values, names).lines();
}

class ProgramText {
  readonly #values: readonly Value[];
  readonly #names: OperandNames;
  readonly #uses = new Map<Value, number>();
  readonly #temporaries = new Map<Value, string>();

  constructor(values: readonly Value[], names: OperandNames) {
    this.#values = values;
    this.#names = names;
    for (const value of values) for (const arg of value.args) this.#uses.set(arg, (this.#uses.get(arg) ?? 0) + 1);
  }

  lines(): string[] {
    const lines: string[] = [];
    const effects = this.#values.filter(({ type }) => type === 'void');
    let done: Value | undefined;
    for (const value of this.#values) {
      if (value === done) continue;
      if (value.type === 'void') {
        const next = effects[effects.indexOf(value) + 1];
        const pair = next && this.#pairWrite(value, next);
        if (pair !== undefined) done = next;
        lines.push(pair ?? this.#effect(value));
      } else if (this.#needsName(value)) {
        const text = this.#expression(value);
        const name = `t${this.#temporaries.size + 1}`;
        this.#temporaries.set(value, name);
        lines.push(`${name} = ${text}`);
      }
    }
    return lines;
  }

  /**
   * Accesses to memory stand where they happen; other values where they are used, unless that is in several
   * places.
   */
  #needsName(value: Value): boolean {
    const { kind } = value.leaf;
    if (kind === 'atomic' || kind === 'load' || kind === 'matrixProduct') return true;
    if (kind !== 'pure' && kind !== 'ballot' && kind !== 'gather' && kind !== 'readLane') return false;
    return (this.#uses.get(value) ?? 0) > 1 && this.#wholeOperand(value) === undefined;
  }

  #effect({ leaf, args }: Value): string {
    switch (leaf.kind) {
      case 'setOperand':
        return `${this.#register(leaf.at)} = ${this.#value(args[0]!)}${args[1] ? ` where ${this.#value(args[1])}` : ''}`;
      case 'writeLane':
        return `${this.#register(leaf.at)}[lane ${this.#value(args[0]!)}] = ${this.#value(args[1]!)}`;
      case 'setState':
        return `${leaf.slot} = ${this.#value(args[0]!)}`;
      case 'store':
        return `store.${leaf.space}.${leaf.sizeBytes}(${this.#list(args)})`;
      case 'fence':
        return 'fence';
      case 'branch':
        return `if ${this.#value(args[0]!)} goto label`;
      case 'jump':
        return `goto ${this.#value(args[0]!)}`;
      case 'exit':
        return leaf.reason;
      default:
        return `${leaf.kind}(${this.#list(args)})`;
    }
  }

  #value(value: Value): string {
    const { leaf } = value;
    const name = this.#temporaries.get(value);
    if (name === undefined) return this.#expression(value);
    return leaf.kind === 'load' && leaf.dwords > 1 ? `${name}[0]` : name;
  }

  #list(args: readonly Value[]): string {
    return args.map((arg) => this.#value(arg)).join(', ');
  }

  #expression(value: Value): string {
    const { leaf, args } = value;
    switch (leaf.kind) {
      case 'const':
        return constant(leaf.value, value.type);
      case 'param':
        return `p${leaf.index}`;
      case 'operand':
        return this.#register(leaf.at);
      case 'state':
        return leaf.slot;
      case 'pure':
        return this.#wholeOperand(value) ?? `${leaf.op}(${this.#list(args)})`;
      case 'laneMask':
        return `${this.#value(args[0]!)}[lane]`;
      case 'gather':
        return `${this.#register(leaf.at)}[lane ${this.#value(args[0]!)}]`;
      case 'readLane':
        return `${this.#register(leaf.at)}[lane ${this.#value(args[0]!)}]`;
      case 'load':
        return `load.${leaf.space}.${leaf.sizeBytes}(${this.#list(args)})`;
      case 'loaded':
        return `${this.#temporaries.get(args[0]!)}[${leaf.index}]`;
      case 'atomic': {
        const update = new ProgramText(leaf.update.body, this.#names).#value(leaf.update.result);
        return `atomic.${leaf.space}.${leaf.sizeBytes}(${this.#list(args)}; p0, p1${args.length > 2 ? ', p2' : ''} => ${update})`;
      }
      case 'matrixResult':
        return `${this.#value(args[0]!)}[${leaf.index}]`;
      case 'ballot':
      case 'matrixProduct':
        return `${leaf.kind}(${this.#list(args)})`;
      default:
        return leaf.kind;
    }
  }

  #register({ operand, dword }: OperandDword): string {
    const name = this.#names.name(operand);
    return this.#names.dwords(operand) > 1 ? `${name}[${dword}]` : name;
  }

  /** The operand whose two dwords a value is. */
  #wholeOperand({ leaf, args }: Value): string | undefined {
    if (leaf.kind !== 'pure' || leaf.op !== 'i64.pack') return undefined;
    const [low, high] = args.map((arg) => (arg.leaf.kind === 'operand' ? arg.leaf.at : undefined));
    const isWhole = low && high && low.operand === high.operand && low.dword === 0 && high.dword === 1;
    return isWhole && this.#names.dwords(low.operand) === 2 ? this.#names.name(low.operand) : undefined;
  }

  /** Two writes of the halves of one value as one. */
  #pairWrite(first: Value, second: Value): string | undefined {
    if (first.leaf.kind !== 'setOperand' || second.leaf.kind !== 'setOperand') return undefined;
    const [low, high] = [first.args[0]!, second.args[0]!];
    const { operand, dword } = first.leaf.at;
    if (dword !== 0 || second.leaf.at.operand !== operand || second.leaf.at.dword !== 1) return undefined;
    if (this.#names.dwords(operand) !== 2 || first.args.length > 1) return undefined;
    if (low.leaf.kind !== 'pure' || high.leaf.kind !== 'pure') return undefined;
    if (low.leaf.op !== 'i64.low' || high.leaf.op !== 'i64.high' || low.args[0] !== high.args[0]) return undefined;
    return `${this.#names.name(operand)} = ${this.#value(low.args[0]!)}`;
  }
}

function constant(value: bigint, type: Value['type']): string {
  if (type === 'i1') return value === 1n ? 'true' : 'false';
  if (value > -SMALL && value < SMALL) return String(value);
  return hex(BigInt.asUintN(type === 'i64' ? 64 : 32, value));
}
