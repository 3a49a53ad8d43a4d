/**
 * Whole C programs from a seed: structs, globals, functions and a `main` that prints checksums. They have one
 * meaning on every machine with 64-bit pointers and IEEE floats, compiled with -fwrapv -fno-strict-aliasing
 * -ffp-contract=off.
 */
import { Random } from '../random.ts';
import { Expressions } from './expressions.ts';
import { Scope, type Variable } from './scope.ts';
import { asBits, type Callable, type Parameter, Statements, type Surroundings } from './statements.ts';
import {
  declareField,
  declareStruct,
  type Field,
  FLOATS,
  I32,
  INTEGERS,
  type Scalar,
  type Struct,
  U8,
  U16,
  U32,
  U64,
} from './types.ts';

export interface ProgramOptions {
  readonly seed: number;
  /**
   * One work-item, which may change static data; or many, each with data of its own, that meet at barriers.
   */
  readonly alone: boolean;
}

const FUEL = 250;
const PHASES = 3;
const WORDS = 16;

function makeStruct(name: string, random: Random, others: readonly Struct[]): Struct {
  if (random.chance(15)) {
    const fields: Field[] = [
      { name: 'whole', type: U64 },
      { name: 'bytes', type: U8, length: 8 },
      { name: 'halves', type: U16, length: 4 },
      { name: 'words', type: I32, length: 2 },
    ];
    return { kind: 'union', name: `union ${name}`, fields };
  }
  const fields = random.times(random.between(1, 7), (i): Field => {
    const field = { name: `m${i}`, type: random.chance(75) ? random.pick(INTEGERS) : random.pick(FLOATS) };
    if (others.length > 0 && random.chance(15)) return { ...field, type: random.pick(others) };
    if (random.chance(20)) return { ...field, length: random.pick([2, 4]) };
    if (field.type.kind === 'integer' && random.chance(20))
      return { ...field, bitWidth: random.between(1, field.type.bits) };
    return field;
  });
  return { kind: 'struct', name: `struct ${name}`, fields };
}

const isStruct = (type: Scalar | Struct): type is Struct => type.kind === 'struct' || type.kind === 'union';

/** Statements that add every scalar of a variable to the checksum. */
function traceWhole(text: string, type: Scalar | Struct, length?: number, depth = 0): string[] {
  if (length !== undefined) {
    const index = `n${depth}`;
    const lines = traceWhole(`${text}[${index}]`, type, undefined, depth + 1);
    return [`  for (u32 ${index} = 0; ${index} < ${length}; ${index}++) {`, ...lines, '  }'];
  }
  if (!isStruct(type)) return [`  trace(g, ${asBits(text, type)});`];
  // All members of a union are the same bytes.
  const fields = type.kind === 'union' ? type.fields.slice(0, 1) : type.fields;
  return fields.flatMap((field) => traceWhole(`${text}.${field.name}`, field.type, field.length, depth));
}

class ProgramMaker {
  readonly #random: Random;
  readonly #alone: boolean;
  readonly #structs: Struct[] = [];
  readonly #callables: Callable[] = [];
  readonly #functionTables: string[] = [];
  readonly #globals: Variable[] = [];
  readonly #text: string[] = [];
  #names = 0;

  constructor({ seed, alone }: ProgramOptions) {
    this.#random = new Random(seed);
    this.#alone = alone;
  }

  make(): string {
    const random = this.#random;
    for (let i = 0; i < random.between(2, 4); i++) {
      const struct = makeStruct(`S${i}`, random, this.#structs);
      this.#structs.push(struct);
      this.#emit(declareStruct(struct));
    }
    this.#globalData();
    this.#uniformFunctions();
    for (let i = 0; i < random.between(2, 5); i++) this.#function();
    if (random.chance(60)) this.#recursiveFunction();
    if (random.chance(40)) this.#variadicFunction();
    this.#main();
    return `#include "prelude.h"\n\n${this.#text.join('\n\n')}\n`;
  }

  readonly #fresh = (prefix: string): string => `${prefix}${this.#names++}`;

  #emit(...lines: string[]): void {
    this.#text.push(lines.join('\n'));
  }

  #statements(callables: readonly Callable[] = this.#callables): Statements {
    const around: Surroundings = {
      random: this.#random,
      structs: this.#structs,
      callables,
      functionTables: this.#functionTables,
      alone: this.#alone,
      fresh: this.#fresh,
    };
    return new Statements(around);
  }

  /** `struct Globals`, tables and static variables; everything is in the scope of every function. */
  #globalData(): void {
    const random = this.#random;
    const fields: Field[] = random.times(random.between(4, 9), (i): Field => {
      const type = random.weighted<Scalar | Struct>([
        [6, random.pick(INTEGERS)],
        [2, random.pick(FLOATS)],
        [3, random.pick(this.#structs)],
      ]);
      return random.chance(40) ? { name: `f${i}`, type, length: random.pick([2, 4, 8]) } : { name: `f${i}`, type };
    });
    this.#emit(
      'struct Globals {',
      '  i32 fuel;\n  u64 sum;\n  u32 input;\n  u32 flags[4];\n  u64 counters[4];',
      `  u32 words[${WORDS}];\n  u32 *cursor;`,
      ...fields.map(declareField),
      '};',
    );
    this.#emit('static bool burn(struct Globals *g) { return --g->fuel >= 0; }');
    this.#emit('static void trace(struct Globals *g, u64 value) { g->sum = mix(g->sum, value); }');
    for (const { name, type, length } of fields) {
      this.#globals.push({ text: `g->${name}`, type, writable: true, ...(length !== undefined && { length }) });
    }
    this.#globals.push(
      { text: 'g->input', type: U32, writable: true },
      { text: 'g->words', type: U32, length: WORDS, writable: true },
      { text: 'g->cursor', type: U32, length: WORDS / 2, writable: true },
      { text: 'g->counters', type: U64, length: 4, writable: true },
    );
    this.#emit(
      'NOINLINE static void trace_all(struct Globals *g) {',
      ...this.#globals.flatMap(({ text, type, length }) => traceWhole(text, type, length)),
      '}',
    );
    const constant = new Expressions(random, new Scope());
    for (let i = 0; i < random.between(1, 3); i++) {
      const type = random.chance(75) ? random.pick(INTEGERS) : random.pick(FLOATS);
      const length = random.pick([4, 8, 16]);
      const text = this.#fresh('table');
      const values = random.times(length, () =>
        type.kind === 'integer' ? constant.integerLiteral(type) : constant.floatLiteral(type),
      );
      const writable = this.#alone && random.chance(50);
      this.#emit(`static ${writable ? '' : 'const '}${type.name} ${text}[${length}] = {${values.join(', ')}};`);
      this.#globals.push({ text, type, length, writable });
    }
  }

  /** Four functions behind one type, called through a table. */
  #uniformFunctions(): void {
    const parameters: Parameter[] = [{ type: U64 }, { type: U32 }];
    const names = this.#random.times(4, () => this.#functionNamed(this.#fresh('uniform'), U64, parameters, true));
    const table = this.#fresh('functions');
    const constant = this.#random.chance(50) ? 'const ' : '';
    this.#emit(`static u64 (*${constant}${table}[4])(struct Globals *, u64, u32) = {${names.join(', ')}};`);
    this.#functionTables.push(table);
  }

  #resultType(): Scalar | Struct {
    const random = this.#random;
    if (random.chance(25)) return random.pick(this.#structs);
    return random.chance(75) ? random.pick(INTEGERS) : random.pick(FLOATS);
  }

  #function(): void {
    const random = this.#random;
    // More than 32 registers' worth of arguments go through the stack.
    const count = random.chance(15) ? random.between(16, 24) : random.between(0, 5);
    const parameters = random.times(count, (): Parameter => {
      if (random.chance(20)) return { type: random.pick(INTEGERS), pointsTo: random.pick([1, 2, 4]) };
      return { type: this.#resultType() };
    });
    const result = this.#resultType();
    const name = this.#functionNamed(this.#fresh('call'), result, parameters, random.chance(65));
    this.#callables.push({ name, result, parameters });
  }

  #functionNamed(name: string, result: Scalar | Struct, parameters: readonly Parameter[], noinline: boolean): string {
    const random = this.#random;
    const scope = new Scope(this.#globals);
    const declared = parameters.map(({ type, pointsTo }, i) => {
      const text = `x${i}`;
      scope.add({ text, type, writable: true, ...(pointsTo !== undefined && { length: pointsTo }) });
      return `${type.name} ${pointsTo === undefined ? '' : '*'}${text}`;
    });
    this.#emit(
      `${noinline ? 'NOINLINE ' : ''}static ${result.name} ${name}(${['struct Globals *g', ...declared].join(', ')}) {`,
      ...this.#body(scope, result, random.between(3, 7)),
      '}',
    );
    return name;
  }

  /** Statements, and a return of something in their scope. */
  #body(scope: Scope, result: Scalar | Struct, count: number, statements = this.#statements()): string[] {
    const empty = isStruct(result) ? `(${result.name}){0}` : '0';
    const lines = [`  if (!burn(g)) return ${empty};`];
    const declarations = this.#random.times(2, () => statements.declare(scope)).flat();
    lines.push(...declarations.map((line) => `  ${line}`));
    lines.push(...statements.block(scope, { depth: 0, inLoop: false }, count));
    const value = isStruct(result)
      ? (scope.pick(this.#random, ({ type, length }) => type === result && length === undefined)?.text ?? empty)
      : new Expressions(this.#random, scope).of(result, 3);
    return [...lines, `  return ${value};`];
  }

  #recursiveFunction(): void {
    const name = this.#fresh('recursive');
    const scope = new Scope(this.#globals);
    scope.add({ text: 'x', type: U64, writable: true });
    const e = new Expressions(this.#random, scope);
    this.#emit(
      `NOINLINE static u64 ${name}(struct Globals *g, i32 depth, u64 x) {`,
      '  if (depth <= 0) return x;',
      `  u64 first = ${name}(g, depth - 1, ${e.integer(U64, 2)});`,
      `  if (${e.condition(2)}) first ^= ${name}(g, depth - 2, first);`,
      ...this.#body(scope, U64, 2, this.#statements([])).map((line) => line.replace('return ', 'return first + ')),
      '}',
    );
    const start = `${name}_start`;
    this.#emit(`static u64 ${start}(struct Globals *g, u8 depth, u64 x) { return ${name}(g, depth % 7, x); }`);
    this.#callables.push({ name: start, result: U64, parameters: [{ type: U8 }, { type: U64 }] });
  }

  #variadicFunction(): void {
    const name = this.#fresh('variadic');
    this.#emit(
      `NOINLINE static u64 ${name}(struct Globals *g, i32 count, ...) {`,
      '  va_list list;\n  va_start(list, count);\n  u64 sum = g->input;',
      '  for (i32 i = 0; i < count; i++)',
      '    sum = mix(sum, i % 3 == 0 ? (u64)va_arg(list, i32) : i % 3 == 1 ? va_arg(list, u64) : bits_f64(va_arg(list, f64)));',
      '  va_end(list);\n  return sum;\n}',
    );
    this.#callables.push({ name, result: U64, parameters: [], variadic: true });
  }

  #main(): void {
    const random = this.#random;
    if (this.#alone) this.#emit('static struct Globals all;');
    else this.#emit('WORKGROUP_SHARED u32 shared[1024];');
    const phases = random.times(PHASES, (phase) => this.#phase(phase));
    this.#emit(
      `enum { FUEL = ${FUEL} };`,
      'int main(int argc, char **argv) {',
      `  ${this.#alone ? '' : 'struct Globals all;\n  '}struct Globals *g = &all;`,
      '  memset(g, 0, sizeof *g);',
      '  g->input = mix(argc, global_id());\n  g->cursor = &g->words[argv[0] == NULL];',
      `  for (u32 i = 0; i < ${WORDS}; i++) g->words[i] = i * g->input;`,
      ...phases.flat(),
      '  return g->sum & 0x7F;\n}',
    );
  }

  #phase(phase: number): string[] {
    const scope = new Scope(this.#globals);
    const statements = this.#statements();
    const lines = [
      ...this.#random.times(2, () => statements.declare(scope)).flat(),
      ...statements.block(scope, { depth: 0, inLoop: false }, 6),
      ...this.#random.times(4, () => statements.trace(scope)).flat(),
      ...this.#report(phase),
    ];
    return ['  g->fuel = FUEL;', '  {', ...lines.map((line) => `    ${line}`), '  }'];
  }

  #report(phase: number): string[] {
    const checksum = `printf("%u: ${phase} %016llx\\n", global_id(), (unsigned long long)g->sum);`;
    if (this.#alone) return ['trace_all(g);', checksum];
    return [
      'trace_all(g);',
      'shared[thread_id()] = (u32)g->sum;',
      'workgroup_barrier();',
      'trace(g, shared[(thread_id() + 5) % num_threads()]);',
      'workgroup_barrier();',
      checksum,
    ];
  }
}

/** C text of the program; it includes `prelude.h` and prints a few lines for each work-item. */
export function makeProgram(options: ProgramOptions): string {
  return new ProgramMaker(options).make();
}
