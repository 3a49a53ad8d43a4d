/** Makes nodes: constants are folded, equal values are shared, and changes can be taken back to a mark. */
import { foldConstants, type SharedLeaf, shareKey } from '../../../ir/folding.ts';
import { OPS, type OpName } from '../../../ir/ops.ts';
import type { Type } from '../../../ir/types.ts';
import type { AddressParts, Node, NodeLeaf, Phase } from './node.ts';

/** What most nodes have not, or as their arguments say. */
interface NodeOptions {
  readonly phase?: Phase;
  readonly instruction?: number;
  readonly address?: AddressParts | undefined;
  readonly active?: Node | undefined;
}

/** Operations on pairs that go dword by dword. */
const SPLIT = new Set<OpName>(['i64.shl', 'i64.shrU', 'i64.shrS', 'i64.add']);

const isConst = (node: Node): node is Node & { leaf: { kind: 'const'; value: bigint } } => node.leaf.kind === 'const';

export const constantOf = (node: Node): bigint | undefined => (isConst(node) ? node.leaf.value : undefined);

export const isOp = (node: Node, op: OpName): boolean => node.leaf.kind === 'pure' && node.leaf.op === op;

/**
 * Operations whose result is a NaN when an operand is one; all that make a NaN of other values are among
 * them.
 */
const KEEPS_NAN = /^f(32|64)\.(add|sub|mul|div|sqrt|fma|floor|ceil|trunc|nearest|fromF32|fromF64|canonical)$/;

export const keepsNan = ({ leaf }: Node): boolean => leaf.kind === 'pure' && KEEPS_NAN.test(leaf.op);

/** A map whose changes can be taken back. */
export class Journal {
  readonly #undo: (() => void)[] = [];

  get mark(): number {
    return this.#undo.length;
  }

  set<K, V>(map: Map<K, V>, key: K, value: V): void {
    const had = map.has(key);
    const old = map.get(key);
    this.#undo.push(() => {
      if (had) map.set(key, old!);
      else map.delete(key);
    });
    map.set(key, value);
  }

  note(undo: () => void): void {
    this.#undo.push(undo);
  }

  rollback(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()!();
  }
}

export class Graph {
  readonly nodes: Node[] = [];
  readonly journal = new Journal();
  readonly #shared = new Map<string, Node>();
  /** The low and the high dwords of lane values; undefined where there are none of their own. */
  readonly #halves = [new Map<Node, Node | undefined>(), new Map<Node, Node | undefined>()] as const;
  readonly #waveSize: 32 | 64;

  constructor(waveSize: 32 | 64) {
    this.#waveSize = waveSize;
  }

  add(leaf: NodeLeaf, type: Type | 'void', lane: boolean, args: readonly Node[], options: NodeOptions = {}): Node {
    const phase = options.phase ?? (lane ? 'lanes' : args.some((arg) => arg.phase === 'after') ? 'after' : 'before');
    const { instruction = -1, address, active } = options;
    const node = { id: this.nodes.length, leaf, type, lane, phase, args, instruction, address, active };
    this.nodes.push(node);
    this.journal.note(() => this.nodes.pop());
    return node;
  }

  /** As `add`, for values that are the same whenever leaf and arguments are. */
  share(leaf: NodeLeaf & SharedLeaf, type: Type, lane: boolean, args: readonly Node[] = []): Node {
    const key = shareKey(leaf, type, args);
    let node = this.#shared.get(key);
    if (!node) {
      node = this.add(leaf, type, lane, args);
      this.journal.set(this.#shared, key, node);
    }
    return node;
  }

  constant(value: bigint, type: Type): Node {
    return this.share({ kind: 'const', value }, type, false);
  }

  op(op: OpName, ...args: Node[]): Node {
    return (
      this.#folded(op, args) ??
      this.share(
        { kind: 'pure', op },
        OPS[op].result,
        args.some(({ lane }) => lane),
        args,
      )
    );
  }

  #folded(op: OpName, args: readonly Node[]): Node | undefined {
    const constant = foldConstants(op, args);
    if (constant !== undefined) return this.constant(constant, OPS[op].result);
    const [a, b, c] = args as [Node, Node, Node];
    const first = constantOf(a);
    const second = b && constantOf(b);
    switch (op) {
      case 'i64.low':
      case 'i64.high':
        return this.#half(op === 'i64.low' ? 0 : 1, a);
      case 'i64.pack':
        if (isOp(a, 'i64.low') && isOp(b, 'i64.high') && a.args[0] === b.args[0]) return a.args[0];
        return second === 0n ? this.op('i64.zext32', a) : undefined;
      case 'i64.zext32':
        // The mask of a wave of 32 lanes has no high half.
        return this.#waveSize === 32 && isOp(a, 'i64.low') && a.args[0]!.leaf.kind === 'ballot' ? a.args[0] : undefined;
      case 'i32.add':
        return first === 0n
          ? b
          : second === 0n
            ? a
            : (this.#withCarry('i32.sub', a, b) ?? this.#withCarry('i32.sub', b, a));
      case 'i32.ltU':
        return second === 0n ? this.constant(0n, 'i1') : this.#signedTest(a, b);
      case 'i64.add':
      case 'i32.or':
      case 'i32.xor':
      case 'i64.or':
        return first === 0n ? b : second === 0n ? a : undefined;
      case 'i32.sub':
        return second === 0n ? a : this.#withCarry('i32.add', a, b);
      case 'i32.shl':
      case 'i32.shrU':
      case 'i64.shl':
      case 'i64.shrU':
        return second === 0n ? a : undefined;
      case 'i32.and':
        return first === -1n ? b : second === -1n ? a : undefined;
      case 'i32.eq':
        return this.#truth(a, second) ?? this.#truth(b, first);
      case 'i64.mul':
        return this.#shifted(a, second) ?? this.#shifted(b, first);
      case 'i1.and':
        return first === 1n
          ? b
          : second === 1n
            ? a
            : first === 0n || second === 0n
              ? this.constant(0n, 'i1')
              : undefined;
      case 'i1.or':
        return first === 0n ? b : second === 0n ? a : undefined;
      case 'i1.xor':
        return first === 1n ? this.op('i1.not', b) : second === 1n ? this.op('i1.not', a) : undefined;
      case 'i1.rare':
        return a.lane ? undefined : a;
      case 'i1.not':
        return isOp(a, 'i1.not') ? a.args[0] : undefined;
      case 'i32.select':
        return this.#chosen(a, b, c) ?? this.#bit(a, b, c);
      case 'i64.select':
        return this.#chosen(a, b, c);
      default:
        return undefined;
    }
  }

  /** A bit that is added or subtracted: lanes have conditions as masks, of which each is the negative bit. */
  #withCarry(op: 'i32.add' | 'i32.sub', value: Node, bit: Node): Node | undefined {
    return bit.lane && isOp(bit, 'i1.toI32') ? this.op(op, value, this.op('i1.toMask', bit.args[0]!)) : undefined;
  }

  /**
   * A comparison with a value of the wave, whose sign is changed once for all lanes: vectors are compared as
   * signed numbers. A sum carried if it is below either operand.
   */
  #signedTest(a: Node, b: Node): Node | undefined {
    const other = a.lane && b.lane && isOp(a, 'i32.add') && a.args.includes(b) && a.args.find(({ lane }) => !lane);
    if (other) return this.op('i32.ltU', a, other);
    return a.lane === b.lane ? undefined : this.op('i32.ltS', this.#signFlipped(a), this.#signFlipped(b));
  }

  /** The sign changes with that of an operand that is added. */
  #signFlipped(value: Node): Node {
    const [a, b] = value.args as [Node, Node];
    if (value.lane && isOp(value, 'i32.sub') && !b.lane) return this.op('i32.sub', a, this.#signFlipped(b));
    if (value.lane && isOp(value, 'i32.add')) {
      if (!b.lane) return this.op('i32.add', a, this.#signFlipped(b));
      if (!a.lane) return this.op('i32.add', this.#signFlipped(a), b);
    }
    return this.op('i32.xor', value, this.constant(-0x80000000n, 'i32'));
  }

  #chosen(condition: Node, yes: Node, no: Node): Node | undefined {
    const value = constantOf(condition);
    return value === undefined ? (yes === no ? yes : undefined) : value === 1n ? yes : no;
  }

  /** A choice between 1 and 0, or -1 and 0 in lanes, is the condition itself. */
  #bit(condition: Node, yes: Node, no: Node): Node | undefined {
    const [one, other] = [constantOf(yes), constantOf(no)];
    if (condition.lane && one === -1n && other === 0n) return this.op('i1.toMask', condition);
    if (one === 1n && other === 0n) return this.op('i1.toI32', condition);
    return one === 0n && other === 1n ? this.op('i1.toI32', this.op('i1.not', condition)) : undefined;
  }

  /** What it says of a bit that it is equal to a constant. */
  #truth(bit: Node, constant: bigint | undefined): Node | undefined {
    if (!isOp(bit, 'i1.toI32') || constant === undefined) return undefined;
    const condition = bit.args[0]!;
    if (constant !== 0n && constant !== 1n) return this.constant(0n, 'i1');
    return constant === 1n ? condition : this.op('i1.not', condition);
  }

  /** Products with powers of two go dword by dword, and are known as indices of addresses. */
  #shifted(value: Node, factor: bigint | undefined): Node | undefined {
    if (factor === undefined || factor <= 0n || (factor & (factor - 1n)) !== 0n) return undefined;
    const amount = factor.toString(2).length - 1;
    return amount === 0 ? value : this.op('i64.shl', value, this.constant(BigInt(amount), 'i32'));
  }

  /**
   * The low or high dword of a lane value, from the dwords that it was made of: pairs of 64-bit lanes cost
   * more. Of a product of the wave the low one is made so, as what it is that a number of a workgroup is
   * multiplied by.
   */
  #half(half: 0 | 1, wide: Node): Node | undefined {
    const known = this.#halves[half];
    // A half of a sum asks for both of its operands: a chain of sums would ask its first one again and again.
    if (!known.has(wide)) this.journal.set(known, wide, this.#findHalf(half, wide));
    return known.get(wide);
  }

  #findHalf(half: 0 | 1, wide: Node): Node | undefined {
    if (isOp(wide, 'i64.pack')) return wide.args[half];
    if (isOp(wide, 'i64.zext32')) return half === 0 ? wide.args[0] : this.constant(0n, 'i32');
    if (wide.leaf.kind !== 'pure') return undefined;
    const [a, b] = wide.args as [Node, Node];
    if (!wide.lane) return wide.leaf.op === 'i64.mul' && half === 0 ? this.#productHalf(half, a, b) : undefined;
    if (wide.leaf.op === 'i64.sext32') return half === 0 ? a : this.op('i32.shrS', a, this.constant(31n, 'i32'));
    if (wide.leaf.op === 'i64.mul') return this.#productHalf(half, a, b);
    if (!SPLIT.has(wide.leaf.op)) return undefined;
    const [low, high] = [this.#part(0, a), this.#part(1, a)];
    if (!low || !high) return undefined;
    switch (wide.leaf.op) {
      case 'i64.shl':
      case 'i64.shrU':
      case 'i64.shrS': {
        const amount = constantOf(b);
        return amount === undefined
          ? undefined
          : this.#shiftedHalf(wide.leaf.op, half, low, high, Number(amount & 63n));
      }
      case 'i64.add': {
        const others = [this.#part(0, b), this.#part(1, b)];
        if (!others[0] || !others[1]) return undefined;
        const sum = this.op('i32.add', low, others[0]);
        if (half === 0) return sum;
        const carry = this.op('i1.toI32', this.op('i32.ltU', sum, low));
        return this.op('i32.add', this.op('i32.add', high, others[1]), carry);
      }
      default:
        return undefined;
    }
  }

  /** A half of an operand, which may be uniform. */
  #part(half: 0 | 1, wide: Node): Node | undefined {
    return wide.lane ? this.#half(half, wide) : this.op(half === 0 ? 'i64.low' : 'i64.high', wide);
  }

  /** Of a product of two unsigned 32-bit values. */
  #productHalf(half: 0 | 1, a: Node, b: Node): Node | undefined {
    const isShort = (node: Node): boolean => isOp(node, 'i64.zext32') || (constantOf(node) ?? -1n) >> 32n === 0n;
    if (!isShort(a) || !isShort(b)) return undefined;
    return this.op(half === 0 ? 'i32.mul' : 'i32.mulHiU', this.#part(0, a)!, this.#part(0, b)!);
  }

  #shiftedHalf(op: 'i64.shl' | 'i64.shrU' | 'i64.shrS', half: 0 | 1, low: Node, high: Node, amount: number): Node {
    const number = (value: number): Node => this.constant(BigInt(value), 'i32');
    const shift = (name: 'i32.shl' | 'i32.shrU' | 'i32.shrS', value: Node, by: number): Node =>
      this.op(name, value, number(by));
    if (amount === 0) return half === 0 ? low : high;
    // What comes down from a sign does not differ from bit 31.
    const isExtended = isOp(high, 'i32.shrS') && high.args[0] === low && constantOf(high.args[1]!) === 31n;
    const between = (left: number): Node =>
      isExtended
        ? shift('i32.shrS', low, 32 - left)
        : this.op('i32.or', shift('i32.shl', high, left), shift('i32.shrU', low, 32 - left));
    if (op === 'i64.shl') {
      if (amount >= 32) return half === 0 ? number(0) : shift('i32.shl', low, amount - 32);
      return half === 0 ? shift('i32.shl', low, amount) : between(amount);
    }
    const right = op === 'i64.shrU' ? 'i32.shrU' : 'i32.shrS';
    if (amount < 32) return half === 0 ? between(32 - amount) : shift(right, high, amount);
    if (half === 0) return shift(right, high, amount - 32);
    return op === 'i64.shrU' ? number(0) : shift(right, high, 31);
  }
}
