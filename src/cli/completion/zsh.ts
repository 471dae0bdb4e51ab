import {bashScript} from './bash.js';
import type {CompletedCommand} from './commands.js';

/** Returns the script for zsh, which reads that of bash in its compatible mode. */
export const zshScript = (commands: readonly CompletedCommand[]): string => `autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit

${bashScript(commands)}`;
