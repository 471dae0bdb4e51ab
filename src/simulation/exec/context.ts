import type {Readable} from 'node:stream';
import {posix} from 'node:path';
import type {Clock} from '#src/base/clock.js';
import type {CommandEnvironment} from '#src/simulation/command/outcome.js';
import type {Files} from '#src/simulation/files/files.js';
import type {ExecRule} from '#src/simulation/rules/behavior.js';

/** Where a command reads and writes. */
export interface CommandIo {
  readonly stdin: Readable | undefined;
  readonly tty: boolean;
  /** Resolves once there is room for more. */
  out(content: string | Buffer): Promise<void>;
  err(text: string): Promise<void>;
}

/** What commands in one container share. */
export interface CommandContext {
  readonly clock: Clock;
  /** Aborts when the container has ended, or whoever asked has left. */
  readonly signal: AbortSignal;
  readonly files: Files;
  readonly workingDirectory: string;
  readonly environment: CommandEnvironment;
  /** What the rules say of commands. */
  readonly rules: readonly ExecRule[];
  /** A text of a rule with its references replaced. */
  expand(text: string): string;
  /** The container, in words. */
  readonly name: string;
}

/** The path of a file by what a command calls it. */
export const resolvePath = ({workingDirectory}: CommandContext, path: string): string => posix.resolve(workingDirectory, path);
