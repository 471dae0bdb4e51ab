import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';

const noKind = {group: '', version: '', kind: ''};

const kindOf = ({group = '', version = '', kind}: PlainObject): object => (kind ? {group, version, kind} : noKind);

const scopeOf = ({namespaced}: PlainObject): string => (namespaced ? 'Namespaced' : 'Cluster');

/** Keeps only lists with items. */
const filled = (of: PlainObject, fields: readonly string[]): PlainObject =>
  Object.fromEntries(fields.flatMap(field => (Array.isArray(of[field]) && of[field].length > 0 ? [[field, of[field]]] : [])));

/**
 * Converts an `APIResourceList` to the form of aggregated discovery, in which subresources are listed with their
 * resource.
 */
export const resourcesOfList = (list: unknown): readonly PlainObject[] => {
  const lines = (isPlainObject(list) && Array.isArray(list['resources']) ? list['resources'] : []).filter(isPlainObject);
  const found = new Map<string, {resource: PlainObject; subresources: PlainObject[]}>();
  for (const line of lines) {
    const [name = '', subresource] = String(line['name'] ?? '').split(/\/(.*)/s, 2);
    const known = found.get(name) ?? {resource: {resource: name, responseKind: noKind, scope: scopeOf(line)}, subresources: []};
    found.set(name, known);
    const verbs = Array.isArray(line['verbs']) ? line['verbs'] : [];
    if (subresource !== undefined) known.subresources.push({subresource, responseKind: kindOf(line), verbs});
    else
      known.resource = {
        resource: name,
        responseKind: kindOf(line),
        scope: scopeOf(line),
        singularResource: line['singularName'] ?? '',
        verbs,
        ...filled(line, ['shortNames', 'categories']),
      };
  }
  return [...found.values()].map(({resource, subresources}) => (subresources.length > 0 ? {...resource, subresources} : resource));
};
