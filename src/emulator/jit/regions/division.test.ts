import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OpName } from '../../../ir/ops.ts';
import { Graph } from './graph.ts';
import type { Node } from './node.ts';
import { UsualValues } from './usual.ts';

/** x with p significant bits, to nearest even. */
function rounded(p: number, x: number): number {
  if (x === 0) return 0;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(x))) - p + 1);
  const floor = Math.floor(x / unit);
  const rest = x / unit - floor;
  return (rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor) * unit;
}

test('a step leaves a rounded reciprocal as it is, and rounds an estimated quotient, of all few bits', () => {
  let inexact = 0;
  for (let p = 2; p <= 8; p++) {
    for (let d = 2 ** (p - 1); d < 2 ** p; d++) {
      const y = rounded(p, 1 / d);
      assert.equal(rounded(p, y + rounded(p, 1 - d * y) * y), y, `1 / ${d}`);
      for (let n = 2 ** (p - 1); n < 2 ** p; n++) {
        const quotient = rounded(p, n / d);
        for (const q of [quotient, rounded(p, n * y)]) {
          const r = rounded(p, n - d * q);
          if (r !== n - d * q) inexact++;
          assert.equal(rounded(p, q + r * y), quotient, `${n} / ${d} from ${q}`);
        }
      }
    }
  }
  assert.ok(inexact > 0);
});

const FORMATS = {
  f32: { type: 'i32', one: 0x3f800000n, sign: -0x80000000n, magnitude: 0x7fffffffn, exponent: 23, bits: 23, bias: 127 },
  f64: {
    type: 'i64',
    one: 0x3ff0000000000000n,
    sign: 0x8000000000000000n,
    magnitude: 0x7fffffffffffffffn,
    exponent: 20,
    bits: 52,
    bias: 1023,
  },
} as const;
type FloatType = keyof typeof FORMATS;

/** Bounds of exponents: of the numerator, the divisor, and the difference. */
type Bounds = readonly (readonly [low: number, end: number])[];

const widest = (type: FloatType): Bounds => {
  const { bits, bias } = FORMATS[type];
  return [
    [bits + 2, 2 * bias + 1],
    [1, 2 * bias - 1],
    [2 - bias, bias],
  ];
};

/**
 * A graph with two operands of lanes, unless they are given, and a condition that their exponents are in
 * bounds.
 */
class Division {
  readonly graph = new Graph(64);
  readonly type: FloatType;
  readonly n: Node;
  readonly d: Node;
  readonly condition: Node;

  constructor(type: FloatType, bounds: Bounds, constants: { readonly n?: bigint; readonly d?: bigint } = {}) {
    this.type = type;
    this.n = constants.n === undefined ? this.row(0) : this.graph.constant(constants.n, FORMATS[type].type);
    this.d = constants.d === undefined ? this.row(1) : this.graph.constant(constants.d, FORMATS[type].type);
    const { exponent } = FORMATS[type];
    const number = (value: number): Node => this.graph.constant(BigInt(value | 0), 'i32');
    const [n, d] = [this.n, this.d].map((x) => {
      const top = type === 'f64' ? this.graph.op('i64.high', x) : x;
      return this.graph.op('i32.and', top, number(0x7fffffff));
    });
    const tests = [n!, d!, this.graph.op('i32.sub', n!, d!)].map((x, i) => {
      const [low, end] = bounds[i]!.map((bound) => bound * 2 ** exponent) as [number, number];
      return this.graph.op('i32.ltU', this.graph.op('i32.sub', x, number(low)), number(end - low));
    });
    const isUsual = tests.reduce((a, b) => this.graph.op('i1.and', a, b));
    this.condition = this.graph.op('i1.rare', this.graph.op('i1.not', isUsual));
  }

  row(offset: number): Node {
    const half = (at: number): Node => this.graph.share({ kind: 'row', offset: at }, 'i32', true);
    return this.type === 'f32' ? half(offset) : this.graph.op('i64.pack', half(2 * offset), half(2 * offset + 1));
  }

  op(name: string, ...args: Node[]): Node {
    return this.graph.op(`${this.type}.${name}` as OpName, ...args);
  }

  bits(name: string, ...args: Node[]): Node {
    return this.graph.op(`${FORMATS[this.type].type}.${name}` as OpName, ...args);
  }

  constant(name: 'one' | 'sign' | 'magnitude'): Node {
    return this.graph.constant(FORMATS[this.type][name], FORMATS[this.type].type);
  }

  negative(x: Node): Node {
    return this.bits('xor', x, this.constant('sign'));
  }

  reciprocal(steps: number, d = this.d): Node {
    let y = this.op('div', this.constant('one'), d);
    for (let i = 0; i < steps; i++) y = this.op('fma', this.op('fma', this.negative(d), y, this.constant('one')), y, y);
    return y;
  }

  step(q: Node, y: Node): Node {
    return this.op('fma', this.op('fma', q, this.negative(this.d), this.n), y, q);
  }

  usual(node: Node): Node {
    return new UsualValues(
      this.graph,
      this.graph.nodes.filter(({ lane }) => lane),
    ).of(node);
  }

  get quotient(): Node {
    return this.op('div', this.n, this.d);
  }
}

for (const type of ['f32', 'f64'] as const) {
  test(`${type}: quotients that are refined in any number of steps are divisions`, () => {
    for (const steps of [0, 1, 2]) {
      const x = new Division(type, widest(type));
      const y = x.reciprocal(steps);
      const [once, twice] = [x.step(x.op('mul', y, x.n), y), x.step(x.step(x.op('mul', x.n, y), y), y)];
      assert.equal(x.usual(once), x.quotient);
      assert.equal(x.usual(twice), x.quotient);
    }
  });

  test(`${type}: by a constant, and of one`, () => {
    const { one, bits } = FORMATS[type];
    const three = one + (3n << BigInt(bits - 1));
    for (const constants of [{ d: three }, { n: one }]) {
      const x = new Division(type, widest(type), constants);
      const y = x.reciprocal(1);
      assert.equal(x.usual(x.step(x.op('mul', x.n, y), y)), x.quotient);
    }
  });

  test(`${type}: a quotient is a number, and has its sign`, () => {
    const x = new Division(type, widest(type));
    const q = x.step(x.op('mul', x.n, x.reciprocal(1)), x.reciprocal(1));
    const signed = (a: Node, b: Node): Node =>
      x.bits('or', x.bits('and', q, x.constant('magnitude')), x.bits('and', x.bits('xor', a, b), x.constant('sign')));
    const [right, wrong, isNumber] = [signed(x.n, x.d), signed(x.n, x.row(2)), x.op('eq', q, q)];
    assert.equal(x.usual(right), x.quotient);
    assert.deepEqual(x.usual(wrong).leaf, wrong.leaf);
    assert.equal(x.usual(isNumber), x.graph.constant(1n, 'i1'));
  });

  test(`${type}: what is not known to be a rounded quotient stays`, () => {
    const stays = (make: (x: Division) => Node, bounds = widest(type)): void => {
      const x = new Division(type, bounds);
      const node = make(x);
      assert.equal(x.usual(node), node);
    };
    const whole = (x: Division): Node => x.step(x.op('mul', x.n, x.reciprocal(1)), x.reciprocal(1));
    widest(type).forEach(([low, end], i) => {
      stays(whole, widest(type).with(i, [low - 1, end]));
      stays(whole, widest(type).with(i, [low, end + 1]));
    });
    stays((x) => x.op('mul', x.n, x.reciprocal(1)));
    stays((x) => x.reciprocal(2));
    stays((x) => x.step(x.op('mul', x.n, x.reciprocal(1, x.row(2))), x.reciprocal(1)));
    stays((x) => x.step(x.op('mul', x.n, x.reciprocal(1)), x.reciprocal(1, x.row(2))));
    stays((x) => x.step(x.op('mul', x.row(2), x.reciprocal(1)), x.reciprocal(1)));
    stays((x) => x.op('eq', x.n, x.n));
    const refinedBy = (x: Division, y: Node): Node => x.step(x.op('mul', x.n, x.reciprocal(0)), y);
    const [one, other] = [(x: Division) => x.constant('one'), (x: Division) => x.row(2)];
    for (const [d, n, by] of [
      [other, one, (x: Division) => x.reciprocal(0)],
      [(x: Division) => x.d, other, (x: Division) => x.reciprocal(0)],
      [(x: Division) => x.d, one, other],
    ] as const) {
      stays((x) => {
        const y = x.reciprocal(0);
        return refinedBy(x, x.op('fma', x.op('fma', x.negative(d(x)), y, n(x)), by(x), y));
      });
    }
    stays((x) => refinedBy(x, x.reciprocal(0, x.row(2))));
    stays((x) => refinedBy(x, x.op('div', x.row(2), x.d)));
    stays((x) => x.step(x.row(2), x.reciprocal(1)));
    stays((x) => {
      const q = x.op('mul', x.n, x.reciprocal(1));
      return x.op('fma', x.op('fma', x.d, q, x.n), x.reciprocal(1), q);
    });
  });
}
