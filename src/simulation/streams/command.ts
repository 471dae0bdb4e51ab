import {posix} from 'node:path';
import {AgentError, type RunCommand} from '#src/api/node/agent.js';
import {commandEnvironment} from '#src/simulation/rules/inferred-settings.js';
import type {CommandContext, CommandIo} from '#src/simulation/exec/context.js';
import {commandIo} from '#src/simulation/exec/io.js';
import {runCommand} from '#src/simulation/exec/shell.js';
import {Files} from '#src/simulation/files/files.js';
import {expandKnown} from '#src/model/pod/expansion.js';
import type {RunRecord} from '#src/simulation/pod/record.js';
import type {SimulationContext} from '#src/simulation/node/context.js';
import {valueIn, type ContainerTarget, type PodRecords} from './target.js';

/** The exit code of SIGKILL. */
const killedExitCode = 137;

export type StreamContext = Pick<SimulationContext, 'naming' | 'clock' | 'timeline' | 'fileBudget'>;

/** Returns the record of a container's current run. Throws an agent error where there is none. */
export const currentRun = ({record, own}: ContainerTarget): RunRecord => {
  const run = own.state.is === 'running' ? record.runs.get(own.id ?? '') : undefined;
  if (!run) throw new AgentError(500, `container not found (${JSON.stringify(own.name)})`);
  return run;
};

const filesOf = (
  run: RunRecord,
  {of: {container}}: ContainerTarget,
  given: readonly (readonly [path: string, text: string])[],
  {clock, fileBudget}: StreamContext,
): Files => {
  if (run.files) return run.files;
  const files = new Files(fileBudget, [container.workingDir ?? '/', ...(container.volumeMounts ?? []).map(({mountPath}) => mountPath)]);
  for (const [path, text] of given) files.put(posix.normalize(path), {content: Buffer.from(text), mode: 0o644, modifiedAt: clock.now()});
  return (run.files = files);
};

/** Returns the context of commands in a container. */
export const commandContextFor = (
  context: StreamContext,
  {behaviors}: Pick<PodRecords, 'behaviors'>,
  target: ContainerTarget,
  signal: AbortSignal,
): CommandContext => {
  const {record, of} = target;
  const {exec: rules = [], files = {}} = behaviors.of(record.pod, of);
  const valueOf = valueIn(target, context.naming);
  return {
    clock: context.clock,
    signal,
    rules,
    files: filesOf(
      currentRun(target),
      target,
      Object.entries(files).map(([path, text]) => [path, expandKnown(text, valueOf)]),
      context,
    ),
    workingDirectory: of.container.workingDir ?? '/',
    environment: commandEnvironment(record.pod, of.container),
    expand: text => expandKnown(text, valueOf),
    name: `container ${of.container.name} of pod ${record.key}`,
  };
};

/** Runs an operation until the run ends or the client disconnects. Resolves with the SIGKILL code if the run ended. */
export const whileRunning = async (
  target: ContainerTarget,
  disconnected: AbortSignal,
  operation: (signal: AbortSignal) => Promise<number>,
): Promise<number> => {
  const {record, own} = target;
  const run = currentRun(target);
  const ending = new AbortController();
  const checkRun = () => {
    const isRunning = record.forgottenAt === undefined && own.state.is === 'running' && record.runs.get(own.id ?? '') === run;
    if (!isRunning) ending.abort();
  };
  const onDisconnect = () => ending.abort();
  record.listeners.add(checkRun);
  disconnected.addEventListener('abort', onDisconnect, {once: true});
  if (disconnected.aborted) onDisconnect();
  try {
    return await Promise.race([operation(ending.signal), killedOnAbort(ending.signal)]);
  } catch (error) {
    if (ending.signal.aborted) return killedExitCode;
    throw error;
  } finally {
    record.listeners.delete(checkRun);
    disconnected.removeEventListener('abort', onDisconnect);
    ending.abort();
  }
};

const killedOnAbort = (signal: AbortSignal): Promise<number> =>
  new Promise(resolve => {
    signal.addEventListener('abort', () => resolve(killedExitCode), {once: true});
    if (signal.aborted) resolve(killedExitCode);
  });

/** Executes a command in a container. Throws an agent error where the container does not run. */
export const execInContainer = (
  context: StreamContext,
  pods: Pick<PodRecords, 'behaviors'>,
  target: ContainerTarget,
  command: readonly string[],
): RunCommand => {
  currentRun(target);
  return (streams, disconnected) =>
    whileRunning(target, disconnected, signal => {
      const io: CommandIo = commandIo(streams);
      return runCommand(command, io, commandContextFor(context, pods, target, signal));
    });
};
