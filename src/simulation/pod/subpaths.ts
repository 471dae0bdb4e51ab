import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {expand} from '#src/model/pod/expansion.js';
import {environment, type Values} from '#src/simulation/command/environment.js';

/** Variables that a node derives from services. */
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

const mountsOf = ({volumeMounts = []}: Frozen<AnyContainer>): readonly string[] =>
  volumeMounts.flatMap(({subPathExpr}) => subPathExpr || []);

/** Whether a container uses `subPathExpr`. */
export const usesSubPathExpr = (container: Frozen<AnyContainer>): boolean => mountsOf(container).length > 0;

/**
 * Returns why a container's subpaths cannot be expanded; undefined where they can, or where that depends on other
 * objects.
 */
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
