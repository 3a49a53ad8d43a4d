/** Regions and loops as the compiler sees them: values with registers renamed. */
import type { LoopPlan } from '../../src/emulator/jit/loops/loop-plan.ts';
import type { AddressParts, Node } from '../../src/emulator/jit/regions/node.ts';
import type { Region } from '../../src/emulator/jit/regions/region.ts';
import { Names } from './names.ts';
import { placeName } from './place-names.ts';

class NodeText {
  readonly #waveSize: 32 | 64;
  readonly #uses = new Map<Node, number>();
  readonly #named = new Map<Node, string>();
  readonly #names = new Names();

  constructor(waveSize: 32 | 64, nodes: readonly Node[], results: readonly Node[]) {
    this.#waveSize = waveSize;
    for (const used of [...nodes.flatMap((node) => [...node.args, ...partsOf(node.address)]), ...results])
      this.#uses.set(used, (this.#uses.get(used) ?? 0) + 1);
  }

  place(offset: number): string {
    return placeName(offset, this.#waveSize);
  }

  /**
   * Accesses, and values that are used more than once, in order; a `*` marks those that every lane has of its
   * own.
   */
  lines(nodes: readonly Node[]): string[] {
    return nodes.flatMap((node) => {
      const { kind } = node.leaf;
      const isAccess = kind === 'load' || kind === 'store' || kind === 'atomic';
      const isLong = node.args.length > 0 && kind !== 'loaded';
      if (!isAccess && !(isLong && (this.#uses.get(node) ?? 0) > 1)) return [];
      const text = this.#expression(node);
      if (node.type === 'void') return [text];
      const name = this.#names.unique(text.replace(/\(.*/s, '').replace(/^.*?\./, ''));
      this.#named.set(node, name);
      return [`${name}${node.lane ? '*' : ''} = ${text}`];
    });
  }

  value(node: Node): string {
    return this.#named.get(node) ?? this.#expression(node);
  }

  #list(nodes: readonly Node[]): string {
    return nodes.map((node) => this.value(node)).join(', ');
  }

  #expression(node: Node): string {
    const { leaf, args } = node;
    switch (leaf.kind) {
      case 'const':
        return leaf.value > -4096n && leaf.value < 4096n
          ? `${leaf.value}`
          : `0x${BigInt.asUintN(64, leaf.value).toString(16)}`;
      case 'pure':
        return `${leaf.op}(${this.#list(args)})`;
      case 'row':
      case 'scalar':
        return this.place(leaf.offset);
      case 'rowLane':
      case 'gatherRow':
        return `${this.place(leaf.offset)}[lane ${this.#list(args)}]`;
      case 'literal':
        return `literal ${leaf.index}`;
      case 'laneByte':
        return `table ${leaf.index}[lane]`;
      case 'laneMask':
        return `${this.#list(args)}[lane]`;
      case 'loaded':
        return `${this.value(args[0]!)}[${leaf.index}]`;
      case 'load':
      case 'store':
      case 'atomic': {
        const name = `${leaf.kind}.${leaf.space}.${leaf.sizeBytes}${leaf.predicated ? '.predicated' : ''}`;
        const [, ...data] = args;
        return `${name}(${[node.address ? this.#address(node.address) : this.value(args[0]!), ...data.map((arg) => this.value(arg))].join(', ')})`;
      }
      case 'ballot':
        return `ballot(${this.#list(args)})`;
      default:
        return leaf.kind;
    }
  }

  #address({ low, high, floor, offset, indexed }: AddressParts): string {
    const { baseLow, baseHigh, index, shift, isSigned } = indexed ?? {};
    const base = indexed
      ? `{${this.value(baseHigh!)}:${this.value(baseLow!)} + ${isSigned ? 'i' : 'u'}32 ${this.value(index!)}${shift ? ` << ${shift}` : ''}}`
      : `{${high ? `${this.value(high)}:` : ''}${this.value(low)}}`;
    return `${base}${offset === 0 ? '' : ` + ${offset}`}${floor && !indexed ? ` from ${this.value(floor)}` : ''}`;
  }
}

const partsOf = (address: AddressParts | undefined): Node[] => {
  if (!address) return [];
  const { low, high, floor, indexed } = address;
  const parts = indexed ? [indexed.baseLow, indexed.baseHigh, indexed.index] : [low, high, floor];
  return parts.filter((node) => node !== undefined);
};

export function regionText(region: Region, waveSize: 32 | 64): string[] {
  const { exec, scalars, rows, laneWrites, branch, wholeRows, fences, guards } = region;
  const { nodes } = region.graph;
  const written = laneWrites.flatMap(({ lane, value }) => [lane, value]);
  const results = [
    ...scalars.values(),
    ...rows.values(),
    ...written,
    ...(exec ? [exec] : []),
    ...(branch ? [branch] : []),
  ];
  const text = new NodeText(waveSize, nodes, results);
  return [
    ...(fences ? ['fence'] : []),
    ...(exec ? [`lanes of ${text.value(exec)}`] : []),
    ...text.lines(nodes),
    ...guards.map(
      ({ condition, expected }) => `for waves with ${text.value(condition)} in ${expected ? 'all' : 'no'} lanes`,
    ),
    ...[...rows].map(([offset, node]) => {
      return `${text.place(offset)}* = ${text.value(node)}${wholeRows.has(offset) ? ' in all lanes' : ''}`;
    }),
    ...[...scalars].map(([offset, node]) => `${text.place(offset)} = ${text.value(node)}`),
    ...laneWrites.map(
      ({ offset, lane, value }) => `${text.place(offset)}[lane ${text.value(lane)}] = ${text.value(value)}`,
    ),
    ...(branch ? [`branch if ${text.value(branch)}`] : []),
  ];
}

export function loopText(plan: LoopPlan, chunkCount: number, waveSize: 32 | 64): string[] {
  const { graph, nodes, rows, scalars, masks, tests, variant } = plan;
  const { again, exec, skips } = graph;
  const next = again.kind === 'lanes' ? again.mask : again.condition;
  const results = [
    ...rows.values(),
    ...scalars.values(),
    ...masks.values(),
    ...[...tests.values()].map(({ mask }) => mask),
    ...skips.map(({ mask }) => mask),
    exec,
    next,
  ];
  const text = new NodeText(waveSize, nodes, results);
  const changing = nodes.filter((node) => variant.has(node) || node.type === 'void');
  return [
    `groups of ${chunkCount} chunks, lanes of ${text.value(exec)}`,
    'before:',
    ...text.lines(nodes.filter((node) => !changing.includes(node))).map((line) => `  ${line}`),
    'each iteration:',
    ...[
      ...text.lines(changing),
      ...skips.map(({ mask, instructions }) => `skip ${instructions.length} instructions unless ${text.value(mask)}`),
      ...[...rows].map(([offset, node]) => `${text.place(offset)}* = ${text.value(node)}`),
      ...[...masks].map(([offset, node]) => `${text.place(offset)} = lanes with ${text.value(node)}`),
      ...[...scalars].map(([offset, node]) => `${text.place(offset)} = ${text.value(node)}`),
      ...[...tests].map(
        ([offset, { mask, when }]) => `${text.place(offset)} = ${when ? 'any' : 'no'} lane with ${text.value(mask)}`,
      ),
      again.kind === 'lanes'
        ? `again for lanes with ${text.value(next)}`
        : `again ${again.when ? 'if' : 'unless'} ${text.value(next)}`,
    ].map((line) => `  ${line}`),
  ];
}
