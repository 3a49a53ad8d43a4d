import { hex } from '../../base/text.ts';
import { parseCodeObject } from '../../codeobject/code-object.ts';
import { openCodeObjects } from '../../codeobject/container.ts';
import { LineTable } from '../../codeobject/line-table.ts';
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { checkCode } from '../../lift/check-code.ts';
import { liftCodeObject } from '../../lift/lifted-code.ts';
import { defineCommand } from '../arguments/command.ts';
import { readInput } from '../process/input.ts';

/** What a GPU would run wrong, though it can be decoded and may run right on an emulator. */
export const lint = defineCommand({
  operands: { usage: 'FILE...', min: 1, max: Number.POSITIVE_INFINITY },
  options: {
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how to print' },
  },
  formats: {
    text: 'a line for each finding: file, function, source line, rule, what is wrong and what would mend it',
    json: 'an object; `schema` and `version` say how to read it',
  },
  notes: [
    'FILE is a linked code object, an offload bundle or a program with one inside; - is standard input.',
    'Rules: wait (a register is used before the access that writes it is over), hazard (wait states or another',
    'instruction are missing between two), clause (s_clause covers something else), replay (XNACK), register-alignment,',
    'register-count, illegal, target, overlap, descriptor (against metadata), occupancy (a workgroup does not fit).',
    'Exit status: 0 without findings, 1 with some.',
  ],
  async run({ stdout }, { format }, files) {
    const images = files.flatMap((file) => openCodeObjects(readInput(file), file, { decompress: nodeDecompress }));
    const reports = images.map(({ bytes, name }) => reportOf(bytes, name));
    const count = reports.reduce((sum, { findings }) => sum + findings.length, 0);
    if (format === 'json') {
      stdout(`${JSON.stringify({ schema: 'wavewright-lint', version: 1, files: reports }, undefined, 2)}\n`);
    } else for (const { name, findings } of reports) for (const each of findings) stdout(`${lineOf(name, each)}\n`);
    return count > 0 ? 1 : 0;
  },
});

interface Located {
  readonly address: number;
  /** Function and what is behind its entry. */
  readonly place: string;
  /** File and line, where a line table says it. */
  readonly source: string | undefined;
  readonly rule: string;
  readonly text: string;
  readonly hint: string | undefined;
}

function reportOf(bytes: Uint8Array, name: string): { readonly name: string; readonly findings: readonly Located[] } {
  const codeObject = parseCodeObject(bytes, name);
  const lifted = liftCodeObject(codeObject);
  const lines = LineTable.read(codeObject.elf);
  const findings = checkCode(lifted).map((finding): Located => {
    const step = lifted.stepAt(finding.address);
    const owner = step && lifted.functionOf(step);
    const line = lines.lineAt(BigInt(finding.address));
    return {
      ...finding,
      place: owner ? `${owner.name}+${hex(finding.address - owner.entry)}` : hex(finding.address),
      source: line && `${line.file}:${line.line}`,
    };
  });
  return { name, findings };
}

const lineOf = (name: string, { place, source, rule, text, hint }: Located): string =>
  `${name}: ${place}${source === undefined ? '' : ` (${source})`}: ${rule}: ${text}${hint === undefined ? '' : `; ${hint}`}`;
