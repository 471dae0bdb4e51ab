import type {Naming} from '#src/api/naming.js';
import {resources} from '#src/resources/builtin/index.js';
import {storagePath} from '#src/resources/storage-path.js';

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/**
 * Returns a function that finds the resource that is stored under a key; undefined for keys that hold none, such as
 * allocations of addresses.
 */
export const resourceByKey = (prefix: string, naming: Naming): ((key: string) => GroupResource | undefined) => {
  const byPath = new Map<string, GroupResource>();
  for (const definition of resources) {
    const {group, plural: resource} = definition.kind;
    byPath.set(storagePath(definition, naming), {group: naming.group(group), resource});
  }
  const start = prefix.length + 1;
  return key => {
    if (!key.startsWith(`${prefix}/`)) return undefined;
    const first = key.indexOf('/', start);
    if (first < 0) return undefined;
    const found = byPath.get(key.slice(start, first));
    if (found) return found;
    const second = key.indexOf('/', first + 1);
    if (second < 0) return undefined;
    const path = key.slice(start, second);
    const nested = byPath.get(path);
    if (nested) return nested;
    // Custom resources are stored under their group, which has a dot.
    const group = key.slice(start, first);
    return group.includes('.') ? {group, resource: key.slice(first + 1, second)} : undefined;
  };
};
