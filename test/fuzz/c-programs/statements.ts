/** Blocks of C statements. Loops and calls burn `g->fuel`, so that every program ends soon. */
import type { Random } from '../random.ts';
import { Expressions } from './expressions.ts';
import { Scope, type Variable } from './scope.ts';
import { BOOL, FLOATS, I32, INTEGERS, type Scalar, type Struct, U8, U32, U64 } from './types.ts';

/** A function that statements may call. */
export interface Callable {
  readonly name: string;
  readonly result: Scalar | Struct;
  /** Arguments after the globals. */
  readonly parameters: readonly Parameter[];
  /** Called with numbers of arguments that vary: their types follow the count. */
  readonly variadic?: boolean;
}

export interface Parameter {
  readonly type: Scalar | Struct;
  /** A pointer to this many elements, or to one where it is 1. */
  readonly pointsTo?: number;
}

export interface Surroundings {
  readonly random: Random;
  readonly structs: readonly Struct[];
  readonly callables: readonly Callable[];
  /** Arrays of functions with one signature, as lvalues: u64 (struct Globals *, u64, u32), four in each. */
  readonly functionTables: readonly string[];
  /** Whether only one work-item runs, so that static data may change. */
  readonly alone: boolean;
  /** Distinct in the whole program. */
  readonly fresh: (prefix: string) => string;
}

/** What a block is inside of. */
interface Place {
  readonly depth: number;
  readonly inLoop: boolean;
}

type Line = string;
const MAX_DEPTH = 3;
const EXPRESSION_DEPTH = 3;
const indent = (lines: readonly Line[]): Line[] => lines.map((line) => `  ${line}`);

export class Statements {
  readonly #around: Surroundings;
  readonly #random: Random;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#random = around.random;
  }

  /** Statements in a scope of their own inside `outer`. */
  block(outer: Scope, place: Place, count: number): Line[] {
    const scope = new Scope(outer.variables);
    return indent(this.#random.times(count, () => this.#statement(scope, place)).flat());
  }

  /** Declares something with a first value in `scope`. */
  declare(scope: Scope): Line[] {
    const random = this.#random;
    const form = random.weighted([
      [5, () => this.#declareScalar(scope)],
      [2, () => this.#declareArray(scope)],
      [2, () => this.#declareStruct(scope)],
      [2, () => this.#declarePointer(scope)],
      [this.#around.alone ? 1 : 0, () => this.#declareStatic(scope)],
    ]);
    return form();
  }

  /** Adds something of the scope to the checksum. */
  trace(scope: Scope): Line[] {
    const e = this.#expressions(scope);
    const place = scope.place(this.#random, (length) => e.index(length));
    return [`trace(g, ${place === undefined ? e.integer(U64, 2) : asBits(place.text, place.type)});`];
  }

  #statement(scope: Scope, place: Place): Line[] {
    const random = this.#random;
    const deep = place.depth >= MAX_DEPTH;
    const form = random.weighted([
      [4, () => this.declare(scope)],
      [8, () => this.#assign(scope)],
      [3, () => this.#call(scope)],
      [2, () => this.trace(scope)],
      [1, () => this.#bytes(scope)],
      [1, () => this.#text(scope)],
      [1, () => this.#structCopy(scope)],
      [this.#around.alone ? 1 : 0, () => this.#atomic(scope)],
      [place.inLoop ? 1 : 0, () => this.#leaveLoop(scope)],
      [deep ? 0 : 3, () => this.#if(scope, place)],
      [deep ? 0 : 3, () => this.#loop(scope, place)],
      [deep ? 0 : 2, () => this.#switch(scope, place)],
      [deep ? 0 : 1, () => this.#states(scope, place)],
    ]);
    return form();
  }

  #expressions(scope: Scope): Expressions {
    return new Expressions(this.#random, scope);
  }

  #scalarType(): Scalar {
    const random = this.#random;
    return random.weighted<Scalar>([
      [12, random.pick(INTEGERS)],
      [4, random.pick(FLOATS)],
      [1, BOOL],
    ]);
  }

  #declareScalar(scope: Scope): Line[] {
    const type = this.#scalarType();
    const text = this.#around.fresh('v');
    const volatile = this.#random.chance(5) ? 'volatile ' : '';
    const line = `${volatile}${type.name} ${text} = ${this.#expressions(scope).of(type, EXPRESSION_DEPTH)};`;
    scope.add({ text, type, writable: true });
    return [line];
  }

  #declareArray(scope: Scope): Line[] {
    const random = this.#random;
    const e = this.#expressions(scope);
    const type = this.#scalarType();
    const length = random.pick([2, 4, 8, 16]);
    const text = this.#around.fresh('a');
    const values = random.times(random.between(1, length), () => e.of(type, 1));
    scope.add({ text, type, length, writable: true });
    return [`${type.name} ${text}[${length}] = {${values.join(', ')}};`];
  }

  #declareStruct(scope: Scope): Line[] {
    const type = this.#random.pick(this.#around.structs);
    const text = this.#around.fresh('s');
    const e = this.#expressions(scope);
    // Bytes up to 63: no member becomes a NaN.
    const lines = [`${type.name} ${text};`, `memset(&${text}, ${e.index(64)}, sizeof ${text});`];
    scope.add({ text, type, writable: true });
    return lines;
  }

  /** A pointer to some element, with as many behind it as an index may reach. */
  #declarePointer(scope: Scope): Line[] {
    const array = scope.pick(this.#random, ({ length, writable }) => writable && (length ?? 0) > 1);
    if (array === undefined) return this.#declareScalar(scope);
    const half = array.length! / 2;
    const text = this.#around.fresh('p');
    const line = `${array.type.name} *${text} = &${array.text}[${this.#expressions(scope).index(half)}];`;
    scope.add({ text, type: array.type, length: half, writable: true });
    if (this.#random.chance(20)) {
      const pointer = this.#around.fresh('pp');
      scope.add({ text: `(*${pointer})`, type: array.type, length: half, writable: true });
      return [line, `${array.type.name} **${pointer} = &${text};`];
    }
    return [line];
  }

  #declareStatic(scope: Scope): Line[] {
    const type = this.#random.pick(INTEGERS);
    const text = this.#around.fresh('k');
    const length = this.#random.pick([undefined, 4, 8]);
    const first = this.#expressions(new Scope()).integerLiteral(type);
    scope.add({ text, type, writable: true, ...(length !== undefined && { length }) });
    return [`static ${type.name} ${text}${length === undefined ? ` = ${first}` : `[${length}] = {${first}}`};`];
  }

  #assign(scope: Scope): Line[] {
    const random = this.#random;
    const e = this.#expressions(scope);
    const to = scope.place(
      random,
      (length) => e.index(length),
      ({ writable }) => writable,
    );
    if (to === undefined) return this.declare(scope);
    const { text, type } = to;
    const value = (depth: number) => e.of(type, depth);
    if (random.chance(60) || type === BOOL) return [`${text} = ${value(EXPRESSION_DEPTH)};`];
    if (type.kind === 'float') return [`${text} ${random.pick(['+=', '-=', '*='])} ${value(2)};`];
    return random.weighted([
      [6, [`${text} ${random.pick(['+=', '-=', '*=', '^=', '|=', '&='])} ${value(2)};`]],
      [2, [`${text} ${random.pick(['<<=', '>>='])} ${random.below(type.bits)};`]],
      [1, [`${text}${random.pick(['++', '--'])};`]],
    ]);
  }

  #structCopy(scope: Scope): Line[] {
    const isStruct = ({ type }: Variable) => type.kind === 'struct' || type.kind === 'union';
    const to = scope.pick(this.#random, (variable) => isStruct(variable) && variable.writable);
    if (to === undefined) return this.#declareStruct(scope);
    const from = scope.pick(this.#random, (variable) => variable.type === to.type && variable !== to);
    if (from === undefined) return this.#declareStruct(scope);
    return [`${this.#element(to, scope)} = ${this.#element(from, scope)};`];
  }

  #element({ text, length }: Variable, scope: Scope): string {
    return length === undefined ? text : `${text}[${this.#expressions(scope).index(length)}]`;
  }

  /** An argument, and in `lines` what must stand before the call. */
  #argument({ type, pointsTo }: Parameter, scope: Scope, lines: Line[]): string {
    const e = this.#expressions(scope);
    if (pointsTo !== undefined) {
      const target = scope.pick(
        this.#random,
        (variable) => variable.type === type && variable.writable && (variable.length ?? 0) >= pointsTo,
      );
      // A compound literal lives as long as the block that calls.
      if (target === undefined) return `(${type.name}[${pointsTo}]){${e.of(type as Scalar, 1)}}`;
      return target.text;
    }
    if (type.kind === 'integer' || type.kind === 'float') return e.of(type, 2);
    const source = scope.pick(this.#random, (variable) => variable.type === type);
    if (source === undefined) return `(${type.name}){0}`;
    // Clang 19 takes a large struct's address for one in scratch, wherever the struct is: pass only local
    // variables by value.
    const copy = this.#around.fresh('s');
    lines.push(`${type.name} ${copy} = ${this.#element(source, scope)};`);
    return copy;
  }

  /**
   * The result goes into a variable of its own: an expression around a call could read what the call changes.
   */
  #call(scope: Scope): Line[] {
    const random = this.#random;
    const { callables, functionTables, fresh } = this.#around;
    const e = this.#expressions(scope);
    const text = fresh('r');
    if (functionTables.length > 0 && random.chance(callables.length === 0 ? 100 : 25)) {
      const line = `u64 ${text} = ${random.pick(functionTables)}[${e.index(4)}](g, ${e.integer(U64, 2)}, ${e.integer(U32, 2)});`;
      scope.add({ text, type: U64, writable: true });
      return [line];
    }
    if (callables.length === 0) return this.#assign(scope);
    const { name, result, parameters, variadic } = random.pick(callables);
    const lines: Line[] = [];
    const values = parameters.map((parameter) => this.#argument(parameter, scope, lines));
    if (variadic) {
      const count = random.between(0, 6);
      const types = [I32, U64, FLOATS[2]!] as const;
      values.push(String(count), ...random.times(count, (i) => e.of(types[i % types.length]!, 1)));
    }
    lines.push(`${result.name} ${text} = ${name}(${['g', ...values].join(', ')});`);
    scope.add({ text, type: result, writable: true });
    return lines;
  }

  #if(scope: Scope, place: Place): Line[] {
    const random = this.#random;
    const inner = { ...place, depth: place.depth + 1 };
    const lines = [
      `if (${this.#expressions(scope).condition(2)}) {`,
      ...this.block(scope, inner, random.between(1, 3)),
    ];
    if (random.chance(50)) lines.push('} else {', ...this.block(scope, inner, random.between(1, 3)));
    return [...lines, '}'];
  }

  #loop(scope: Scope, place: Place): Line[] {
    const random = this.#random;
    const counter = this.#around.fresh('n');
    const inside = new Scope(scope.variables);
    const type = random.pick(INTEGERS.filter(({ bits }) => bits >= 32));
    inside.add({ text: counter, type, writable: false });
    const body = this.block(inside, { depth: place.depth + 1, inLoop: true }, random.between(1, 4));
    const e = this.#expressions(scope);
    const trips = random.chance(60) ? String(random.between(1, 12)) : `(${type.name})(${e.integer(U8, 1)} & 15)`;
    const condition = e.condition(1);
    return random.weighted([
      [5, [`for (${type.name} ${counter} = 0; ${counter} < ${trips} && burn(g); ${counter}++) {`, ...body, '}']],
      [2, [`for (${type.name} ${counter} = ${trips}; ${counter}-- > 0 && burn(g);) {`, ...body, '}']],
      [
        2,
        [`{ ${type.name} ${counter} = 0;`, `while (burn(g) && (${condition}) && ++${counter} < 9) {`, ...body, '} }'],
      ],
      [1, [`{ ${type.name} ${counter} = 0;`, 'do {', ...body, `} while (burn(g) && ++${counter} < ${trips}); }`]],
    ]);
  }

  #leaveLoop(scope: Scope): Line[] {
    return [`if (${this.#expressions(scope).condition(1)}) ${this.#random.pick(['break', 'continue'])};`];
  }

  #switch(scope: Scope, place: Place): Line[] {
    const random = this.#random;
    const inner = { ...place, depth: place.depth + 1 };
    const dense = random.chance(60);
    const values = new Set(random.times(random.between(2, 8), (i) => (dense ? i : random.below(200))));
    const cases = [...values].flatMap((value) => [
      `case ${value}: {`,
      ...this.block(scope, { ...inner, inLoop: false }, random.between(1, 2)),
      random.chance(75) ? '} break;' : '} // falls through',
    ]);
    const other = random.chance(60) ? ['default: {', ...this.block(scope, { ...inner, inLoop: false }, 1), '}'] : [];
    return [
      `switch (${this.#expressions(scope).integer(U8, 2)}${dense ? ' & 7' : ''}) {`,
      ...indent([...cases, ...other]),
      '}',
    ];
  }

  /** Jumps between labels: a flow graph that no loop statement has. */
  #states(scope: Scope, place: Place): Line[] {
    const random = this.#random;
    const inner = { depth: MAX_DEPTH, inLoop: false };
    const labels = random.times(random.between(2, 3), () => this.#around.fresh('label'));
    const jump = (scopeOf: Scope) =>
      `if (burn(g) && (${this.#expressions(scopeOf).condition(1)})) goto ${random.pick(labels)};`;
    return labels.flatMap((label) => [
      `${label}: {`,
      ...this.block(scope, { ...inner, depth: Math.max(inner.depth, place.depth) }, 1),
      '}',
      jump(scope),
    ]);
  }

  /**
   * memcpy, memmove, memset and memcmp on bytes of arrays of integers; memmove inside one array only, because
   * clang 19 cannot expand it between address spaces.
   */
  #bytes(scope: Scope): Line[] {
    const random = this.#random;
    const bytesOf = ({ type, length = 1 }: Variable) =>
      type.kind === 'integer' && length > 1 ? (length * type.bits) / 8 : 0;
    const to = scope.pick(random, (variable) => variable.writable && bytesOf(variable) >= 4);
    const from = scope.pick(random, (variable) => bytesOf(variable) >= 4);
    if (to === undefined || from === undefined) return this.#declareArray(scope);
    const e = this.#expressions(scope);
    const both = Math.min(bytesOf(to), bytesOf(from));
    const size = random.chance(50) ? String(random.between(1, both)) : `(${e.index(both)})`;
    return random.weighted([
      [3, [`copy_bytes(${to.text}, ${from.text}, ${size});`]],
      [2, [`memset((u8 *)${to.text} + 1, ${e.integer(U8, 1)}, (${e.index(both)}) % ${both - 1});`]],
      [2, [`trace(g, memcmp(${to.text}, ${from.text}, ${size}) > 0);`]],
      [2, [`memmove((u8 *)${to.text} + ${both / 4}, ${to.text}, (${e.index(both)}) % ${both / 2});`]],
    ]);
  }

  #text(scope: Scope): Line[] {
    const random = this.#random;
    const e = this.#expressions(scope);
    const text = this.#around.fresh('text');
    const words = ['wave', 'lane', 'a longer text with spaces', '', 'x'];
    const index = e.index(16);
    const word = () => JSON.stringify(random.pick(words));
    return [
      `char ${text}[32] = ${word()};`,
      `${text}[${index}] = 'a' + (${e.integer(U8, 1)} % 26);`,
      random.pick([
        `trace(g, strlen(${text}));`,
        `trace(g, strcmp(${text}, ${word()}) > 0);`,
        `trace(g, strncmp(${text}, ${word()}, ${e.index(8)}) < 0);`,
        `{ char copy[32]; strcpy(copy, ${text}); trace(g, copy[0]); }`,
        `{ const char *at = strchr(${text}, 'a'); trace(g, at == NULL ? 99 : at - ${text}); }`,
      ]),
    ];
  }

  #atomic(scope: Scope): Line[] {
    const random = this.#random;
    const e = this.#expressions(scope);
    const wide = random.chance(40);
    const type = wide ? U64 : U32;
    const target = `&g->${wide ? 'counters' : 'flags'}[${e.index(4)}]`;
    const text = this.#around.fresh('o');
    const value = e.integer(type, 1);
    const operation = random.pick(['add', 'sub', 'and', 'or', 'xor', 'nand', 'max', 'min']);
    const lines = random.weighted([
      [4, [`${type.name} ${text} = __atomic_fetch_${operation}(${target}, ${value}, __ATOMIC_ACQ_REL);`]],
      [1, [`${type.name} ${text} = __atomic_exchange_n(${target}, ${value}, __ATOMIC_RELAXED);`]],
      [
        1,
        [
          `${type.name} ${text} = ${value};`,
          `trace(g, __atomic_compare_exchange_n(${target}, &${text}, 7, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));`,
        ],
      ],
    ]);
    scope.add({ text, type, writable: true });
    return lines;
  }
}

/** C text of a scalar's bits as u64. */
export function asBits(text: string, type: Scalar): string {
  return type.kind === 'float' ? `bits_${type.name}(${text})` : `(u64)${text}`;
}
