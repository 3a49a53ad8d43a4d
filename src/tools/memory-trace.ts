/** Every address that a lane accesses, in the order in which waves come there. */
import {
  defineTool,
  encodeTraceFile,
  RECORDS_OPTION,
  readTrace,
  traceAccesses,
  traceIn,
  traceSummary,
} from '../instrument/index.ts';

export const memoryTrace = defineTool({
  name: 'memory-trace',
  summary: 'addresses of memory accesses, lane by lane',
  options: {
    file: { kind: 'text', description: 'the trace, for `wavewright tools FILE` and readTraceFile' },
    space: {
      kind: 'choice',
      choices: ['all', 'global', 'flat', 'lds', 'private'],
      default: 'all',
      description: 'which memory, as instructions name it',
    },
    records: RECORDS_OPTION,
  },
  attach(code, { file, space, records }) {
    const trace = traceIn(code, 'trace', records);
    const traced = traceAccesses(code, trace, (access) => space === 'all' || access.space === space);
    return ({ memory }) => {
      const contents = readTrace(memory, trace, traced.points.length);
      const bytes = encodeTraceFile(traced.points, contents);
      return {
        summary: traceSummary(contents, traced),
        tables: [],
        ...(file !== '' && { files: [{ name: file, bytes }] }),
      };
    };
  },
});
