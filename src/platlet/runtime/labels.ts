// Labels by which sandboxes and containers are found again. The keys are the same in every naming: other tools of the
// runtime read them.

import type {PodIdentity} from './state.js';

const keys = {
  name: 'io.kubernetes.pod.name',
  namespace: 'io.kubernetes.pod.namespace',
  uid: 'io.kubernetes.pod.uid',
  container: 'io.kubernetes.container.name',
} as const;

/** Returns the labels of a pod's sandboxes and containers; those of a container have its name too. */
export const identityLabels = ({name, namespace, uid}: PodIdentity, container?: string): Readonly<Record<string, string>> => ({
  [keys.name]: name,
  [keys.namespace]: namespace,
  [keys.uid]: uid,
  ...(container === undefined ? {} : {[keys.container]: container}),
});

/** Returns the label that all sandboxes and containers of a pod have in common. */
export const uidLabel = (uid: string): Readonly<Record<string, string>> => ({[keys.uid]: uid});

/** Returns the pod that labels name; undefined if they name none. */
export const identityOf = (labels: Readonly<Record<string, string>>): PodIdentity | undefined => {
  const {[keys.name]: name = '', [keys.namespace]: namespace = '', [keys.uid]: uid = ''} = labels;
  return uid === '' ? undefined : {uid, namespace, name};
};
