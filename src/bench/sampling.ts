/** Timing that other work on the machine disturbs little: CPU time, long samples taken in turn, medians. */

/** What one sample says of one run of the work, on average over the runs that it took. */
export interface Sample {
  /** CPU time, seconds: of the thread, or of a process that has one thread. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

/** Work that can be repeated. */
export interface Subject {
  readonly name: string;
  /** Runs the work until it has used so much CPU time. */
  sample(milliseconds: number): Sample | Promise<Sample>;
}

/** CPU time counts in ticks of some milliseconds: a sample takes many of them. */
export const SAMPLE_MS = 80;

/** The middle one; of an even number, the upper one of the two. */
export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** Makes a subject of a function that runs the work once and says what it took. */
export function repeated(name: string, run: () => { readonly cpuMs: number; readonly wallMs: number }): Subject {
  return {
    name,
    sample(milliseconds) {
      let [cpuMs, wallMs, runs] = [0, 0, 0];
      do {
        const once = run();
        cpuMs += once.cpuMs;
        wallMs += once.wallMs;
        runs++;
      } while (cpuMs < milliseconds);
      return { cpuSeconds: cpuMs / runs / 1000, wallSeconds: wallMs / runs / 1000 };
    },
  };
}

/** Thread CPU time and wall time of a function. */
export function timed(run: () => void): { readonly cpuMs: number; readonly wallMs: number } {
  const cpu = process.threadCpuUsage();
  const start = performance.now();
  run();
  const wallMs = performance.now() - start;
  const { user, system } = process.threadCpuUsage(cpu);
  return { cpuMs: (user + system) / 1000, wallMs };
}

/**
 * Medians for each subject. Samples are taken in turn, so that what slows the machine down for a while slows
 * all; the first do not count.
 */
export async function sampleInTurn(subjects: readonly Subject[], samples: number): Promise<Sample[]> {
  const taken = subjects.map((): Sample[] => []);
  for (let round = 0; round <= samples; round++) {
    for (const [i, subject] of subjects.entries()) {
      const sample = await subject.sample(SAMPLE_MS);
      if (round > 0) taken[i]!.push(sample);
    }
  }
  return taken.map((of) => ({
    cpuSeconds: median(of.map(({ cpuSeconds }) => cpuSeconds)),
    wallSeconds: median(of.map(({ wallSeconds }) => wallSeconds)),
  }));
}
