import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../base/errors.ts';
import { type Grammar, type OptionTable, parseArguments } from './options.ts';

const OPTIONS = {
  'blocks-x': { kind: 'integer', placeholder: 'N', min: 1, max: 100, default: 1, aliases: ['blocks'], description: '' },
  device: { kind: 'text', placeholder: 'DEVICE', description: '' },
  timeout: { kind: 'seconds', placeholder: 'SECONDS', max: 1000, description: '' },
  format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: '' },
  verbose: { kind: 'flag', description: '' },
} as const satisfies OptionTable;

const tool = { name: 'tool', operands: { usage: 'FILE...', min: 1, max: 3 }, options: OPTIONS } as const;
const runner = {
  name: 'runner',
  operands: { usage: 'IMAGE [ARGUMENT...]', min: 1, max: Number.POSITIVE_INFINITY, firstEndsOptions: true },
  options: OPTIONS,
  singleDash: true,
} as const;

function parse(grammar: Grammar<typeof OPTIONS>, ...argv: string[]) {
  const parsed = parseArguments(grammar, argv);
  assert.ok(!parsed.help, 'asked for help');
  return parsed;
}

function refused(grammar: Grammar<typeof OPTIONS>, argv: string[], what: RegExp, hint = /wavewright help/): void {
  assert.throws(
    () => parseArguments(grammar, argv),
    (error: unknown) => {
      assert.ok(error instanceof WavewrightError);
      assert.equal(error.code, 'USAGE');
      assert.match(error.what, what);
      assert.match(error.context.hint ?? '', hint);
      return true;
    },
  );
}

test('defaults, flags and both spellings of a value', () => {
  const none = parse(tool, 'a');
  assert.deepEqual(none.options, {
    'blocks-x': 1,
    device: undefined,
    timeout: undefined,
    format: 'text',
    verbose: false,
  });
  const all = parse(
    tool,
    '--blocks-x',
    '7',
    'a',
    '--device=emulated:gfx90a',
    '--timeout=.5',
    '--verbose',
    '--format',
    'json',
  );
  assert.deepEqual(all, {
    help: false,
    options: { 'blocks-x': 7, device: 'emulated:gfx90a', timeout: 0.5, format: 'json', verbose: true },
    operands: ['a'],
  });
});

test('aliases; the last of a repeated option counts; values may hold = and be empty', () => {
  assert.equal(parse(tool, '--blocks=2', '--blocks-x=3', 'a').options['blocks-x'], 3);
  assert.equal(parse(tool, '--device=a=b', 'a').options.device, 'a=b');
  assert.equal(parse(tool, '--device=', 'a').options.device, '');
});

test('-- ends the options, - is an operand', () => {
  assert.deepEqual(parse(tool, '--', '--verbose', '--').operands, ['--verbose', '--']);
  assert.deepEqual(parse(tool, '-', '--verbose').operands, ['-']);
});

test('after the image everything belongs to the program', () => {
  const parsed = parse(runner, '--blocks', '2', 'image.co', '--blocks', '3', '--help', '--', '-x');
  assert.equal(parsed.options['blocks-x'], 2);
  assert.deepEqual(parsed.operands, ['image.co', '--blocks', '3', '--help', '--', '-x']);
  assert.deepEqual(parse(runner, '--', '--odd.co', '--', 'x').operands, ['--odd.co', '--', 'x']);
});

test('one dash is enough for a command that stands in for an LLVM tool, and only there', () => {
  assert.equal(parse(runner, '-blocks', '4', 'a').options['blocks-x'], 4);
  assert.equal(parse(runner, '-timeout=2', 'a').options.timeout, 2);
  assert.equal(parseArguments(runner, ['-help']).help, true);
  refused(tool, ['-verbose', 'a'], /unknown option '-verbose'/, /did you mean '--verbose'/);
});

test('--quiet is an option of every command; neither it nor help takes a value', () => {
  const parsed = parseArguments(tool, ['--quiet', 'a']);
  assert.equal(!parsed.help && parsed.quiet, true);
  refused(tool, ['--help=1', 'a'], /--help takes no value, but '1' was given/);
  refused(tool, ['--quiet=', 'a'], /--quiet takes no value, but '' was given/);
});

test('an option of ours behind the image is noticed, one behind -- is meant', () => {
  for (const [argv, misplaced] of [
    [['a.co', 'word', '--blocks=2'], '--blocks=2'],
    [['a.co', '-timeout', '2'], '-timeout'],
    [['a.co', '--other', '--', '--blocks=2'], undefined],
    [['--', 'a.co', '--blocks=2'], undefined],
  ] as const) {
    const parsed = parseArguments(runner, argv);
    assert.equal(!parsed.help && parsed.misplaced, misplaced);
  }
});

test('help wins, also over errors that come later', () => {
  assert.equal(parseArguments(tool, ['--help']).help, true);
  assert.equal(parseArguments(tool, ['a', '-h', '--nonsense']).help, true);
});

test('what is refused, and what is said', () => {
  refused(tool, ['--blokcs=2', 'a'], /unknown option '--blokcs' for tool/, /did you mean '--blocks'\?/);
  refused(tool, ['--zzz', 'a'], /unknown option '--zzz'/);
  refused(tool, ['-z', 'a'], /unknown option '-z'/);
  refused(tool, ['a', '--device'], /--device needs a value: --device=DEVICE/);
  refused(tool, ['--verbose=1', 'a'], /--verbose takes no value, but '1'/);
  for (const text of ['', '0', '101', '-1', '1.5', '0x2', '1e1', ' 1', '99999999999999999999']) {
    refused(tool, [`--blocks-x=${text}`, 'a'], /--blocks-x takes an integer from 1 to 100/);
  }
  for (const text of ['', '0', '0.0', '-1', '1001', 'Infinity', 'NaN', '1e2', '.']) {
    refused(tool, [`--timeout=${text}`, 'a'], /--timeout takes a number of seconds above 0, at most 1000/);
  }
  refused(tool, ['--format=jsno', 'a'], /--format takes text or json, not 'jsno'/, /did you mean 'json'/);
  refused(tool, [], /missing argument, expected `wavewright tool \[OPTIONS\] FILE\.\.\.`/);
  refused(tool, ['a', 'b', 'c', 'd'], /unexpected argument 'd'/);
});

test('any arguments either parse or are a usage error', () => {
  const word = fc.oneof(
    fc.constantFrom('--', '-', '--blocks', '--blocks=1', '--verbose', '--timeout', '-device', '=', '--=', '-=', 'x'),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(word), fc.constantFrom(tool, runner), (argv, grammar) => {
      try {
        parseArguments(grammar, argv);
      } catch (error) {
        if (!(error instanceof WavewrightError && error.code === 'USAGE')) throw error;
      }
    }),
    { numRuns: 2000 },
  );
});
