import type {Naming} from '#src/api/naming.js';
import {Message} from './message-type.js';
import {tables} from './tables/index.js';

// Finds message types by group, version and name. Messages are created on first use and cached.

const known = new Map<string, Message>();

/** Kinds that exist in every group version. */
const everywhere = new Set(['WatchEvent', 'ListOptions', 'GetOptions', 'DeleteOptions', 'CreateOptions', 'UpdateOptions', 'PatchOptions']);
/** Kinds of the meta group that are used with the core group's version. */
const coreVersioned = new Set(['Status', 'APIVersions', 'APIGroup', 'APIGroupList', 'APIResourceList']);

const text = (group: string, version: string, name: string): string | undefined => {
  const table = Object.hasOwn(tables, group) ? tables[group] : undefined;
  const messages = table && Object.hasOwn(table, version) ? table[version] : undefined;
  return messages && Object.hasOwn(messages, name) ? messages[name] : undefined;
};

/** Returns the message of a type in table notation, as seen from a group version. */
const resolved = (type: string, group: string, version: string): Message => {
  const [, otherGroup, otherVersion, name = ''] = /^(\S+)\/(\w+)\.(\w+)$/.exec(type) ?? [];
  const found =
    otherGroup && otherVersion ? message(otherGroup, otherVersion, name) : (message(group, version, type) ?? message('meta', 'v1', type));
  if (!found) throw new Error(`no table describes the message ${type}`);
  return found;
};

/** Returns a message by name; `core` is the group without a name. */
export const message = (group: string, version: string, name: string): Message | undefined => {
  const id = `${group}/${version}.${name}`;
  const found = known.get(id);
  if (found) return found;
  const table = text(group, version, name);
  if (table === undefined) return undefined;
  const made = new Message(name, table, type => resolved(type, group, version));
  known.set(id, made);
  return made;
};

const kindMessage = (group: string | undefined, version: string, kind: string): Message | undefined => {
  if (everywhere.has(kind) || (group === '' && version === 'v1' && coreVersioned.has(kind))) return message('meta', 'v1', kind);
  if (group === undefined) return undefined;
  // meta v1beta1 has most kinds of v1.
  return message(group || 'core', version, kind) ?? (group === 'meta' ? message('meta', 'v1', kind) : undefined);
};

/** Returns the message of an object's apiVersion and kind; undefined if it has none. */
export const messageOf = (apiVersion: string, kind: string, naming: Naming): Message | undefined => {
  const slash = apiVersion.indexOf('/');
  const group = naming.groupToken(slash < 0 ? '' : apiVersion.slice(0, slash));
  const found = kindMessage(group, apiVersion.slice(slash + 1), kind);
  return found?.isKind ? found : undefined;
};
