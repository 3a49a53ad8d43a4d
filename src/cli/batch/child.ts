/**
 * The process of a pool: a request is a line of JSON on standard input, a message one on standard output. It
 * ends with its input, so that it does not outlive the pool.
 */
import type { CaseMessage, CaseRequest } from './run-case.ts';

process.getBuiltinModule('node:module').enableCompileCache();

// What tools print must not come between the messages.
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;

const { runCase } = await import('./run-case.ts');
const send = (message: CaseMessage): boolean => write(`${JSON.stringify(message)}\n`);
send('ready');

const lines = process.getBuiltinModule('node:readline').createInterface({ input: process.stdin });
lines.on('line', async (line) => {
  const request: CaseRequest = JSON.parse(line);
  send('started');
  send(await runCase(request));
});
lines.on('close', () => process.exit());
