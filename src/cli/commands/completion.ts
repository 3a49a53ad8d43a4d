import { type CommandRow, defineCommand } from '../arguments/command.ts';
import { completionScript, SHELLS } from '../arguments/completion.ts';

/** The command that prints the completion of `commands`. */
export const completionOf = (commands: readonly CommandRow[]) =>
  defineCommand({
    operands: { usage: SHELLS.join('|'), min: 1, max: 1, choices: SHELLS },
    options: {},
    notes: [
      'bash: source <(wavewright completion bash), in ~/.bashrc too; zsh: source <(wavewright completion zsh) behind compinit;',
      'fish: wavewright completion fish | source.',
    ],
    async run({ stdout }, _options, [shell]) {
      stdout(await completionScript(shell!, commands));
      return 0;
    },
  });
