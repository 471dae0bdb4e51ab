import type {PodSpec} from '#src/api/pod.js';
import {containersOf} from './containers.js';

/** Returns the names of all config maps that a pod uses. They may repeat. */
export const configMapNamesOf = (spec: Readonly<PodSpec>): string[] => {
  const names: string[] = [];
  const found = (name: string | undefined): void => {
    if (name !== undefined) names.push(name);
  };
  for (const {env, envFrom} of containersOf(spec)) {
    for (const {configMapRef} of envFrom ?? []) found(configMapRef?.name);
    for (const {valueFrom} of env ?? []) found(valueFrom?.configMapKeyRef?.name);
  }
  for (const {configMap, projected} of spec.volumes ?? []) {
    found(configMap?.name);
    for (const source of projected?.sources ?? []) found(source.configMap?.name);
  }
  return names;
};
