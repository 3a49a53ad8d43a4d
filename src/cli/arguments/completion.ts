/** Completion for shells, made of the tables that the command line is parsed with. */
import { WavewrightError } from '../../base/errors.ts';
import type { Command, CommandRow } from './command.ts';
import type { OptionRow } from './options.ts';
import { didYouMean } from './suggest.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

interface Word {
  /** With its dashes; with `=` behind it where a value follows. */
  readonly text: string;
  readonly description: string;
  readonly choices: readonly string[];
}

interface Described extends CommandRow {
  readonly command: Command;
}

/** The script for one of SHELLS that completes `commands`. Throws USAGE for another shell. */
export async function completionScript(shell: string, commands: readonly CommandRow[]): Promise<string> {
  const rows = await Promise.all(commands.map(async (row) => ({ ...row, command: await row.load() })));
  switch (shell) {
    case 'bash':
      return bash(rows);
    case 'zsh':
      // What bash completes by is enough: zsh has that function, too.
      return `autoload -U +X bashcompinit && bashcompinit\n${bash(rows)}`;
    case 'fish':
      return fish(rows);
    default:
      throw new WavewrightError('USAGE', `there is no completion for '${shell}'`, {
        hint: didYouMean(shell, SHELLS) ?? `shells are ${SHELLS.join(', ')}`,
      });
  }
}

function wordsOf({ command }: Described): Word[] {
  const own = Object.entries(command.options).flatMap(([name, row]) =>
    [name, ...(row.aliases ?? [])].map((spelling) => wordOf(spelling, row)),
  );
  const common = { choices: [] };
  return [
    ...own,
    { text: '--quiet', description: 'no warnings', ...common },
    { text: '--help', description: 'this text', ...common },
  ];
}

function wordOf(name: string, row: OptionRow): Word {
  const dashed = `${name.length === 1 ? '-' : '--'}${name}`;
  const takesValue = row.kind !== 'flag' && name.length > 1 && !(row.kind === 'text' && row.implied !== undefined);
  const choices = row.kind === 'choice' ? row.choices : [];
  return { text: takesValue ? `${dashed}=` : dashed, description: row.description, choices };
}

const names = (rows: readonly Described[]): string => [...rows.map(({ name }) => name), 'help'].join(' ');

function bash(rows: readonly Described[]): string {
  const cases = rows.flatMap((row) => {
    const words = wordsOf(row);
    const values = words.filter(({ choices }) => choices.length > 0);
    const operands = row.command.operands.choices ?? [];
    return [
      `    ${row.name})`,
      `      words='${[...words.map(({ text }) => text), ...operands].join(' ')}'`,
      ...values.map(({ text, choices }) => `      values[${text.slice(0, -1)}]='${choices.join(' ')}'`),
      '      ;;',
    ];
  });
  return `_wavewright() {
  local line="\${COMP_LINE:0:COMP_POINT}" current words=''
  local -A values=()
  # The shell takes = for the end of a word; what is typed so far is what stands behind the last space.
  current="\${line##* }"
  COMPREPLY=()
  local rest="\${line#* }"
  if [[ "$rest" != *' '* ]]; then
    COMPREPLY=( $(compgen -W '${names(rows)} --help --version --quiet' -- "$current") )
    return
  fi
  case "\${rest%% *}" in
${cases.join('\n')}
    help) words='${rows.map(({ name }) => name).join(' ')}' ;;
  esac
  if [[ "$current" == --*=* && -n "\${values[\${current%%=*}]}" ]]; then
    COMPREPLY=( $(compgen -W "\${values[\${current%%=*}]}" -- "\${current#*=}") )
  elif [[ "$current" == --*=* ]]; then
    COMPREPLY=( $(compgen -f -- "\${current#*=}") )
  else
    COMPREPLY=( $(compgen -W "$words" -- "$current") )
    [[ "$current" == -* ]] || COMPREPLY+=( $(compgen -f -- "$current") )
    [[ "\${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2>/dev/null
  fi
}
complete -o filenames -F _wavewright wavewright
`;
}

function fish(rows: readonly Described[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = rows.flatMap((row) => {
    const condition = `-n '__fish_seen_subcommand_from ${row.name}'`;
    return [
      `complete -c wavewright -n __fish_use_subcommand -a ${row.name} -d ${quoted(row.summary)}`,
      ...wordsOf(row).map(({ text, description, choices }) => {
        const name = text.replace(/^-+|=$/g, '');
        const value = choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : text.endsWith('=') ? ' -r' : '';
        return `complete -c wavewright ${condition} ${name.length === 1 ? '-s' : '-l'} ${name}${value} -d ${quoted(description)}`;
      }),
      ...(row.command.operands.choices ?? []).map((choice) => `complete -c wavewright ${condition} -a ${choice}`),
    ];
  });
  const helps = `complete -c wavewright -n '__fish_seen_subcommand_from help' -f -a ${quoted(rows.map(({ name }) => name).join(' '))}`;
  return `${[...lines, helps].join('\n')}\n`;
}
