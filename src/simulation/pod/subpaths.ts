import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';

/** A value of the environment; undefined where other objects hold it, which nobody reads here. */
type Values = Map<string, string | undefined>;

const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/;

/** What a field of the pod says to the environment; undefined for those that come from the node. */
const fieldValue = ({metadata, spec}: Frozen<Pod>, path: string): string | undefined => {
  const [, map, key = ''] = keyed.exec(path) ?? [];
  if (map) return metadata?.[map as 'labels' | 'annotations']?.[key] ?? '';
  switch (path) {
    case 'metadata.name':
    case 'metadata.namespace':
    case 'metadata.uid':
      return metadata?.[path.slice('metadata.'.length) as 'name' | 'namespace' | 'uid'] ?? '';
    case 'spec.nodeName':
    case 'spec.serviceAccountName':
      return spec?.[path.slice('spec.'.length) as 'nodeName' | 'serviceAccountName'] ?? '';
    default:
      return undefined;
  }
};

/** A text with its references replaced; undefined once one of them has a value nobody knows. `$$` stands for a dollar. */
const expanded = (text: string, valueOf: (name: string) => string | undefined): string | undefined => {
  let isKnown = true;
  const result = text.replaceAll(/\$\$|\$\(([^)]*)\)/g, (found, name: string | undefined) => {
    if (found === '$$') return '$';
    const value = valueOf(name!);
    if (value === undefined) isKnown = false;
    return value ?? '';
  });
  return isKnown ? result : undefined;
};

const environment = (pod: Frozen<Pod>, {env = []}: Frozen<AnyContainer>): Values => {
  const values: Values = new Map();
  for (const {name, value, valueFrom} of env) {
    const text = valueFrom ? (valueFrom.fieldRef ? fieldValue(pod, valueFrom.fieldRef.fieldPath) : undefined) : expanded(value ?? '', other => (values.has(other) ? values.get(other) : `$(${other})`));
    values.set(name, text);
  }
  return values;
};

/** Variables that a node makes of the services there are. */
const ofServices = /_(SERVICE_HOST|SERVICE_PORT|PORT)(_|$)/;

const faultOf = (expression: string, values: Values, isWhole: boolean): string | undefined => {
  const missing = new Set<string>();
  const path = expanded(expression, name => {
    if (!values.has(name) && (!isWhole || ofServices.test(name))) return undefined;
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
export const namesSubPaths = (container: Frozen<AnyContainer>): boolean => mountsOf(container).length > 0;

/** Why a container's mounts cannot be made of its environment; undefined where they can, or where that hangs on what only other objects tell. */
export const subPathFault = (pod: Frozen<Pod>, container: Frozen<AnyContainer>): string | undefined => {
  const expressions = mountsOf(container);
  if (expressions.length === 0) return undefined;
  const values = environment(pod, container);
  for (const expression of expressions) {
    const fault = faultOf(expression, values, !container.envFrom?.length);
    if (fault !== undefined) return fault;
  }
  return undefined;
};
