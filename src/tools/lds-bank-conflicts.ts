/** Cycles that accesses to the LDS take because lanes ask for different dwords of one bank. */
import { ldsCycles } from '../base/wave-access.ts';
import {
  defineTool,
  groupsOf,
  hex,
  lineText,
  RECORDS_OPTION,
  readTrace,
  type TraceRecord,
  traceAccesses,
  traceIn,
  traceSummary,
} from '../instrument/index.ts';

/** Of Luthier's definition: 2^11 bytes count as a bank. */
const LUTHIER_BANK_SHIFT = 11n;

/** Cycles for one access of a wave, and how many it would take without conflicts. */
export const bankCycles = (
  records: readonly Pick<TraceRecord, 'lane' | 'value'>[],
  sizeBytes: number,
  banks: number,
): { readonly cycles: number; readonly needed: number } =>
  ldsCycles(
    records.map(({ lane }) => lane),
    records.map(({ value }) => Number(value)),
    sizeBytes,
    banks,
  );

/** What Luthier's example counts: how many of its banks the lanes touch. */
const luthierBanks = (records: readonly TraceRecord[]): number =>
  new Set(records.map(({ value }) => value >> LUTHIER_BANK_SHIFT)).size;

export const ldsBankConflicts = defineTool({
  name: 'lds-bank-conflicts',
  summary: 'cycles that LDS accesses take more because of their banks',
  options: {
    banks: { kind: 'choice', choices: ['32', '64'], default: '32', description: 'banks of 4 bytes' },
    definition: {
      kind: 'choice',
      choices: ['cycles', 'luthier'],
      default: 'cycles',
      description:
        "cycles beyond those needed, or what Luthier's example adds up: banks of 2048 bytes that are touched",
    },
    records: RECORDS_OPTION,
  },
  attach(code, { banks, definition, records }) {
    const trace = traceIn(code, 'trace', records);
    const traced = traceAccesses(code, trace, ({ space }) => space === 'lds');
    return ({ memory }) => {
      const contents = readTrace(memory, trace, traced.points.length);
      const sums = traced.points.map(() => ({ accesses: 0, cycles: 0, conflicts: 0 }));
      for (const group of groupsOf(contents)) {
        const { point } = group[0]!;
        const { cycles, needed } = bankCycles(group, traced.points[point]!.access.sizeBytes, Number(banks));
        const sum = sums[point]!;
        sum.accesses++;
        sum.cycles += cycles;
        sum.conflicts += definition === 'luthier' ? luthierBanks(group) : cycles - needed;
      }
      const rows = traced.points.map(({ instruction, access }, i) => {
        const { accesses, cycles, conflicts } = sums[i]!;
        const place = [hex(instruction.address), instruction.block.function.name, lineText(instruction)];
        return [...place, instruction.step.text(), access.kind, accesses, cycles, conflicts];
      });
      const conflicts = sums.reduce((sum, each) => sum + each.conflicts, 0);
      const columns = ['address', 'function', 'line', 'instruction', 'kind', 'accesses', 'cycles', 'conflicts'];
      return {
        summary: { banks: Number(banks), definition, conflicts, ...traceSummary(contents, traced) },
        tables: [{ name: 'accesses', columns, rows }],
      };
    };
  },
});
