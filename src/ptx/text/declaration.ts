/** Declarations: variables, parameters, registers, initialisers. PTX ISA chapter 5 and 11. */
import { LIMITS } from '../../base/limits.ts';
import { constantAt, integerExpression, integerTerm } from './constant.ts';
import type { Initializer, PtxDirective, RegisterDeclaration, Variable } from './syntax.ts';
import type { TokenStream } from './token.ts';

export const SPACES: ReadonlySet<string> = new Set([
  ...['.global', '.const', '.shared', '.shared::cta', '.shared::cluster', '.local', '.param', '.tex', '.sreg'],
]);
export const LINKAGE: ReadonlySet<string> = new Set(['.extern', '.visible', '.weak', '.common']);
const VECTORS: ReadonlySet<string> = new Set(['.v2', '.v4', '.v8']);
/** Fundamental types, and those of textures: PTX ISA 5.2, 5.3. */
export const TYPES: ReadonlySet<string> = new Set([
  ...['.b8', '.b16', '.b32', '.b64', '.b128', '.u8', '.u16', '.u32', '.u64', '.s8', '.s16', '.s32', '.s64'],
  ...['.f16', '.f16x2', '.bf16', '.bf16x2', '.f32', '.f64', '.pred', '.e4m3', '.e5m2', '.tf32'],
  ...['.texref', '.samplerref', '.surfref', '.opaque'],
]);

const MAX_ALIGNMENT_BYTES = 2 ** 16;
const MAX_ELEMENTS = 2 ** 32;

/** A small number that is not negative. */
function countAt(tokens: TokenStream, what: string, max: number, read = integerExpression): number {
  const { offset } = tokens.peek();
  const { value } = read(tokens);
  if (value < 0n || value > BigInt(max)) tokens.fail(`${value} ${what}, expected 0 to ${max}`, offset);
  return Number(value);
}

function alignmentAt(tokens: TokenStream): number {
  const { offset } = tokens.peek();
  const value = countAt(tokens, 'bytes of alignment', MAX_ALIGNMENT_BYTES);
  if (value === 0 || (value & (value - 1)) !== 0)
    tokens.fail(`an alignment of ${value} bytes, no power of two`, offset);
  return value;
}

/** `.attribute(.managed, .unified(1, 2))`: the words between the outer parentheses. */
export function attributesAt(tokens: TokenStream): string[] {
  const words: string[] = [];
  while (tokens.take('.attribute')) {
    tokens.expect('(', 'behind .attribute');
    for (let depth = 1; depth > 0; ) {
      const token = tokens.next();
      if (token.kind === 'end') tokens.fail("expected ')'");
      if (token.text === '(') depth++;
      if (token.text === ')') depth--;
      if (depth > 0) words.push(token.text);
    }
  }
  return words;
}

/** The part of a declaration between the state space and the name. */
type Shape = Pick<Variable, 'alignmentBytes' | 'vector' | 'type' | 'pointer' | 'attributes'>;

function shapeAt(tokens: TokenStream): Shape {
  let alignmentBytes: number | undefined;
  let vector: string | undefined;
  let type: string | undefined;
  let pointer: Variable['pointer'];
  const attributes: string[] = [];
  for (;;) {
    attributes.push(...attributesAt(tokens));
    const { kind, text } = tokens.peek();
    if (kind !== 'dotted') break;
    if (text === '.align') {
      tokens.next();
      alignmentBytes = alignmentAt(tokens);
    } else if (VECTORS.has(text)) vector = tokens.next().text;
    else if (text === '.ptr') {
      tokens.next();
      const space = SPACES.has(tokens.peek().text) ? tokens.next().text : undefined;
      pointer = { space, alignmentBytes: tokens.take('.align') ? alignmentAt(tokens) : undefined };
    } else if (TYPES.has(text) && type === undefined) type = tokens.next().text;
    else tokens.fail(`unexpected '${text}' in a declaration`);
  }
  return { alignmentBytes, vector, type: type ?? tokens.fail('expected a type'), pointer, attributes };
}

function dimensionsAt(tokens: TokenStream): number[] {
  const dimensions: number[] = [];
  while (tokens.take('[')) {
    const isOpen = tokens.peek().text === ']';
    dimensions.push(isOpen ? 0 : countAt(tokens, 'elements', MAX_ELEMENTS));
    tokens.expect(']', 'behind a dimension');
  }
  return dimensions;
}

function initializerAt(tokens: TokenStream, depth = 0): Initializer {
  if (depth > LIMITS.ptxDepth) tokens.fail(`a list of more levels than the limit ptxDepth = ${LIMITS.ptxDepth}`);
  if (tokens.take('{')) {
    const elements: Initializer[] = [];
    if (tokens.take('}')) return { kind: 'list', elements };
    do elements.push(initializerAt(tokens, depth + 1));
    while (tokens.take(','));
    tokens.expect('}', 'behind an initialiser');
    return { kind: 'list', elements };
  }
  const { kind, text } = tokens.peek();
  if (kind === 'word' && text !== 'WARP_SZ') return addressAt(tokens, undefined);
  const constant = constantAt(tokens);
  const isMask = constant.kind === 'integer' && tokens.take('(');
  if (!isMask) return { kind: 'constant', constant };
  const address = addressAt(tokens, constant.value);
  tokens.expect(')', 'behind a masked address');
  return address;
}

/** `name`, `name + 4`, `generic(name) + 4`. */
function addressAt(tokens: TokenStream, mask: bigint | undefined): Initializer {
  const { offset } = tokens.peek();
  const isGeneric = tokens.peek().text === 'generic' && tokens.peekSecond().text === '(';
  if (isGeneric) {
    tokens.next();
    tokens.next();
  }
  const { text: name } = tokens.expectKind('word', 'the name of a variable');
  let addend = isGeneric ? 0n : addendAt(tokens);
  if (isGeneric) {
    addend = addendAt(tokens);
    tokens.expect(')', 'behind generic');
    addend += addendAt(tokens);
  }
  return { kind: 'address', name, addend, isGeneric, mask, offset };
}

function addendAt(tokens: TokenStream): bigint {
  const { text } = tokens.peek();
  if (text !== '+' && text !== '-') return 0n;
  tokens.next();
  const { value } = integerExpression(tokens);
  return text === '-' ? -value : value;
}

/** A parameter of a function, without what ends it. */
export function parameterAt(tokens: TokenStream): Variable {
  const { text: space, offset } = tokens.expectKind('dotted', '.param or .reg');
  if (space !== '.param' && space !== '.reg') tokens.fail(`expected .param or .reg, found '${space}'`, offset);
  const shape = shapeAt(tokens);
  const { text: name } = tokens.expectKind('word', 'the name of a parameter');
  const dimensions = dimensionsAt(tokens);
  return { kind: 'variable', linkage: undefined, space, ...shape, name, dimensions, initializer: undefined, offset };
}

/** `(.param .b32 a, .param .b64 b)`; nothing where no parenthesis is. */
export function parametersAt(tokens: TokenStream): Variable[] {
  const found: Variable[] = [];
  if (!tokens.take('(') || tokens.take(')')) return found;
  do found.push(parameterAt(tokens));
  while (tokens.take(','));
  tokens.expect(')', 'behind parameters');
  return found;
}

/** Variables of one declaration, which may name several; the state space is the next word. */
export function variablesAt(tokens: TokenStream, linkage: string | undefined): Variable[] {
  const { text: space, offset } = tokens.next();
  const shape = shapeAt(tokens);
  const found: Variable[] = [];
  do {
    const { text: name } = tokens.expectKind('word', 'the name of a variable');
    if (tokens.take('<')) {
      const count = countAt(tokens, 'variables', LIMITS.ptxRange, integerTerm);
      tokens.expect('>', 'behind the size of a range');
      for (let i = 0; i < count; i++) {
        const one = { ...shape, name: `${name}${i}`, dimensions: [], initializer: undefined, offset };
        found.push({ kind: 'variable', linkage, space, ...one });
      }
      continue;
    }
    const dimensions = dimensionsAt(tokens);
    const initializer = tokens.take('=') ? initializerAt(tokens) : undefined;
    found.push({ kind: 'variable', linkage, space, ...shape, name, dimensions, initializer, offset });
  } while (tokens.take(','));
  tokens.expect(';', 'behind a declaration');
  return found;
}

/** `.reg .b32 %r<5>, x;` */
export function registersAt(tokens: TokenStream): RegisterDeclaration {
  const { offset } = tokens.next();
  const { type, vector } = shapeAt(tokens);
  const names: { name: string; count: number | undefined }[] = [];
  do {
    const { text: name } = tokens.expectKind('word', 'the name of a register');
    const isRange = tokens.take('<') !== undefined;
    names.push({ name, count: isRange ? countAt(tokens, 'registers', LIMITS.ptxRange, integerTerm) : undefined });
    if (isRange) tokens.expect('>', 'behind the size of a range');
  } while (tokens.take(','));
  tokens.expect(';', 'behind a declaration');
  return { kind: 'registers', type, vector, names, offset };
}

/** `.maxntid 1, 2, 3`, `.noreturn`, `.pragma "x"`: a directive, and numbers and strings behind it. */
export function directiveAt(tokens: TokenStream): PtxDirective {
  const { text: name, offset } = tokens.next();
  const words: string[] = [];
  while (tokens.peek().kind === 'integer' || tokens.peek().kind === 'string') {
    words.push(tokens.next().text);
    tokens.take(',');
  }
  return { kind: 'directive', name, words, offset };
}
