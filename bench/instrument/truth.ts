/** Results of tools against what the emulator counts and sees of the native run, for each instruction. */
import { type Cell, readTraceFile, type ToolResult } from '../../src/instrument/index.ts';
import { runsOncePerWave } from '../../src/isa/amdgpu/encoding/instruction-class.ts';
import type { ToolReport } from '../../src/tools/tool-session.ts';
import { lineDifferences } from '../../test/line-differences.test-support.ts';
import type { LoadedImage } from '../../test/loaded-image.test-support.ts';
import { type Observed, observeNatively } from '../../test/tool-runs.test-support.ts';
import type { Execution } from './execution.ts';
import type { Workload } from './workloads.ts';

/** Counts of one kind: what they should be and what they are. */
interface Count {
  readonly what: string;
  readonly expected: bigint;
  readonly found: bigint;
}

const SHOWN = 3;

export class Truth {
  readonly #workload: Workload;
  readonly #native: Execution;
  #observed: Observed | undefined;

  constructor(workload: Workload, native: Execution) {
    this.#workload = workload;
    this.#native = native;
  }

  /** What is wrong, in words. Where points were refused, counts may be too small. */
  *wrongIn({ result, use, coverage }: ToolReport, { image }: Execution): Generator<string> {
    const isWhole = Object.keys(coverage.refused).length === 0;
    const counts = [...this.#instructions(result), ...this.#blocks(result), ...this.#opcodes(result)];
    const isWrong = ({ expected, found }: Count): boolean => found > expected || (isWhole && found < expected);
    const wrong = counts.filter(isWrong);
    for (const { what, expected, found } of wrong.slice(0, SHOWN)) {
      yield `${use.tool.name} counts ${found} for ${what}, the emulator ${expected}`;
    }
    if (wrong.length > SHOWN) yield `${use.tool.name} counts ${wrong.length - SHOWN} more wrongly`;
    if (isWhole) yield* this.#wrongTrace(result, image);
  }

  /** Scalar instructions count for waves, others for lanes or for waves with any. */
  #countOf(address: number, level: Cell | undefined): bigint {
    const { waves, lanes } = this.#native.counts.get(address) ?? { waves: 0, lanes: 0 };
    if (runsOncePerWave(this.#native.stepAt(address).instruction.row)) return BigInt(waves);
    return BigInt(level === 'thread' ? lanes : (this.#observe().activeWaves.get(address) ?? 0));
  }

  *#instructions({ summary: { level, total }, tables }: ToolResult): Generator<Count> {
    if (level !== 'thread' && level !== 'wave') return;
    const rows = rowsOf(tables, 'instructions');
    for (const [address, , , text, count] of rows) {
      const expected = this.#countOf(Number(address), level);
      yield { what: `${address} ${text}`, expected, found: BigInt(count!) };
    }
    const executed = [...this.#native.counts.keys()];
    const listed = new Set(rows.map(([address]) => Number(address)));
    if (listed.size > 0) {
      for (const address of executed.filter((each) => !listed.has(each))) {
        yield { what: `${address}, which is not listed`, expected: this.#countOf(address, level), found: -1n };
      }
    }
    const sum = executed.reduce((all, address) => all + this.#countOf(address, level), 0n);
    yield { what: 'all', expected: sum, found: BigInt(total!) };
  }

  *#blocks({ tables }: ToolResult): Generator<Count> {
    for (const [address, , , , waves] of rowsOf(tables, 'blocks')) {
      const expected = BigInt(this.#native.counts.get(Number(address))?.waves ?? 0);
      yield { what: `the block ${address}`, expected, found: BigInt(waves!) };
    }
  }

  *#opcodes({ summary: { level }, tables }: ToolResult): Generator<Count> {
    const rows = rowsOf(tables, 'opcodes');
    if (rows.length === 0) return;
    const expected = new Map<string, bigint>(rows.map(([name]) => [`${name}`, 0n]));
    for (const address of this.#native.counts.keys()) {
      const { name } = this.#native.stepAt(address).instruction;
      expected.set(name, (expected.get(name) ?? 0n) + this.#countOf(address, level));
    }
    const found = new Map(rows.map(([name, count]) => [`${name}`, BigInt(count!)]));
    for (const [name, count] of expected) yield { what: name, expected: count, found: found.get(name) ?? 0n };
  }

  *#wrongTrace({ summary, files }: ToolResult, image: LoadedImage): Generator<string> {
    const [file] = files ?? [];
    if (!file || summary.lost !== 0n) return;
    const { points, records } = readTraceFile(file.bytes, file.name);
    const found = records.map(({ point, lane, value }) => {
      const { address: pc } = points[point]!;
      return { pc, lane, address: value };
    });
    const traced = Map.groupBy(points, ({ address }) => address);
    // Tools of hooks trace the first access of an instruction alone.
    const isTraced = ({ pc, isFirst }: Observed['accesses'][number]): boolean =>
      (traced.get(pc)?.length ?? 0) > (isFirst ? 0 : 1);
    const native = this.#observe();
    const expected = native.accesses.filter(isTraced);
    const [first] = lineDifferences(image.accessText(found), native.image.accessText(expected));
    if (first === undefined) return;
    yield `${found.length} accesses are traced, the emulator sees ${expected.length}; ${first}`;
  }

  #observe(): Observed {
    const { image, processor, kernel, launch, name } = this.#workload;
    const benchmark = { name, kernel, launch: () => launch };
    this.#observed ??= observeNatively({ file: image.name, bytes: image.bytes, processor, benchmark });
    return this.#observed;
  }
}

const rowsOf = (tables: ToolResult['tables'], name: string) => tables.find((each) => each.name === name)?.rows ?? [];
