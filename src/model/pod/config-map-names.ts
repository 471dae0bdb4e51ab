import type {PodSpec} from '#src/api/pod.js';
import {containersOf} from './containers.js';

/** Returns the names of all config maps that a pod uses. They may repeat. */
export const configMapNamesOf = (spec: Readonly<PodSpec>): string[] =>
  [
    ...containersOf(spec).flatMap(({env = [], envFrom = []}) => [
      ...envFrom.map(({configMapRef}) => configMapRef?.name),
      ...env.map(({valueFrom}) => valueFrom?.configMapKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(({configMap, projected}) => [
      configMap?.name,
      ...(projected?.sources ?? []).map(source => source.configMap?.name),
    ]),
  ].filter(name => name !== undefined);
