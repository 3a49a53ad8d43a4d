/** Of `sabotages.ts`: what code that is laid out anew depends on. */
import type { Sabotage } from './sabotages.ts';

const FOLDER = 'src/instrument/layout';
/** The tests of a file, those whose names have a text or all. */
const only = (file: string, name = '.'): string[] => [
  ...['--test', '--test-isolation=none', `--test-name-pattern=${name}`, file],
];
const layOut = (name: string): string[] => only(`${FOLDER}/lay-out.test.ts`, name);
const entries = (name: string): string[] => only(`${FOLDER}/compose.test.ts`, name);
const seams = (name: string): string[] => only('src/instrument/seams.test.ts', name);
const oddCode = (name: string): string[] => only('test/odd-code.test.ts', name);
const movable = (name?: string): string[] => only(`${FOLDER}/movable-code.test.ts`, name);
const farBranches = only('src/instrument/far-branches.test.ts');

/** Sabotages of a file, a row each: the name, what becomes what, and the tests that notice it. */
type Row = readonly [name: string, from: string, to: string, noticedBy: string[]];
const inFile = (what: string, file: string, rows: readonly Row[]): Sabotage[] =>
  rows.map(([name, from, to, noticedBy]) => ({
    ...{ name: `${what}: ${name}`, file: `${FOLDER}/${file}.ts`, from, to, noticedBy },
  }));

export const LAYOUT_SABOTAGES: readonly Sabotage[] = [
  ...inFile('islands', 'islands', [
    ['nothing stands among glued items', '|| isGlued(item) || at', '|| at', layOut('are glued')],
    ['none before the label of an address', ' || this.#isAddressRead(index))', ')', layOut('that reads the address')],
    [
      'those that glued items reach over',
      'at < stretch + POOL_BYTES - 64',
      'at % POOL_BYTES < POOL_BYTES - 64',
      layOut('are glued'),
    ],
    ['none where ends of code come', 'at < stretch + POOL_BYTES - 64', 'at < 0', layOut('behind unconditional ends')],
    [
      'who comes from outside',
      'this.addressOf(outside ?? place.origin)',
      'this.addressOf(place.origin)',
      layOut('from outside'),
    ],
    ['one for all branches to a target', 'pool.byTarget.get(target);', 'pool.byTarget.get(-1);', layOut('share')],
    [
      'no branch around them where none is needed',
      'ordered.find(({ isPassed }) => !isPassed) ?? ordered[0]',
      'ordered[0]',
      layOut('no branch around'),
    ],
    ['the farthest in reach', 'isForward ? inReach.toReversed() : inReach', 'inReach', layOut('in straight code')],
    ['whose they are', 'item.origin ?? item.point', 'item.origin', layOut('belongs to')],
    [
      'they do not lead to their own pool',
      'this.#islandFor(this.#ends[index]!, island.target',
      'this.#islandFor(this.addressOf(island.label) + DWORD_BYTES, island.target',
      layOut('a far branch back'),
    ],
    ['the place at the branch is none', '.index]! <= low)', '.index]! < low)', layOut('a far branch')],
    ['room for the branch around', 'if (pool.isPassed) at += DWORD_BYTES;', '', layOut('in straight code')],
  ]),
  ...inFile('layout', 'lay-out', [
    ['where the branch around ends', '(1 + islandCount)', '(islandCount)', layOut('in straight code')],
    [
      'whose the branch around is',
      'this.#rows.originOf(this.#rows.runCount - 1)',
      'undefined',
      layOut('what it is, and whose'),
    ],
    ['whose an island is', "'island', island.origin", "'island', undefined", layOut('belongs to')],
    ['whose a payload is', 'kindOf(item), item.origin ?? item.point', 'kindOf(item), item.origin', layOut('and whose')],
    ['what keeps the way is no payload', "if (keepsWay) return 'branch';", '', layOut('and whose')],
    ['high halves', 'distance >> 32n', 'distance', layOut('literals')],
    ['where literals are', 'const address = this.#at - DWORD_BYTES;', 'const address = this.#at;', layOut('literals')],
  ]),
  ...inFile('composing', 'compose', [
    ['clauses are glued', 'edit, i < clauseEnd);', 'edit, false);', farBranches],
    [
      'code that runs into an entry',
      'before?.next === blocks[index] && comesBack(last)',
      'false',
      entries('runs into it'),
    ],
    ['payloads between two entries', ' || inner.some(isPayload)', '', seams('between two entries')],
    ['payloads behind the message', 'this.#isEditedBehind(block)));', 'false));', seams('give them back')],
    [
      'clauses with payloads',
      '(hint !== undefined && isEdited(edits, i, hinted))',
      '(hint !== undefined && isEdited(edits, i, i))',
      seams('anywhere'),
    ],
    ['hints with payloads behind', 'if (i < last && edit.after) return true;', '', seams('payloads anywhere')],
    [
      'blocks that moved apart',
      'else if (block.next !== blocks[index + 1])',
      'else if (!block.next)',
      oddCode('overlap'),
    ],
    [
      'the end of code that runs out',
      'words: [code.stop], point',
      'words: [code.nop], point',
      entries('without an end'),
    ],
  ]),
  ...inFile('seams', 'seams', [
    [
      'hazards over branches',
      'const target = isBranch ? places.get(last.target) : undefined;',
      'const target = undefined;',
      seams('anywhere'),
    ],
    [
      'the most states that are missing',
      'Math.max(most, statesOf(each))',
      'Math.min(most, statesOf(each))',
      seams('as many wait states'),
    ],
    ['cures that are no wait states', '[...nops(states), ...others]', '[...nops(states)]', seams('to itself')],
    [
      'cures come before a clause',
      'if (!item || !isGlued(item)) return first;',
      'return first;',
      seams('inside of a clause'),
    ],
    ['returns lead to calls', '...end.calls.map((address) => behind.get(address))', '', seams('at a return')],
    [
      'calls lead to functions',
      ', endsOf.get(origin), ...callees]',
      ', endsOf.get(origin)]',
      seams('in front of a call'),
    ],
    ['functions end where others do', '[...end.endOf, ', '[', seams('goes on with another')],
  ]),
  ...inFile('movable code', 'movable-code', [
    ['blocks stay together', 'groups.join(block.index, next.index);', 'groups.of(next.index);', movable()],
    ['callees go along', '[block.next, block.target, called]', '[block.next, block.target]', movable()],
    [
      'obstacles',
      'if (reason !== undefined) return { address: instructions[i]!.offset, reason };',
      '',
      movable('obstacle'),
    ],
    ['branches that lead nowhere', '!byStart.has(last.target)) {', 'last.target < 0) {', movable()],
    [
      'code that runs on where none is',
      "typeof found === 'string' ? { address, reason: found } : undefined;",
      'undefined;',
      movable(),
    ],
  ]),
];
