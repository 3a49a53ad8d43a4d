/**
 * Into how many pieces of memory the lanes of an access fall: one or two for neighbouring lanes, 64 at worst.
 */
import { segmentCount } from '../base/wave-access.ts';
import {
  defineTool,
  groupsOf,
  hex,
  lineText,
  RECORDS_OPTION,
  readTrace,
  traceAccesses,
  traceIn,
  traceSummary,
} from '../instrument/index.ts';

export const coalescing = defineTool({
  name: 'coalescing',
  summary: 'pieces of memory that the lanes of each global access touch',
  options: {
    segment: {
      kind: 'integer',
      min: 0,
      max: 4096,
      default: 0,
      description: 'bytes of a piece; 0, the default: a cache line, 64 up to gfx908 and 128 from gfx90a on',
    },
    records: RECORDS_OPTION,
  },
  attach(code, { segment: wanted, records }) {
    const segment = wanted === 0 ? code.cacheLineBytes : wanted;
    const trace = traceIn(code, 'trace', records);
    const traced = traceAccesses(code, trace, ({ space }) => space === 'global' || space === 'flat');
    return ({ memory }) => {
      const contents = readTrace(memory, trace, traced.points.length);
      const sums = traced.points.map(() => ({ accesses: 0, lanes: 0, segments: 0 }));
      for (const group of groupsOf(contents)) {
        const { point } = group[0]!;
        const addresses = group.map(({ value }) => Number(value));
        sums[point]!.accesses++;
        sums[point]!.lanes += group.length;
        sums[point]!.segments += segmentCount(addresses, traced.points[point]!.access.sizeBytes, segment);
      }
      const rows = traced.points.map(({ instruction, access }, i) => {
        const { accesses, lanes, segments } = sums[i]!;
        const perAccess = accesses === 0 ? '0' : (segments / accesses).toFixed(2);
        const place = [hex(instruction.address), instruction.block.function.name, lineText(instruction)];
        return [...place, instruction.step.text(), access.kind, accesses, lanes, segments, perAccess];
      });
      const columns = ['address', 'function', 'line', 'instruction', 'kind', 'accesses', 'lanes', 'segments'];
      return {
        summary: { segmentBytes: segment, ...traceSummary(contents, traced) },
        tables: [{ name: 'accesses', columns: [...columns, 'segments per access'], rows }],
      };
    };
  },
});
