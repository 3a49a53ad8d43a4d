/** What of PTX is there, as a table: docs/ptx-coverage.md. */
import { PTX_CLASSES, type PtxRow } from './row.ts';
import { PTX_ROWS } from './table.ts';

const line = ({ name, modifiers, operands }: PtxRow): string => {
  const texts = operands.map(({ kind, type, vector, isOptional, isPair, isCarry }) => {
    const named = kind === 'address' ? '[address]' : kind === 'target' ? 'label' : isCarry ? 'CC' : type;
    const list = vector === undefined ? named : `${named} × ${vector}`;
    return `${isPair ? '| ' : ''}${kind === 'write' ? '=' : ''}${list}${isOptional ? '?' : ''}`;
  });
  return `| \`${name}${modifiers.replaceAll('|', '/')}\` | ${texts.join(', ').replaceAll('|', 'pair')} |`;
};

/** What of PTX 8 there is no row for, each with an opcode of its kind, and why. */
export const REFUSED: readonly (readonly [what: string, opcode: string, why: string])[] = [
  ['sparse products', 'mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32', 'not written yet'],
  [
    'products of quarter warps',
    'mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32',
    'of sm_70 alone, later ones imitate it',
  ],
  ['products of four warps', 'wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16', 'not written yet'],
  ['matrices of bytes', 'ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8', 'of sm_100'],
  ['operands out of bounds', 'fma.rn.oob.f16', 'not written yet'],
  ['copies in bulk', 'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes', 'not written yet'],
  ['tensor maps', 'cp.async.bulk.tensor.1d.shared::cluster.global.tile', 'their layout in memory is not published'],
  ['stores that an mbarrier counts', 'st.async.shared::cluster.mbarrier::complete_tx::bytes.u32', 'not written yet'],
  ['barriers of clusters', 'barrier.cluster.arrive.aligned', 'not written yet; a block is a cluster of its own'],
  ['atomics of 128 bits', 'atom.global.exch.b128', 'the machine has those of 64 at most'],
  ['accesses of 256 bits', 'ld.global.v8.b32', 'of sm_100'],
  ['textures and surfaces', 'tex.2d.v4.f32.f32', 'there are no images'],
  ['tensor memory', 'tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32', 'of sm_100'],
  ['memory of several GPUs', 'multimem.red.global.add.u32', 'there is one GPU'],
];

/** In markdown: a line for each row that PTX can name. */
export function coverageTable(): string {
  const parts = PTX_CLASSES.map((className) => {
    const rows = PTX_ROWS.filter((row) => row.className === className && !row.isInternal);
    const lines = rows.map(line).sort();
    return `## ${className}\n\n| instruction | operands |\n| --- | --- |\n${lines.join('\n')}\n`;
  });
  return `# Instructions of PTX that run

One line for each row of \`src/ptx/rows\`. \`name=a/b\` is one of these words, \`?\` may be left out, \`@list\` is a list that
many instructions share (\`src/ptx/rows/pattern.ts\`); an operand with \`=\` is written, and has the type that the modifier of
its name says. What stands in no line is refused by name when a kernel that needs it is loaded.

## Refused

| what | such as | why |
| --- | --- | --- |
${REFUSED.map(([what, opcode, why]) => `| ${what} | \`${opcode}\` | ${why} |`).join('\n')}

${parts.join('\n')}`;
}
