import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';

/** Environment values by name; undefined for values that depend on other objects or the node. */
export type Values = ReadonlyMap<string, string | undefined>;

const mapField = /^metadata\.(labels|annotations)\['(.+)'\]$/;

/** Returns the value of a pod field for the environment; undefined for fields of the node. */
const fieldValue = ({metadata, spec}: Frozen<Pod>, path: string): string | undefined => {
  const [, map, key = ''] = mapField.exec(path) ?? [];
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

/** Replaces the references `$(NAME)` in a text; undefined if one of them is unknown. `$$` stands for a dollar. */
export const expand = (text: string, valueOf: (name: string) => string | undefined): string | undefined => {
  let isKnown = true;
  const result = text.replaceAll(/\$\$|\$\(([^)]*)\)/g, (found, name: string | undefined) => {
    if (found === '$$') return '$';
    const value = valueOf(name!);
    if (value === undefined) isKnown = false;
    return value ?? '';
  });
  return isKnown ? result : undefined;
};

/** Replaces the references `$(NAME)` with known values; the others stay. `$$` stands for a dollar. */
export const expandKnown = (text: string, valueOf: (name: string) => string | undefined): string =>
  text.includes('$')
    ? text.replaceAll(/\$\$|\$\(([^)]*)\)/g, (found, name: string | undefined) => (name === undefined ? '$' : (valueOf(name) ?? found)))
    : text;

/** Returns the environment of a container, as far as the pod determines it. */
export const environment = (pod: Frozen<Pod>, {env = []}: Frozen<AnyContainer>): Values => {
  const values = new Map<string, string | undefined>();
  for (const {name, value, valueFrom} of env) {
    const text = valueFrom
      ? valueFrom.fieldRef
        ? fieldValue(pod, valueFrom.fieldRef.fieldPath)
        : undefined
      : expand(value ?? '', other => (values.has(other) ? values.get(other) : `$(${other})`));
    values.set(name, text);
  }
  return values;
};
