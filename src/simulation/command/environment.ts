import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';

/** Environment values by name; undefined for values that depend on other objects or the node. */
export type Values = ReadonlyMap<string, string | undefined>;

/** The length of all values up to which they are expanded: references to references could grow without end, and Linux starts no program with more. */
const longestValues = 2 << 20;

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
  const result = expanded(text, name => {
    const value = valueOf(name);
    if (value === undefined) isKnown = false;
    return value ?? '';
  });
  return isKnown ? result : undefined;
};

/** Replaces `$$` and references, in one pass however many references are not closed. */
const expanded = (text: string, replacement: (name: string) => string): string => {
  const lastClosing = text.lastIndexOf(')');
  let result = '';
  let from = 0;
  for (let at = text.indexOf('$'); at >= 0; at = text.indexOf('$', at)) {
    const isReference = text[at + 1] === '(' && at < lastClosing;
    if (!isReference && text[at + 1] !== '$') {
      at += 1;
      continue;
    }
    const end = isReference ? text.indexOf(')', at) : at + 1;
    result += text.slice(from, at) + (isReference ? replacement(text.slice(at + 2, end)) : '$');
    from = at = end + 1;
    if (result.length > longestValues) return result;
  }
  return result + text.slice(from);
};

/** Replaces the references `$(NAME)` with known values; the others stay. `$$` stands for a dollar. */
export const expandKnown = (text: string, valueOf: (name: string) => string | undefined): string =>
  expanded(text, name => valueOf(name) ?? `$(${name})`);

/** Returns the environment of a container, as far as the pod determines it. Values beyond what a program can have are not known. */
export const environment = (pod: Frozen<Pod>, {env = []}: Frozen<AnyContainer>): Values => {
  const values = new Map<string, string | undefined>();
  let length = 0;
  for (const {name, value, valueFrom} of env) {
    const text = valueFrom
      ? valueFrom.fieldRef
        ? fieldValue(pod, valueFrom.fieldRef.fieldPath)
        : undefined
      : expand(value ?? '', other => (values.has(other) ? values.get(other) : `$(${other})`));
    length += text?.length ?? 0;
    values.set(name, length > longestValues ? undefined : text);
  }
  return values;
};
