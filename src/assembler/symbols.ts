/** Symbols of a file that is being assembled, and the values of expressions with them. */
import { WavewrightError } from '../base/errors.ts';
import { applyBinary, applyUnary, type Expression, type FunctionName } from '../isa/amdgpu/text/reader/expression.ts';
import type { AssembledSection } from './section.ts';

export type SymbolDefinition =
  | { readonly kind: 'label'; readonly section: AssembledSection; readonly offset: number }
  | { readonly kind: 'equal'; readonly expression: Expression }
  | { readonly kind: 'common'; readonly sizeBytes: bigint; readonly alignmentBytes: bigint };

export type Binding = 'local' | 'global' | 'weak';

export class AssembledSymbol {
  readonly name: string;
  definition: SymbolDefinition | undefined;
  /** Undefined: nothing was said; then local when it is defined and global otherwise. */
  binding: Binding | undefined;
  /** STT_*. */
  type = 0;
  /** STV_*. */
  visibility = 0;
  size: Expression | undefined;
  /** Mentioned where it must be in the symbol table although it is not defined. */
  isUsed = false;
  /** Stands for the section of its name. */
  isSection = false;

  constructor(name: string) {
    this.name = name;
  }

  /** Not in the symbol table: relocations name the section instead. */
  get isTemporary(): boolean {
    return this.isSection || this.name.startsWith('.L') || this.name.startsWith('\u0001');
  }
}

/** `constant + plus - minus`. */
export interface RelocatableValue {
  readonly constant: bigint;
  readonly plus: { readonly symbol: AssembledSymbol; readonly variant: string | undefined } | undefined;
  readonly minus: AssembledSymbol | undefined;
}

const absolute = (constant: bigint): RelocatableValue => ({ constant, plus: undefined, minus: undefined });
const wrap = (value: bigint): bigint => BigInt.asIntN(64, value);
/** Expressions within one another, those of symbols that are equal to others included. */
const DEPTH_LIMIT = 1000;
const STEP_LIMIT = 100_000;

/** The value of a function of numbers. */
export type Functions = (name: FunctionName, args: readonly bigint[]) => bigint;

export class SymbolTable {
  readonly #symbols = new Map<string, AssembledSymbol>();
  readonly #functions: Functions;
  #steps = 0;

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  /** In the order of their first mention. */
  get all(): readonly AssembledSymbol[] {
    return [...this.#symbols.values()];
  }

  find(name: string): AssembledSymbol | undefined {
    return this.#symbols.get(name);
  }

  get(name: string): AssembledSymbol {
    let symbol = this.#symbols.get(name);
    if (!symbol) {
      symbol = new AssembledSymbol(name);
      this.#symbols.set(name, symbol);
    }
    return symbol;
  }

  /** Names of sections that nothing else has stand for the beginnings of the sections. */
  nameSections(sections: readonly AssembledSection[]): void {
    for (const section of sections) {
      const symbol = this.get(section.name);
      if (symbol.definition || symbol.binding) continue;
      symbol.definition = { kind: 'label', section, offset: 0 };
      symbol.isSection = true;
    }
  }

  /** The value of a symbol that is equal to a number. */
  numberOf(name: string): bigint | undefined {
    const symbol = this.#symbols.get(name);
    if (symbol?.definition?.kind !== 'equal') return undefined;
    const value = this.evaluate(symbol.definition.expression);
    return value.plus || value.minus ? undefined : value.constant;
  }

  /** Whether something in the expression has no definition yet. */
  isOpen(expression: Expression, seen = new Set<string>()): boolean {
    switch (expression.kind) {
      case 'number':
        return false;
      case 'symbol': {
        if (seen.has(expression.name)) return false;
        seen.add(expression.name);
        const definition = this.#symbols.get(expression.name)?.definition;
        return !definition || (definition.kind === 'equal' && this.isOpen(definition.expression, seen));
      }
      case 'unary':
        return this.isOpen(expression.operand, seen);
      case 'binary':
        return this.isOpen(expression.left, seen) || this.isOpen(expression.right, seen);
      case 'call':
        return expression.args.some((argument) => this.isOpen(argument, seen));
    }
  }

  /**
   * Throws BAD_INPUT for what no relocation can hold, LIMIT_EXCEEDED when symbols that are equal to others
   * take too many steps.
   */
  evaluate(expression: Expression, depth = 0): RelocatableValue {
    this.#steps = depth === 0 ? 0 : this.#steps + 1;
    if (this.#steps > STEP_LIMIT) throw new WavewrightError('LIMIT_EXCEEDED', 'the expression takes too many steps');
    if (depth > DEPTH_LIMIT) throw new WavewrightError('BAD_INPUT', 'symbols are defined by themselves');
    switch (expression.kind) {
      case 'number':
        return absolute(wrap(expression.value));
      case 'symbol':
        return this.#symbolValue(expression.name, expression.variant, depth);
      case 'unary': {
        const operand = this.evaluate(expression.operand, depth + 1);
        if (expression.operator === '+') return operand;
        if (operand.plus || operand.minus) return fail();
        return absolute(applyUnary(expression.operator, operand.constant));
      }
      case 'binary': {
        const left = this.evaluate(expression.left, depth + 1);
        const right = this.evaluate(expression.right, depth + 1);
        if (expression.operator === '+') return this.#sum(left, right);
        if (expression.operator === '-') return this.#sum(left, negated(right));
        if (left.plus || left.minus || right.plus || right.minus) return this.#compared(expression, left, right);
        const value = applyBinary(expression.operator, left.constant, right.constant);
        if (value === undefined) throw new WavewrightError('BAD_INPUT', 'division by zero');
        return absolute(value);
      }
      case 'call': {
        const args = expression.args.map((argument) => this.evaluate(argument, depth + 1));
        if (args.some(({ plus, minus }) => plus || minus)) return fail();
        return absolute(
          this.#functions(
            expression.name,
            args.map(({ constant }) => constant),
          ),
        );
      }
    }
  }

  /** Operations on two places of one section are operations on their offsets. */
  #compared(
    expression: Extract<Expression, { kind: 'binary' }>,
    left: RelocatableValue,
    right: RelocatableValue,
  ): RelocatableValue {
    const distance = this.#sum(left, negated(right));
    if (distance.plus || distance.minus || !/^([<>]=?|[!=]=|<>)$/.test(expression.operator)) return fail();
    return absolute(applyBinary(expression.operator, distance.constant, 0n)!);
  }

  #symbolValue(name: string, variant: string | undefined, depth: number): RelocatableValue {
    const symbol = this.get(name);
    symbol.isUsed = true;
    const { definition } = symbol;
    if (definition?.kind === 'equal' && variant === undefined && symbol.binding !== 'weak') {
      return this.evaluate(definition.expression, depth + 1);
    }
    return { constant: 0n, plus: { symbol, variant }, minus: undefined };
  }

  #sum(left: RelocatableValue, right: RelocatableValue): RelocatableValue {
    let constant = left.constant + right.constant;
    const pluses = [left.plus, right.plus].filter((plus) => plus !== undefined);
    const minuses = [left.minus, right.minus].filter((minus) => minus !== undefined);
    for (const [i, plus] of pluses.entries()) {
      const j = minuses.findIndex((minus) => distance(plus, minus) !== undefined);
      if (j < 0) continue;
      constant += distance(plus, minuses[j]!)!;
      pluses.splice(i, 1);
      minuses.splice(j, 1);
      break;
    }
    if (pluses.length > 1 || minuses.length > 1) return fail();
    return { constant: wrap(constant), plus: pluses[0], minus: minuses[0] };
  }
}

function fail(): never {
  throw new WavewrightError('BAD_INPUT', 'expected an expression that a relocation can hold');
}

function negated({ constant, plus, minus }: RelocatableValue): RelocatableValue {
  if (plus?.variant !== undefined) return fail();
  return { constant: -constant, plus: minus && { symbol: minus, variant: undefined }, minus: plus?.symbol };
}

/** Between two places of one section. */
function distance(
  { symbol, variant }: NonNullable<RelocatableValue['plus']>,
  minus: AssembledSymbol,
): bigint | undefined {
  const [from, to] = [minus.definition, symbol.definition];
  if (symbol === minus && variant === undefined) return 0n;
  if (variant !== undefined || from?.kind !== 'label' || to?.kind !== 'label' || from.section !== to.section) {
    return undefined;
  }
  return BigInt(to.offset - from.offset);
}
