import type {Readable} from 'node:stream';
import {posix} from 'node:path';
import type {Clock} from '#src/base/clock.js';
import type {CommandEnvironment} from '#src/simulation/command/outcome.js';
import type {Files} from '#src/simulation/files/files.js';
import type {ExecRule} from '#src/simulation/rules/behavior.js';

/** The standard streams of a command. */
export interface CommandIo {
  readonly stdin: Readable | undefined;
  readonly tty: boolean;
  /** Resolves once the stream accepts more data. */
  out(content: string | Buffer): Promise<void>;
  err(text: string): Promise<void>;
}

/** Shared by the commands in one container. */
export interface CommandContext {
  readonly clock: Clock;
  /** Aborts when the container has exited or the client has disconnected. */
  readonly signal: AbortSignal;
  readonly files: Files;
  readonly workingDirectory: string;
  readonly environment: CommandEnvironment;
  /** The exec rules of the container. */
  readonly rules: readonly ExecRule[];
  /** Expands the references in a text of a rule. */
  expand(text: string): string;
  /** The container name in messages. */
  readonly name: string;
}

/** Resolves a path against the working directory. */
export const resolvePath = ({workingDirectory}: CommandContext, path: string): string => posix.resolve(workingDirectory, path);
