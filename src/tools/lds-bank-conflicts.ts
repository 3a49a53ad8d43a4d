/**
 * Cycles that accesses to the LDS take because lanes ask for different dwords of one bank. Banks have 4
 * bytes; in a cycle as many neighbouring lanes are served as the banks have room for, and those of equal
 * dwords together.
 */
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

const BANK_BYTES = 4;
/** Of Luthier's definition: 2^11 bytes count as a bank. */
const LUTHIER_BANK_SHIFT = 11n;

/** Cycles for one access of a wave, and how many it would take without conflicts. */
export function bankCycles(
  records: readonly Pick<TraceRecord, 'lane' | 'value'>[],
  sizeBytes: number,
  banks: number,
): { readonly cycles: number; readonly needed: number } {
  const lanes = Math.max(1, Math.floor((banks * BANK_BYTES) / Math.max(sizeBytes, BANK_BYTES)));
  const groups = Map.groupBy(records, ({ lane }) => Math.floor(lane / lanes));
  let cycles = 0;
  for (const group of groups.values()) {
    const byBank = new Map<bigint, Set<bigint>>();
    for (const { value } of group) {
      const last = (value + BigInt(sizeBytes) - 1n) / BigInt(BANK_BYTES);
      for (let dword = value / BigInt(BANK_BYTES); dword <= last; dword++) {
        const bank = dword % BigInt(banks);
        byBank.set(bank, (byBank.get(bank) ?? new Set()).add(dword));
      }
    }
    cycles += Math.max(...[...byBank.values()].map(({ size }) => size));
  }
  return { cycles, needed: groups.size };
}

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
