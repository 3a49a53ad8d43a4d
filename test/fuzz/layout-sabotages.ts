/** Of `sabotages.ts`: what code that is laid out anew depends on. */
import type { Sabotage } from './sabotages.ts';

const FOLDER = 'src/instrument/layout';
const test = (...files: readonly string[]): string[] => ['--test', '--test-isolation=none', ...files];
const layOut = test(`${FOLDER}/lay-out.test.ts`);
const farBranches = test('src/instrument/far-branches.test.ts');
const entries = test(`${FOLDER}/compose.test.ts`);
const seams = test('src/instrument/seams.test.ts');
const oddCode = test('test/odd-code.test.ts');

const inIslands = (name: string, from: string, to: string, noticedBy = layOut): Sabotage => ({
  ...{ name: `islands: ${name}`, file: `${FOLDER}/islands.ts`, from, to, noticedBy },
});
const inLayOut = (name: string, from: string, to: string, noticedBy = layOut): Sabotage => ({
  ...{ name: `layout: ${name}`, file: `${FOLDER}/lay-out.ts`, from, to, noticedBy },
});
const inCompose = (name: string, from: string, to: string, noticedBy = entries): Sabotage => ({
  ...{ name: `composing: ${name}`, file: `${FOLDER}/compose.ts`, from, to, noticedBy },
});
const inSeams = (name: string, from: string, to: string): Sabotage => ({
  ...{ name: `seams: ${name}`, file: `${FOLDER}/seams.ts`, from, to, noticedBy: seams },
});
const inMovable = (name: string, from: string, to: string): Sabotage => ({
  ...{ name: `movable code: ${name}`, file: `${FOLDER}/movable-code.ts`, from, to, noticedBy: oddCode },
});

export const LAYOUT_SABOTAGES: readonly Sabotage[] = [
  inIslands('nothing stands among glued items', '|| item.isGlued || at < stretch', '|| at < stretch'),
  inIslands('nothing stands before the label of an address', ' || this.#isAddressRead(index))', ')'),
  inIslands(
    'places in what is glued are made up for',
    'at < stretch + POOL_BYTES - 64',
    'at % POOL_BYTES < POOL_BYTES - 64',
  ),
  inIslands('none where ends of code come', 'at < stretch + POOL_BYTES - 64', 'at < 0'),
  inIslands('those who come from outside', 'this.addressOf(outside ?? place.origin)', 'this.addressOf(place.origin)'),
  inIslands('one for all branches to a target', 'pool.byTarget.get(target);', 'pool.byTarget.get(-1);'),
  inIslands(
    'no branch around where none is needed',
    'ordered.find(({ isPassed }) => !isPassed) ?? ordered[0]',
    'ordered[0]',
  ),
  inIslands('the farthest in reach', 'isForward ? inReach.toReversed() : inReach', 'inReach'),
  inIslands('whose they are', 'item.origin ?? item.point', 'item.origin'),
  inIslands(
    'they do not lead to their own pool',
    'this.#islandFor(this.#ends[index]!, island.target',
    'this.#islandFor(this.addressOf(island.label) + DWORD_BYTES, island.target',
  ),
  inIslands('the place at the branch is none, behind', '.index]! <= low)', '.index]! < low)'),
  inIslands('room for the branch around', 'if (pool.isPassed) at += DWORD_BYTES;', ''),
  inIslands('how far a branch reaches', 'MAX_DWORDS * DWORD_BYTES - 8192', 'MAX_DWORDS * DWORD_BYTES + 8192'),
  inLayOut('the branch around ends behind them', '(1 + islandCount)', '(islandCount)'),
  inLayOut('whose the branch around is', 'this.#rows.at(-1)?.origin', 'undefined'),
  inLayOut('whose an island is', "'island', island.origin", "'island', undefined"),
  inLayOut('whose a payload is', 'kindOf(item), item.origin ?? item.point', 'kindOf(item), item.origin'),
  inLayOut('what keeps the way is no payload', "if (keepsWay) return 'branch';", ''),
  inLayOut('high halves', 'distance >> 32n', 'distance'),
  inLayOut('where literals are', 'const address = this.#at - DWORD_BYTES;', 'const address = this.#at;'),
  inCompose(
    'clauses are glued',
    'this.#step(step, isDropped',
    'clauseEnd = -1;\n      this.#step(step, isDropped',
    farBranches,
  ),
  inCompose('a clause that is dropped is not glued', "if (isDropped && hint === 'clause') clauseEnd = -1;", '', seams),
  inCompose('code that runs into an entry', 'before?.next === blocks[index] && comesBack(last)', 'false'),
  inCompose('payloads between two entries', ' || inner.some(isPayload)', ''),
  inCompose('payloads after the message', 'this.#isEditedBehind(block)));', 'false));', seams),
  inCompose('clauses with payloads', "hint === 'clause' ? clauseEnd : i + 1)", "hint === 'clause' ? i : i + 1)", seams),
  inCompose('hints with payloads behind', 'if (i < last && edit.after) return true;', '', oddCode),
  inCompose('blocks that moved apart', 'else if (block.next !== blocks[index + 1])', 'else if (!block.next)', oddCode),
  inCompose('the end of code that runs out', 'if (block.next === undefined)\n', 'if (!code)\n', oddCode),
  inCompose(
    'detours only where control does not come',
    'else return;\n    this.#flushDetours();',
    'this.#flushDetours();',
    oddCode,
  ),
  inSeams(
    'wait states before what is glued',
    'if (!item || !hasWords(item) || !item.isGlued) return first;',
    'return first;',
  ),
  inSeams(
    'hazards over branches',
    'const target = isBranch ? places.get(last.target) : undefined;',
    'const target = undefined;',
  ),
  inSeams('the most states that are missing', 'Math.max(most, statesOf(each))', 'Math.min(most, statesOf(each))'),
  inSeams('cures that are no wait states', '[...nops(states), ...others]', '[...nops(states)]'),
  inMovable(
    'blocks that lead to each other stay together',
    'groups.join(block.index, next.index);',
    'groups.of(next.index);',
  ),
  inMovable('callees go along', '[block.next, block.target, called]', '[block.next, block.target]'),
  inMovable('obstacles', 'if (reason !== undefined) return { address: step.offset, reason };', ''),
  inMovable('branches that lead nowhere', '!byStart.has(last.target)) {', 'last.target < 0) {'),
  inMovable(
    'code that runs on where none is',
    "return typeof found === 'string' ? { address, reason: found } : undefined;",
    'return undefined;',
  ),
];
