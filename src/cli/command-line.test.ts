import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_CODES, WavewrightError } from '../base/errors.ts';
import { type CommandRow, defineCommand } from './arguments/command.ts';
import { runCommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';

const LOUD = defineCommand({
  operands: { usage: 'WORD', min: 1, max: 1 },
  options: {
    times: { kind: 'integer', placeholder: 'N', min: 1, max: 9, default: 1, description: 'how often' },
    sink: { kind: 'text', placeholder: 'PLACE', description: `${'a long description '.repeat(8)}end` },
  },
  formats: { text: 'for people' },
  notes: ['A note.'],
  async run(context, options, operands) {
    const [word = ''] = operands;
    if (word === 'fault') {
      throw new WavewrightError('BAD_INPUT', 'found 1\n  at 2\u001b[2J', {
        file: 'a.co',
        section: '.text',
        offset: 16,
      });
    }
    if (word === 'hint') throw new WavewrightError('NO_DEVICE', 'no device', { hint: 'buy one' });
    if (word === 'defect') throw new TypeError('x is not a function');
    if (word === 'odd') throw new WavewrightError('INTERNAL', 'cannot be');
    context.stdout(word.toUpperCase().repeat(options.times));
    return 7;
  },
});

const ROWS: readonly CommandRow[] = [
  { name: 'loud', summary: 'say a word loudly', load: async () => LOUD },
  {
    name: 'broken',
    summary: 'cannot be loaded',
    load: async () => {
      throw new Error('no such module');
    },
  },
];

async function wavewright(rows: readonly CommandRow[], ...argv: string[]) {
  return await withEnvironment({}, rows, ...argv);
}

async function withEnvironment(env: Record<string, string>, rows: readonly CommandRow[], ...argv: string[]) {
  let stdout = '';
  let stderr = '';
  const status = await runCommandLine(rows, argv, {
    stdout: (data) => {
      stdout += data;
    },
    stderr: (data) => {
      stderr += data;
    },
    env,
  });
  return { status, stdout, stderr };
}

test('a command gets its options and operands, and its status is the exit status', async () => {
  assert.deepEqual(await wavewright(ROWS, 'loud', '--times=2', 'ab'), { status: 7, stdout: 'ABAB', stderr: '' });
});

test('the overview loads no command and shows every one and every exit status', async () => {
  const { status, stdout, stderr } = await wavewright(ROWS, '--help');
  assert.equal(status, 0);
  assert.equal(stderr, '');
  assert.match(stdout, /^ {2}loud +say a word loudly$/m);
  assert.match(stdout, /^ {2}broken +cannot be loaded$/m);
  for (const { exit } of Object.values(ERROR_CODES)) assert.match(stdout, new RegExp(`^ +${exit} `, 'm'));
  assert.match(stdout, /^ +130 +interrupted$/m);
  assert.equal((await wavewright(ROWS, 'help')).stdout, stdout);
  assert.equal((await wavewright(ROWS, '-h')).stdout, stdout);
});

test('without a command the overview is an error', async () => {
  const { status, stdout, stderr } = await wavewright(ROWS);
  assert.equal(status, 2);
  assert.equal(stdout, '');
  assert.match(stderr, /usage: wavewright/);
});

test('help for a command, in both spellings', async () => {
  const help = await wavewright(ROWS, 'help', 'loud');
  assert.deepEqual(await wavewright(ROWS, 'loud', '--help'), help);
  assert.equal(help.status, 0);
  const expected = `usage: wavewright loud [OPTIONS] WORD

Say a word loudly.

options:
  --times=N                 how often (default: 1)
  --sink=PLACE              a long description a long description a long description a long
                            description a long description a long description a long description a
                            long description end
  --quiet                   no warnings
  --help, -h                this text

formats:
  text                      for people

A note.
`;
  assert.equal(help.stdout, expected);
});

test('the version is the package version', async () => {
  for (const spelling of ['--version', '-V'])
    assert.match((await wavewright(ROWS, spelling)).stdout, /^wavewright \d+\.\d+\.\d+\n$/);
});

test('usage errors', async () => {
  const cases: [string[], RegExp][] = [
    [['lod'], /^wavewright: error: unknown command 'lod' \[USAGE\]\nhint: did you mean 'loud'\?\n$/],
    [
      ['zzzzzz'],
      /^wavewright: error: unknown command 'zzzzzz' \[USAGE\]\nhint: `wavewright --help` lists the commands\n$/,
    ],
    [['--verison'], /^wavewright: error: unknown option '--verison' \[USAGE\]\nhint: did you mean '--version'\?\n$/],
    [['help', 'lod'], /unknown command 'lod'/],
    [['loud', '--tmies=2', 'x'], /unknown option '--tmies' for loud \[USAGE\]\nhint: did you mean '--times'/],
  ];
  for (const [argv, message] of cases) {
    const { status, stdout, stderr } = await wavewright(ROWS, ...argv);
    assert.equal(status, 2);
    assert.equal(stdout, '');
    assert.match(stderr, message);
  }
});

test('errors say where and what, with their code, their hint and their exit status', async () => {
  const fault = await wavewright(ROWS, 'loud', 'fault');
  assert.equal(fault.status, 3);
  assert.equal(
    fault.stderr,
    'wavewright: error: a.co: .text at 0x10: found 1 [BAD_INPUT]\n  at 2\\x1b[2J\n',
    'control characters from input are escaped',
  );
  const hint = await wavewright(ROWS, 'loud', 'hint');
  assert.deepEqual([hint.status, hint.stderr], [5, 'wavewright: error: no device [NO_DEVICE]\nhint: buy one\n']);
});

test('anything else is a defect: status 70, no stack trace unless asked for', async () => {
  for (const [argv, what] of [
    [['loud', 'defect'], 'TypeError: x is not a function'],
    [['loud', 'odd'], 'cannot be'],
    [['broken'], 'Error: no such module'],
  ] as const) {
    const { status, stderr } = await wavewright(ROWS, ...argv);
    assert.equal(status, 70);
    const hint = 'this is a defect of Wavewright; WAVEWRIGHT_DEBUG=1 shows where it happened';
    assert.equal(stderr, `wavewright: error: ${what} [INTERNAL]\nhint: ${hint}\n`);
    const debug = await withEnvironment({ WAVEWRIGHT_DEBUG: '1' }, ROWS, ...argv);
    assert.match(debug.stderr, /\n {4}at /);
  }
});

test('every real command can be loaded and described', async () => {
  assert.equal(new Set(COMMANDS.map(({ name }) => name)).size, COMMANDS.length);
  for (const { name } of COMMANDS) {
    const { status, stdout } = await wavewright(COMMANDS, 'help', name);
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`^usage: wavewright ${name} `));
  }
});
