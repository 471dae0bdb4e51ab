// The journal of the system's services, by journalctl.

import {spawn} from 'node:child_process';
import {PassThrough, type Readable} from 'node:stream';
import {confineErrors} from '#src/base/emitters/confined.js';
import {runProgram} from '#src/base/program.js';

/** The journal of the system. */
export interface Journal {
  /** Returns the units with lines in the journal, one per line. Rejects without a journal. */
  units(signal: AbortSignal): Promise<string>;
  /**
   * Returns the output of journalctl, including standard error; it fails if that cannot be run. The process is killed
   * when the signal aborts.
   */
  read(args: readonly string[], signal: AbortSignal): Readable;
}

const program = 'journalctl';
const maxUnitBytes = 4 << 20;

/** The journal of the machine. */
export const systemJournal: Journal = {
  units: signal => runProgram(program, ['--field', '_SYSTEMD_UNIT'], {signal, maxBytes: maxUnitBytes}),
  read(args, signal) {
    const output = new PassThrough();
    const child = confineErrors(spawn(program, args, {signal, stdio: ['ignore', 'pipe', 'pipe']}));
    for (const stream of [child.stdout, child.stderr, output]) confineErrors(stream);
    child.stdout.pipe(output, {end: false});
    child.stderr.pipe(output, {end: false});
    child.on('error', error => (signal.aborted ? output.end() : output.destroy(error)));
    child.on('close', () => output.end());
    return output;
  },
};
