/** Which values instructions write most often: of results of more than 8 bytes, the first 8. */
import {
  defineTool,
  hex,
  lineText,
  RECORDS_OPTION,
  readTrace,
  resultRegisters,
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
      const result = resultRegisters(instruction);
      return result ? [{ instruction, first: result.first, isWide: result.dwords > 1 }] : [];
    });
    const narrow = traceCode(trace, (b) => ({ value: b.pack(b.pointVector(0), b.constant(0)) }));
    const wide = traceCode(trace, (b) => ({ value: b.pack(b.pointVector(0), b.pointVector(1)) }));
    for (const [i, { instruction, first, isWide }] of points.entries()) {
      const registers = (isWide ? [first, first + 1] : [first]).map(
        (number) => ({ file: 'vector', first: number, dwords: 1 }) as const,
      );
      code.after(instruction, tracePoint(isWide ? wide : narrow, i, trace, 'result', { registers }));
    }
    return ({ memory }) => {
      const contents = readTrace(memory, trace, points.length);
      const byPoint = Map.groupBy(contents.records, ({ point }) => point);
      const rows = points.flatMap(({ instruction, isWide }, i) => {
        const values = Map.groupBy(byPoint.get(i) ?? [], ({ value }) => value);
        const often = [...values].toSorted(([, a], [, b]) => b.length - a.length).slice(0, top);
        return often.map(([value, { length }]) => [
          ...[hex(instruction.address), instruction.block.function.name, lineText(instruction)],
          ...[instruction.step.text(), hex(value, isWide ? 16 : 8), length, byPoint.get(i)!.length, values.size],
        ]);
      });
      const columns = ['address', 'function', 'line', 'instruction', 'value', 'times', 'written', 'distinct'];
      return { summary: traceSummary(contents, { unknown: [] }), tables: [{ name: 'values', columns, rows }] };
    };
  },
});
