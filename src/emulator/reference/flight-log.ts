/**
 * Instructions of one wave that are in flight: what they will write lands when a wait makes sure of it, and
 * not earlier. Until then nothing may rely on it, so their destinations hold anything.
 *
 * What a wait makes sure of follows from the order in which a counter's instructions complete. Accesses of
 * one kind (vector memory; LDS) do so in the order in which they were issued: where at most N may be left,
 * all but the last N of the kind have completed. Scalar loads and messages complete in any order: only N = 0
 * says something of one of them, as long as others of the counter may be left ("Data Dependency Resolution"
 * in AMD's manuals: CDNA2 ISA 4.4, RDNA2 ISA 4.4, RDNA3 ISA 5.6, RDNA4 ISA 5.7). A flat access is of the kind
 * that its addresses lead to, and of both where some lanes access LDS and others do not (CDNA2 ISA 10.1).
 */
import type { WaitCounter } from '../../ir/effects.ts';
import type { Step } from '../../ir/step.ts';

/** Counters of 6 bits at most: where more are in flight, the hardware waits before it issues another one. */
const MAX_OUTSTANDING = 63;

/** Instructions of one kind in one counter. */
interface Line {
  readonly name: string;
  readonly isOrdered: boolean;
  issued: number;
}

interface Ticket {
  readonly line: Line;
  readonly number: number;
}

/** An instruction that has been issued. */
export interface Flying {
  readonly step: Step;
  /** Address in state memory of the register's dword, with the value that lands there. */
  readonly results: ReadonlyMap<number, number>;
  /** The registers of the results, by the address of their first dword. */
  readonly rows: ReadonlySet<number>;
  /** Registers that are still to be read, by the address of their first dword. */
  readonly sources: ReadonlySet<number>;
  /** Dwords of LDS that it stores to, by their numbers in device memory. */
  readonly stored: ReadonlySet<number>;
  readonly isAtomic: boolean;
  /** What has to be waited for; empty once it has landed. */
  readonly tickets: Map<WaitCounter, Ticket>;
}

/** What an instruction in flight is told by. */
export type Departure = Omit<Flying, 'tickets'> & {
  /** The counters that say when it has completed, with the kind that it is of in them. */
  readonly kinds: ReadonlyMap<WaitCounter, AccessOrder>;
};

/** `any`: in no order, not even among each other. */
export type AccessOrder = 'vector' | 'lds' | 'any';

export class FlightLog {
  readonly #land: (flying: Flying, isNeeded: boolean) => void;
  readonly #lines = new Map<string, Line>();
  /** In the order in which they were issued. */
  readonly #flying: Flying[] = [];

  /**
   * `land` is told of each instruction that has completed; its results are not needed when the wave is over.
   */
  constructor(land: (flying: Flying, isNeeded: boolean) => void) {
    this.#land = land;
  }

  get flying(): readonly Flying[] {
    return this.#flying;
  }

  issue({ kinds, ...departure }: Departure): Flying {
    const tickets = new Map<WaitCounter, Ticket>();
    for (const [counter, order] of kinds) {
      const line = this.#line(counter, order);
      tickets.set(counter, { line, number: line.issued++ });
    }
    const flying = { ...departure, tickets };
    const { results, sources, stored } = flying;
    // What leaves nothing behind is no more than a number.
    if (results.size + sources.size + stored.size > 0) this.#flying.push(flying);
    for (const counter of kinds.keys()) {
      this.wait(counter, MAX_OUTSTANDING, true);
      if (results.size === 0) this.#bound(counter);
    }
    return flying;
  }

  /**
   * Of what has no order and no results any number could be in flight here, though not on hardware: the
   * oldest is taken to have completed. Results are as many as there are registers.
   */
  #bound(counter: WaitCounter): void {
    const others = this.#flying.filter(
      ({ results, tickets }) => results.size === 0 && tickets.get(counter)?.line.isOrdered === false,
    );
    if (others.length > MAX_OUTSTANDING) this.complete(others[0]!);
  }

  #line(counter: WaitCounter, order: AccessOrder): Line {
    const name = `${counter} ${order}`;
    let line = this.#lines.get(name);
    if (!line) {
      line = { name, isOrdered: order !== 'any', issued: 0 };
      this.#lines.set(name, line);
    }
    return line;
  }

  /** At most so many of a counter are left; `onlyOrdered`: of each kind. */
  wait(counter: WaitCounter, atMost: number, onlyOrdered = false): void {
    for (const flying of [...this.#flying]) {
      const ticket = flying.tickets.get(counter);
      if (!ticket || (onlyOrdered && !ticket.line.isOrdered) || atMost > behind(ticket)) continue;
      flying.tickets.delete(counter);
      if (flying.tickets.size === 0) this.#remove(flying);
    }
  }

  /** It has completed, and with it what completes before. */
  complete(flying: Flying): void {
    for (const other of [...this.#flying]) {
      const isBefore = [...flying.tickets.values()].some(
        ({ line, number }) =>
          line.isOrdered && [...other.tickets.values()].some((each) => each.line === line && each.number < number),
      );
      if (other !== flying && !isBefore) continue;
      other.tickets.clear();
      this.#remove(other);
      if (other === flying) return;
    }
  }

  /** The wave is over. */
  forget(): void {
    for (const flying of this.#flying.splice(0)) {
      flying.tickets.clear();
      this.#land(flying, false);
    }
  }

  /** What may complete next: the first of each kind that has an order, and all others. */
  get next(): Flying[] {
    const seen = new Set<Line>();
    return this.#flying.filter(({ tickets }) => {
      const lines = [...tickets.values()].map(({ line }) => line);
      const isFirst = lines.every((line) => !line.isOrdered || !seen.has(line));
      for (const line of lines) seen.add(line);
      return isFirst;
    });
  }

  /** The waits that would have made sure of it: of each counter, how many may be left. */
  missing({ tickets }: Flying): Map<WaitCounter, number> {
    return new Map(Array.from(tickets, ([counter, ticket]) => [counter, behind(ticket)]));
  }

  /** Whether one that is to be issued completes after another one without a wait. */
  completesBefore(first: Flying, kinds: ReadonlyMap<WaitCounter, AccessOrder>): boolean {
    return [...first.tickets].every(([counter, { line }]) => {
      const order = kinds.get(counter);
      return order !== undefined && line.isOrdered && this.#line(counter, order) === line;
    });
  }

  #remove(flying: Flying): void {
    this.#flying.splice(this.#flying.indexOf(flying), 1);
    this.#land(flying, true);
  }
}

/** How many may be left without this one being among them. */
const behind = ({ line, number }: Ticket): number => (line.isOrdered ? line.issued - number - 1 : 0);
