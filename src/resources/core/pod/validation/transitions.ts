import {forbiddenField, type FieldError} from '#src/api/field-error.js';
import type {AnyContainer, Pod, PodSpec} from '#src/api/pod.js';
import {isSidecar, mayRestart} from '#src/model/pod/restart.js';
import type {PodSpecRules} from './rules.js';

export const statusLists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;
export type StatusList = (typeof statusLists)[number];

/** Returns the containers of a list of statuses. */
export const containersOf = (spec: PodSpec, list: StatusList): readonly AnyContainer[] =>
  (list === 'containerStatuses' ? spec.containers : list === 'initContainerStatuses' ? spec.initContainers : spec.ephemeralContainers) ??
  [];

/** Reports whether a container may restart without restart rules: by the pod's policy, or because it is a sidecar. */
const mayRestartPlainly = ({restartPolicy}: PodSpec, list: StatusList, container: AnyContainer | undefined, exitCode: number): boolean =>
  restartPolicy === 'Always' ||
  (restartPolicy === 'OnFailure' && exitCode !== 0) ||
  (list === 'initContainerStatuses' && container !== undefined && isSidecar(container));

const anyRestartsAll = (spec: PodSpec): boolean =>
  [...(spec.initContainers ?? []), ...spec.containers].some(({restartPolicyRules = []}) =>
    restartPolicyRules.some(({action}) => action === 'RestartAllContainers'),
  );

/** Validates that a terminated container does not run again unless it may restart. */
export function* validateTransitions(
  pod: Readonly<Pod>,
  old: Readonly<Pod>,
  list: StatusList,
  {gate, allow}: PodSpecRules,
): Iterable<FieldError> {
  const spec = old.spec!;
  const isFixed = list === 'ephemeralContainerStatuses';
  if (!isFixed && allow.restartRules && allow.restartAll && anyRestartsAll(spec)) return;
  for (const [i, before] of (old.status?.[list] ?? []).entries()) {
    const ended = before.state?.terminated;
    const now = pod.status?.[list]?.find(({name, state}) => name === before.name && !state?.terminated);
    if (!ended || !now) continue;
    const container = containersOf(spec, list).find(({name}) => name === before.name);
    const allowed =
      !isFixed &&
      (allow.restartRules
        ? container !== undefined && mayRestart(container, spec, ended.exitCode, gate('RestartAllContainersOnContainerExits'))
        : mayRestartPlainly(spec, list, container, ended.exitCode));
    if (!allowed) yield forbiddenField(`status.${list}[${i}].state`, 'may not be transitioned to non-terminated state');
  }
}
