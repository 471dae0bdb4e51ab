// The manifests of rights: service account, roles and their bindings.

import {apiVersionOf, groupOfVersion, kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {ruleLine, rulesOf, type Right} from './rules.js';

/** The file of a recording: what an operator is called, and what it needs. */
export interface RightsFile {
  readonly rights: readonly Right[];
}

/** Returns the content of a file of rights. Throws an error of one line for another content. */
export const parseRights = (text: string, place: string): readonly Right[] => {
  const isText = (value: unknown): boolean => typeof value === 'string';
  const isRight = (value: Partial<Right> | null): boolean =>
    typeof value === 'object' &&
    value !== null &&
    [value.group, value.resource, value.verb].every(isText) &&
    [value.namespace ?? '', value.name ?? ''].every(isText);
  let parsed: Partial<RightsFile> | null = null;
  try {
    parsed = JSON.parse(text) as Partial<RightsFile> | null;
  } catch {}
  if (!Array.isArray(parsed?.rights) || !parsed.rights.every(isRight)) throw new Error(`${place}: it is no recording of rights`);
  return parsed.rights;
};

/** Whose rights they are. */
export interface RoleOptions {
  /** The name of the service account and of its roles. */
  readonly name: string;
  /** The namespace of the service account, and of what is recorded there. */
  readonly namespace: string;
  readonly naming: Naming;
}

/**
 * Returns the manifests of rights as YAML, which depends on nothing but them: rights in namespaces are in roles there.
 */
export const rightsManifest = (rights: readonly Right[], {name, namespace, naming}: RoleOptions): string => {
  const apiVersion = apiVersionOf(naming, kinds.roles as Kind);
  const cluster = rulesOf(rights, undefined);
  const own = rights.map(right => right.namespace).filter(each => each !== undefined);
  const namespaces = [...new Set(own)].sort();
  const account = `apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: ${name}\n  namespace: ${namespace}\n`;
  const metadata = (within: string | undefined) => `metadata:\n  name: ${name}\n${within === undefined ? '' : `  namespace: ${within}\n`}`;
  const role = (within: string | undefined): string[] => {
    const rules = within === undefined ? cluster : rulesOf(rights, within);
    if (rules.length === 0) return [];
    const kind = within === undefined ? 'ClusterRole' : 'Role';
    return [
      `apiVersion: ${apiVersion}\nkind: ${kind}\n${metadata(within)}rules:\n${rules.map(rule => `  ${ruleLine(rule)}\n`).join('')}`,
      `apiVersion: ${apiVersion}\nkind: ${kind}Binding\n${metadata(within)}roleRef: {apiGroup: ${groupOfVersion(apiVersion)}, kind: ${kind}, name: ${name}}\nsubjects:\n  - {kind: ServiceAccount, name: ${name}, namespace: ${namespace}}\n`,
    ];
  };
  return [account, ...role(undefined), ...namespaces.flatMap(role)].join('---\n');
};
