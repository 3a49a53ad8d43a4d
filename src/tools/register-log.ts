/** What registers hold when waves come to instructions. */
import { WavewrightError } from '../base/errors.ts';
import {
  defineTool,
  hex,
  RECORDS_OPTION,
  readTrace,
  registerNamed,
  traceCode,
  traceIn,
  tracePoint,
  traceSummary,
} from '../instrument/index.ts';

export const registerLog = defineTool({
  name: 'register-log',
  summary: 'values of registers before instructions, lane by lane',
  options: {
    registers: { kind: 'text', description: 'which, with spaces or commas between them: s4, v0' },
    records: RECORDS_OPTION,
  },
  attach(code, { registers, records }) {
    const named = registers
      .split(/[ ,]+/)
      .filter((name) => name !== '')
      .map(registerNamed);
    if (named.length === 0)
      throw new WavewrightError('USAGE', "tool 'register-log' is told no registers", { hint: 'registers=s4,v0' });
    const trace = traceIn(code, 'trace', records);
    const codes = named.map(({ isUniform, read }) =>
      traceCode(trace, (b) => ({ value: b.pack(read(b), b.constant(0)) }), isUniform),
    );
    for (const [i, instruction] of code.instructions.entries()) {
      for (const [j, hook] of codes.entries()) {
        code.before(instruction, tracePoint(hook, i * named.length + j, trace, named[j]!.name));
      }
    }
    return ({ memory }) => {
      const contents = readTrace(memory, trace, named.length * code.instructions.length);
      const rows = contents.records.map(({ point, lane, group, value }) => {
        const { address, step } = code.instructions[Math.floor(point / named.length)]!;
        const { name, isUniform } = named[point % named.length]!;
        return [hex(address), step.text(), name, isUniform ? '' : `${lane}`, hex(value, 8), group];
      });
      return {
        summary: traceSummary(contents, { unknown: [] }),
        tables: [{ name: 'values', columns: ['address', 'instruction', 'register', 'lane', 'value', 'group'], rows }],
      };
    };
  },
});
