import type {ProbeResult} from '#src/platlet/pod/probe-results.js';

/** The result of one probe, and the message of the event. A warning is a success that is reported. */
export interface ProbeOutcome {
  readonly result: ProbeResult;
  readonly output: string;
  readonly isWarning?: boolean;
  /** Why the probe could not be run: it is retried at once. */
  readonly error?: string;
}

/** The maximum length of the recorded output. */
const maxOutputBytes = 10 * 1024;

export const success = (output = ''): ProbeOutcome => ({result: 'success', output});
export const failure = (output: string): ProbeOutcome => ({result: 'failure', output});
export const probeError = (error: string): ProbeOutcome => ({result: 'unknown', output: '', error});

export const truncatedOutput = (output: string): string => Buffer.from(output).subarray(0, maxOutputBytes).toString();
