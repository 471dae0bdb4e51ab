// The names by which declarations import the types of Kubernetes, and what each stands for.

import {packageName} from '#src/api/version.js';
import {kinds} from '#src/api/kinds/index.js';
import type {TypeRef} from '#src/schema/node.js';

/** The module whose types have no version in their names: kinds, and what they are made of. */
const plainNames = `${packageName}/operator/kinds`;

/** The modules that types of Kubernetes are imported from. */
export const kubernetesPackages: ReadonlySet<string> = new Set([plainNames, packageName, '@kubernetes/client-node']);

/** The groups in the order in which a type is looked for. */
const groups: readonly string[] = [
  '',
  'meta',
  'apps',
  'batch',
  'networking',
  'autoscaling',
  'policy',
  'rbac.authorization',
  'storage',
].concat(
  ['scheduling', 'coordination', 'discovery', 'certificates', 'node', 'resource', 'admissionregistration', 'apiextensions'],
  ['apiregistration', 'authentication', 'authorization', 'events', 'flowcontrol.apiserver', 'internal.apiserver', 'storagemigration'],
);

/** The groups of types whose names exist in several, as the types are named after them. */
const prefixes: Readonly<Record<string, string>> = {
  Core: '',
  Events: 'events',
  Discovery: 'discovery',
  Rbac: 'rbac.authorization',
  Flowcontrol: 'flowcontrol.apiserver',
  Resource: 'resource',
  Storage: 'storage',
  Authentication: 'authentication',
  Admissionregistration: 'admissionregistration',
  Apiextensions: 'apiextensions',
  Apiregistration: 'apiregistration',
};

/** Kinds that exist in several groups, by the one that the package exports. */
const preferred: Readonly<Record<string, string>> = {Event: ''};

const inGroups = (name: string, version: string, of: readonly string[] = groups): readonly TypeRef[] =>
  of.map(group => ({group, version, name}));

/** Returns the types that a name imported from a module can stand for, the best first. */
export const typesNamed = (name: string, module: string): readonly TypeRef[] => {
  if (module !== plainNames) {
    const [, prefix, version, type] = /^([A-Z][a-z]+)?V(\d+(?:(?:alpha|beta)\d+)?)([A-Z].*)$/.exec(name) ?? [];
    if (type === undefined) return [];
    const group = prefix === undefined ? undefined : prefixes[prefix];
    if (prefix !== undefined && group === undefined) return [];
    return inGroups(type, `v${version}`, group === undefined ? groups : [group]);
  }
  const group = preferred[name];
  const kind = Object.values(kinds)
    .filter(each => each.kind === name && (group === undefined || each.group === group))
    .sort((one, other) => stability(one.version) - stability(other.version))[0];
  return kind ? [{group: kind.group, version: kind.version, name}] : inGroups(name, 'v1');
};

/** Lower for the versions that are more stable. */
const stability = (version: string): number =>
  (version.includes('alpha') ? 2 : version.includes('beta') ? 1 : 0) - Number(/^v(\d+)/.exec(version)?.[1] ?? 0) / 100;
