import type {ProbeResult} from '#src/platlet/pod/probe-results.js';

/** What one probe found: the result that counts, and the text for events. A warning is a success that is reported. */
export interface ProbeOutcome {
  readonly result: ProbeResult;
  readonly output: string;
  readonly isWarning?: boolean;
  /** Why the probe itself could not be made: it is tried again at once. */
  readonly error?: string;
}

/** The most of the output that is kept. */
const maxOutputBytes = 10 * 1024;

export const success = (output = ''): ProbeOutcome => ({result: 'success', output});
export const failure = (output: string): ProbeOutcome => ({result: 'failure', output});
export const errored = (error: string): ProbeOutcome => ({result: 'unknown', output: '', error});

export const shortened = (output: string): string => Buffer.from(output).subarray(0, maxOutputBytes).toString();
