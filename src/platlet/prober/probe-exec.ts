import {formatDuration} from '#src/api/duration.js';
import {messageOf} from '#src/base/message.js';
import {RuntimeError, type Runtime} from '#src/platlet/runtime/runtime.js';
import {probeError, failure, truncatedOutput, success, type ProbeOutcome} from './outcome.js';

/** Probes by a command in the container. */
export const probeExec = async (
  runtime: Pick<Runtime, 'execSync'>,
  id: string,
  command: readonly string[],
  timeoutSeconds: number,
): Promise<ProbeOutcome> => {
  try {
    const {stdout, stderr, exitCode} = await runtime.execSync(id, command, timeoutSeconds);
    const output = truncatedOutput(Buffer.concat([stdout, stderr]).toString());
    return exitCode === 0 ? success(output) : failure(output);
  } catch (error) {
    if (error instanceof RuntimeError && error.kind === 'timeout')
      return failure(`command timed out: ${JSON.stringify(command.join(' '))} timed out after ${formatDuration(timeoutSeconds * 1000)}`);
    return probeError(messageOf(error));
  }
};
