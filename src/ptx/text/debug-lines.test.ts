/** Which lines of a compiler's source instructions come from. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DebugLines } from './debug-lines.ts';
import { parsePtx } from './parser.ts';

const TEXT = `.version 7.8
.target sm_70
.address_size 64
.func before()
{
  .loc 2 3 0
  mov.u32 first, 1;
  ret;
}
.entry k()
{
  mov.u32 second, 2;
  .loc 1 10 3
  mov.u32 third, 3;
  {
    .loc 2 20 7, function_name $name, inlined_at 1 11 5
    mov.u32 fourth, 4;
  }
  mov.u32 fifth, 5;
  .loc 1 0 0
  mov.u32 sixth, 6;
  .loc 9 1 1
  ret;
}
.file 1 "/source/kernel.c"
.file 2 "inline.h", 123, 456
`;

test('an instruction comes from the line that was named last in its function', () => {
  const lines = new DebugLines(parsePtx(TEXT, 'k.ptx'));
  const at = (instruction: string): string | undefined => {
    const line = lines.at(TEXT.indexOf(instruction));
    return line && `${line.file}:${line.line}:${line.column}`;
  };
  assert.deepEqual(['mov.u32 first', 'mov.u32 third', 'mov.u32 fourth', 'mov.u32 fifth'].map(at), [
    'inline.h:3:0',
    '/source/kernel.c:10:3',
    'inline.h:20:7',
    'inline.h:20:7',
  ]);
  // Before the first of its function, of no line, and of no file that is named.
  assert.deepEqual(['.version', 'mov.u32 second', 'mov.u32 sixth'].map(at), [undefined, undefined, undefined]);
  assert.equal(lines.at(TEXT.lastIndexOf('ret;')), undefined);
});
