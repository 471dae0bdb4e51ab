import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';

/** The flags of `plat completion`. */
export const completionFlags = flagTable({
  program: 'plat completion',
  summary:
    'Prints a script with which a shell completes commands, flags and values of plat and its programs: source <(plat completion bash) in ~/.bashrc, the same with zsh in ~/.zshrc, plat completion fish | source for fish.',
  positional: 'bash | zsh | fish',
  sections: [flagSection('Output', {...commandLogging, ...help})],
});
