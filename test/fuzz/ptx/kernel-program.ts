/**
 * Random C without calls that is a kernel for NVPTX and a function of this machine: variables of all
 * arithmetic types, conditions, loops, an array, conversions, what the compiler knows as single instructions.
 */
import { Random } from '../random.ts';

const INTEGERS = [
  'signed char',
  'unsigned char',
  'short',
  'unsigned short',
  'int',
  'unsigned',
  'long',
  'unsigned long',
];
const FLOATS = ['float', 'double'];
const TYPES = [...INTEGERS, ...FLOATS];
const VARIABLES_PER_TYPE = 2;
const ARRAY = 8;

interface Variable {
  readonly name: string;
  readonly type: string;
}

const isInteger = (type: string): boolean => INTEGERS.includes(type);
const isWide = (type: string): boolean => type.includes('long');

/** Results of integers are defined where the compilers are told that they wrap. */
class KernelWriter {
  readonly #random: Random;
  readonly #variables: Variable[] = TYPES.flatMap((type, i) =>
    Array.from({ length: VARIABLES_PER_TYPE }, (_, n) => ({ name: `v${i}_${n}`, type })),
  );
  #loops = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  text(): string {
    const inputs = this.#variables.map(
      ({ name, type }, i) => `  ${type} ${name} = (${type})(in[i * 4 + ${i % 4}] >> ${i});`,
    );
    const body = Array.from({ length: 12 }, () => this.#statement(0));
    const mix = this.#variables.map(
      ({ name, type }) => `  sum = (sum ^ ${hashed(name, type)}) * 0x9e3779b97f4a7c15ul;`,
    );
    return `${PREFIX}
KERNEL void k(unsigned long *out, const unsigned long *in) {
  unsigned i = THREAD;
  unsigned array[${ARRAY}];
  for (int j = 0; j < ${ARRAY}; j++) array[j] = in[i * 4] >> j;
${inputs.join('\n')}
${body.join('\n')}
  unsigned long sum = 0;
  for (int j = 0; j < ${ARRAY}; j++) sum = sum * 31 + array[j];
${mix.join('\n')}
  out[i] = sum;
}
`;
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#random.below(list.length)]!;
  }

  #variable(filter: (type: string) => boolean = () => true): Variable {
    return this.#pick(this.#variables.filter(({ type }) => filter(type)));
  }

  #statement(depth: number): string {
    const kind = this.#random.below(depth < 2 ? 8 : 5);
    const { name, type } = this.#variable();
    if (kind === 5)
      return `  if (${this.#condition()}) {\n${this.#block(depth)}\n  } else {\n${this.#block(depth)}\n  }`;
    if (kind === 6) {
      const counter = `n${this.#loops++}`;
      const end = `${counter} < ((unsigned)${this.#integer(2)} & 7)`;
      const leave = this.#random.below(2) ? `    if (${this.#condition()}) break;\n` : '';
      return `  for (unsigned ${counter} = 0; ${end}; ${counter}++) {\n${this.#block(depth)}\n${leave}  }`;
    }
    if (kind === 7) return `  array[${this.#integer(1)} & ${ARRAY - 1}] = (unsigned)${this.#integer(2)};`;
    return `  ${name} = ${isInteger(type) ? `(${type})${this.#integer(3)}` : this.#float(type, 3)};`;
  }

  #block(depth: number): string {
    return Array.from({ length: 1 + this.#random.below(3) }, () => `  ${this.#statement(depth + 1)}`).join('\n');
  }

  #condition(): string {
    const operator = this.#pick(['<', '<=', '>', '>=', '==', '!=']);
    if (this.#random.below(3) === 0) {
      const type = this.#pick(FLOATS);
      return `${this.#float(type, 1)} ${operator} ${this.#float(type, 1)}`;
    }
    return `${this.#integer(1)} ${operator} ${this.#integer(1)}`;
  }

  #integer(depth: number): string {
    if (depth === 0 || this.#random.below(6) === 0) {
      const { name } = this.#variable(isInteger);
      return this.#random.below(4) === 0 ? `${this.#random.below(2 ** 31)}` : name;
    }
    const [x, y] = [this.#integer(depth - 1), this.#integer(depth - 1)];
    const type = this.#pick(INTEGERS);
    const wide = this.#pick(['int', 'unsigned', 'long', 'unsigned long']);
    const width = isWide(wide) ? 64 : 32;
    const forms = [
      () => `(${x} ${this.#pick(['+', '-', '*', '&', '|', '^'])} ${y})`,
      () => `((${wide})${x} ${this.#pick(['<<', '>>'])} (${y} & ${width - 1}))`,
      () => `((unsigned ${isWide(wide) ? 'long' : 'int'})${x} ${this.#pick(['/', '%'])} (unsigned)(${y} | 1))`,
      () => `((${wide})${x} ${this.#pick(['/', '%'])} (((${wide})${y} & 0xffff) + 1))`,
      () => `(${type})${x}`,
      () => `(${this.#condition()} ? ${x} : ${y})`,
      () => `(${wide})(long)clamp_${this.#pick(FLOATS)}(${this.#float('double', depth - 1)})`,
      () => `array[${x} & ${ARRAY - 1}]`,
      () => this.#pick([`(~${x})`, `(-${x})`, `(!${x})`]),
      () => `__builtin_popcount${isWide(wide) ? 'l' : ''}(${x})`,
      () => `__builtin_clz${isWide(wide) ? 'l' : ''}((${wide})${x} | 1)`,
      () => `__builtin_bswap${width}(${x})`,
      () => `(long)(((__int128)(long)${x} * (long)${y}) >> 64)`,
      () => `rotate((unsigned)${x}, ${y} & 31)`,
    ];
    return this.#pick(forms)();
  }

  #float(type: string, depth: number): string {
    if (depth === 0 || this.#random.below(6) === 0) {
      const { name } = this.#variable((each) => !isInteger(each));
      return `((${type})${name})`;
    }
    const [x, y] = [this.#float(type, depth - 1), this.#float(type, depth - 1)];
    const suffix = type === 'float' ? 'f' : '';
    const forms = [
      () => `(${x} ${this.#pick(['+', '-', '*', '/'])} ${y})`,
      () => `(${type})${this.#integer(depth - 1)}`,
      () => `__builtin_sqrt${suffix}(__builtin_fabs${suffix}(${x}))`,
      () => `__builtin_${this.#pick(['floor', 'ceil', 'trunc', 'rint'])}${suffix}(${x})`,
      () => `(-${x})`,
      () => `(${this.#condition()} ? ${x} : ${y})`,
      () => `__builtin_fma${suffix}(${x}, ${y}, (${type})${this.#variable((each) => !isInteger(each)).name})`,
      () => `__builtin_copysign${suffix}(${x}, ordered_${type}(${y}))`,
    ];
    return this.#pick(forms)();
  }
}

/** NaNs have other bits on this machine. */
const hashed = (name: string, type: string): string =>
  isInteger(type) ? `(unsigned long)${name}` : `(${name} == ${name} ? bits_${type}(${name}) : 0)`;

const PREFIX = `
#ifdef __NVPTX__
#define KERNEL __attribute__((nvptx_kernel))
#define THREAD (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#else
extern unsigned thread;
#define KERNEL
#define THREAD thread
#endif
#define INLINE static inline __attribute__((always_inline))
INLINE unsigned long bits_float(float x) { unsigned u; __builtin_memcpy(&u, &x, 4); return u; }
INLINE unsigned long bits_double(double x) { unsigned long u; __builtin_memcpy(&u, &x, 8); return u; }
INLINE float ordered_float(float x) { return x == x ? x : 1.0f; }
INLINE double ordered_double(double x) { return x == x ? x : 1.0; }
INLINE float clamp_float(double x) { return x == x ? (x < -1e9 ? -1e9f : x > 1e9 ? 1e9f : (float)x) : 0.0f; }
INLINE double clamp_double(double x) { return x == x ? (x < -1e9 ? -1e9 : x > 1e9 ? 1e9 : x) : 0.0; }
INLINE unsigned rotate(unsigned x, unsigned n) { return n ? x << n | x >> (32 - n) : x; }
`;

/** The program of a seed. */
export const kernelProgram = (seed: number): string => new KernelWriter(seed).text();

/** What runs it on this machine: 64 bits for each thread from standard input to standard output. */
export const HOST_MAIN = `
#include <stdio.h>
void k(unsigned long *out, const unsigned long *in);
unsigned thread;
int main(void) {
  static unsigned long in[64 * 4], out[64];
  if (fread(in, 8, 64 * 4, stdin) != 64 * 4) return 1;
  for (thread = 0; thread < 64; thread++) k(out, in);
  return fwrite(out, 8, 64, stdout) == 64 ? 0 : 1;
}
`;
