/**
 * Which definition the uses of a name mean, over bindings and visibilities of relocatable objects and of what
 * a linker made.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { linkCodeObject } from '../../linker/link.ts';
import { HsaError } from '../objects/status.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { CodeObjectReader } from './loaded-code-object.ts';

const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 });

type Binding = 'weak' | 'globl';
type Visibility = 'default' | 'protected' | 'hidden';
type Kind = 'o' | 'co';

interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly isModule?: boolean;
}

const seeing = (name: string, visibility: Visibility) => (visibility === 'default' ? '' : `.${visibility} ${name}\n`);
const symbol = (name: string, text: string, binding: Binding = 'globl', visibility: Visibility = 'default') =>
  `.data\n.p2align 3\n.${binding} ${name}\n${seeing(name, visibility)}.type ${name},@object\n${name}: ${text}\n.size ${name}, 8\n`;
/** `use_NAME` holds the address that `x` has for this file. */
const use = (name: string): string => symbol(`use_${name}`, '.quad x');

function part(name: string, kind: Kind, source: string): Part {
  const object = { name: `${name}.${kind}`, bytes: assembleFile(source, { processor: 'gfx90a', file: name }) };
  return kind === 'o' ? object : { name: object.name, bytes: linkCodeObject([object]) };
}

function load(...parts: readonly Part[]) {
  const runtime = createRuntime({ devices: [device] });
  const executable = runtime.createExecutable();
  for (const { bytes, name, isModule = false } of parts) {
    executable.loadCodeObject(runtime.gpuAgents[0]!, new CodeObjectReader(bytes, name), { isModule });
  }
  executable.freeze();
  const quad = (address: bigint): bigint => {
    const bytes = runtime.view(address, 8);
    return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  };
  /** The value of `x` as the file sees it. */
  const seenBy = (name: string): number => Number(quad(quad(executable.getSymbol(`use_${name}`).address)));
  return { executable, seenBy };
}

const refused =
  (status: string, message: RegExp, hint = /./) =>
  (error: unknown) => {
    assert.ok(error instanceof HsaError, String(error));
    assert.equal(error.status, status);
    assert.match(error.message, message);
    assert.match(error.context.hint ?? '', hint);
    return true;
  };

/** Of a and b, loaded in this order: x of each, and what the files see of it. */
const CASES: readonly [a: [Kind, Binding, Visibility], b: [Kind, Binding, Visibility], seen: [number, number]][] = [
  // Relocatable objects are one, whatever the visibility.
  [
    ['o', 'weak', 'default'],
    ['o', 'weak', 'default'],
    [1, 1],
  ],
  [
    ['o', 'weak', 'protected'],
    ['o', 'weak', 'protected'],
    [1, 1],
  ],
  [
    ['o', 'weak', 'hidden'],
    ['o', 'weak', 'hidden'],
    [1, 1],
  ],
  [
    ['o', 'weak', 'hidden'],
    ['o', 'weak', 'default'],
    [1, 1],
  ],
  [
    ['o', 'weak', 'default'],
    ['o', 'globl', 'default'],
    [2, 2],
  ],
  [
    ['o', 'globl', 'default'],
    ['o', 'weak', 'default'],
    [1, 1],
  ],
  [
    ['o', 'weak', 'hidden'],
    ['o', 'globl', 'hidden'],
    [2, 2],
  ],
  [
    ['o', 'weak', 'protected'],
    ['o', 'globl', 'default'],
    [2, 2],
  ],
  // What a linker made shares what it exports and left open.
  [
    ['co', 'weak', 'default'],
    ['co', 'weak', 'default'],
    [1, 1],
  ],
  [
    ['co', 'weak', 'default'],
    ['co', 'globl', 'default'],
    [2, 2],
  ],
  [
    ['co', 'globl', 'default'],
    ['co', 'weak', 'default'],
    [1, 1],
  ],
  [
    ['co', 'weak', 'protected'],
    ['co', 'globl', 'default'],
    [1, 2],
  ],
  [
    ['co', 'weak', 'default'],
    ['co', 'globl', 'protected'],
    [2, 2],
  ],
  [
    ['co', 'weak', 'default'],
    ['co', 'weak', 'protected'],
    [1, 2],
  ],
  [
    ['co', 'weak', 'hidden'],
    ['co', 'globl', 'default'],
    [1, 2],
  ],
  [
    ['co', 'globl', 'hidden'],
    ['co', 'globl', 'default'],
    [1, 2],
  ],
  [
    ['co', 'globl', 'hidden'],
    ['co', 'globl', 'hidden'],
    [1, 2],
  ],
  // Both.
  [
    ['o', 'weak', 'default'],
    ['co', 'globl', 'default'],
    [2, 2],
  ],
  [
    ['o', 'weak', 'protected'],
    ['co', 'globl', 'default'],
    [1, 2],
  ],
  [
    ['o', 'weak', 'hidden'],
    ['co', 'globl', 'default'],
    [1, 2],
  ],
  [
    ['o', 'globl', 'hidden'],
    ['co', 'globl', 'default'],
    [1, 2],
  ],
  [
    ['co', 'weak', 'default'],
    ['o', 'weak', 'hidden'],
    [1, 2],
  ],
  [
    ['co', 'weak', 'default'],
    ['o', 'weak', 'default'],
    [1, 1],
  ],
];

for (const [a, b, seen] of CASES) {
  test(`x: ${a[1]} ${a[2]} in a.${a[0]}, ${b[1]} ${b[2]} in b.${b[0]}`, () => {
    const [first, second] = [a, b].map(([kind, binding, visibility], i) => {
      const name = 'ab'[i]!;
      return part(name, kind, `${symbol('x', `.quad ${i + 1}`, binding, visibility)}${use(name)}`);
    });
    const { seenBy } = load(first!, second!);
    assert.deepEqual([seenBy('a'), seenBy('b')], seen);
  });
}

test('the strictest visibility that a relocatable object gives a name counts for all of them', () => {
  const strong = part('lib', 'co', symbol('x', '.quad 9') + use('lib'));
  const weak = part('a', 'o', symbol('x', '.quad 1', 'weak') + use('a'));
  assert.equal(load(weak, strong).seenBy('a'), 9);
  const mention = part('b', 'o', `.hidden x\n${use('b')}`);
  const { executable, seenBy } = load(weak, strong, mention);
  assert.deepEqual(['a', 'b', 'lib'].map(seenBy), [1, 1, 9]);
  assert.equal(executable.getSymbol('x').codeObject.name, 'lib.co');
});

test('of common symbols the largest counts, before weak and after strong definitions', () => {
  const common = (name: string, sizeBytes: number) =>
    part(name, 'o', `.comm x, ${sizeBytes}, 8\n.type x,@object\n${use(name)}`);
  const { executable, seenBy } = load(common('a', 8), common('b', 32), part('c', 'o', symbol('x', '.quad 5', 'weak')));
  assert.deepEqual(['a', 'b'].map(seenBy), [0, 0]);
  assert.deepEqual([executable.getSymbol('x').sizeBytes, executable.getSymbol('x').codeObject.name], [32, 'b.o']);
  const strong = load(common('a', 8), part('c', 'o', symbol('x', '.quad 5') + use('c')));
  assert.deepEqual(['a', 'c'].map(strong.seenBy), [5, 5]);
});

test('two strong definitions that meet are refused, also when both are hidden in relocatable objects', () => {
  for (const visibility of ['default', 'hidden'] as const) {
    const parts = ['a', 'b'].map((name) => part(name, 'o', symbol('x', '.quad 1', 'globl', visibility)));
    assert.throws(() => load(...parts), refused('VARIABLE_ALREADY_DEFINED', /b\.o: symbol 'x'/, /^/));
  }
});

test('what is hidden in a file is named when another one lacks it', () => {
  const user = part('user', 'co', use('user'));
  const library = part('library', 'co', symbol('x', '.quad 1', 'globl', 'hidden') + symbol('seen', '.quad 2'));
  const hint = /'x' is hidden in library\.co: compile that with -fvisibility=default/;
  assert.throws(() => load(user, library), refused('VARIABLE_UNDEFINED', /user\.co: undefined symbol 'x'/, hint));
});

test('modules may define the same; each means its own, others find the first, or what is there besides', () => {
  const module = (name: string, value: number) => ({
    ...part(name, 'co', symbol('x', `.quad ${value}`) + use(name)),
    isModule: true,
  });
  const user = part('user', 'o', use('user'));
  const { executable, seenBy } = load(module('a', 1), module('b', 2), user);
  assert.deepEqual(['a', 'b', 'user'].map(seenBy), [1, 2, 1]);
  assert.equal(executable.getSymbol('x').codeObject.name, 'a.co');
  const withStrong = load(module('a', 1), user, part('c', 'co', symbol('x', '.quad 3')));
  assert.deepEqual(['a', 'user'].map(withStrong.seenBy), [1, 3]);
});
