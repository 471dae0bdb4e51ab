import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {environment, expand, type Values} from './environment.js';

/** Variables that a node makes of the services there are. */
const ofServices = /_(SERVICE_HOST|SERVICE_PORT|PORT)(_|$)/;

const subPathError = (expression: string, values: Values, isComplete: boolean): string | undefined => {
  const missing = new Set<string>();
  const path = expand(expression, name => {
    if (!values.has(name) && (!isComplete || ofServices.test(name))) return undefined;
    if (values.has(name) && values.get(name) === undefined) return undefined;
    const value = values.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0) return `missing value for ${[...missing].sort().join(', ')}`;
  if (path?.startsWith('/')) return `error SubPath \`${path}\` must not be an absolute path`;
  return path?.split('/').includes('..') ? `unable to provision SubPath \`${path}\`: must not contain '..'` : undefined;
};

const mountsOf = ({volumeMounts = []}: Frozen<AnyContainer>): readonly string[] => volumeMounts.flatMap(({subPathExpr}) => subPathExpr || []);

/** Whether a container mounts a part of a volume that its environment names. */
export const usesSubPathExpr = (container: Frozen<AnyContainer>): boolean => mountsOf(container).length > 0;

/** Why a container's mounts cannot be made of its environment; undefined where they can, or where that hangs on what only other objects tell. */
export const containerSubPathError = (pod: Frozen<Pod>, container: Frozen<AnyContainer>): string | undefined => {
  const expressions = mountsOf(container);
  if (expressions.length === 0) return undefined;
  const values = environment(pod, container);
  for (const expression of expressions) {
    const error = subPathError(expression, values, !container.envFrom?.length);
    if (error !== undefined) return error;
  }
  return undefined;
};
