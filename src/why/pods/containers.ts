// Why a container of a pod does not run or is not ready: pure functions over its status and the events of the pod.

import {parseDuration} from '#src/api/duration.js';
import type {Container, ContainerStatus, Pod} from '#src/api/pod.js';
import {parseTime, wireTime} from '#src/api/time.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {newest, type EventFact} from '#src/why/facts/cluster.js';
import type {Finding} from '#src/why/facts/finding.js';

/** A container with its status, and what is known besides. */
export interface Seen {
  readonly pod: Pod;
  readonly container: Container;
  readonly status: ContainerStatus;
  readonly events: readonly EventFact[];
  /** `container app`, `init container setup`. */
  readonly title: string;
}

const logsOf = ({pod, container}: Seen, isPrevious: boolean): string =>
  `kubectl logs ${pod.metadata?.name} -n ${pod.metadata?.namespace} -c ${container.name}${isPrevious ? ' --previous' : ''}`;

const pulls = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);

const pull = ({container, status, events, title}: Seen): Finding => {
  const {reason = '', message = ''} = status.state?.waiting ?? {};
  const failure = events.find(each => each.reason === 'Failed' && each.message.startsWith('Failed to pull image'));
  const cause = reason === 'ImagePullBackOff' ? (failure?.message ?? message) : message || reason;
  return {
    rule: 'image-pull',
    sentence: `the image ${container.image} of its ${title} cannot be pulled: ${cause.replace(/^Failed to pull image "[^"]*": /, '').replace(/^rpc error: code = \w+ desc = /, '')}`,
    since: failure?.first,
    ends:
      reason === 'InvalidImageName' || reason === 'ErrImageNeverPull'
        ? 'Another image, or another imagePullPolicy.'
        : 'An image of this name in the registry, or the credentials for it (imagePullSecrets); the agent tries again, at most five minutes later.',
  };
};

/** The end of a back-off, by the words of the agent: `back-off 40s restarting failed container`. */
const nextStart = ({status}: Seen): string | undefined => {
  const [, text = ''] = /back-off (\S+) restarting/.exec(status.state?.waiting?.message ?? '') ?? [];
  const backOff = parseDuration(text);
  const finished = parseTime(status.lastState?.terminated?.finishedAt);
  return backOff === undefined || finished === undefined ? undefined : wireTime(finished + backOff);
};

const exitText = ({exitCode, reason, signal}: {readonly exitCode: number; readonly reason?: string; readonly signal?: number}): string =>
  `code ${exitCode}${signal ? `, signal ${signal}` : ''}${reason ? ` (${reason})` : ''}`;

const crash = (seen: Seen): Finding => {
  const {container, status, events, title} = seen;
  const last = status.lastState?.terminated ?? {exitCode: 0};
  const at = nextStart(seen);
  const restart = at === undefined ? '' : ` The agent starts it again at ${at}.`;
  const since = last.finishedAt;
  if (last.reason === 'OOMKilled') {
    const limit = container.resources?.limits?.['memory'];
    return {
      rule: 'out-of-memory',
      sentence: `its ${title} is killed, as it uses more memory than ${limit ? `its limit of ${limit}` : 'there is'} (OOMKilled), and has restarted ${times(status)}`,
      since,
      ends: `A higher limit of memory, or a program that uses less.${restart}`,
    };
  }
  const probe = newest(events, 'Killing')?.message.match(/failed (liveness|startup) probe/)?.[1];
  const failure = probe && events.find(({reason, message}) => reason === 'Unhealthy' && message.toLowerCase().startsWith(probe));
  if (probe)
    return {
      rule: `${probe}-probe`,
      sentence: `its ${title} is restarted again and again, as its ${probe} probe fails${failure ? `: ${withoutTitle(failure.message)}` : ''}`,
      since,
      ends: `A program that answers the probe in time, or another ${probe}Probe.${restart}`,
    };
  return {
    rule: 'crash-loop',
    sentence: `its ${title} ends again and again, the last time with ${exitText(last)}, and has restarted ${times(status)}`,
    since,
    ends: `A program that ${title.startsWith('init') ? 'ends with code 0' : 'keeps running'}: ${logsOf(seen, true)}.${restart}`,
  };
};

const times = ({restartCount}: ContainerStatus): string => ({1: 'once', 2: 'twice'})[restartCount] ?? `${restartCount} times`;

const withoutTitle = (message: string): string => message.replace(/^\w+ probe failed: /, '').trim();

const configuration = ({pod, status, title, events}: Seen): Finding => {
  const {reason = '', message = ''} = status.state?.waiting ?? {};
  const [, kind, name] = /^(secret|configmap) "([^"]+)" not found$/.exec(message) ?? [];
  const [, key] = /^couldn't find key (\S+) in/.exec(message) ?? [];
  return {
    rule: reason === 'CreateContainerConfigError' ? 'container-configuration' : 'container-creation',
    sentence: `its ${title} cannot be created: ${message || reason}`,
    since: newest(events, 'Failed')?.first,
    ends: name
      ? `The creation of the ${kind === 'secret' ? 'secret' : 'config map'} ${name} in the namespace ${pod.metadata?.namespace}.`
      : key
        ? `The key ${key} in the object that the message names.`
        : 'A container that can be created; the agent tries again.',
  };
};

const probed = (seen: Seen, probe: 'startup' | 'readiness'): Finding => {
  const {container, events, title, status} = seen;
  const has = probe === 'startup' ? container.startupProbe : container.readinessProbe;
  const failure = events.find(({reason, message}) => reason === 'Unhealthy' && message.toLowerCase().startsWith(probe));
  const state = probe === 'startup' ? 'has not started' : 'is not ready';
  return {
    rule: has ? `${probe}-probe` : 'not-ready',
    sentence: has
      ? `its ${title} runs and ${state}, as its ${probe} probe ${failure ? `fails: ${withoutTitle(failure.message)}` : 'has not succeeded'}`
      : `its ${title} runs and ${state}`,
    since: failure?.first ?? status.state?.running?.startedAt,
    ends: has
      ? `A program that answers the probe, or another ${probe}Probe.`
      : 'The agent of the node, once it says that the container is ready.',
  };
};

const ended = (seen: Seen): Finding => {
  const {title, status} = seen;
  const last = status.state?.terminated ?? {exitCode: 0};
  return {
    rule: 'container-ended',
    sentence: `its ${title} has ended with ${exitText(last)} and is not ready`,
    since: last.finishedAt,
    ends: `The agent of the node starts it again if its restart policy says so: ${logsOf(seen, false)}.`,
  };
};

/** Why a container does not run, or is not ready; undefined if it is. */
export const containerFinding = (seen: Seen): Finding | undefined => {
  const {status, container, title, events} = seen;
  const {waiting, running, terminated} = status.state ?? {};
  const isInit = title.startsWith('init');
  if (waiting?.reason === 'CrashLoopBackOff') return crash(seen);
  if (pulls.has(waiting?.reason ?? '')) return pull(seen);
  if (waiting?.reason?.endsWith('Error')) return configuration(seen);
  if (terminated) return isInit && terminated.exitCode === 0 ? undefined : status.ready ? undefined : ended(seen);
  if (running && isInit && !isSidecar(container))
    return {
      rule: 'init-container',
      sentence: `its ${title} runs, and the others start after it has ended`,
      since: running.startedAt,
      ends: `The end of the ${title} with code 0: ${logsOf(seen, false)}.`,
    };
  if (running && status.started === false) return probed(seen, 'startup');
  if (running) return status.ready || isInit ? undefined : probed(seen, 'readiness');
  const pulling = newest(events, 'Pulling', 'Pulled');
  return {
    rule: 'container-starting',
    sentence:
      pulling?.reason === 'Pulling'
        ? `the image ${container.image} of its ${title} is being pulled`
        : `its ${title} is being started (${waiting?.reason ?? 'not reported yet'})`,
    since: pulling?.reason === 'Pulling' ? pulling.last : undefined,
    ends: 'The agent of the node, once it has started the container.',
  };
};
