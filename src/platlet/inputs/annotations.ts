// Annotations of containers, by which a container can be stopped and described when its pod is unknown.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Container, Pod} from '#src/api/pod.js';
import {containerHash, hashAnnotation} from '#src/platlet/pod/hash.js';

/** The annotations of containers. The keys are the same in every naming: other tools of the runtime read them. */
export const containerKeys = {
  restartCount: 'io.kubernetes.container.restartCount',
  messagePath: 'io.kubernetes.container.terminationMessagePath',
  messagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  preStop: 'io.kubernetes.container.preStopHandler',
  ports: 'io.kubernetes.container.ports',
  deletionGrace: 'io.kubernetes.pod.deletionGracePeriod',
  terminationGrace: 'io.kubernetes.pod.terminationGracePeriod',
} as const;

/** Returns the annotations of a container. */
export const containerAnnotations = (
  {metadata, spec}: Frozen<Pod>,
  container: Frozen<AnyContainer>,
  attempt: number,
): Readonly<Record<string, string>> => {
  const {lifecycle, ports = []} = container as Frozen<Container>;
  const annotations: Record<string, string> = {
    [hashAnnotation]: containerHash(container),
    [containerKeys.restartCount]: String(attempt),
    [containerKeys.messagePath]: container.terminationMessagePath ?? '',
    [containerKeys.messagePolicy]: container.terminationMessagePolicy ?? '',
  };
  if (metadata?.deletionGracePeriodSeconds !== undefined)
    annotations[containerKeys.deletionGrace] = String(metadata.deletionGracePeriodSeconds);
  if (spec?.terminationGracePeriodSeconds !== undefined)
    annotations[containerKeys.terminationGrace] = String(spec.terminationGracePeriodSeconds);
  if (lifecycle?.preStop) annotations[containerKeys.preStop] = JSON.stringify(lifecycle.preStop);
  if (ports.length > 0) annotations[containerKeys.ports] = JSON.stringify(ports);
  return annotations;
};
