/**
 * Expressions of assembler operands and directives, with the precedence and the 64-bit arithmetic of LLVM's
 * assembler.
 */
import { assert } from '../../../../base/errors.ts';

export type UnaryOperator = '-' | '+' | '~' | '!';
export type BinaryOperator = keyof typeof PRECEDENCE;

export type Expression =
  | { readonly kind: 'number'; readonly value: bigint }
  /** `variant` is what follows `@`: rel32@lo, gotpcrel32@hi. */
  | { readonly kind: 'symbol'; readonly name: string; readonly variant: string | undefined }
  | { readonly kind: 'unary'; readonly operator: UnaryOperator; readonly operand: Expression }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'call'; readonly name: FunctionName; readonly args: readonly Expression[] };

/**
 * What `.set` of compilers computes resources with (LLVM's AMDGPU back end, AMDGPUMCExpr): how many arguments
 * each takes.
 */
export const FUNCTIONS = {
  max: undefined,
  or: undefined,
  alignto: 2,
  /** Of VCC, FLAT_SCRATCH and XNACK_MASK: the SGPRs that they take behind those of the kernel. */
  extrasgprs: 3,
  /** Of AGPRs and VGPRs. */
  totalnumvgprs: 2,
} as const;
export type FunctionName = keyof typeof FUNCTIONS;
export const isFunctionName = (text: string): text is FunctionName => Object.hasOwn(FUNCTIONS, text);

/** Higher binds tighter; all are left-associative. */
export const PRECEDENCE = {
  '||': 1,
  '&&': 2,
  '==': 3,
  '!=': 3,
  '<>': 3,
  '<': 3,
  '<=': 3,
  '>': 3,
  '>=': 3,
  '+': 4,
  '-': 4,
  '|': 5,
  '^': 5,
  '&': 5,
  '*': 6,
  '/': 6,
  '%': 6,
  '<<': 6,
  '>>': 6,
} as const;

const truth = (condition: boolean): bigint => (condition ? -1n : 0n);

const UNARY: Readonly<Record<UnaryOperator, (value: bigint) => bigint>> = {
  '-': (value) => -value,
  '+': (value) => value,
  '~': (value) => ~value,
  '!': (value) => (value === 0n ? 1n : 0n),
};

/**
 * Comparisons are -1 where they hold, `&&` and `||` are 1; `>>` shifts in zeros. Undefined: division by zero.
 */
const BINARY: Readonly<Record<BinaryOperator, (left: bigint, right: bigint) => bigint | undefined>> = {
  '||': (a, b) => (a !== 0n || b !== 0n ? 1n : 0n),
  '&&': (a, b) => (a !== 0n && b !== 0n ? 1n : 0n),
  '==': (a, b) => truth(a === b),
  '!=': (a, b) => truth(a !== b),
  '<>': (a, b) => truth(a !== b),
  '<': (a, b) => truth(a < b),
  '<=': (a, b) => truth(a <= b),
  '>': (a, b) => truth(a > b),
  '>=': (a, b) => truth(a >= b),
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '|': (a, b) => a | b,
  '^': (a, b) => a ^ b,
  '&': (a, b) => a & b,
  '*': (a, b) => a * b,
  '/': (a, b) => (b === 0n ? undefined : a / b),
  '%': (a, b) => (b === 0n ? undefined : a % b),
  '<<': (a, b) => (b < 0n || b > 63n ? 0n : a << b),
  '>>': (a, b) => (b < 0n || b > 63n ? 0n : BigInt.asUintN(64, a) >> b),
};

export function applyUnary(operator: UnaryOperator, value: bigint): bigint {
  return BigInt.asIntN(64, UNARY[operator](value));
}

export function applyBinary(operator: BinaryOperator, left: bigint, right: bigint): bigint | undefined {
  const result = BINARY[operator](left, right);
  return result === undefined ? undefined : BigInt.asIntN(64, result);
}

/** The value of a symbol that is a number already. */
export type Symbols = (name: string) => bigint | undefined;

/** As a signed 64-bit number; undefined when it depends on a symbol that is none. */
export function evaluateExpression(expression: Expression, symbols: Symbols): bigint | undefined {
  switch (expression.kind) {
    case 'number':
      return BigInt.asIntN(64, expression.value);
    case 'symbol':
      return expression.variant === undefined ? symbols(expression.name) : undefined;
    case 'unary': {
      const value = evaluateExpression(expression.operand, symbols);
      return value === undefined ? undefined : applyUnary(expression.operator, value);
    }
    case 'binary': {
      const left = evaluateExpression(expression.left, symbols);
      const right = evaluateExpression(expression.right, symbols);
      return left === undefined || right === undefined ? undefined : applyBinary(expression.operator, left, right);
    }
    case 'call':
      // Some depend on the target: the assembler of the file knows it.
      return undefined;
  }
}

export const isBinaryOperator = (text: string): text is BinaryOperator => Object.hasOwn(PRECEDENCE, text);

export function isUnaryOperator(text: string): text is UnaryOperator {
  assert(text.length <= 1, 'unary operators are one character');
  return Object.hasOwn(UNARY, text);
}
