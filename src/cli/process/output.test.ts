import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

const OUTPUT = JSON.stringify(new URL('./output.ts', import.meta.url).href);

function start(body: string) {
  const program = `import { writeAll } from ${OUTPUT};\n${body}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'pipe' });
  let stderr = '';
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  return { child, end: once(child, 'close').then(([status]) => ({ status, stderr })) };
}

test('when the reader has gone away, the process ends quietly with status 141', async () => {
  const { child, end } = start(
    "for await (const _ of process.stdin);\nwriteAll(1, 'x', 'a');\nwriteAll(2, 'still here', 'b');",
  );
  child.stdout.destroy();
  await once(child.stdout, 'close');
  child.stdin.end();
  assert.deepEqual(await end, { status: 141, stderr: '' });
});

test('bytes and text arrive whole through a pipe that is smaller and read slowly', async () => {
  const { child, end } = start("writeAll(1, 'größe\\n', 'a');\nwriteAll(1, new Uint8Array(300_000).fill(120), 'a');");
  await new Promise((resolve) => setTimeout(resolve, 50));
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk;
  assert.deepEqual(await end, { status: 0, stderr: '' });
  assert.equal(text, `größe\n${'x'.repeat(300_000)}`);
});
