/** Programs in processes of their own: what ends a process costs one verdict. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { Case } from '../../fleet/case.ts';
import { runCommand } from '../run-command.test-support.ts';
import { CaseRunner } from './case-runner.ts';
import { isolated, wrapperOf } from './process-channel.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const HELLO = path.join(ROOT, 'examples/hello/hello.gfx90a.co');
const LOOPS = path.join(ROOT, 'examples/checks/infinite-loop.gfx90a.co');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-isolation-'));
after(() => rmSync(folder, { recursive: true }));

/** A tool is code that runs in the process of the program: here code that does it no good. */
function tool(name: string, text: string): string {
  const file = path.join(folder, `${name}.ts`);
  writeFileSync(file, text);
  return `--tool=${file}`;
}

const caseOf = (name: string, change: Partial<Case> = {}): Case => ({
  ...{ name, image: HELLO, options: [], args: [], env: {}, timeout: 60, retries: 0 },
  ...change,
});

const runnerWith = (options: Partial<ConstructorParameters<typeof CaseRunner>[0]> = {}) =>
  new CaseRunner({ ...isolated({ env: {} }), runOptions: ['--workers=1'], ...options });

test('a program that ends its process has a verdict, after a second try, and the rest goes on', {
  timeout: 300_000,
}, async () => {
  const once = path.join(folder, 'once');
  const lines = [
    { name: 'before' },
    { name: 'killed', run: [tool('kill', "process.kill(process.pid, 'SIGKILL');\n")] },
    { name: 'ends', run: [tool('exit', "console.log('bye');\nprocess.exit(7);\n")] },
    {
      name: 'killed once',
      run: [
        tool(
          'once',
          `if (!process.getBuiltinModule('node:fs').existsSync('${once}')) { process.getBuiltinModule('node:fs').writeFileSync('${once}', ''); process.exit(1); }\nexport const preset = 1;\n`,
        ),
      ],
    },
    { name: 'after', args: ['x'] },
  ].map((one) => JSON.stringify({ image: HELLO, ...one }));
  const [list, report] = ['cases.jsonl', 'report.jsonl'].map((each) => path.join(folder, each));
  writeFileSync(list!, lines.join('\n'));
  const { status, stdout } = await runCommand(
    ['test', '--jobs=1', '--isolation=process', `--report=${report}`, list!],
    process.env as Record<string, string>,
  );
  assert.equal(status, 1);
  assert.match(
    stdout,
    /^PASS {4}before .*\nCRASH {3}killed \(.*, 2 attempts\)\n {8}the process was ended by SIGKILL\n/,
  );
  assert.match(stdout, /^CRASH {3}ends .*\n {8}the process ended with 7\n {8}bye\n/m);
  assert.match(stdout, /^FAIL {4}killed once \(.*, 2 attempts, status \d\)\n/m);
  assert.match(stdout, /^PASS {4}after .*\n2 passed, 1 failed, 2 crashed of 5 programs/m);
  assert.equal(readFileSync(report!, 'utf8').match(/"o":"crashed","ms":\d+,"n":2,/g)?.length, 2);
});

test('a child keeps what it has from case to case, is renewed, and sees no environment', {
  timeout: 300_000,
}, async () => {
  const text = "throw new Error(['child', process.pid, ...Object.keys(process.env), 'end'].join(':'));\n";
  const pids = tool('pid', text);
  using runner = runnerWith({ maxCases: 2 });
  const seen: string[] = [];
  for (let i = 0; i < 4; i++) {
    const { stderr } = await runner.run(caseOf('pid', { options: [pids] }));
    seen.push(/child:\d+:end/.exec(stderr)?.[0] ?? assert.fail(stderr));
  }
  assert.equal(new Set(seen).size, 2, seen.join('\n'));
  assert.deepEqual(seen[0], seen[1]);
  assert.equal(seen[2], seen[3]);
});

test('a child is ended by its limit on the wall, and by a signal', { timeout: 300_000 }, async () => {
  using runner = runnerWith({ wallLimitMs: () => 500 });
  const endless = caseOf('loops', { image: LOOPS });
  const { outcome, status, stderr, attempts } = await runner.run(endless);
  assert.deepEqual(
    [outcome, status, attempts, stderr],
    ['timed-out', undefined, 1, 'the test did not stop at its time limit'],
  );
  using patient = runnerWith();
  const controller = new AbortController();
  const running = patient.run(endless, controller.signal);
  setTimeout(() => controller.abort(new Error('cancelled')), 1500);
  await assert.rejects(running, /cancelled/);
  assert.equal((await patient.run(caseOf('good'))).outcome, 'passed');
});

test('what starts no child is an error, and no verdict', { timeout: 300_000 }, async () => {
  assert.throws(() => wrapperOf('no-such-command -x', process.env['PATH']), /there is no command 'no-such-command'/);
  assert.deepEqual(wrapperOf('env A=b', path.dirname('/usr/bin/env'))?.slice(1), ['A=b']);
  const wrapped = (wrapper: readonly string[]) => runnerWith(isolated({ env: {}, wrapper }));
  using broken = wrapped(wrapperOf('false', process.env['PATH']));
  await assert.rejects(broken.run(caseOf('good')), {
    code: 'IO',
    message: /programs cannot be run: the process ended with 1/,
  });
  using talking = wrapped(wrapperOf('echo hello', process.env['PATH']));
  await assert.rejects(talking.run(caseOf('good')), /answers with what is no answer/);
  using good = wrapped(wrapperOf('env A=b', process.env['PATH']));
  assert.equal((await good.run(caseOf('good'))).outcome, 'passed');
});

test('Linux ends a child before the pool when memory is short, and it ends with the pool', {
  skip: process.platform !== 'linux',
  timeout: 300_000,
}, () => {
  const script = `
    import { isolated } from ${JSON.stringify(path.join(ROOT, 'src/cli/batch/process-channel.ts'))};
    const { readdirSync, readFileSync } = process.getBuiltinModule('node:fs');
    const listener = { onMessage: () => {
      const pid = readdirSync('/proc').find((each) => /^\\d+$/.test(each) && parentOf(each) === process.pid);
      console.log(pid, readFileSync('/proc/' + pid + '/oom_score_adj', 'utf8').trim());
      process.kill(process.pid, 'SIGKILL');
    }, onEnd: console.log };
    function parentOf(pid) {
      try { return Number(readFileSync('/proc/' + pid + '/stat', 'utf8').split(') ')[1].split(' ')[1]); } catch { return 0; }
    }
    isolated({ env: {} }).open(listener);
  `;
  const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  assert.equal(signal, 'SIGKILL');
  const [, pid, score] = /^(\d+) (\d+)\n$/.exec(stdout) ?? assert.fail(stdout);
  assert.equal(score, '1000');
  const isAlive = () => spawnSync('kill', ['-0', pid!]).status === 0;
  for (let i = 0; i < 100 && isAlive(); i++) spawnSync('sleep', ['0.1']);
  assert.equal(isAlive(), false);
});
