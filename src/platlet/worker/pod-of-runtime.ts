// Rebuilds pods that only the runtime has.

import type {Container, Pod} from '#src/api/pod.js';
import {containerKeys} from '#src/platlet/inputs/annotations.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';

/** Returns the preStop hook recorded in the annotations of a container. */
const notedHook = (text: string | undefined): Container['lifecycle'] => {
  try {
    return text === undefined ? undefined : {preStop: JSON.parse(text) as NonNullable<Container['lifecycle']>['preStop'] & object};
  } catch {
    return undefined;
  }
};

/** Rebuilds a pod from the annotations of its containers. */
export const podFrom = ({pod: {uid, name, namespace}, containers}: RuntimePod): Pod => {
  const {deletionGrace, terminationGrace, preStop} = containerKeys;
  const grace = containers.flatMap(({annotations}) => annotations[deletionGrace] ?? annotations[terminationGrace] ?? [])[0];
  const newest = new Map(containers.toReversed().map(container => [container.name, container]));
  return {
    metadata: {uid, name, namespace},
    spec: {
      containers: [...newest.values()].map(({name: each, annotations}) => {
        const lifecycle = notedHook(annotations[preStop]);
        return {name: each, ...(lifecycle ? {lifecycle} : {})};
      }),
      ...(grace === undefined ? {} : {terminationGracePeriodSeconds: Number(grace)}),
    },
  };
};
