// Labels that identify sandboxes and containers. The keys are the same in every naming, since other tools of the
// runtime read them.

import type {PodIdentity} from './state.js';

const keys = {
  name: 'io.kubernetes.pod.name',
  namespace: 'io.kubernetes.pod.namespace',
  uid: 'io.kubernetes.pod.uid',
  container: 'io.kubernetes.container.name',
} as const;

/** Returns the labels of a pod's sandboxes, or of one of its containers. */
export const identityLabels = ({name, namespace, uid}: PodIdentity, container?: string): Readonly<Record<string, string>> => ({
  [keys.name]: name,
  [keys.namespace]: namespace,
  [keys.uid]: uid,
  ...(container === undefined ? {} : {[keys.container]: container}),
});

/** Returns the label shared by all sandboxes and containers of a pod. */
export const uidLabel = (uid: string): Readonly<Record<string, string>> => ({[keys.uid]: uid});

/** Returns the pod identified by labels; undefined if they identify none. */
export const identityOf = (labels: Readonly<Record<string, string>>): PodIdentity | undefined => {
  const {[keys.name]: name = '', [keys.namespace]: namespace = '', [keys.uid]: uid = ''} = labels;
  return uid === '' ? undefined : {uid, namespace, name};
};
