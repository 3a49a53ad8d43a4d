import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { completionScript, SHELLS } from './arguments/completion.ts';
import { COMMANDS } from './commands.ts';

/** What bash offers when the line has been typed so far. */
async function offered(line: string): Promise<string[]> {
  const script = `${await completionScript('bash', COMMANDS)}
    COMP_LINE="$1" COMP_POINT=\${#1}; _wavewright 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', line], {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  });
  assert.equal(stderr, '');
  return stdout.split('\n').filter((word) => word !== '');
}

const hasBash = spawnSync('bash', ['-c', 'true']).status === 0;

test('bash completes commands, options, choices and files', { skip: !hasBash && 'there is no bash' }, async () => {
  assert.deepEqual(await offered('wavewright rea'), ['readobj']);
  assert.deepEqual(await offered('wavewright run --blocks-'), ['--blocks-x=', '--blocks-y=', '--blocks-z=']);
  assert.deepEqual(await offered('wavewright dispatch --format=j'), ['json']);
  assert.deepEqual(await offered('wavewright run --stdin=completion.test'), ['completion.test.ts']);
  assert.ok((await offered('wavewright run completion.t')).includes('completion.test.ts'));
  assert.deepEqual(await offered('wavewright help ob'), ['objdump']);
  assert.deepEqual(await offered('wavewright completion f'), ['fish']);
});

test('every shell has every command and every option', async () => {
  for (const shell of SHELLS) {
    const script = await completionScript(shell, COMMANDS);
    for (const { name, load } of COMMANDS) {
      assert.match(script, new RegExp(`\\b${name}\\b`), `${shell} ${name}`);
      for (const option of Object.keys((await load()).options)) {
        assert.ok(script.includes(shell === 'fish' ? ` ${option}` : `-${option}`), `${shell} ${name} ${option}`);
      }
    }
  }
  await assert.rejects(completionScript('zhs', COMMANDS), {
    code: 'USAGE',
    message: "there is no completion for 'zhs'",
  });
});
