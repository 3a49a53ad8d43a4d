/** Which values instructions write most often. */
import {
  defineTool,
  hex,
  lineText,
  RECORDS_OPTION,
  readTrace,
  resultRegister,
  traceCode,
  traceIn,
  tracePoint,
  traceSummary,
} from '../instrument/index.ts';

export const valueProfile = defineTool({
  name: 'value-profile',
  summary: 'the values that vector instructions write most often',
  options: {
    top: { kind: 'integer', min: 1, max: 1000, default: 4, description: 'how many values of each instruction' },
    records: RECORDS_OPTION,
  },
  attach(code, { top, records }) {
    const trace = traceIn(code, 'trace', records);
    const points = code.instructions.flatMap((instruction) => {
      const register = resultRegister(instruction);
      return register === undefined ? [] : [{ instruction, register }];
    });
    const codes = new Map(
      points.map(({ register }) => [register, traceCode(trace, (b) => b.pack(b.vector(register), b.constant(0)))]),
    );
    for (const [i, { instruction, register }] of points.entries()) {
      code.after(instruction, tracePoint(codes.get(register)!, i));
    }
    return ({ memory }) => {
      const contents = readTrace(memory, trace);
      const byPoint = Map.groupBy(contents.records, ({ point }) => point);
      const rows = points.flatMap(({ instruction }, i) => {
        const values = Map.groupBy(byPoint.get(i) ?? [], ({ value }) => value);
        const often = [...values].toSorted(([, a], [, b]) => b.length - a.length).slice(0, top);
        return often.map(([value, { length }]) => [
          ...[hex(instruction.address), instruction.block.function.name, lineText(instruction)],
          ...[instruction.step.text(), hex(value, 8), length, byPoint.get(i)!.length, values.size],
        ]);
      });
      const columns = ['address', 'function', 'line', 'instruction', 'value', 'times', 'written', 'distinct'];
      return { summary: traceSummary(contents, { unknown: [] }), tables: [{ name: 'values', columns, rows }] };
    };
  },
});
