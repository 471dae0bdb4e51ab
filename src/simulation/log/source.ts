import {AgentError} from '#src/api/node/agent.js';
import type {ContainerRecord, Termination, PodRecord} from '#src/simulation/pod/record.js';
import type {LogEntry} from '#src/simulation/rules/log-entry.js';
import type {RunLog} from './lines.js';

/** The log of one run, and the time of its end. */
export interface LogSource {
  readonly log: RunLog;
  /** In ms of the timeline of pods; undefined while the run is in progress. */
  endedAt(): number | undefined;
}

export interface LogSettings {
  /** The log entries of the container's rules, for a run without a record. */
  readonly entries: readonly LogEntry[];
  valueOf(name: string): string | undefined;
}

type Run = Pick<Termination, 'id' | 'startedAt'>;

const waitingText = (reason: string): string => {
  if (reason === 'ErrImagePull') return "image can't be pulled";
  return reason === 'ImagePullBackOff' ? 'trying and failing to pull image' : reason;
};

/** Returns the run whose log is requested. Throws an error where there is none. */
const runOf = ({pod: {metadata, spec}}: PodRecord, {name, state, last, id}: ContainerRecord, previous: boolean): Run => {
  const which = `container ${JSON.stringify(name)} in pod ${JSON.stringify(metadata?.name)}`;
  if (previous) {
    if (!last?.id) throw new AgentError(400, `previous terminated ${which} not found`);
    return last;
  }
  if (state.is === 'running') return {startedAt: state.startedAt, ...(id ? {id} : {})};
  const ended = state.is === 'ended' && state.id ? state : last;
  if (ended?.id) return ended;
  if (state.is === 'ended') throw new AgentError(400, `${which} is terminated`);
  const {reason = spec?.initContainers?.length ? 'PodInitializing' : 'ContainerCreating'} = state;
  throw new AgentError(400, `${which} is waiting to start: ${waitingText(reason)}`);
};

const endOf = (record: PodRecord, {state, last, id}: ContainerRecord, run: string | undefined): number | undefined => {
  if (record.forgottenAt !== undefined) return record.forgottenAt;
  if (state.is === 'running' && id === run) return undefined;
  const ended = state.is === 'ended' && state.id === run ? state : last?.id === run ? last : undefined;
  return ended?.finishedAt ?? 0;
};

/**
 * Returns the log of a container's current or last run, or of the previous one. Throws an error where there is none.
 */
export const logSource = (record: PodRecord, container: ContainerRecord, previous: boolean, {entries, valueOf}: LogSettings): LogSource => {
  const {id = '', startedAt = record.startTime} = runOf(record, container, previous);
  const kept = record.runs.get(id);
  return {
    log: {
      startedAt,
      get entries() {
        return kept ? [...kept.entries, ...kept.written] : entries;
      },
      valueOf: (name, count) => (name === 'COUNT' ? String(count) : valueOf(name)),
    },
    endedAt: () => endOf(record, container, id),
  };
};
