import { defineCommand } from '../command.ts';
import { completionScript, SHELLS } from '../completion.ts';

export const completion = defineCommand({
  operands: { usage: SHELLS.join('|'), min: 1, max: 1, choices: SHELLS },
  options: {},
  notes: [
    'bash: source <(wavewright completion bash), in ~/.bashrc too; zsh: source <(wavewright completion zsh) behind compinit;',
    'fish: wavewright completion fish | source.',
  ],
  async run({ stdout }, _options, [shell]) {
    stdout(await completionScript(shell!));
    return 0;
  },
});
