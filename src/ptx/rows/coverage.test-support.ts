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

${parts.join('\n')}`;
}
