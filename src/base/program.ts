import {execFile} from 'node:child_process';

export interface ProgramOptions {
  readonly signal: AbortSignal;
  /** The most bytes of output that are read; more is an error. */
  readonly maxBytes: number;
}

/**
 * Runs a program to its end and returns its standard output, whatever its exit code is. Rejects if it cannot be run, or
 * prints nothing and fails.
 */
export const runProgram = (file: string, args: readonly string[], {signal, maxBytes}: ProgramOptions): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(file, args, {signal, maxBuffer: maxBytes, env: process.env}, (error, stdout, stderr) => {
      if (error && (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER' || signal.aborted || stdout.trim() === ''))
        reject(new Error(stderr.trim().split('\n')[0] || error.message, {cause: error}));
      else resolve(stdout);
    });
  });
