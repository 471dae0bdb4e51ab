import {jsonText} from '#src/base/json/json.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';

/** The compared kinds, and their fields that differ from run to run. */
export interface Compared {
  readonly compare: readonly Kind[];
  readonly blurred?: readonly string[];
}

/** The annotation with which a run touches objects. It is ignored by comparisons. */
export const touchKey = 'faults.example.com/touched';

const dropped = new Set(['resourceVersion', 'managedFields', 'uid', 'generation', touchKey]);
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/**
 * Returns all objects of the kinds without fields that differ from run to run: random parts of names, uids, versions,
 * times.
 */
export const comparableObjects = async (client: Client, {compare, blurred = []}: Compared): Promise<Record<string, unknown[]>> => {
  const lists = await Promise.all(compare.map(async kind => [kind, (await client.resource(kind).list()).items] as const));
  const aliases = new Map<string, string>();
  for (const [kind, items] of lists) {
    for (const {metadata} of items) {
      const name = metadata?.generateName ? `${metadata.generateName}*` : metadata!.name!;
      aliases.set(metadata!.uid!, `uid of ${kind.plural} ${name}`);
      if (metadata?.generateName) aliases.set(metadata.name!, name);
    }
  }
  const plain = (value: unknown, field: string, generation: number | undefined): unknown => {
    // A later writer of a condition may use newer data than the first.
    if (field === 'conditions' && Array.isArray(value))
      return sorted(value.map(condition => plain({...condition, observedGeneration: undefined}, '', generation)));
    if (blurred.includes(field)) return value === undefined || value === '' ? value : '<random>';
    if (field === 'observedGeneration') return value === generation ? '<the newest>' : '<an old one>';
    if (typeof value === 'string') return time.test(value) ? '<time>' : aliased(value, aliases);
    if (Array.isArray(value))
      return inOrder(
        value.map(item => plain(item, '', generation)),
        field,
      );
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value)
      .filter(([key]) => !dropped.has(key) || field === 'ownerReferences')
      .map(([key, item]): [string, unknown] => [aliased(key, aliases), plain(item, key, generation)])
      .filter(([key, item]) => key !== 'annotations' || Object.keys(item as object).length > 0);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  return Object.fromEntries(
    lists.map(([kind, items]) => [kind.plural, sorted(items.map((item: KubeObject) => plain(item, '', item.metadata?.generation)))]),
  );
};

const aliased = (text: string, aliases: ReadonlyMap<string, string>): string => {
  let result = aliases.get(text) ?? text;
  if (result === text) for (const [name, alias] of aliases) if (text.includes(name)) result = result.replaceAll(name, alias);
  return result;
};

/** Lists that are sets. */
const unordered = new Set(['active', 'secrets', 'rules', 'taints']);
const inOrder = (items: unknown[], field: string): unknown[] => (unordered.has(field) ? sorted(items) : items);

const sorted = (items: readonly unknown[]): unknown[] =>
  items
    .map(item => [jsonText(item), item] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, item]) => item);
